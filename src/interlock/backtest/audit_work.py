"""The work of an audit: files are found, read by several processes, and never read twice.

What a file came to is written down as soon as it is known. Whoever is interrupted, or killed, goes
on from there: a file counts once it is written down whole, and again only after it has changed.
"""

from __future__ import annotations

import fcntl
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Final, NamedTuple

import msgspec

from interlock.backtest.audit_sum import AuditSum
from interlock.backtest.run_audit import AuditJudge, audited
from interlock.backtest.worker_pool import Job, in_turn, side_by_side
from interlock.errors import InputError, InterlockError
from interlock.model.audit import AuditedPlace, RunAudit
from interlock.model.past_run import Unread
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.config.document import MergedPolicy
from interlock.ports import HistoryReader
from interlock.service.policies.policy_files import compile_policy

_BEGINNING: Final = 64 * 1024
_JOURNAL: Final = "work.jsonl"
_LOCK: Final = "work.lock"
_MOST_UNREAD: Final = 20
"""So much that could not be read is told of one file."""
_LITTLE: Final = 4 * 2**20
"""So little is read sooner than other processes could begin."""


class HistoryFile(NamedTuple):
    """A file of past runs, and who reads it."""

    path: str
    reader: HistoryReader
    size: int
    stamp: str
    """Another one whenever something else would come out."""


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """What one file came to."""

    path: str
    stamp: str
    runs: tuple[RunAudit, ...] = ()
    unread: tuple[Unread, ...] = ()
    unread_count: int = 0


def found_files(
    places: Iterable[Path], readers: Sequence[HistoryReader], *, policy_hash: str, version: str
) -> tuple[list[HistoryFile], list[Unread]]:
    """Return every history below some places, the largest first, and what could not be opened."""
    files: dict[str, HistoryFile] = {}
    unread: list[Unread] = []
    for place in places:
        is_named = not place.is_dir()
        for path in (place,) if is_named else _below(place, unread):
            try:
                reader = _reader_of(path, readers)
                status = path.stat()
            except OSError as error:
                unread.append(_unopened(path, error.strerror or str(error)))
                continue
            name = os.path.realpath(path)
            if reader is not None and not _is_text(name):
                unread.append(_unopened(path, "its name is not UTF-8: rename it, or copy it"))
            elif reader is not None:
                stamp = (
                    f"{status.st_size} {status.st_mtime_ns} {reader.name} {reader.version}"
                    f" {policy_hash} {version}"
                )
                files[name] = HistoryFile(name, reader, status.st_size, stamp)
            elif is_named:
                formats = ", ".join(each.name for each in readers)
                reason = f"it is of no format that is known ({formats})"
                unread.append(_unopened(path, reason))
    return sorted(files.values(), key=lambda each: (-each.size, each.path)), unread


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


def work(
    files: Sequence[HistoryFile],
    policy: CompiledPolicy,
    *,
    folder: Path,
    processes: int,
    advance: Callable[[int, int], None],
) -> AuditSum:
    """Read every file that is not known yet, and return what all of them come to.

    `advance` is told how many bytes are done, of how many.
    """
    total, done = sum(each.size for each in files), 0
    result = AuditSum()
    with _journal(folder) as journal:
        wanted = {each.path: each for each in files}
        for line in _known(folder / _JOURNAL, wanted):
            _add(result, line)
            done += wanted.pop(line.path).size
            advance(done, total)
        for line in _read(list(wanted.values()), policy, processes):
            journal.write(msgspec.json.encode(line) + b"\n")
            journal.flush()
            _add(result, line)
            done += wanted[line.path].size
            advance(done, total)
    _forget_others(folder, {each.path: each for each in files})
    return result


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


def _add(result: AuditSum, line: _Line) -> None:
    for run in line.runs:
        result.add(run)
    result.add_unread(line.unread)
    more = line.unread_count - len(line.unread)
    if more:
        result.add_unread([Unread(path=line.path, reason=f"{more:,} more lines like these")])


