"""Reviews and real processes: each step in one that is then killed, and many steps at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from concurrency.crew import Crew, Hands, crew_of
from concurrency.member import Member
from concurrency.people import operator
from concurrency.places import NOON, Place
from concurrency.soundness import assert_sound, kinds
from interlock import InputError
from interlock.errors import DecidedError, KeyConflictError
from interlock.model.answers import ReviewAnswer
from interlock.model.review import EntryKind, GateAction, ReviewOutcome
from interlock.model.run import RunState, RunStatus
from interlock.values import Course
from review_flows.processes import (
    Choosing,
    Opening,
    Saying,
    choose,
    end_turn,
    finish,
    look,
    open_review,
    say,
)
from review_flows.workshop import COMPLETION, DONE, FAIL, GATES, PASS

T = TypeVar("T")
R = TypeVar("R")
AT_ONCE = 6


@pytest.fixture
def place(ledger_place: str, tmp_path: Path) -> Iterator[Place]:
    """A ledger at noon; when a test is through with it, everything in it adds up."""
    found = Place(ledger=ledger_place, folder=tmp_path, policy=GATES)
    found.clock.set(NOON)
    yield found
    assert_sound(found)


@pytest.fixture(scope="module")
def all_hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hands]:
    """Processes that the tests of this module share."""
    with closing(Hands(AT_ONCE, tmp_path_factory.mktemp("crew"))) as hands:
        yield hands


@pytest.fixture
def crew(all_hands: Hands, place: Place) -> Iterator[Crew]:
    """Processes, none of which has a ledger open before or afterwards."""
    yield all_hands.idle()
    all_hands.idle().leave()


@pytest.fixture
def mortals(tmp_path: Path) -> Iterator[Crew]:
    """Processes, each of which is killed after its step."""
    with crew_of(9, tmp_path) as members:
        yield members


class _Steps:
    """One step after the other, each in a process that is killed as soon as it has answered."""

    def __init__(self, place: Place, crew: Crew) -> None:
        self._place = place
        self._crew = crew
        self._next = 0

    def __call__(self, job: Callable[[Member, T], R], task: T) -> R:
        number, self._next = self._next, self._next + 1
        (result,) = self._crew.at_once(self._place, job, [task], first=number)
        self._crew.kill(number)
        return result


def started(place: Place, workspace: Path, crew: Crew) -> tuple[str, str]:
    """Start a run for one of the processes; return its id and the token of an operator."""
    with place.opened() as interlock:
        token = operator(interlock)
        return interlock.run("mend", workspace=workspace, process=crew.agent).id, token


def test_every_step_of_a_review_in_a_process_of_its_own(
    place: Place, mortals: Crew, tmp_path: Path
) -> None:
    run, token = started(place, tmp_path, mortals)
    step = _Steps(place, mortals)
    opening = step(open_review, Opening(run=run, gates=("plan", "tests", "style")))
    first = step(say, Saying(run=run, said=FAIL))
    second = step(say, Saying(run=run, said="no verdict at all"))
    refused = step(say, Saying(run=run, said=PASS))
    assert second.approval_id is not None
    retry = Choosing(approval=second.approval_id, action="retry", token=token, instructions="look")
    chosen = step(choose, retry)
    third = step(say, Saying(run=run, said=PASS))
    seen: RunState = step(look, run)
    (tmp_path / "work.txt").write_text("good")
    passed = step(say, Saying(run=run, said=f"{PASS}\nGATE_VERDICTS:\n[3] FAIL - ugly"))
    ended = step(finish, run)

    assert "Attempt 1 of 2" in opening.guidance
    answers = [first, second, refused, chosen, third, passed]
    assert [answer.outcome.value for answer in answers] == [
        "retry", "ask", "refused", "retry", "retry", "advance",
    ]  # fmt: skip
    assert "> look" in (third.guidance or "")
    review = seen.reviews.pending["first"].review
    assert (review.attempt_count, review.resets) == (1, 1)
    assert [entry.kind for entry in review.history] == [
        EntryKind.FAILED, EntryKind.UNREADABLE, EntryKind.RESET, EntryKind.CONTRADICTED,
    ]  # fmt: skip
    assert passed.footer == "Advisory gate warnings:\n- gate `style` failed: ugly"
    assert (ended.status, ended.outcome) == (RunStatus.FINISHED, "completed")


def test_every_step_to_an_abort_in_a_process_of_its_own(
    place: Place, mortals: Crew, tmp_path: Path
) -> None:
    place = place.under(COMPLETION)
    run, token = started(place, tmp_path, mortals)
    step = _Steps(place, mortals)
    sent_on = step(end_turn, Saying(run=run, said=DONE))
    waits = step(end_turn, Saying(run=run, said=DONE))
    assert waits.approval_id is not None
    stopped = step(choose, Choosing(approval=waits.approval_id, action="abort", token=token))
    seen = step(look, run)

    assert (sent_on.ruling.course, waits.ruling.course) == (Course.GO_ON, Course.AWAIT_PERSON)
    assert stopped.outcome is ReviewOutcome.STOPPED
    assert (seen.status, seen.outcome) == (RunStatus.FINISHED, "aborted")


def test_the_same_verdict_with_the_same_key_counts_once_whoever_says_it(
    place: Place, crew: Crew, tmp_path: Path
) -> None:
    run, _ = started(place, tmp_path, crew)
    crew.at_once(place, open_review, [Opening(run=run, gates=("plan", "tests"))])
    answers = crew.at_once(place, say, [Saying(run=run, said=FAIL, key="k")] * AT_ONCE)
    with place.opened() as interlock:
        review = interlock.resume(run).state.reviews.pending["first"].review
        told = kinds(interlock, run)

    assert review.attempt_count == 1
    assert told.count("review-judged") == told.count("check-ran") == 1
    assert sorted(answer.repeated for answer in answers) == [False] + [True] * (AT_ONCE - 1)
    assert len({answer.seq for answer in answers}) == 1
    assert len({answer.guidance for answer in answers}) == 1


def test_the_same_key_with_another_verdict_is_a_conflict(
    place: Place, crew: Crew, tmp_path: Path
) -> None:
    run, _ = started(place, tmp_path, crew)
    crew.at_once(place, open_review, [Opening(run=run)])
    tasks = [Saying(run=run, said=(FAIL, PASS)[each % 2], key="k") for each in range(AT_ONCE)]
    outcomes = crew.outcomes(place, say, tasks)
    answers = [each for each in outcomes if isinstance(each, ReviewAnswer)]
    conflicts = [each for each in outcomes if isinstance(each, KeyConflictError)]

    assert len(answers) == len(conflicts) == AT_ONCE // 2
    assert len({answer.outcome for answer in answers}) == 1
    with place.opened() as interlock:
        assert kinds(interlock, run).count("review-judged") == 1


def test_verdicts_of_their_own_count_each_until_a_person_has_to_choose(
    place: Place, crew: Crew, tmp_path: Path
) -> None:
    run, _ = started(place, tmp_path, crew)
    crew.at_once(place, open_review, [Opening(run=run, gates=("plan", "tests"))])
    answers = crew.at_once(
        place, say, [Saying(run=run, said=FAIL, key=f"k{each}") for each in range(AT_ONCE)]
    )
    with place.opened() as interlock:
        review = interlock.resume(run).state.reviews.pending["first"].review
        questions = interlock.approvals()

    outcomes = sorted(answer.outcome.value for answer in answers)
    assert outcomes == ["ask", *["refused"] * (AT_ONCE - 2), "retry"]
    assert review.attempt_count == 2
    assert len(questions) == 1
    told = {answer.approval_id for answer in answers if answer.approval_id is not None}
    assert told == {questions[0].id}


def test_of_many_who_choose_at_once_one_does(place: Place, crew: Crew, tmp_path: Path) -> None:
    run, token = started(place, tmp_path, crew)
    with place.opened() as interlock:
        asking = interlock.resume(run)
        asking.review("first", ["plan"])
        asking.verdict(FAIL)
        question = asking.verdict(FAIL).approval_id
    assert question is not None
    actions = [action.value for action in GateAction]
    tasks = [
        Choosing(approval=question, action=actions[each % 3], token=token)
        for each in range(AT_ONCE)
    ]
    outcomes = crew.outcomes(place, choose, tasks)

    assert len([each for each in outcomes if isinstance(each, ReviewAnswer)]) == 1
    late = [each for each in outcomes if isinstance(each, DecidedError | InputError)]
    assert len(late) == AT_ONCE - 1
    with place.opened() as interlock:
        assert kinds(interlock, run).count("review-chosen") == 1


def test_turns_that_end_at_once_with_one_key_count_one_attempt(
    place: Place, crew: Crew, tmp_path: Path
) -> None:
    place = place.under(COMPLETION)
    run, _ = started(place, tmp_path, crew)
    answers = crew.at_once(place, end_turn, [Saying(run=run, said=DONE, key="t")] * AT_ONCE)
    with place.opened() as interlock:
        review = interlock.resume(run).state.reviews.pending["completion"].review

    assert review.attempt_count == 1
    assert len({answer.seq for answer in answers}) == 1
