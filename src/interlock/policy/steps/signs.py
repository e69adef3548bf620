"""Is the run stuck? Everything that speaks for it, weighed together.

Each kind of evidence has points: 1.0 is enough to pause a run. Kinds that see the same thing from
different sides (a loop of failing calls is also the same error again) count once, by the clearest
of them; kinds that see different things add up. A long run needs a little less evidence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.model.progress import Meter
from interlock.model.step import Sign, StepDecision
from interlock.policy.steps.evidence import STOPS, Evidence
from interlock.policy.steps.failing import failures_evidence, same_error_evidence
from interlock.policy.steps.loops import (
    counting_evidence,
    live_calls,
    loop_evidence,
    waiting_evidence,
)
from interlock.policy.steps.progress import echo_evidence, standstill_evidence
from interlock.policy.steps.progress_settings import ProgressSettings

_WARNS: Final = 0.5
_LENGTH: Final = 0.15
"""What the length of a run adds at most."""
_LONG: Final = 100
"""After so many steps it adds half of that."""
_CALLS: Final = frozenset(("loop", "counting", "same-error", "failures", "waiting"))
"""The kinds that look at the latest calls, and often see the same thing."""


def signs_of(meter: Meter, settings: ProgressSettings) -> tuple[Sign, ...]:
    """Return what the detectors conclude from the run so far."""
    found = tuple(evidence_of(meter, settings))
    if not found:
        return ()
    signs = [_sign(each, settings) for each in found if each.points >= _WARNS]
    score = _score(found, meter)
    clear = any(sign.decision is not StepDecision.CONTINUE for sign in signs)
    if score >= settings.pause_score and not clear:
        signs.append(_stuck(found, score, settings))
    return tuple(signs)


def stuck_score(meter: Meter, settings: ProgressSettings) -> float:
    """Return how much speaks for the run being stuck: from 1.0 on it is paused."""
    return _score(tuple(evidence_of(meter, settings)), meter)


def evidence_of(meter: Meter, settings: ProgressSettings) -> Iterator[Evidence]:
    """Yield everything that speaks for the run being stuck."""
    live = live_calls(meter)
    for each in (
        loop_evidence(live, settings),
        counting_evidence(meter),
        same_error_evidence(live),
        failures_evidence(meter),
        waiting_evidence(live, settings),
        standstill_evidence(live),
        echo_evidence(meter),
    ):
        if each is not None:
            yield each


def _score(found: tuple[Evidence, ...], meter: Meter) -> float:
    calls = max((each.points for each in found if each.name in _CALLS), default=0.0)
    others = sum(each.points for each in found if each.name not in _CALLS)
    return calls + others + _LENGTH * meter.steps / (meter.steps + _LONG)


def _sign(evidence: Evidence, settings: ProgressSettings) -> Sign:
    decision = StepDecision.CONTINUE
    if evidence.points >= settings.pause_score:
        decision = StepDecision.STOP if evidence.points >= STOPS else StepDecision.PAUSE
    return Sign(
        name=evidence.name,
        decision=decision,
        message=evidence.message,
        remediation=evidence.remediation,
        value=evidence.points,
    )


def _stuck(found: tuple[Evidence, ...], score: float, settings: ProgressSettings) -> Sign:
    parts = "; ".join(each.message for each in found)
    return Sign(
        name="stuck",
        decision=StepDecision.PAUSE,
        message=(
            f"together {score:.2f} speaks for the run being stuck, from"
            f" {settings.pause_score:.2f} on it pauses: {parts}"
        ),
        remediation="have a person look at what it tries to do, then resume the run with a hint",
        value=score,
    )
