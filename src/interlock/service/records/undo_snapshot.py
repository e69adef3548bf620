"""What an action will delete or overwrite, copied away first, so that it can be put back."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from interlock.commands.affected_paths import AffectedPath, AffectedPaths, Unknown
from interlock.errors import EditError
from interlock.model.facts import Undoable, UndoSnapshot
from interlock.service.records.context import Context, new_id

_LONGEST_REASON: Final = 300


def snapshot_of(
    context: Context, workspace: str | None, touches: AffectedPaths | Unknown
) -> Undoable:
    """Copy everything that an action will touch, or say why that cannot be done."""
    try:
        return Undoable(snapshot=_snapshot(context, workspace, touches))
    except (EditError, OSError) as error:
        reason = context.clean(str(error))
        is_long = len(reason) > _LONGEST_REASON
        return Undoable(refused=f"{reason[: _LONGEST_REASON - 1]}…" if is_long else reason)


def _snapshot(
    context: Context, workspace: str | None, touches: AffectedPaths | Unknown
) -> UndoSnapshot:
    # Whoever has no rule that allows with undo never needs it.
    from interlock.edits.snapshot import take_snapshot  # noqa: PLC0415 - loaded by the first copy

    if workspace is None:
        raise EditError("the run has no workspace: start it with the folder that it works in")
    if isinstance(touches, Unknown):
        raise EditError(touches.reason)
    taken = take_snapshot(
        context.undo_store,
        new_id(),
        tuple(_paths(touches, Path(workspace))),
        workspace=Path(workspace),
        limit_bytes=context.policy.config.undo.limit_bytes,
    )
    # Names of files may hold credentials as well.
    return replace(taken, paths=tuple(context.clean(path) for path in taken.paths))


def _paths(touches: AffectedPaths, workspace: Path) -> Iterator[str]:
    """Yield every path that has to be copied: each link, and what is written through it."""
    for folder in touches.folders:
        if not Path(folder).is_dir():
            raise EditError(f"`{folder}` is no folder: the command would run somewhere else")
    for touched in touches.places:
        for path in _ends(touched, workspace):
            yield path
            # A slash at its end makes a link stand for the folder that it leads to.
            if touched.follows_links or path.endswith("/"):
                yield from _behind_link(path)
            if touched.follows_links:
                _check_has_one_name(path)


def _ends(touched: AffectedPath, workspace: Path) -> Iterator[str]:
    """Yield the place itself or, where it is a folder that things come into, each of theirs."""
    is_absolute = touched.path.startswith("/")
    # As text, because a path forgets the slash at its end.
    path = touched.path if is_absolute else f"{workspace}/{touched.path}"
    if touched.receives and Path(path).is_dir():
        yield from (f"{path}/{name}" for name in touched.receives)
    else:
        yield path


def _behind_link(path: str) -> Iterator[str]:
    if Path(path).is_symlink():
        yield os.path.realpath(path)


def _check_has_one_name(path: str) -> None:
    """Refuse a file that is written under all its names, of which one would be put back."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return
    if stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
        raise EditError(f"`{path}` has {status.st_nlink} names, which all would be overwritten")
