"""What can be asked over HTTP: one table says where, by whom, with what, and what comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Final, NamedTuple, TypeVar, cast
from urllib.parse import parse_qsl

import msgspec

from interlock.errors import InputError
from interlock.model.principal import Scope
from interlock.server.access.identity import Identity
from interlock.server.desk.desk import Desk
from interlock.server.wire.http_message import LARGE, Receiver, Sender
from interlock.server.wire.http_message import Scope as AsgiScope
from interlock.server.wire.problem import Refused
from interlock.service.operations import Operations
from interlock.service.run_operations import RunOperations

T = TypeVar("T")

Word = Callable[..., Awaitable[object]]
"""A function whose arguments, by their names, are the fields of a body; it checks them itself."""
Limit = Annotated[int, msgspec.Meta(ge=1, le=500)]
"""How many a page holds."""
Place = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
"""A place in an order, to go on from."""
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_MOST_FIELDS: Final = 20


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as whoever answers it sees it."""

    desk: Desk
    who: Identity
    params: Mapping[str, str]
    """What stands in the path."""
    query: Mapping[str, Any]
    """What stands behind it: of the types that the table says."""
    table: dict[str, object]
    """What the body says."""
    body: bytes = b""
    """The same as it was sent."""
    key: str | None = None
    """What tells this request from others, where it was said."""
    request: AsgiScope = msgspec.field(default_factory=dict[str, Any])
    """All else that is known of it."""
    last_event: str = ""
    """The last event that whoever asks for live ones has seen."""

    @property
    def words(self) -> Operations:
        """What can be asked of the ledger, as whoever asks."""
        return self.desk.asking(self.who.principal)

    async def run(self) -> RunOperations:
        """Return what can be asked of the run that the path names."""
        return await self.desk.run(self.who, self.params["run"])

    async def say(self, word: Callable[..., Awaitable[T]], *given: object) -> T:
        """Ask a word, with what the body says."""
        return await self.ask(word, *given, **self.table)

    async def prove(self, word: Callable[..., Awaitable[T]], *given: object) -> T:
        """Ask a word that wants to know who decides."""
        if "token" in self.table:
            raise InputError("`token` does not belong into a body: send `Authorization: Bearer`")
        return await self.ask(word, *given, **self.table, token=self.who.token)

    async def ask(self, word: Callable[..., Awaitable[T]], /, *given: object, **named: object) -> T:
        """Ask a word: it checks its arguments, on a thread where they may be many."""
        if len(self.body) <= LARGE:
            return await word(*given, **named)
        return await (await self.desk.driver.outside(lambda: word(*given, **named)))

    async def look(self, work: Callable[[], T]) -> T:
        """Look something up, which may take its time."""
        return await self.desk.driver.outside(work)


class PlainText(NamedTuple):
    """An answer that is no JSON."""

    text: str
    content_type: str


Perform = Callable[[Call], Awaitable[object]]


class Streamed(NamedTuple):
    """An answer that is sent piece by piece."""

    send: Callable[[Receiver, Sender], Awaitable[None]]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be asked."""

    method: str
    path: str
    """With names in braces, such as `/v1/runs/{run}`."""
    scope: Scope | None
    """What whoever asks must have; None where everybody may."""
    summary: str
    perform: Perform
    agents: bool = False
    """Whether an agent may as well, in its own runs."""
    body: Word | None = None
    """Whose arguments the body gives, if there is one."""
    given: tuple[str, ...] = ()
    """The arguments that something else gives: the path, or who asks."""
    query: Mapping[str, object] = msgspec.field(default_factory=dict[str, object])
    """The type of what may stand behind the path, by its name."""
    needs: tuple[str, ...] = ()
    """What of that has to stand there."""
    answer: object = None
    """The type of what comes back; None where nothing does."""
    kind: str = "application/json"
    """In which format it comes back."""
    status: int = 200
    decides: bool = False
    """Whether only a person may: no process that descends from a governed run."""
    keyed: bool = False
    """Whether the word knows by a key what it was asked before, and says the same again."""


NO_CONTENT: Final = 204


def query_of(endpoint: Endpoint, text: str) -> Mapping[str, object]:
    """Return what stands behind a path, each of its type; raise Refused for anything else."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Refused(400, f"more than {_MOST_FIELDS} values stand behind the path") from None
    found: dict[str, object] = {}
    for name, value in pairs:
        kind = endpoint.query.get(name)
        if kind is None:
            known = ", ".join(f"`{each}`" for each in endpoint.query) or "nothing"
            raise Refused(400, f"`{name[:40]}` is not asked for here, expected {known}")
        if name in found or "\0" in value:
            raise Refused(400, f"`{name}` stands there twice, or holds what is no text")
        found[name] = _of_type(name, value, kind)
    missing = next((each for each in endpoint.needs if each not in found), None)
    if missing is not None:
        raise Refused(400, f"`{missing}` is missing: it has to stand behind the path")
    return found


def _of_type(name: str, value: str, kind: object) -> object:
    try:
        return msgspec.convert(value, type=cast("type[object]", kind), strict=False)
    except msgspec.ValidationError as error:
        raise Refused(400, f"`{name}` is `{value[:40]}`: {str(error).lower()}") from None
