"""A working tree brought back to a checkpoint, and back again."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from interlock.checkpoints import git_checkpoint
from interlock.checkpoints.git_checkpoint import (
    Restored,
    Snapshot,
    entries_of,
    restore,
    take,
    take_at,
    working_on,
)
from interlock.errors import CheckpointError, InputError
from patience import LONG_ENOUGH_S
from service.repositories import (
    ENVIRONMENT,
    File,
    a_repository,
    files_on_disk,
    git,
    kept_files,
    known_to_git,
    users_state,
)


def taken(workspace: Path, name: str = "run/1") -> Snapshot:
    return take(workspace, name, "a checkpoint", environment=ENVIRONMENT, timeout_s=LONG_ENOUGH_S)


def restored(workspace: Path, snapshot: Snapshot, safety: str = "run/safety") -> Restored:
    return restore(
        workspace, snapshot.commit, safety=safety, environment=ENVIRONMENT, timeout_s=LONG_ENOUGH_S
    )


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A repository with a commit and an untracked file."""
    top = a_repository(tmp_path / "work", changed="before", gone="gone", tool="tool")
    (top / "untracked").write_text("untracked")
    return top


def test_brings_back_what_changed_or_went_and_removes_what_is_new(top: Path) -> None:
    snapshot, before = taken(top), files_on_disk(top)
    (top / "changed").write_text("after")
    (top / "gone").unlink()
    (top / "untracked").unlink()
    (top / "tool").chmod(0o755)
    (top / "new").mkdir()
    (top / "new" / "file").write_text("new")

    done = restored(top, snapshot)

    assert files_on_disk(top) == before
    assert done.written == ("changed", "gone", "tool", "untracked")
    assert done.removed == ("new/file",)
    assert done.left == ()
    assert not (top / "new").exists()


def test_touches_nothing_of_the_users(top: Path) -> None:
    snapshot = taken(top)
    (top / "changed").write_text("staged")
    (top / "new").write_text("new")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "second")
    (top / "new").write_text("again")
    git(top, "add", "-A")
    git(top, "rm", "-q", "--cached", "gone")
    before = users_state(top)

    restored(top, snapshot)

    assert users_state(top) == before
    assert (top / "changed").read_text() == "before"
    assert not (top / "new").exists()


def test_a_restoring_can_be_undone(top: Path) -> None:
    snapshot = taken(top)
    (top / "changed").write_text("after")
    (top / "gone").unlink()
    (top / "new").write_text("new")
    before = files_on_disk(top)

    done = restored(top, snapshot)
    assert files_on_disk(top) != before
    restored(top, done.safety, "run/again")

    assert files_on_disk(top) == before


def test_a_file_that_did_not_change_is_not_written(top: Path) -> None:
    snapshot = taken(top)
    (top / "changed").write_text("after")
    untouched = (top / "gone").stat()

    restored(top, snapshot)

    assert (top / "gone").stat().st_mtime_ns == untouched.st_mtime_ns
    assert (top / "gone").stat().st_ino == untouched.st_ino


def test_the_permissions_of_a_private_file_stay_private(top: Path) -> None:
    (top / "changed").chmod(0o600)
    snapshot = taken(top)
    (top / "changed").write_text("after")
    (top / "changed").chmod(0o700)

    restored(top, snapshot)

    assert (top / "changed").stat().st_mode & 0o777 == 0o600


def test_a_file_with_two_names_is_not_written_through(top: Path, tmp_path: Path) -> None:
    snapshot = taken(top)
    outside = tmp_path / "outside"
    outside.write_text("outside")
    (top / "changed").unlink()
    os.link(outside, top / "changed")

    restored(top, snapshot)

    assert (top / "changed").read_text() == "before"
    assert outside.read_text() == "outside"


