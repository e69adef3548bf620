"""The continue gate, row by row: what decides, why, and what goes with it."""

from __future__ import annotations

import msgspec
import pytest

from interlock.model.budget import Dimension
from interlock.model.budget_words import UsedUp
from interlock.model.short_code import code_of
from interlock.model.step import ContinueDecision, Remaining, StepContext, StepDecision, StepMetrics
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps.continue_gate import decide, is_within_cooldown
from interlock.service.unrecorded_gate import ContinueGate
from steps.contexts import ACCELERATING, BASE, a_context, a_sign

DEFAULTS = Steps()
LIMITED = Steps(max_total=60)
_RUN = "0198a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b"
CONTINUE, CHECKPOINT, THROTTLE, PAUSE, STOP = StepDecision


def codes(answer: ContinueDecision) -> list[str]:
    return [reason.code for reason in answer.reasons]


def left(**changes: int | None) -> Remaining:
    return Remaining(**{"tokens": 100_000, "tool_calls": 500, "time_ms": 600_000, **changes})


@pytest.mark.parametrize(
    ("changes", "decision", "reasons"),
    [
        pytest.param({}, CONTINUE, [], id="base"),
        pytest.param({"coherence_score": 0.2}, STOP, ["coherence"], id="coherence .2"),
        pytest.param({"coherence_score": 0.39}, STOP, ["coherence"], id="coherence .39"),
        pytest.param({"coherence_score": 0.40}, CONTINUE, [], id="coherence .40"),
        pytest.param({"coherence_score": 0}, STOP, ["coherence"], id="coherence 0"),
        pytest.param(
            {"step_number": 100, "last_checkpoint_step": 50},
            STOP,
            ["step-limit", "checkpoint"],
            id="step 100, checkpoint 50",
        ),
        pytest.param(
            {"step_number": 100, "last_checkpoint_step": 74},
            STOP,
            ["step-limit", "checkpoint"],
            id="step 100, checkpoint overdue by one",
        ),
        pytest.param(
            {"step_number": 100, "last_checkpoint_step": 75},
            CHECKPOINT,
            ["checkpoint"],
            id="step 100, checkpoint just due",
        ),
        pytest.param(
            {"step_number": 100, "last_checkpoint_step": 90},
            CONTINUE,
            [],
            id="step 100, checkpoint 90",
        ),
        pytest.param(
            {"step_number": 99, "last_checkpoint_step": 50},
            CHECKPOINT,
            ["checkpoint"],
            id="step 99, checkpoint 50",
        ),
        pytest.param(
            {"step_number": 500, "last_checkpoint_step": 50, "steps_since_person": 99},
            CHECKPOINT,
            ["checkpoint"],
            id="a person came 99 steps ago",
        ),
        pytest.param(
            {"step_number": 500, "last_checkpoint_step": 50, "steps_since_person": 100},
            STOP,
            ["step-limit", "checkpoint"],
            id="a person came 100 steps ago",
        ),
        pytest.param({"budget_remaining": left(tokens=0)}, STOP, ["budget"], id="no tokens"),
        pytest.param({"budget_remaining": left(tokens=1)}, CONTINUE, [], id="one token"),
        pytest.param({"budget_remaining": left(tokens=-100)}, STOP, ["budget"], id="tokens -100"),
        pytest.param({"budget_remaining": Remaining()}, CONTINUE, [], id="no limits"),
        pytest.param({"rework_count": 4}, PAUSE, ["rework"], id="rework 4"),
        pytest.param({"rework_count": 3}, CONTINUE, [], id="rework 3"),
        pytest.param({"rework_ratio": 0.31}, PAUSE, ["rework"], id="rework ratio .31"),
        pytest.param({"rework_ratio": 0.30}, CONTINUE, [], id="rework ratio .30"),
        pytest.param(
            {"rework_count": 4, "rework_ratio": 0.0}, PAUSE, ["rework"], id="the larger counts"
        ),
        pytest.param({"step_number": 20, "rework_count": 4}, CONTINUE, [], id="rework 4 of 20"),
        pytest.param({"uncertainty_score": 0.9}, PAUSE, ["uncertainty"], id="uncertainty .9"),
        pytest.param({"uncertainty_score": 1.0}, PAUSE, ["uncertainty"], id="uncertainty 1"),
        pytest.param({"uncertainty_score": 0.8}, CONTINUE, [], id="uncertainty .8"),
        pytest.param({"step_number": 25}, CHECKPOINT, ["checkpoint"], id="step 25"),
        pytest.param({"step_number": 24}, CONTINUE, [], id="step 24"),
        pytest.param(
            {"step_number": 40, "last_checkpoint_step": 15},
            CHECKPOINT,
            ["checkpoint"],
            id="25 steps after another checkpoint",
        ),
        pytest.param(
            {"coherence_score": 0.2, "rework_count": 5},
            STOP,
            ["coherence", "rework"],
            id="coherence .2 and rework 5",
        ),
        pytest.param({"steps_tokens": (1000,) * 10}, CONTINUE, [], id="constant spending"),
        pytest.param({"steps_tokens": ACCELERATING}, THROTTLE, ["slope"], id="accelerating"),
        pytest.param(
            {"steps_tokens": ACCELERATING, "step_number": 11, "rework_count": 5},
            PAUSE,
            ["rework", "slope"],
            id="pause before throttle",
        ),
        pytest.param(
            {"steps_tokens": ACCELERATING, "step_number": 25},
            THROTTLE,
            ["slope", "checkpoint"],
            id="throttle before checkpoint",
        ),
    ],
)
def test_decides_as_the_reference_rows_say(
    changes: dict[str, object], decision: StepDecision, reasons: list[str]
):
    answer = decide(a_context(**changes), DEFAULTS)

    assert answer.decision is decision
    assert codes(answer) == reasons


