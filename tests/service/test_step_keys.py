"""The same question, asked again under the same key, gets the same answer and counts once."""

from __future__ import annotations

import pytest

from interlock import Interlock
from interlock.errors import InputError, KeyConflictError
from service.ledgers import HandClock, OpenInterlock, kinds_of
from service.stepping_runs import check_record


def test_a_step_that_is_asked_twice_is_taken_once(interlock: Interlock) -> None:
    run = interlock.run("t")
    first = run.step("on it", key="step-1")
    again = run.step("on it", key="step-1")

    assert (first.repeated, again.repeated) == (False, True)
    assert (again.seq, again.detail, again.ruling) == (first.seq, first.detail, first.ruling)
    assert run.state.control.steps == 1
    assert kinds_of(interlock.ledger, run.id).count("step-judged") == 1
    check_record(interlock)


def test_a_stop_that_is_asked_twice_is_told_to_go_on_once(interlock: Interlock) -> None:
    run = interlock.run("t")
    first = run.stopped("Now let me run the tests:", key="stop-1", finish_reason="stop")
    again = run.stopped("Now let me run the tests:", key="stop-1", finish_reason="stop")

    assert (first.goes_on, again.goes_on, again.repeated) == (True, True, True)
    assert again.nudge == first.nudge
    assert run.state.control.continuations == 1
    check_record(interlock)


def test_a_key_that_stands_for_another_question_is_refused(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.step("on it", key="k")
    run.command("ls", key="c")

    with pytest.raises(KeyConflictError, match="`k` stands for another request"):
        run.step("on something else", key="k")
    with pytest.raises(KeyConflictError, match="`c` stands for another request"):
        run.command("pwd", key="c")
    with pytest.raises(InputError, match="the key is empty"):
        run.step(key="")
    assert run.state.control.steps == 1


def test_the_same_key_for_another_kind_of_question_is_another_key(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.step("on it", key="k")

    assert not run.stopped("on it", key="k").repeated
    assert not run.command("ls", key="k").repeated
    assert run.command("ls", key="k").repeated
    check_record(interlock)


def test_a_held_run_gets_no_old_answer(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    assert run.step(key="k").goes_on
    assert run.stopped("Now let me run the tests:", key="s").goes_on
    interlock.halt(run.id, token=operator, reason="wrong branch")

    assert not run.step(key="k").goes_on
    assert not run.stopped("Now let me run the tests:", key="s").goes_on
    check_record(interlock)


def test_a_lifted_run_gets_no_answer_from_when_it_was_held(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    stopped = run.step(key="k", coherence_score=0.1)
    held = run.step(key="h")
    interlock.lift(run.id, token=operator, reason="looked at it")

    assert (stopped.goes_on, held.goes_on) == (False, False)
    assert run.step(key="h").goes_on
    assert run.step(key="k", coherence_score=0.1).seq > held.seq
    check_record(interlock)


def test_a_checkpoint_is_taken_once_for_a_step_that_is_asked_twice(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    for number in range(25):
        clock.forward(seconds=10)
        run.step(key=f"{number}")
    clock.forward(seconds=10)
    due, again = run.step(key="due"), run.step(key="due")

    assert (due.detail.checkpoint_due, again.detail.checkpoint_due) == (True, True)
    assert due.checkpoint is not None
    assert kinds_of(interlock.ledger, run.id).count("checkpoint-taken") == 1


def test_a_key_is_known_after_a_restart(reopened: OpenInterlock) -> None:
    first = reopened()
    run = first.run("t")
    answer = run.step(key="k")
    first.close()

    again = reopened().resume(run.id).step(key="k")

    assert (again.repeated, again.seq) == (True, answer.seq)
