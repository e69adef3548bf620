"""What holds for every run, whatever is known of it."""

from __future__ import annotations

import random

from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.model.step import Remaining, Sign, StepContext, StepDecision
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps.continue_gate import decide
from steps.contexts import ACCELERATING, contexts, counts, remainings, scores, signs

LIMITED = Steps(max_total=200)
HARD = {"coherence", "step-limit", "total-step-limit", "budget", "checkpoint"}

shortness = st.booleans()
known_signals = st.one_of(
    st.tuples(st.just("step_number"), counts),
    st.tuples(st.just("rework_count"), counts),
    st.tuples(st.just("rework_ratio"), scores),
    st.tuples(st.just("coherence_score"), scores),
    st.tuples(st.just("uncertainty_score"), scores),
    st.tuples(st.just("budget_remaining"), remainings),
    st.tuples(st.just("last_checkpoint_step"), counts),
    st.tuples(st.just("steps_tokens"), st.just(ACCELERATING)),
)
worse = st.sampled_from(
    [
        {"coherence_score": 0.0},
        {"uncertainty_score": 1.0},
        {"rework_ratio": 1.0},
        {"budget_remaining": Remaining(tokens=0)},
        {"last_checkpoint_step": 0},
        {"steps_since_person": 10**6},
    ]
)


def rank(context: StepContext, *, short: bool = False) -> int:
    return decide(context, LIMITED, short=short).decision.rank


@given(contexts(), st.randoms(use_true_random=False), shortness)
def test_the_order_of_signs_is_irrelevant(context: StepContext, chance: random.Random, short: bool):
    shuffled = replace(context, signs=tuple(chance.sample(context.signs, len(context.signs))))

    assert decide(shuffled, LIMITED, short=short) == decide(context, LIMITED, short=short)


@given(contexts(), signs, shortness)
def test_one_more_sign_never_loosens(context: StepContext, sign: Sign, short: bool):
    more = replace(context, signs=(*context.signs, sign))

    before, after = (decide(each, LIMITED, short=short) for each in (context, more))
    assert after.decision.rank >= before.decision.rank
    assert after.checkpoint_due >= before.checkpoint_due
    assert set(after.reasons) >= set(before.reasons)


@given(contexts(), worse, shortness)
def test_a_worse_signal_never_loosens(context: StepContext, change: dict[str, object], short: bool):
    assert rank(replace(context, **change), short=short) >= rank(context, short=short)


@given(contexts(), known_signals, shortness)
def test_knowing_a_signal_never_loosens(
    context: StepContext, signal: tuple[str, object], short: bool
):
    name, value = signal
    before = replace(context, **{name: () if name == "steps_tokens" else None})
    assume(not _lies_ahead(before, name, value))

    assert rank(replace(before, **{name: value}), short=short) >= rank(before, short=short)


def _lies_ahead(context: StepContext, name: str, value: object) -> bool:
    """Whether the checkpoint would come after the step, which no run can say."""
    known = {
        "step_number": context.step_number,
        "last_checkpoint_step": context.last_checkpoint_step,
        name: value,
    }
    step, checkpoint = known["step_number"], known["last_checkpoint_step"]
    return isinstance(step, int) and isinstance(checkpoint, int) and checkpoint > step


@given(contexts(), shortness)
def test_a_check_that_cannot_be_made_gives_no_reason(context: StepContext, short: bool):
    answer = decide(replace(context, signs=()), LIMITED, short=short)

    assert not {reason.code for reason in answer.reasons} & set(answer.metrics.unknown)


@given(st.none() | counts, st.none() | counts, st.none() | st.integers(0, 10**9), shortness)
def test_what_is_only_told_about_the_run_decides_nothing(
    tokens: int | None, calls: int | None, elapsed_ms: int | None, short: bool
):
    context = StepContext(total_tokens_used=tokens, total_tool_calls=calls, elapsed_ms=elapsed_ms)

    assert decide(context, LIMITED, short=short).decision is StepDecision.CONTINUE


@given(contexts(), shortness)
def test_the_most_severe_reason_decides(context: StepContext, short: bool):
    answer = decide(context, LIMITED, short=short)

    ranks = [reason.decision.rank for reason in answer.reasons]
    assert answer.decision.rank == max(ranks, default=0)
    assert ranks == sorted(ranks, reverse=True)
    assert 0 not in ranks


@given(contexts(), shortness)
def test_every_reason_says_what_to_do(context: StepContext, short: bool):
    answer = decide(context, LIMITED, short=short)

    assert all(reason.message and reason.remediation for reason in answer.reasons)
    assert (answer.decision is StepDecision.CONTINUE) == (answer.reasons == ())


@given(contexts())
def test_a_short_answer_has_every_hard_reason_of_the_full_one_and_no_other(context: StepContext):
    full, short = decide(context, LIMITED), decide(context, LIMITED, short=True)

    spoken = {sign.name for sign in context.signs}
    hard = [
        reason
        for reason in full.reasons
        if reason.decision is not StepDecision.THROTTLE
        and (reason.code in HARD or reason.code in spoken)
    ]
    assert list(short.reasons) == hard
    assert short.checkpoint_due == full.checkpoint_due
    assert short.warnings == full.warnings


@given(contexts(), st.integers(0, 100), shortness)
def test_a_delay_grows_while_it_lasts_and_is_capped(context: StepContext, before: int, short: bool):
    one, next_one = (
        decide(context, LIMITED, throttled_before=times, short=short)
        for times in (before, before + 1)
    )

    if one.decision is StepDecision.THROTTLE:
        assert one.delay_ms is not None
        assert next_one.delay_ms == min(2 * one.delay_ms, LIMITED.max_delay_ms)
    else:
        assert one == next_one
        assert one.delay_ms is None


@given(counts, st.integers(1, 300), st.integers(0, 100))
def test_rework_compares_with_its_limit_as_exact_arithmetic_would(
    rework: int, steps: int, percent: int
):
    context = StepContext(step_number=steps, rework_count=rework)
    settings = Steps(max_rework_percent=percent)

    answer = decide(context, settings)

    assert (answer.decision is StepDecision.PAUSE) == (rework * 100 > percent * steps)


@given(contexts(), shortness)
def test_the_same_question_has_the_same_answer(context: StepContext, short: bool):
    assert decide(context, LIMITED, short=short) == decide(context, LIMITED, short=short)
