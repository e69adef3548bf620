"""Do many processes that ask at once ever get more than there is, or less?"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from concurrency.crew import Crew
from concurrency.jobs import Asked, Asking, Starting, ask_until_refused, start
from concurrency.people import operator
from concurrency.places import DAY, Place
from concurrency.soundness import judgements, records
from effort import rounds
from interlock import Budget, Decision, Interlock
from interlock.model.budget import Dimension
from interlock.model.events import BudgetAlerted

CALLS = rounds(short=40, soak=100)
TEN_DOLLARS = 10_000_000


def test_admits_exactly_as_many_calls_as_the_budget_of_a_run_has(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("share", budget=Budget(tool_calls=CALLS))
        # Half of them settle what they get, the others keep it promised.
        tasks = [Asking(run=run.id, reports=bool(number % 2)) for number in range(len(crew))]
        asked = crew.at_once(place, ask_until_refused, tasks)

        assert sum(each.admitted for each in asked) == CALLS
        assert run.state.decisions == {"allow": CALLS, "block": len(crew)}
        _assert_refused_with_both_numbers(asked, "this run", f"of {CALLS} tool calls")
        _assert_never_over(interlock, [run.id], f"run/{run.id}", Dimension.TOOL_CALLS)
        _assert_alerted_once(interlock, f"run/{run.id}")


def test_spends_ten_dollars_to_the_last_ask_and_not_a_micro_dollar_more(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("share", budget=Budget(cost_usd="10"))
        frugal = [
            Asking(run=run.id, expects_micros=_odd_cost(number), spares=(0, 1, 20_011))
            for number in range(len(crew))
        ]
        first = crew.at_once(place, ask_until_refused, frugal)
        # What was expected and not used is free again: what is left goes to who asks now.
        exact = [Asking(run=run.id, expects_micros=_odd_cost(each)) for each in range(len(crew))]
        second = crew.at_once(place, ask_until_refused, exact)
        spent = sum(each.spent_micros for each in (*first, *second))

        assert run.state.spent.cost_micros == spent
        assert TEN_DOLLARS - _odd_cost(0) < spent <= TEN_DOLLARS
        _assert_refused_with_both_numbers([*first, *second], "this run", "of $10.0")
        _assert_never_over(interlock, [run.id], f"run/{run.id}", Dimension.COST)
        _assert_alerted_once(interlock, f"run/{run.id}")


def test_shares_the_budget_of_a_tree_among_the_runs_below_it(place: Place, crew: Crew):
    with place.opened() as interlock:
        root = interlock.run("share", tree_budget=Budget(tool_calls=CALLS))
        middle = root.child("share again")
        parents = [(root.id, middle.id)[number % 2] for number in range(len(crew))]
        runs = crew.at_once(place, start, [Starting(parent=parent) for parent in parents])
        asked = crew.at_once(place, ask_until_refused, _mixed(runs))

        assert sum(each.admitted for each in asked) == CALLS
        assert [interlock.resume(run).state.ancestors[-1] for run in runs] == [root.id] * len(runs)
        _assert_refused_with_both_numbers(
            asked, "this run with its sub-agents", f"of {CALLS} tool calls"
        )
        _assert_never_over(interlock, runs, f"tree/{root.id}", Dimension.TOOL_CALLS)
        _assert_alerted_once(interlock, f"tree/{root.id}")


@pytest.mark.parametrize(
    ("scope", "whose", "starting"),
    [
        pytest.param("agent/mole", "this agent", Starting(agent="mole"), id="agent"),
        pytest.param(
            f"project-day/shop/{DAY}",
            "this project today",
            Starting(project="shop"),
            id="project-day",
        ),
    ],
)
def test_shares_a_budget_among_runs_that_know_nothing_of_each_other(
    place: Place, crew: Crew, scope: str, whose: str, starting: Starting
):
    with place.opened() as interlock:
        interlock.set_budget(scope, Budget(tool_calls=CALLS), token=operator(interlock))
        runs = crew.at_once(place, start, [starting] * len(crew))
        asked = crew.at_once(place, ask_until_refused, _mixed(runs))

        assert len(set(runs)) == len(crew)
        assert sum(each.admitted for each in asked) == CALLS
        _assert_refused_with_both_numbers(asked, whose, f"of {CALLS} tool calls")
        _assert_never_over(interlock, runs, scope, Dimension.TOOL_CALLS)
        _assert_alerted_once(interlock, scope)


def test_a_budget_raised_by_a_person_admits_exactly_the_difference(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("share", budget=Budget(tool_calls=10))
        tasks = [Asking(run=run.id)] * 16
        before = crew.at_once(place, ask_until_refused, tasks)
        interlock.set_budget(f"run/{run.id}", Budget(tool_calls=17), token=operator(interlock))
        after = crew.at_once(place, ask_until_refused, tasks)

        assert sum(each.admitted for each in before) == 10
        assert sum(each.admitted for each in after) == 7


def _odd_cost(number: int) -> int:
    """An amount of micro-dollars that divides nothing, another one for each process."""
    return rounds(short=120_007, soak=60_007) + number * 1_018


def _mixed(runs: Sequence[str]) -> list[Asking]:
    return [Asking(run=run, reports=bool(number % 3)) for number, run in enumerate(runs)]


def _assert_refused_with_both_numbers(asked: Sequence[Asked], whose: str, limit: str) -> None:
    for each in asked:
        (finding,) = each.refusal.verdict.findings
        assert each.refusal.decision is Decision.BLOCK
        assert finding.message.startswith(f"{whose} has used ")
        assert limit in finding.message


def _assert_never_over(
    interlock: Interlock, runs: Sequence[str], scope: str, dimension: Dimension
) -> None:
    """At no moment was more used, held and asked for than the limit, where the answer was yes."""
    admitted = [
        (balance.after(event.facts.asked).of(dimension), balance.limits.of(dimension) or 0)
        for run in runs
        for event in judgements(interlock, run)
        if event.decision is Decision.ALLOW
        for balance in event.facts.balances
        if balance.scope == scope
    ]

    assert len(admitted) > 0
    assert [taken for taken, limit in admitted if taken > limit] == []


def _assert_alerted_once(interlock: Interlock, scope: str) -> None:
    """Every threshold that was told was told by one process only, the last one included."""
    told = [
        record.event.alert.percent
        for run in interlock.ledger.rows.chains()
        for record in records(interlock, run)
        if isinstance(record.event, BudgetAlerted) and record.event.alert.scope == scope
    ]

    assert len(told) == len(set(told))
    assert set(told) <= {75, 90, 95, 100}
    assert 95 in told or 100 in told
