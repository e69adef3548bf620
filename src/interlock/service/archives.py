"""Old runs: taken out of the ledger into archives, and put back.

A run is archived together with all runs above and below it, once every one of them has ended long
enough ago, and nothing of it is open. The archive is on the disk before anything is taken out, and
taking out is one commit: a crash in between leaves a file too many, and nothing missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from interlock.errors import DamagedError, InputError, LedgerError, UnavailableError
from interlock.ledger.archive import Archive, verified_archive, written_archive
from interlock.ledger.chain import decoded
from interlock.ledger.gaps import GapFinder
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.stores.memory import MemoryStore
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.ledger.transaction import Transaction
from interlock.ledger.verification import verify_all
from interlock.model.budget import Account
from interlock.model.events import LedgerArchived, LedgerRestored, Record
from interlock.model.loop_state import DAY
from interlock.model.principal import SYSTEM, Principal
from interlock.model.rows import ARCHIVED, GapRow, RunRow
from interlock.model.run import LEDGER_RUN, RunStatus
from interlock.model.system_loop import LOOP_RUN
from interlock.ports import ALL, Clock, Rows
from interlock.service.governor import Governor

_MOST_RUNS: Final = 500
"""Each is locked while it is taken out, and a server has room for some thousand locks."""
_MOST_RECORDS: Final = 50_000
"""Nobody else writes to a ledger in a file while that many are taken out."""
_FOREVER: Final = 2**63 - 1
_OWN: Final = (LEDGER_RUN, LOOP_RUN)


class Grounds(Protocol):
    """Whoever holds every record against those before it."""

    def take(self, record: Record) -> None:
        """Hold one more record against those before it."""
        ...

    def skip(self, accounts: Mapping[str, Account]) -> None:
        """Go on behind archived records."""
        ...

    @property
    def problems(self) -> tuple[str, ...]:
        """What does not follow from what was recorded before."""
        ...


class ArchiveWritten(msgspec.Struct, frozen=True, kw_only=True):
    """An archive, and what was taken out of the ledger for it."""

    file: str
    digest: str
    runs: int
    records: int


def archive_folder(ledger: Ledger, named: Path | None) -> Path:
    """Return where archives go: if nobody says so, beside the ledger's file."""
    if named is not None:
        return named.expanduser().absolute()
    if not isinstance(ledger.store, SqliteStore):
        raise InputError(
            "a ledger in Postgres has no folder for archives: name one with --to, or in the policy"
            " as `ledger.archive-folder`"
        )
    return ledger.store.path.absolute().parent / "archives"


def archive_as_policy_says(
    governor: Governor, grounds: Callable[[Rows], Grounds]
) -> Sequence[ArchiveWritten]:
    """Archive what the user's policy does not want to be kept any longer: a server does so."""
    kept, clock = governor.context.policy.config.ledger, governor.clock
    if kept.keep_days is None:
        return ()
    folder = None if kept.archive_folder is None else Path(kept.archive_folder)
    return archive_runs(
        governor.ledger,
        before=clock.now() - kept.keep_days * DAY,
        folder=archive_folder(governor.ledger, folder),
        by=SYSTEM,
        clock=clock,
        grounds=grounds,
    )


def archive_runs(
    ledger: Ledger,
    *,
    before: int,
    folder: Path,
    by: Principal,
    clock: Clock,
    grounds: Callable[[Rows], Grounds],
) -> Sequence[ArchiveWritten]:
    """Archive every run that ended before a moment; raise DamagedError where the ledger is bad.

    What is taken out is verified first: nobody could tell afterwards.
    """
    if isinstance(ledger.store, MemoryStore):
        raise LedgerError("this ledger is gone with its process: there is nothing to archive")
    with ledger.store.frozen() as rows:
        batches = _batches(_archivable_trees(rows, before, clock.now()))
        if not batches:
            return ()
        _verify(ledger, rows, grounds(rows))
        finder = GapFinder({run.id: place for place, runs in enumerate(batches) for run in runs})
        finder.look_through(rows)
        written: list[ArchiveWritten] = []
        for place, runs in enumerate(batches):
            file, head, digest = written_archive(folder, rows, runs, finder.places, ledger.key)
            event = LedgerArchived(
                file=str(file),
                digest=digest,
                runs=head.runs,
                records=head.records,
                policies=head.policies,
            )
            ledger.execute(_taking_out(runs, finder.gaps[place], event, by, clock))
            written.append(_told(event.file, event.digest, runs))
    return written


