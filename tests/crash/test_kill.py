"""Kill -9 at any moment loses no acknowledged record and leaves no half record."""

from __future__ import annotations

import random

import pytest

from crash.nursery import Nursery
from crash.places import Place
from effort import rounds

ROUNDS = rounds(short=6, soak=200)
_SOME = 10


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, ROUNDS, _SOME))
def test_a_killed_writer_loses_nothing_it_acknowledged(place: Place, nursery: Nursery, first: int):
    chance = random.Random(first)
    for _ in range(min(_SOME, ROUNDS - first)):
        child = place.spawn(nursery)
        # From "not even open" to "many groups in", the short lives as often as the long ones.
        child.hear(int(chance.choice([0, 1, 2, 10, 100, 400]) * chance.random()))
        child.hear_for(chance.random() * chance.choice([0, 0.0005, 0.005]))
        place.acknowledged += child.kill()

        place.assert_sound()
