"""Real git repositories for tests, and what of them is their user's."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path
from typing import NamedTuple

from patience import LONG_ENOUGH_S

ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b.invalid",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b.invalid",
}

File = tuple[str, int, bytes]
"""What it is, whether it can be run, and what is in it."""


def git(folder: Path, *arguments: str, check: bool = True) -> bytes:
    """Run git as its user would."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        timeout=LONG_ENOUGH_S,
    )
    assert done.returncode == 0 or not check, (arguments, done.stderr)
    return done.stdout


def text(folder: Path, *arguments: str) -> str:
    """Run git and return the text that it prints."""
    return git(folder, *arguments).decode().strip()


def a_repository(folder: Path, **files: str) -> Path:
    """Make a repository with one commit; no files, no commit."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, content in files.items():
        (folder / name).write_text(content)
    if files:
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "first")
    return folder


def files_on_disk(top: Path) -> dict[bytes, File]:
    """Return everything below a folder but git's own."""
    found: dict[bytes, File] = {}
    for folder, folders, names in os.walk(top):
        if ".git" in folders:
            folders.remove(".git")
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in (*names, *links):
            path = Path(folder) / name
            found[os.fsencode(path.relative_to(top))] = file_at(path)
    return found


def file_at(path: Path) -> File:
    """Return what stands at a path."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        target = os.readlink(path)  # noqa: PTH115 - a path would lose the slash at its end
        return "link", 0, os.fsencode(target)
    if not stat.S_ISREG(mode):
        return "other", 0, b""
    return "file", mode & 0o100, path.read_bytes()


def known_to_git(top: Path) -> set[bytes]:
    """Return what is on disk and tracked or not ignored, as the user's git sees it."""
    listed = git(top, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = {name for name in listed.split(b"\0") if name}
    return names & files_on_disk(top).keys()


class UsersState(NamedTuple):
    """Everything in a repository that belongs to its user."""

    head: bytes
    refs: bytes
    index_file: bytes
    reflogs: dict[bytes, File]
    status: bytes


def users_state(top: Path) -> UsersState:
    """Return what no checkpoint may touch."""
    folder = Path(text(top, "rev-parse", "--absolute-git-dir"))
    refs = git(top, "for-each-ref", "--format=%(refname) %(objectname)")
    theirs = [line for line in refs.splitlines() if not line.startswith(b"refs/interlock/")]
    index = folder / "index"
    return UsersState(
        head=(folder / "HEAD").read_bytes(),
        refs=b"\n".join(theirs),
        index_file=index.read_bytes() if index.exists() else b"",
        reflogs=files_on_disk(folder / "logs"),
        status=git(top, "diff", "--cached", "--raw", "-z", check=False),
    )


def kept_files(top: Path, commit: str) -> dict[bytes, File]:
    """Return what a commit holds, as the files that it stands for."""
    found: dict[bytes, File] = {}
    for line in git(top, "ls-tree", "-r", "-z", commit).split(b"\0")[:-1]:
        about, _, path = line.partition(b"\t")
        mode, kind, name = about.decode().split()
        if kind == "commit":
            found[path] = ("commit", 0, name.encode())
            continue
        content = git(top, "cat-file", "blob", name)
        if mode == "120000":
            found[path] = ("link", 0, content)
        else:
            found[path] = ("file", 0o100 if mode == "100755" else 0, content)
    return found