@pytest.mark.parametrize(
    ("remaining", "named"),
    [
        (left(tokens=0), "tokens (0 left)"),
        (left(tool_calls=0), "tool calls (0 left)"),
        (left(time_ms=-1500), "time (-1.5 s left)"),
        (left(cost_micros=-20_000), "cost (-0.02 USD left)"),
        (left(diff_lines=0), "changed lines (0 left)"),
        (left(storage_bytes=-7), "storage (-7 bytes left)"),
        (
            left(tokens=0, tool_calls=0, time_ms=0),
            "tokens (0 left), tool calls (0 left), time (0.0 s left)",
        ),
    ],
    ids=["tokens", "tool calls", "time", "cost", "changed lines", "storage", "all three"],
)
def test_names_every_budget_that_is_used_up(remaining: Remaining, named: str):
    answer = decide(a_context(budget_remaining=remaining), DEFAULTS)

    assert answer.decision is STOP
    assert answer.reasons[0].message == (
        f"the budget is used up: {named}; more than 0 is needed for a step"
    )


def test_a_budget_on_record_is_told_with_both_numbers_and_the_way_on():
    spent = UsedUp(
        run=_RUN, scope=f"tree/{_RUN}", dimension=Dimension.TOKENS, used=5_250, limit=5_000
    )
    context = a_context(budget_remaining=left(tokens=-250, tool_calls=0), used_up=(spent,))
    (reason,) = decide(context, DEFAULTS).reasons

    assert reason.message == (
        "the budget is used up: this run with its sub-agents has used 5,250 of 5,000 tokens; tool"
        " calls (0 left); more than 0 is needed for a step"
    )
    assert reason.remediation == (
        f"finish here, or have a person raise it, `interlock budget tree/{code_of(_RUN)} tokens"
        f" NEW`, and let the run go on: `interlock resume {code_of(_RUN)} --reason TEXT`"
    )


def test_a_budget_on_record_is_told_alone_where_the_client_tells_nothing():
    spent = UsedUp(run=_RUN, scope=f"run/{_RUN}", dimension=Dimension.TOOL_CALLS, used=20, limit=20)
    (reason,) = decide(a_context(used_up=(spent,)), DEFAULTS).reasons

    assert reason.message == "the budget is used up: this run has used 20 of 20 tool calls"


def test_the_absolute_limit_stops_however_many_checkpoints_and_people_there_were():
    context = a_context(step_number=60, last_checkpoint_step=60, steps_since_person=0)

    assert decide(context, LIMITED).decision is STOP
    assert codes(decide(context, LIMITED)) == ["total-step-limit"]
    assert decide(context, DEFAULTS).decision is CONTINUE
    assert decide(a_context(step_number=59, last_checkpoint_step=59), LIMITED).reasons == ()


