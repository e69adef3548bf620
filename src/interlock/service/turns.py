"""What a caller says before a step and at the end of a turn, read into what the gates take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from interlock.model.ruling import Waiting
from interlock.model.step import Remaining, StepContext
from interlock.model.stop import finish_reason_from, last_event_from
from interlock.service.stepping import StepReport
from interlock.service.stopping import StopReport

_LOOK_AGAIN_S = 60.0


class WaitFields(TypedDict, total=False):
    """What a run waits for outside, so that a timer wakes it instead of turns."""

    waiting_for: str
    look_again_s: float
    """When to look again; a minute, unless told otherwise."""


class StepFields(WaitFields, total=False):
    """What a client knows before a step by itself; the record knows the rest."""

    total_tokens_used: int
    total_tool_calls: int
    rework_count: int
    coherence_score: float
    uncertainty_score: float
    budget_remaining: Remaining


class StopFields(WaitFields, total=False):
    """What a client knows at the end of a turn."""

    finish_reason: str
    """As the client's model says it, such as `stop` or `end_turn`."""
    last_event: str
    """What came right before the message, such as `tool_result` or `user_message`."""
    tool_ratio: float
    n_prev_turns: int
    model: str
    tool_calls: int
    """How many calls the message holds: 0 with the reason `tool_calls` is a broken promise."""
    todos: Sequence[str]
    """What stands open on the agent's own list."""
    planned_files: Sequence[str]
    """Files that its plan names."""


def step_report(said: str | None, fields: StepFields) -> StepReport:
    """Return what a client says before a step."""
    told = StepContext(
        total_tokens_used=fields.get("total_tokens_used"),
        total_tool_calls=fields.get("total_tool_calls"),
        rework_count=fields.get("rework_count"),
        coherence_score=fields.get("coherence_score"),
        uncertainty_score=fields.get("uncertainty_score"),
        budget_remaining=fields.get("budget_remaining"),
    )
    return StepReport(said=said, told=told, waiting=_waiting(fields))


def stop_report(text: str | None, fields: StopFields) -> StopReport:
    """Return what a client says at the end of a turn."""
    finish_reason, last_event = fields.get("finish_reason"), fields.get("last_event")
    return StopReport(
        text=text,
        finish_reason=None if finish_reason is None else finish_reason_from(finish_reason),
        last_event=None if last_event is None else last_event_from(last_event),
        tool_ratio=fields.get("tool_ratio"),
        n_prev_turns=fields.get("n_prev_turns"),
        model=fields.get("model"),
        tool_calls=fields.get("tool_calls"),
        todos=tuple(fields.get("todos", ())),
        planned_files=tuple(fields.get("planned_files", ())),
        waiting=_waiting(fields),
    )


def _waiting(fields: WaitFields) -> Waiting | None:
    what = fields.get("waiting_for")
    if what is None:
        return None
    return Waiting(what=what, delay_ms=round(fields.get("look_again_s", _LOOK_AGAIN_S) * 1000))
