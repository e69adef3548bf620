"""A LangChain agent with a shell, under Interlock.

    pip install 'interlock[langchain]' langchain-openai
    export OPENAI_API_KEY=...
    python examples/langchain_agent.py "count the lines of notes.txt"

`OPENAI_BASE_URL` names any other server that speaks OpenAI's API, and `MODEL` its model.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType] - LangChain's
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from interlock import Interlock
from interlock.adapters.framework_run import GovernedRun
from interlock.adapters.langchain import InterlockMiddleware


def make_agent(run: GovernedRun, folder: Path, checkpointer: Any = None, **options: Any) -> Any:
    """Return an agent whose every step and every call is put to the run."""

    @tool
    def shell(command: str) -> str:
        """Run a shell command in the workspace and return what it prints."""
        done = subprocess.run(
            command, shell=True, cwd=folder, capture_output=True, text=True, check=False, timeout=60
        )
        return f"{done.stdout}{done.stderr}\nexit code {done.returncode}"

    model = ChatOpenAI(model=os.environ.get("MODEL", "gpt-5-mini"))
    governed = InterlockMiddleware(run, **options)
    return create_agent(model, [shell], middleware=[governed], checkpointer=checkpointer)


def main(task: str) -> None:
    """Have the agent work in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name, Interlock.open() as interlock:
        folder = Path(name)
        (folder / "notes.txt").write_text("one\ntwo\n")
        with interlock.run(task, client="langchain", workspace=folder) as run:
            done = make_agent(run, folder).invoke({"messages": [("user", task)]})
            print(done["messages"][-1].text)
            print(f"on the record: interlock show {run.id}")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]) or "How many lines has notes.txt?")