def test_a_run_that_takes_its_checkpoints_passes_the_consecutive_limit():
    checkpoint, decisions = 0, set[StepDecision]()
    for step in range(1000):
        answer = decide(StepContext(step_number=step, last_checkpoint_step=checkpoint), DEFAULTS)
        decisions.add(answer.decision)
        checkpoint = step if answer.checkpoint_due else checkpoint

    assert decisions == {CONTINUE, CHECKPOINT}


def test_a_due_checkpoint_is_flagged_whatever_wins():
    due = {"step_number": 25}

    assert decide(a_context(**due), DEFAULTS).checkpoint_due
    assert decide(a_context(**due, steps_tokens=ACCELERATING), DEFAULTS).checkpoint_due
    assert decide(a_context(**due, rework_count=20), DEFAULTS).checkpoint_due
    assert decide(a_context(**due, coherence_score=0.1), DEFAULTS).checkpoint_due
    assert not decide(BASE, DEFAULTS).checkpoint_due


def test_only_a_throttle_carries_a_delay():
    throttled = decide(a_context(steps_tokens=ACCELERATING), DEFAULTS)
    paused = decide(a_context(steps_tokens=ACCELERATING, rework_count=9), DEFAULTS)

    assert throttled.delay_ms == 5000
    assert paused.delay_ms is None
    assert decide(BASE, DEFAULTS).delay_ms is None


@pytest.mark.parametrize(
    ("throttled_before", "delay_ms"),
    [(0, 5000), (1, 10_000), (2, 20_000), (3, 40_000), (4, 60_000), (10**9, 60_000)],
)
def test_the_delay_doubles_while_throttling_lasts_up_to_its_cap(
    throttled_before: int, delay_ms: int
):
    context = a_context(steps_tokens=ACCELERATING)

    answer = decide(context, DEFAULTS, throttled_before=throttled_before)

    assert answer.delay_ms == delay_ms


def test_a_sign_speaks_by_its_own_name():
    answer = decide(a_context(signs=(a_sign("loop", STOP),)), DEFAULTS)

    assert answer.decision is STOP
    assert codes(answer) == ["loop"]
    assert answer.reasons[0].message == "the same call was made 4 times"
    assert answer.reasons[0].remediation == "try something else"


def test_a_sign_that_only_warns_is_heard_and_changes_nothing():
    warning = a_sign("loop", CONTINUE)

    for short in (False, True):
        answer = decide(a_context(signs=(warning,)), DEFAULTS, short=short)
        assert answer.decision is CONTINUE
        assert answer.reasons == ()
        assert answer.warnings == (warning,)


def test_a_sign_may_ask_for_a_checkpoint_or_a_throttle():
    checkpoint = decide(a_context(signs=(a_sign("risky", CHECKPOINT),)), DEFAULTS)
    throttle = decide(a_context(signs=(a_sign("hasty", THROTTLE),)), DEFAULTS)

    assert (checkpoint.decision, checkpoint.checkpoint_due) == (CHECKPOINT, True)
    assert (throttle.decision, throttle.delay_ms) == (THROTTLE, 5000)


def test_the_gates_own_reasons_come_first_among_equals():
    signs = (a_sign("zeal", PAUSE), a_sign("awe", PAUSE), a_sign("loop", STOP))
    context = a_context(signs=signs, rework_count=9, step_number=25)

    assert codes(decide(context, DEFAULTS)) == ["loop", "rework", "awe", "zeal", "checkpoint"]


def test_a_second_call_within_the_cooldown_still_stops():
    settings = Steps(cooldown_ms=60_000)
    short = is_within_cooldown(settings, full_at_ms=1000, at_ms=2000)

    answer = decide(a_context(coherence_score=0.1), settings, short=short)

    assert (answer.decision, answer.short) == (STOP, True)
    assert codes(answer) == ["coherence"]


def test_the_gate_by_itself_remembers_when_it_last_looked_in_full():
    gate = ContinueGate(Steps(cooldown_ms=60_000))

    first = gate.evaluate(a_context(), at_ms=1000)
    second = gate.evaluate(a_context(coherence_score=0.1), at_ms=2000)
    third = gate.evaluate(a_context(rework_count=9), at_ms=61_000)

    assert [each.short for each in (first, second, third)] == [False, True, False]
    assert [each.decision for each in (first, second, third)] == [CONTINUE, STOP, PAUSE]


