"""An agent of the OpenAI Agents SDK with a shell, under Interlock.

    pip install 'interlock[openai-agents]'
    export OPENAI_API_KEY=...
    python examples/openai_agents_agent.py "count the lines of notes.txt"

`OPENAI_BASE_URL` names any other server that speaks OpenAI's Responses API, and `MODEL` its model.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from agents import Agent, RunConfig, function_tool

from interlock import AsyncInterlock, HaltedError
from interlock.adapters.framework_run import GovernedRun
from interlock.adapters.openai_agents import GovernedAgent, governed, run_governed


def make_agent(run: GovernedRun, folder: Path, **options: Any) -> GovernedAgent:
    """Return an agent whose every step and every call is put to the run."""

    @function_tool
    def shell(command: str) -> str:
        """Run a shell command in the workspace and return what it prints."""
        done = subprocess.run(
            command, shell=True, cwd=folder, capture_output=True, text=True, check=False, timeout=60
        )
        return f"{done.stdout}{done.stderr}\nexit code {done.returncode}"

    model = os.environ.get("MODEL", "gpt-5-mini")
    return governed(Agent("worker", model=model, tools=[shell]), run, **options)


async def main(task: str) -> None:
    """Have the agent work in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "notes.txt").write_text("one\ntwo\n")
        async with (
            await AsyncInterlock.open() as interlock,
            await interlock.run(
                task, agent="example", client="openai-agents", workspace=folder
            ) as run,
        ):
            try:
                untraced = RunConfig(tracing_disabled=True)
                done = await run_governed(make_agent(run, folder), task, run_config=untraced)
                print(done.final_output)
            except HaltedError as halted:
                print(halted)
            print(f"on the record: interlock show {run.id}")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "How many lines has notes.txt?"))