@contextmanager
def _journal(folder: Path) -> Generator[IO[bytes]]:
    """Yield what is written to; only one audit at a time writes there."""
    with _private(folder / _LOCK) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "another audit is at work: wait for it, or end it (what it has read is kept)"
            ) from None
        path = folder / _JOURNAL
        _end_last_line(path)
        with _private(path) as journal:
            yield journal


def _private(path: Path) -> IO[bytes]:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    return os.fdopen(os.open(path, flags, 0o600), "ab")


def _end_last_line(path: Path) -> None:
    """Cut off what a killed process had begun to write."""
    with suppress(FileNotFoundError), path.open("rb+") as file:
        size = file.seek(0, os.SEEK_END)
        end = size
        while end:
            begin = max(0, end - _BEGINNING)
            file.seek(begin)
            newline = file.read(end - begin).rfind(b"\n")
            if newline >= 0:
                end = begin + newline + 1
                break
            end = begin
        if end < size:
            file.truncate(end)


def _known(path: Path, wanted: Mapping[str, HistoryFile]) -> Iterator[_Line]:
    """Yield what is known of files that are as they were, each once."""
    places: dict[str, int] = {}
    for offset, line in _lines(path):
        file = wanted.get(line.path)
        if file is not None and file.stamp == line.stamp:
            places[line.path] = offset
    for _, line in _lines(path, frozenset(places.values())):
        yield line


def _lines(path: Path, only: frozenset[int] | None = None) -> Iterator[tuple[int, _Line]]:
    """Yield the lines of a journal with where they begin; what is damaged is left out."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        offset = 0
        for line in file:
            if only is None or offset in only:
                with suppress(msgspec.DecodeError):
                    yield offset, msgspec.json.decode(line, type=_Line)
            offset += len(line)


def _forget_others(folder: Path, wanted: Mapping[str, HistoryFile]) -> None:
    """Drop what is outdated: of files that have changed since, or are gone."""
    path = folder / _JOURNAL
    whole = path.with_suffix(".new")
    whole.unlink(missing_ok=True)
    latest = {line.path: offset for offset, line in _lines(path) if _still_counts(line, wanted)}
    with _private(whole) as file:
        for _, line in _lines(path, frozenset(latest.values())):
            file.write(msgspec.json.encode(line) + b"\n")
    whole.replace(path)


def _still_counts(line: _Line, wanted: Mapping[str, HistoryFile]) -> bool:
    file = wanted.get(line.path)
    return Path(line.path).exists() if file is None else file.stamp == line.stamp


def _read(files: Sequence[HistoryFile], policy: CompiledPolicy, processes: int) -> Iterator[_Line]:
    """Yield what each file comes to, as it is known."""
    jobs = [_job(file) for file in files]
    if processes <= 1 or len(files) <= 1 or sum(each.size for each in files) < _LITTLE:
        read = in_turn(jobs, AuditJudge(policy))
    else:
        merged = MergedPolicy(policy=policy.config, hash=policy.hash)
        read = side_by_side(jobs, partial(_judge_by, merged), processes)
    for _, line in read:
        yield line


def _judge_by(merged: MergedPolicy) -> AuditJudge:
    return AuditJudge(compile_policy(merged))


def _job(file: HistoryFile) -> Job[_Line]:
    return (yield _file_audit, (file,))


def _file_audit(judge: AuditJudge, file: HistoryFile) -> _Line:
    """Return what a file comes to, whatever stands in it."""
    runs: list[RunAudit] = []
    unread: list[Unread] = []
    count = 0

    def note(each: Unread) -> None:
        nonlocal count
        count += 1
        if len(unread) < _MOST_UNREAD:
            unread.append(each)

    try:
        read = file.reader.runs(Path(file.path), note)
        runs.extend(audited(run, file.path, judge) for run in read)
    except (OSError, InterlockError) as error:
        note(Unread(path=file.path, reason=str(error)))
    return _Line(
        path=file.path,
        stamp=file.stamp,
        runs=tuple(runs),
        unread=tuple(unread),
        unread_count=count,
    )
