"""Files with runs in them, as one document or one to a line: what their readers have in common."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import final

import msgspec

from interlock.adapters.histories.bounded_lines import bounded_lines, bounded_whole, unpacked
from interlock.adapters.histories.packed_json import Table, fields, tables
from interlock.errors import InputError
from interlock.model.past_run import PastRun, PastStep, Unread


@final
class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands, and who is told what of it cannot be read."""

    path: Path
    place: int
    """Its place in the file, from 1 on."""
    unread: Callable[[Unread], None]

    @property
    def name(self) -> str:
        """What tells its file from others: many are named alike, and the folders they are in."""
        return "/".join(self.path.parts[-3:])

    def tell(self, reason: str) -> None:
        """Tell that something here cannot be read."""
        self.unread(Unread(path=str(self.path), reason=reason, line=self.place))

    def tables(self, part: object, name: str) -> Iterator[tuple[int, Table]]:
        """Yield each table of a list with its place; whatever else stands there is told."""
        return tables(part, lambda place, why: self.tell(f"{name}[{place - 1}]: {why}"))

    def guarded(self, steps: Iterator[PastStep]) -> Iterator[PastStep]:
        """Yield steps up to where something is broken in a way that leaves no next one."""
        try:
            yield from steps
        except InputError as error:
            self.tell(str(error))

    def made(self, make: Callable[[Source], PastRun]) -> Iterator[PastRun]:
        """Yield a run; where there is none, that is told."""
        try:
            run = make(self)
        except InputError as error:
            self.tell(str(error))
            return
        yield run


class RunFile(abc.ABC):
    """Reads files that are kept anywhere, packed or not."""

    name: str
    version: int = 1

    def usual_places(self, home: Path, environment: Mapping[str, str]) -> Sequence[Path]:
        """Return where such files are kept on this computer: nowhere in particular."""
        del home, environment
        return ()

    def reads(self, path: Path, beginning: bytes) -> bool:
        """Return whether a file is of this format, by its name and how it begins."""
        return self._is_its(path, unpacked(beginning).lstrip())

    def beside(self, path: Path) -> Sequence[Path]:
        """Return which other files are read along with a file: none."""
        del path
        return ()

    @abc.abstractmethod
    def _is_its(self, path: Path, beginning: bytes) -> bool: ...


class RunLines(RunFile):
    """Reads files of which each line is a run."""

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield every run of a file."""
        for number, line in bounded_lines(path, unread):
            if line.strip():
                source = Source(path=path, place=number, unread=unread)
                yield from source.made(partial(self._run, line))

    @abc.abstractmethod
    def _run(self, line: bytes, source: Source) -> PastRun:
        """Return a run; raise InputError where it is none."""


class RunDocument(RunFile):
    """Reads files that are one document."""

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield every run of a file."""
        if (content := bounded_whole(path, unread)) is None:
            return
        try:
            head, rows = self._taken_apart(content)
        except InputError as error:
            unread(Unread(path=str(path), reason=str(error)))
            return
        for place, row in enumerate(rows, 1):
            source = Source(path=path, place=place, unread=unread)
            yield from source.made(partial(self._run_of, row, head))

    def _run_of(self, row: object, head: Table, source: Source) -> PastRun:
        return self._run(fields(row), head, source)

    def _taken_apart(self, content: bytes) -> tuple[Table, Iterable[object]]:
        """Return what is said of all runs, and the runs: here the document is one."""
        whole = fields(content)
        return whole, (whole,)

    @abc.abstractmethod
    def _run(self, row: Table, head: Table, source: Source) -> PastRun:
        """Return a run; raise InputError where it is none."""


def is_lines(path: Path, beginning: bytes) -> bool:
    """Return whether a file is lines of JSON, by its name and how it begins."""
    return path.name.endswith((".jsonl", ".jsonl.gz")) and beginning.startswith(b"{")


def is_json(path: Path) -> bool:
    """Return whether a file says by its name that it is one document."""
    return path.name.endswith((".json", ".json.gz"))


def has_all(beginning: bytes, *names: str) -> bool:
    """Return whether all these fields are named where a file begins."""
    return all(f'"{name}"'.encode() in beginning for name in names)


def repository_of(instance: str) -> str:
    """Return the repository that the name of a task holds, as SWE-bench writes it."""
    owner, bar, rest = instance.partition("__")
    return f"{owner}/{rest.rsplit('-', 1)[0]}" if bar and rest else ""
