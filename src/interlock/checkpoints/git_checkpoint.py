"""A working tree as a commit on a hidden ref, and brought back to it.

What is kept is every file that git would not ignore, byte for byte: changed, staged or untracked,
with links as links and with the executable bit. The user's index, HEAD, branches, stash, reflogs
and files are only read. A repository within the working tree, submodule or not, is kept as the
commit that it is at; its files are its own business.

Restoring saves the present one first. Files that changed or went since come back, files that are
new since go. Nothing is replaced or removed that the safety checkpoint does not hold, so that
every restoring can be undone. Ignored files stay, and so do repositories within.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, NamedTuple
from urllib.parse import quote

import msgspec

from interlock.checkpoints.bounded_command import Deadline
from interlock.checkpoints.git_repository import (
    Bench,
    Git,
    found_repository,
    only_one,
    printable,
    private_bench,
)
from interlock.checkpoints.working_tree import SafeWriter, WorkingTree, folders_above, safe_writer
from interlock.errors import CheckpointError, InputError

REFS: Final = "refs/interlock/checkpoints"
TIMEOUT_S: Final = 300.0
MOST_UNTRACKED_BYTES: Final = 2**30
_ATTEMPTS: Final = 3
"""Somebody may change files while they are read; then it is begun anew."""
GITLINK: Final = "160000"
_LINK: Final = "120000"
_EXECUTABLE: Final = "100755"
_IGNORE_FILE: Final = b".gitignore"
_MOST_NAMED: Final = 5
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
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
    repositories: tuple[str, ...] = ()
    """Repositories within the working tree, whose files are not kept."""


class Entry(NamedTuple):
    """One path of a tree."""

    mode: str
    name: str
    """The object that holds its content."""


def take(
    workspace: Path,
    name: str,
    message: str,
    *,
    environment: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
) -> Snapshot:
    """Keep the working tree around a workspace under a name, such as `RUN/CHECKPOINT`.

    The name must be new. Of the environment, only where git is and where its user's settings are
    is passed on. Raises CheckpointError, with nothing on record, where it cannot be done.
    """
    with working_on(workspace, environment, timeout_s) as bench:
        return take_at(bench, name, message)


@contextmanager
def working_on(
    workspace: Path, environment: Mapping[str, str], timeout_s: float
) -> Generator[Bench]:
    """Find the repository and keep others from taking and restoring checkpoints in it."""
    deadline = Deadline(timeout_s)
    try:
        found = workspace.resolve(strict=True)
        repository, git = found_repository(found, environment, deadline)
        with only_one(repository, deadline), private_bench(repository, git) as bench:
            yield bench
    except OSError as error:
        raise CheckpointError(reason(error)) from error


def reason(error: CheckpointError | OSError) -> str:
    """Return why something did not work, for a person."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    place = f"`{printable(os.fsencode(error.filename))}`: " if error.filename else ""
    return f"{place}{error.strerror}"


def take_at(bench: Bench, name: str, message: str, *, also: Collection[bytes] = ()) -> Snapshot:
    """Keep the working tree, and the files `also` even where they are ignored."""
    tree, repositories = _tree_of_files(bench, also)
    commit = _commit(bench, tree, message)
    ref = f"{REFS}/{_ref_part(name)}"
    # Only ever a new ref: nobody's checkpoint is written over.
    nothing = "0" * len(commit)
    bench.users_git.output("update-ref", ref, commit, nothing)
    _remember_index(bench)
    within = tuple(map(printable, repositories))
    return Snapshot(commit=commit, ref=ref, tree=tree, repositories=within)


def entries_of(bench: Bench, tree: str) -> dict[bytes, Entry]:
    """Return every path of a tree."""
    return _entries(bench.git.output("ls-tree", "-r", "-z", "--full-tree", tree), slice(0, 3, 2))


def unignored(git: Git) -> list[bytes]:
    """Return what is on disk, not in git's index and not ignored; folders with a slash behind."""
    return _zero_terminated(git.output("ls-files", "-z", "--others", "--exclude-standard"))


def put_into_index(bench: Bench, files: Iterable[bytes], links: Mapping[bytes, str]) -> None:
    """Make the private index hold exactly these files, as they are on disk, and these commits."""
    wanted = set(files)
    stale = [path for path in _index_entries(bench.git) if path not in wanted]
    commits = [f"{GITLINK} {name}\t".encode() + path for path, name in links.items()]
    for options, lines in (
        (("--force-remove", "--stdin"), stale),
        (("--add", "--remove", "--stdin"), sorted(wanted)),
        (("--index-info",), commits),
    ):
        if lines:
            bench.git.output("update-index", "-z", *options, stdin=_zero_terminating(lines))


