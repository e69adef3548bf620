"""What a client says before a step, and when its agent ends a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict, Unpack, cast

import msgspec

from interlock.model.arbitration import Waiting
from interlock.model.entrance import Amount, Count, Given, Share
from interlock.model.step import Remaining, StepContext
from interlock.model.stop import FinishReason, LastEvent, finish_reason_from, last_event_from

_LOOK_AGAIN_S: Final = 60.0


class StepReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says before a step; what it does not know it leaves out."""

    key: str | None = None
    """Its own name for this question: asked again, it gets the same answer."""
    said: str | None = None
    known: StepContext = msgspec.field(default=StepContext(), name="told")
    waiting: Waiting | None = None


class TurnFields(TypedDict, total=False):
    """What a client may say of any question: its own name for it, and what the run waits for."""

    key: str
    """The client's own name for this question: asked again, it gets the same answer."""
    waiting_for: str
    look_again_s: Amount
    """When to look again; a minute, unless it says otherwise."""


class StepFigures(TypedDict, total=False):
    """What a client knows before a step by itself; the record knows the rest."""

    total_tokens_used: Count
    total_tool_calls: Count
    rework_count: Count
    coherence_score: Share
    uncertainty_score: Share
    budget_remaining: Given[Remaining]


class StepFields(TurnFields, StepFigures, total=False):
    """Everything that a client may say before a step."""


def step_report(
    said: str | None,
    *,
    key: str | None = None,
    waiting_for: str | None = None,
    look_again_s: float | None = None,
    **known: Unpack[StepFigures],
) -> StepReport:
    """Return what a client says before a step."""
    waiting = waiting_from(waiting_for, look_again_s)
    return StepReport(
        key=key, said=said, known=StepContext(**cast("Mapping[str, Any]", known)), waiting=waiting
    )


def waiting_from(what: str | None, look_again_s: float | None) -> Waiting | None:
    """Return what a run waits for, if it says so."""
    if what is None:
        return None
    delay_s = _LOOK_AGAIN_S if look_again_s is None else look_again_s
    return Waiting(what=what, delay_ms=round(1000 * delay_s))


class StopReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a client says when the agent ends its turn; what it does not know it leaves out."""

    key: str | None = None
    """Its own name for this question: asked again, it gets the same answer."""
    text: str | None = None
    finish_reason: FinishReason | None = None
    last_event: LastEvent | None = None
    tool_ratio: float | None = None
    n_prev_turns: int | None = None
    model: str | None = None
    tool_calls: int | None = None
    todos: tuple[str, ...] = ()
    """What stands open on the agent's own list."""
    planned_files: tuple[str, ...] = ()
    """Files that its plan names."""
    waiting: Waiting | None = None


class StopFields(TurnFields, total=False):
    """What a client knows at the end of a turn."""

    finish_reason: str
    """As the client's model says it, such as `stop` or `end_turn`."""
    last_event: str
    """What came right before the message, such as `tool_result` or `user_message`."""
    tool_ratio: Amount
    n_prev_turns: Count
    model: str
    tool_calls: Count
    """How many calls the message holds: 0 with the reason `tool_calls` is a contradiction."""
    todos: Sequence[str]
    """What stands open on the agent's own list."""
    planned_files: Sequence[str]
    """Files that its plan names."""


def stop_report(
    text: str | None,
    *,
    key: str | None = None,
    finish_reason: str | None = None,
    last_event: str | None = None,
    tool_ratio: float | None = None,
    n_prev_turns: int | None = None,
    model: str | None = None,
    tool_calls: int | None = None,
    todos: Sequence[str] = (),
    planned_files: Sequence[str] = (),
    waiting_for: str | None = None,
    look_again_s: float | None = None,
) -> StopReport:
    """Return what a client says at the end of a turn."""
    return StopReport(
        key=key,
        text=text,
        finish_reason=None if finish_reason is None else finish_reason_from(finish_reason),
        last_event=None if last_event is None else last_event_from(last_event),
        tool_ratio=tool_ratio,
        n_prev_turns=n_prev_turns,
        model=model,
        tool_calls=tool_calls,
        todos=tuple(todos),
        planned_files=tuple(planned_files),
        waiting=waiting_from(waiting_for, look_again_s),
    )
