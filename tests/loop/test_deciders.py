"""Who chooses: the rules, or a model that is asked within its limits and otherwise replaced."""

from __future__ import annotations

import pytest

from interlock.loop.control_loop import ControlLoop
from interlock.model.loop_events import CycleDecided, ModelAnswered, ModelAsked
from interlock.model.loop_state import BREAKER_OPEN
from interlock.model.system_loop import LOOP_RUN, CycleOutcome, EmitAlert, LoopAction, Rail
from loop.loop_bench import JOB, LoopBench, answered, model_policy, ticked
from loop.scripted_model import (
    Answer,
    choosing,
    failing,
    flooding,
    saying,
    scripted_model,
)
from service.ledgers import SECOND, events_of

ALERT = choosing("emit_alert", message="look", severity="low", about="")
NOTHING = choosing("do_nothing")
DECIDER = "model openai:scripted"
MINUTE_S = 60


def happened(loop: ControlLoop, bench: LoopBench, name: str) -> CycleDecided:
    """Have something fail, so that somebody is asked; return what was decided."""
    loop.send("ci/failed", None, event_id=name)
    return answered(loop, bench.clock)


def test_the_rules_need_no_model_and_cost_nothing(bench: LoopBench) -> None:
    decided = happened(bench.loop(), bench, "e1")

    assert (decided.decider, decided.cost_micros, decided.raw) == ("rules", 0, "")


def test_a_model_chooses_and_is_charged_what_it_says(lasting_bench: LoopBench) -> None:
    with scripted_model(ALERT) as model:
        loop = lasting_bench.loop(model_policy(model.url))
        decided = happened(loop, lasting_bench, "e1")

        assert len(model.asked) == 1
    assert decided.outcome is CycleOutcome.EMITTED
    assert decided.choice == EmitAlert(message="look", severity="low")  # pyright: ignore[reportArgumentType] - compared by its value
    assert decided.decider == DECIDER
    assert decided.degraded is None
    assert decided.cost_micros == 150
    state = loop.chain.state
    assert (state.spent_micros, state.promised) == (150, {})
    run = lasting_bench.interlock.ledger.state(LOOP_RUN)
    assert run is not None
    assert run.spent.cost_micros == 150


def test_nobody_pays_for_what_needs_no_thought(bench: LoopBench) -> None:
    with scripted_model(NOTHING) as model:
        loop = bench.loop(model_policy(model.url))
        quiet = ticked(loop)
        loop.chain.add_note("look at the build")
        asked = answered(loop, bench.clock)
        same = ticked(loop)

        assert len(model.asked) == 1
    assert (quiet.short_circuit, quiet.decider) == ("nothing_actionable", "nobody")
    assert (asked.decider, asked.outcome) == (DECIDER, CycleOutcome.NOTHING)
    assert (same.short_circuit, same.decider) == ("same_state", "nobody")


def test_an_answer_that_cannot_be_read_is_repaired_once(bench: LoopBench) -> None:
    with scripted_model(saying("I think so."), ALERT) as model:
        loop = bench.loop(model_policy(model.url))
        decided = happened(loop, bench, "e1")

        assert len(model.asked) == 2
        repair = model.asked[1].body["messages"]
    assert [message["role"] for message in repair] == ["system", "user", "assistant", "user"]
    assert "I think so." in repair[2]["content"]
    assert "Your answer was not taken" in repair[3]["content"]
    assert decided.outcome is CycleOutcome.EMITTED
    assert decided.cost_micros == 300
    assert loop.chain.state.breakers[DECIDER].failures == ()


