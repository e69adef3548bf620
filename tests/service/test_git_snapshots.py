"""A working tree as a commit on a hidden ref, in every state a repository can be in."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from interlock.checkpoints import git_checkpoint
from interlock.checkpoints.git_checkpoint import Snapshot, take, working_on
from interlock.errors import CheckpointError
from patience import LONG_ENOUGH_S, in_time
from service.repositories import (
    ENVIRONMENT,
    a_repository,
    files_on_disk,
    git,
    kept_files,
    text,
    users_state,
)
from warm_python import run_python


def taken(workspace: Path, name: str = "run/1") -> Snapshot:
    return take(workspace, name, "a checkpoint", environment=ENVIRONMENT, timeout_s=LONG_ENOUGH_S)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with a commit, and changes of every kind since."""
    top = a_repository(tmp_path / "work", same="same", changed="before", gone="gone", tool="tool")
    (top / "changed").write_text("after")
    (top / "gone").unlink()
    (top / "tool").chmod(0o755)
    (top / "staged").write_text("staged")
    git(top, "add", "staged")
    (top / "staged").write_text("staged, then changed")
    (top / "folder").mkdir()
    (top / "folder" / "untracked").write_bytes(b"\0\r\n\xff")
    (top / "link").symlink_to("folder/untracked")
    (top / "dangling").symlink_to("/nowhere/at/all")
    (top / ".gitignore").write_text("*.log\n")
    (top / "noise.log").write_text("noise")
    return top


def test_keeps_every_file_that_is_not_ignored(repository: Path) -> None:
    everything = files_on_disk(repository)

    snapshot = taken(repository)

    del everything[b"noise.log"]
    assert kept_files(repository, snapshot.commit) == everything
    assert text(repository, "rev-parse", f"{snapshot.commit}^{{tree}}") == snapshot.tree


def test_touches_nothing_of_the_users(repository: Path) -> None:
    git(repository, "stash", "push", "-q", "--", "changed")
    before, files = users_state(repository), files_on_disk(repository)

    taken(repository)

    assert users_state(repository) == before
    assert files_on_disk(repository) == files


def test_the_commit_hangs_on_a_hidden_ref_below_head(repository: Path) -> None:
    snapshot = taken(repository, "7f3a/c1")

    assert snapshot.ref == "refs/interlock/checkpoints/7f3a/c1"
    assert text(repository, "rev-parse", snapshot.ref) == snapshot.commit
    assert text(repository, "rev-parse", f"{snapshot.commit}^") == text(
        repository, "rev-parse", "HEAD"
    )
    assert snapshot.commit not in text(repository, "log", "--branches", "--tags", "--format=%H")


def test_needs_no_identity_and_signs_nothing(repository: Path) -> None:
    git(repository, "config", "commit.gpgsign", "true")
    git(repository, "config", "user.useConfigOnly", "true")

    snapshot = taken(repository)

    about = text(repository, "cat-file", "commit", snapshot.commit)
    assert "author Interlock <interlock@localhost>" in about
    assert "gpgsig" not in about


def test_the_same_files_are_the_same_tree_under_another_ref(repository: Path) -> None:
    first, second = taken(repository, "run/1"), taken(repository, "run/2")

    assert first.tree == second.tree
    assert first.ref != second.ref
    assert text(repository, "rev-parse", first.ref, second.ref).split() == [
        first.commit,
        second.commit,
    ]


def test_never_writes_over_an_earlier_checkpoint(repository: Path) -> None:
    first = taken(repository)
    (repository / "same").write_text("other")

    with pytest.raises(CheckpointError, match="update-ref"):
        taken(repository)
    assert text(repository, "rev-parse", first.ref) == first.commit


def test_sees_a_change_that_keeps_size_and_time(repository: Path) -> None:
    taken(repository, "run/1")
    file = repository / "changed"
    status = file.stat()
    file.write_text("AFTER")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    snapshot = taken(repository, "run/2")

    assert kept_files(repository, snapshot.commit)[b"changed"][2] == b"AFTER"


