"""What happened? An event as somebody sends it, read once and checked at the door.

It comes as a name with JSON beside it, or as a CloudEvent that says everything itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Final, cast

import msgspec

from interlock.errors import InputError
from interlock.model.entrance import MOST, checked
from interlock.model.system_loop import DEFAULT_SCOPE, MOST_BYTES
from interlock.policy.config.complaints import (
    as_clause,
    is_list,
    is_table,
    joined,
    kind_of,
    shown,
    suggestion,
)
from interlock.service.records.context import SECOND, checked_name

ALWAYS_KNOWN: Final = (
    "agent/loop.complete",
    "agent/loop.completed",
    "agent/loop.failed",
    "agent/loop.retro.complete",
    "system/approval.decided",
    "system/note",
)
"""Names that count whatever the policy says, with all that end in `.failed` or `/failed`."""
_FAILURES: Final = (".failed", "/failed")
_OWN_NAMES: Final = ("heartbeat", "manual")
"""What the loop calls triggers that are no events: nobody else may say so."""
_FUTURE_S: Final = 300
_PAST_S: Final = 7 * 24 * 3600
_DEEPEST: Final = 64
_ENCODER: Final = msgspec.json.Encoder(order="deterministic")
_Depth = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class IncomingEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened elsewhere."""

    id: str
    """Whatever has the same id is the same event."""
    name: str
    scope: str
    occurred_at: int
    depth: int
    cause: str | None
    data: str
    """What it brought: an object in JSON with sorted names, or nothing at all."""


class _Said(msgspec.Struct, frozen=True, kw_only=True):
    """What is told about an event beside its data; None where nothing is."""

    name: object = None
    id: object = None
    scope: object = None
    occurred_at: object = None
    depth: object = None
    cause: object = None
    source: str = ""
    """Who numbered it: others may have used the same id."""


def event_from(
    name: str | None,
    raw: str | bytes | None,
    *,
    now: int,
    known: Sequence[str],
    id: str | None = None,  # noqa: A002 - what it is called everywhere
    scope: str | None = None,
    occurred_at: int | None = None,
    depth: int | None = None,
    cause: str | None = None,
) -> IncomingEvent:
    """Return an event that was sent by its name, with JSON, or as a CloudEvent.

    `known` are the names that the policy adds, exact or with a `*`. Without an id, events of the
    same name, data and time are the same; without a time, it happened now. Raise InputError for
    what is wrong.
    """
    given = _Said(
        name=name, id=id, scope=scope, occurred_at=occurred_at, depth=depth, cause=cause
    )
    table = _table(raw)
    if table is not None and "specversion" in table:
        said, table = _envelope(table)
        given = _merged(given, said)
    return _event(given, table, now=now, known=known)


def _event(
    said: _Said, table: Mapping[str, object] | None, *, now: int, known: Sequence[str]
) -> IncomingEvent:
    name = _checked_event_name(said.name, known)
    data = "" if table is None else _ENCODER.encode(table).decode()
    occurred_at = _checked_time(said.occurred_at, now)
    if said.id is None:
        id_ = hashlib.sha256(f"{name}\0{occurred_at}\0{data}".encode()).hexdigest()[:32]
    else:
        id_ = checked_name("id", said.source + _text("id", said.id))
    return IncomingEvent(
        id=id_,
        name=name,
        scope=DEFAULT_SCOPE if said.scope is None else _name("scope", said.scope),
        occurred_at=occurred_at,
        depth=0 if said.depth is None else checked(said.depth, _Depth, "causationdepth"),
        cause=None if said.cause is None else _name("cause", said.cause),
        data=data,
    )