def test_the_gate_by_itself_waits_longer_while_spending_still_grows():
    gate = ContinueGate(Steps(cooldown_ms=0))
    growing = a_context(steps_tokens=ACCELERATING)

    delays = [gate.evaluate(growing, at_ms=at_ms).delay_ms for at_ms in range(3)]
    calm = gate.evaluate(a_context(), at_ms=3)
    again = gate.evaluate(growing, at_ms=4)

    assert delays == [5_000, 10_000, 20_000]
    assert (calm.delay_ms, again.delay_ms) == (None, 5_000)


def test_the_gate_by_itself_adds_up_its_latest_10_000_answers():
    gate = ContinueGate(Steps())

    for at_ms in range(10_002):
        gate.evaluate(a_context(), at_ms=at_ms * 10_000)

    assert gate.statistics().evaluations == 10_000


@pytest.mark.parametrize(
    ("changes", "decision"),
    [
        ({"coherence_score": 0.1}, STOP),
        ({"budget_remaining": left(tokens=0)}, STOP),
        ({"step_number": 100, "last_checkpoint_step": 50}, STOP),
        ({"step_number": 25}, CHECKPOINT),
        ({"signs": (a_sign(decision=STOP),)}, STOP),
        ({"signs": (a_sign(decision=PAUSE),)}, PAUSE),
        ({"signs": (a_sign(decision=CHECKPOINT),)}, CHECKPOINT),
        ({"signs": (a_sign(decision=THROTTLE),)}, CONTINUE),
        ({"rework_count": 9}, CONTINUE),
        ({"uncertainty_score": 0.9}, CONTINUE),
        ({"steps_tokens": ACCELERATING}, CONTINUE),
    ],
)
def test_a_short_answer_makes_the_hard_checks_only(
    changes: dict[str, object], decision: StepDecision
):
    answer = decide(a_context(**changes), DEFAULTS, short=True)

    assert (answer.decision, answer.short) == (decision, True)


def test_a_short_answer_leaves_only_the_slope_unmeasured():
    context = a_context(steps_tokens=ACCELERATING)

    full, short = decide(context, DEFAULTS), decide(context, DEFAULTS, short=True)

    assert full.metrics.budget_slope is not None
    assert short.metrics == msgspec.structs.replace(full.metrics, budget_slope=None)


@pytest.mark.parametrize(
    ("full_at_ms", "at_ms", "within"),
    [
        (None, 0, False),
        (1000, 1000, True),
        (1000, 5999, True),
        (1000, 6000, False),
        (1000, 999, False),
    ],
    ids=["first answer", "at once", "just within", "just over", "clock set back"],
)
def test_the_cooldown_is_over_when_its_time_has_passed(
    full_at_ms: int | None, at_ms: int, within: bool
):
    assert is_within_cooldown(DEFAULTS, full_at_ms=full_at_ms, at_ms=at_ms) is within


def test_without_a_cooldown_every_answer_is_full():
    assert not is_within_cooldown(Steps(cooldown_ms=0), full_at_ms=5, at_ms=5)


def test_tells_the_figures_of_the_base_row():
    assert decide(BASE, DEFAULTS).metrics == StepMetrics(
        rework_ratio=0.1,
        steps_until_checkpoint=15,
        coherence=0.8,
        coherence_level="full",
        uncertainty=0.3,
        uncertainty_level="low",
        unknown=("slope",),
    )


def test_nothing_known_lets_the_run_go_on_and_names_every_check_that_was_not_made():
    answer = decide(StepContext(), LIMITED)

    assert answer.decision is CONTINUE
    assert answer.metrics == StepMetrics(
        unknown=(
            "coherence",
            "step-limit",
            "total-step-limit",
            "budget",
            "rework",
            "uncertainty",
            "slope",
            "checkpoint",
        )
    )


@pytest.mark.parametrize(
    ("changes", "unknown"),
    [
        ({"coherence_score": None}, ("coherence",)),
        ({"last_checkpoint_step": None}, ("step-limit", "checkpoint")),
        ({"budget_remaining": None}, ("budget",)),
        ({"rework_count": None}, ("rework",)),
        ({"uncertainty_score": None}, ("uncertainty",)),
        ({"steps_tokens": (1000,) * 3}, ("slope",)),
        ({"step_number": None}, ("step-limit", "rework", "checkpoint")),
    ],
)
def test_names_the_check_that_an_unknown_signal_prevents(
    changes: dict[str, object], unknown: tuple[str, ...]
):
    context = a_context(**{"steps_tokens": (1000,) * 4, **changes})

    assert decide(context, DEFAULTS).metrics.unknown == unknown


