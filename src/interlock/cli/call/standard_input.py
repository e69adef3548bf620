"""What a call is given as an argument, or on standard input where that is `-`."""

from __future__ import annotations

import sys

from interlock.errors import InputError


def given_text(argument: str, *, most: int, what: str) -> str:
    """Return the argument itself; for `-`, what standard input holds, so many bytes at most."""
    if argument != "-":
        return argument
    text = sys.stdin.buffer.read(most + 1)
    if len(text) > most:
        raise InputError(f"{what} longer than {most} bytes")
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{what} not UTF-8: {error}") from error
