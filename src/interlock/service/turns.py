"""What a caller says before a step and at the end of a turn, read into what the gates take."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypedDict

from interlock.errors import InputError
from interlock.model.ruling import Waiting
from interlock.model.step import Remaining, StepContext
from interlock.model.stop import finish_reason_from, last_event_from
from interlock.service.questions.step import StepReport
from interlock.service.questions.stop import StopReport

_LOOK_AGAIN_S: Final = 60.0
_MOST: Final = 2**53
"""More than this is a mistake, and some readers of JSON could not hold it."""


class TurnFields(TypedDict, total=False):
    """What a client may say of any question: its own name for it, and what the run waits for."""

    key: str
    """The client's own name for this question: asked again, it gets the same answer."""
    waiting_for: str
    look_again_s: float
    """When to look again; a minute, unless told otherwise."""


class StepFields(TurnFields, total=False):
    """What a client knows before a step by itself; the record knows the rest."""

    total_tokens_used: int
    total_tool_calls: int
    rework_count: int
    coherence_score: float
    uncertainty_score: float
    budget_remaining: Remaining


class StopFields(TurnFields, total=False):
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
    return StepReport(key=fields.get("key"), said=said, told=told, waiting=_waiting(fields))


def stop_report(text: str | None, fields: StopFields) -> StopReport:
    """Return what a client says at the end of a turn."""
    finish_reason, last_event = fields.get("finish_reason"), fields.get("last_event")
    return StopReport(
        key=fields.get("key"),
        text=text,
        finish_reason=None if finish_reason is None else finish_reason_from(finish_reason),
        last_event=None if last_event is None else last_event_from(last_event),
        tool_ratio=_number("tool_ratio", fields.get("tool_ratio")),
        n_prev_turns=_count("n_prev_turns", fields.get("n_prev_turns")),
        model=fields.get("model"),
        tool_calls=_count("tool_calls", fields.get("tool_calls")),
        todos=_texts("todos", fields.get("todos", ())),
        planned_files=_texts("planned_files", fields.get("planned_files", ())),
        waiting=_waiting(fields),
    )


def _waiting(fields: TurnFields) -> Waiting | None:
    what = fields.get("waiting_for")
    if what is None:
        return None
    look_again_s = _number("look_again_s", fields.get("look_again_s"))
    return Waiting(
        what=what, delay_ms=round(1000 * (_LOOK_AGAIN_S if look_again_s is None else look_again_s))
    )


# What no type checker has seen may be anything, and what the record cannot hold must not reach it.


def _number(name: str, value: float | None) -> float | None:
    if value is not None and (type(value) not in (float, int) or not _is_bounded(value)):
        raise InputError(f"`{name}` is `{value}`, expected a number from 0 to {_MOST}")
    return value


def _is_bounded(value: float) -> bool:
    return math.isfinite(value) and 0 <= value <= _MOST


def _count(name: str, value: int | None) -> int | None:
    if value is not None and (type(value) is not int or not 0 <= value <= _MOST):
        raise InputError(f"`{name}` is `{value}`, expected a whole number from 0 to {_MOST}")
    return value


def _texts(name: str, values: Sequence[str]) -> tuple[str, ...]:
    if isinstance(values, str) or not all(type(each) is str for each in values):
        raise InputError(f"`{name}` is not a list of texts: give each of them as one text")
    return tuple(values)
