"""What is old is forgotten where somebody asks; nobody ever finds half of it."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edits.mortal_forgetter import END_OF_TIME
from edits.workshop import Workshop, an_edit
from effort import examples
from interlock.edits.edit_apply import applied_set, recover
from interlock.edits.retention import Held, all_held, forget, holds, would_forget
from interlock.edits.snapshot import has_snapshot, manifest_of, restore, take_snapshot
from interlock.errors import EditError
from interlock.model.events import UndoKind
from warm_python import run_python

MOMENT = 1_700_000_000_000_000
LARGE = 24 << 20
TESTS = Path(__file__).parents[1]


def a_set(shop: Workshop, set_id: str, *, at: int = MOMENT) -> Path:
    """Apply a set at a moment; return the folder that it is kept in."""
    shop.write(f"{set_id}.txt", "before\n")
    shop.apply(an_edit(f"{set_id}.txt", "before", "after"), set_id=set_id)
    return dated(shop.store / "kept" / set_id, "journal.json", at)


def a_snapshot(shop: Workshop, snapshot_id: str, *, at: int = MOMENT, size: int = 7) -> Path:
    """Take a snapshot at a moment; return the folder that it is kept in."""
    shop.write("copied/file", bytes(size))
    take_snapshot(shop.store, snapshot_id, ["copied"], workspace=shop.root, limit_bytes=LARGE)
    return dated(shop.store / "snapshots" / snapshot_id, "manifest.json", at)


def dated(folder: Path, document: str, at: int) -> Path:
    os.utime(folder / document, ns=(at * 1_000, at * 1_000))
    return folder


def ids(store: Path) -> list[str]:
    return [held.id for held in all_held(store)]


def everything_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_what_is_older_goes_and_what_is_not_stays(shop: Workshop):
    a_set(shop, "old-set", at=MOMENT - 1)
    a_snapshot(shop, "old-copy", at=MOMENT - 1)
    a_set(shop, "new-set")
    a_snapshot(shop, "new-copy")

    done = forget(shop.store, before=MOMENT)

    assert [(each.id, each.kind, each.made_at) for each in done.entries] == [
        ("old-set", UndoKind.EDITS, MOMENT - 1),
        ("old-copy", UndoKind.SNAPSHOT, MOMENT - 1),
    ]
    assert done.damaged == ()
    assert ids(shop.store) == ["new-set", "new-copy"]
    assert not [name for name in everything_in(shop.store) if "old" in name or "forgotten" in name]
    shop.undo("new-set")
    restore(shop.store, "new-copy")


def test_the_bytes_that_are_told_are_those_that_are_gone(shop: Workshop):
    a_set(shop, "one")
    a_snapshot(shop, "two", size=5_000)
    before = _bytes_in(shop.store)
    told = would_forget(shop.store, before=END_OF_TIME)
    assert _bytes_in(shop.store) == before

    done = forget(shop.store, before=END_OF_TIME)

    assert done == told
    assert done.size_bytes == before - _bytes_in(shop.store) > 5_000


def _bytes_in(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_what_is_wanted_stays(shop: Workshop):
    for name in "abc":
        a_set(shop, name)

    done = forget(shop.store, before=END_OF_TIME, is_wanted=lambda held: held.id == "b")

    assert [held.id for held in done.entries] == ["a", "c"]
    assert ids(shop.store) == ["b"]


def test_what_was_forgotten_is_not_there_for_any_reader(shop: Workshop):
    a_set(shop, "set")
    a_snapshot(shop, "copy")
    assert holds(shop.store, "set")
    assert holds(shop.store, "copy")

    forget(shop.store, before=END_OF_TIME)

    assert not holds(shop.store, "set")
    assert not holds(shop.store, "copy")
    assert applied_set(shop.store, "set") is None
    assert not has_snapshot(shop.store, "copy")
    with pytest.raises(EditError, match="there is no set `set`"):
        shop.undo("set")
    with pytest.raises(EditError, match="there is no snapshot `copy`"):
        restore(shop.store, "copy")


@pytest.mark.parametrize("wanted", ["", "..", "../kept/set", "a/b", ".forgotten-0", "x" * 121])
def test_nothing_is_held_under_what_is_no_id(shop: Workshop, wanted: str):
    a_set(shop, "set")

    assert not holds(shop.store, wanted)


def test_an_id_that_was_forgotten_can_be_used_anew(shop: Workshop):
    a_set(shop, "set")
    a_snapshot(shop, "copy")
    forget(shop.store, before=END_OF_TIME)

    a_set(shop, "set")
    a_snapshot(shop, "copy")

    assert ids(shop.store) == ["set", "copy"]


def test_what_puts_another_one_back_does_not_need_it(shop: Workshop):
    a_set(shop, "set", at=MOMENT - 1)
    shop.undo()
    dated(shop.store / "kept" / "set-undo", "journal.json", MOMENT)

    forget(shop.store, before=MOMENT)
    shop.undo("set-undo")

    assert shop.read("set.txt") == b"after\n"


def test_what_is_not_finished_is_never_touched(shop: Workshop):
    folder = a_set(shop, "set")
    pending = shop.store / "pending" / "set"
    folder.rename(pending)
    before = everything_in(pending)

    done = forget(shop.store, before=END_OF_TIME)

    assert done.entries == ()
    assert everything_in(pending) == before
    assert holds(shop.store, "set")
    assert [each.id for each in recover(shop.store)] == ["set"]
    shop.undo()
    assert shop.read("set.txt") == b"before\n"


def test_a_store_that_is_not_there_is_not_made(shop: Workshop):
    assert forget(shop.store, before=END_OF_TIME).entries == ()
    assert would_forget(shop.store, before=END_OF_TIME).size_bytes == 0
    assert list(all_held(shop.store)) == []
    assert not shop.store.exists()


def test_the_store_is_locked_while_it_is_decided_and_free_while_it_is_deleted(shop: Workshop):
    for name in "abc":
        a_set(shop, name)
    progress: list[tuple[int, int]] = []

    def is_wanted(held: Held) -> bool:
        with pytest.raises(BlockingIOError):
            lock_at_once(shop.store)
        return held.id == "c"

    def advance(done: int, of: int) -> None:
        lock_at_once(shop.store)
        assert ids(shop.store) == ["c"]
        progress.append((done, of))

    forget(shop.store, before=END_OF_TIME, is_wanted=is_wanted, advance=advance)

    assert progress == [(1, 2), (2, 2)]


def lock_at_once(store: Path) -> None:
    with (store / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_many_who_forget_at_once_forget_everything_once(shop: Workshop):
    names = [f"{number:02}" for number in range(30)]
    for name in names:
        a_set(shop, name)

    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(forget, shop.store, before=END_OF_TIME) for _ in range(4)]
        told = [held.id for each in asked for held in each.result().entries]

    assert sorted(told) == names
    assert everything_in(shop.store / "kept") == []


def test_what_does_not_belong_to_the_store_is_left_alone(shop: Workshop, tmp_path: Path):
    a_set(shop, "set")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "journal.json").write_text("mine")
    (shop.store / "notes.txt").write_text("mine")
    (shop.store / "more").mkdir()
    for home in ("kept", "snapshots"):
        (shop.store / home).mkdir(exist_ok=True)
        (shop.store / home / "README").write_text("mine")
        (shop.store / home / ".hidden").mkdir()
        (shop.store / home / ".forgotten-mine").mkdir()
        (shop.store / home / ("f" * 200)).mkdir()
        (shop.store / home / "link").symlink_to(outside)
        (shop.store / home / ".forgotten-0123456789abcdef").symlink_to(outside)
    before = [name for name in everything_in(shop.store) if "set" not in name]

    done = forget(shop.store, before=END_OF_TIME)

    assert [held.id for held in done.entries] == ["set"]
    assert (done.damaged, done.remains_bytes) == ((), 0)
    assert everything_in(shop.store) == before
    assert (outside / "journal.json").read_text() == "mine"


def test_a_store_whose_folders_are_files_holds_nothing(shop: Workshop):
    shop.store.mkdir()
    (shop.store / "snapshots").write_text("mine")

    assert forget(shop.store, before=END_OF_TIME).entries == ()
    assert (shop.store / "snapshots").read_text() == "mine"


def _cut_journal(store: Path) -> None:
    file = store / "kept" / "set" / "journal.json"
    file.write_bytes(file.read_bytes()[:-5])


def _no_journal(store: Path) -> None:
    (store / "kept" / "set" / "journal.json").unlink()


def _journal_of_another(store: Path) -> None:
    file = store / "kept" / "set" / "journal.json"
    file.write_text(file.read_text().replace('"id":"set"', '"id":"other"'))


def _no_original(store: Path) -> None:
    (store / "kept" / "set" / "before" / "0").unlink()


def _no_text(store: Path) -> None:
    (store / "kept" / "set" / "journal.json").write_bytes(b'{"id":"\xff"}')


def _folder_for_a_journal(store: Path) -> None:
    _no_journal(store)
    (store / "kept" / "set" / "journal.json").mkdir()


def _cut_manifest(store: Path) -> None:
    file = store / "snapshots" / "copy" / "manifest.json"
    file.write_bytes(file.read_bytes()[:-5])


def _manifest_of_another(store: Path) -> None:
    file = store / "snapshots" / "copy" / "manifest.json"
    file.write_text(file.read_text().replace('"id":"copy"', '"id":"other"'))


def _cut_content(store: Path) -> None:
    (store / "snapshots" / "copy" / "content").write_bytes(b"123")


def _no_content(store: Path) -> None:
    (store / "snapshots" / "copy" / "content").unlink()


def _foreign_instead_of_manifest(store: Path) -> None:
    folder = store / "snapshots" / "copy"
    (folder / "manifest.json").rename(folder / "manifest.bak")


@pytest.mark.parametrize(
    ("harm", "name", "said"),
    [
        (_cut_journal, "kept/set", "is damaged: Input data was truncated"),
        (_no_journal, "kept/set", "it has no `journal.json`"),
        (_journal_of_another, "kept/set", "its journal is that of `other`"),
        (_no_original, "kept/set", "what was kept of `set.txt` is not there"),
        (_no_text, "kept/set", "it cannot be read"),
        (_folder_for_a_journal, "kept/set", "it is a folder"),
        (_cut_manifest, "snapshots/copy", "is damaged: Input data was truncated"),
        (_manifest_of_another, "snapshots/copy", "its manifest is that of `other`"),
        (_cut_content, "snapshots/copy", "it holds 3 bytes of copies, expected 7"),
        (_no_content, "snapshots/copy", "No such file or directory"),
        (_foreign_instead_of_manifest, "snapshots/copy", "it has no `manifest.json`, and holds"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_what_is_damaged_is_told_and_stays(
    shop: Workshop, harm: Callable[[Path], None], name: str, said: str
):
    a_set(shop, "set")
    a_snapshot(shop, "copy")
    a_set(shop, "whole")
    harm(shop.store)
    before = everything_in(shop.store / name)

    done = forget(shop.store, before=END_OF_TIME)

    assert len(done.entries) == 2
    (damaged,) = done.damaged
    assert damaged.path == str(shop.store / name)
    assert said in damaged.complaint
    assert everything_in(shop.store / name) == before


def test_half_a_copy_whose_maker_died_goes_with_the_rest(shop: Workshop):
    folder = a_snapshot(shop, "half")
    (folder / "manifest.json").rename(folder / "manifest.part")
    os.utime(folder, ns=(MOMENT * 1_000, MOMENT * 1_000))

    assert forget(shop.store, before=MOMENT).entries == ()
    done = forget(shop.store, before=MOMENT + 1)

    assert [held.id for held in done.entries] == ["half"]
    assert not folder.exists()


def test_what_cannot_be_deleted_is_told_and_goes_the_next_time(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    for name in "abc":
        a_set(shop, name)
    real = shutil.rmtree

    def failing(path: Path) -> None:
        real(path / "before")
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(shutil, "rmtree", failing)
    with pytest.raises(EditError, match="was forgotten, but not deleted") as told:
        forget(shop.store, before=END_OF_TIME)
    monkeypatch.undo()
    assert str(told.value).count("Permission denied") == 3
    assert ids(shop.store) == []

    done = forget(shop.store, before=0)

    assert done.entries == ()
    assert done.remains_bytes == done.size_bytes > 0
    assert everything_in(shop.store / "kept") == []


def test_what_cannot_lose_its_name_stays_whole(shop: Workshop, monkeypatch: pytest.MonkeyPatch):
    for name in "abc":
        a_set(shop, name)
    real = Path.rename
    calls: list[Path] = []

    def failing(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == 2:
            raise OSError(28, "No space left on device", str(self))
        return real(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(EditError, match=r"not everything was forgotten: .*No space left"):
        forget(shop.store, before=END_OF_TIME)
    monkeypatch.undo()

    assert ids(shop.store) == ["b", "c"]
    shop.undo("b")
    forget(shop.store, before=END_OF_TIME)
    assert everything_in(shop.store / "kept") == []


def test_kill_at_any_call_leaves_everything_whole_or_gone(shop: Workshop):
    a_snapshot(shop, "copy", size=LARGE)
    a_set(shop, "set")
    original = shop.store.with_name("original")
    shop.store.rename(original)
    _link_copied(original, shop.store)
    calls = int(_forgetter(shop.store, dies_at=0).stdout)
    outcomes: set[tuple[bool, bool]] = set()
    for dies_at in range(1, calls + 1):
        shutil.rmtree(shop.store)
        _link_copied(original, shop.store)
        assert _forgetter(shop.store, dies_at=dies_at).returncode == -signal.SIGKILL

        outcomes.add((_is_whole_copy(shop.store), _is_whole_set(shop)))
        forget(shop.store, before=END_OF_TIME)
        assert everything_in(shop.store) == ["kept", "lock", "pending", "snapshots"]
    # Sets go first; in between, one of them is gone and the other is whole.
    assert outcomes == {(True, True), (True, False), (False, False)}


def _link_copied(source: Path, target: Path) -> None:
    """Make a store like another one; the large files need not be written each time."""
    shutil.copytree(source, target, copy_function=os.link)


def _forgetter(store: Path, *, dies_at: int) -> subprocess.CompletedProcess[bytes]:
    return run_python("-m", "edits.mortal_forgetter", str(store), str(dies_at))


def _is_whole_copy(store: Path) -> bool:
    """Whether a snapshot is there; then all of its bytes are."""
    if not holds(store, "copy"):
        assert "copy" not in ids(store)
        return False
    manifest, _ = manifest_of(store, "copy")
    assert sum(item.size for item in manifest.items) == LARGE
    return True


def _is_whole_set(shop: Workshop) -> bool:
    """Whether a set is there; then it can be put back, which is undone again at once."""
    if not holds(shop.store, "set"):
        assert applied_set(shop.store, "set") is None
        return False
    shop.undo()
    assert shop.read("set.txt") == b"before\n"
    shop.undo("set-undo")
    return True


@examples(25, soak=400)
@given(
    ages=st.lists(st.integers(0, 6), max_size=6),
    before=st.integers(0, 7),
    wanted=st.sets(st.integers(0, 5)),
)
def test_exactly_what_is_old_and_not_wanted_goes(
    ages: list[int], before: int, wanted: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        for number, age in enumerate(ages):
            make = a_set if number % 2 else a_snapshot
            make(shop, f"{number}", at=age)

        done = forget(shop.store, before=before, is_wanted=lambda held: int(held.id) in wanted)

        going = {
            str(number) for number, age in enumerate(ages) if age < before and number not in wanted
        }
        assert {held.id for held in done.entries} == going
        assert set(ids(shop.store)) == set(map(str, range(len(ages)))) - going
