"""The tools of a server, as it lists them: what each takes, and whether it is still the same."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final, cast

import msgspec

from interlock.adapters.mcp.rpc_message import Message, table, table_in
from interlock.adapters.mcp.tool_pins import PinFile, tool_digest
from interlock.errors import InputError
from interlock.model.verdict import Decision, Finding
from interlock.policy.actions.parameters import ToolSchema
from interlock.policy.gates.schema_gate import schema_gate

LIST: Final = "tools/list"
_MOST_PAGES: Final = 200
_MOST_TOOLS: Final = 10_000
_LARGEST_SCHEMA: Final = 2**20
_CHANGED: Final = (
    "[Interlock] What this tool says about itself has changed since it was first seen, so it is"
    " blocked. Do not call it. Tell the user to compare, and to accept it with"
    " `interlock mcp trust {server}` in a terminal of their own."
)

AskServer = Callable[[str, Mapping[str, object]], Awaitable[Message]]


class Tool:
    """One tool, as the server listed it."""

    def __init__(self, listed: Mapping[str, object]) -> None:
        self.digest = tool_digest(listed)
        self.schema = table_in(listed.get("inputSchema"))
        self._compiled: ToolSchema | None = None

    def findings(self, arguments: Mapping[str, object]) -> list[Finding]:
        """Return where arguments do not fit; raise InputError where nobody can tell."""
        if self._compiled is None:
            if len(msgspec.json.encode(self.schema)) > _LARGEST_SCHEMA:
                raise InputError("the tool's schema is too large to hold arguments against it")
            try:
                self._compiled = ToolSchema(self.schema)
            except ValueError as error:
                raise InputError(
                    f"the tool's schema cannot be used, so that nothing fits it: {error}"
                ) from error
        return [
            each
            for each in schema_gate(arguments, self._compiled)
            if each.decision.rank >= Decision.REQUIRE_CONFIRMATION.rank
        ]


class ToolCatalogue:
    """Knows the tools of a server from its lists, whoever asked for them."""

    def __init__(self, pins: PinFile, identity: str, name: str) -> None:
        self._pins = pins
        self._identity = identity
        self._name = name
        self._tools: dict[str, Tool] = {}
        self._changed: frozenset[str] = frozenset()
        self._is_whole = False
        self._lock = asyncio.Lock()

    def forget(self) -> None:
        """Note that the list has changed: what is called next is looked up anew."""
        self._is_whole = False
        self._tools.clear()

    def learn(self, listed: msgspec.Raw) -> bytes | None:
        """Take note of a list; return it as it is to be shown, where a tool has changed."""
        whole = table(listed)
        tools = list(_tools_in(whole))
        found = {str(each["name"]): Tool(each) for each in tools}
        if len(self._tools) + len(found) > _MOST_TOOLS:
            raise InputError(f"the server lists more than {_MOST_TOOLS:,} tools")
        digests = {name: tool.digest for name, tool in found.items()}
        self._changed = self._pins.seen(self._identity, self._name, digests)
        self._tools.update(found)
        if self._changed.isdisjoint(found):
            return None
        shown = [self._warned(each) if each["name"] in self._changed else each for each in tools]
        return msgspec.json.encode({**whole, "tools": shown})

    async def tool(
        self, name: str, meta: Mapping[str, object], ask_server: AskServer
    ) -> Tool | None:
        """Return a tool; a server that nobody has asked yet is asked for its list."""
        if name not in self._tools and not self._is_whole:
            async with self._lock:
                if name not in self._tools and not self._is_whole:
                    await self._list(meta, ask_server)
        return self._tools.get(name)

    def schema_of(self, name: str) -> Mapping[str, object]:
        """Return what a tool takes, as far as it is known."""
        return self._tools[name].schema if name in self._tools else {}

    def is_changed(self, name: str) -> bool:
        """Whether a tool is not what it was, and nobody has accepted that so far."""
        if name not in self._changed:
            return False
        # Whoever accepts it does so in another process.
        digests = {name: self._tools[name].digest} if name in self._tools else {}
        self._changed = self._pins.seen(self._identity, self._name, digests)
        return name in self._changed

    async def _list(self, meta: Mapping[str, object], ask_server: AskServer) -> None:
        params: dict[str, object] = {"_meta": dict(meta)} if meta else {}
        for _ in range(_MOST_PAGES):
            answer = await ask_server(LIST, params)
            if answer.result is None:
                raise InputError("the server does not list its tools, so that none can be checked")
            self.learn(answer.result)
            cursor = table(answer.result).get("nextCursor")
            if not isinstance(cursor, str):
                self._is_whole = True
                return
            params = {**params, "cursor": cursor}
        raise InputError(f"the server's list of tools has more than {_MOST_PAGES} pages")

    def _warned(self, tool: Mapping[str, object]) -> Mapping[str, object]:
        """Return a changed tool without anything that it says about itself."""
        return {
            "name": tool["name"],
            "description": _CHANGED.format(server=self._name),
            "inputSchema": {"type": "object"},
        }


def _tools_in(listed: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    tools = listed.get("tools")
    if not isinstance(tools, list):
        raise InputError("the server's list of tools is no list")
    names: set[str] = set()
    for tool in map(table_in, cast("Sequence[object]", tools)):
        name = tool.get("name")
        if not isinstance(name, str):
            raise InputError("the server lists a tool without a name")
        if name in names:
            # One could be what it always was, and the other what the model reads.
            raise InputError(f"the server lists `{name}` twice: it is unclear which one counts")
        names.add(name)
        yield tool
