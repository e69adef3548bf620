"""Terminals for tests: a real one that a child is controlled by, and one for this process.

Both answer a prompt only once it is there: what is typed before is thrown away, and rightly.
"""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from interlock.cli.call import terminal
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess

# Takes a terminal as its controlling one, then becomes the program.
_LEADER = """
import fcntl, os, sys, termios
import warm_python
terminal, program, *arguments = sys.argv[1:]
fcntl.ioctl(int(terminal), termios.TIOCSCTTY, 0)
os.close(int(terminal))
if program == sys.executable:
    warm_python.run_as_main(arguments)
else:
    os.execv(program, [program, *arguments])
"""


class Ended(NamedTuple):
    """What a program at a terminal came to."""

    code: int
    output: str
    errors: str
    screen: str
    """Everything that the terminal showed."""


def at_terminal(
    words: Sequence[str],
    answers: Sequence[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
    typed_ahead: str = "",
    stdin: str | None = "",
    cwd: Path | None = None,
) -> Ended:
    """Run a program that has a terminal of its own; each prompt gets the next answer.

    Standard input and output are pipes, as with a program that starts another one; without a
    `stdin`, they are the terminal as well.
    """
    master, slave = pty.openpty()
    errors_to, errors_from = os.pipe()[::-1]
    if typed_ahead:
        os.write(master, typed_ahead.encode())
    has_pipes = stdin is not None
    child = PythonProcess[bytes](
        ["-c", _LEADER, str(slave), *words],
        stdin=subprocess.PIPE if has_pipes else slave,
        stdout=subprocess.PIPE if has_pipes else slave,
        stderr=errors_to if has_pipes else slave,
        pass_fds=[slave],
        start_new_session=True,
        env=dict(os.environ if environment is None else environment),
        cwd=cwd,
    )
    os.close(errors_to)
    typist = _Typist(master, answers)
    read_errors = _Reader(errors_from)
    try:
        given = stdin.encode() if has_pipes else None
        output, _ = child.communicate(given, timeout=LONG_ENOUGH_S)
    finally:
        child.kill()
        child.wait()
        os.close(slave)
        screen, errors = typist.done(), read_errors.done()
    return Ended(child.returncode, (output or b"").decode(), errors, screen)


def interlock_at_terminal(
    arguments: Sequence[str],
    answers: Sequence[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
    typed_ahead: str = "",
    stdin: str | None = "",
    cwd: Path | None = None,
) -> Ended:
    """Run a command of ours in the same way."""
    return at_terminal(
        [sys.executable, "-m", "interlock", *arguments],
        answers,
        environment=environment,
        typed_ahead=typed_ahead,
        stdin=stdin,
        cwd=cwd,
    )


Typing = Callable[..., None]
"""Types answers, one for each prompt that comes, at the terminal of this process."""


@contextmanager
def own_terminal(monkeypatch: pytest.MonkeyPatch) -> Generator[Typing]:
    """Give this process a terminal, at which each prompt gets the next answer."""
    master, slave = pty.openpty()
    with monkeypatch.context() as patched:
        patched.setattr(terminal, "DEVICE", Path(os.ttyname(slave)))
        typist = _Typist(master, ())
        try:
            yield typist.add
        finally:
            os.close(slave)
            typist.done()


class _Typist:
    """Reads what a terminal shows, and answers what looks like a prompt."""

    def __init__(self, master: int, answers: Sequence[str]) -> None:
        self._master = master
        self._answers = list(answers)
        self._screen = b""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._type, daemon=True)
        self._thread.start()

    def add(self, *answers: str) -> None:
        self._answers.extend(answers)

    def done(self) -> str:
        """Read what is left and close the terminal; return all that it showed."""
        self._over.set()
        self._thread.join(LONG_ENOUGH_S)
        os.close(self._master)
        return self._screen.decode("utf-8", "replace").replace("\r\n", "\n")

    def _type(self) -> None:
        while True:
            is_over = self._over.is_set()
            ready, _, _ = select.select([self._master], [], [], 0 if is_over else 0.02)
            if not ready:
                if is_over:
                    return
                continue
            try:
                more = os.read(self._master, 4096)
            except OSError:
                # Nobody has the other end open any more.
                return
            self._screen += more
            if more.endswith(b": "):
                # Who has no answer any more leaves: the end of input, as a person types it.
                answer = f"{self._answers.pop(0)}\n" if self._answers else "\x04"
                os.write(self._master, answer.encode())


class _Reader:
    """Reads a pipe to its end, beside everything else."""

    def __init__(self, descriptor: int) -> None:
        self._parts: list[bytes] = []
        self._stream = os.fdopen(descriptor, "rb")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def done(self) -> str:
        self._thread.join(LONG_ENOUGH_S)
        self._stream.close()
        return b"".join(self._parts).decode()

    def _read(self) -> None:
        self._parts.append(self._stream.read())
