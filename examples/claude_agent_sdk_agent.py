"""An agent of the Claude Agent SDK with a shell, under Interlock.

    pip install 'interlock[claude-agent-sdk]'
    export ANTHROPIC_API_KEY=...
    python examples/claude_agent_sdk_agent.py "count the lines of notes.txt"

`ANTHROPIC_BASE_URL` names any other server that speaks Anthropic's API, and `MODEL` its model.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, query

from interlock import AsyncInterlock
from interlock.adapters.claude_agent_sdk import governed_options, reported
from interlock.adapters.framework_run import GovernedRun


def make_options(run: GovernedRun, folder: Path, **options: Any) -> ClaudeAgentOptions:
    """Return options for an agent whose every call is put to the run."""
    plain = ClaudeAgentOptions(
        model=os.environ.get("MODEL"),
        cwd=folder,
        tools=["Bash"],
        allowed_tools=["Bash"],
        setting_sources=[],
    )
    return governed_options(plain, run, **options)


async def main(task: str) -> None:
    """Have the agent work in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "notes.txt").write_text("one\ntwo\n")
        async with (
            await AsyncInterlock.open() as interlock,
            await interlock.run(task, client="claude-agent-sdk", workspace=folder) as run,
        ):
            messages = query(prompt=task, options=make_options(run, folder))
            async for message in reported(messages, run):
                if isinstance(message, ResultMessage):
                    print(message.result)
            print(f"on the record: interlock show {run.id}")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or "How many lines has notes.txt?"))