def test_what_is_remembered_is_trusted_only_from_its_own_time_on(repository: Path) -> None:
    file, minute = repository / "changed", 60 * 10**9
    then = file.stat().st_mtime_ns - minute
    os.utime(file, ns=(then, then))
    taken(repository, "run/1")
    remembered = repository / ".git" / "interlock" / "index"
    os.utime(remembered, ns=(then - minute, then - minute))
    file.write_text("AFTER")
    os.utime(file, ns=(then, then))

    snapshot = taken(repository, "run/2")

    assert kept_files(repository, snapshot.commit)[b"changed"][2] == b"AFTER"


def test_any_name_makes_a_ref(repository: Path) -> None:
    snapshot = taken(repository, "a run.lock/~^:?*[..@{ü")

    assert text(repository, "rev-parse", snapshot.ref) == snapshot.commit
    assert "@{" not in snapshot.ref


@pytest.mark.parametrize("name", ["", "run/", "/id", "a//b"])
def test_refuses_a_name_with_an_empty_part(repository: Path, name: str) -> None:
    with pytest.raises(CheckpointError, match="cannot name a checkpoint"):
        taken(repository, name)


def test_works_without_any_commit(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work")
    (top / "first").write_text("first")

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit) == {b"first": ("file", 0, b"first")}
    assert text(top, "rev-list", "--count", snapshot.commit) == "1"


def test_works_in_an_empty_repository(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work")

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit) == {}


def test_works_on_a_detached_head(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    before = users_state(repository)

    snapshot = taken(repository)

    assert users_state(repository) == before
    assert b"staged" in kept_files(repository, snapshot.commit)


def test_works_in_a_linked_worktree(repository: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(repository, "worktree", "add", "-q", "-b", "side", str(other))
    (other / "here").write_text("here")
    main, side = users_state(repository), users_state(other)

    snapshot = taken(other)

    assert b"here" in kept_files(other, snapshot.commit)
    assert b"staged" not in kept_files(other, snapshot.commit)
    assert (users_state(repository), users_state(other)) == (main, side)


def test_from_a_subfolder_keeps_the_whole_working_tree(repository: Path) -> None:
    snapshot = taken(repository / "folder")

    assert {b"changed", b"folder/untracked"} <= kept_files(repository, snapshot.commit).keys()


@pytest.mark.parametrize("how", ["merge", "rebase", "cherry-pick"])
def test_works_in_the_middle_of_a_conflict(tmp_path: Path, how: str) -> None:
    top = a_repository(tmp_path / "work", file="base\n")
    git(top, "checkout", "-q", "-b", "side")
    (top / "file").write_text("side\n")
    git(top, "commit", "-qam", "side")
    git(top, "checkout", "-q", "main")
    (top / "file").write_text("main\n")
    git(top, "commit", "-qam", "main")
    git(top, how, "side", check=False)
    assert b"<<<<<<<" in (top / "file").read_bytes()
    before = users_state(top)

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit) == files_on_disk(top)
    assert users_state(top) == before


def test_an_index_lock_is_no_obstacle(repository: Path) -> None:
    (repository / ".git" / "index.lock").write_text("")

    taken(repository)

    assert (repository / ".git" / "index.lock").exists()


@pytest.mark.parametrize("setting", ["index.version=4", "core.splitIndex=true"])
def test_reads_every_shape_of_index(tmp_path: Path, setting: str) -> None:
    top = a_repository(tmp_path / "work", a="a", ignored="i")
    git(top, "-c", setting, "update-index", "--force-write-index")
    (top / "b").write_text("b")
    git(top, "-c", setting, "add", "b")
    (top / ".gitignore").write_text("ignored\n")

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit) == files_on_disk(top)


