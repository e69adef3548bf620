"""The work of a simulation: runs of the ledger and files of histories, by several processes.

The ledger is read here alone, a page at a time; what a run has come to so far travels with its
next page. What is kept does not grow with the ledger, and what comes out does not hang on who did
which part of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, cast

from interlock.backtest.history_files import HistoryFile, through
from interlock.backtest.past_simulation import simulated_past
from interlock.backtest.worker_pool import Job, in_turn, side_by_side
from interlock.model.past_run import PastRun
from interlock.model.rows import RunRow
from interlock.policy.config.document import MergedPolicy
from interlock.ports import Rows
from interlock.service.policies.answer_tally import Tally
from interlock.service.policies.policy_files import compile_policy
from interlock.service.policies.policy_simulation import Policies, RecordedRun
from interlock.views import units

_PAGE: Final = 1_000
_LITTLE_RECORDS: Final = 4_000
_LITTLE_BYTES: Final = 4 * 2**20
"""So little is decided sooner than other processes could begin."""

Advance = Callable[[int, int], None]


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

    Of the histories only the run of that name counts, where `only` names one by its beginning, or
    as audits do.
    """
    weights = [each.seq for each in runs] + [1 + each.work // _PAGE for each in files]
    jobs: list[Job[Tally]] = [] if rows is None else [_recorded_job(rows, run.id) for run in runs]
    jobs += [_history_job(file, only) for file in files]
    records, size = sum(each.seq for each in runs), sum(each.work for each in files)
    is_little = records < _LITTLE_RECORDS and size < _LITTLE_BYTES
    finished = (
        in_turn(jobs, policies)
        if processes <= 1 or len(jobs) <= 1 or is_little
        else side_by_side(jobs, _sent(policies), processes)
    )
    found: dict[int, Tally] = {}
    tally, done, added = Tally(), 0, 0
    advance(done, sum(weights))
    for place, result in finished:
        found[place] = result
        done += weights[place]
        advance(done, sum(weights))
        # They are added in their order, so that the first examples are always the same.
        while added in found:
            tally.add(found.pop(added))
            added += 1
    return tally


def _recorded_job(rows: Rows, run_id: str) -> Job[Tally]:
    run, last = RecordedRun(run_id), 0
    while page := rows.records(run_id, after=last, limit=_PAGE):
        last = page[-1].seq
        run = yield _followed, (run, [row.body for row in page])
    return run.close()


def _followed(policies: Policies, run: RecordedRun, bodies: Sequence[bytes]) -> RecordedRun:
    run.follow(bodies, policies)
    return run


def _history_job(file: HistoryFile, only: str | None) -> Job[Tally]:
    return (yield _read, (file, only))


def _read(policies: Policies, file: HistoryFile, only: str | None) -> Tally:
    """Return what a file comes to, whatever stands in it."""
    tally = Tally()

    def simulated(run: PastRun) -> Tally:
        is_meant = only is None or run.id.startswith(only) or units.session(run.id) == only
        return simulated_past(run, file.path, policies) if is_meant else Tally()

    for each in through(file, simulated, tally.note_unread):
        tally.add(each)
    return tally


def _sent(policies: Policies) -> Callable[[], Policies]:
    """Return what makes the same policies in another process."""
    before, after = (
        None if each is None else MergedPolicy(policy=each.config, hash=each.hash)
        for each in (policies.before, policies.after)
    )
    return partial(_compiled, before, cast("MergedPolicy", after), policies.since)


def _compiled(before: MergedPolicy | None, after: MergedPolicy, since: int) -> Policies:
    return Policies(
        None if before is None else compile_policy(before), compile_policy(after), since=since
    )
