"""A working tree as a commit on a hidden ref: taken without touching anything of the user's.

What is kept is every file that git would not ignore, byte for byte: changed, staged or untracked,
with links as links and with the executable bit. The user's index, HEAD, branches, stash, reflogs
and files are only read. A repository within the working tree, submodule or not, is kept as the
commit that it is at; its files are its own business.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec

from interlock.checkpoints.bounded_command import Deadline
from interlock.checkpoints.git_repository import (
    Git,
    PrivateGit,
    Repository,
    found_repository,
    only_one,
    printable,
    private_git,
)
from interlock.checkpoints.working_tree import WorkingTree, folders_above
from interlock.errors import CheckpointError

REFS: Final = "refs/interlock/checkpoints"
TIMEOUT_S: Final = 300.0
MOST_UNTRACKED_BYTES: Final = 2**30
_ATTEMPTS: Final = 3
"""Somebody may change files while they are read; then it is begun anew."""
GITLINK: Final = "160000"
_NAME_LENGTHS: Final = {"sha1": 40, "sha256": 64}
_IDENTITY: Final = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "Interlock"), ("EMAIL", "interlock@localhost"))
}


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A working tree as it was."""

    commit: str
    ref: str
    tree: str
    top: str
    """The folder that was kept: where the repository's working tree begins."""
    files: int
    repositories: tuple[str, ...] = ()
    """Repositories within the working tree, whose files are not kept."""


class Entry(NamedTuple):
    """One path of a tree."""

    mode: str
    name: str
    """The object that holds its content."""


class Tree(NamedTuple):
    """A tree that was made of the working tree."""

    name: str
    files: int
    repositories: tuple[bytes, ...]


def take(
    workspace: Path,
    name: str,
    message: str,
    *,
    environment: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
    most_untracked_bytes: int = MOST_UNTRACKED_BYTES,
) -> Snapshot:
    """Keep the working tree around a workspace under a name, such as `RUN/CHECKPOINT`.

    The name must be new. Of the environment, only where git is and where its user's settings are
    is passed on. Raises CheckpointError, with nothing on record, where it cannot be done.
    """
    with working_on(workspace, environment, timeout_s) as bench:
        return take_at(bench, name, message, most_untracked_bytes=most_untracked_bytes)


class Bench(NamedTuple):
    """Everything that is needed for working on one repository, which nobody else does meanwhile."""

    repository: Repository
    git: Git
    """Sees the repository as its user does."""
    private: PrivateGit


@contextmanager
def working_on(
    workspace: Path, environment: Mapping[str, str], timeout_s: float
) -> Generator[Bench]:
    """Find the repository and keep others from taking and restoring checkpoints in it."""
    deadline = Deadline(timeout_s)
    try:
        found = workspace.resolve(strict=True)
        repository, git = found_repository(found, environment, deadline)
        with only_one(repository, deadline), private_git(repository, git) as private:
            yield Bench(repository, git, private)
    except OSError as error:
        raise CheckpointError(reason(error)) from error


def reason(error: CheckpointError | OSError) -> str:
    """Return why something did not work, for a person."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    place = f"`{printable(os.fsencode(error.filename))}`: " if error.filename else ""
    return f"{place}{error.strerror}"


def take_at(
    bench: Bench,
    name: str,
    message: str,
    *,
    most_untracked_bytes: int,
    also: Collection[bytes] = (),
) -> Snapshot:
    """Keep the working tree, and the files `also` even where they are ignored."""
    tree = _tree_of_files(bench, most_untracked_bytes, also)
    commit = _commit(bench, tree.name, message)
    ref = f"{REFS}/{_ref_part(name)}"
    # Only ever a new ref: nobody's checkpoint is written over.
    nothing = "0" * len(commit)
    bench.git.output("update-ref", ref, commit, nothing)
    _remember_index(bench)
    return Snapshot(
        commit=commit,
        ref=ref,
        tree=tree.name,
        top=printable(os.fsencode(bench.repository.top)),
        files=tree.files,
        repositories=tuple(map(printable, tree.repositories)),
    )


def entries_of(private: PrivateGit, tree: str) -> dict[bytes, Entry]:
    """Return every path of a tree."""
    found: dict[bytes, Entry] = {}
    for line in _zero_terminated(private.git.output("ls-tree", "-r", "-z", "--full-tree", tree)):
        about, _, path = line.partition(b"\t")
        mode, _, name = about.decode().split(" ")
        found[path] = Entry(mode, name)
    return found


def unignored(git: Git) -> list[bytes]:
    """Return what is on disk, not in git's index and not ignored; folders with a slash behind."""
    return _zero_terminated(git.output("ls-files", "-z", "--others", "--exclude-standard"))