def test_files_that_are_hidden_from_status_are_kept_as_they_are(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", assumed="1", skipped="1")
    git(top, "update-index", "--assume-unchanged", "assumed")
    git(top, "update-index", "--skip-worktree", "skipped")
    (top / "assumed").write_text("22")
    (top / "skipped").write_text("22")

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit) == files_on_disk(top)


def test_tracked_files_are_kept_although_they_are_ignored(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", file="1")
    (top / ".gitignore").write_text("file\n")
    (top / "file").write_text("22")

    assert b"file" in kept_files(top, taken(top, "run/1").commit)

    git(top, "rm", "-q", "--cached", "file")
    assert b"file" not in kept_files(top, taken(top, "run/2").commit)


def test_the_users_own_ignore_rules_count(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", file="1")
    (top / ".git" / "info" / "exclude").write_text("*.private\n")
    (tmp_path / "rules").write_text("*.global\n")
    git(top, "config", "core.excludesFile", str(tmp_path / "rules"))
    for name in ("a.private", "a.global", "a.kept"):
        (top / name).write_text(name)

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit).keys() == {b"file", b"a.kept"}


def test_keeps_names_that_are_not_text(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", file="1")
    for name in (
        b"\xff\xfe",
        b"new\nline",
        b" blank ",
        b'quo"tation\\',
        b"-rf",
        b"tab\t",
        b"git~1",
    ):
        (top / os.fsdecode(name)).write_bytes(name)

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit) == files_on_disk(top)


def test_line_ends_and_encodings_are_kept_byte_for_byte(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", file="1\n")
    git(top, "config", "core.autocrlf", "true")
    (top / ".gitattributes").write_text(
        "*.txt text eol=crlf\n*.id ident\n*.utf working-tree-encoding=UTF-16 text\n"
    )
    (top / "a.txt").write_bytes(b"mixed\r\nline\nends\r\n")
    (top / "a.id").write_bytes(b"$Id: 123 $")
    (top / "a.utf").write_bytes("\ufeffä".encode("utf-16-le"))
    (top / "file").write_bytes(b"dos\r\n")

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit) == files_on_disk(top)


def test_a_sha256_repository_is_one_as_well(tmp_path: Path) -> None:
    top = tmp_path / "work"
    top.mkdir()
    git(top, "init", "-q", "--object-format=sha256")
    (top / "file").write_text("1")

    snapshot = taken(top)

    assert len(snapshot.commit) == 64
    assert kept_files(top, snapshot.commit) == files_on_disk(top)


def test_a_submodule_is_kept_as_its_commit(tmp_path: Path) -> None:
    inner = a_repository(tmp_path / "inner", code="1")
    top = a_repository(tmp_path / "work", file="1")
    git(top, "submodule", "--quiet", "add", str(inner), "module")
    git(top, "commit", "-qm", "module")
    (top / "module" / "code").write_text("2")
    git(top / "module", "commit", "-qam", "second")
    (top / "module" / "untracked").write_text("left")

    snapshot = taken(top)

    kept = kept_files(top, snapshot.commit)
    assert kept[b"module"] == ("commit", 0, git(top / "module", "rev-parse", "HEAD").strip())
    assert not [path for path in kept if path.startswith(b"module/")]
    assert snapshot.repositories == ("module",)


def test_a_submodule_can_be_the_workspace(tmp_path: Path) -> None:
    inner = a_repository(tmp_path / "inner", code="1")
    top = a_repository(tmp_path / "work", file="1")
    git(top, "submodule", "--quiet", "add", str(inner), "module")
    (top / "module" / "new").write_text("new")

    snapshot = taken(top / "module")

    assert kept_files(top / "module", snapshot.commit).keys() == {b"code", b"new"}
    assert git(top, "for-each-ref", "refs/interlock") == b""


def test_a_submodule_that_is_not_checked_out_stays_what_it_was(tmp_path: Path) -> None:
    inner = a_repository(tmp_path / "inner", code="1")
    top = a_repository(tmp_path / "work", file="1")
    git(top, "submodule", "--quiet", "add", str(inner), "module")
    git(top, "commit", "-qm", "module")
    git(top, "submodule", "--quiet", "deinit", "-f", "module")

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit)[b"module"][0] == "commit"


