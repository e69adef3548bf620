"""The histories in some places: which files they are, who reads each, and what becomes of them."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from interlock.errors import InterlockError
from interlock.model.audit import AuditedPlace
from interlock.model.past_run import PastRun, Unread
from interlock.ports import HistoryReader

_BEGINNING: Final = 64 * 1024
_PACKED: Final = 8
"""So much larger is what a packed file holds."""
T = TypeVar("T")


class HistoryFile(NamedTuple):
    """A file of past runs, and who reads it."""

    path: str
    reader: HistoryReader
    size: int
    stamp: str
    """Another one whenever something else may stand in it."""

    @property
    def work(self) -> int:
        """How much there is to read in it, in bytes and as far as one can tell beforehand."""
        return self.size * _PACKED if self.path.endswith(".gz") else self.size


def found_files(
    places: Iterable[Path], readers: Sequence[HistoryReader]
) -> tuple[list[HistoryFile], list[Unread]]:
    """Return every history below some places, the largest first, and what could not be opened."""
    files: dict[str, HistoryFile] = {}
    unread: list[Unread] = []
    for place in places:
        # One that may not be looked at is told like a file.
        is_named = not os.path.isdir(place)  # noqa: PTH112 - it raises nothing
        for path in (place,) if is_named else _below(place, unread):
            try:
                reader = _reader_of(path, readers)
                status = path.stat()
                name = os.path.realpath(path)
                stamp = "" if reader is None else _stamp(Path(name), reader)
            except OSError as error:
                unread.append(_unopened(path, error.strerror or str(error)))
                continue
            if reader is not None and not _is_text(name):
                unread.append(_unopened(path, "its name is not UTF-8: rename it, or copy it"))
            elif reader is not None:
                files[name] = HistoryFile(name, reader, status.st_size, stamp)
            elif is_named:
                formats = ", ".join(each.name for each in readers)
                unknown = f"it is of no format that is known ({formats})"
                unread.append(_unopened(path, unknown if status.st_size else "it is empty"))
    return sorted(files.values(), key=lambda each: (-each.size, each.path)), unread


def through(
    file: HistoryFile, work: Callable[[PastRun], T], unread: Callable[[Unread], None]
) -> Iterator[T]:
    """Yield what each run of a file comes to; whatever keeps it from being read is told."""
    try:
        for run in file.reader.runs(Path(file.path), unread):
            yield work(run)
    except (OSError, InterlockError) as error:
        unread(Unread(path=file.path, reason=str(error)))


def read_places(files: Iterable[HistoryFile], places: Iterable[Path]) -> list[AuditedPlace]:
    """Return how much was read of each place, by whom."""
    counts: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    above = sorted({os.path.realpath(each) for each in places}, key=len, reverse=True)
    for each in files:
        place = next((root for root in above if f"{each.path}/".startswith(f"{root}/")), each.path)
        counts[each.reader.name, place] += 1
        sizes[each.reader.name, place] += each.size
    return [
        AuditedPlace(client=client, path=path, files=count, size=sizes[client, path])
        for (client, path), count in sorted(counts.items())
    ]


def _stamp(path: Path, reader: HistoryReader) -> str:
    stamp = hashlib.sha256(f"{reader.name} {reader.version}".encode())
    for each in sorted({path, *reader.beside(path)}):
        with suppress(OSError):
            status = each.stat()
            stamp.update(os.fsencode(f"\0{each}\0{status.st_size}\0{status.st_mtime_ns}"))
    return stamp.hexdigest()


def _is_text(name: str) -> bool:
    return os.fsencode(name).decode("utf-8", "replace") == name


def _unopened(path: Path | str, reason: str) -> Unread:
    shown = str(path).encode("utf-8", "replace").decode()
    return Unread(path=shown, reason=reason)


def _below(folder: Path, unread: list[Unread]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        unread.append(_unopened(error.filename, error.strerror or str(error)))

    for parent, folders, names in os.walk(folder, onerror=note):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names))


def _reader_of(path: Path, readers: Sequence[HistoryReader]) -> HistoryReader | None:
    """Return who reads a file, by how it begins; nobody reads what is no file."""
    if not path.is_file():
        if path.exists():
            return None
        raise FileNotFoundError(2, "there is no such file or folder", str(path))
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
    return next((each for each in readers if each.reads(path, beginning)), None)
