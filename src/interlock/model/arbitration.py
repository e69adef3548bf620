"""What keeps a run from going on until a person lifts it, and the one course it takes next."""

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
        return _HOLD_RANKS[self]


_HOLD_RANKS = {kind: rank for rank, kind in enumerate(HoldKind)}


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


class HardState(enum.Enum):
    """What no soft signal overrides, the strongest first."""

    PERSON_STOP = "person-stop"
    STOPPED = "stopped"
    PAUSED = "paused"
    AWAITING_PERSON = "awaiting-person"
    OVER_BUDGET = "over-budget"

    @property
    def rank(self) -> int:
        """Its place in the order: 0 for the strongest."""
        return _HARD_RANKS[self]


_HARD_RANKS = {state: rank for rank, state in enumerate(HardState)}


class Hard(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A hard state that holds, in words."""

    state: HardState
    reason: str
    approval: str | None = None
    """The question to a person that would lift it."""


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """Something outside that the run waits for."""

    what: str
    delay_ms: int


class Course(enum.Enum):
    """What a run does next."""

    GO_ON = "go-on"
    WAIT = "wait"
    """Nothing until a timer is over: looking again would only cost turns."""
    FINISH = "finish"
    """The turn ends here."""
    AWAIT_PERSON = "await-person"
    HALT = "halt"


class Authority(enum.Enum):
    """Whose word decided."""

    PERSON_STOP = "person-stop"
    STOPPED = "stopped"
    PAUSED = "paused"
    AWAITING_PERSON = "awaiting-person"
    OVER_BUDGET = "over-budget"
    STEP = "step"
    WAITING = "waiting"
    CREDIT = "credit"
    STOP = "stop"
    COMPLETION = "completion"
    """The checks that must pass before a run may finish."""


class Ruling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The one course, whose word it was, and why."""

    course: Course
    by: Authority
    reason: str
    delay_ms: int | None = None
    """How long to wait before anything else happens."""
    nudge: str | None = None
    """What is sent to the agent, where it goes on by itself after it had stopped."""
    approval: str | None = None
    """The question to a person that would lift it."""
