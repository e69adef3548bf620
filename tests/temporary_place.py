"""One folder for everything temporary in a session, removed when the session ends."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from effort import SOAK

_MEMORY: Final = Path("/dev/shm")
_ROOM_BYTES: Final = 8 * 2**30


@contextmanager
def temporary_place() -> Generator[Path]:
    """Have this process, and all that it starts, keep temporary files in a folder of its own."""
    before = os.environ.get("TMPDIR")
    place = Path(tempfile.mkdtemp(prefix="ilt-", dir=quick_place() or plain_place()))
    # As open as the one it lies in: some of what is started runs as somebody else.
    place.chmod(0o1777)
    os.environ["TMPDIR"] = tempfile.tempdir = str(place)
    try:
        yield place
    finally:
        tempfile.tempdir = None
        if before is None:
            del os.environ["TMPDIR"]
        else:
            os.environ["TMPDIR"] = before
        _end_servers(place)
        shutil.rmtree(place, ignore_errors=True)


def _end_servers(place: Path) -> None:
    """End what runs for a home in this place: hooks start servers that outlive them."""
    home = f"HOME={place}/".encode()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if any(each.startswith(home) for each in environ.read_bytes().split(b"\0")):
                os.kill(int(environ.parent.name), signal.SIGKILL)


def quick_place() -> Path | None:
    """Where files need no disk, which saves a tenth of the processor time, if there is room.

    Not where the user named a place, nor in the long round, which is to meet a real disk.
    """
    is_named = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    if is_named or SOAK or not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    found = os.statvfs(_MEMORY)
    has_room = found.f_bavail * found.f_frsize >= _ROOM_BYTES
    runs_programs = not found.f_flag & os.ST_NOEXEC
    return _MEMORY if has_room and runs_programs else None


def plain_place() -> Path:
    """Where temporary files are kept, unless that gets in the way: then where they usually are.

    A socket's path may have 107 bytes, of which ours take less than 50; and a folder in somebody's
    repository is not the bare one that tests expect. Many tests write a path into a command, where
    a blank would part it.
    """
    told = Path(tempfile.gettempdir()).resolve()
    is_short = len(os.fsencode(told)) < 56
    is_versioned = any((each / ".git").exists() for each in (told, *told.parents))
    is_one_word = shlex.quote(str(told)) == str(told)
    return told if is_short and is_one_word and not is_versioned else Path("/tmp")
