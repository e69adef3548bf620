"""What can be asked over HTTP: one table says where, by whom, with what, and what comes back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from interlock.model.principal import Scope
from interlock.server.access.identity import Identity
from interlock.server.desk import Desk
from interlock.server.problem import Refused
from interlock.service.operations import Operations
from interlock.service.run_operations import RunOperations


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as whoever answers it sees it."""

    desk: Desk
    who: Identity
    params: Mapping[str, str]
    """What stands in the path."""
    query: Mapping[str, str]
    table: dict[str, object]
    """What the body says."""

    @property
    def words(self) -> Operations:
        """What can be asked of the ledger, as whoever asks."""
        return self.desk.asking(self.who.principal)

    async def run(self) -> RunOperations:
        """Return what can be asked of the run that the path names."""
        return await self.desk.run(self.who, self.params["run"])

    def number(self, name: str, default: int, *, most: int) -> int:
        """Return a number of the query; raise Refused where it is none."""
        given = self.query.get(name)
        if given is None:
            return default
        if not given.isascii() or not given.isdecimal() or int(given[:20]) > most:
            raise Refused(400, f"`{name}` is `{given[:40]}`, expected a number from 0 to {most}")
        return int(given)


class PlainText(NamedTuple):
    """An answer that is no JSON."""

    text: str
    content_type: str


Perform = Callable[[Call], Awaitable[object]]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be asked."""

    method: str
    path: str
    """With names in braces, such as `/v1/runs/{run}`."""
    scope: Scope | None
    """What whoever asks must have; None where everybody may."""
    summary: str
    perform: Perform
    body: object = None
    """The type of what is sent, if anything is."""
    query: Mapping[str, type] = msgspec.field(default_factory=dict[str, type])
    answer: object = None
    """The type of what comes back; None where nothing does."""
    status: int = 200
    decides: bool = False
    """Whether only a person may: no process that descends from a governed run."""


NO_CONTENT: Final = 204