def test_ignored_files_are_left_alone(top: Path) -> None:
    (top / ".gitignore").write_text("*.log\nbuild/\n")
    (top / "old.log").write_text("old")
    snapshot = taken(top)
    (top / "old.log").write_text("changed")
    (top / "new.log").write_text("new")
    (top / "build").mkdir()
    (top / "build" / "out").write_text("out")

    done = restored(top, snapshot)

    assert (top / "old.log").read_text() == "changed"
    assert (top / "new.log").read_text() == "new"
    assert (top / "build" / "out").read_text() == "out"
    assert done.left == ()


def test_what_was_ignored_then_is_left_alone(top: Path) -> None:
    (top / ".gitignore").write_text("*.log\n")
    (top / "old.log").write_text("old")
    snapshot = taken(top)
    (top / ".gitignore").unlink()

    restored(top, snapshot)

    assert (top / "old.log").read_text() == "old"


def test_what_is_ignored_now_is_left_alone_and_told(top: Path) -> None:
    snapshot = taken(top)
    (top / ".gitignore").write_text("modules/\n")
    (top / "modules").mkdir()
    (top / "modules" / "large").write_text("large")

    done = restored(top, snapshot)

    assert (top / "modules" / "large").read_text() == "large"
    assert done.left == ("modules/large",)


def test_what_is_ignored_now_but_was_kept_comes_back_and_can_be_undone(top: Path) -> None:
    snapshot = taken(top)
    (top / ".gitignore").write_text("untracked\n")
    (top / "untracked").write_text("ignored, and changed")

    done = restored(top, snapshot)

    assert (top / "untracked").read_text() == "untracked"
    restored(top, done.safety, "run/again")
    assert (top / "untracked").read_text() == "ignored, and changed"


def test_a_link_in_the_place_of_a_folder_is_never_followed(top: Path, tmp_path: Path) -> None:
    (top / "folder").mkdir()
    (top / "folder" / "inner").write_text("inner")
    snapshot, before = taken(top), files_on_disk(top)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "inner").write_text("precious")
    (outside / "other").write_text("precious")
    shutil.rmtree(top / "folder")
    (top / "folder").symlink_to(outside)

    restored(top, snapshot)

    assert files_on_disk(top) == before
    assert (outside / "inner").read_text() == "precious"
    assert (outside / "other").read_text() == "precious"


def test_a_link_in_the_place_of_a_file_is_never_followed(top: Path, tmp_path: Path) -> None:
    snapshot, before = taken(top), files_on_disk(top)
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (top / "changed").unlink()
    (top / "changed").symlink_to(outside)

    restored(top, snapshot)

    assert files_on_disk(top) == before
    assert outside.read_text() == "precious"


def test_an_ignored_link_in_the_place_of_a_folder_is_saved_first(top: Path, tmp_path: Path) -> None:
    (top / "folder").mkdir()
    (top / "folder" / "inner").write_text("inner")
    snapshot = taken(top)
    shutil.rmtree(top / "folder")
    (top / "folder").symlink_to(tmp_path)
    (top / ".git" / "info" / "exclude").write_text("folder\n")

    done = restored(top, snapshot)

    assert (top / "folder" / "inner").read_text() == "inner"
    assert kept_files(top, done.safety.commit)[b"folder"] == ("link", 0, os.fsencode(tmp_path))


def test_folders_and_files_change_places(top: Path) -> None:
    (top / "folder").mkdir()
    (top / "folder" / "inner").write_text("inner")
    snapshot, before = taken(top), files_on_disk(top)
    shutil.rmtree(top / "folder")
    (top / "folder").write_text("now a file")
    (top / "changed").unlink()
    (top / "changed" / "deep").mkdir(parents=True)
    (top / "changed" / "deep" / "file").write_text("now a folder")
    (top / "changed" / "empty").mkdir()

    restored(top, snapshot)

    assert files_on_disk(top) == before