def put_into_index(private: PrivateGit, files: Iterable[bytes], links: Mapping[bytes, str]) -> None:
    """Make the private index hold exactly these files, as they are on disk, and these commits."""
    wanted = set(files)
    stale = [path for path in _index_entries(private.git) if path not in wanted]
    if stale:
        private.git.output(
            "update-index", "-z", "--force-remove", "--stdin", stdin=b"\0".join((*stale, b""))
        )
    if wanted:
        paths = b"\0".join((*sorted(wanted), b""))
        private.git.output("update-index", "-z", "--add", "--remove", "--stdin", stdin=paths)
    if links:
        lines = [f"{GITLINK} {name}\t".encode() + path for path, name in links.items()]
        private.git.output("update-index", "-z", "--index-info", stdin=b"\0".join((*lines, b"")))


def _tree_of_files(bench: Bench, most_untracked_bytes: int, also: Collection[bytes]) -> Tree:
    _recall_index(bench)
    attempts = _ATTEMPTS
    while True:
        contents = _contents(bench, also)
        _check_size(bench.private, contents, most_untracked_bytes)
        try:
            return _stored(bench.private, contents)
        except CheckpointError:
            attempts -= 1
            if not attempts or not bench.git.deadline.left_s():
                raise
            # What was remembered of earlier checkpoints may be the reason.
            (bench.private.folder / "index").unlink(missing_ok=True)


class _Contents(NamedTuple):
    """What of a working tree is to be kept."""

    disk: WorkingTree
    files: frozenset[bytes]
    untracked: tuple[bytes, ...]
    """Those of the files that the user's index does not know."""
    repositories: tuple[bytes, ...]
    tracked: Mapping[bytes, Entry]
    """What the user's index knows, on disk or not."""


def _contents(bench: Bench, also: Collection[bytes]) -> _Contents:
    git = bench.private.of_users_index()
    disk = WorkingTree(bench.repository.top)
    tracked = _index_entries(git)
    others = unignored(git)
    inner = [path for path, entry in tracked.items() if entry.mode == GITLINK]
    folders = [path.removesuffix(b"/") for path in (*others, *inner) if disk.is_folder(path)]
    untracked = [path for path in others if disk.is_file(path)]
    more = [path for path in also if not folders_above([path]).intersection(folders)]
    files = filter(disk.is_file, (*tracked, *untracked, *more))
    return _Contents(disk, frozenset(files), tuple(untracked), tuple(sorted(folders)), tracked)


def _stored(private: PrivateGit, contents: _Contents) -> Tree:
    put_into_index(private, contents.files, _links(private, contents))
    name = private.git.line("write-tree")
    return Tree(name, len(contents.files), contents.repositories)


def _links(private: PrivateGit, contents: _Contents) -> dict[bytes, str]:
    """Return the commits that the repositories within are at, where they are at any."""
    found: dict[bytes, str] = {}
    for folder in contents.repositories:
        head = _head_of(private, folder)
        known = contents.tracked.get(folder)
        if head is not None:
            found[folder] = head
        elif known is not None and known.mode == GITLINK:
            found[folder] = known.name
    return found


