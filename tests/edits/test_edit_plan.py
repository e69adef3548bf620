"""A plan says what would become of the files, and refuses what cannot be: nothing is written."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from inline_snapshot import snapshot

from edits.workshop import Workshop, an_edit
from interlock.edits.edit_plan import plan_edits
from interlock.errors import EditError
from interlock.model.edit import EditPlan, EditSet
from interlock.model.facts import Layer


def complaint(shop: Workshop, path: str, old: str = "a") -> str:
    before = shop.everything()
    with pytest.raises(EditError) as caught:
        shop.plan(an_edit(path, old, "b"))
    assert shop.everything() == before
    return str(caught.value).replace(str(shop.root), "ROOT")


@contextmanager
def nobody() -> Generator[None]:
    """Give up the rights of an administrator for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.setegid(65534)
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.fixture
def open_shop() -> Iterator[Workshop]:
    """A workspace that everybody can look into."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Workshop(Path(folder))


def test_a_plan_counts_what_changes_in_each_file(shop: Workshop):
    shop.write("a.py", "one\ntwo\nthree\nfour\n", mode=0o640)
    shop.write("b.py", "x\n")

    plan = shop.plan(
        an_edit("a.py", "two\n", "2\n2.5\n"),
        an_edit("b.py", "x", "y"),
        an_edit("a.py", "four\n", ""),
        an_edit("new/c.py", "", "hello\nworld"),
    ).plan

    assert [(file.path, file.added, file.removed) for file in plan.files] == [
        ("a.py", 2, 2),
        ("b.py", 1, 1),
        ("new/c.py", 2, 0),
    ]
    assert (plan.added, plan.removed, plan.changed_lines) == (5, 3, 8)
    assert [file.changed_lines for file in plan.files] == [4, 2, 2]
    assert [file.mode for file in plan.files] == [0o640, 0o644, None]
    assert plan.layers == {Layer.EXACT, Layer.CREATED}


def test_a_plan_can_be_written_down_and_read_again(shop: Workshop):
    shop.write("a.py", "one\ntwo\n")
    plan = shop.plan(an_edit("a.py", "two", "2")).plan

    assert msgspec.json.decode(msgspec.json.encode(plan), type=EditPlan) == plan


def test_a_diff_shows_what_changes(shop: Workshop):
    shop.write("a.py", "".join(f"line {number}\n" for number in range(1, 31)) + "last")
    planned = shop.plan(
        an_edit("a.py", "line 3\n", ""),
        an_edit("a.py", "line 5\n", "five\n"),
        an_edit("a.py", "last", "end"),
        an_edit("new.py", "", "hello\n"),
    )

    assert planned.unified_diff() == snapshot("""\
--- a/a.py
+++ b/a.py
@@ -1,8 +1,7 @@
 line 1
 line 2
-line 3
 line 4
-line 5
+five
 line 6
 line 7
 line 8
@@ -28,4 +27,4 @@
 line 28
 line 29
 line 30
