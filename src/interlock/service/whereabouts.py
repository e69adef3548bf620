"""Where the server of a ledger is on this machine, for whoever looks for one."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from interlock.settings import ServerPlaces


class Listening(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server is, for whoever looks for one: nothing of it is secret."""

    pid: int
    url: str | None
    """Where browsers and programs of other machines ask."""
    socket: str
    ledger: str
    since: int
    is_demo: bool = False
    ends_itself: bool = False
    """Whether it was started for hooks alone, and ends when nobody asks any more."""


_LISTENING: Final = msgspec.json.Decoder(Listening)


def running_server(places: ServerPlaces) -> Listening | None:
    """Return what the server of these places says about itself, if one runs."""
    try:
        with places.lock.open("r+") as lock:
            if locked(lock):
                return None
        return _LISTENING.decode(places.note.read_bytes())
    except (OSError, msgspec.DecodeError):
        return None


def locked(lock: IO[Any]) -> bool:
    """Take the lock of the one server, unless somebody has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def write_note(place: Path, listening: Listening) -> None:
    """Write it as a whole: whoever reads it finds all of it, or none."""
    beside = place.with_suffix(".new")
    beside.write_bytes(msgspec.json.encode(listening))
    beside.replace(place)
