"""What does a process hold that is gone, and when does it come back?"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from concurrency.crew import Crew, crew_of
from concurrency.jobs import (
    Asking,
    Reporting,
    Request,
    ask,
    ask_and_tell,
    ask_until_refused,
    report,
)
from concurrency.places import NOON, SECOND, Place
from concurrency.soundness import kinds, records
from effort import rounds
from interlock import Answer, Budget, Decision, Interlock
from interlock.model.budget import NOTHING, Amounts
from interlock.model.events import ActionJudged, ReservationLapsed
from interlock.model.principal import PrincipalKind

LEASE_S = 7
SHORT_LEASE = f"[budgets]\nlease-seconds = {LEASE_S}\n"
HOLDERS = ASKERS = rounds(short=4, soak=6)


@pytest.fixture
def place(place: Place) -> Place:
    """A ledger whose policy gives short leases."""
    return place.under(SHORT_LEASE)


@pytest.fixture(scope="module")
def everybody(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crew]:
    """Enough processes for every test to have some of its own."""
    with crew_of(12 * (HOLDERS + ASKERS), tmp_path_factory.mktemp("crew")) as crew:
        yield crew


@pytest.fixture
def mortals(everybody: Crew, place: Place) -> Iterator[Crew]:
    """Processes that may be killed: nobody else gets them."""
    crew = everybody.detached(HOLDERS + ASKERS)
    yield crew
    crew.leave()


def test_what_a_killed_process_held_comes_back_after_its_lease_and_not_before(
    place: Place, mortals: Crew
):
    with place.opened() as interlock:
        run = interlock.run("hold", budget=Budget(tool_calls=1))
        ((held,),) = mortals.at_once(place, ask, [Request(run=run.id, command="ls")])
        mortals.kill(0)
        place.clock.set(NOON + LEASE_S * SECOND - 1)
        too_early = run.command("ls")
        before = kinds(interlock, run.id)
        place.clock.set(NOON + LEASE_S * SECOND + 1)
        afterwards = run.command("ls")

        assert held.allowed
        assert too_early.decision is Decision.BLOCK
        assert "1 more is reserved" in too_early.reasons[0]
        assert "reservation-lapsed" not in before
        assert afterwards.allowed
        (lapsed,) = _lapses(interlock, run.id)
        assert (lapsed.of, lapsed.released) == (_seq(held), Amounts(tool_calls=1))


def test_all_that_the_dead_held_comes_back_once_however_many_ask_for_it(
    place: Place, mortals: Crew
):
    with place.opened() as interlock:
        run = interlock.run("hold", budget=Budget(tool_calls=HOLDERS))
        mortals.at_once(place, ask, [Request(run=run.id, command="ls")] * HOLDERS)
        for number in range(HOLDERS):
            mortals.kill(number)
        place.clock.advance(seconds=LEASE_S + 1)
        tasks = [Asking(run=run.id)] * ASKERS
        asked = mortals.at_once(place, ask_until_refused, tasks, first=HOLDERS)

        assert sum(each.admitted for each in asked) == HOLDERS
        assert len(_lapses(interlock, run.id)) == HOLDERS
        assert run.state.spent == Amounts(tool_calls=HOLDERS)


def test_the_lapse_is_on_the_record_of_the_run_that_held_it(place: Place, mortals: Crew):
    with place.opened() as interlock:
        root = interlock.run("share", tree_budget=Budget(tool_calls=1))
        holder, asker = root.child("hold"), root.child("ask")
        mortals.at_once(place, ask, [Request(run=holder.id, command="ls")])
        mortals.kill(0)
        place.clock.advance(seconds=LEASE_S + 1)

        assert asker.command("ls").allowed
        assert kinds(interlock, holder.id) == ["run-started", "action-judged", "reservation-lapsed"]
        assert records(interlock, holder.id)[-1].by.kind is PrincipalKind.SYSTEM
        assert "reservation-lapsed" not in kinds(interlock, asker.id)


def test_who_reports_after_the_lease_is_charged_and_releases_nothing_twice(
    place: Place, mortals: Crew
):
    with place.opened() as interlock:
        run = interlock.run("hold", budget=Budget(tool_calls=1))
        ((late,),) = mortals.at_once(place, ask, [Request(run=run.id, command="ls")])
        place.clock.advance(seconds=LEASE_S + 1)
        taken = run.command("pwd")
        (released,) = mortals.at_once(place, report, [Reporting(run=run.id, action=late.action_id)])
        refused = run.command("ls")

        assert taken.allowed
        assert released == NOTHING
        assert run.state.spent == Amounts(tool_calls=1)
        assert refused.decision is Decision.BLOCK
        assert "has used 1 of 1 tool call, 1 more is reserved" in refused.reasons[0]


def test_whoever_reports_while_others_release_the_reservation_is_charged_once(
    place: Place, mortals: Crew
):
    with place.opened() as interlock:
        run = interlock.run("hold", budget=Budget(tool_calls=HOLDERS))
        held = mortals.at_once(place, ask, [Request(run=run.id, command="ls")] * HOLDERS)
        place.clock.advance(seconds=LEASE_S + 1)
        # Both at once: the holders report, and the others ask for what the holders have.
        mortals.begin(place, ask_until_refused, [Asking(run=run.id)] * ASKERS, first=HOLDERS)
        late = [Reporting(run=run.id, action=answer.action_id) for (answer,) in held]
        mortals.at_once(place, report, late)
        for number in range(HOLDERS, HOLDERS + ASKERS):
            mortals.ended(number)
        spent = run.state.spent.tool_calls
        admitted = run.state.decisions["allow"]

        assert spent == admitted
        assert HOLDERS <= spent <= HOLDERS * 2
        # All reservations may be released at once, and a late report then be faster than an asker.
        assert spent - HOLDERS <= len(_lapses(interlock, run.id)) <= HOLDERS


def test_killed_in_the_middle_of_asking_they_leave_only_whole_answers(place: Place, mortals: Crew):
    """However far each one was: what was told is on record, and all of it comes back."""
    with place.opened() as interlock:
        run = interlock.run("ask on")
        mortals.begin(place, ask_and_tell, [Request(run=run.id, command="ls")] * HOLDERS)
        told: list[object] = []
        for number in range(HOLDERS):
            told.extend(mortals.told(number) for _ in range(number % 3 + 1))
            told.extend(mortals.kill(number))
        promised = run.state.reserved
        answered = {f"{run.id}:{seq}" for seq in _judged(interlock, run.id)}
        place.clock.advance(seconds=LEASE_S + 1)
        # Nobody looks for lapsed reservations before a budget says no.
        child = run.child("after them", budget=Budget(tool_calls=0))
        refused = child.command("ls")

        assert set(told) <= answered
        assert len(answered) - len(told) <= HOLDERS
        assert promised == Amounts(tool_calls=len(answered))
        assert refused.decision is Decision.BLOCK
        assert run.state.reserved == NOTHING
        assert len(_lapses(interlock, run.id)) == len(answered)


def _lapses(interlock: Interlock, run_id: str) -> list[ReservationLapsed]:
    found = [record.event for record in records(interlock, run_id)]
    return [event for event in found if isinstance(event, ReservationLapsed)]


def _judged(interlock: Interlock, run_id: str) -> list[int]:
    found = records(interlock, run_id)
    return [record.seq for record in found if isinstance(record.event, ActionJudged)]


def _seq(answer: Answer) -> int:
    return int(answer.action_id.rpartition(":")[2])
