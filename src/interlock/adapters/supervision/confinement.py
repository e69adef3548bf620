"""What a confined command may reach: plain paths, from the policy, our own places and the call.

It may write to its workspace, to temporary folders and to what the call names, and read the rest,
without the places of credentials and our own. Which sandbox holds it to that is another matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from interlock.model.own_places import OwnPlaces
from interlock.model.verdict import Decision
from interlock.policy.actions.compiled_policy import CompiledPolicy

_EVERYTHING_IN: Final = "/**"
_ANYWHERE: Final = "**/"
_HOME: Final = "~/"
_RUN_BY_GIT: Final = (".git/hooks", ".git/config")
"""What a person's own Git runs or obeys later, outside of any sandbox."""


class Confinement(NamedTuple):
    """What may be reached; every path exists, and leads through no link."""

    writable: tuple[Path, ...]
    protected: tuple[Path, ...]
    """What lies in there and may only be read."""
    hidden: tuple[Path, ...]
    """What may not even be read."""
    shown: tuple[Path, ...]
    """What lies among that, and may be read."""


class Whereabouts(NamedTuple):
    """Where a command works, and what it needs besides."""

    workspace: Path
    home: Path
    temporary: tuple[Path, ...]
    writes: tuple[Path, ...]
    """What the call names."""
    server: Path
    """The folder with the socket at which hooks ask."""


def confinement(policy: CompiledPolicy, own: OwnPlaces, whereabouts: Whereabouts) -> Confinement:
    """Return what a command may reach."""
    writable = _real((whereabouts.workspace, *whereabouts.temporary, *whereabouts.writes))
    credentials, guarded = _by_policy(policy, whereabouts.home, writable)
    git = (folder / each for folder in writable for each in _RUN_BY_GIT)
    code = (Path(each) for each in own.code if not each.startswith(_HOME) and "*" not in each)
    protected = _real((*guarded, *git, *code))
    return Confinement(
        writable=writable,
        protected=tuple(path for path in protected if any(map(path.is_relative_to, writable))),
        hidden=_real((*credentials, *_own_files((*own.data, *own.secrets)))),
        shown=_real((*_own_files(own.readable), whereabouts.server)),
    )


def _by_policy(
    policy: CompiledPolicy, home: Path, writable: Sequence[Path]
) -> tuple[list[Path], list[Path]]:
    """Return the places of credentials, and what else the policy lets nobody write."""
    credentials: list[Path] = []
    guarded: list[Path] = []
    for entry in policy.config.protected_paths.entries:
        name = entry.path.removesuffix(_EVERYTHING_IN)
        if entry.decision is not Decision.BLOCK or "*" in name.removeprefix(_ANYWHERE):
            continue
        if name.startswith(_ANYWHERE):
            guarded += [folder / name.removeprefix(_ANYWHERE) for folder in writable]
        else:
            path = home / name.removeprefix(_HOME)
            (credentials if policy.places.is_credential(name) else guarded).append(path)
    return credentials, guarded


def _own_files(named: Iterable[str]) -> Iterator[Path]:
    """Yield our own files as they are named, with what SQLite keeps beside them."""
    for path in (Path(each) for each in named if not each.startswith(_HOME)):
        yield path
        if path.is_file():
            yield from (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))


def _real(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Return those that there are, each once and by its real name."""
    found = (Path(os.path.realpath(path)) for path in paths)
    return tuple(dict.fromkeys(path for path in found if path.exists()))
