"""The figures behind an answer, and what each comes from."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.model.control_state import COHERENCE_ACTIONS
from interlock.model.step import StepContext
from interlock.policy.steps.loop_detector import Figure, figures_of, progress_of
from interlock.policy.steps.step_figures import (
    FEWEST,
    budget_slope,
    coherence,
    confidence,
    uncertainty,
)
from interlock.views.explain_checks import figure
from interlock.views.moment import Moment


def known_figures(moment: Moment, facts: StepContext) -> tuple[Figure, ...]:
    """Return every figure that is known, with what it comes from."""
    return (
        *_coherence(moment, facts),
        *figures_of(moment.meter),
        *_told_rework(moment, facts),
        *_uncertainty(moment, facts),
        *_slope(facts),
    )


def _coherence(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    if facts.coherence_score is None:
        return
    going, seen = moment.before.going, progress_of(moment.meter)
    actions, violations = min(going.actions, COHERENCE_ACTIONS), going.recent_violations
    ours = coherence(
        actions=actions, violations=violations, rework=seen.rework, progress=seen.progress
    )
    sum_of = (
        f"0.4 for {actions - min(violations, actions)} of the latest {actions} actions without a"
        f" broken rule, 0.3 for {actions - min(seen.rework, actions)} without rework, 0.3 for"
        f" {min(seen.progress, actions)} that brought something new or waited"
        if actions >= FEWEST
        else f"fewer than {FEWEST} actions: only the client knows"
    )
    yield _figure("coherence", facts.coherence_score, ours, sum_of)


def _told_rework(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    """Yield what the client says of rework; what the record says stands among the others."""
    if facts.rework_count is not None and facts.step_number:
        yield Figure(
            name="rework, told",
            value=facts.rework_count / facts.step_number,
            because=(
                f"the client counts {facts.rework_count} of {facts.step_number} steps as rework",
            ),
        )
    ours = progress_of(moment.meter).rework_ratio
    if facts.rework_ratio is not None and facts.rework_ratio != ours:
        because = (f"the client says so; the record gives {figure(ours)}",)
        yield Figure(name="rework, told", value=facts.rework_ratio, because=because)


def _uncertainty(moment: Moment, facts: StepContext) -> Iterator[Figure]:
    if facts.uncertainty_score is None:
        return
    beliefs = tuple(moment.before.going.beliefs.values())
    told = [
        f"`{each.name}` is {confidence(each):.2f} sure (for {each.supporting:g}, against"
        f" {each.opposing:g})"
        for each in beliefs
    ]
    because = f"1 less the geometric mean of: {'; '.join(told)}" if told else "nobody reported any"
    yield _figure("uncertainty", facts.uncertainty_score, uncertainty(beliefs), because)


def _slope(facts: StepContext) -> Iterator[Figure]:
    slope = budget_slope(facts.steps_tokens)
    if slope is not None:
        tokens = ", ".join(f"{each:,}" for each in facts.steps_tokens)
        because = f"tokens of the latest {len(facts.steps_tokens)} steps: {tokens}"
        yield Figure(name="slope", value=slope, because=(because,))


def _figure(name: str, value: float, ours: float | None, because: str) -> Figure:
    """Return a figure of the record, or the client's where that is worse."""
    if ours == value:
        return Figure(name=name, value=value, because=(because,))
    told = f"the client says so; the record gives {figure(ours)}"
    return Figure(name=name, value=value, because=(told, because))
