"""A repository that an agent has written can name commands; a checkpoint runs none of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.checkpoints.git_checkpoint import restore, take
from interlock.errors import CheckpointError
from service.repositories import ENVIRONMENT, a_repository, files_on_disk, git, kept_files, text


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A file that is there as soon as a trap was stepped into."""
    return tmp_path / "trace"


@pytest.fixture
def trap(tmp_path: Path, trace: Path) -> str:
    """A program that leaves a trace."""
    program = tmp_path / "trap"
    program.write_text(f"#!/bin/sh\necho x >> '{trace}'\ncat\n")
    program.chmod(0o755)
    return str(program)


def set_traps(top: Path, trap: str) -> None:
    """Let everything in a repository's configuration that can name a command name this one."""
    for name in (
        "core.fsmonitor",
        "core.editor",
        "core.pager",
        "core.sshCommand",
        "core.askPass",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "credential.helper",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "merge.evil.driver",
        "gpg.program",
        "interactive.diffFilter",
        "remote.origin.uploadpack",
    ):
        git(top, "config", name, trap)
    git(top, "config", "filter.evil.required", "true")
    git(top, "config", "commit.gpgsign", "true")
    git(top, "config", "core.untrackedCache", "true")
    git(top, "config", "protocol.ext.allow", "always")
    git(top, "config", "core.repositoryFormatVersion", "1")
    git(top, "config", "extensions.partialClone", "origin")
    git(top, "config", "remote.origin.promisor", "true")
    git(top, "config", "remote.origin.url", f"ext::{trap}")
    hooks = top / ".git" / "traps"
    hooks.mkdir()
    names = "post-index-change pre-commit reference-transaction post-checkout fsmonitor-watchman"
    for name in names.split():
        (hooks / name).symlink_to(trap)
        (top / ".git" / "hooks").mkdir(exist_ok=True)
        (top / ".git" / "hooks" / name).symlink_to(trap)
    git(top, "config", "core.hooksPath", str(hooks))
    (top / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil merge=evil\n")


def test_nothing_that_a_repository_names_is_run(tmp_path: Path, trace: Path, trap: str) -> None:
    top = a_repository(tmp_path / "work", file="1", other="1")
    a_repository(top / "nested", code="1")
    (top / ".gitattributes").write_text("* filter=evil diff=evil\n")
    set_traps(top, trap)
    set_traps(top / "nested", trap)
    (top / "file").write_text("2")

    snapshot = take(top, "run/1", "m", environment=ENVIRONMENT)
    (top / "file").write_text("3")
    (top / "other").unlink()
    restored = restore(top, snapshot.commit, safety="run/2", environment=ENVIRONMENT)

    assert not trace.exists()
    assert (top / "file").read_text() == "2"
    assert restored.written == ("file", "other")

    # The traps are set: whoever uses git as it is steps into them.
    git(top, "add", "file", check=False)
    assert trace.exists()


def test_a_git_in_the_working_tree_is_not_run(tmp_path: Path, trace: Path, trap: str) -> None:
    top = a_repository(tmp_path / "work", file="1")
    (top / "bin").mkdir()
    (top / "bin" / "git").symlink_to(trap)
    (tmp_path / "shortcut").symlink_to(top / "bin")
    path = os.pathsep.join((str(top / "bin"), "bin", str(tmp_path / "shortcut")))
    environment = {**ENVIRONMENT, "PATH": f"{path}{os.pathsep}{ENVIRONMENT['PATH']}"}

    take(top, "run/1", "m", environment=environment)

    assert not trace.exists()


def test_variables_of_git_do_not_leak_in(tmp_path: Path, trace: Path, trap: str) -> None:
    top = a_repository(tmp_path / "work", file="1")
    other = a_repository(tmp_path / "other", wrong="1")
    leaking = {
        "GIT_DIR": str(other / ".git"),
        "GIT_WORK_TREE": str(other),
        "GIT_INDEX_FILE": str(other / ".git" / "index"),
        "GIT_OBJECT_DIRECTORY": str(other / ".git" / "objects"),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": trap,
        "GIT_EXEC_PATH": "/nonexistent",
        "GIT_TRACE": str(tmp_path / "traced"),
    }

    snapshot = take(top, "run/1", "m", environment={**ENVIRONMENT, **leaking})

    assert kept_files(top, snapshot.commit) == files_on_disk(top)
    assert text(top, "rev-parse", snapshot.ref) == snapshot.commit
    assert git(other, "for-each-ref", "refs/interlock") == b""
    assert not trace.exists()
    assert not (tmp_path / "traced").exists()


@pytest.mark.parametrize("place", ["..", "/", "folder"])
def test_a_repository_cannot_say_that_its_files_are_elsewhere(tmp_path: Path, place: str) -> None:
    top = a_repository(tmp_path / "outer" / "work", file="1")
    (top / "folder").mkdir()
    (tmp_path / "outer" / "precious").write_text("precious")
    where = place if place == "/" else str((top / place).resolve())
    git(top, "config", "core.worktree", where)

    with pytest.raises(CheckpointError, match=r"core\.worktree"):
        take(top, "run/1", "m", environment=ENVIRONMENT)
    assert (tmp_path / "outer" / "precious").exists()
