"""A run cannot go on for ever, hide its rework or lose its figures, whatever its client does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock import Interlock
from interlock.model.events import CheckpointTaken, StepJudged
from interlock.model.step import CheckpointKind, StepDecision
from interlock.service.interlock import Run
from service.ledgers import operator_of


@pytest.fixture
def agent() -> Iterator[Interlock]:
    with Interlock.open(":memory:") as opened:
        yield opened


def steps_taken(run: Run, most: int = 140) -> int:
    """Take steps that each bring something new, until one is refused; return how many."""
    for number in range(most):
        answer = run.step()
        if not answer.goes_on:
            assert answer.decision is StepDecision.STOP
            assert "step-limit" in [each.code for each in answer.detail.reasons]
            return number
        run.observe(run.command(f"cat file{number}"), output=f"content {number}\n" * 9, exit_code=0)
    return most


def test_without_anything_to_save_to_the_limit_of_steps_fires(
    agent: Interlock, tmp_path: Path
) -> None:
    assert steps_taken(agent.run("no workspace at all")) == 100
    assert steps_taken(agent.run("no repository", workspace=str(tmp_path))) == 100


def test_a_checkpoint_of_nothing_is_on_record_as_that(agent: Interlock) -> None:
    run = agent.run("t")
    steps_taken(run, 60)

    events = [record.event for record in run.ledger]
    taken = [event.checkpoint for event in events if isinstance(event, CheckpointTaken)]
    assert [each.step for each in taken] == [25, 50]
    assert {each.kind for each in taken} == {CheckpointKind.NONE}
    assert (run.state.control.checkpoints, run.state.control.saved_step) == (0, 0)


def test_a_person_gives_it_as_many_steps_again(agent: Interlock) -> None:
    run = agent.run("t")
    steps_taken(run, 90)
    assert steps_taken(run, 5) == 5
    run.person_spoke(token=operator_of(agent))

    assert steps_taken(run) == 100


def test_statistics_outlive_the_object_and_grow_with_nothing(agent: Interlock) -> None:
    run = agent.run("t")
    steps_taken(run)
    first = run.statistics()
    again = agent.resume(run.id).statistics()

    assert first == again
    assert first.evaluations == 101
    assert first.decisions["stop"] == 1
    assert first.reason_shares["step-limit"] == pytest.approx(1 / 101)
    assert first.first_signal_step == 100


def test_tokens_after_the_signal_are_counted_although_it_was_told_to_stop(
    agent: Interlock,
) -> None:
    run = agent.run("t")
    run.step(total_tokens_used=1_000, coherence_score=0.1)
    run.step(total_tokens_used=9_000)

    assert run.statistics().tokens_after_signal == 8_000


def test_what_a_runner_printed_is_what_the_report_reads(agent: Interlock) -> None:
    run = agent.run("t")
    run.observe(run.may_edit("a.py", "x = 1\n"), exit_code=0)
    run.observe(run.command("pytest -q"), exit_code=1, output="2 failed, 3 passed in 0.31s")

    report = run.finish("failed")

    (tests,) = [each for each in report.evaluations if each.evaluator == "tests-pass"]
    assert not tests.passed
    assert tests.evidence == ("3 of 5 tests passed, 2 failed: repair them and run them again",)


def test_what_did_not_run_has_no_results(agent: Interlock) -> None:
    run = agent.run("t")
    run.observe(run.command("pytest -q"), outcome="not-run", output="9 passed in 0.1s")

    assert run.state.tests is None


def test_calls_side_by_side_are_one_attempt_and_one_after_the_other_are_not(
    agent: Interlock,
) -> None:
    beside, alone = agent.run("beside"), agent.run("alone")
    beside.step()
    asked = [beside.command("cat missing") for _ in range(6)]
    for each in asked:
        beside.observe(each, exit_code=1, output="cat: missing: No such file or directory")
    for _ in range(6):
        alone.step()
        failed = alone.command("cat missing")
        alone.observe(failed, exit_code=1, output="cat: missing: No such file or directory")

    assert beside.state.control.meter.failures == 1
    assert beside.step().goes_on
    assert alone.state.control.hold is not None


def test_evidence_names_steps_that_can_be_explained(agent: Interlock) -> None:
    run = agent.run("t")
    answer = run.step()
    while answer.goes_on:
        for _ in range(2):
            run.observe(run.command("cat a.py"), output="always the same text\n" * 3, exit_code=0)
        answer = run.step()

    named = answer.detail.reasons[0].message.partition("(step")[2].partition(")")[0]
    events = [record.event for record in run.ledger]
    known = {event.context.step_number for event in events if isinstance(event, StepJudged)}
    assert {int(word) for word in named.strip("s ").split(", ")} <= known
