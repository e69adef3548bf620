"""What an answer means to a client, in the words of all: a dialect says it in its own.

A client can be told no more than this, and some can be told less.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from interlock.model.answers import Answer, StepAnswer, StopAnswer
from interlock.model.hook import CallAnswer, HookAnswer
from interlock.model.short_code import code_of
from interlock.model.verdict import Decision

_LONGEST: Final = 8_000
"""Clients cut longer texts off, or hide them in a file."""


class Course(enum.Enum):
    """What the client does next."""

    GO_ON = enum.auto()
    """What it would have done anyway."""
    REFUSE = enum.auto()
    """The tool is not called, and the agent hears why."""
    ASK = enum.auto()
    """A person has to agree first."""
    HALT = enum.auto()
    """The whole turn ends here."""
    CONTINUE = enum.auto()
    """The turn does not end here: the agent is sent on."""


class Reaction(msgspec.Struct, frozen=True, kw_only=True):
    """What the client does next, and what is said about it."""

    course: Course = Course.GO_ON
    reason: str = ""
    """Never empty, but where it just goes on."""
    notice: str = ""
    """What the agent should hear although it goes on."""


GOING_ON: Final = Reaction()


def reaction_to(answer: HookAnswer) -> Reaction:
    """Return what an answer means to a client."""
    match answer:
        case CallAnswer(step=step, action=None):
            return held(step)
        case CallAnswer(step=step, action=Answer() as action):
            return judged(action, step.warnings)
        case StopAnswer() if answer.goes_on:
            said = answer.nudge or answer.ruling.reason
            return Reaction(course=Course.CONTINUE, reason=said[:_LONGEST])
        case _:
            return GOING_ON


def refused(reason: str) -> Reaction:
    """Return a no for whatever went wrong."""
    words = f"interlock: {reason or 'no reason is known'}; see `interlock status`"
    return Reaction(course=Course.REFUSE, reason=words[:_LONGEST])


def held(step: StepAnswer) -> Reaction:
    """Return what it means that a run may not go on."""
    why = "; ".join((step.ruling.reason, *step.reasons))
    words = f"Interlock has stopped this run here: {why}. End your turn now."
    if step.approval_id is not None:
        code = code_of(step.approval_id)
        words += f" A person resumes it with `interlock approve {code} --reason TEXT`."
    return Reaction(course=Course.HALT, reason=words[:_LONGEST])


def judged(answer: Answer, warnings: tuple[str, ...] = ()) -> Reaction:
    """Return what it means what was answered about an action."""
    why = "; ".join(answer.reasons) or answer.decision.value
    refusal = f"Interlock: not allowed: {why}"
    match answer.decision:
        case Decision.ALLOW | Decision.WARN:
            said = (*warnings, *(answer.reasons if answer.decision is Decision.WARN else ()))
            said += tuple(
                f"{each.percent} % of `{each.scope}` is used: {each.used} of {each.limit}"
                f" {each.dimension.value}"
                for each in answer.alerts
            )
            notice = f"Interlock warns: {'; '.join(said)}"[:_LONGEST] if said else ""
            return Reaction(notice=notice)
        case Decision.REQUIRE_CONFIRMATION:
            words = (
                f"Interlock: a person has to agree first: {why}. Do something else meanwhile, or"
                " end your turn; once they have said `interlock approve"
                f" {code_of(answer.approval_id)}`, make exactly this call again, which lets it"
                " through once."
            )
            return Reaction(course=Course.ASK, reason=words[:_LONGEST])
        case Decision.BLOCK:
            return Reaction(course=Course.REFUSE, reason=refusal[:_LONGEST])
