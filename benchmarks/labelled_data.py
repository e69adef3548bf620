"""Where labelled data lies, and how its rows are read: files of JSON lines, packed or not.

A file belongs to the kind that its name begins with: `stops.dev.jsonl.gz` and `stops.chat.jsonl`
both hold stops. What cannot be read is counted and left out.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from interlock.errors import InputError

KINDS = ("commands", "secrets", "stops", "trajectories", "sessions")
_ENDINGS = (".jsonl", ".jsonl.gz")
_DIGEST = 12

Row = TypeVar("Row")


class Read(msgspec.Struct, Generic[Row], frozen=True):
    """What a file holds: its rows, and how many lines are none."""

    file: str
    digest: str
    rows: list[Row]
    unread: int


def data_folder(given: Path | None = None) -> Path | None:
    """Return the folder that was named, or the one of `INTERLOCK_SHARED`, if it is there."""
    shared = os.environ.get("INTERLOCK_SHARED")
    folder = given or (Path(shared) / "data" if shared else None)
    return folder if folder is not None and folder.is_dir() else None


def files_of(kind: str, folder: Path | None) -> list[Path]:
    """Return the files of a kind, by name."""
    if folder is None:
        return []
    found = (each for each in folder.iterdir() if each.name.endswith(_ENDINGS))
    return sorted(each for each in found if each.name.startswith(kind))


def data_path(kind: str) -> Path | None:
    """Return the first file of a kind in the usual folder, if there is one."""
    return next(iter(files_of(kind, data_folder())), None)


def read(path: Path, row_of: Callable[[bytes], Row]) -> Read[Row]:
    """Return the rows of a file; a line that is no row, or where a file breaks off, is counted."""
    rows: list[Row] = []
    unread = 0
    try:
        for line in lines_of(path):
            try:
                rows.append(row_of(line))
            except (msgspec.DecodeError, UnicodeDecodeError, InputError):
                unread += 1
    except (OSError, EOFError, zlib.error):
        unread += 1
    return Read(path.name, hashlib.sha256(path.read_bytes()).hexdigest()[:_DIGEST], rows, unread)


def lines_of(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file that are not empty."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        yield from (each for each in lines if each.strip())
