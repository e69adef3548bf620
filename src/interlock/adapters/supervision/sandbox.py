"""Hold a command to what it may reach: by Landlock, or by bubblewrap, where the system has them.

Bubblewrap shows the command a file system of its own: what is hidden looks empty, and in a folder
that may be written single files can stay as they are. Landlock needs nothing but the kernel, and
can only add rights: what it cannot hold to is said, or refused.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from interlock.adapters.supervision.confined_start import LandlockRules
from interlock.adapters.supervision.confinement import Confinement
from interlock.errors import InputError

AUTO: Final = "auto"
LANDLOCK: Final = "landlock"
BUBBLEWRAP: Final = "bubblewrap"

_CREATE_RULESET: Final = 444
_VERSION: Final = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_ALL_OF_FIRST: Final = (1 << 13) - 1
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_REFER_SINCE, _TRUNCATE_SINCE, _SCOPED_SINCE = 2, 3, 6
_SCOPE_SIGNALS: Final = 2
_READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
_DEVICES: Final = tuple(
    Path("/dev", name)
    for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
)
_BWRAP: Final = (
    "--unshare-user", "--die-with-parent", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev",
)  # fmt: skip


class Sandbox(NamedTuple):
    """How a command is held to what it may reach."""

    name: str
    prefix: tuple[str, ...]
    """What stands in front of the command."""
    landlock: LandlockRules | None
    notes: tuple[str, ...]
    """What holds, and what does not, in words."""


def sandbox_for(kind: str, allowed: Confinement, *, folder: Path) -> Sandbox:
    """Return the sandbox of this kind; raise InputError where it cannot be had here."""
    ways: Mapping[str, Callable[[], Sandbox | str]] = {
        BUBBLEWRAP: lambda: _bubblewrap(allowed, folder),
        LANDLOCK: lambda: _landlock(allowed),
    }
    # The first one can hold to all of it.
    tried = [ways[each]() for each in (ways if kind == AUTO else [kind])]
    found = next((each for each in tried if isinstance(each, Sandbox)), None)
    if found is None:
        raise InputError(f"`--sandbox {kind}`: nothing was started: {'; '.join(map(str, tried))}")
    return found


def _bubblewrap(allowed: Confinement, folder: Path) -> Sandbox | str:
    program = shutil.which("bwrap")
    if program is None:
        return "`bwrap` is not installed: install the package `bubblewrap`"
    tried = subprocess.run(  # noqa: S603 - constants
        [program, *_BWRAP, "true"], capture_output=True, check=False, text=True
    )
    if tried.returncode != 0:
        return f"`bwrap` does not work here: {tried.stderr.strip() or tried.returncode}"
    words = [program, *_BWRAP, *bubblewrap_words(allowed), "--chdir", str(folder), "--"]
    return Sandbox(BUBBLEWRAP, tuple(words), _only_signals(), tuple(_notes(BUBBLEWRAP, allowed)))


def bubblewrap_words(allowed: Confinement) -> Iterator[str]:
    """Yield the options that make the command's file system what it may reach."""
    for path in allowed.writable:
        yield from ("--bind", str(path), str(path))
    yield from _protecting(allowed)
    # Last of all, so that nothing is mounted over it again.
    for path in allowed.hidden:
        if path.is_dir():
            yield from ("--tmpfs", str(path), "--chmod", "0700", str(path))
        else:
            yield from ("--dev-bind", os.devnull, str(path))
    for path in _within(allowed.shown, allowed.hidden):
        yield from ("--ro-bind", str(path), str(path))
    for path in allowed.hidden:
        if path.is_dir():
            yield from ("--remount-ro", str(path))


def _protecting(allowed: Confinement) -> Iterator[str]:
    """Yield what keeps single places in a writable folder as they are."""
    held: set[Path] = set()
    for path in (*allowed.protected, *_within(allowed.shown, allowed.writable)):
        if _within((path,), allowed.hidden):
            continue
        for folder in _folders_between(path, allowed.writable):
            if folder not in held:
                # What is mounted cannot be moved out of the way.
                held.add(folder)
                yield from ("--bind", str(folder), str(folder))
        yield from ("--ro-bind", str(path), str(path))


