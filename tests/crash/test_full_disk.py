"""A full disk is told as such, loses nothing, and is forgotten once there is room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from crash.facts import assert_sound
from crash.nursery import Nursery
from crash.places import Place
from interlock.errors import UnavailableError
from interlock.service.ledgers import backup_ledger

_SIZE = 16 << 20
_BALLAST = 11 << 20
_ENDLESS = 1_000_000


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own with a ballast on it."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE}", "none", str(folder)]
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip(f"run as root to mount a small disk: `{' '.join(mount)}`")
    _ballast(folder).write_bytes(bytes(_BALLAST))
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def small(small_disk: Path, tmp_path: Path) -> Place:
    return Place.made(str(small_disk / "ledger.db"), tmp_path / "keys")


def test_a_full_disk_is_told_and_writing_goes_on_once_there_is_room(small: Place):
    with small.opened() as interlock:
        for _ in range(2):
            with pytest.raises(UnavailableError) as told:
                small.fill(interlock, _ENDLESS)
            assert f"{small.file}: the disk is full" in str(told.value)
            assert "make room and ask again" in str(told.value)
        state = interlock.ledger.state(small.run)
        _ballast(small.file.parent).unlink()
        small.fill(interlock, 100)

        assert state is not None
    small.assert_sound()


def test_everybody_in_a_group_is_told_of_the_full_disk(small: Place):
    told: list[str] = []

    def fill() -> None:
        try:
            small.fill(interlock, _ENDLESS)
        except UnavailableError as error:
            told.append(str(error))

    with small.opened() as interlock:
        writers = [Thread(target=fill) for _ in range(8)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        _ballast(small.file.parent).unlink()

        assert len(told) == 8
        assert all("the disk is full" in line for line in told)
    small.assert_sound()


def test_a_ledger_closes_and_opens_on_a_full_disk(small: Place):
    with small.opened() as interlock, pytest.raises(UnavailableError):
        small.fill(interlock, _ENDLESS)
    _fill_up(small.file.parent)
    with small.opened() as interlock:
        with pytest.raises(UnavailableError, match="the disk is full"):
            small.fill(interlock, _ENDLESS)
        assert interlock.ledger.state(small.run) is not None
    _make_room(small.file.parent)

    small.assert_sound()


def test_a_new_ledger_on_a_full_disk_is_refused_and_made_once_there_is_room(
    small_disk: Path, tmp_path: Path
):
    _fill_up(small_disk)
    for _ in range(2):
        with pytest.raises(UnavailableError, match=r"the disk is full|cannot be written"):
            Place.made(str(small_disk / "ledger.db"), tmp_path / "keys")
    _make_room(small_disk)

    Place.made(str(small_disk / "ledger.db"), tmp_path / "keys").assert_sound()


def test_a_seal_key_is_not_made_by_halves_on_a_full_disk(tmp_path: Path, small_disk: Path):
    _fill_up(small_disk)
    file, keys = tmp_path / "ledger.db", small_disk / "keys"
    for _ in range(2):
        with pytest.raises(UnavailableError, match=r"\.key cannot be written.*No space left"):
            Place.made(str(file), keys)
    _make_room(small_disk)
    place = Place.made(str(file), keys)
    with place.opened() as interlock:
        place.fill(interlock, 10)

    place.assert_sound()
    assert sorted(each.suffix for each in place.keys.iterdir()) == [".anchor", ".key"]


def test_a_backup_onto_a_full_disk_is_refused_and_works_once_there_is_room(
    sqlite_place: Place, small_disk: Path
):
    target = small_disk / "copy.db"
    with sqlite_place.opened() as interlock:
        sqlite_place.fill(interlock, 300)
        _fill_up(small_disk)

        def backup() -> None:
            backup_ledger(
                interlock.ledger, target, keys=sqlite_place.keys, progress=lambda _done, _of: None
            )

        for _ in range(2):
            with pytest.raises(UnavailableError, match=f"{target}: the disk is full"):
                backup()
            assert not target.exists()
        _make_room(small_disk)
        backup()
        sqlite_place.fill(interlock, 20)

    sqlite_place.assert_sound()
    assert_sound(target, sqlite_place.keys, sqlite_place.acknowledged[:300])


def test_a_file_that_may_not_grow_loses_nothing(sqlite_place: Place, nursery: Nursery):
    child = sqlite_place.spawn(nursery, "grow", most_bytes=600_000)
    told = child.last_lines(0)
    sqlite_place.acknowledged += told
    [refusal] = [line for line in told if line.startswith("refused: ")]

    assert str(sqlite_place.file) in refusal
    assert "nothing of this was recorded" in refusal
    assert told[-1] != refusal
    sqlite_place.assert_sound()


def _ballast(folder: Path) -> Path:
    return folder / "ballast"


def _fill_up(folder: Path) -> None:
    """Leave not a byte, and not a page, of room."""
    with (folder / "rest").open("wb", buffering=0) as rest:
        try:
            while rest.write(bytes(4096)):
                pass
        except OSError:
            return


def _make_room(folder: Path) -> None:
    (folder / "rest").unlink()
    _ballast(folder).unlink()
