"""Is it really done? Asked each time an agent ends its turn without acting.

Vetoes come first, then what the protocol itself says, then the score. A soft signal never
overrides a veto.
"""

from __future__ import annotations

from typing import Final

from interlock.model.stop import (
    FinishReason,
    SignalScore,
    StopContext,
    StopDecision,
    StopOutcome,
)
from interlock.policy.stops.closing import closing_of
from interlock.policy.stops.nudge import nudge_of
from interlock.policy.stops.settings import StopSettings, settings_for
from interlock.policy.stops.signals import intent_of, signals_of
from interlock.policy.stops.vetoes import exhausted, veto_of


def decide(context: StopContext, settings: StopSettings) -> StopDecision:
    """Return whether the turn goes on, with every signal and the one reason."""
    chosen = settings_for(context.model, settings)
    closing = closing_of(context.text)
    intent = intent_of(context.text, closing, chosen)
    signals = signals_of(context, closing, intent, chosen)
    score = sum([signal.points for signal in signals])
    outcome, reason = _outcome(context, score, signals, chosen)
    is_told = outcome in _TOLD
    vetoed = veto_of(context, closing, chosen) or (exhausted(context, chosen) if is_told else None)
    if vetoed is not None:
        return StopDecision(
            goes_on=False,
            score=score,
            signals=signals,
            reason=vetoed.reason,
            outcome=StopOutcome.VETOED,
            veto=vetoed.veto,
        )
    intent = intent_of(context.text, closing, chosen) if is_told else None
    return StopDecision(
        goes_on=is_told or outcome is StopOutcome.ACTS,
        score=score,
        signals=signals,
        reason=reason,
        outcome=outcome,
        nudge=nudge_of(context, intent) if is_told else None,
    )


_TOLD: Final = frozenset((StopOutcome.NUDGED, StopOutcome.RESUMED))
"""What goes on because it is told to, which happens only so often."""


def _outcome(
    context: StopContext, score: int, signals: tuple[SignalScore, ...], settings: StopSettings
) -> tuple[StopOutcome, str]:
    """Return what happens where nothing forbids going on, and why."""
    if context.tool_calls:
        return StopOutcome.ACTS, f"it acts: the message holds {context.tool_calls} tool calls"
    if context.finish_reason is FinishReason.LENGTH:
        return StopOutcome.RESUMED, "it was cut off at its length limit"
    if context.finish_reason is FinishReason.TOOL_CALLS:
        return StopOutcome.NUDGED, "it announced tool calls and gave none"
    counted = f"score {score} of {settings.continue_at}: {_what_counted(signals)}"
    if score >= settings.continue_at:
        return StopOutcome.NUDGED, counted
    if score >= settings.warn_at:
        return StopOutcome.FINISHED_WITH_WARNING, counted
    return StopOutcome.FINISHED, counted


def _what_counted(signals: tuple[SignalScore, ...]) -> str:
    counted = [f"{each.signal} {each.points} ({each.because})" for each in signals if each.points]
    return ", ".join(counted) or "no signal speaks for going on"
