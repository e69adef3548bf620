"""The terminal of the person who calls: what they decide is shown and typed there only.

It is opened here, whatever stands on standard input: a pipe, an argument or a variable of the
environment can be filled by any program, and what is typed ahead is thrown away.
"""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from interlock.cli.text.render import escape
from interlock.errors import InputError, NotPermittedError
from interlock.service.people.credentials import checked_passphrase

DEVICE: Final = Path("/dev/tty")
"""The terminal that controls this process, if any does."""
_LOCAL_MODES: Final = 3
_LONGEST_LINE: Final = 4096
_MOST_TRIES: Final = 3
_NO_TERMINAL: Final = (
    "there is no terminal to type a passphrase at, and it is taken from nowhere else: a person"
    " calls this in a terminal of their own"
)


class Terminal:
    """An open terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def typed(self, prompt: str) -> str:
        """Return the line that is typed after the prompt, without showing it."""
        line = self._asked(prompt, echo=0)
        self.show("")
        return line

    def answered(self, prompt: str) -> str:
        """Return the line that is typed after the prompt, where everybody may see it."""
        return self._asked(prompt, echo=termios.ECHO).strip()

    def new_passphrase(self, whose: str) -> str:
        """Return a passphrase that was typed twice; who errs is asked again, three times in all."""
        self.show("A passphrase has 12 characters or more, four words for example. You do not see")
        self.show("what you type.")
        tries = 1
        while True:
            try:
                return self._typed_twice(whose)
            except InputError as error:
                if tries == _MOST_TRIES:
                    raise
                tries += 1
                self.show(f"{error}; try {tries} of {_MOST_TRIES}")

    def _typed_twice(self, whose: str) -> str:
        passphrase = self.typed(f"new passphrase of {whose}, 12 characters or more")
        checked_passphrase(passphrase)
        if self.typed("the same once more") != passphrase:
            raise InputError("the two are not the same: nothing was changed")
        return passphrase

    def show(self, text: str, end: str = "\n") -> None:
        """Show a text here, and nowhere that a program reads."""
        os.write(self._descriptor, f"{escape(text)}{end}".encode("utf-8", "backslashreplace"))

    def _asked(self, prompt: str, *, echo: int) -> str:
        before = termios.tcgetattr(self._descriptor)
        modes = list(before)
        modes[_LOCAL_MODES] = before[_LOCAL_MODES] & ~termios.ECHO | termios.ICANON | echo
        # Both throw away what was typed, or pushed in by a program, before it was asked for.
        termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, modes)
        try:
            self.show(f"{prompt}: ", end="")
            return self._line()
        finally:
            termios.tcsetattr(self._descriptor, termios.TCSAFLUSH, before)

    def _line(self) -> str:
        line = b""
        while not line.endswith(b"\n"):
            try:
                more = os.read(self._descriptor, _LONGEST_LINE)
            except OSError as error:
                # A program in the background may not read from the terminal.
                raise NotPermittedError(_NO_TERMINAL) from error
            line += more
            if not more or len(line) > _LONGEST_LINE:
                raise InputError("nothing was typed: nothing was changed")
        try:
            return line[:-1].decode()
        except UnicodeDecodeError as error:
            raise InputError(f"what was typed is not UTF-8: {error}") from error


@contextmanager
def terminal() -> Generator[Terminal]:
    """Open the terminal of this process; raise NotPermittedError where there is none."""
    # Who is in the background is told so, and not stopped.
    job_control = {signal.SIGTTIN, signal.SIGTTOU}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, job_control)
    try:
        descriptor = _opened()
        try:
            yield Terminal(descriptor)
        finally:
            os.close(descriptor)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _opened() -> int:
    try:
        descriptor = os.open(DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise NotPermittedError(_NO_TERMINAL) from error
    if not os.isatty(descriptor):
        os.close(descriptor)
        raise NotPermittedError(_NO_TERMINAL)
    return descriptor
