"""Where the clients of this computer keep their sessions, and how a call is told to read them.

Who has just installed Interlock has no ledger yet, and mostly a history: a call that finds the
one missing names the other.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from interlock.adapters.known_histories import CLIENT_READERS, known_readers
from interlock.errors import InputError
from interlock.model.past_run import Unread

_MOST_REASONS: Final = 5


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


def no_history(places: Sequence[Path], unread: Sequence[Unread]) -> InputError:
    """Return the complaint that some places hold nothing that can be read, and why."""
    looked = ", ".join(f"`{place}`" for place in places)
    reasons = [f"`{each.path}`: {each.reason}" for each in unread[:_MOST_REASONS]]
    formats = ", ".join(each.name for each in known_readers())
    expected = f"expected a file of one of these formats, or a folder of them: {formats}"
    why = "; ".join(reasons) or expected
    return InputError(f"there is no history in {looked} that can be read: {why}")


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