def test_refuses_to_lose_ignored_files_in_a_folder_that_is_in_the_way(top: Path) -> None:
    (top / "a").write_text("a")
    snapshot = taken(top)
    (top / "a").unlink()
    (top / "changed").unlink()
    (top / "changed").mkdir()
    (top / "changed" / "data.log").write_text("precious")
    (top / ".git" / "info" / "exclude").write_text("*.log\n")

    with pytest.raises(
        CheckpointError, match=r"`changed/data\.log` is in the way and was not saved"
    ):
        restored(top, snapshot)

    assert (top / "changed" / "data.log").read_text() == "precious"
    assert not (top / "a").exists(), "nothing may be written before all of it can be"


def test_refuses_to_write_into_a_repository_of_its_own(top: Path) -> None:
    (top / "folder").mkdir()
    (top / "folder" / "inner").write_text("inner")
    snapshot = taken(top)
    shutil.rmtree(top / "folder")
    a_repository(top / "folder", other="other")

    with pytest.raises(CheckpointError, match="`folder` is a repository of its own now"):
        restored(top, snapshot)

    assert files_on_disk(top / "folder") == {b"other": ("file", 0, b"other")}


def test_a_repository_within_is_left_alone(top: Path) -> None:
    nested = a_repository(top / "nested", code="1")
    snapshot = taken(top)
    (nested / "code").write_text("2")
    git(nested, "commit", "-qam", "second")
    a_repository(top / "later", code="1")

    done = restored(top, snapshot)

    assert (nested / "code").read_text() == "2"
    assert (top / "later" / "code").read_text() == "1"
    assert done.left == ("later/", "nested")


def test_the_folder_that_somebody_works_in_stays(top: Path) -> None:
    snapshot = taken(top)
    (top / "a" / "b").mkdir(parents=True)
    (top / "a" / "b" / "file").write_text("new")

    restored(top / "a" / "b", snapshot)

    assert list((top / "a" / "b").iterdir()) == []


def test_restores_into_an_emptied_working_tree(top: Path) -> None:
    (top / "folder" / "deep").mkdir(parents=True)
    (top / "folder" / "deep" / os.fsdecode(b"\xff")).write_bytes(b"\0")
    snapshot, before = taken(top), files_on_disk(top)
    for path in top.iterdir():
        if path.name != ".git":
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    restored(top, snapshot)

    assert files_on_disk(top) == before


def test_a_commit_that_is_not_there_is_told(top: Path) -> None:
    before = files_on_disk(top)

    with pytest.raises(CheckpointError, match="does not have the commit"):
        restore(top, "0" * 40, safety="run/s", environment=ENVIRONMENT)
    assert files_on_disk(top) == before
    assert git(top, "for-each-ref", "refs/interlock") == b""


@pytest.mark.parametrize("commit", ["", "HEAD", "--help", "0" * 39, "0" * 41])
def test_refuses_what_is_no_commit(top: Path, commit: str) -> None:
    with pytest.raises(InputError, match="is no commit"):
        restore(top, commit, safety="run/s", environment=ENVIRONMENT)


def test_a_lost_object_is_told_before_anything_is_written(top: Path) -> None:
    (top / "unique").write_text("only in the checkpoint")
    snapshot = taken(top)
    name = git(top, "rev-parse", f"{snapshot.commit}:unique").decode().strip()
    (top / ".git" / "objects" / name[:2] / name[2:]).unlink()
    (top / "unique").unlink()
    (top / "changed").write_text("after")

    with pytest.raises(
        CheckpointError, match=rf"has lost object `{name}`.*before are in checkpoint"
    ):
        restored(top, snapshot)
    assert (top / "changed").read_text() == "after"


def test_files_that_are_not_the_checkpoint_in_the_end_are_told(top: Path) -> None:
    snapshot = taken(top)
    (top / "changed").write_text("after")
    (top / "new").write_text("new")
    with working_on(top, ENVIRONMENT, LONG_ENOUGH_S) as bench:
        present = take_at(bench, "run/2", "m")
        change = git_checkpoint._change(
            entries_of(bench, present.tree), entries_of(bench, snapshot.tree)
        )

        with pytest.raises(CheckpointError, match=rf"expected `{snapshot.tree}`; `new` should be"):
            git_checkpoint._verified(bench, change, snapshot.tree)


