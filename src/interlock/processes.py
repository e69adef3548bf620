"""Which process is which, for as long as a machine runs, and which ones it descends from.

A process is named by its machine's boot, its number and the moment of its start: a number alone
is given again.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from interlock.errors import InputError

_PROC: Final = Path("/proc")
_BOOT: Final = _PROC / "sys/kernel/random/boot_id"
_PARENT: Final = 1
_START: Final = 19
"""Which words of `/proc/PID/stat` these are, behind the name in brackets."""
_MOST: Final = 1024
_SHELLS: Final = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "busybox", "fish"))
_REAPERS: Final = frozenset(("init", "systemd", "launchd", "tini", "dumb-init", "docker-init"))
"""Who takes in whatever has lost its parent: clients of nothing, and above everybody."""
_PS: Final = ("ps", "-o", "ppid=,lstart=", "-p")
_PS_LINE: Final = re.compile(r"\s*(\d+)\s+(\S.*\S)\s*")


class _Process(NamedTuple):
    parent: int
    start: str


def process_name(pid: int) -> str:
    """Return what names a process of this machine; raise InputError where there is none."""
    found = _process(pid)
    if found is None:
        raise InputError(f"`process` is {pid}, expected the number of a process that runs here")
    return _name(pid, found)


@lru_cache(maxsize=1)
def name_of_process(pid: int) -> str:
    """Return the same for a process that is known to run: this one."""
    return _name(pid, _process(pid) or _Process(0, ""))


def own_name() -> str:
    """Return what names this process."""
    return name_of_process(os.getpid())


def ancestors(pid: int | None = None) -> Iterator[str]:
    """Yield what names each process that this one descends from, the nearest first.

    For another process, begin with that one itself.
    """
    pid = os.getppid() if pid is None else pid
    for _ in range(_MOST):
        found = _process(pid) if pid > 0 else None
        if found is None:
            return
        yield _name(pid, found)
        pid = found.parent


def folder_of(pid: int) -> Path | None:
    """Return the folder that a process works in; None where nobody can say."""
    try:
        return (_PROC / str(pid) / "cwd").readlink()
    except OSError:
        return None


def is_below(pid: int, above: int) -> bool:
    """Whether a process descends from another one, or is the same."""
    found = _process(above) if above > 0 else None
    return found is not None and _name(above, found) in ancestors(pid)


def is_child(pid: int, parent: int) -> bool:
    """Whether a process was started by another one, which still runs."""
    found = _process(pid) if pid > 0 else None
    return found is not None and found.parent == parent


def descends(name: str, above: str) -> bool:
    """Whether a process of this name has one of that name above it; none is above itself."""
    boot, _, rest = name.partition("/")
    pid = rest.partition("/")[0]
    if name == above or boot != _boot() or not pid.isdecimal():
        return False
    return above in ancestors(int(pid))


def client_above(hook: int) -> int | None:
    """Return the process that ran a hook: a shell in between is over when the hook is.

    None where nothing runs by this number any more, or where the hook has lost who ran it.
    """
    pid = hook
    for _ in range(_MOST):
        found = _process(pid) if pid > 0 else None
        if found is None:
            return None
        program = _program(pid)
        if pid != hook and program not in _SHELLS:
            return None if program in _REAPERS else pid
        pid = found.parent
    return None


def script_above() -> str | None:
    """Return what names the program or script that started this process.

    None where a person types into it, for who is at a terminal decides there as well; and where
    it has ended: whoever took this process in is above everybody.
    """
    parent = os.getppid()
    is_typed = parent == os.getsid(0) and _has_terminal()
    if parent == 1 or is_typed or _program(parent) in _REAPERS:
        return None
    found = _process(parent)
    return None if found is None else _name(parent, found)


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _program(pid: int) -> str:
    try:
        return (_PROC / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def is_alive(name: str) -> bool:
    """Whether a process still runs, and on this machine."""
    boot, _, rest = name.partition("/")
    pid = rest.partition("/")[0]
    found = _process(int(pid)) if boot == _boot() and pid.isdecimal() else None
    return found is not None and _name(int(pid), found) == name


def has_ended(name: str) -> bool:
    """Whether a process ran on this machine, since it was started, and runs no more."""
    return name.partition("/")[0] == _boot() and not is_alive(name)


def _name(pid: int, process: _Process) -> str:
    return f"{_boot()}/{pid}/{process.start}"


@cache
def _boot() -> str:
    try:
        return _BOOT.read_text("ascii").strip()
    except OSError:
        return platform.node()


def _process(pid: int) -> _Process | None:
    return from_proc(pid) if _BOOT.exists() else from_ps(pid)


def from_proc(pid: int) -> _Process | None:
    """Look a process up where the kernel shows them as files."""
    try:
        line = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name in brackets may hold anything, brackets and blanks as well.
    words = line[line.rindex(b")") + 1 :].split()
    return _Process(int(words[_PARENT]), words[_START].decode("ascii"))


def from_ps(pid: int) -> _Process | None:
    """Look a process up by the program that every Unix has."""
    environment = {"PATH": "/bin:/usr/bin", "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - constants and a number
            [*_PS, str(pid)], capture_output=True, text=True, check=False, env=environment
        )
    except OSError:
        return None
    found = _PS_LINE.fullmatch(done.stdout)
    return None if found is None else _Process(int(found[1]), found[2])
