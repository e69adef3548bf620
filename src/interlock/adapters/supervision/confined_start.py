"""Become a command, once its terminal and its bounds are in place: a program of its own.

    python confined_start.py SPECIFICATION COMMAND...

It is run by the process that reaps, leads the session that the command will have, and tells the
descriptor `ready` its number right before it becomes the command, or why it will not. It imports
little and nothing of ours: it runs outside of our environment.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import termios
from typing import Final, NoReturn, TypedDict

_NOT_FOUND: Final = 127
_NOT_RUNNABLE: Final = 126
_NOT_CONFINED: Final = 125
_SET_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)


class Specification(TypedDict):
    """What has to be in place."""

    ready: int
    has_terminal: bool
    """Whether its standard input is the terminal that controls it."""
    keeps_locale: bool
    """Whether `LC_CTYPE` is the command's own, and not what Python has set for itself."""


def main() -> NoReturn:
    """Become the command that the arguments name."""
    specification: Specification = json.loads(sys.argv[1])
    argv, ready = sys.argv[2:], specification["ready"]
    try:
        os.set_inheritable(ready, False)  # noqa: FBT003 - it has no name
        if specification["has_terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the command must not run without it
        os.write(ready, f"!{error}".encode("utf-8", "replace"))
        os._exit(_NOT_CONFINED)
    os.write(ready, b"%d\n" % os.getpid())
    _become(argv, keeps_locale=specification["keeps_locale"])


def _become(argv: list[str], *, keeps_locale: bool) -> NoReturn:
    environment = dict(os.environ)
    if not keeps_locale:
        environment.pop("LC_CTYPE", None)
    for each in _SET_BY_PYTHON:
        signal.signal(each, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], argv, environment)  # noqa: S606 - the command was judged before
    except OSError as error:
        said = f"interlock run: `{argv[0]}`: {os.strerror(error.errno or 0).lower()}\n"
        os.write(2, said.encode("utf-8", "surrogateescape"))
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_RUNNABLE)


if __name__ == "__main__":
    main()
