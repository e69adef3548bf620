"""A damaged file is told when it is opened, with the way out; a torn write-ahead file is not."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from crash.nursery import Nursery
from crash.places import Place
from effort import rounds
from interlock.errors import DamagedError
from interlock.ledger.verification import verify_all
from interlock.service.ledgers import open_ledger

_PAGE = 4096
_PAGES = rounds(short=12, soak=200)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A ledger that was closed in good order."""
    folder = tmp_path_factory.mktemp("original")
    place = Place.made(str(folder / "ledger.db"), folder / "keys")
    with place.opened() as interlock:
        place.fill(interlock, rounds(short=250, soak=400))
    return place


@pytest.fixture(scope="module")
def interrupted(original: Place, warm_nursery: Nursery, tmp_path_factory: pytest.TempPathFactory):
    """The same ledger with more in its write-ahead file, left by a writer that was killed.

    What a checkpoint has brought into the database is no longer in the write-ahead file alone:
    a writer that came so far before it was killed is let go, and another one started.
    """
    while True:
        place = _copied(original, tmp_path_factory.mktemp("interrupted"))
        child = place.spawn(warm_nursery)
        child.hear(40)
        place.acknowledged += child.kill()
        if place.file.read_bytes() == original.file.read_bytes():
            return place


@pytest.mark.soak
def test_garbage_in_any_page_is_told_when_the_ledger_is_opened(original: Place, tmp_path: Path):
    for turn, page in enumerate(_some_pages(original)):
        place = _copied(original, tmp_path / str(turn))
        _overwrite(place.file, page * _PAGE, random.Random(page).randbytes(_PAGE))

        with pytest.raises(DamagedError) as told:
            place.opened()
        assert str(told.value).startswith(f"{place.file} is damaged: ")
        assert "`interlock ledger repair` saves what can be read into a new file" in str(told.value)


@pytest.mark.soak
def test_an_empty_page_is_told_or_does_no_harm(original: Place, tmp_path: Path):
    told = 0
    for turn, page in enumerate(_some_pages(original)):
        place = _copied(original, tmp_path / str(turn))
        _overwrite(place.file, page * _PAGE, bytes(_PAGE))
        if _problems(place):
            told += 1
        else:
            # The end of a snapshot, say: the records tell the same.
            _assert_still_holds(place, original)

    assert told > _PAGES // 2


def test_what_was_found_is_named(original: Place, tmp_path: Path):
    place = _copied(original, tmp_path / "copy")
    pages = place.file.stat().st_size // _PAGE
    _overwrite(place.file, (pages - 1) * _PAGE, b"\xff" * _PAGE)

    with pytest.raises(DamagedError, match=rf"(?i)page {pages}\b"):
        place.opened()


@pytest.mark.parametrize("header", [b"not a database at all", bytes(100), b"\xff" * 4096])
def test_a_garbage_header_is_told(original: Place, tmp_path: Path, header: bytes):
    place = _copied(original, tmp_path / "copy")
    _overwrite(place.file, 0, header)

    with pytest.raises(DamagedError, match=r"is damaged: .+: `interlock ledger repair`"):
        place.opened()


@pytest.mark.parametrize("share", [0.9, 0.5, 0.1, 0.001])
@pytest.mark.parametrize("ragged", [0, 1000])
def test_a_truncated_file_is_told(original: Place, tmp_path: Path, share: float, ragged: int):
    place = _copied(original, tmp_path / "copy")
    pages = max(1, int(place.file.stat().st_size // _PAGE * share))
    _truncate(place.file, pages * _PAGE + ragged)

    with pytest.raises(DamagedError, match=r"is damaged: .+: `interlock ledger repair`"):
        place.opened()


def test_a_file_that_lost_everything_but_its_write_ahead_file_is_told(
    interrupted: Place, tmp_path: Path
):
    place = _copied(interrupted, tmp_path / "copy")
    _truncate(place.file, 0)

    with pytest.raises(DamagedError, match=r"is damaged: .+: `interlock ledger repair`"):
        place.opened()
    assert place.wal.read_bytes() == interrupted.wal.read_bytes()


def test_a_left_write_ahead_file_is_taken_in(interrupted: Place, tmp_path: Path):
    place = _copied(interrupted, tmp_path / "copy")

    assert place.wal.stat().st_size > 0
    with place.opened():
        assert place.wal.stat().st_size == 0
    place.assert_sound()


def test_garbage_behind_the_write_ahead_file_changes_nothing(interrupted: Place, tmp_path: Path):
    place = _copied(interrupted, tmp_path / "copy")
    with place.wal.open("ab") as wal:
        wal.write(random.Random(1).randbytes(3 * _PAGE))

    place.assert_sound()


def test_an_emptied_write_ahead_file_leaves_what_was_checkpointed(
    original: Place, interrupted: Place, tmp_path: Path
):
    place = _copied(interrupted, tmp_path / "copy")
    _truncate(place.wal, 0)

    _assert_still_holds(place, original)


def test_a_write_ahead_file_of_garbage_leaves_what_was_checkpointed(
    original: Place, interrupted: Place, tmp_path: Path
):
    place = _copied(interrupted, tmp_path / "copy")
    place.wal.write_bytes(random.Random(2).randbytes(place.wal.stat().st_size))

    _assert_still_holds(place, original)


@pytest.mark.soak
def test_a_torn_write_ahead_file_leaves_a_whole_ledger(
    original: Place, interrupted: Place, tmp_path: Path
):
    chance, size = random.Random(3), interrupted.wal.stat().st_size
    for turn in range(_PAGES // 2):
        place = _copied(interrupted, tmp_path / str(turn))
        if turn % 2:
            _truncate(place.wal, chance.randrange(size))
        else:
            _overwrite(place.wal, chance.randrange(size), chance.randbytes(50))

        _assert_still_holds(place, original)


def _assert_still_holds(place: Place, earlier: Place) -> None:
    """Everything that was in the database itself is there, all of it is sound, and it goes on."""
    place.acknowledged = list(earlier.acknowledged)
    place.assert_sound()
    with place.opened() as interlock:
        place.fill(interlock, 10)
    place.assert_sound()


def _problems(place: Place) -> list[str]:
    try:
        with (
            open_ledger(place.url, keys=place.keys) as ledger,
            ledger.store.frozen() as rows,
        ):
            return [found.problem for found in verify_all(rows, ledger.key) if found.problem]
    except DamagedError as error:
        return [str(error)]


def _some_pages(place: Place) -> list[int]:
    pages = place.file.stat().st_size // _PAGE
    return sorted(random.Random(0).sample(range(pages), min(_PAGES, pages)))


def _copied(place: Place, folder: Path) -> Place:
    folder.mkdir(exist_ok=True)
    for file in (place.file, place.wal):
        if file.exists():
            shutil.copy(file, folder)
    copy = Place(str(folder / place.file.name), place.keys, place.run)
    copy.acknowledged = list(place.acknowledged)
    return copy


def _overwrite(file: Path, offset: int, data: bytes) -> None:
    with file.open("r+b") as stream:
        stream.seek(offset)
        stream.write(data)


def _truncate(file: Path, size: int) -> None:
    with file.open("r+b") as stream:
        stream.truncate(size)