def _archivable_trees(rows: Rows, before: int, now: int) -> Iterator[list[RunRow]]:
    """Yield runs with all that are below them where nothing is open, the oldest first."""
    below: defaultdict[str | None, list[RunRow]] = defaultdict(list)
    for row in rows.runs(limit=ALL):
        if row.id not in _OWN:
            below[None if row.parent == LOOP_RUN else row.parent].append(row)
    waiting = rows.approvals(state="pending", limit=ALL)
    busy = {each.run_id for each in waiting if each.is_open_at(now)}
    busy |= {row.run_id for row in rows.lapsed(_FOREVER, limit=ALL)}

    def has_ended(row: RunRow) -> bool:
        is_over = row.status == RunStatus.FINISHED.value and row.updated_at < before
        return is_over and row.id not in busy

    for root in reversed(below[None]):
        tree = [root]
        for row in tree:
            tree += below[row.id]
        if all(map(has_ended, tree)):
            yield tree


def _batches(trees: Iterator[list[RunRow]]) -> list[list[RunRow]]:
    """Return trees in groups that are taken out at once."""
    batches: list[list[RunRow]] = []
    for tree in trees:
        last = batches[-1] if batches else None
        if last is None or len(last) + len(tree) > _MOST_RUNS or _size(last) > _MOST_RECORDS:
            batches.append(last := [])
        last += tree
    return batches


def _size(runs: Sequence[RunRow]) -> int:
    return sum(run.seq for run in runs)


def _verify(ledger: Ledger, rows: Rows, grounds: Grounds) -> None:
    found = verify_all(rows, ledger.key, witness=grounds.take, skip=grounds.skip)
    problems = [each.problem for each in found if each.problem is not None]
    if problems := [*problems, *grounds.problems]:
        raise DamagedError(
            f"nothing was archived, for the ledger is not what was written: {problems[0]}: run"
            " `interlock verify`"
        )


def _taking_out(
    runs: Sequence[RunRow],
    gaps: Sequence[GapRow],
    event: LedgerArchived,
    by: Principal,
    clock: Clock,
) -> Work[None]:
    def plan(transaction: Transaction) -> None:
        for run in runs:
            if transaction.run(run.id) != run:
                raise UnavailableError(
                    f"run `{run.id}` changed while it was written to an archive: nothing more was"
                    " archived; ask again"
                )
        record = transaction.append(LEDGER_RUN, event, at=clock.now(), by=by)
        transaction.archive(record.seq, runs, gaps)

    return Work(plan, locks=_locks(runs))


def _told(file: str, digest: str, runs: Sequence[RunRow]) -> ArchiveWritten:
    return ArchiveWritten(file=file, digest=digest, runs=len(runs), records=_size(runs))


def _locks(runs: Sequence[RunRow]) -> tuple[str, ...]:
    return ("archives", f"run/{LEDGER_RUN}", *(f"run/{run.id}" for run in runs))


def restore_runs(ledger: Ledger, file: Path, *, by: Principal, clock: Clock) -> ArchiveWritten:
    """Put what an archive holds back into the ledger that it was taken out of."""
    archive = verified_archive(file, ledger.key)
    if archive.head.ledger != ledger.rows.meta("id"):
        raise InputError(f"`{file}` is of ledger {archive.head.ledger}: it does not belong here")
    number = known_archive(ledger.rows, archive)
    if number is None:
        raise InputError(f"`{file}` is not known to this ledger: nothing was taken out for it")

    def plan(transaction: Transaction) -> None:
        for run in archive.runs:
            kept = transaction.run(run.id)
            if kept != run._replace(status=ARCHIVED):
                raise InputError(f"run `{run.id}` is not archived: it was restored already")
        event = LedgerRestored(archive=number, digest=archive.digest)
        transaction.append(LEDGER_RUN, event, at=clock.now(), by=by)
        transaction.restore(number, archive.runs, archive.records, archive.seals)

    ledger.execute(Work(plan, locks=_locks(archive.runs)))
    return _told(str(file), archive.digest, archive.runs)


def known_archive(rows: Rows, archive: Archive) -> int | None:
    """Return the record that tells of an archive, if its runs are still taken out for it."""
    row = rows.archived(archive.runs[0].id) if archive.runs else None
    record = None if row is None else rows.record(LEDGER_RUN, row.archive)
    event = None if record is None else decoded(record.body).event
    is_known = isinstance(event, LedgerArchived) and event.digest == archive.digest
    return row.archive if row is not None and is_known else None
