"""A run under the preset `observe`: nothing holds it, everything is told, counted and replayed."""

from __future__ import annotations

from pathlib import Path

from interlock.backtest.run_replay import replay_run
from interlock.cli.text.statistics_text import matches_text
from interlock.cli.tour.tour_chapters import made_up_token
from interlock.model.run import RunStatus
from interlock.model.step import StepDecision
from service.ledgers import OpenInterlock, operator_of

_POLICY = """
preset = "observe"
[budgets.run]
tool-calls = 3
[[reviews.gates]]
id = "tests"
check = ["false"]
[reviews]
completion = ["tests"]
"""


def test_everything_goes_ahead_and_is_counted(opened: OpenInterlock) -> None:
    interlock = opened(_POLICY)
    run = interlock.run("tidy up")
    answers = [run.command(line) for line in ("ls", "git push --force", "rm -rf src", "ls")]
    step = run.step(coherence_score=0.1)

    assert [each.decision for each in answers] == ["allow", "warn", "warn", "warn"]
    assert answers[1].verdict.would_have == "require-confirmation"
    assert answers[3].verdict.would_have == "block"
    assert (step.detail.would_have, step.goes_on) == (StepDecision.STOP, True)
    assert run.state.would_have == {"require-confirmation": 2, "block": 1, "stop": 1}
    assert run.state.observed_rules["git.push-force"] == 1
    assert run.state.pending_approvals == 0
    assert all(each.is_same for each in replay_run(interlock.ledger.rows, run.id))


def test_a_run_may_finish_although_its_checks_and_its_reviews_do_not_pass(
    opened: OpenInterlock,
) -> None:
    interlock = opened(_POLICY)
    run = interlock.run("tidy up")
    run.review("work", ["tests"])

    run.finish("done")

    assert run.state.status is RunStatus.FINISHED
    assert all(each.is_same for each in replay_run(interlock.ledger.rows, run.id))


def test_a_rule_that_is_observed_is_counted_where_the_action_is_refused_anyway(
    opened: OpenInterlock,
) -> None:
    interlock = opened('[destructive-ops.rules]\n"git.push-force" = "observe"')
    run = interlock.run("tidy up")
    run.command("git push --force && git reset --hard")

    assert run.state.would_have == {}
    assert run.state.observed_rules == {"git.push-force": 1}


def test_what_was_taken_out_of_an_action_is_observed_again(opened: OpenInterlock) -> None:
    interlock = opened(_POLICY)
    run = interlock.run("tidy up")
    run.command(f"git push --force https://{made_up_token()}@example.com/x")

    assert run.state.observed_rules["git.push-force"] == 1
    assert all(each.is_same for each in replay_run(interlock.ledger.rows, run.id))


def test_a_person_who_stops_it_is_obeyed(opened: OpenInterlock) -> None:
    interlock = opened(_POLICY)
    run = interlock.run("tidy up")
    interlock.halt(run.id, token=operator_of(interlock), reason="enough")

    assert run.command("ls").decision == "block"
    assert not run.step().goes_on


def test_an_action_is_counted_once_and_each_rule_that_matches_it_once(
    opened: OpenInterlock,
) -> None:
    rule = (
        "[[rules]]\nid = '{}'\nwhen = 'true'\ndecision = 'ask'\nmode = 'observe'\nmessage = 'no'\n"
    )
    run = opened(rule.format("one") + rule.format("two")).run("tidy up")
    run.command("ls")

    assert run.state.would_have == {"require-confirmation": 1}
    assert run.state.observed_rules == {"one": 1, "two": 1}
    told = matches_text(run.state.observed_rules, run.state.would_have)
    assert told == "one 1, two 1; one action can match several rules"
    assert matches_text({"one": 1}, {"block": 1}) == "one 1"


def test_a_command_without_a_folder_is_one_in_the_workspace_of_the_run(
    opened: OpenInterlock, tmp_path: Path
) -> None:
    interlock = opened(
        f"[[rules]]\nid = 'here'\nwhen = 'cwd == \"{tmp_path}\"'\n"
        "decision = 'deny'\nmessage = 'not here'\n"
    )
    run = interlock.run("tidy up", workspace=tmp_path)

    assert run.command("ls").decision == "block"
    assert run.command("ls", cwd="/").decision == "allow"
    assert interlock.run("tidy up").command("ls").decision == "allow"
