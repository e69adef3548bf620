"""What keeps a run from going on until a person lifts it."""

from __future__ import annotations

import enum

import msgspec


class HoldKind(enum.Enum):
    """Who holds a run, from mild to strict."""

    PAUSE = "pause"
    """Waits for a person's word; without one in time it becomes a stop."""
    STOP = "stop"
    """Stopped by the continue gate: absorbing, only a person's resume lifts it."""
    PERSON_STOP = "person-stop"
    """Stopped by a person."""

    @property
    def rank(self) -> int:
        """How strict: a hold is never replaced by a milder one."""
        return _RANKS[self]


_RANKS = {kind: rank for rank, kind in enumerate(HoldKind)}


class Hold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run that may not go on, and why."""

    kind: HoldKind
    reason: str
    step: int
    """How many steps the run had taken."""
    since: int
    approval: str | None = None
    """The question to a person whose answer lifts it."""


def stricter(current: Hold | None, new: Hold) -> Hold:
    """Return the hold that counts: soft never replaces hard."""
    if current is not None and current.kind.rank >= new.kind.rank:
        return current
    return new
