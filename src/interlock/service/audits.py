"""Where audits are kept: one file each, and the marks that people gave, in the order they came.

An audit is written whole or not at all. A mark is a line of its own; one that was cut off in the
middle, as by a full disk, is left out and harms no other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import msgspec

from interlock.errors import InputError
from interlock.model.audit import Audit, Mark, Marked, Moment

_MARKS: Final = "marks.jsonl"
_ENDING: Final = ".audit.json"
_MOST_KEPT: Final = 20
"""So many audits are kept; of older ones only the marks."""


class AuditFolder:
    """Keeps audits and marks in a folder that only its owner reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, audit: Audit) -> Path:
        """Write an audit down, and drop the oldest where there are too many; return its file."""
        self.made()
        path = self.folder / f"{audit.id}{_ENDING}"
        whole = path.with_suffix(".new")
        with _opened(whole, os.O_CREAT | os.O_TRUNC) as file:
            file.write(msgspec.json.encode(audit))
            file.flush()
            os.fsync(file.fileno())
        whole.replace(path)
        for old in self._files()[_MOST_KEPT:]:
            old.unlink(missing_ok=True)
        return path

    def made(self) -> Path:
        """Make sure that the folder is there; return it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.folder

    def audits(self) -> Iterator[Audit]:
        """Yield every audit that is kept, the newest first; one that cannot be read is left out."""
        for path in self._files():
            with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
                yield msgspec.json.decode(path.read_bytes(), type=Audit)

    def latest(self) -> Audit | None:
        """Return the newest audit; None where there is none."""
        return next(self.audits(), None)

    def found(self, beginning: str) -> Audit:
        """Return the newest audit whose id begins so; InputError where there is none."""
        for audit in self.audits():
            if beginning and audit.id.startswith(beginning):
                return audit
        raise InputError(
            f"there is no audit `{beginning}`: `interlock audit list` shows those that are kept"
        )

    def moment(self, beginning: str) -> Moment:
        """Return a moment of any kept audit by the beginning of its id."""
        found = {
            moment.id: moment
            for audit in self.audits()
            for moment in audit.moments
            if beginning and moment.id.startswith(beginning.lower())
        }
        if not found:
            raise InputError(
                f"no kept audit has a moment `{beginning}`: `interlock audit show` lists them"
            )
        if len(found) > 1:
            raise InputError(
                f"`{beginning}` is the beginning of {len(found)} moments: {', '.join(found)}"
            )
        return next(iter(found.values()))

    def mark(self, moment: Moment, mark: Mark, *, by: str, at: int) -> Marked:
        """Write down what a person thinks of a moment."""
        marked = Marked(moment=moment, mark=mark, by=by, at=at)
        self.made()
        path = self.folder / _MARKS
        with _opened(path, os.O_CREAT | os.O_APPEND) as file:
            file.write(_behind(path) + msgspec.json.encode(marked) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        return marked

    def marks(self) -> Mapping[str, Marked]:
        """Return the last mark of every moment that has one, by the moment's id.

        One that was taken back is none.
        """
        try:
            lines = (self.folder / _MARKS).read_bytes().split(b"\n")
        except FileNotFoundError:
            return {}
        found: dict[str, Marked] = {}
        for line in lines:
            with suppress(msgspec.DecodeError, UnicodeDecodeError):
                marked = msgspec.json.decode(line, type=Marked)
                found[marked.moment.id] = marked
        return {key: each for key, each in found.items() if each.mark is not Mark.NONE}

    def _files(self) -> list[Path]:
        """Return the files of audits, the newest first: an id begins with its time."""
        return sorted(self.folder.glob(f"*{_ENDING}"), reverse=True)


def _behind(path: Path) -> bytes:
    """Return what ends the last line of a file, where somebody was cut off before its end."""
    with path.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 1))
        return b"\n" if file.read() not in (b"", b"\n") else b""


def _opened(path: Path, flags: int) -> IO[bytes]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
    return os.fdopen(descriptor, "wb")
