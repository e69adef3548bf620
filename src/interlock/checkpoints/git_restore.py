"""A working tree brought back to a checkpoint, after the present one was saved as well.

Files that changed or went since come back, files that are new since go. Nothing is replaced or
removed that the safety checkpoint does not hold, so that every restoring can be undone. HEAD,
branches and the user's index stay as they are; so do ignored files, and repositories within.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Final, NamedTuple

import msgspec

from interlock.checkpoints.git_repository import printable
from interlock.checkpoints.git_snapshot import (
    GITLINK,
    MOST_UNTRACKED_BYTES,
    TIMEOUT_S,
    Bench,
    Entry,
    Snapshot,
    entries_of,
    put_into_index,
    reason,
    take_at,
    unignored,
    working_on,
)
from interlock.checkpoints.working_tree import SafeWriter, WorkingTree, folders_above, safe_writer
from interlock.errors import CheckpointError, InputError

_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LINK: Final = "120000"
_EXECUTABLE: Final = "100755"
_IGNORE_FILE: Final = b".gitignore"
_MOST_NAMED: Final = 5


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """What restoring did."""

    commit: str
    tree: str
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
    most_untracked_bytes: int = MOST_UNTRACKED_BYTES,
) -> Restored:
    """Bring the working tree around a workspace back to the commit of a checkpoint.

    The present state is saved first, under the name `safety`, such as `RUN/CHECKPOINT`. What was
    written is read again: it is the checkpoint, or CheckpointError is raised.
    """
    if not _COMMIT.fullmatch(commit):
        raise InputError(f"`{commit}` is no commit: expected 40 or 64 hexadecimal digits")
    with working_on(workspace, environment, timeout_s) as bench:
        tree = _tree_of(bench, commit)
        wanted = entries_of(bench.private, tree)
        present = take_at(
            bench,
            safety,
            f"before restoring {commit}",
            most_untracked_bytes=most_untracked_bytes,
            also=_in_the_way(bench, wanted),
        )
        change = _change(entries_of(bench.private, present.tree), wanted)
        try:
            done = _carried_out(bench, workspace.resolve(), change, present)
            left = _verified(bench, change, tree)
        except (CheckpointError, OSError) as error:
            raise CheckpointError(
                f"{reason(error)}; the files as they were before are in checkpoint `{safety}`"
                f" ({present.commit})"
            ) from error
    return Restored(
        commit=commit,
        tree=tree,
        safety=present,
        written=tuple(map(printable, sorted(change.write))),
        removed=tuple(map(printable, done)),
        left=tuple(map(printable, sorted(left))),
    )


def _tree_of(bench: Bench, commit: str) -> str:
    try:
        return bench.private.git.line("rev-parse", "--verify", "-q", f"{commit}^{{tree}}")
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
    kept = _kept_folders(bench, workspace)
    with (
        tempfile.TemporaryFile() as contents,
        safe_writer(bench.repository.top, saved=saved, kept_folders=kept) as writer,
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


def _kept_folders(bench: Bench, workspace: Path) -> set[bytes]:
    """Return the folder that somebody works in, and those above: they stay, even empty."""
    path = os.fsencode(workspace.relative_to(bench.repository.top))
    return {path, *folders_above([path])}


class _Place(NamedTuple):
    """Where in a file a content is."""

    start: int
    size: int


def _fetched(bench: Bench, change: _Change, contents: IO[bytes]) -> dict[str, _Place]:
    """Fetch everything that will be written before anything is."""
    names = sorted({change.wanted[path].name for path in change.write})
    asked = "".join(f"{name}\n" for name in names).encode()
    bench.private.git.print_to(contents, "cat-file", "--batch", "--buffer", stdin=asked)
    contents.seek(0)
    places: dict[str, _Place] = {}
    for name in names:
        answer = contents.readline().decode().split()
        if len(answer) != 3 or answer[:2] != [name, "blob"]:
            raise CheckpointError(f"the repository has lost object `{name}` of the checkpoint")
        places[name] = _Place(contents.tell(), int(answer[2]))
        contents.seek(places[name].start + places[name].size + 1)
    return places


def _write(
    writer: SafeWriter,
    change: _Change,
    paths: Collection[bytes],
    contents: IO[bytes],
    places: Mapping[str, _Place],
) -> None:
    for path in paths:
        entry = change.wanted[path]
        place = places[entry.name]
        contents.seek(place.start)
        if entry.mode == _LINK:
            writer.write_link(path, contents.read(place.size))
        else:
            is_executable = entry.mode == _EXECUTABLE
            writer.write_file(path, contents, place.size, executable=is_executable)


def _is_rule(path: bytes) -> bool:
    """Whether a file says what is ignored."""
    return path.rpartition(b"/")[2] == _IGNORE_FILE


def _not_ignored(bench: Bench, paths: Collection[bytes]) -> list[bytes]:
    """Return the files that the rules on disk do not ignore, whether git tracks them or not."""
    disk = WorkingTree(bench.repository.top)
    present = [path for path in paths if disk.is_file(path)]
    if not present:
        return []
    ignored = bench.private.git.output(
        "check-ignore",
        "-z",
        "--no-index",
        "--stdin",
        stdin=b"\0".join((*present, b"")),
        accepted=frozenset({0, 1}),
    )
    return sorted({*present} - {*ignored.split(b"\0")})


def _verified(bench: Bench, change: _Change, tree: str) -> set[bytes]:
    """Read everything again and return what was left, or raise."""
    private = bench.private
    put_into_index(private, change.wanted, change.links)
    found = private.git.line("write-tree")
    others = unignored(private.git)
    stayed = sorted(path for path in others if path in change.present)
    if found != tree or stayed:
        named = ", ".join(f"`{printable(path)}`" for path in stayed[:_MOST_NAMED])
        raise CheckpointError(
            f"the files of `{bench.repository.top}` are not those of the checkpoint: their tree is"
            f" `{found}`, expected `{tree}`{f'; {named} should be gone' if named else ''}:"
            " end what writes to them, then restore again"
        )
    moved = {path for path, name in change.links.items() if _commit_at(change, path) != name}
    return moved | {*others}


def _commit_at(change: _Change, path: bytes) -> str | None:
    entry = change.present.get(path)
    return None if entry is None else entry.name
