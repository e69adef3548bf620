"""The environment variables that tests see: the same on any machine, for any user."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

HOME: Final = Path("/home/interlock-tests")
"""Looks like a home directory and does not exist: a test that needs one creates its own."""

_FIXED: Final = {"LANG": "C.UTF-8", "TERM": "xterm", "TZ": "UTC"}
_KEPT: Final = {"PATH", "TMPDIR", "CI"}
_KEPT_PREFIXES: Final = ("COVERAGE_",)
_OPTIONS: Final = {
    *("INTERLOCK_SHARED", "INTERLOCK_SOAK", "INTERLOCK_CLIENTS"),
    *("INTERLOCK_TEST_POSTGRES", "INTERLOCK_SKIP_POSTGRES"),
}


@contextmanager
def session_environment(home: Path = HOME) -> Generator[None]:
    """Hide the user's settings, credentials and home from this process and its children.

    Raises:
        AssertionError: a test wrote to the shared home.
    """
    before = dict(os.environ)
    kept = {name: value for name, value in before.items() if _is_kept(name)}
    os.environ.clear()
    os.environ.update(kept | _FIXED | {"HOME": str(home)})
    try:
        yield
        written = sorted(map(str, home.rglob("*")))
        assert not written, (
            f"tests wrote {written} to the shared home: give them their own, then remove {home}"
        )
    finally:
        os.environ.clear()
        os.environ.update(before)


def _is_kept(name: str) -> bool:
    return name in _KEPT | _OPTIONS or name.startswith(_KEPT_PREFIXES)