def test_a_repository_within_is_named_and_its_files_are_not_kept(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", file="1")
    a_repository(top / "nested", code="1")
    a_repository(top / "empty")
    (top / "empty" / "code").write_text("1")

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit).keys() == {b"file", b"nested"}
    assert snapshot.repositories == ("empty", "nested")


def test_files_become_folders_and_folders_files(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", a="1", b="1")
    taken(top, "run/1")
    (top / "a").unlink()
    (top / "a").mkdir()
    (top / "a" / "b").write_text("2")
    taken(top, "run/2")
    shutil.rmtree(top / "a")
    (top / "a").symlink_to("b")

    snapshot = taken(top, "run/3")

    assert kept_files(top, snapshot.commit) == files_on_disk(top)


def test_what_lies_behind_a_link_is_not_kept(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", file="1")
    (top / "folder").mkdir()
    (top / "folder" / "inner").write_text("1")
    git(top, "add", "-A")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "inner").write_text("outside")
    shutil.rmtree(top / "folder")
    (top / "folder").symlink_to(tmp_path / "outside")

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit) == files_on_disk(top)
    assert b"folder/inner" not in kept_files(top, snapshot.commit)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    top = a_repository(tmp_path / "work", file="1", tracked="1")
    os.mkfifo(top / "pipe")
    (top / "tracked").unlink()
    os.mkfifo(top / "tracked")

    snapshot = taken(top)

    assert kept_files(top, snapshot.commit).keys() == {b"file"}


def test_refuses_too_much_that_is_untracked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = a_repository(tmp_path / "work", tracked="t" * 500)
    (top / "large").write_bytes(b"x" * 90)
    (top / "small").write_bytes(b"x" * 10)

    monkeypatch.setattr(git_checkpoint, "MOST_UNTRACKED_BYTES", 100)
    taken(top, "run/1")
    monkeypatch.setattr(git_checkpoint, "MOST_UNTRACKED_BYTES", 99)
    with pytest.raises(
        CheckpointError, match=r"100 bytes .* more than the 99 .*`large` \(90 bytes\)"
    ):
        taken(top, "run/2")


def test_large_files_that_are_kept_elsewhere_count_as_untracked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = a_repository(tmp_path / "work", file="1")
    (top / ".gitattributes").write_text("*.bin filter=lfs\n")
    (top / "a.bin").write_bytes(b"x" * 1000)
    git(top, "add", "-A")

    monkeypatch.setattr(git_checkpoint, "MOST_UNTRACKED_BYTES", 999)
    with pytest.raises(CheckpointError, match="1000 bytes"):
        taken(top, "run/1")
    monkeypatch.setattr(git_checkpoint, "MOST_UNTRACKED_BYTES", 1000)
    assert kept_files(top, taken(top, "run/2").commit) == files_on_disk(top)


def test_survives_that_earlier_checkpoints_were_pruned(repository: Path) -> None:
    first = taken(repository, "run/1")
    git(repository, "update-ref", "-d", first.ref)
    git(repository, "-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now")

    second = taken(repository, "run/2")

    assert second.tree == first.tree
    assert b"folder/untracked" in kept_files(repository, second.commit)


@pytest.mark.parametrize("damage", [b"", b"DIRC nonsense", b"\0" * 4096])
def test_survives_that_what_it_remembers_is_damaged(repository: Path, damage: bytes) -> None:
    first = taken(repository, "run/1")
    (repository / ".git" / "interlock" / "index").write_bytes(damage)

    assert taken(repository, "run/2").tree == first.tree


def test_a_damaged_index_of_the_users_is_told(repository: Path) -> None:
    (repository / ".git" / "index").write_bytes(b"DIRC nonsense")

    with pytest.raises(CheckpointError, match="ls-files"):
        taken(repository)


