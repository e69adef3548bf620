"""A pydantic-ai agent with a shell, under Interlock.

    pip install 'interlock[pydantic-ai]' 'pydantic-ai-slim[openai]'
    export OPENAI_API_KEY=...
    python examples/pydantic_ai_agent.py "count the lines of notes.txt"

`OPENAI_BASE_URL` names any other server that speaks OpenAI's API, and `MODEL` its model.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.models.openai import OpenAIChatModel

from interlock import AsyncInterlock, HaltedError
from interlock.adapters.framework_run import GovernedRun
from interlock.adapters.pydantic_ai import InterlockCapability


def make_agent(run: GovernedRun, folder: Path, **options: Any) -> Agent[None, Any]:
    """Return an agent whose every step and every call is put to the run."""

    def shell(command: str) -> str:
        """Run a shell command in the workspace and return what it prints."""
        done = subprocess.run(
            command, shell=True, cwd=folder, capture_output=True, text=True, check=False, timeout=60
        )
        return f"{done.stdout}{done.stderr}\nexit code {done.returncode}"

    return Agent(
        OpenAIChatModel(os.environ.get("MODEL", "gpt-5-mini")),
        output_type=[str, DeferredToolRequests],
        tools=[shell],
        capabilities=[InterlockCapability(run, **options)],
    )


async def main(task: str) -> None:
    """Have the agent work in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "notes.txt").write_text("one\ntwo\n")
        async with (
            await AsyncInterlock.open() as interlock,
            await interlock.run(
                task, agent="example", client="pydantic-ai", workspace=folder
            ) as run,
        ):
            try:
                done = await make_agent(run, folder).run(task)
                print(done.output)
            except HaltedError as halted:
                print(halted)
            print(f"on the record: interlock show {run.id}")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "How many lines has notes.txt?"))