-last
\\ No newline at end of file
+end
\\ No newline at end of file
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+hello
""")


def test_lines_that_stay_inside_of_an_edit_are_not_counted(shop: Workshop):
    shop.write("a.py", "a\nb\nc\nd\ne\n")

    plan = shop.plan(an_edit("a.py", "a\nb\nc\nd\ne\n", "a\nB\nc\nD\ne\nf\n")).plan

    assert (plan.added, plan.removed) == (3, 2)


def test_lines_that_end_with_a_lone_return_are_counted_and_shown(shop: Workshop):
    shop.write("a.py", "a\rb\rc\r")

    planned = shop.plan(an_edit("a.py", "b", "x\ny"))

    assert (planned.plan.added, planned.plan.removed) == (2, 1)
    assert planned.unified_diff().splitlines()[2:] == [
        "@@ -1,3 +1,4 @@",
        " a",
        "-b",
        "+x",
        "+y",
        " c",
    ]


def test_an_empty_file_can_be_made_and_has_no_diff(shop: Workshop):
    planned = shop.plan(an_edit("empty", "", ""))

    assert planned.contents["empty"] == b""
    assert planned.unified_diff() == ""


def test_an_empty_file_can_be_filled(shop: Workshop):
    shop.write("a.txt", b"\xef\xbb\xbf")

    assert shop.plan(an_edit("a.txt", "", "a\r\nb")).contents["a.txt"] == b"\xef\xbb\xbfa\r\nb"


def test_one_file_under_two_names_is_one_file(shop: Workshop):
    shop.write("sub/a.py", "one\ntwo\n")
    (shop.root / "link.py").symlink_to("sub/a.py")
    (shop.root / "folder").symlink_to("sub")

    planned = shop.plan(
        an_edit("link.py", "one", "1"),
        an_edit("folder/../sub/a.py", "two", "2"),
    )

    assert planned.contents == {"sub/a.py": b"1\n2\n"}


def test_an_absolute_path_may_stay_inside(shop: Workshop):
    shop.write("a.py", "a")

    assert shop.plan(an_edit(str(shop.root / "a.py"), "a", "b")).contents == {"a.py": b"b"}


def test_a_workspace_may_be_reached_through_a_link(shop: Workshop, tmp_path: Path):
    shop.write("a.py", "a")
    (tmp_path / "alias").symlink_to(shop.root)

    planned = plan_edits(EditSet(edits=(an_edit("a.py", "a", "b"),)), workspace=tmp_path / "alias")

    assert planned.plan.workspace == str(shop.root)


@pytest.mark.parametrize(
    "path",
    ["../outside", "sub/../../outside", "/etc/hostname", "out/hostname", "out-file", "dangling"],
)
def test_a_path_that_leaves_the_workspace_is_refused(shop: Workshop, tmp_path: Path, path: str):
    (tmp_path / "outside").write_text("a")
    (shop.root / "sub").mkdir()
    (shop.root / "out").symlink_to("/etc")
    (shop.root / "out-file").symlink_to("../outside")
    (shop.root / "dangling").symlink_to("../not-there-yet")

    assert complaint(shop, path) == (
        f"`{path}`: edit 1: leads out of the workspace `ROOT`: name a file inside of it"
    )
    assert "leads out" in complaint(shop, path, old="")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("missing.py", "does not exist: correct the path, or give an empty `old` to make it"),
        ("folder", "is a folder: name a file"),
        ("folder/", "is no path of a file"),
        ("", "is no path of a file"),
        (".", "is the workspace itself"),
        ("a\0b", "is no path of a file"),
        ("a\udcff", "is no path that can be written down"),
        ("loop", "cannot be reached: links lead in a circle"),
        ("loop/x", "cannot be reached: links lead in a circle"),
        ("file/below", "cannot be reached: a folder on the way is a file"),
        ("n" * 300, "cannot be reached: file name too long"),
        ("pipe", "is neither a file nor a folder"),
        ("socket", "cannot be read: "),
        ("strange", "leads to a file whose name is not UTF-8"),
    ],
)
def test_what_is_no_file_is_refused(shop: Workshop, path: str, told: str):
    (shop.root / "folder").mkdir()
    shop.write("file", "a")
    (shop.root / "loop").symlink_to("loop")
    os.mkfifo(shop.root / "pipe")
    (shop.root / "strange").symlink_to(os.fsdecode(b"\xe9-name"))
    listening = socket.socket(socket.AF_UNIX)
    with listening:
        old = Path.cwd()
        os.chdir(shop.root)
        listening.bind("socket")
        os.chdir(old)
        told_all = complaint_only(shop, path)

    assert told_all.startswith(f"`{path}`: edit 1: {told}")


def complaint_only(shop: Workshop, path: str) -> str:
    with pytest.raises(EditError) as caught:
        shop.plan(an_edit(path, "a", "b"))
    return str(caught.value)


def test_a_file_with_text_is_not_made_anew(shop: Workshop):
    shop.write("a.py", "text")

    assert "`old` is empty, but the file has text already" in complaint(shop, "a.py", old="")


def test_a_file_is_made_once(shop: Workshop):
    with pytest.raises(EditError, match="edit 1 and edit 2 both make the file"):
        shop.plan(an_edit("a.py", "", "a"), an_edit("./a.py", "", "b"))


def test_a_file_in_the_place_of_a_folder_is_refused(shop: Workshop):
    shop.write("a", "text")

    assert "a folder on the way is a file" in complaint(shop, "a/b/c", old="")


def test_no_edits_are_refused(shop: Workshop):
    with pytest.raises(EditError, match="there is no edit in the set"):
        shop.plan()


def test_a_file_that_is_too_large_is_refused(shop: Workshop):
    with (shop.root / "huge").open("wb") as huge:
        huge.truncate(300 * 1024 * 1024)

    assert "has 314,572,800 bytes, at most 67,108,864" in complaint_only(shop, "huge")


def test_a_read_only_file_is_refused(open_shop: Workshop):
    open_shop.write("a.py", "a", mode=0o444)

    with nobody():
        assert "is read-only" in complaint(open_shop, "a.py")


def test_a_read_only_folder_is_refused(open_shop: Workshop):
    file = open_shop.write("sub/a.py", "a", mode=0o666)
    file.parent.chmod(0o555)

    with nobody():
        assert "sub` is read-only: change its permissions" in complaint(open_shop, "sub/a.py")
        assert "sub` is read-only" in complaint(open_shop, "sub/deep/new.py", old="")
    file.parent.chmod(0o755)


def test_a_file_that_may_not_be_read_is_refused(open_shop: Workshop):
    open_shop.write("a.py", "a", mode=0o200)

    with nobody(), pytest.raises(EditError, match="cannot be read: permission denied"):
        open_shop.plan(an_edit("a.py", "a", "b"))


@pytest.mark.parametrize("name", ["missing", "file", "loop"])
def test_a_workspace_that_is_no_folder_is_refused(tmp_path: Path, name: str):
    (tmp_path / "file").write_text("a")
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(EditError, match=r"^the workspace `"):
        plan_edits(EditSet(edits=(an_edit("a", "a", "b"),)), workspace=tmp_path / name)


def test_a_workspace_whose_name_is_no_text_is_refused(tmp_path: Path):
    workspace = tmp_path / os.fsdecode(b"\xe9-name")
    workspace.mkdir()

    with pytest.raises(EditError, match="name of the workspace is not UTF-8"):
        plan_edits(EditSet(edits=(an_edit("a", "", "b"),)), workspace=workspace)


def test_planning_leaves_no_trace(shop: Workshop):
    shop.write("a.py", "a")
    before = shop.everything()

    shop.plan(an_edit("a.py", "a", "b"), an_edit("new/folder/b.py", "", "b"))

    assert shop.everything() == before
    assert not shop.store.exists()
    assert stat.S_ISREG((shop.root / "a.py").stat().st_mode)
