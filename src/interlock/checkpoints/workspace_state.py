"""In what state are the files of a workspace, and what has changed since?

A file is known by its marks: number, kind, size and the times that the system keeps itself. Folders
in which tools leave what they make are not looked at, nor is what git ignores.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fnmatch import translate
from pathlib import Path
from typing import Final

from interlock.checkpoints.bounded_command import Deadline
from interlock.checkpoints.git_repository import found_repository
from interlock.errors import CheckpointError

MOST_FILES: Final = 200_000
_GIT_S: Final = 30.0
_GIT_FOLDER: Final = ".git"

_Marks = tuple[int, ...]


class WorkspaceState:
    """The files of a workspace as they were when this was made."""

    def __init__(self, workspace: Path, scratch: Sequence[str]) -> None:
        """Look at every file but those in scratch folders; raises CheckpointError for too many."""
        self._workspace = workspace
        self._scratch = scratch
        self._files = _files_in(workspace, scratch)

    def changed(self, environment: Mapping[str, str]) -> list[str]:
        """Return the files that have changed, come or gone since, by their paths, in order."""
        now = _files_in(self._workspace, self._scratch)
        known = self._files
        changed = sorted(path for path in known | now if known.get(path) != now.get(path))
        if not changed:
            return []
        ignored = _ignored_by_git(self._workspace, changed, environment)
        return [path for path in changed if path not in ignored]


def _files_in(workspace: Path, scratch: Sequence[str]) -> dict[str, _Marks]:
    is_scratch = re.compile("|".join([translate(_GIT_FOLDER), *map(translate, scratch)])).match
    found: dict[str, _Marks] = {}
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        # A folder that goes meanwhile takes its files with it: they are missed.
        with suppress(OSError), os.scandir(workspace / folder) as entries:
            for entry in entries:
                if is_scratch(entry.name):
                    continue
                path = os.path.join(folder, entry.name)  # noqa: PTH118 - once for every file
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
                else:
                    found[path] = _marks(entry.stat(follow_symlinks=False))
                if len(found) + len(waiting) > MOST_FILES:
                    raise CheckpointError(
                        f"there are more than {MOST_FILES:,} files in `{workspace}`: name the"
                        " folders of what tools make in `destructive-ops.scratch-folders`, or start"
                        " the run in the folder of the work"
                    )
    return found


def _marks(status: os.stat_result) -> _Marks:
    marks = status.st_dev, status.st_ino, status.st_mode, status.st_size
    if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
        return *marks, status.st_mtime_ns, status.st_ctime_ns
    # The times of a pipe say when somebody spoke through it: nothing stands in it.
    return marks


def _ignored_by_git(
    workspace: Path, paths: Sequence[str], environment: Mapping[str, str]
) -> frozenset[str]:
    """Return those that git ignores; none where there is no repository."""
    try:
        repository, git = found_repository(workspace, environment, Deadline(_GIT_S))
        below = os.path.relpath(workspace, repository.top)
        asked = {os.path.normpath(os.path.join(below, path)): path for path in paths}  # noqa: PTH118 - names, not files
        said = git.output(
            "check-ignore",
            "-z",
            "--stdin",
            stdin=b"".join(os.fsencode(path) + b"\0" for path in asked),
            accepted=(0, 1),
        )
    except CheckpointError:
        return frozenset()
    found = map(os.fsdecode, said.split(b"\0"))
    return frozenset(asked[path] for path in found if path in asked)
