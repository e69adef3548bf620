"""At the end of a turn: evidence from the record, vetoes that hold, and nudges that name it."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path

import pytest

from interlock import (
    AsyncInterlock,
    Budget,
    InputError,
    Interlock,
    Run,
    StepDecision,
    StopAnswer,
    TokenUsage,
)
from interlock.model.arbitration import Authority, HardState
from interlock.model.events import StopJudged
from interlock.model.facts import HoldKind
from interlock.model.stop import EvidenceKind, LastEvent, StopOutcome, StopVeto
from interlock.values import Course, StopFields, TestCounts
from service.ledgers import HandClock, OpenInterlock, events_of, kinds_of, person_speaks
from service.stepping_runs import HELD, check_record, hold_of, open_questions, worked

_ANNOUNCED = "Now let me fix the parser."
_DONE = "The parser is fixed and all tests pass."


def _judged(interlock: Interlock, run: Run) -> StopJudged:
    event = events_of(interlock.ledger, run.id)[-1]
    assert isinstance(event, StopJudged)
    return event


def _evidence(interlock: Interlock, run: Run) -> list[tuple[EvidenceKind, str]]:
    return [(each.kind, each.text) for each in _judged(interlock, run).context.evidence]


# Evidence.


def test_an_agent_that_announces_its_next_act_is_sent_on_with_what_is_left(
    interlock: Interlock,
) -> None:
    run = interlock.run("t")
    worked(run, "pytest", "1 failed, 3 passed in 0.1s", exit_code=1)
    answer = run.stopped(
        _ANNOUNCED, finish_reason="stop", todos=["write a test"], planned_files=["src/parser.py"]
    )

    assert answer.goes_on
    assert answer.ruling.by is Authority.STOP
    nudge = answer.nudge
    assert nudge is not None
    assert nudge.startswith("[automatic message, not from a person]")
    for part in ("`write a test`", "1 of 4 tests failed", "`src/parser.py`", _ANNOUNCED):
        assert part in nudge
    check_record(interlock)


def test_failing_tests_are_evidence_until_they_pass(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.stopped(_DONE)
    assert _evidence(interlock, run) == []
    worked(run, "pytest", "=== 2 failed, 3 passed in 0.1s ===", exit_code=1)
    worked(run, "cat a.py", "x = 1")
    run.stopped(_DONE)
    assert _evidence(interlock, run) == [(EvidenceKind.FAILING_CHECK, "2 of 5 tests failed")]
    worked(run, "pytest", "=== 5 passed in 0.1s ===")
    run.stopped(_DONE)

    assert _evidence(interlock, run) == []


def test_tests_that_the_client_counts_are_evidence_as_well(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.observe(run.command("make check"), tests=TestCounts(passed=1, failed=1), exit_code=1)
    run.stopped(_DONE)

    assert _evidence(interlock, run) == [(EvidenceKind.FAILING_CHECK, "1 of 2 tests failed")]


@pytest.mark.parametrize(
    ("touched", "planned"),
    [
        ("src/a.py", "src/a.py"),
        ("src/a.py", "./src/a.py"),
        ("./src/a.py", "src/a.py"),
        ("/srv/work/src/a.py", "src/a.py"),
        ("src/a.py", "/srv/work/src/a.py"),
    ],
)
def test_a_planned_file_that_was_touched_is_no_evidence(
    interlock: Interlock, touched: str, planned: str
) -> None:
    run = interlock.run("t")
    run.observe(run.may_edit(touched, "x = 1\n"), exit_code=0)
    run.stopped(_DONE, planned_files=[planned])

    assert _evidence(interlock, run) == []


@pytest.mark.parametrize("planned", ["a.py", "other/src/a.py", "src/ba.py"])
def test_a_planned_file_that_was_never_touched_is_evidence(
    interlock: Interlock, planned: str
) -> None:
    run = interlock.run("t")
    run.observe(run.may_edit("src/aa.py", "x = 1\n"), exit_code=0)
    run.observe(run.may_edit("src/b.py", "x = 1\n"), exit_code=1)
    run.command("ls")
    run.stopped(_DONE, planned_files=[planned, "src/b.py"])

    assert _evidence(interlock, run) == [
        (EvidenceKind.UNTOUCHED_FILE, planned),
        (EvidenceKind.UNTOUCHED_FILE, "src/b.py"),
    ]


def test_what_says_nothing_is_no_evidence_and_much_is_kept_short(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.stopped(_DONE, todos=["", "  ", *(f"{n} {'x' * 500}" for n in range(50))])

    found = _evidence(interlock, run)
    assert len(found) == 20
    assert all(len(text) == 200 for _, text in found)


# What is derived.


def test_what_came_before_a_message_is_known_from_the_record(interlock: Interlock) -> None:
    run = interlock.run("t")
    seen: list[LastEvent | None] = []
    for happen in (
        lambda: None,
        lambda: worked(run, "ls", "a"),
        lambda: None,
        lambda: person_speaks(run),
        lambda: run.observe(run.command("cat x"), outcome="not-run"),
    ):
        happen()
        run.stopped(_DONE)
        seen.append(_judged(interlock, run).context.last_event)

    assert seen == [
        None,
        LastEvent.TOOL_RESULT,
        LastEvent.ASSISTANT_MESSAGE,
        LastEvent.USER_MESSAGE,
        LastEvent.ASSISTANT_MESSAGE,
    ]


def test_the_share_of_turns_that_did_something_is_known_from_the_record(
    interlock: Interlock,
) -> None:
    run = interlock.run("t")
    ratios: list[float | None] = []
    for number in range(4):
        run.stopped(_DONE)
        ratios.append(_judged(interlock, run).context.tool_ratio)
        worked(run, f"cat {number}", f"{number}")

    assert ratios == [None, 0.5, 0.5, 0.5]
    run.stopped(_DONE, tool_ratio=0.25, last_event="user")
    context = _judged(interlock, run).context
    assert (context.tool_ratio, context.last_event) == (0.25, LastEvent.USER_MESSAGE)


def test_clients_words_for_reasons_are_understood(interlock: Interlock) -> None:
    run = interlock.run("t")

    assert run.stopped("", finish_reason="tool_use").detail.outcome is StopOutcome.NUDGED
    assert run.stopped("and so", finish_reason="max_tokens").detail.outcome is StopOutcome.RESUMED
    assert run.stopped("", finish_reason="refusal").detail.veto is StopVeto.REFUSED


def test_a_message_that_holds_calls_goes_on_by_itself(interlock: Interlock) -> None:
    run = interlock.run("t")
    for _ in range(10):
        answer = run.stopped(None, tool_calls=2, finish_reason="tool_calls")

        assert answer.goes_on
        assert answer.detail.outcome is StopOutcome.ACTS
        assert answer.nudge is None
    control = run.state.control
    assert (control.continuations, control.credit_used) == (0, 0)


# Vetoes.


def test_a_question_to_the_person_ends_the_turn(interlock: Interlock) -> None:
    run = interlock.run("t")
    worked(run, "ls", "a")
    answer = run.stopped(
        "Should I proceed with deleting the database?", todos=["a", "b"], planned_files=["x"]
    )

    assert (answer.ruling.course, answer.detail.veto) == (Course.FINISH, StopVeto.AWAITING_USER)
    assert answer.nudge is None


@pytest.mark.parametrize("how", HELD)
def test_a_held_run_is_not_sent_on(interlock: Interlock, how: str) -> None:
    run = interlock.run("t")
    HELD[how](run)
    answer = run.stopped(_ANNOUNCED, finish_reason="tool_calls", todos=["a"])

    assert answer.detail.veto is StopVeto.HARD_STOP
    assert not answer.goes_on
    assert answer.approval_id == hold_of(run).approval


def test_an_open_question_about_an_action_ends_the_turn(
    interlock: Interlock, operator: str, clock: HandClock
) -> None:
    run = interlock.run("t")
    asked = run.command("git push --force").approval_id
    assert asked is not None
    answer = run.stopped(_ANNOUNCED)
    assert answer.ruling.course is Course.AWAIT_PERSON
    assert answer.ruling.by is Authority.AWAITING_PERSON
    assert answer.approval_id == asked
    assert answer.detail.veto is StopVeto.HARD_STOP
    assert run.step().goes_on
    interlock.approve(asked, token=operator)
    assert run.stopped(_ANNOUNCED).goes_on

    run.command("git reset --hard")
    assert not run.stopped("Then I will look at it.").goes_on
    clock.forward(seconds=3600)
    assert run.stopped("Now let me look at the log.").goes_on
    check_record(interlock)


def test_questions_of_another_run_do_not_matter(interlock: Interlock) -> None:
    run = interlock.run("t")
    interlock.run("other").command("git push --force")
    run.child("c").command("git push --force")

    assert run.stopped(_ANNOUNCED).goes_on


def test_a_run_over_its_budget_is_not_sent_on(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t", budget=Budget(tokens=10))
    run.usage(TokenUsage(output_tokens=10))
    answer = run.stopped(_ANNOUNCED, finish_reason="tool_calls")
    assert answer.ruling.by is Authority.OVER_BUDGET
    assert answer.ruling.course is Course.HALT
    assert "tokens" in answer.ruling.reason
    assert run.state.control.hold is None
    interlock.set_budget(f"run/{run.id}", Budget(tokens=100), token=operator)

    assert run.stopped(_ANNOUNCED).goes_on
    check_record(interlock)


def test_the_strongest_state_decides_and_all_are_told(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t", budget=Budget(tool_calls=1))
    run.command("git push --force")
    worked(run, "ls", "a")
    interlock.halt(run.id, token=operator, reason="wrong branch")
    answer = run.stopped(_ANNOUNCED)

    assert answer.ruling.by is Authority.PERSON_STOP
    assert [each.state for each in _judged(interlock, run).hard] == [
        HardState.PERSON_STOP,
        HardState.AWAITING_PERSON,
        HardState.OVER_BUDGET,
    ]


def test_a_run_that_would_go_on_is_held_where_the_continue_gate_says_so(
    interlock: Interlock,
) -> None:
    run = interlock.run("t")
    run.belief("it compiles", opposing=50)
    assert run.stopped(_DONE, finish_reason="stop").ruling.course is Course.FINISH
    assert run.state.control.hold is None
    answer = run.stopped(_ANNOUNCED)

    assert answer.ruling.course is Course.AWAIT_PERSON
    assert answer.ruling.by is Authority.STEP
    assert answer.step.decision is StepDecision.PAUSE
    assert answer.nudge is None
    assert hold_of(run).kind is HoldKind.PAUSE
    assert [each.id for each in open_questions(interlock, run)] == [answer.approval_id]
    assert run.step().approval_id == answer.approval_id
    check_record(interlock)


def test_saying_the_same_again_and_again_is_paused(interlock: Interlock) -> None:
    run = interlock.run("t")
    answers = [run.stopped("Now let me run the tests of the parser.") for _ in range(4)]

    assert answers[0].goes_on
    assert not answers[-1].goes_on
    assert {answer.ruling.course for answer in answers[2:]} <= {Course.AWAIT_PERSON, Course.HALT}


# Waiting.


def test_a_run_that_waits_at_the_end_of_a_turn_gets_a_timer(interlock: Interlock) -> None:
    run = interlock.run("t")
    for text in ("The build is running.", _ANNOUNCED):
        answer = run.stopped(text, waiting_for="the build", look_again_s=30)

        assert answer.ruling.course is Course.WAIT
        assert (answer.delay_ms, answer.nudge) == (30_000, None)
        assert answer.ruling.reason == "it waits for the build"
    assert run.state.control.credit_used == 0
    check_record(interlock)


def test_waiting_does_not_lift_what_is_hard(interlock: Interlock) -> None:
    run = interlock.run("t")
    asks = run.stopped("Which branch should I take?", waiting_for="the build")
    assert asks.ruling.course is Course.FINISH
    HELD["stop"](run)

    assert run.stopped("x", waiting_for="the build").ruling.course is Course.HALT


# What cannot be.

_REFUSED: dict[str, tuple[object, ...]] = {
    "tool_ratio": (-0.1, math.nan, math.inf, True, "x", 2**70),
    "n_prev_turns": (-1, 1.5, math.nan, True, "x", 2**70),
    "tool_calls": (-1, 1.5, math.nan, True, "x", 2**70),
    "look_again_s": (-1, 0, math.nan, math.inf, True, "x", 1e9),
    "todos": ("write a test", ["a", 1], [None], [b"a"]),
    "planned_files": ("a.py", [1]),
}


@pytest.mark.parametrize("field", _REFUSED)
def test_what_cannot_be_is_refused_and_not_recorded(interlock: Interlock, field: str) -> None:
    run = interlock.run("t")
    before = kinds_of(interlock.ledger, run.id)
    for value in _REFUSED[field]:
        with pytest.raises(InputError, match=r"`(waiting\.delay_ms|\w+(\[\d\])?)` is "):
            run.stopped("x", **{"waiting_for": "x", field: value})  # pyright: ignore[reportArgumentType] - told wrongly on purpose

    assert kinds_of(interlock.ledger, run.id) == before
    check_record(interlock)


@pytest.mark.parametrize("text", ["", " ", "\x00", "\udc80", "\u202e", "x" * 100_000, "é" * 9000])
def test_any_text_can_be_told_and_read_again(interlock: Interlock, text: str) -> None:
    run = interlock.run("t")
    run.step(text, waiting_for=text)
    run.stopped(text, todos=[text], planned_files=[text], model=text)
    run.belief("x", supporting=1, because=text)
    run.observe(run.command("ls"), output=text, exit_code=1)

    check_record(interlock)


def test_nothing_is_known_and_the_turn_ends(interlock: Interlock) -> None:
    answer = interlock.run("t").stopped()

    assert answer.ruling.course is Course.FINISH
    assert answer.detail.outcome is StopOutcome.FINISHED


@pytest.mark.parametrize("profile", ["default", "seed"])
def test_the_profile_of_the_policy_counts(opened: OpenInterlock, profile: str) -> None:
    interlock = opened(f'[stops]\nprofile = "{profile}"\n')
    run = interlock.run("t")
    worked(run, "ls", "a")
    answer = run.stopped("I will continue with the next file.", finish_reason="stop")

    assert answer.goes_on
    assert (answer.detail.score == 70) == (profile == "seed")
    check_record(interlock)


_STORY: tuple[tuple[str | None, StopFields], ...] = (
    (_ANNOUNCED, {"finish_reason": "stop", "todos": ["a"]}),
    (_DONE, {"finish_reason": "stop"}),
    ("Should I delete it?", {}),
    (None, {"finish_reason": "tool_calls"}),
    ("The build runs.", {"waiting_for": "the build"}),
    ("and then", {"finish_reason": "length"}),
)
_Told = tuple[Course, Authority, int, str | None, int]


def test_who_awaits_is_told_the_same(tmp_path: Path) -> None:
    async def awaited() -> list[_Told]:
        keys = tmp_path / "keys"
        async with await AsyncInterlock.open(":memory:", clock=HandClock(), keys=keys) as interlock:
            run = await interlock.run("t")
            answer = await run.command("pytest")
            await run.observe(answer, output="1 failed in 0.1s", exit_code=1)
            return [_told(await run.stopped(text, **fields)) for text, fields in _STORY]

    with Interlock.open(":memory:", clock=HandClock(), keys=tmp_path / "keys") as interlock:
        run = interlock.run("t")
        worked(run, "pytest", "1 failed in 0.1s", exit_code=1)
        told = [_told(run.stopped(text, **fields)) for text, fields in _STORY]

    assert asyncio.run(awaited()) == told
    assert {Course.GO_ON, Course.FINISH, Course.WAIT} <= {course for course, *_ in told}


def _told(answer: StopAnswer) -> _Told:
    ruling = answer.ruling
    return ruling.course, ruling.by, answer.detail.score, answer.nudge, answer.delay_ms
