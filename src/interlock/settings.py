"""Where things are: the only reader of the environment.

Nothing here opens a policy; it only says which files to open.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

PROJECT_FILE = "interlock.toml"


class Places(NamedTuple):
    """Which policy files count, and where new ones belong."""

    user_file: Path
    """Where the user's policy is, or would be."""
    user: Path | None
    """The user's policy, where there is one or one was named in `INTERLOCK_POLICY`."""
    project_file: Path
    """Where the project's policy is, or would be."""
    project: Path | None
    """The project's policy, where there is one."""


def environment() -> Mapping[str, str]:
    """Return the environment of this process, for programs that are started in it."""
    return dict(os.environ)


def current_places() -> Places:
    """Return the places as this process finds them."""
    return places(os.environ, home=Path.home(), cwd=Path.cwd())


def places(environment: Mapping[str, str], *, home: Path, cwd: Path) -> Places:
    """Return the places as an environment and a working folder make them."""
    named = environment.get("INTERLOCK_POLICY")
    user_file = Path(named) if named else _config_folder(environment, home) / "policy.toml"
    folders = _project_folders(cwd)
    candidates = [folder / PROJECT_FILE for folder in folders]
    found = [file for file in candidates if _stands(file)]
    return Places(
        user_file=user_file,
        # A file that was named must be read: falling back to the defaults would loosen unasked.
        user=user_file if named or _stands(user_file) else None,
        project_file=found[0] if found else candidates[-1],
        project=found[0] if found else None,
    )


class LedgerPlaces(NamedTuple):
    """Where the ledger and what belongs to it are."""

    ledger: str
    """The path of a file, or a database's URL."""
    keys: Path
    """The folder of the keys that seal ledgers."""
    undo: Path
    """The folder of what can be put back: files as they were before they were changed."""
    token_file: Path
    """Where this person's credential is kept."""
    token: str | None
    """The credential that this process was given, if any."""


def current_ledger_places() -> LedgerPlaces:
    """Return the ledger's places as this process finds them."""
    home = Path.home()
    config, state = _config_folder(os.environ, home), _state_folder(os.environ, home)
    return LedgerPlaces(
        ledger=os.environ.get("INTERLOCK_LEDGER") or str(state / "ledger.db"),
        keys=config / "keys",
        undo=state / "undo",
        token_file=config / "operator-token",
        token=os.environ.get("INTERLOCK_TOKEN") or None,
    )


def _config_folder(environment: Mapping[str, str], home: Path) -> Path:
    if own := environment.get("INTERLOCK_CONFIG_HOME"):
        return Path(own)
    shared = Path(environment.get("XDG_CONFIG_HOME", ""))
    # A relative path there is invalid by the XDG specification.
    return (shared if shared.is_absolute() else home / ".config") / "interlock"


def _state_folder(environment: Mapping[str, str], home: Path) -> Path:
    shared = Path(environment.get("XDG_STATE_HOME", ""))
    return (shared if shared.is_absolute() else home / ".local" / "state") / "interlock"


def _project_folders(cwd: Path) -> list[Path]:
    """Return the folders from here up to the repository's root, or only this one outside of any."""
    upwards = [cwd, *cwd.parents]
    for depth, folder in enumerate(upwards):
        if (folder / ".git").exists():
            return upwards[: depth + 1]
    return [cwd]


def _stands(file: Path) -> bool:
    """Tell whether anything has this name: what cannot be read must fail, not be overlooked."""
    return file.is_symlink() or file.exists()
