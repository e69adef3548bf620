"""`interlock budget`: what an account may use, and who may change that."""

from __future__ import annotations

import json

import pytest
from inline_snapshot import snapshot

from cli.asking import as_person, interlock, make_operator
from cli.ledgers import Story, a_run, told
from interlock import Budget, Interlock
from interlock.model.short_code import code_of


def test_an_account_is_shown_with_its_bars(story: Story) -> None:
    result = interlock("budget", f"run/{story.checkout[:15]}")

    assert result.exit_code == 0
    shown = told(result.stdout, story).splitlines()
    assert [line for line in shown if "wall-time" not in line] == snapshot(
        [
            "run/<checkout..........................>",
            "  tokens         ███████████████░░░░░   78 %  78,000 of 100,000",
            "  tool-calls     ██░░░░░░░░░░░░░░░░░░   10 %  2 of 20",
            "  diff-lines     2 used, no limit",
            "  storage-bytes  19 bytes used, no limit",
            "  78,000 tokens of unknown price, not in the cost",
        ]
    )


def test_what_an_agent_spent_is_shown_without_a_limit(story: Story) -> None:
    assert interlock("budget", "agent/claude").stdout == snapshot("""\
agent/claude
  tokens         78,000 used, no limit
  tool-calls     3 used, no limit
  wall-time-s    2 s used, no limit
  diff-lines     2 used, no limit
  storage-bytes  19 bytes used, no limit
  78,000 tokens of unknown price, not in the cost
""")


def test_what_the_runs_below_spent_counts_in_the_tree(story: Story) -> None:
    own = json.loads(interlock("budget", f"run/{story.checkout}", "--json").stdout)
    tree = json.loads(interlock("budget", f"tree/{story.checkout}", "--json").stdout)

    assert own["used"]["tool_calls"] == 2
    assert tree["used"]["tool_calls"] == 3


def test_a_run_by_itself_names_its_limited_accounts(place: str) -> None:
    with Interlock.open(place) as agent:
        below = a_run(agent, "w", budget=Budget(tokens=1), tree_budget=Budget(tool_calls=2))

    shown = json.loads(interlock("budget", below.id, "--json").stdout)
    assert [each["scope"] for each in shown] == [f"run/{below.id}", f"tree/{below.id}"]


@pytest.mark.parametrize(
    ("dimension", "scope"), [("tokens", "run"), ("tool-calls", "tree"), ("diff-lines", "run")]
)
def test_a_run_by_itself_has_the_limit_changed_that_it_was_given(
    dimension: str, scope: str, place: str
) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "w", budget=Budget(tokens=1), tree_budget=Budget(tool_calls=2))

    changed = json.loads(as_person("budget", run.id, dimension, "5", "--json").stdout)
    assert (changed["scope"], changed["after"]) == (f"{scope}/{run.id}", 5)


def test_of_two_limits_a_person_names_the_one_that_is_meant(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "w", budget=Budget(tokens=1), tree_budget=Budget(tokens=2))

    result = as_person("budget", run.id, "tokens", "5")
    assert result.exit_code == 2
    assert f"name `run/{run.id}` or `tree/{run.id}`" in result.stderr


def test_a_limit_is_raised_while_the_run_goes_on(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "work", budget=Budget(tool_calls=1))
        run.observe(run.command("ls"), exit_code=0)
        refused = run.command("pwd")

        result = as_person("budget", f"run/{run.id}", "tool-calls", "2", "--reason", "go on")

        assert not refused.allowed
        assert result.stdout == f"run/{run.id}  tool-calls: 1 -> 2\n"
        assert run.command("pwd").allowed


@pytest.mark.parametrize(
    ("dimension", "new", "limit"),
    [
        ("tokens", "200_000", 200_000),
        ("cost-usd", "12.50", "12.5"),
        ("cost-usd", "0.000001", "0.000001"),
        ("wall-time-s", "90", 90.0),
        ("storage-bytes", "0", 0),
    ],
)
def test_limits_are_written_as_a_person_writes_them(
    dimension: str, new: str, limit: object, story: Story
) -> None:
    scope = f"tree/{story.checkout}"
    changed = json.loads(as_person("budget", scope, dimension, new, "--json").stdout)

    assert changed["after"] == limit
    shown = json.loads(interlock("budget", scope, "--json").stdout)
    assert shown["limits"] == {dimension.replace("-", "_"): limit}


def test_none_takes_the_accounts_own_limit_away(story: Story) -> None:
    scope = f"run/{story.checkout}"

    result = as_person("budget", scope, "tokens", "none")

    assert told(result.stdout, story) == snapshot(
        "run/<checkout..........................>  tokens: 100,000 -> no limit of its own\n"
    )
    limits = json.loads(interlock("budget", scope, "--json").stdout)["limits"]
    assert limits["tokens"] == 1_000_000_000  # the policy's own


