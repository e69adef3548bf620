"""The work of a simulation: runs of the ledger and files of histories, by several processes.

The ledger is read here alone, a page at a time; what a run has come to so far travels with its
next page. What is kept does not grow with the ledger, and what comes out does not hang on who did
which part of it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Final, NamedTuple, cast

from interlock.backtest.audit_work import HistoryFile
from interlock.backtest.past_simulation import simulated_past
from interlock.errors import InterlockError
from interlock.model.past_run import Unread
from interlock.model.rows import RunRow
from interlock.model.run import LEDGER_RUN
from interlock.policy.config.document import MergedPolicy
from interlock.ports import Rows
from interlock.service.policies.answer_tally import Tally
from interlock.service.policies.policy_files import compile_policy
from interlock.service.policies.policy_simulation import Policies, RecordedRun

_PAGE: Final = 1_000
_RUNS: Final = 500
_LITTLE_RECORDS: Final = 4_000
_LITTLE_BYTES: Final = 4 * 2**20
"""So little is decided sooner than other processes could begin."""
_AHEAD: Final = 3
"""So many parts per process are under way."""

Advance = Callable[[int, int], None]
_Task = tuple[Callable[..., object], tuple[object, ...]]
_Job = Generator[_Task, object, Tally]
"""Yields what is to be done, is sent what came of it, and returns what all of it comes to."""


class Amount(NamedTuple):
    """How much there is to do."""

    records: int
    size: int

    @property
    def is_little(self) -> bool:
        """Whether one process does it soonest."""
        return self.records < _LITTLE_RECORDS and self.size < _LITTLE_BYTES


def active_runs(rows: Rows, *, since: int) -> Iterator[RunRow]:
    """Yield the runs of agents that were active since then, the newest first."""
    behind: tuple[int, str] | None = None
    while page := rows.runs(limit=_RUNS, behind=behind):
        for row in page:
            if row.updated_at < since:
                return
            if row.id != LEDGER_RUN:
                yield row
        behind = page[-1].updated_at, page[-1].id


def simulate(
    rows: Rows | None,
    runs: Sequence[RunRow],
    files: Sequence[HistoryFile],
    policies: Policies,
    *,
    only: str | None = None,
    processes: int,
    advance: Advance,
) -> Tally:
    """Return what both policies come to on runs of the ledger and on files of histories.

    Of the histories only the run of that name counts, where `only` names one.
    """
    weights = [each.seq for each in runs] + [1 + each.size // _PAGE for each in files]
    jobs: list[_Job] = [] if rows is None else [_recorded_job(rows, run.id) for run in runs]
    jobs += [_history_job(file, only) for file in files]
    amount = Amount(sum(each.seq for each in runs), sum(each.size for each in files))
    finished = (
        _in_turn(jobs, policies)
        if processes <= 1 or len(jobs) <= 1 or amount.is_little
        else _side_by_side(jobs, policies, processes)
    )
    found: dict[int, Tally] = {}
    tally, done, added = Tally(), 0, 0
    for place, result in finished:
        found[place] = result
        done += weights[place]
        advance(done, sum(weights))
        # They are added in their order, so that the first examples are always the same.
        while added in found:
            tally.add(found.pop(added))
            added += 1
    return tally


def _recorded_job(rows: Rows, run_id: str) -> _Job:
    run, last = RecordedRun(run_id), 0
    while page := rows.records(run_id, after=last, limit=_PAGE):
        last = page[-1].seq
        run = cast("RecordedRun", (yield _followed, (run, [row.body for row in page])))
    return run.close()


def _followed(policies: Policies, run: RecordedRun, bodies: Sequence[bytes]) -> RecordedRun:
    run.follow(bodies, policies)
    return run


def _history_job(file: HistoryFile, only: str | None) -> _Job:
    return cast("Tally", (yield _read, (file, only)))


def _read(policies: Policies, file: HistoryFile, only: str | None) -> Tally:
    """Return what a file comes to, whatever stands in it."""
    tally = Tally()
    try:
        for run in file.reader.runs(Path(file.path), tally.note_unread):
            if only is None or run.id.startswith(only):
                tally.add(simulated_past(run, file.path, policies))
    except (OSError, InterlockError) as error:
        tally.note_unread(Unread(path=file.path, reason=str(error)))
    return tally


def _in_turn(jobs: Iterable[_Job], policies: Policies) -> Iterator[tuple[int, Tally]]:
    for place, job in enumerate(jobs):
        result: object = None
        while True:
            try:
                work, arguments = job.send(result)
            except StopIteration as ended:
                yield place, ended.value
                break
            result = work(policies, *arguments)


def _side_by_side(
    jobs: Sequence[_Job], policies: Policies, processes: int
) -> Iterator[tuple[int, Tally]]:
    pool = ProcessPoolExecutor(
        processes, get_context("spawn"), initializer=_begin, initargs=(_sent(policies),)
    )
    waiting = iter(enumerate(jobs))
    pending: dict[Future[object], tuple[int, _Job]] = {}

    def go_on(place: int, job: _Job, result: object) -> Tally | None:
        try:
            work, arguments = job.send(result)
        except StopIteration as ended:
            return ended.value
        pending[pool.submit(_work, work, arguments)] = place, job
        return None

    try:
        while True:
            for place, job in islice(waiting, _AHEAD * processes - len(pending)):
                if (tally := go_on(place, job, None)) is not None:
                    yield place, tally
            if not pending:
                return
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                place, job = pending.pop(future)
                if (tally := go_on(place, job, future.result())) is not None:
                    yield place, tally
    except BrokenExecutor:
        raise InterlockError(
            "a process that decided again was ended from outside, perhaps for want of memory:"
            " run the same with `--processes 1`"
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _Sent(NamedTuple):
    """The policies as they are handed to another process."""

    before: MergedPolicy | None
    after: MergedPolicy
    since: int


def _sent(policies: Policies) -> _Sent:
    before, after = (
        None if each is None else MergedPolicy(policy=each.config, hash=each.hash)
        for each in (policies.before, policies.after)
    )
    return _Sent(before, cast("MergedPolicy", after), policies.since)


_policies: list[Policies] = []
"""What a process decides by, set once as it begins."""


def _begin(sent: _Sent) -> None:
    """Get ready: who interrupts us interrupts the first process, and all end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    before = None if sent.before is None else compile_policy(sent.before)
    _policies[:] = [Policies(before, compile_policy(sent.after), since=sent.since)]


def _work(work: Callable[..., object], arguments: tuple[object, ...]) -> object:
    return work(_policies[0], *arguments)
