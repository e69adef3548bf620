"""How often a run is told to go on: bounded in a row, and by credit that only progress earns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock import Interlock, Run, StopAnswer
from interlock.model.arbitration import Authority
from interlock.model.stop import StopVeto
from interlock.values import Course
from service.ledgers import HandClock, OpenInterlock, person_speaks
from service.stepping_runs import HELD, check_record, worked

_ENDS = (
    "The parser is fixed.",
    "Every test of the grammar passes now.",
    "I wrote the documentation of the command line.",
    "Nothing is left to be done in this folder.",
    "All warnings of the compiler are gone.",
    "The migration went through without a complaint.",
    "Both servers answer as they should.",
    "What was asked for is implemented.",
)


def _announces(run: Run) -> StopAnswer:
    """End a turn that announces calls and makes none: always worth a nudge."""
    return run.stopped(None, finish_reason="tool_calls")


def _progresses(run: Run, number: int) -> None:
    run.observe(run.may_edit(f"new{number}.py", f"value = {number}\n"), exit_code=0)


def test_after_three_in_a_row_the_turn_ends_for_good(interlock: Interlock) -> None:
    run = interlock.run("t")
    assert [_announces(run).goes_on for _ in range(3)] == [True] * 3

    for _ in range(4):
        answer = _announces(run)
        assert answer.ruling.course is Course.FINISH
        assert answer.detail.veto is StopVeto.PROTOCOL_VIOLATION
        assert "3 of 3 times in a row" in answer.detail.reason
    check_record(interlock)


def test_after_a_normal_end_it_counts_anew_within_its_credit(interlock: Interlock) -> None:
    run = interlock.run("t")
    for _ in range(4):
        _announces(run)
    done = run.stopped("The work is done.", finish_reason="stop")
    again = [_announces(run).ruling for _ in range(3)]

    assert (done.goes_on, done.detail.veto) == (False, None)
    assert [each.course for each in again] == [Course.GO_ON, Course.GO_ON, Course.FINISH]
    assert again[-1].by is Authority.CREDIT


def test_what_ran_out_is_not_undone_by_other_words(interlock: Interlock) -> None:
    run = interlock.run("t")
    for _ in range(4):
        _announces(run)

    for text, reason in (("Now let me run it.", "stop"), ("and then", "length")):
        assert not run.stopped(text, finish_reason=reason).goes_on
    answer = run.stopped("Now let me run the tests.", finish_reason="stop")
    assert answer.detail.veto is StopVeto.RETRIES_EXHAUSTED


def test_waiting_in_between_does_not_begin_the_count_anew(interlock: Interlock) -> None:
    run = interlock.run("t")
    for _ in range(2):
        assert _announces(run).goes_on
        assert run.stopped(None, waiting_for="the build").ruling.course is Course.WAIT
    assert _announces(run).goes_on

    assert _announces(run).detail.veto is StopVeto.PROTOCOL_VIOLATION


_RESETS: dict[str, Callable[[Run], object]] = {
    "a normal end": lambda run: run.stopped("The work is done.", finish_reason="stop"),
    "a question": lambda run: run.stopped("Which of the two would you like?"),
    "a person": person_speaks,
    "progress": lambda run: _progresses(run, 1),
}


@pytest.mark.parametrize("reset", _RESETS)
def test_the_count_in_a_row_begins_anew(opened: OpenInterlock, reset: str) -> None:
    run = opened("[stops]\ncredit = 50\n").run("t")
    for _ in range(2):
        assert _announces(run).goes_on
    _RESETS[reset](run)

    assert [_announces(run).goes_on for _ in range(4)] == [True, True, True, False]


def test_a_run_that_completes_its_turns_and_starts_again_uses_up_its_credit(
    interlock: Interlock,
) -> None:
    run = interlock.run("t")
    told = 0
    for end in _ENDS:
        told += _announces(run).goes_on
        assert run.stopped(end, finish_reason="stop").ruling.course is Course.FINISH

    assert told == 5
    answer = _announces(run)
    assert answer.ruling.by is Authority.CREDIT
    assert answer.ruling.course is Course.FINISH
    assert answer.nudge is None
    check_record(interlock)


def test_verified_progress_earns_credit_back(interlock: Interlock) -> None:
    run = interlock.run("t")
    for number in range(12):
        assert _announces(run).goes_on, number
        _progresses(run, number)

    assert run.state.control.credit_used == 0


_NO_PROGRESS: dict[str, Callable[[Run, int], object]] = {
    "reading": lambda run, number: worked(run, f"cat {number}", f"content {number} " * 9),
    "the same edit": lambda run, _: run.observe(run.may_edit("a.py", "x = 1\n"), exit_code=0),
    "a failing edit": lambda run, number: run.observe(
        run.may_edit(f"b{number}.py", "x = 1\n"), exit_code=1
    ),
    "what never ran": lambda run, number: run.observe(
        run.may_edit(f"c{number}.py", "x = 1\n"), outcome="not-run"
    ),
    "commands": lambda run, number: worked(run, f"touch file{number}", ""),
    "words": lambda run, number: run.step(f"I have made {number} great steps"),
    "beliefs": lambda run, number: run.belief(f"it works {number}", supporting=9),
    "failing tests": lambda run, number: worked(
        run, f"pytest -k {number}", "2 failed, 3 passed in 0.1s", exit_code=1
    ),
}


@pytest.mark.parametrize("act", _NO_PROGRESS)
def test_what_is_no_progress_earns_nothing(
    opened: OpenInterlock, clock: HandClock, act: str
) -> None:
    run = opened("[loops]\npause-score-percent = 1000\n").run("t")
    told = 0
    for number, end in enumerate(_ENDS):
        told += _announces(run).goes_on
        clock.forward(seconds=10)
        _NO_PROGRESS[act](run, number)
        run.stopped(end, finish_reason="stop")

    # The first time that an edit or a run of the tests comes to something is progress.
    assert told in (5, 6)


def test_a_persons_word_gives_all_credit_back(interlock: Interlock) -> None:
    run = interlock.run("t")
    for end in _ENDS:
        _announces(run)
        run.stopped(end, finish_reason="stop")
    assert not _announces(run).goes_on
    person_speaks(run)

    assert _announces(run).goes_on


def test_a_policy_that_gives_no_credit_sends_nobody_on(opened: OpenInterlock) -> None:
    run = opened("[stops]\ncredit = 0\n").run("t")

    answer = _announces(run)
    assert (answer.ruling.course, answer.ruling.by) == (Course.FINISH, Authority.CREDIT)
    assert run.stopped(None, tool_calls=1).goes_on


def test_runs_have_a_count_and_a_credit_of_their_own(interlock: Interlock) -> None:
    run = interlock.run("t")
    for _ in range(4):
        _announces(run)

    assert _announces(run.child("c")).goes_on
    assert _announces(interlock.run("other")).goes_on


@pytest.mark.parametrize("how", HELD)
def test_a_resume_gives_a_run_its_credit_back(
    interlock: Interlock, operator: str, how: str
) -> None:
    run = interlock.run("t")
    for _ in range(4):
        _announces(run)
    question = HELD[how](run)
    assert not _announces(run).goes_on
    interlock.approve(question, token=operator, note="go on")

    assert _announces(run).goes_on


def test_the_count_is_kept_by_the_ledger_and_not_by_the_client(reopened: OpenInterlock) -> None:
    run = reopened().run("t")
    told = [_announces(reopened().resume(run.id)).goes_on for _ in range(5)]

    assert told == [True, True, True, False, False]


def test_a_model_of_its_own_kind_has_a_limit_of_its_own(opened: OpenInterlock) -> None:
    run = opened('[stops.models."tiny-*"]\nmax-retries = 1\n').run("t")
    told = [run.stopped(None, finish_reason="tool_calls", model="tiny-1").goes_on for _ in range(3)]

    assert told == [True, False, False]
