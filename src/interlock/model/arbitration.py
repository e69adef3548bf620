"""The one course that a run takes next, whose word it is, and what no soft signal overrides."""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from interlock.model.glance import Glance, Glanced
from interlock.model.verdict import Ranked

AUTOMATIC: Final = "[automatic message, not from a person]"
"""What everything begins with that is sent to an agent from the user's side."""


class HardState(Ranked):
    """What no soft signal overrides, the strongest first."""

    PERSON_STOP = "person-stop"
    STOPPED = "stopped"
    PAUSED = "paused"
    AWAITING_PERSON = "awaiting-person"
    OVER_BUDGET = "over-budget"


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


class Course(enum.StrEnum):
    """What a run does next."""

    GO_ON = "go-on"
    WAIT = "wait"
    """Nothing until a timer is over: looking again would only cost turns."""
    FINISH = "finish"
    """The turn ends here."""
    AWAIT_PERSON = "await-person"
    HALT = "halt"


class Authority(enum.StrEnum):
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


class Ruling(Glanced, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
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

    def _glance(self) -> Glance:
        return Glance(
            f"{self.course.value}: {self.reason} ({self.by.value})",
            (("reason", self.reason), ("by", self.by.value), ("approval", self.approval)),
        )
