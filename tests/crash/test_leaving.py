"""Told to end, a process ends at once and leaves its ledger in good order."""

from __future__ import annotations

import signal

import pytest

from crash.jobs import INTERRUPTED, OPENED
from crash.nursery import Nursery
from crash.places import Place
from effort import rounds

ROUNDS = rounds(short=2, soak=100)
ENDED = 128 + signal.SIGTERM


def test_an_idle_process_that_is_told_to_end_empties_the_write_ahead_file(
    sqlite_place: Place, nursery: Nursery
):
    place = sqlite_place
    child = nursery.spawn("hold", place=place.url, keys=str(place.keys))
    child.hear_until(OPENED)
    # A second process keeps SQLite from removing the file behind the first.
    with place.opened() as interlock:
        place.fill(interlock, 50)
        assert place.wal.stat().st_size > 0
        child.terminate(ENDED)

        assert place.wal.stat().st_size == 0
    place.assert_sound()


@pytest.mark.soak
@pytest.mark.parametrize("job", ["write", "write_alone"])
def test_a_busy_process_that_is_told_to_end_loses_nothing(
    sqlite_place: Place, nursery: Nursery, job: str
):
    place = sqlite_place
    with place.opened():
        for turn in range(ROUNDS):
            child = place.spawn(nursery, job)
            child.hear(1 + 30 * (turn % 4))
            place.acknowledged += child.terminate(ENDED)

            assert place.wal.stat().st_size == 0
    place.assert_sound()
    assert not place.wal.exists()


@pytest.mark.soak
def test_an_interrupt_ends_one_question_and_keeps_nobody_else_waiting(
    place: Place, nursery: Nursery
):
    child = place.spawn(nursery, "write_on")
    child.hear_until(OPENED)
    for turn in range(10 * ROUNDS):
        child.hear(len(child.told) + turn % 7)
        child.interrupt()
        child.hear_until(f"{INTERRUPTED}.{turn}")
    before = len(child.told)
    for number in range(4):
        child.hear_of(f" echo {place.name}.{number}.", after=before)
    place.acknowledged += child.kill()

    place.assert_sound()


def test_a_busy_process_on_postgres_ends_when_it_is_told_to(place: Place, nursery: Nursery):
    child = place.spawn(nursery)
    child.hear(30)
    place.acknowledged += child.terminate(ENDED)

    place.assert_sound()
