"""A power cut loses what was never synced, and nothing that was acknowledged."""

from __future__ import annotations

import random
import signal

import pytest

from crash.nursery import Nursery
from crash.places import Place
from effort import rounds

ROUNDS = rounds(short=6, soak=200)
_SOME = 10


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, ROUNDS, _SOME))
def test_a_power_cut_loses_nothing_that_was_acknowledged(
    sqlite_place: Place, nursery: Nursery, first: int
):
    place, chance = sqlite_place, random.Random(first)
    for turn in range(first, min(first + _SOME, ROUNDS)):
        # The seed 0 loses everything that was not synced, any other one every second write.
        disk = {"dies_at": chance.randint(1, 600), "cut": turn if turn % 2 else 0}
        child = place.spawn(nursery, disk=disk, tidies=turn % 3 == 0)
        place.acknowledged += child.last_lines(-signal.SIGKILL)
        place.assert_sound()


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, ROUNDS, _SOME))
def test_death_in_the_middle_of_a_checkpoint_loses_nothing(
    sqlite_place: Place, nursery: Nursery, first: int
):
    place, chance = sqlite_place, random.Random(first)
    for turn in range(first, min(first + _SOME, ROUNDS)):
        # In write-ahead mode only a checkpoint writes to the database itself.
        disk = {"dies_at": chance.randint(1, 120), "file": place.file.name}
        if turn % 2:
            disk["cut"] = turn
        child = place.spawn(nursery, disk=disk, tidies=True)
        place.acknowledged += child.last_lines(-signal.SIGKILL)
        place.assert_sound()


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, ROUNDS, _SOME))
def test_a_kill_beside_endless_checkpoints_loses_nothing(
    sqlite_place: Place, nursery: Nursery, first: int
):
    place, chance = sqlite_place, random.Random(first)
    for _ in range(first, min(first + _SOME, ROUNDS)):
        child = place.spawn(nursery, tidies=True)
        child.hear(chance.randint(1, 120))
        place.acknowledged += child.kill()
        place.assert_sound()
