"""Files that a call is asked to write: what stands there already is not lost by mistake."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from interlock.cli.call.options import remembered
from interlock.errors import InputError

_FORCE: Final = "interlock.force"
_BEGINNING: Final = 4_096
"""So many bytes are looked at for a mark of our own."""

force_option: Final = click.option(
    "--force",
    is_flag=True,
    expose_value=False,
    callback=remembered(_FORCE),
    help="Replace a file that is there.",
)
"""`check_is_free` obeys it."""


def check_is_free(path: Path | None, *, own: str | None = None) -> None:
    """Complain, before the work and not behind it, where a file cannot be written or is another's.

    What holds the words `own` at its beginning was written by us, and is replaced.
    """
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise InputError(f"`{path}` cannot be written: its folder does not exist")
    try:
        if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if click.get_current_context().meta.get(_FORCE) or not path.is_file():
            return
        with path.open("rb") as file:
            beginning = file.read(_BEGINNING)
    except OSError as error:
        raise InputError(f"`{path}` cannot be written: {error.strerror}") from error
    if beginning and (own is None or own.encode() not in beginning):
        what = "" if own is None else " and is no such file of Interlock"
        raise InputError(f"`{path}` exists{what}: name another, or replace it with `--force`")


def write_file(path: Path | None, text: Callable[[], str]) -> None:
    """Write what was asked for, where anything was."""
    if path is None:
        return
    try:
        path.write_text(text(), encoding="utf-8")
    except OSError as error:
        raise InputError(f"`{path}` cannot be written: {error.strerror}") from error
