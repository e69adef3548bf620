"""Was the work kept? Of the lines that a run's commits added, the share that stands in HEAD.

A run's commits are those of HEAD's history that were written between its first and its last
step, and a little later: the work is often committed when the agent is done. A run is kept where
at least half of the lines stand; not known where it has no commit, added no line, or HEAD is not
some days older than its last commit. Lines are told apart as `git blame` does: what was reverted,
rewritten or moved to another file counts as gone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from interlock.backtest.calibrate.scored_run import ScoredRun
from interlock.checkpoints.bounded_command import Deadline
from interlock.checkpoints.git_repository import Git, NoRepositoryError, found_repository
from interlock.errors import CheckpointError, InputError

_KEPT_SHARE: Final = 0.5
_AFTERWARDS_S: Final = 3600
_TIMEOUT_S: Final = 600
_DAY_S: Final = 86_400
_MICRO: Final = 1_000_000
_COMMIT: Final = "\x01"
_BLAMED: Final = re.compile(rb"^([0-9a-f]{40,64}) \d+ \d+(?: \d+)?$", re.MULTILINE)
_NO_FILE: Final = 128


class Commit(msgspec.Struct, frozen=True):
    """A commit of HEAD's history."""

    id: str
    at_s: int
    """When it was written."""
    added: Mapping[str, int]
    """How many lines it added, by file."""


class KeptWork:
    """Tells of runs whether their work still stands in a repository."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *, days: int) -> None:
        try:
            repository, self._git = found_repository(
                folder.absolute(), environment, Deadline(_TIMEOUT_S)
            )
            if repository.head is None:
                raise InputError(f"`{folder}` has no commit yet: nothing can have been kept")
            self._head_s = int(self._git.line("show", "-s", "--format=%ct", *_SAFE, "HEAD"))
            self._commits = list(_commits(self._git))
        except NoRepositoryError:
            raise InputError(
                f"`{folder}` is not in a git repository: name one in which the work of the runs"
                " was committed"
            ) from None
        except CheckpointError as error:
            raise InputError(f"`{folder}`: {error}") from error
        self._top, self._days = repository.top, days
        self._standing: dict[str, Counter[str]] = {}

    def of(self, run: ScoredRun) -> bool | None:
        """Return whether a run's work was kept; None where that is not known."""
        if run.began_at is None or run.ended_at is None or not self._is_here(run):
            return None
        began_s, ended_s = run.began_at / _MICRO, run.ended_at / _MICRO + _AFTERWARDS_S
        own = [each for each in self._commits if began_s <= each.at_s <= ended_s]
        latest = max((each.at_s for each in own), default=self._head_s)
        added = sum(sum(each.added.values()) for each in own)
        if not added or self._head_s - latest < self._days * _DAY_S:
            return None
        standing = sum(self._stands(path)[each.id] for each in own for path in each.added)
        return standing >= _KEPT_SHARE * added

    def _is_here(self, run: ScoredRun) -> bool:
        return run.workspace is None or Path(run.workspace).is_relative_to(self._top)

    def _stands(self, path: str) -> Counter[str]:
        """Count the lines of a file in HEAD by the commit that they come from."""
        if path not in self._standing:
            blamed = self._git.output(
                *("blame", "--porcelain", "--no-textconv", "HEAD", "--", path),
                accepted=(0, _NO_FILE),
            )
            found = (each.decode() for each in _BLAMED.findall(blamed))
            self._standing[path] = Counter(found)
        return self._standing[path]


_SAFE: Final = ("--no-ext-diff", "--no-textconv", "--no-show-signature")
"""What an agent wrote into the repository's settings is not run."""


def _commits(git: Git) -> Iterator[Commit]:
    """Yield every commit of HEAD's history, with the lines that it added."""
    told = git.output(
        *("-c", "core.quotePath=false", "log", "--no-merges", "--no-renames", "--numstat"),
        *(*_SAFE, f"--format={_COMMIT}%H %at", "HEAD"),
    ).decode("utf-8", "surrogateescape")
    for part in told.split(_COMMIT)[1:]:
        head, *lines = part.splitlines()
        name, at_s = head.split()
        added: defaultdict[str, int] = defaultdict(int)
        for line in filter(None, lines):
            count, _, path = line.split("\t", 2)
            # A dash stands for a file without lines.
            added[path] += int(count) if count.isdecimal() else 0
        yield Commit(name, int(at_s), {path: count for path, count in added.items() if count})