def _tree_of_files(bench: Bench, also: Collection[bytes]) -> tuple[str, tuple[bytes, ...]]:
    """Return the tree of the files, and the repositories within."""
    _recall_index(bench)
    attempts = _ATTEMPTS
    while True:
        contents = _contents(bench, also)
        _check_size(bench, contents)
        try:
            put_into_index(bench, contents.files, _links(bench, contents))
            return bench.git.line("write-tree"), contents.repositories
        except CheckpointError:
            attempts -= 1
            if not attempts or not bench.git.deadline.left_s():
                raise
            # What was remembered of earlier checkpoints may be the reason.
            (bench.folder / "index").unlink(missing_ok=True)


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
    git = bench.of_users_index()
    disk = WorkingTree(bench.repository.top)
    tracked = _index_entries(git)
    others = unignored(git)
    inner = [path for path, entry in tracked.items() if entry.mode == GITLINK]
    folders = [path.removesuffix(b"/") for path in (*others, *inner) if disk.is_folder(path)]
    untracked = [path for path in others if disk.is_file(path)]
    more = [path for path in also if not folders_above([path]).intersection(folders)]
    files = filter(disk.is_file, (*tracked, *untracked, *more))
    return _Contents(disk, frozenset(files), tuple(untracked), tuple(sorted(folders)), tracked)


def _links(bench: Bench, contents: _Contents) -> dict[bytes, str]:
    """Return the commits that the repositories within are at, where they are at any."""
    found: dict[bytes, str] = {}
    for folder in contents.repositories:
        head = _head_of(bench, folder)
        known = contents.tracked.get(folder)
        if head is not None:
            found[folder] = head
        elif known is not None and known.mode == GITLINK:
            found[folder] = known.name
    return found


def _head_of(bench: Bench, folder: bytes) -> str | None:
    """Return the commit of a repository within; a folder without one has none of its own."""
    git_folder = bench.repository.top / os.fsdecode(folder) / ".git"
    if not os.path.lexists(git_folder):
        return None
    inner = bench.git.with_variables({"GIT_DIR": str(git_folder)})
    try:
        printed = inner.output("rev-parse", "--verify", "-q", "HEAD", accepted=(0, 1))
    except CheckpointError:
        return None
    name = printed.decode().strip()
    return name if len(name) == _NAME_LENGTHS[bench.repository.object_format] else None


def _check_size(bench: Bench, contents: _Contents) -> None:
    """Refuse to copy too much into the repository: what it does not hold, or not as it is."""
    paths = {*contents.untracked, *_filtered(bench, contents.files)}
    sizes = {path: contents.disk.size(path) for path in paths}
    total = sum(sizes.values())
    if total > MOST_UNTRACKED_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        raise CheckpointError(
            f"{total} bytes in `{bench.repository.top}` are untracked or filtered, more than the"
            f" {MOST_UNTRACKED_BYTES} that a checkpoint takes: ignore what need not be kept, first"
            f" of all `{printable(largest)}` ({sizes[largest]} bytes)"
        )


def _filtered(bench: Bench, files: Collection[bytes]) -> list[bytes]:
    """Return the files that git keeps as something else, such as large files kept elsewhere."""
    if not any(path.rpartition(b"/")[2] == b".gitattributes" for path in files):
        return []
    printed = bench.of_users_attributes().output(
        "check-attr", "-z", "--stdin", "filter", stdin=_zero_terminating(files)
    )
    parts = _zero_terminated(printed)
    rows = zip(parts[::3], parts[2::3], strict=True)
    return [path for path, value in rows if value not in (b"unspecified", b"unset")]


def _index_entries(git: Git) -> dict[bytes, Entry]:
    """Return what an index holds; of a path in conflict, one of its sides."""
    return _entries(git.output("ls-files", "-z", "-s"), slice(2))


def _entries(printed: bytes, columns: slice) -> dict[bytes, Entry]:
    """Return what git lists: which of its columns are the mode and the name of the object."""
    found = [line.partition(b"\t") for line in _zero_terminated(printed)]
    return {path: Entry(*about.decode().split(" ")[columns]) for about, _, path in found}


