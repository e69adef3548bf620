"""A run whose steps are only observed goes on, and is told what would have held it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.arbitration import Course
from interlock.model.step import Remaining, StepContext, StepDecision
from interlock.policy.arbiter import ruling
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps.continue_gate import decide
from steps.contexts import ACCELERATING, BASE, a_context, a_sign

OBSERVE = Steps(mode="observe")


@pytest.mark.parametrize(
    ("context", "would_have", "reason"),
    [
        (
            a_context(coherence_score=0.1),
            StepDecision.STOP,
            "would have been stopped: coherence is 0.1",
        ),
        (
            a_context(budget_remaining=Remaining(tokens=0)),
            StepDecision.STOP,
            "would have been stopped: the budget is used up",
        ),
        (
            a_context(signs=(a_sign(),)),
            StepDecision.PAUSE,
            "would have been paused: the same call was made 4 times",
        ),
        (
            a_context(steps_tokens=ACCELERATING),
            StepDecision.THROTTLE,
            "would have been slowed down: the tokens per step grow",
        ),
        (BASE, None, "no limit is reached"),
    ],
)
def test_it_goes_on_and_says_what_would_have_held_it(
    context: StepContext, would_have: StepDecision | None, reason: str
) -> None:
    told = decide(context, OBSERVE)
    ruled = ruling((), told, credit=0)

    assert (told.decision, told.would_have) == (StepDecision.CONTINUE, would_have)
    assert told.delay_ms is None
    assert told.reasons == decide(context, Steps()).reasons
    assert ruled.course is Course.GO_ON
    assert ruled.reason.startswith(reason)


def test_a_checkpoint_is_taken_all_the_same() -> None:
    told = decide(a_context(coherence_score=0.1, step_number=60), OBSERVE)

    assert (told.decision, told.would_have) == (StepDecision.CHECKPOINT, StepDecision.STOP)
    assert told.checkpoint_due


@given(st.floats(0, 1), st.floats(0, 1), st.integers(0, 200))
def test_only_what_it_comes_to_differs(coherence: float, uncertainty: float, step: int) -> None:
    context = a_context(coherence_score=coherence, uncertainty_score=uncertainty, step_number=step)
    told, enforced = decide(context, OBSERVE), decide(context, Steps())

    assert told.decision in (StepDecision.CONTINUE, StepDecision.CHECKPOINT)
    assert (told.would_have or told.decision) == enforced.decision