def _head_of(private: PrivateGit, folder: bytes) -> str | None:
    """Return the commit of a repository within; a folder without one has none of its own."""
    git_folder = private.repository.top / os.fsdecode(folder) / ".git"
    if not os.path.lexists(git_folder):
        return None
    inner = private.git.with_variables({"GIT_DIR": str(git_folder)})
    try:
        printed = inner.output("rev-parse", "--verify", "-q", "HEAD", accepted=frozenset({0, 1}))
    except CheckpointError:
        return None
    name = printed.decode().strip()
    return name if len(name) == _NAME_LENGTHS[private.repository.object_format] else None


def _check_size(private: PrivateGit, contents: _Contents, most: int) -> None:
    """Refuse to copy too much into the repository: what it does not hold, or not as it is."""
    paths = {*contents.untracked, *_filtered(private, contents.files)}
    sizes = {path: contents.disk.size(path) for path in paths}
    total = sum(sizes.values())
    if total > most:
        largest = max(sizes, key=lambda path: sizes[path])
        raise CheckpointError(
            f"{total} bytes in `{private.repository.top}` are untracked or filtered, more than the"
            f" {most} that a checkpoint takes: ignore what need not be kept, first of all"
            f" `{printable(largest)}` ({sizes[largest]} bytes)"
        )


def _filtered(private: PrivateGit, files: Collection[bytes]) -> list[bytes]:
    """Return the files that git keeps as something else, such as large files kept elsewhere."""
    if not any(path.rpartition(b"/")[2] == b".gitattributes" for path in files):
        return []
    printed = private.of_users_attributes().output(
        "check-attr", "-z", "--stdin", "filter", stdin=b"\0".join((*files, b""))
    )
    parts = _zero_terminated(printed)
    rows = zip(parts[::3], parts[2::3], strict=True)
    return [path for path, value in rows if value not in (b"unspecified", b"unset")]


def _index_entries(git: Git) -> dict[bytes, Entry]:
    """Return what an index holds; of a path in conflict, one of its sides."""
    found: dict[bytes, Entry] = {}
    for line in _zero_terminated(git.output("ls-files", "-z", "--stage")):
        about, _, path = line.partition(b"\t")
        mode, name, _ = about.decode().split(" ")
        found[path] = Entry(mode, name)
    return found


def _commit(bench: Bench, tree: str, message: str) -> str:
    head = bench.repository.head
    parents = () if head is None else ("-p", head)
    git = bench.private.git.with_variables(_IDENTITY)
    text = message.encode("utf-8", "replace").replace(b"\0", b" ")
    return git.line("commit-tree", *parents, tree, stdin=text)


def _ref_part(name: str) -> str:
    """Return a name as a ref may have it: whatever is not a plain character is escaped."""
    parts = [
        quote(part, safe="").replace(".", "%2E").replace("~", "%7E") for part in name.split("/")
    ]
    if not all(parts):
        raise CheckpointError(f"`{name}` cannot name a checkpoint: expected `RUN/CHECKPOINT`")
    return "/".join(parts)


def _recall_index(bench: Bench) -> None:
    """Begin with the index of the last checkpoint: what did not change is not read again."""
    kept = bench.repository.own_folder / "index"
    if not kept.is_symlink():
        with suppress(FileNotFoundError):
            # With its time, by which git knows which of its entries to trust.
            shutil.copy2(kept, bench.private.folder / "index")


def _remember_index(bench: Bench) -> None:
    made = bench.private.folder / "index"
    if not made.exists():
        return
    fresh = bench.repository.own_folder / "index.new"
    fresh.unlink(missing_ok=True)
    shutil.copy2(made, fresh)
    fresh.replace(bench.repository.own_folder / "index")


def _zero_terminated(text: bytes) -> list[bytes]:
    return text.split(b"\0")[:-1]
