"""What is about to be deleted or overwritten is copied first, and comes back byte for byte."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edits.workshop import Workshop
from effort import examples
from interlock.edits import snapshot
from interlock.edits.snapshot import restore, take_snapshot
from interlock.errors import EditError
from interlock.model.facts import UndoSnapshot

LIMIT = 1_000_000


def kept(
    shop: Workshop, *paths: str, snapshot_id: str = "one", limit_bytes: int = LIMIT
) -> UndoSnapshot:
    return take_snapshot(
        shop.store, snapshot_id, paths, workspace=shop.root, limit_bytes=limit_bytes
    )


def furnish(shop: Workshop) -> None:
    shop.write("build/out.bin", bytes(range(256)) * 40, mode=0o755)
    shop.write("build/deep/er/secret.txt", "s", mode=0o400)
    (shop.root / "build" / "empty").mkdir(mode=0o711)
    (shop.root / "build" / "link").symlink_to("deep/er")
    (shop.root / "build" / "dangling").symlink_to("/nowhere/at all")
    (shop.root / "build" / os.fsdecode(b"\xe9-name")).write_bytes(b"\xff\0")
    (shop.root / "build" / "deep").chmod(0o555)
    shop.write("src/old/a.py", "a")
    shop.write("src/new/b.py", "b")


def test_what_was_deleted_comes_back(shop: Workshop):
    furnish(shop)
    before = shop.everything()
    told = kept(shop, "build", "src/old/")

    (shop.root / "build" / "deep").chmod(0o755)  # or only root could delete what is in it
    shutil.rmtree(shop.root / "build")
    shutil.rmtree(shop.root / "src" / "old")
    restore(shop.store, "one")

    assert shop.everything() == before
    assert told.paths == ("build", "src/old")
    assert told.entries == 11
    assert told.size_bytes == 256 * 40 + 1 + 2 + 1


def test_many_files_come_back(shop: Workshop):
    for number in range(100):
        shop.write(f"build/{number}.txt", f"{number}", mode=0o600 + number % 8)
    before = shop.everything()
    kept(shop, "build")

    shutil.rmtree(shop.root / "build")
    restore(shop.store, "one")

    assert shop.everything() == before


def test_times_come_back(shop: Workshop):
    file = shop.write("build/a", "a")
    os.utime(file, ns=(1_000_000_000, 2_000_000_000))
    kept(shop, "build")
    shutil.rmtree(shop.root / "build")

    restore(shop.store, "one")

    assert file.stat().st_mtime_ns == 2_000_000_000


def test_what_was_overwritten_comes_back_and_what_stood_there_is_kept(shop: Workshop):
    shop.write("a.txt", "mine", mode=0o640)
    before = shop.everything()
    kept(shop, "a.txt")
    shop.write("a.txt", "theirs", mode=0o600)
    after = shop.everything()

    replaced = restore(shop.store, "one")
    assert shop.everything() == before

    restore(shop.store, replaced.id)
    assert shop.everything() == after


def test_what_was_not_there_goes_again(shop: Workshop):
    kept(shop, "made.txt", "folder/not/there")
    before = shop.everything()
    shop.write("made.txt", "new")
    shop.write("folder/not/there/x", "new")

    replaced = restore(shop.store, "one")

    assert set(shop.everything()) - set(before) == {"folder", "folder/not"}
    assert replaced.entries == 3


@pytest.mark.parametrize("way", ["file", "folder", "link"])
def test_one_kind_gives_way_to_another(shop: Workshop, way: str):
    def make(kind: str) -> None:
        place = shop.root / "thing"
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)
        if kind == "file":
            place.write_text("text")
        elif kind == "folder":
            place.mkdir()
            (place / "inner").write_text("inner")
        else:
            place.symlink_to("elsewhere")

    for number, other in enumerate(["file", "folder", "link"]):
        make(way)
        before = shop.everything()
        kept(shop, "thing", snapshot_id=f"k{number}")
        make(other)

        restore(shop.store, f"k{number}")

        assert shop.everything() == before


def test_a_link_is_kept_and_not_what_it_leads_to(shop: Workshop, tmp_path: Path):
    (tmp_path / "outside").write_text("x" * 5000)
    (shop.root / "link").symlink_to(tmp_path / "outside")

    told = kept(shop, "link", limit_bytes=0)
    (shop.root / "link").unlink()
    restore(shop.store, "one")

    assert told.size_bytes == 0
    assert (shop.root / "link").readlink() == tmp_path / "outside"


def test_restoring_twice_is_the_same(shop: Workshop):
    furnish(shop)
    before = shop.everything()
    kept(shop, "build")

    restore(shop.store, "one")
    restore(shop.store, "one")

    assert shop.everything() == before
    assert not [name for name in shop.everything() if ".interlock" in name]


def test_folders_above_are_made_again(shop: Workshop):
    shop.write("a/b/c/d.txt", "d")
    kept(shop, "a/b/c/d.txt")
    shutil.rmtree(shop.root / "a")

    restore(shop.store, "one")

    assert shop.read("a/b/c/d.txt") == b"d"


def test_what_was_not_there_may_still_not_be_there(shop: Workshop):
    kept(shop, "folder/not/there")

    assert restore(shop.store, "one").entries == 0
    assert shop.everything() == {}


def test_a_path_inside_of_another_is_kept_once(shop: Workshop):
    shop.write("a/b.txt", "b")

    assert kept(shop, "a/b.txt", "a", "a/").entries == 2


@pytest.mark.parametrize(
    "path", ["../outside", "/etc/hostname", "out/hostname", "sub/../../outside", "/x"]
)
def test_what_is_outside_is_refused(shop: Workshop, path: str):
    (shop.root / "out").symlink_to("/etc")
    (shop.root / "sub").mkdir()

    with pytest.raises(EditError, match="leads out of the workspace"):
        kept(shop, path)


@pytest.mark.parametrize("path", ["", ".", "/", "sub/..", "a\0b", "///"])
def test_what_is_no_name_is_refused(shop: Workshop, path: str):
    (shop.root / "sub").mkdir()

    with pytest.raises(EditError, match="is no file or folder inside of the workspace"):
        kept(shop, path)


def test_no_path_is_refused(shop: Workshop):
    with pytest.raises(EditError, match="there is no path to be kept"):
        kept(shop)


def test_more_than_the_limit_is_refused_and_nothing_is_left(shop: Workshop):
    shop.write("a/one", "x" * 600)
    shop.write("a/two", "x" * 401)

    with pytest.raises(
        EditError, match="`a/two` brings the copies to 1,001 bytes, the limit is 1,000"
    ):
        kept(shop, "a", limit_bytes=1000)

    assert list((shop.store / "snapshots").iterdir()) == []
    assert kept(shop, "a", limit_bytes=1001).size_bytes == 1001


def test_too_many_files_are_refused(shop: Workshop, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(snapshot, "_MOST_ENTRIES", 3)
    for number in range(3):
        shop.write(f"a/{number}", "x")

    with pytest.raises(EditError, match="there are more than 3 files and folders"):
        kept(shop, "a")


def test_what_is_too_deep_is_refused(shop: Workshop):
    shop.write("/".join(["d"] * 210) + "/x", "x")

    with pytest.raises(EditError, match="more than 200 folders deep"):
        kept(shop, "d")


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_cannot_be_copied_is_refused(
    shop: Workshop, kind: str, monkeypatch: pytest.MonkeyPatch
):
    (shop.root / "a").mkdir()
    monkeypatch.chdir(shop.root / "a")
    with socket.socket(socket.AF_UNIX) as listening:
        if kind == "pipe":
            os.mkfifo("pipe")
        else:
            listening.bind("socket")

        with pytest.raises(EditError, match=f"`a/{kind}` is neither a file, a folder nor a link"):
            kept(shop, "a")


def test_the_store_does_not_hold_itself(tmp_path: Path):
    shop = Workshop(tmp_path)
    shop.store = shop.root / "mine" / "store"
    shop.write("mine/a", "a")

    with pytest.raises(EditError, match="`mine` holds the store"):
        kept(shop, "mine")


def test_an_id_is_used_once(shop: Workshop):
    shop.write("a", "a")
    kept(shop, "a")

    with pytest.raises(EditError, match="the snapshot `one` was taken already"):
        kept(shop, "a")


@pytest.mark.parametrize("snapshot_id", ["unknown", "../one", ""])
def test_an_unknown_snapshot_is_refused(shop: Workshop, snapshot_id: str):
    with pytest.raises(EditError, match=r"there is no snapshot `unknown`|is no id"):
        restore(shop.store, snapshot_id)


def test_a_copy_that_is_damaged_is_not_put_back(shop: Workshop):
    file = shop.write("a", "precious")
    kept(shop, "a")
    (shop.store / "snapshots" / "one" / "content").write_text("rubbish!")
    file.unlink()

    with pytest.raises(EditError, match="the copy of `a` in the snapshot `one` is damaged"):
        restore(shop.store, "one")

    assert not file.exists()


def test_a_manifest_that_is_damaged_is_told(shop: Workshop):
    shop.write("a", "precious")
    kept(shop, "a")
    (shop.store / "snapshots" / "one" / "manifest.json").write_text("{}")

    with pytest.raises(EditError, match=r"manifest\.json` is damaged"):
        restore(shop.store, "one")


def test_what_stands_in_the_way_is_never_lost(shop: Workshop):
    shop.write("a", "small")
    kept(shop, "a", limit_bytes=100)
    shop.write("a", "x" * 101)

    with pytest.raises(EditError, match="the limit is 100"):
        restore(shop.store, "one")

    assert len(shop.read("a")) == 101


def test_a_disk_that_fails_keeps_nothing(shop: Workshop, monkeypatch: pytest.MonkeyPatch):
    shop.write("a", "a")

    def failing(file: int) -> None:
        raise OSError(28, "no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", failing)
        with pytest.raises(EditError, match=r"the snapshot `one` was not taken: .*no space left"):
            kept(shop, "a")

    assert list((shop.store / "snapshots").iterdir()) == []


def test_restoring_that_fails_can_be_done_again(shop: Workshop, monkeypatch: pytest.MonkeyPatch):
    furnish(shop)
    before = shop.everything()
    kept(shop, "build", "src/old")
    shop.write("build/out.bin", "changed")
    real, calls = os.rename, 0

    def failing(*given: object, **named: object) -> None:
        nonlocal calls
        calls += "src_dir_fd" in named
        if calls == 2:
            raise OSError(5, "the disk fails")
        real(*given, **named)  # pyright: ignore[reportArgumentType] - handed through as it came

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", failing)
        with pytest.raises(
            EditError, match=r"was not put back as a whole: .*`one-replaced-1` holds"
        ):
            restore(shop.store, "one")
    assert not [name for name in shop.everything() if ".interlock" in name]

    restore(shop.store, "one")
    assert shop.everything() == before


def test_a_file_that_changes_while_it_is_copied_is_refused(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    file = shop.write("a", "a" * 100)
    real = os.read

    def read_and_grow(source: int, most: int) -> bytes:
        piece = real(source, most)
        with file.open("ab") as more:
            more.write(b"b")
        return piece if piece.startswith(b"a") else b""

    with monkeypatch.context() as patch:
        patch.setattr(os, "read", read_and_grow)
        with pytest.raises(EditError, match="`a` changes while it is copied"):
            kept(shop, "a")


def test_what_somebody_else_spoils_while_it_is_put_back_is_told(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
):
    file = shop.write("a/b", "mine")
    kept(shop, "a")
    real = os.rename

    def rename_and_spoil(*given: object, **named: object) -> None:
        real(*given, **named)  # pyright: ignore[reportArgumentType] - handed through as it came
        if given[1] == b"a":
            file.write_text("theirs")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename_and_spoil)
        with pytest.raises(EditError, match="`a/b` is not as the snapshot `one` has it"):
            restore(shop.store, "one")


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, str, bytes, int]]:
    names = st.sampled_from(["a", "b", "ü", "c d"])
    paths = st.lists(names, min_size=1, max_size=4).map("/".join)
    kinds = st.sampled_from(["file", "file", "folder", "link"])
    return draw(
        st.lists(
            st.tuples(paths, kinds, st.binary(max_size=50), st.sampled_from([0o755, 0o700, 0o644])),
            max_size=12,
        )
    )


def planted(shop: Workshop, tree: list[tuple[str, str, bytes, int]]) -> None:
    for path, kind, content, mode in tree:
        place = shop.root / "top" / path
        above = [parent for parent in place.parents if shop.root in parent.parents]
        if place.is_symlink() or place.exists():
            continue
        if any(parent.is_symlink() or parent.is_file() for parent in above):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "file":
            place.write_bytes(content)
            place.chmod(mode)
        elif kind == "folder":
            place.mkdir()
        else:
            place.symlink_to(content.hex() or "nothing")


@given(before=trees(), after=trees())
@examples(15, soak=300)
def test_any_tree_comes_back_over_any_other(
    before: list[tuple[str, str, bytes, int]], after: list[tuple[str, str, bytes, int]]
):
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        planted(shop, before)
        first = shop.everything()
        kept(shop, "top")
        shutil.rmtree(shop.root / "top", ignore_errors=True)
        planted(shop, after)
        second = shop.everything()

        replaced = restore(shop.store, "one")
        assert shop.everything() == first
        restore(shop.store, replaced.id)
        assert shop.everything() == second
