"""Who comes close to a limit is told: at 75, 90, 95 and 100 percent, once each."""

from __future__ import annotations

from interlock import Budget, Interlock, Run
from interlock.model.budget import Alert, Dimension, TokenUsage
from interlock.model.events import BudgetAlerted
from service.ledgers import HandClock, OpenInterlock, events_of


def _alerts(interlock: Interlock, run: Run) -> list[Alert]:
    events = events_of(interlock.ledger, run.id)
    return [event.alert for event in events if isinstance(event, BudgetAlerted)]


def test_each_threshold_is_told_once(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=20))
    told = {}
    for number in range(1, 23):
        answer = run.command("ls")
        for alert in answer.alerts:
            told[number] = (alert.dimension, alert.percent, alert.used, alert.limit)

    assert told == {
        15: (Dimension.TOOL_CALLS, 75, 15, 20),
        18: (Dimension.TOOL_CALLS, 90, 18, 20),
        19: (Dimension.TOOL_CALLS, 95, 19, 20),
        20: (Dimension.TOOL_CALLS, 100, 20, 20),
    }
    assert [each.percent for each in _alerts(interlock, run)] == [75, 90, 95, 100]
    assert {each.scope for each in _alerts(interlock, run)} == {f"run/{run.id}"}


def test_only_the_highest_of_several_thresholds_is_told(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=100))
    answer = run.command("ls", expects=Budget(tokens=96))

    assert [alert.percent for alert in answer.alerts] == [95]
    assert run.command("ls").alerts == ()


def test_a_report_may_come_to_a_threshold_too(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=100))
    run.usage(TokenUsage(input_tokens=80))
    run.observe(run.command("ls"), usage=TokenUsage(output_tokens=60))

    assert [(each.percent, each.used) for each in _alerts(interlock, run)] == [(75, 80), (100, 140)]


def test_a_raised_budget_is_told_about_again(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=4))
    for _ in range(4):
        run.command("ls")
    interlock.set_budget(f"run/{run.id}", Budget(tool_calls=8), token=operator)
    for _ in range(4):
        run.command("ls")

    assert [(each.percent, each.limit) for each in _alerts(interlock, run)] == [
        (75, 4),
        (100, 4),
        (75, 8),
        (100, 8),
    ]


def test_a_raise_of_one_limit_does_not_repeat_the_alerts_of_another(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1, tokens=10))
    run.command("ls", expects=Budget(tokens=10))
    interlock.set_budget(f"run/{run.id}", Budget(tool_calls=100), token=operator)
    run.command("ls")

    assert [each.dimension for each in _alerts(interlock, run)] == [
        Dimension.TOKENS,
        Dimension.TOOL_CALLS,
    ]


def test_what_is_given_back_is_not_told_about_again(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=4))
    for _ in range(3):
        run.command("ls")
    run.observe(run.command("ls"), outcome="not-run")
    run.command("ls")

    assert [each.percent for each in _alerts(interlock, run)] == [75, 100]


def test_every_account_that_comes_close_is_named(interlock: Interlock) -> None:
    top = interlock.run("t", tree_budget=Budget(tool_calls=2))
    child = top.child("c", budget=Budget(tool_calls=1))
    answer = child.command("ls")

    assert [(each.scope, each.percent) for each in answer.alerts] == [(f"run/{child.id}", 100)]
    assert [each.scope for each in top.command("ls").alerts] == [f"tree/{top.id}"]


def test_time_alone_comes_to_a_threshold(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("t", budget=Budget(wall_time_s=100))
    clock.forward(seconds=76)

    assert [alert.percent for alert in run.command("ls").alerts] == [75]


def test_a_limit_of_nothing_alerts_nobody(opened: OpenInterlock) -> None:
    run = opened().run("t", budget=Budget(tokens=0))

    assert run.command("ls").alerts == ()


def test_a_refused_action_alerts_nobody(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=10))

    assert run.command("ls", expects=Budget(tokens=11)).alerts == ()
    assert _alerts(interlock, run) == []
