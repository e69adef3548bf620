"""What cannot be edited is told clearly, through every door, and nothing is changed or recorded."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.asking import interlock
from gates.policies import gates_with
from governed_edits.workbench import NOTES, Workbench, an_edit
from interlock import FileEdit, Interlock
from interlock.errors import EditError


def _binary(bench: Workbench) -> FileEdit:
    bench.write("image.png", b"\x89PNG\0\xff\xfe")
    return an_edit("image.png", "PNG", "JPG")


def _missing(bench: Workbench) -> FileEdit:
    assert not (bench.root / "missing.txt").exists()
    return an_edit("missing.txt", "a", "b")


def _folder(bench: Workbench) -> FileEdit:
    (bench.root / "folder").mkdir()
    return an_edit("folder", "a", "b")


def _loop(bench: Workbench) -> FileEdit:
    (bench.root / "one").symlink_to("other")
    (bench.root / "other").symlink_to("one")
    return an_edit("one", "a", "b")


def _outside(bench: Workbench) -> FileEdit:
    (bench.root.parent / "outside.txt").write_text(NOTES)
    return an_edit("../outside.txt", "two", "2")


def _outside_by_link(bench: Workbench) -> FileEdit:
    (bench.root.parent / "outside.txt").write_text(NOTES)
    (bench.root / "link.txt").symlink_to(bench.root.parent / "outside.txt")
    return an_edit("link.txt", "two", "2")


def _ambiguous(bench: Workbench) -> FileEdit:
    bench.write("twice.txt", "a\na\n")
    return an_edit("twice.txt", "a", "b")


def _overlapping(bench: Workbench) -> FileEdit:
    assert (bench.root / "good.txt").exists()
    return an_edit("good.txt", "one\ntwo", "x")


_CASES = [
    pytest.param(_binary, "`image.png`: edit 2: is no text", id="binary"),
    pytest.param(_missing, "`missing.txt`: edit 2: does not exist", id="missing"),
    pytest.param(_folder, "`folder`: edit 2: is a folder: name a file", id="folder"),
    pytest.param(_loop, "links lead in a circle", id="symlink-loop"),
    pytest.param(_outside, "leads out of the workspace", id="outside"),
    pytest.param(_outside_by_link, "leads out of the workspace", id="outside-by-a-link"),
    pytest.param(_ambiguous, "found 2 times, at 1:1 and 2:1", id="ambiguous"),
    pytest.param(_overlapping, "overlap: make one edit of them", id="overlapping"),
]


def _everything(bench: Workbench) -> list[tuple[str, bytes]]:
    folder = bench.root.parent
    return [
        (str(path.relative_to(folder)), path.read_bytes())
        for top in (bench.root, *folder.glob("outside.txt"))
        for path in ([top] if top.is_file() else sorted(top.rglob("*")))
        if path.is_file() and not path.is_symlink()
    ]


@pytest.mark.parametrize(("bad", "said"), _CASES)
def test_python_is_told(bench: Workbench, bad: Callable[[Workbench], FileEdit], said: str) -> None:
    bench.write("good.txt", NOTES)
    wrong = bad(bench)
    before = _everything(bench)

    for key in (None, "again"):
        with pytest.raises(EditError) as told:
            bench.apply(an_edit("good.txt", "two", "2"), wrong, key=key)
        assert said in str(told.value)

    assert _everything(bench) == before
    # What cannot be planned is no action.
    assert len(bench.events()) == 1


@pytest.mark.parametrize("options", [["--dry-run"], []], ids=["dry-run", "for-real"])
@pytest.mark.parametrize(("bad", "said"), _CASES)
def test_the_command_line_is_told(
    small_bench: Workbench,
    monkeypatch: pytest.MonkeyPatch,
    bad: Callable[[Workbench], FileEdit],
    said: str,
    options: list[str],
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(small_bench.root.parent / "state"))
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(small_bench.root.parent / "config"))
    monkeypatch.setenv("INTERLOCK_LEDGER", small_bench.place)
    small_bench.write("good.txt", NOTES)
    wrong = bad(small_bench)
    before = _everything(small_bench)
    edits = [
        {"path": edit.path, "old": edit.old, "new": edit.new}
        for edit in (an_edit("good.txt", "two", "2"), wrong)
    ]

    result = interlock(
        "edit", "--workspace", str(small_bench.root), *options, stdin=json.dumps(edits)
    )

    assert result.exit_code == 1
    assert said in result.stderr
    assert result.stdout == ""
    assert _everything(small_bench) == before
    assert not (small_bench.root.parent / "ledger.db").exists()


@contextmanager
def nobody() -> Generator[None]:
    """Give up the rights of an administrator for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A workspace that everybody can look into, and hardly anybody write to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_folder_or_a_file_that_is_read_only_is_told(open_folder: Path) -> None:
    locked = open_folder / "locked"
    locked.mkdir()
    for file, mode in (("a.txt", 0o666), ("b.txt", 0o444)):
        (locked / file).write_text(NOTES)
        (locked / file).chmod(mode)
    locked.chmod(0o555)
    edits = [
        an_edit("locked/a.txt", "two", "2"),
        an_edit("locked/b.txt", "two", "2"),
        an_edit("locked/new.txt", "", "2"),
    ]
    stdin = json.dumps([{"path": each.path, "old": each.old, "new": each.new} for each in edits])

    store = open_folder / "store"
    with Interlock.open(":memory:", policy=gates_with(""), undo_store=store) as opened:
        run = opened.run("edit", workspace=open_folder)
        with nobody(), pytest.raises(EditError) as told:
            run.apply_edits(edits)
        with nobody():
            result = interlock("edit", "--dry-run", "--workspace", str(open_folder), stdin=stdin)
        assert run.state.seq == 1

    for said in (str(told.value), result.stderr):
        assert "`locked/a.txt`: edit 1: cannot be written: the folder" in said
        assert "`locked/b.txt`: edit 2: is read-only" in said
        assert "`locked/new.txt`: edit 3: cannot be written: the folder" in said
    assert result.exit_code == 1
    assert sorted(path.name for path in locked.iterdir()) == ["a.txt", "b.txt"]
    assert {path.read_text() for path in locked.iterdir()} == {NOTES}