def test_a_second_one_is_an_error_and_nothing_is_done(bench: LoopBench) -> None:
    with scripted_model(saying("I think so."), saying("Really.")) as model:
        loop = bench.loop(model_policy(model.url))
        decided = happened(loop, bench, "e1")

        assert len(model.asked) == 2
    assert decided.outcome is CycleOutcome.VALIDATION_ERROR
    assert decided.choice.action is LoopAction.DO_NOTHING
    assert decided.raw == "Really."
    assert decided.cost_micros == 300
    answers = [
        event
        for event in events_of(bench.interlock.ledger, LOOP_RUN)
        if isinstance(event, ModelAnswered)
    ]
    assert [(each.failure, each.asks_again) for each in answers] == [
        ("unreadable", True),
        ("unreadable", False),
    ]
    assert len(loop.chain.state.breakers[DECIDER].failures) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        pytest.param(failing(503), "answered with status 503", id="down"),
        pytest.param(failing(429), "has no quota left", id="quota"),
        pytest.param(flooding, "answered with more than 1048576 bytes", id="flood"),
    ],
)
def test_where_a_model_fails_the_rules_decide_and_what_it_may_have_cost_is_spent(
    bench: LoopBench, answer: Answer, why: str
) -> None:
    with scripted_model(answer) as model:
        loop = bench.loop(model_policy(model.url))
        decided = happened(loop, bench, "e1")

        assert len(model.asked) == 1
    assert decided.decider == "rules"
    assert decided.degraded is not None
    assert why in decided.degraded
    assert decided.outcome is CycleOutcome.EMITTED
    (asked,) = [
        event
        for event in events_of(bench.interlock.ledger, LOOP_RUN)
        if isinstance(event, ModelAsked)
    ]
    assert decided.cost_micros == asked.reserved_micros == loop.chain.state.spent_micros


def test_a_model_whose_key_is_missing_costs_nothing(
    bench: LoopBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with scripted_model(ALERT) as model:
        loop = bench.loop(model_policy(model.url, 'api-key-variable = "NO_SUCH_KEY"'))
        decided = happened(loop, bench, "e1")

        assert model.asked == []
    assert "`NO_SUCH_KEY`" in (decided.degraded or "")
    assert loop.chain.state.spent_micros == 0


def test_a_model_that_says_nothing_of_its_usage_is_charged_what_it_can_cost(
    bench: LoopBench,
) -> None:
    content = '{"reasoning": "r", "choice": {"action": "do_nothing"}}'
    with scripted_model(saying(content, usage=None)) as model:
        loop = bench.loop(model_policy(model.url))
        decided = happened(loop, bench, "e1")

    assert decided.cost_micros > 1_000
    assert decided.cost_micros == loop.chain.state.spent_micros


# The breaker.


def test_after_three_failures_the_rules_decide_for_half_an_hour_and_then_one_call_probes(
    lasting_bench: LoopBench,
) -> None:
    bench = lasting_bench
    free = "day-cost-usd = 10\nemit-alert-per-hour = 100"
    with scripted_model(failing(503), failing(503), failing(503), failing(503), ALERT) as model:
        policy = model_policy(model.url, free)
        loop = bench.loop(policy)
        for number in range(3):
            happened(loop, bench, f"f{number}")
        assert len(model.asked) == 3
        opened_at = bench.clock.now()

        loop = bench.reopened(policy)
        left_alone = happened(loop, bench, "alone")
        assert len(model.asked) == 3
        assert left_alone.decider == "rules"
        assert left_alone.degraded == f"{DECIDER}: it failed too often, and is left alone for now"
        assert left_alone.cost_micros == 0

        bench.clock.at = opened_at + BREAKER_OPEN - 4 * SECOND
        happened(loop, bench, "just before")
        assert len(model.asked) == 3
        probe = happened(loop, bench, "probe")
        assert len(model.asked) == 4
        assert "answered with status 503" in (probe.degraded or "")
        happened(loop, bench, "open anew")
        assert len(model.asked) == 4

        bench.clock.forward(seconds=30 * MINUTE_S)
        well = happened(loop, bench, "well")
        assert (len(model.asked), well.decider) == (5, DECIDER)
        happened(loop, bench, "better")
        assert len(model.asked) == 6


def test_failures_far_apart_open_nothing(bench: LoopBench) -> None:
    with scripted_model(failing(503)) as model:
        loop = bench.loop(model_policy(model.url, "day-cost-usd = 10"))
        for number in range(4):
            happened(loop, bench, f"f{number}")
            bench.clock.forward(seconds=8 * MINUTE_S)

        assert len(model.asked) == 4


def test_answers_that_cannot_be_read_open_it_as_well(bench: LoopBench) -> None:
    with scripted_model(saying("prose")) as model:
        loop = bench.loop(model_policy(model.url, "day-cost-usd = 10"))
        outcomes = [happened(loop, bench, f"f{number}").outcome for number in range(4)]

        assert len(model.asked) == 6
    assert outcomes == [CycleOutcome.VALIDATION_ERROR] * 3 + [CycleOutcome.EMITTED]


# Money.


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ("day-cost-usd = 0.004", "`loop.day-cost-usd` 0.004 USD"),
        ("cycle-cost-usd = 0.004", "`loop.cycle-cost-usd` leaves 0.004 USD"),
        ("[budgets.run]\ncost-usd = 0.004", "account `run/loop` has 0.004 USD"),
    ],
    ids=["day", "cycle", "account"],
)
def test_what_might_pass_a_budget_is_not_asked_at_all(
    bench: LoopBench, more: str, why: str
) -> None:
    with scripted_model(ALERT) as model:
        loop = bench.loop(model_policy(model.url, more))
        decided = happened(loop, bench, "e1")

        assert model.asked == []
    assert decided.outcome is CycleOutcome.BUDGET_DENIED
    assert [hit.rail for hit in decided.rails] == [Rail.COST]
    assert why in decided.rails[0].reason
    assert bench.written("alerts.jsonl") == []