def test_checkpoints_that_are_taken_at_once_take_turns(repository: Path) -> None:
    names = [f"run/{number}" for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        snapshots = list(pool.map(partial(taken, repository), names))

    assert len({snapshot.tree for snapshot in snapshots}) == 1
    assert len(git(repository, "for-each-ref", "refs/interlock").splitlines()) == 8


def test_waits_for_another_checkpoint_only_so_long(repository: Path) -> None:
    def refused(limit_s: int) -> str | None:
        with pytest.raises(CheckpointError) as caught:
            take(repository, "run/1", "m", environment=ENVIRONMENT, timeout_s=limit_s)
        # It has to find the repository before it can see that somebody is at work there.
        is_too_early = "was stopped" in str(caught.value)
        return None if is_too_early else str(caught.value).replace(f"{limit_s} s", "the limit")

    with working_on(repository, ENVIRONMENT, LONG_ENOUGH_S):
        assert "is being taken or restored for more than the limit: wait for it" in in_time(refused)


def test_a_folder_without_git_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"not in a git repository: run `git init`"):
        taken(tmp_path)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"nowhere`: No such file"):
        taken(tmp_path / "nowhere")


def test_a_bare_repository_has_no_files(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    git(bare, "init", "-q", "--bare")

    with pytest.raises(CheckpointError, match="bare repository"):
        taken(bare)


def test_gits_own_folder_is_no_workspace(repository: Path) -> None:
    with pytest.raises(CheckpointError, match="git's own folder"):
        taken(repository / ".git" / "refs")


def test_a_missing_git_is_told(repository: Path) -> None:
    with pytest.raises(CheckpointError, match="git is not installed"):
        take(repository, "run/1", "m", environment={"PATH": "/nonexistent"})


def test_a_hidden_folder_that_leads_elsewhere_is_refused(repository: Path, tmp_path: Path) -> None:
    (repository / ".git" / "interlock").symlink_to(tmp_path)

    with pytest.raises(CheckpointError, match="is a symbolic link"):
        taken(repository)


def test_a_git_that_hangs_is_stopped_in_time(repository: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "never")
    git(repository, "config", "core.excludesFile", str(tmp_path / "never"))

    with pytest.raises(CheckpointError, match=r"was stopped: the 1 s for a checkpoint are over"):
        take(repository, "run/1", "m", environment=ENVIRONMENT, timeout_s=1)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can reach."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


_NOBODY = 65534
_AS_NOBODY = f"""\
import os, sys
from pathlib import Path
from interlock.checkpoints.git_checkpoint import take
from interlock.errors import CheckpointError
from service.repositories import ENVIRONMENT

if os.geteuid() == 0:
    os.setuid({_NOBODY})
try:
    take(Path(sys.argv[1]), "run/1", "m", environment=ENVIRONMENT)
except CheckpointError as error:
    print(error)
"""


def told_to_nobody(top: Path) -> str:
    """Take a checkpoint as a user who may do nothing in particular; return the complaint.

    Whoever that is could not start an interpreter, so that one becomes that user once it runs.
    """
    done = run_python("-c", _AS_NOBODY, str(top))
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_a_repository_that_cannot_be_written_is_told(open_folder: Path) -> None:
    top = a_repository(open_folder / "work", file="1")
    (top / "file").write_text("2")
    for path in (top, *top.rglob("*")):
        if os.geteuid() == 0:
            os.lchown(path, _NOBODY, _NOBODY)
        path.chmod(path.stat().st_mode & 0o555)

    try:
        assert "cannot write to" in told_to_nobody(top)
    finally:
        for path in (top, *top.rglob("*")):
            path.chmod(path.stat().st_mode | 0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to somebody else")
def test_a_repository_of_somebody_else_is_refused(open_folder: Path) -> None:
    top = a_repository(open_folder / "work", file="1")

    assert "dubious ownership" in told_to_nobody(top)
