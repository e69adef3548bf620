"""Limits: in every dimension and every scope, limit N admits exactly N."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from gates.policies import rules_of
from interlock import Answer, Budget, Decision, Interlock, Run
from interlock.model.action import CommandAction, EditAction
from interlock.model.approval import Subject
from interlock.model.budget import Amounts, Dimension, TokenUsage
from interlock.model.events import ActionJudged
from interlock.model.principal import person_at
from interlock.model.question_fields import Seen
from interlock.model.short_code import code_of
from interlock.views.ledger_view import verified_ledger
from interlock.views.question_view import question_view
from service.ledgers import HandClock, OpenInterlock, events_of, kinds_of, operator_of

_CHEAP = (
    '[[budgets.prices]]\nmodel = "mine"\ninput-usd = 1.0\noutput-usd = 2.0\n'
    "[budgets.{scope}]\n{limit}\n"
)


_USING_ONE: dict[Dimension, tuple[Budget, Seen]] = {
    Dimension.TOKENS: (Budget(tokens=1), {"usage": TokenUsage(output_tokens=1)}),
    Dimension.TOOL_CALLS: (Budget(), {}),
    Dimension.WALL_TIME: (Budget(wall_time_s=1), {"duration_ms": 1000}),
    Dimension.COST: (Budget(cost_usd="0.000001"), {"cost_usd": "0.000001"}),
}
_WRITING_ONE = {
    Dimension.DIFF_LINES: EditAction(path="a.txt", content="x\n", old=""),
    Dimension.STORAGE: EditAction(path="a.txt", content="x", old="x"),
}


def _one_more_of(run: Run, dimension: Dimension, clock: HandClock) -> Answer:
    """Ask for an action that uses one of a dimension, and report that it did."""
    expected, seen = _USING_ONE.get(dimension, (Budget(), Seen()))
    action = _WRITING_ONE.get(dimension, CommandAction(command="ls"))
    answer = run.ask(action, None, expected)
    if answer.allowed:
        clock.forward(seconds=dimension is Dimension.WALL_TIME)
        run.observe(answer, **seen)
    return answer


@pytest.mark.parametrize("scope", ["run", "tree", "agent", "project-day"])
@pytest.mark.parametrize("dimension", list(Dimension), ids=lambda each: each.value)
def test_a_limit_admits_exactly_what_it_says(
    opened: OpenInterlock, clock: HandClock, scope: str, dimension: Dimension
) -> None:
    limit = "0.000003" if dimension is Dimension.COST else "3"
    run = opened(f"[budgets.{scope}]\n{dimension.value} = {limit}\n").run("t")

    answers = [_one_more_of(run, dimension, clock) for _ in range(5)]

    assert [answer.allowed for answer in answers] == [True, True, True, False, False]
    assert rules_of(answers[-1].verdict) == [f"budget.{scope}.{dimension.value}"]


@pytest.mark.parametrize("dimension", list(Dimension), ids=lambda each: each.value)
def test_a_limit_of_nothing_admits_nothing(
    opened: OpenInterlock, clock: HandClock, dimension: Dimension
) -> None:
    run = opened(f"[budgets.run]\n{dimension.value} = 0\n").run("t")

    assert not _one_more_of(run, dimension, clock).allowed


def test_a_refusal_says_what_is_used_of_what_and_what_to_do(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=2))
    run.observe(run.command("ls"))
    run.command("ls")

    answer = run.command("ls")

    assert answer.decision is Decision.BLOCK
    assert answer.reasons == (
        "this run has used 1 of 2 tool calls, 1 more is reserved, and it asks for 1 more; finish"
        " with what is there, or have a person raise it: `interlock budget"
        f" run/{code_of(run.id)} tool-calls NEW`",
    )


def test_a_refused_action_holds_and_spends_nothing(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1, tokens=5))
    assert not run.command("ls", expects=Budget(tokens=6)).allowed

    assert run.command("ls", expects=Budget(tokens=5)).allowed


def test_what_waits_for_a_person_holds_nothing(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1))
    assert run.command("git push --force").waits_for_person

    assert run.command("ls").allowed


def test_what_was_not_run_is_given_back(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1, tokens=10))
    for _ in range(3):
        answer = run.command("ls", expects=Budget(tokens=10))
        assert answer.allowed
        run.observe(answer, outcome="not-run")

    assert run.state.spent == Amounts()


def test_less_than_was_held_is_given_back(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=10))
    answer = run.command("ls", expects=Budget(tokens=10))
    assert not run.command("ls", expects=Budget(tokens=1)).allowed
    run.observe(answer, usage=TokenUsage(output_tokens=4))

    assert not run.command("ls", expects=Budget(tokens=7)).allowed
    assert run.command("ls", expects=Budget(tokens=6)).allowed


def test_more_than_was_held_counts_in_full(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=10))
    answer = run.command("ls", expects=Budget(tokens=1))
    run.observe(answer, usage=TokenUsage(output_tokens=25))

    refused = run.command("ls")
    assert rules_of(refused.verdict) == ["budget.run.tokens"]
    assert "has used 25 of 10 tokens" in refused.reasons[0]


def test_a_report_on_use_counts_without_an_action(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=10))
    run.usage(TokenUsage(input_tokens=6, output_tokens=4))

    assert run.command("ls").allowed
    assert not run.command("ls", expects=Budget(tokens=1)).allowed


def test_an_action_that_nobody_asked_about_counts(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=2))
    run.observe_unasked(CommandAction(command="ls"))
    run.observe_unasked(CommandAction(command="ls"))

    assert not run.command("ls").allowed


def test_a_childs_spending_counts_against_the_trees_of_its_ancestors(
    interlock: Interlock,
) -> None:
    top = interlock.run("t", tree_budget=Budget(tool_calls=3))
    middle = top.child("m", tree_budget=Budget(tool_calls=2))
    low = middle.child("l")

    assert low.command("ls").allowed
    assert middle.command("ls").allowed
    refused = low.command("ls")
    assert rules_of(refused.verdict) == ["budget.tree.tool-calls"]
    assert f"tree/{code_of(middle.id)}" in refused.reasons[0]
    assert top.command("ls").allowed
    assert not top.command("ls").allowed


def test_a_childs_spending_is_not_its_parents_own(interlock: Interlock) -> None:
    top = interlock.run("t", budget=Budget(tool_calls=1))
    child = top.child("c")
    for _ in range(3):
        assert child.command("ls").allowed

    assert top.command("ls").allowed
    assert not top.command("ls").allowed
    assert top.state.spent == Amounts()


def test_siblings_share_what_the_tree_has(interlock: Interlock) -> None:
    top = interlock.run("t", tree_budget=Budget(tokens=10))
    one, other = top.child("1"), top.child("2")
    assert one.command("ls", expects=Budget(tokens=6)).allowed

    assert not other.command("ls", expects=Budget(tokens=5)).allowed
    assert other.command("ls", expects=Budget(tokens=4)).allowed


def test_the_wall_time_of_a_tree_runs_from_its_root(interlock: Interlock, clock: HandClock) -> None:
    top = interlock.run("t", tree_budget=Budget(wall_time_s=60))
    clock.forward(seconds=50)
    child = top.child("c")
    assert child.command("ls").allowed
    clock.forward(seconds=10)
    assert child.command("ls").allowed
    clock.forward(seconds=0.001)

    assert rules_of(child.command("ls").verdict) == ["budget.tree.wall-time-s"]


def test_the_wall_time_of_a_run_runs_while_nothing_is_asked(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t", budget=Budget(wall_time_s=10))
    clock.forward(seconds=10)
    assert run.command("ls").allowed
    clock.forward(seconds=1)

    refused = run.command("ls")
    assert "has used 11.0 of 10.0 s;" in refused.reasons[0]


def test_a_clock_that_goes_backwards_gives_no_time_back(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t", budget=Budget(wall_time_s=0))
    clock.forward(seconds=-100)

    assert run.command("ls").allowed


def test_the_runs_of_an_agent_share_its_budget(opened: OpenInterlock) -> None:
    interlock = opened("[budgets.agent]\ntool-calls = 2\n")
    one, same, other = (interlock.run("t", agent=name) for name in ("a", "a", "b"))

    assert [run.command("ls").allowed for run in (one, same, one, same)] == [
        True,
        True,
        False,
        False,
    ]
    assert other.command("ls").allowed


def test_a_project_has_a_new_budget_every_day(opened: OpenInterlock, clock: HandClock) -> None:
    interlock = opened("[budgets.project-day]\ntool-calls = 1\n")
    run, other = interlock.run("t", project="shop"), interlock.run("t", project="bank")
    late = run.command("ls")
    assert late.allowed
    assert not run.command("ls").allowed
    assert other.command("ls").allowed

    clock.forward(seconds=12 * 3600)
    run.observe(late)

    assert run.command("ls").allowed
    assert not run.command("ls").allowed


def test_a_runs_own_limit_comes_before_the_policys(opened: OpenInterlock) -> None:
    interlock = opened("[budgets.run]\ntool-calls = 1\ntokens = 5\n")
    run = interlock.run("t", budget=Budget(tool_calls=2))

    assert [run.command("ls").allowed for _ in range(3)] == [True, True, False]
    assert not run.command("ls", expects=Budget(tokens=6)).allowed


def test_every_limit_that_is_passed_is_named(interlock: Interlock) -> None:
    run = interlock.run(
        "t", budget=Budget(tokens=1, tool_calls=0), tree_budget=Budget(cost_usd="0.5")
    )
    answer = run.command("ls", expects=Budget(tokens=2, cost_usd=1))

    assert rules_of(answer.verdict) == [
        "budget.run.tokens",
        "budget.run.tool-calls",
        "budget.tree.cost-usd",
    ]


def test_the_facts_of_a_budget_are_on_record(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=10))
    run.command("ls", expects=Budget(tokens=3))
    run.command("ls", expects=Budget(tokens=4))

    event = events_of(interlock.ledger, run.id)[2]
    assert isinstance(event, ActionJudged)
    assert event.facts.asked == Amounts(tokens=4, tool_calls=1)
    (balance,) = event.facts.balances
    assert (balance.scope, balance.reserved.tokens) == (f"run/{run.id}", 3)


def test_an_unknown_price_is_never_nothing(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(cost_usd=1))
    run.usage(TokenUsage(input_tokens=10), model="nobody-knows-this")

    answer = run.command("ls")

    assert answer.waits_for_person
    assert rules_of(answer.verdict) == ["budget.run.unpriced"]
    assert "10 tokens of a model whose price is not known" in answer.reasons[0]


@pytest.mark.parametrize(
    ("setting", "decision"),
    [
        ("block", Decision.BLOCK),
        ("require-confirmation", Decision.REQUIRE_CONFIRMATION),
        ("warn", Decision.WARN),
        ("off", Decision.ALLOW),
    ],
)
def test_the_policy_says_what_an_unknown_price_means(
    opened: OpenInterlock, setting: str, decision: Decision
) -> None:
    run = opened(f'[budgets]\nunpriced = "{setting}"\n').run("t", budget=Budget(cost_usd=1))
    run.observe(run.command("ls"), usage=TokenUsage(input_tokens=10))

    assert run.command("ls").decision is decision


@pytest.mark.parametrize("agrees", [True, False])
def test_a_person_is_asked_once_in_a_run_about_an_unknown_price(
    interlock: Interlock, agrees: bool
) -> None:
    token = operator_of(interlock)
    run = interlock.run("t", budget=Budget(cost_usd=1))
    run.usage(TokenUsage(input_tokens=10), model="nobody-knows-this")

    first, second = run.command("ls"), run.command("git status")
    assert first.approval_id is not None
    assert first.approval_id == second.approval_id
    (question,) = interlock.approvals()
    assert question.subject is Subject.PRICE
    decide = interlock.approve if agrees else interlock.deny
    decide(question.id, token=token)
    run.usage(TokenUsage(input_tokens=10), model="nobody-knows-this")

    expected = Decision.ALLOW if agrees else Decision.BLOCK
    assert {run.command(line).decision for line in ("ls", "git diff")} == {expected}
    assert run.command("git push --force").waits_for_person is agrees
    assert run.state.unpriced_accepted is agrees
    rows = interlock.ledger.rows
    assert verified_ledger(interlock.ledger, rows, lambda _read, _of: None).faults == []


def test_a_yes_at_the_clients_own_prompt_counts_for_the_run(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(cost_usd=1))
    run.usage(TokenUsage(input_tokens=10), model="nobody-knows-this")
    answer = run.command("ls")

    Run(interlock.governor, run.id, person_at("a client")).observe(answer, exit_code=0)
    assert run.command("git status").decision is Decision.ALLOW


def test_a_question_about_a_price_is_told_as_one(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("t", agent="claude", budget=Budget(cost_usd=1))
    run.usage(TokenUsage(input_tokens=10), model="nobody-knows-this")
    run.command("ls")
    (question,) = interlock.approvals()

    seen = question_view(interlock.ledger, question, clock.now())
    assert seen.heading == "May it go on at an unknown cost?"
    assert seen.entry.verb == "May claude go on at an unknown cost?"


def test_a_question_about_a_price_that_ran_out_is_asked_again(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t", budget=Budget(cost_usd=1))
    run.usage(TokenUsage(input_tokens=10), model="nobody-knows-this")
    first = run.command("ls")
    clock.forward(seconds=3601)

    again = run.command("ls")
    assert again.waits_for_person
    assert again.approval_id != first.approval_id


def test_an_unknown_price_does_not_matter_without_a_limit_on_cost(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(tokens=100))
    run.usage(TokenUsage(input_tokens=10), model="nobody-knows-this")

    assert run.command("ls").decision is Decision.ALLOW
    assert run.state.unpriced_tokens == 10


def test_a_cost_that_the_client_knows_counts_before_every_list(interlock: Interlock) -> None:
    run = interlock.run("t", budget=Budget(cost_usd=1))
    usage = TokenUsage(input_tokens=10)
    run.observe(run.command("ls"), usage=usage, model="nobody-knows-this", cost_usd="0.75")

    assert run.state.spent.cost_micros == 750_000
    assert run.command("ls", expects=Budget(cost_usd="0.25")).allowed
    assert not run.command("ls", expects=Budget(cost_usd="0.250001")).allowed


def test_ones_own_price_counts(opened: OpenInterlock) -> None:
    policy = _CHEAP.format(scope="run", limit="cost-usd = 0.00003")
    run = opened(policy).run("t")
    run.usage(TokenUsage(input_tokens=10, output_tokens=10), model="mine")

    assert run.state.spent.cost_micros == 30
    assert run.command("ls").allowed
    run.usage(TokenUsage(input_tokens=1), model="mine")
    assert not run.command("ls").allowed


def test_what_nobody_reported_on_comes_back_after_its_lease(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1))
    lost = run.command("ls")
    clock.forward(seconds=899)
    assert not run.command("ls").allowed
    clock.forward(seconds=1)

    assert run.command("ls").allowed
    assert kinds_of(interlock.ledger, run.id).count("reservation-lapsed") == 1
    run.observe(lost, exit_code=0)
    assert run.state.spent.tool_calls == 1


def test_nothing_comes_back_while_nobody_misses_it(interlock: Interlock, clock: HandClock) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=2))
    run.command("ls")
    clock.forward(seconds=10_000)
    assert run.command("ls").allowed

    assert "reservation-lapsed" not in kinds_of(interlock.ledger, run.id)


def test_what_a_crashed_process_held_comes_back(reopened: OpenInterlock, clock: HandClock) -> None:
    crashed = reopened("[budgets.agent]\ntool-calls = 3\n")
    for _ in range(3):
        crashed.run("t").command("ls")
    run = reopened("[budgets.agent]\ntool-calls = 3\n").run("t")
    assert not run.command("ls").allowed
    clock.forward(seconds=900)

    assert [run.command("ls").allowed for _ in range(4)] == [True, True, True, False]


def test_the_policy_says_how_long_a_lease_is(opened: OpenInterlock, clock: HandClock) -> None:
    run = opened("[budgets]\nlease-seconds = 5\n").run("t", budget=Budget(tool_calls=1))
    run.command("ls")
    clock.forward(seconds=5)

    assert run.command("ls").allowed


def test_sixty_four_askers_never_overspend_by_one(reopened: OpenInterlock) -> None:
    run = reopened().run("t", tree_budget=Budget(tool_calls=40))
    children = [run.child(str(number)) for number in range(8)]

    def ask(number: int) -> bool:
        return children[number % 8].command("ls").allowed

    with ThreadPoolExecutor(64) as askers:
        answers = list(askers.map(ask, range(64)))

    assert sum(answers) == 40
