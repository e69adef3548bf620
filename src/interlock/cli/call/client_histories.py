"""Where the clients of this computer keep their sessions, and how a call is told to read them.

Who has just installed Interlock has no ledger yet, and mostly a history: a call that finds the
one missing names the other.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from interlock.adapters.known_histories import CLIENT_READERS


def usual_places() -> Sequence[Path]:
    """Return the folders of clients that are there, or may be."""
    home = Path.home()
    named = (place for each in CLIENT_READERS for place in each.usual_places(home, os.environ))
    return [place for place in dict.fromkeys(named) if _may_be_there(place)]


def _may_be_there(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:
        return True


def histories_instead(call: str, *more: str) -> str:
    """Return what somebody without a ledger can type, to be added to what is said.

    Nothing where no client left anything.
    """
    places = usual_places()
    if not places:
        return ""
    words = " ".join(("interlock", call, *map(_typed, places), *more))
    return f"; what clients have left on this computer is read by `{words}`"


def _typed(place: Path) -> str:
    """Return a path as a person types it in a shell."""
    try:
        below = place.relative_to(Path.home()).as_posix()
    except ValueError:
        return shlex.quote(str(place))
    return f"~/{shlex.quote(below)}"
