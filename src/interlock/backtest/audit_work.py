"""The work of an audit: files are read by several processes, and never read twice.

What a file came to is written down as soon as it is known. Whoever is interrupted, or killed, goes
on from there: a file counts once it is written down whole, and again only after it has changed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Final

import msgspec

from interlock.backtest.audit_sum import AuditSum
from interlock.backtest.history_files import HistoryFile, through
from interlock.backtest.run_audit import AuditJudge, audited
from interlock.backtest.worker_pool import Job, in_turn, side_by_side
from interlock.errors import InputError
from interlock.model.audit import RunAudit
from interlock.model.past_run import Unread
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.config.document import MergedPolicy
from interlock.service.policies.policy_files import compile_policy

_PIECE: Final = 64 * 1024
_JOURNAL: Final = "work.jsonl"
_LOCK: Final = "work.lock"
_MOST_UNREAD: Final = 20
"""So much that could not be read is told of one file."""
_LITTLE: Final = 4 * 2**20
"""So little is read sooner than other processes could begin."""


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """What one file came to."""

    path: str
    stamp: str
    runs: tuple[RunAudit, ...] = ()
    unread: tuple[Unread, ...] = ()
    unread_count: int = 0


def work(
    files: Sequence[HistoryFile],
    policy: CompiledPolicy,
    *,
    version: str,
    folder: Path,
    processes: int,
    advance: Callable[[int, int], None],
) -> AuditSum:
    """Read every file that is not known yet, and return what all of them come to.

    `advance` is told how many bytes are done, of how many: those of whole files.
    """
    total, done = sum(each.work for each in files), 0
    files = [each._replace(stamp=f"{each.stamp} {policy.hash} {version}") for each in files]
    result = AuditSum()
    advance(done, total)
    with _journal(folder) as journal:
        wanted = {each.path: each for each in files}
        for line in _known(folder / _JOURNAL, wanted):
            _add(result, line)
            done += wanted.pop(line.path).work
            advance(done, total)
        for line in _read(list(wanted.values()), policy, processes):
            journal.write(msgspec.json.encode(line) + b"\n")
            journal.flush()
            _add(result, line)
            done += wanted[line.path].work
            advance(done, total)
    _forget_others(folder, {each.path: each for each in files})
    return result


def _add(result: AuditSum, line: _Line) -> None:
    for run in line.runs:
        result.add(run)
    result.add_unread(line.unread, unlisted=line.unread_count - len(line.unread))


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
            begin = max(0, end - _PIECE)
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
                with suppress(msgspec.DecodeError, UnicodeDecodeError):
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
    if processes <= 1 or len(files) <= 1 or sum(each.work for each in files) < _LITTLE:
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
    unread: list[Unread] = []
    count = 0

    def note(each: Unread) -> None:
        nonlocal count
        count += 1
        if len(unread) < _MOST_UNREAD:
            unread.append(each)

    runs = through(file, lambda run: audited(run, file.path, judge), note)
    return _Line(
        path=file.path,
        stamp=file.stamp,
        runs=tuple(runs),
        unread=tuple(unread),
        unread_count=count,
    )
