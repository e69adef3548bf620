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


@contextmanager
def temporary_place() -> Generator[Path]:
    """Have this process, and all that it starts, keep temporary files in a folder of its own."""
    before = os.environ.get("TMPDIR")
    place = Path(tempfile.mkdtemp(prefix="ilt-", dir=plain_place()))
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