def test_another_limit_is_on_the_record_with_who_and_why(story: Story) -> None:
    as_person("budget", f"run/{story.checkout}", "tokens", "200000", "--reason", "it takes longer")

    shown = told(interlock("show", story.checkout, "--all").stdout, story)
    assert "this run, tokens: 100,000 -> 200,000  by " in shown
    assert "it takes longer" in shown


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (
            "nobody/x",
            "`nobody/x` is not an account: expected one of `run/...`, `tree/...`, `agent/...`,"
            " `project-day/...`",
        ),
        ("agent/", "`agent/` is not a name: expected such as `agent/NAME`"),
        ("agent/nobody", "nothing was ever charged to `agent/nobody`, and it has no limit"),
        ("run/ledger", "`ledger` is the ledger's own chain: it spends nothing"),
        ("run/nobody", "there is no run `nobody`: look at `interlock runs`"),
        (
            "agent/claude tokens many",
            "`many` is not a limit for `tokens`: expected a whole number such as 200000, or `none`",
        ),
        (
            "agent/claude tokens 1.5",
            "`1.5` is not a limit for `tokens`: expected a whole number such as 200000, or `none`",
        ),
        (
            "agent/claude cost-usd much",
            "`much` is not an amount of US dollars: expected such as 2.50",
        ),
        ("agent/claude tokens", "expected the new limit behind `tokens`, or `none`"),
        (
            "agent/claude tokens 1 2",
            "expected one DIMENSION and NEW, or several as DIMENSION=NEW: `2` is neither",
        ),
        (
            "agent/claude token=1",
            "`token` cannot be limited: expected one of tokens, tool-calls, wall-time-s, cost-usd,"
            " diff-lines, storage-bytes",
        ),
    ],
)
def test_what_cannot_be_a_budget_is_refused(arguments: str, complaint: str, story: Story) -> None:
    result = as_person("budget", *arguments.split())

    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: {complaint}"


@pytest.fixture
def spent(place: str) -> str:
    """A run that was stopped because two of its limits were used up."""
    with Interlock.open(place) as agent:
        run = a_run(agent, "work", budget=Budget(tokens=5_000, tool_calls=1))
        run.observe(run.command("ls"), exit_code=0)
        run.usage({"output_tokens": 5_250})
        assert not run.step().goes_on
    return run.id


def test_a_run_without_a_budget_left_is_not_let_go_on_before_a_limit_is_raised(
    place: str, spent: str
) -> None:
    make_operator(place)
    code = code_of(spent)
    asked = json.loads(interlock("approvals", "--json").stdout)[0]["code"]
    refused = [
        as_person("approve", asked, "--reason", "go on"),
        as_person("resume", code, "--reason", "go on"),
    ]
    inbox, shown = interlock("approvals").stdout, interlock("show", spent).stdout

    for each in refused:
        assert each.exit_code == 2
        assert each.stderr.splitlines()[-1] == (
            f"Error: run `{code}` would be stopped again at once: this run has used 5,250 of 5,000"
            " tokens; this run has used 1 of 1 tool call. Raise it first, `interlock budget"
            f" run/{code} tokens NEW` and `interlock budget run/{code} tool-calls NEW`, then let it"
            f" go on: `interlock resume {code} --reason TEXT`"
        )
    assert inbox.endswith(
        f"interlock budget run/{code} tokens NEW raises the limit; then\n"
        f"interlock budget run/{code} tool-calls NEW raises the limit; then\n"
        f"interlock approve {asked} --reason TEXT lets it go on, interlock deny {asked} stops it\n"
    )
    assert (
        f"    interlock budget run/{code} tokens NEW  raises the limit; then\n"
        f"    interlock budget run/{code} tool-calls NEW  raises the limit; then\n"
        f"    interlock approve {asked} --reason TEXT  lets it go on\n"
    ) in shown
    assert f"next  interlock budget run/{code} tokens NEW" in interlock("status").stdout


def test_whoever_raises_a_limit_of_a_held_run_is_told_what_comes_next(
    place: str, spent: str
) -> None:
    code = code_of(spent)
    first = as_person("budget", "tokens", "20000")
    second = as_person("budget", code, "tokens=30_000", "tool-calls=9", "--json")
    shown = interlock("show", spent).stdout
    asked = json.loads(interlock("approvals", "--json").stdout)[0]["code"]
    resumed = as_person("resume", code, "--reason", "it has enough")

    assert first.stdout == (
        f"run/{spent}  tokens: 5,000 -> 20,000\n"
        f"next  interlock budget run/{code} tool-calls NEW  is needed as well: this run has used 1"
        " of 1 tool call\n"
    )
    assert f"run {code} (it waits for a person)" in first.stderr
    changed = json.loads(second.stdout)
    assert [(each["dimension"], each["after"]) for each in changed] == [
        ("tokens", 30_000),
        ("tool-calls", 9),
    ]
    assert {each["next"] for each in changed} == {f"interlock resume {code} --reason TEXT"}
    assert "this run, tool-calls: 1 -> 9" in shown.partition("Questions and refusals")[2]
    assert f"    interlock approve {asked} --reason TEXT  lets it go on\n" in shown
    assert "raises the limit" not in shown
    assert resumed.exit_code == 0


def test_the_account_that_is_nearest_to_its_limit_comes_first(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "w", budget=Budget(tokens=100), tree_budget=Budget(tool_calls=2))
        run.observe(run.command("ls"), exit_code=0)

    shown = json.loads(interlock("budget", "--json").stdout)
    assert [each["scope"] for each in shown] == [f"tree/{run.id}", f"run/{run.id}"]
