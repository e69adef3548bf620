"""Interlock as an MCP server: how questions stand, what an agent reports, edits that are governed.

It can decide nothing: there is no tool here that approves, lifts or raises anything.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

from interlock.adapters.mcp.governed_run import GovernedRun
from interlock.errors import InterlockError
from interlock.ledger.abbreviations import found_approval
from interlock.model.edit import FileEdit
from interlock.model.short_code import code_of
from interlock.service.cycles.loop_chain import LoopChain

Tool = Callable[..., Awaitable[dict[str, object]]]

_ABOUT: Final = (
    "Interlock governs this work. Ask here how a question to a person stands, say what you take to"
    " be true and what is left to do, and make edits that are judged and can be undone. Nothing"
    " here decides: people do that elsewhere."
)


class Edit(BaseModel):
    """One text to be put in the place of another; an empty `old` makes a new file."""

    path: str
    old: str
    new: str
    replace_all: bool = False


class OwnTools:
    """What an agent may say and ask."""

    def __init__(self, run: GovernedRun) -> None:
        self._run = run

    async def approval_status(self, approval_id: str) -> dict[str, object]:
        """Say how a question to a person stands: pending, granted, denied, expired or cancelled."""
        interlock = await self._run.opened()
        found = await asyncio.to_thread(found_approval, interlock.ledger.rows, approval_id)
        return {
            "id": found.id,
            "code": found.code,
            "state": found.state.value,
            "next": _NEXT.get(found.state.value, "ask again where it is still needed"),
        }

    async def report_belief(
        self, claim: str, supporting: float = 0, opposing: float = 0, because: str = ""
    ) -> dict[str, object]:
        """Note what you take to be true, and the weight of what speaks for and against it."""
        run = await self._run.begun()
        held = await run.belief(claim, supporting=supporting, opposing=opposing, because=because)
        return {"claim": held.name, "supporting": held.supporting, "opposing": held.opposing}

    async def report_todos(self, open_todos: list[str], text: str = "") -> dict[str, object]:
        """Say what is left to do, before you end your turn; hear whether you are done."""
        run = await self._run.begun()
        answer = await run.stopped(text or None, todos=open_todos)
        return {
            "goes_on": answer.goes_on,
            "waits_for_person": answer.waits_for_person,
            "next": answer.nudge or "end your turn: it is done",
        }

    async def request_budget_raise(
        self, dimension: str, limit: str, because: str
    ) -> dict[str, object]:
        """Ask people for a larger budget of this run: it is noted for them, and changes nothing."""
        run = await self._run.begun()
        interlock = await self._run.opened()
        asked = f"run {run.id} asks for {dimension} up to {limit}: {because}"
        note = await asyncio.to_thread(
            LoopChain(interlock.governor).add_note,
            asked,
            source=f"run/{run.id}",
            tags=("budget",),
        )
        way = f"a person may raise it: `interlock budget run/{code_of(run.id)} {dimension} {limit}`"
        return {"note": note.id, "next": f"{way}; go on within the budget meanwhile"}

    async def apply_edit(self, edits: list[Edit]) -> dict[str, object]:
        """Make edits in the workspace if they may be made: all of them, or none; undo is kept."""
        run = await self._run.begun()
        wanted = [FileEdit(**each.model_dump()) for each in edits]
        answer = await run.apply_edits(wanted)
        if not answer.allowed:
            raise ToolError("\n".join(("the edits were not made:", *answer.reasons)))
        applied = answer.applied
        return {"undo": None if applied is None else applied.id, "diff": answer.diff}


_NEXT: Final = {
    "pending": "go on with something else: a person has not decided yet",
    "granted": "make exactly the same call again, once",
    "denied": "leave it: go on with something else, or finish and say what is left",
}


def own_server(run: GovernedRun) -> MCPServer[None]:
    """Return the server; its run is ended with it."""

    @asynccontextmanager
    async def lifespan(_server: MCPServer[None]) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            await run.close()

    server = MCPServer[None](
        "interlock", instructions=_ABOUT, lifespan=lifespan, log_level="WARNING"
    )
    tools = OwnTools(run)
    offered: tuple[Tool, ...] = (
        tools.approval_status,
        tools.report_belief,
        tools.report_todos,
        tools.request_budget_raise,
        tools.apply_edit,
    )
    for tool in offered:
        server.add_tool(_told(tool))
    return server


def _told(tool: Tool) -> Tool:
    """Have a tool say what went wrong, in words that an agent can act on."""

    @functools.wraps(tool)
    async def told(**arguments: object) -> dict[str, object]:
        try:
            return await tool(**arguments)
        except InterlockError as error:
            raise ToolError(str(error)) from error

    return told


def serve_tools(run_id: str | None) -> None:
    """Serve at the standard streams until the client ends."""
    own_server(GovernedRun(task="tools of Interlock", run_id=run_id)).run("stdio")