_PATHS = st.sampled_from(["a", "b", "a/c", "d/a", "d/b/c", "d/b", "x.log", "d/y.log", "e\udcff"])


class Operation(NamedTuple):
    """One thing that somebody does to a repository."""

    verb: str
    path: str
    other: str


_OPERATIONS = st.lists(
    st.builds(
        Operation,
        st.sampled_from(
            "write write write delete chmod link rename stage force commit unstage ignore".split()
        ),
        _PATHS,
        st.sampled_from(["", "one", "two", "a", "../outside", "*.log", "d/", "b"]),
    ),
    max_size=8,
)


def perform(top: Path, operation: Operation) -> None:
    """Do it, if it can be done."""
    path = top / operation.path
    match operation.verb:
        case "write":
            make_way(top, path)
            path.write_text(operation.other)
        case "delete":
            remove(path)
        case "chmod":
            if path.is_file() and not path.is_symlink():
                path.chmod(path.stat().st_mode ^ 0o111)
        case "link":
            make_way(top, path)
            path.symlink_to(operation.other or "nowhere")
        case "rename":
            target = top / "renamed"
            if os.path.lexists(path):
                remove(target)
                path.rename(target)
        case "ignore":
            (top / ".gitignore").write_text(operation.other + "\n")
        case _:
            use_git(top, operation)


def use_git(top: Path, operation: Operation) -> None:
    match operation.verb:
        case "stage":
            git(top, "add", "-A", check=False)
        case "force":
            git(top, "add", "-f", "--", operation.path, check=False)
        case "unstage":
            git(top, "rm", "-rq", "--cached", "--", operation.path, check=False)
        case _:
            git(top, "commit", "-qm", "more", "--allow-empty", check=False)


def make_way(top: Path, path: Path) -> None:
    for above in reversed(path.relative_to(top).parents):
        folder = top / above
        if folder.is_symlink() or not folder.is_dir():
            folder.unlink(missing_ok=True)
            folder.mkdir()
    remove(path)


def remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def known_files(top: Path) -> dict[bytes, File]:
    known = known_to_git(top)
    return {path: file for path, file in files_on_disk(top).items() if path in known}


@examples(8, soak=250)
@given(before=_OPERATIONS, between=_OPERATIONS)
def test_whatever_was_done_a_checkpoint_comes_back(
    before: list[Operation], between: list[Operation]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = a_repository(Path(name) / "work", b="b")
        for operation in before:
            perform(top, operation)
        kept, theirs = known_files(top), users_state(top)

        snapshot = taken(top)

        assert kept_files(top, snapshot.commit) == kept
        assert users_state(top) == theirs

        for operation in between:
            perform(top, operation)
        present, known, theirs = files_on_disk(top), known_files(top), users_state(top)
        done = restored_or_refused(top, snapshot)
        if isinstance(done, str):
            # Something ignored would have been lost: then nothing is touched at all.
            assert "was not saved" in done
            assert files_on_disk(top) == present
            return

        after = files_on_disk(top)
        assert users_state(top) == theirs
        assert {path: after.get(path) for path in kept} == kept
        stayed = {path: file for path, file in after.items() if path not in kept}
        assert stayed.items() <= present.items()
        assert not [path for path in stayed if path in known and not is_ignored(top, path)]

        restored(top, done.safety, "run/undone")
        undone = files_on_disk(top)
        assert {path: undone.get(path) for path in known} == known


def restored_or_refused(top: Path, snapshot: Snapshot) -> Restored | str:
    try:
        return restored(top, snapshot)
    except CheckpointError as error:
        return str(error)


def is_ignored(top: Path, path: bytes) -> bool:
    return bool(git(top, "check-ignore", "--no-index", os.fsdecode(path), check=False))
