"""Ends of turns to decide about: only what a test is about is named."""

from __future__ import annotations

from typing import Any

from interlock.model.stop import (
    EvidenceKind,
    FinishReason,
    LastEvent,
    StopContext,
    StopDecision,
    StopEvidence,
)
from interlock.policy.config.stop_section import DEFAULT, Stops
from interlock.policy.stops.stop_gate import decide

ANNOUNCES = "All tests pass. Now let me run the linter."
IS_DONE = "Fixed the parser and added a test. All 12 tests pass."


def a_stop(text: str | None = ANNOUNCES, **known: Any) -> StopContext:
    """Return the end of a turn in the middle of a busy run."""
    usual: dict[str, Any] = {
        "last_event": LastEvent.TOOL_RESULT,
        "finish_reason": FinishReason.STOP,
        "tool_ratio": 0.75,
    }
    return StopContext(text=text, **{**usual, **known})


def decided(text: str | None = ANNOUNCES, settings: Stops = DEFAULT, **known: Any) -> StopDecision:
    """Return what the gate says to it."""
    return decide(a_stop(text, **known), settings)


def goes_on(text: str | None, settings: Stops = DEFAULT, **known: Any) -> bool:
    """Tell whether the turn goes on."""
    return decided(text, settings, **known).goes_on


def points(decision: StopDecision) -> list[int]:
    """Return the points of each signal, in their order."""
    return [signal.points for signal in decision.signals]


def some_evidence(*texts: str, kind: EvidenceKind = EvidenceKind.OPEN_TODO) -> tuple[Any, ...]:
    """Return evidence of one kind."""
    return tuple(StopEvidence(kind=kind, text=text) for text in texts)