def _folders_between(path: Path, writable: Sequence[Path]) -> list[Path]:
    """Return the folders above a path that may themselves be written, the outermost first."""
    return [
        each
        for each in reversed(path.parents)
        if each not in writable and any(map(each.is_relative_to, writable))
    ]


def _landlock(allowed: Confinement) -> Sandbox | str:
    version = landlock_version()
    if version < 1:
        return "this kernel has no Landlock: it takes Linux 5.13 with it switched on"
    inside = _within((*allowed.hidden, *allowed.shown), allowed.writable)
    if inside:
        return (
            f"Landlock cannot keep `{inside[0]}` back, which lies in a folder that may be written:"
            " work in another folder, or use bubblewrap"
        )
    notes = (*_notes(LANDLOCK, allowed), *_gaps(version, allowed))
    return Sandbox(LANDLOCK, (), landlock_rules(version, allowed), notes)


def landlock_rules(version: int, allowed: Confinement) -> LandlockRules:
    """Return what Landlock lets the command do, in the words of this version."""
    everything = _ALL_OF_FIRST
    everything |= _REFER if version >= _REFER_SINCE else 0
    everything |= _TRUNCATE if version >= _TRUNCATE_SINCE else 0
    devices = _READ | _WRITE_FILE | (everything & _TRUNCATE)
    readable = (*readable_around(allowed.hidden), *allowed.shown)
    return LandlockRules(
        handled=everything,
        scoped=_SCOPE_SIGNALS if version >= _SCOPED_SINCE else 0,
        rules=[
            # Names may be seen everywhere: whoever lists a folder reads no file.
            ("/", _READ_DIR),
            *((str(path), _READ) for path in readable),
            *((str(path), devices) for path in _DEVICES if path.exists()),
            *((str(path), everything) for path in allowed.writable),
        ],
    )


def readable_around(hidden: Sequence[Path], folder: Path = Path("/")) -> Iterator[Path]:
    """Yield the fewest paths that hold everything but what is hidden: rights are only added."""
    with suppress(OSError):
        for path in folder.iterdir():
            if path.is_symlink() or path in hidden:
                # What a link leads to has a place of its own.
                continue
            if any(each.is_relative_to(path) for each in hidden):
                yield from readable_around(hidden, path)
            else:
                yield path


def landlock_version() -> int:
    """Return which version of Landlock the kernel has; 0 or less where it has none."""
    library = ctypes.CDLL(None, use_errno=True)
    return library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION)


def _only_signals() -> LandlockRules | None:
    """Return that nothing outside is sent a signal, us least of all; None where nobody can say."""
    if landlock_version() < _SCOPED_SINCE:
        return None
    return LandlockRules(handled=0, scoped=_SCOPE_SIGNALS, rules=[])


def _within(paths: Sequence[Path], folders: Sequence[Path]) -> list[Path]:
    return [path for path in paths if any(map(path.is_relative_to, folders))]


def _notes(name: str, allowed: Confinement) -> Iterator[str]:
    yield f"sandbox: {name}; writable: {_listed(allowed.writable)}"
    yield f"neither read nor written: {_listed(allowed.hidden)}"
    if name == BUBBLEWRAP and allowed.protected:
        yield f"only read, in what is writable: {_listed(allowed.protected)}"
    yield "not held back: the network, and what is already open to every process of this user"


def _gaps(version: int, allowed: Confinement) -> Iterator[str]:
    """Yield what this Landlock does not hold to."""
    if allowed.protected:
        yield f"still writable, which bubblewrap would prevent: {_listed(allowed.protected)}"
    if version < _TRUNCATE_SINCE:
        yield "this kernel's Landlock does not keep files from being emptied: it takes Linux 6.2"
    if version < _SCOPED_SINCE:
        yield "this kernel's Landlock does not hold signals back: it takes Linux 6.12"


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths)) or "nothing"
