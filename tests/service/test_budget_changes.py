"""A person may give an account other limits in the middle of a run, on the record."""

from __future__ import annotations

import pytest

from gates.policies import rules_of
from interlock import Budget, InputError, Interlock, NotPermittedError
from interlock.model.budget import Dimension
from interlock.model.events import BudgetChanged
from interlock.model.principal import PrincipalKind
from service.ledgers import OpenInterlock, another, events_of, operator_of, records_of


def test_an_operator_raises_a_budget_in_the_middle_of_a_run(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1))
    run.command("ls")
    assert not run.command("ls").allowed

    (changed,) = interlock.set_budget(
        f"run/{run.id}", Budget(tool_calls=2), token=operator, note="go on"
    )

    assert (changed.before, changed.after, changed.note) == (1, 2, "go on")
    assert run.command("ls").allowed
    assert not run.command("ls").allowed
    record = next(each for each in records_of(interlock.ledger, run.id) if each.event == changed)
    assert (record.by.kind, record.by.name) == (PrincipalKind.OPERATOR, "ada")


def test_several_limits_are_changed_together_and_the_others_stay(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1, tokens=1))
    changes = interlock.set_budget(
        f"run/{run.id}", Budget(tool_calls=5, cost_usd="2.50"), token=operator
    )

    assert [(each.dimension, each.before, each.after) for each in changes] == [
        (Dimension.TOOL_CALLS, 1, 5),
        (Dimension.COST, None, 2_500_000),
    ]
    assert not run.command("ls", expects=Budget(tokens=2)).allowed


def test_a_budget_can_be_lowered_below_what_is_used(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    run.observe(run.command("ls"))
    interlock.set_budget(f"run/{run.id}", Budget(tool_calls=0), token=operator)

    assert not run.command("ls").allowed


def test_the_budget_of_an_agent_is_changed_on_the_ledgers_own_chain(
    opened: OpenInterlock,
) -> None:
    interlock = opened("[budgets.agent]\ntool-calls = 1\n")
    token = operator_of(interlock)
    run = interlock.run("t", agent="claude")
    run.command("ls")

    (changed,) = interlock.set_budget("agent/claude", Budget(tool_calls=2), token=token)

    assert (changed.before, changed.after) == (1, 2)
    assert run.command("ls").allowed
    assert not run.command("ls").allowed
    assert isinstance(events_of(interlock.ledger, "ledger")[-1], BudgetChanged)


def test_the_budget_of_a_tree_and_of_a_day_can_be_changed(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t", project="shop")
    interlock.set_budget(f"tree/{run.id}", Budget(tool_calls=2), token=operator)
    interlock.set_budget("project-day/shop/2026-11-16", Budget(tool_calls=1), token=operator)

    assert run.command("ls").allowed
    assert rules_of(run.command("ls").verdict) == ["budget.project-day.tool-calls"]


def test_only_an_operator_changes_a_budget(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=0))
    agents = another(interlock, PrincipalKind.AGENT, "claude")

    for token, told in ((agents, "agent `claude` may not do this"), ("guessed", "not known")):
        with pytest.raises(NotPermittedError, match=told):
            interlock.set_budget(f"run/{run.id}", Budget(tool_calls=9), token=token)
    assert not run.command("ls").allowed


@pytest.mark.parametrize(
    ("scope", "told"),
    [
        ("nonsense", "`nonsense` is not an account: expected one of `run/...`"),
        ("week/shop", "`week/shop` is not an account"),
        ("run/nowhere", "there is no run `nowhere`"),
        ("tree/nowhere", "there is no run `nowhere`"),
    ],
)
def test_an_account_that_cannot_be_is_refused(
    interlock: Interlock, operator: str, scope: str, told: str
) -> None:
    with pytest.raises(InputError, match=told):
        interlock.set_budget(scope, Budget(tokens=1), token=operator)


def test_a_new_limit_below_nothing_is_refused(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")

    with pytest.raises(InputError, match=r"`Budget\.tokens` is `-1`, expected a whole number"):
        interlock.set_budget(f"run/{run.id}", Budget(tokens=-1), token=operator)