def _commit(bench: Bench, tree: str, message: str) -> str:
    head = bench.repository.head
    parents = () if head is None else ("-p", head)
    git = bench.git.with_variables(_IDENTITY)
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
    last = bench.repository.own_folder / "index"
    if not last.is_symlink():
        with suppress(FileNotFoundError):
            # With its time, by which git knows which of its entries to trust.
            shutil.copy2(last, bench.folder / "index")


def _remember_index(bench: Bench) -> None:
    made = bench.folder / "index"
    if not made.exists():
        return
    fresh = bench.repository.own_folder / "index.new"
    fresh.unlink(missing_ok=True)
    shutil.copy2(made, fresh)
    fresh.replace(bench.repository.own_folder / "index")


def _zero_terminated(text: bytes) -> list[bytes]:
    return text.split(b"\0")[:-1]


def _zero_terminating(lines: Iterable[bytes]) -> bytes:
    return b"\0".join((*lines, b""))


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What restoring did."""

    safety: Snapshot
    """The working tree as it was before."""
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What differs from the checkpoint and was left: repositories within that moved, and files
    that were ignored until now, but are not by the rules of the checkpoint."""


class _Change(NamedTuple):
    """What lies between the present and the checkpoint."""

    present: Mapping[bytes, Entry]
    wanted: Mapping[bytes, Entry]
    """The files of the checkpoint."""
    links: Mapping[bytes, str]
    """The repositories within, as the checkpoint has them."""
    write: tuple[bytes, ...]
    new: tuple[bytes, ...]
    """Files that the checkpoint does not have."""


def restore(
    workspace: Path,
    commit: str,
    *,
    safety: str,
    environment: Mapping[str, str],
    timeout_s: float = TIMEOUT_S,
) -> Restored:
    """Bring the working tree around a workspace back to the commit of a checkpoint.

    The present state is saved first, under the name `safety`, such as `RUN/CHECKPOINT`. What was
    written is read again: it is the checkpoint, or CheckpointError is raised.
    """
    if not _COMMIT.fullmatch(commit):
        raise InputError(f"`{commit}` is no commit: expected 40 or 64 hexadecimal digits")
    with working_on(workspace, environment, timeout_s) as bench:
        tree = _tree_of(bench, commit)
        wanted = entries_of(bench, tree)
        also = _in_the_way(bench, wanted)
        present = take_at(bench, safety, f"before restoring {commit}", also=also)
        change = _change(entries_of(bench, present.tree), wanted)
        try:
            done = _carried_out(bench, workspace.resolve(), change, present)
            left = _verified(bench, change, tree)
        except (CheckpointError, OSError) as error:
            raise CheckpointError(
                f"{reason(error)}; the files as they were before are in checkpoint `{safety}`"
                f" ({present.commit})"
            ) from error
    return Restored(
        safety=present,
        written=tuple(map(printable, sorted(change.write))),
        removed=tuple(map(printable, done)),
        left=tuple(map(printable, sorted(left))),
    )


def _tree_of(bench: Bench, commit: str) -> str:
    try:
        return bench.git.line("rev-parse", "--verify", "-q", f"{commit}^{{tree}}")
    except CheckpointError as error:
        raise CheckpointError(
            f"`{bench.repository.top}` does not have the commit `{commit}` (any more): restore"
            " another checkpoint, or do it in the repository that it was taken in"
        ) from error


def _in_the_way(bench: Bench, wanted: Mapping[bytes, Entry]) -> list[bytes]:
    """Return what will be replaced even if it is ignored, so that it is saved before."""
    disk = WorkingTree(bench.repository.top)
    files = [path for path, entry in wanted.items() if entry.mode != GITLINK]
    above = folders_above(files)
    return [path for path in (*files, *above) if disk.is_file(path)]


def _change(present: Mapping[bytes, Entry], tree: Mapping[bytes, Entry]) -> _Change:
    wanted = {path: entry for path, entry in tree.items() if entry.mode != GITLINK}
    links = {path: entry.name for path, entry in tree.items() if entry.mode == GITLINK}
    new = [
        path
        for path, entry in present.items()
        if path not in tree and entry.mode != GITLINK and not folders_above([path]) & links.keys()
    ]
    return _Change(
        present=present,
        wanted=wanted,
        links=links,
        write=tuple(path for path, entry in wanted.items() if present.get(path) != entry),
        new=tuple(new),
    )