def test_a_repair_that_the_cycle_cannot_pay_is_not_asked_for(bench: LoopBench) -> None:
    usage = {"prompt_tokens": 8_000, "completion_tokens": 400, "total_tokens": 8_400}
    with scripted_model(saying("prose", usage=usage), ALERT) as model:
        loop = bench.loop(model_policy(model.url, "cycle-cost-usd = 0.008"))
        decided = happened(loop, bench, "e1")

        assert len(model.asked) == 1
    assert decided.outcome is CycleOutcome.BUDGET_DENIED
    assert decided.raw == "prose"
    assert decided.cost_micros == loop.chain.state.spent_micros > 0


def test_a_new_day_has_its_own_budget(bench: LoopBench) -> None:
    with scripted_model(NOTHING) as model:
        loop = bench.loop(model_policy(model.url, "day-cost-usd = 0.0075"))
        outcomes = [happened(loop, bench, f"e{number}").outcome for number in range(30)]
        asked = len(model.asked)
        assert loop.chain.state.spent_micros <= 7_500
        assert outcomes == [CycleOutcome.NOTHING] * asked + [CycleOutcome.BUDGET_DENIED] * (
            30 - asked
        )
        assert 0 < asked < 30

        bench.clock.forward(seconds=24 * 3600)
        assert happened(loop, bench, "next day").outcome is CycleOutcome.NOTHING
        assert len(model.asked) == asked + 1


def test_a_model_whose_price_is_not_known_is_not_asked(bench: LoopBench) -> None:
    with scripted_model(ALERT) as model:
        policy = model_policy(model.url).replace('model = "scripted"', 'model = "another"')
        decided = happened(bench.loop(policy), bench, "e1")

        assert model.asked == []
    assert decided.outcome is CycleOutcome.BUDGET_DENIED
    assert decided.rails[0].reason == (
        "the price of `openai:scripted` is not known: give it one in [[budgets.prices]]"
    )


# Modes.


def test_in_the_shadow_a_model_is_asked_and_nothing_is_emitted(bench: LoopBench) -> None:
    with scripted_model(ALERT) as model:
        loop = bench.loop(model_policy(model.url, 'mode = "shadow"'))
        decided = happened(loop, bench, "e1")

        assert len(model.asked) == 1
    assert decided.outcome is CycleOutcome.SHADOW
    assert decided.choice.action is LoopAction.EMIT_ALERT
    assert decided.emitted is None


def test_what_is_off_asks_nobody_and_says_so(bench: LoopBench) -> None:
    with scripted_model(ALERT) as model:
        loop = bench.loop(model_policy(model.url, 'mode = "off"'))
        decided = happened(loop, bench, "e1")

        assert model.asked == []
    assert (decided.outcome, decided.decider) == (CycleOutcome.OFF, "nobody")
    assert decided.snapshot is None


def test_what_a_model_chooses_meets_the_same_rails(bench: LoopBench) -> None:
    with scripted_model(choosing("start_loop", job="mend")) as model:
        loop = bench.loop(model_policy(model.url) + JOB)
        decided = happened(loop, bench, "e1")
        off = bench.reopened(model_policy(model.url, 'start-loop = "off"') + JOB)
        refused = happened(off, bench, "e2")

    assert decided.outcome is CycleOutcome.APPROVAL_REQUIRED
    assert refused.outcome is CycleOutcome.VALIDATION_ERROR
    assert refused.rails[0].reason == "`loop.start-loop` is off"
