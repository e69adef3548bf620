"""A small server of the official library, which speaks both eras."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server.mcpserver import Context, MCPServer


class SmallServer:
    """What it was asked, and the server that was asked."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        self.has_begun = asyncio.Event()
        self.is_cancelled = asyncio.Event()
        self.server = MCPServer[Any]("small", log_level="ERROR")
        for tool in (self.echo, self.run_command, self.count, self.wait, self.large):
            self.server.add_tool(tool)
        self.server.resource("memo://note")(self.note)
        self.server.prompt()(self.greet)

    async def echo(self, text: str) -> dict[str, str]:
        """Say it again."""
        return {"said": text}

    async def run_command(self, command: str) -> str:
        """Pretend to run a command."""
        self.commands.append(command)
        return f"ran {command}"

    async def count(self, ctx: Context) -> str:
        """Count to three, aloud."""
        for number in range(3):
            await ctx.report_progress(number, 3, f"{number} of 3")
        return "three"

    async def wait(self) -> str:
        """Wait for ever."""
        self.has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.is_cancelled.set()
        return ""

    async def large(self, size: int) -> str:
        """Say a lot."""
        return "x" * size

    def note(self) -> str:
        """Return a note."""
        return "remember the milk"

    def greet(self, name: str) -> str:
        """Ask for a greeting."""
        return f"Greet {name}."
