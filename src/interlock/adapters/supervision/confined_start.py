"""Become a command, once its terminal and its bounds are in place: a program of its own.

    python confined_start.py DESCRIPTOR COMMAND...

What has to be in place it reads from the descriptor. It is run by the process that reaps, leads
the session that the command will have, and tells the descriptor `ready` its number right before
it becomes the command, or why it will not. It imports little and nothing of ours: it runs outside
of our environment.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import stat
import struct
import sys
import termios
from collections.abc import Sequence
from typing import Final, NoReturn, TypedDict

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH: Final = 1
_OF_FILES: Final = 1 | 2 | 4 | 1 << 14
"""Which rights a file can have: to be run, written, read, cut off."""
_SET_NO_NEW_PRIVILEGES: Final = 38
_NOT_FOUND: Final = 127
_NOT_RUNNABLE: Final = 126
_NOT_CONFINED: Final = 125
_SET_BY_PYTHON: Final = (signal.SIGPIPE, signal.SIGXFSZ)


class LandlockRules(TypedDict):
    """What the kernel lets the command do, in bits of `linux/landlock.h`."""

    handled: int
    """What is not allowed unless a rule says so; 0 leaves files alone."""
    scoped: int
    rules: Sequence[tuple[str, int]]


class Specification(TypedDict):
    """What has to be in place."""

    ready: int
    has_terminal: bool
    """Whether its standard input is the terminal that controls it."""
    keeps_locale: bool
    """Whether `LC_CTYPE` is the command's own, and not what Python has set for itself."""
    landlock: LandlockRules | None


def main() -> NoReturn:
    """Become the command that the arguments name."""
    with os.fdopen(int(sys.argv[1]), "rb") as source:
        specification: Specification = json.load(source)
    argv, ready = sys.argv[2:], specification["ready"]
    try:
        os.set_inheritable(ready, False)  # noqa: FBT003 - it has no name
        if specification["has_terminal"]:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        if specification["landlock"] is not None:
            _confine(specification["landlock"])
    except BaseException as error:  # noqa: BLE001 - whatever it is, the command must not run without it
        os.write(ready, f"!{error}".encode("utf-8", "replace"))
        os._exit(_NOT_CONFINED)
    os.write(ready, b"%d\n" % os.getpid())
    _become(argv, keeps_locale=specification["keeps_locale"])


def _confine(allowed: LandlockRules) -> None:
    """Give up every right but these, for good and for all that is started from here."""
    library = ctypes.CDLL(None, use_errno=True)
    # Older kernels know fewer of the fields, and take no more of them.
    fields = (allowed["handled"], 0, allowed["scoped"])[: 3 if allowed["scoped"] else 1]
    packed = struct.pack(f"={len(fields)}Q", *fields)
    ruleset = _called(library, _CREATE_RULESET, packed, ctypes.c_size_t(len(packed)), 0)
    for path, rights in allowed["rules"]:
        _add_rule(library, ruleset, path, rights)
    if library.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")
    _called(library, _RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _add_rule(library: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # What is gone by now needs no right.
        return
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        rights &= _OF_FILES
    rule = struct.pack("=Qi", rights, place)
    _called(library, _ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    os.close(place)


def _called(library: ctypes.CDLL, *arguments: object) -> int:
    result = library.syscall(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno()).lower()}")
    return result


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
