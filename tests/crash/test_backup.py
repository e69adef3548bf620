"""A copy that is made while others write is a ledger like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from crash.facts import assert_sound
from crash.nursery import Nursery
from crash.places import Place
from interlock import Interlock
from interlock.errors import LedgerError
from interlock.ledger.stores.sqlite import Progress
from interlock.service.ledgers import backup_ledger


def test_a_copy_made_beside_a_busy_writer_holds_everything_acknowledged_before(
    sqlite_place: Place, nursery: Nursery, tmp_path: Path
):
    child = sqlite_place.spawn(nursery)
    copies: dict[Path, list[str]] = {}
    with sqlite_place.opened() as interlock:
        for turn in range(3):
            before = list(child.hear(len(child.told) + 100))
            copy = tmp_path / f"copy{turn}.db"
            _backup(interlock, sqlite_place, copy)
            copies[copy] = before
        # What it would write while the copies are verified would have to be verified as well.
        sqlite_place.acknowledged += child.kill()
    for copy, before in copies.items():
        assert copy.stat().st_mode & 0o077 == 0
        assert_sound(copy, sqlite_place.keys, before)
    sqlite_place.assert_sound()


def test_a_copy_is_finished_although_something_is_written_after_every_step(
    sqlite_place: Place, tmp_path: Path
):
    progress: list[int] = []

    def write_more(done: int, pages: int) -> None:
        assert done <= pages
        progress.append(done)
        assert len(progress) < 1_000, "the copy starts over with every record"
        sqlite_place.fill(interlock, 1)

    with sqlite_place.opened() as interlock:
        _swell(interlock, sqlite_place)
        before = list(sqlite_place.acknowledged)
        _backup(interlock, sqlite_place, tmp_path / "copy.db", write_more)

    assert len(progress) > 2
    assert progress == sorted(set(progress))
    assert_sound(tmp_path / "copy.db", sqlite_place.keys, before)
    sqlite_place.assert_sound()


def test_a_restored_copy_goes_on_where_it_was_made(sqlite_place: Place, tmp_path: Path):
    with sqlite_place.opened() as interlock:
        sqlite_place.fill(interlock, 50)
        _backup(interlock, sqlite_place, tmp_path / "copy.db")
    restored = Place(str(tmp_path / "copy.db"), sqlite_place.keys, sqlite_place.run)
    restored.acknowledged = list(sqlite_place.acknowledged)
    with restored.opened() as interlock:
        interlock.resume(restored.run).violation("restored", "went on with the copy")

    assert restored.assert_sound() == sqlite_place.assert_sound() + 1


def test_a_copy_never_replaces_a_file(sqlite_place: Place, tmp_path: Path):
    (tmp_path / "taken").write_text("mine")
    with (
        sqlite_place.opened() as interlock,
        pytest.raises(LedgerError, match="taken exists already: choose another name"),
    ):
        _backup(interlock, sqlite_place, tmp_path / "taken")

    assert (tmp_path / "taken").read_text() == "mine"


def _swell(interlock: Interlock, place: Place) -> None:
    """Make the ledger larger than several steps of a copy."""
    run = interlock.resume(place.run)
    for number in range(8):
        run.may_edit(f"big{number}.txt", f"{number} is a number\n" * 60_000)


def _backup(
    interlock: Interlock,
    place: Place,
    target: Path,
    progress: Progress = lambda _done, _of: None,
) -> None:
    backup_ledger(interlock.ledger, target, keys=place.keys, progress=progress)
