"""Runs as they stand before a step: the spec's base row, and any other; and what led there."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.model.progress_meter import Kind, Meter, Observation, noted
from interlock.model.step import Remaining, Sign, StepContext, StepDecision

BASE = StepContext(
    step_number=10,
    total_tokens_used=5000,
    total_tool_calls=20,
    rework_count=1,
    coherence_score=0.8,
    uncertainty_score=0.3,
    last_checkpoint_step=0,
    elapsed_ms=30_000,
    budget_remaining=Remaining(tokens=100_000, tool_calls=500, time_ms=600_000),
)
ACCELERATING = tuple(1000 * 11**step // 10**step for step in range(10))
"""Ten per cent more with each step."""


def a_context(**changes: object) -> StepContext:
    """The base row with something else about it."""
    return replace(BASE, **changes)


def a_sign(
    name: str = "loop",
    decision: StepDecision = StepDecision.PAUSE,
    message: str = "the same call was made 4 times",
) -> Sign:
    return Sign(name=name, decision=decision, message=message, remediation="try something else")


def a_call(name: str, **more: Any) -> Observation:
    telling: dict[str, Any] = {"call": f"call {name}", "result": f"what {name} gives"}
    return Observation(kind=Kind.CALL, **(telling | more))


def after(*seen: Observation) -> Meter:
    meter = Meter()
    for each in seen:
        meter = noted(meter, each)
    return meter


counts = st.integers(0, 300)
scores = st.floats(0, 1)
spending = st.lists(st.integers(0, 10**6), max_size=12).map(tuple)
left = st.none() | st.integers(-5, 5)
remainings = st.builds(Remaining, **dict.fromkeys(Remaining.__struct_fields__, left))
signs = st.builds(
    Sign,
    name=st.sampled_from(["loop", "stuck", "stale", "budget"]),
    decision=st.sampled_from(StepDecision),
    message=st.sampled_from(["one", "another"]),
    remediation=st.sampled_from(["do this", "do that"]),
    value=st.none() | st.floats(-1, 1),
)


# Made once: a strategy that is made for each run takes longer than what it draws.
_maybe_count, _maybe_score = st.none() | counts, st.none() | scores
_maybe_left = st.none() | remainings
_some_signs = st.lists(signs, max_size=5).map(tuple)


@st.composite
def contexts(draw: st.DrawFn) -> StepContext:
    """Any run: each signal may be unknown."""
    step = draw(_maybe_count)
    return StepContext(
        step_number=step,
        total_tokens_used=draw(_maybe_count),
        rework_count=draw(_maybe_count),
        rework_ratio=draw(_maybe_score),
        coherence_score=draw(_maybe_score),
        uncertainty_score=draw(_maybe_score),
        budget_remaining=draw(_maybe_left),
        last_checkpoint_step=draw(st.none() | st.integers(0, 300 if step is None else step)),
        steps_since_person=draw(_maybe_count),
        steps_tokens=draw(spending),
        signs=draw(_some_signs),
    )
