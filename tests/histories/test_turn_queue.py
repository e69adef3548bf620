"""Turns come out in order, whatever never came."""

from __future__ import annotations

import pytest

from interlock.adapters.histories.turn_queue import Call, TurnQueue, tells_of_person
from interlock.model.budget import TokenUsage
from interlock.model.entrance import MOST


def called(queue: TurnQueue, number: int) -> None:
    turn = queue.turn(f"m{number}", at=None, line=number)
    queue.call(turn, Call(id=f"c{number}", tool="Bash", action=None, arguments="{}"))


def test_what_waits_for_an_answer_that_never_comes_does_not_grow() -> None:
    queue = TurnQueue()
    called(queue, 0)
    given = 0
    for number in range(1, 2_000):
        called(queue, number)
        queue.answered(f"c{number}", "ok", failed=False, ran=True)
        given += len(list(queue.ready()))
        assert number - given <= 64

    steps = list(queue.rest())

    assert given + len(steps) == 2_000
    assert all(step.result == "ok" for step in steps)


def test_an_answer_that_comes_too_late_or_again_is_nobodys() -> None:
    queue = TurnQueue()
    called(queue, 0)
    queue.answered("c0", "first", failed=False, ran=True)
    queue.answered("c0", "second", failed=True, ran=True)
    queue.end_turn()

    (step,) = queue.ready()
    queue.answered("c0", "third", failed=True, ran=True)
    called(queue, 0)

    assert step.result == "first"
    assert list(queue.rest()) == []


def test_more_than_anybody_can_have_used_is_not_known_and_ends_nothing() -> None:
    queue = TurnQueue()
    for key in ("m1", "m2"):
        queue.turn(key, at=None, line=None).counts(TokenUsage(input_tokens=MOST))
    queue.turn("m3", at=None, line=None).counts(TokenUsage(input_tokens=7))
    called(queue, 4)

    assert [step.tokens for step in queue.rest()] == [7]


@pytest.mark.parametrize(
    ("said", "is_so"),
    [
        ("exec command rejected by user", True),
        ("[Operation Cancelled] Reason: User did not allow tool call", True),
        ("The user rejected permission to use this specific tool call.", True),
        ("Permission to use Bash has been denied.", False),
        ("Tool call blocked by PreToolUse hook: no", False),
        ("The user has specified a rule which prevents this", False),
        (None, False),
    ],
)
def test_who_refused_a_call_is_read_from_the_words(said: str | None, *, is_so: bool) -> None:
    assert tells_of_person(said) is is_so