def test_the_absolute_limit_is_unknown_only_where_it_is_set():
    context = a_context(steps_tokens=(1000,) * 4, step_number=None)

    assert "total-step-limit" in decide(context, LIMITED).metrics.unknown
    assert "total-step-limit" not in decide(context, DEFAULTS).metrics.unknown


def test_rework_at_step_0_is_none():
    assert decide(a_context(step_number=0, rework_count=0), DEFAULTS).metrics.rework_ratio == 0
    assert decide(a_context(step_number=0, rework_count=5), DEFAULTS).decision is CONTINUE


def test_rework_is_a_share_of_all_steps():
    context = a_context(step_number=20, rework_count=4)

    assert decide(context, DEFAULTS).metrics.rework_ratio == 0.2


@pytest.mark.parametrize(
    ("coherence", "level"),
    [(0.8, "full"), (0.7, "full"), (0.5, "restricted"), (0.4, "read-only"), (0.2, "stop")],
)
def test_names_the_band_of_coherence(coherence: float, level: str):
    answer = decide(a_context(coherence_score=coherence), DEFAULTS)

    assert answer.metrics.coherence_level == level


@pytest.mark.parametrize(
    ("uncertainty", "level"),
    [(0.2, "low"), (0.3, "low"), (0.5, "moderate"), (0.7, "high"), (0.8, "high"), (0.9, "extreme")],
)
def test_has_a_word_for_uncertainty(uncertainty: float, level: str):
    answer = decide(a_context(uncertainty_score=uncertainty), DEFAULTS)

    assert answer.metrics.uncertainty_level == level


def test_the_word_for_uncertainty_follows_the_limit_that_is_set():
    answer = decide(a_context(uncertainty_score=0.25), Steps(max_uncertainty_percent=20))

    assert (answer.decision, answer.metrics.uncertainty_level) == (PAUSE, "extreme")


def test_counts_down_to_the_next_checkpoint_and_not_below_0():
    def until(step: int) -> int | None:
        return decide(a_context(step_number=step), DEFAULTS).metrics.steps_until_checkpoint

    assert [until(step) for step in (0, 24, 25, 40)] == [25, 1, 0, 0]


def test_says_everything_in_words():
    context = a_context(
        step_number=200,
        coherence_score=0.2,
        rework_count=100,
        uncertainty_score=0.9,
        budget_remaining=left(tokens=0),
        steps_tokens=ACCELERATING,
    )

    answer = decide(context, LIMITED)

    assert [f"{each.decision.value}: {each.message}" for each in answer.reasons] == [
        "stop: coherence is 0.2, the minimum is 0.4",
        "stop: 200 steps without a person and 200 without a checkpoint that saved anything,"
        " expected fewer than 100 or a checkpoint every 25",
        "stop: 200 steps were taken, the limit is 60",
        "stop: the budget is used up: tokens (0 left); more than 0 is needed for a step",
        "pause: the rework ratio is 0.5, the limit is 0.3",
        "pause: uncertainty is 0.9, the limit is 0.8",
        "throttle: the tokens per step grow by 0.0938 of their average with each step,"
        " the limit is 0.02",
        "checkpoint: 200 steps since the last checkpoint, one is due every 25",
    ]


def test_a_figure_just_beyond_its_limit_is_not_told_as_the_limit():
    answer = decide(a_context(coherence_score=0.39999), DEFAULTS)

    assert answer.reasons[0].message == "coherence is 0.39999, the minimum is 0.4"


def test_an_answer_survives_the_way_through_the_ledger():
    context = a_context(signs=(a_sign(decision=CONTINUE), a_sign()), step_number=120)
    answer = decide(context, DEFAULTS)

    assert msgspec.json.decode(msgspec.json.encode(answer), type=ContinueDecision) == answer
    assert msgspec.json.decode(msgspec.json.encode(context), type=StepContext) == context


@pytest.mark.parametrize(
    ("saved", "expected"), [(None, False), (95, False), (75, False), (74, True), (0, True)]
)
def test_only_a_checkpoint_that_saved_something_resets_the_limit(
    saved: int | None, *, expected: bool
) -> None:
    context = a_context(step_number=100, last_checkpoint_step=100, last_saved_step=saved)

    codes = [each.code for each in decide(context, Steps()).reasons]

    assert (codes == ["step-limit"]) is expected