def _carried_out(bench: Bench, workspace: Path, change: _Change, safety: Snapshot) -> list[bytes]:
    """Write and remove what has to be; return what was removed."""
    _check_repositories(change, safety)
    saved = {path for path, entry in change.present.items() if entry.mode != GITLINK}
    lasting = _lasting_folders(bench, workspace)
    with (
        tempfile.TemporaryFile() as contents,
        safe_writer(bench.repository.top, saved=saved, lasting_folders=lasting) as writer,
    ):
        places = _fetched(bench, change, contents)
        for path in change.write:
            writer.check_may_go(path)
        # The rules of the checkpoint say what is ignored, so they come first.
        rules = [path for path in change.new if _is_rule(path)]
        for path in rules:
            writer.remove(path)
        _write(writer, change, [path for path in change.write if _is_rule(path)], contents, places)
        unwanted = _not_ignored(bench, change.new)
        for path in unwanted:
            writer.remove(path)
        rest = [path for path in change.write if not _is_rule(path)]
        _write(writer, change, rest, contents, places)
    return sorted({*rules, *unwanted})


def _check_repositories(change: _Change, safety: Snapshot) -> None:
    """Refuse to write into what has become a repository of its own."""
    inner = {*safety.repositories}
    for folder in folders_above(change.write):
        if printable(folder) in inner:
            raise CheckpointError(
                f"`{printable(folder)}` is a repository of its own now, where the checkpoint has"
                " files: move it away, then restore again"
            )


def _lasting_folders(bench: Bench, workspace: Path) -> set[bytes]:
    """Return the folder that somebody works in, and those above: they stay, even empty."""
    path = os.fsencode(workspace.relative_to(bench.repository.top))
    return {path, *folders_above([path])}


_Places = Mapping[str, tuple[int, int]]
"""Where in a file each content begins, and how long it is."""


def _fetched(bench: Bench, change: _Change, contents: IO[bytes]) -> _Places:
    """Fetch everything that will be written before anything is."""
    names = sorted({change.wanted[path].name for path in change.write})
    asked = "".join(f"{name}\n" for name in names).encode()
    bench.git.print_to(contents, "cat-file", "--batch", "--buffer", stdin=asked)
    contents.seek(0)
    places: dict[str, tuple[int, int]] = {}
    for name in names:
        answer = contents.readline().decode().split()
        if len(answer) != 3 or answer[:2] != [name, "blob"]:
            raise CheckpointError(f"the repository has lost object `{name}` of the checkpoint")
        places[name] = start, size = contents.tell(), int(answer[2])
        contents.seek(start + size + 1)
    return places


def _write(
    writer: SafeWriter,
    change: _Change,
    paths: Collection[bytes],
    contents: IO[bytes],
    places: _Places,
) -> None:
    for path in paths:
        entry = change.wanted[path]
        start, size = places[entry.name]
        contents.seek(start)
        if entry.mode == _LINK:
            writer.write_link(path, contents.read(size))
        else:
            writer.write_file(path, contents, size, executable=entry.mode == _EXECUTABLE)


def _is_rule(path: bytes) -> bool:
    """Whether a file says what is ignored."""
    return path.rpartition(b"/")[2] == _IGNORE_FILE


def _not_ignored(bench: Bench, paths: Collection[bytes]) -> list[bytes]:
    """Return the files that the rules on disk do not ignore, whether git tracks them or not."""
    disk = WorkingTree(bench.repository.top)
    present = [path for path in paths if disk.is_file(path)]
    if not present:
        return []
    arguments = ("check-ignore", "-z", "--no-index", "--stdin")
    given = _zero_terminating(present)
    ignored = bench.git.output(*arguments, stdin=given, accepted=(0, 1))
    return sorted({*present} - {*_zero_terminated(ignored)})


def _verified(bench: Bench, change: _Change, tree: str) -> set[bytes]:
    """Read everything again and return what was left, or raise."""
    put_into_index(bench, change.wanted, change.links)
    found = bench.git.line("write-tree")
    others = unignored(bench.git)
    stayed = sorted(path for path in others if path in change.present)
    if found != tree or stayed:
        named = ", ".join(f"`{printable(path)}`" for path in stayed[:_MOST_NAMED])
        raise CheckpointError(
            f"the files of `{bench.repository.top}` are not those of the checkpoint: their tree is"
            f" `{found}`, expected `{tree}`{f'; {named} should be gone' if named else ''}:"
            " end what writes to them, then restore again"
        )
    stay = {path for path, entry in change.present.items() if change.links.get(path) == entry.name}
    return change.links.keys() - stay | {*others}
