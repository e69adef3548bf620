"""A ledger belongs to the process that opened it."""

from __future__ import annotations

from crash.nursery import Nursery
from crash.places import Place
from effort import rounds

_TURNS = rounds(short=5, soak=10)


def test_a_ledger_from_before_a_fork_is_refused_and_its_owner_goes_on(
    place: Place, nursery: Nursery
):
    told = place.spawn(nursery, "fork", threads=0, turns=1).last_lines(0)
    place.acknowledged += told

    refusals = [line for line in told if line.startswith("refused: ")]
    assert len(refusals) == 2
    assert all("opened before a fork: open it anew in the child" in line for line in refusals)
    assert "ended: 0" in told
    place.assert_sound()


def test_a_fork_while_others_write_is_refused_as_well(place: Place, nursery: Nursery):
    told = place.spawn(nursery, "fork", threads=4, turns=_TURNS).last_lines(0)
    place.acknowledged += told

    assert [line for line in told if line.startswith("ended: ")] == ["ended: 0"] * _TURNS
    assert len([line for line in told if line.startswith("refused: ")]) == 2 * _TURNS
    place.assert_sound()
