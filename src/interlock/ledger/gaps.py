"""Where archived records stood in the order of all records, and what they came to.

A gap says what the order was before and behind them, and what they made of accounts. That stays
true for ever, and is sealed; so everything else can be verified without the archive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from interlock.errors import DamagedError
from interlock.ledger.chain import SealKey, broken_at, check_head, decoded
from interlock.ledger.projection import Projection, project
from interlock.model.budget import Account
from interlock.model.events import LedgerArchived
from interlock.model.order import BEFORE_ALL, followed, passed
from interlock.model.rows import ARCHIVED, ArchivedRow, Changes, GapRow, RunRow, WrittenRow
from interlock.ports import Rows

_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_DECODER: Final = msgspec.json.Decoder(dict[str, Account])


def sealed_gap(row: GapRow, key: SealKey) -> GapRow:
    """Return a gap with the seal that belongs to everything else in it."""
    unsealed = row._replace(seal="")
    return unsealed._replace(seal=key.seal_of("gap", msgspec.json.encode(unsealed)))


def sealed_archived(run: RunRow, archive: int, key: SealKey) -> ArchivedRow:
    """Return that a run is archived; its row in the list of runs is sealed with it."""
    seal = key.seal_of(f"archived {archive}", msgspec.json.encode(run))
    return ArchivedRow(run.id, archive, seal)


def own_scopes(run_id: str) -> tuple[str, str]:
    """Return the accounts that only a run and those below it have."""
    return f"run/{run_id}", f"tree/{run_id}"


def accounts_behind(gap: GapRow) -> Mapping[str, Account]:
    """Return the accounts that archived records changed, as they were afterwards."""
    try:
        return _DECODER.decode(gap.accounts)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedError(
            f"the accounts behind place {gap.last} are unreadable: {error}: run `interlock verify`"
        ) from error


def in_order(rows: Rows) -> Iterator[WrittenRow | GapRow]:
    """Yield every record in the order of writing, and the gaps between them."""
    gaps, last = [*reversed(rows.gaps())], 1 - 2**63
    while page := rows.written(after=last):
        for row in page:
            while gaps and gaps[-1].first <= row.position:
                yield gaps.pop()
            yield row
        last = page[-1].position
    yield from reversed(gaps)


def archive_of(rows: Rows, run_id: str, run: RunRow | None, key: SealKey) -> int | None:
    """Return which archive has a run, if any; raise ChainBrokenError unless that is as sealed."""
    row = rows.archived(run_id)
    if row is None and (run is None or run.status != ARCHIVED):
        return None
    if row is None or run is None:
        raise broken_at(run_id, 1, "no archive is known for it, or the list of runs has lost it")
    if row != sealed_archived(run, row.archive, key):
        raise broken_at(run_id, run.seq, "it is not what was sealed when it was archived")
    if rows.records(run_id, limit=1) or rows.seals(run_id) or rows.snapshot(run_id):
        raise broken_at(run_id, 1, "it was archived, and something of it is here")
    check_head(run, run.seq, run.hash, key)
    return row.archive


class ArchiveTally:
    """What was archived by the ledger's own chain, and what is found to be missing."""

    def __init__(self) -> None:
        self.known: dict[int, LedgerArchived] = {}
        """What was archived and not restored since, by the record that tells of it."""
        self.runs: Counter[int] = Counter()
        self.records: Counter[int] = Counter()

    def take(self, gap: GapRow) -> None:
        """Let one more gap count."""
        self.records[gap.archive] += gap.last - gap.first + 1

    def differences(self) -> Iterator[tuple[str, str]]:
        """Yield every archive that has more or less than is missing, and how much."""
        for number in sorted({*self.known, *self.runs, *self.records}):
            event = self.known.get(number)
            records, runs = (0, 0) if event is None else (event.records, event.runs)
            if (records, runs) != (self.records[number], self.runs[number]):
                yield (
                    f"the archive of record {number}",
                    f"{records:,} records of {runs:,} runs were taken out,"
                    f" {self.records[number]:,} of {self.runs[number]:,} are missing",
                )


class GapFinder:
    """Goes along all records once, and notes the gaps that runs will leave, batch by batch."""

    def __init__(self, batch_of: Mapping[str, int]) -> None:
        self._batch_of = batch_of
        self._head = BEFORE_ALL
        self._projection = Projection()
        self._open: tuple[int, GapRow] | None = None
        self.gaps: dict[int, list[GapRow]] = {}
        """Those of each batch, not sealed yet."""
        self.places: dict[str, list[int]] = {}
        """Where the records of each run are."""

    def look_through(self, rows: Rows) -> None:
        """Find the gaps of all batches."""
        for each in in_order(rows):
            if isinstance(each, GapRow):
                self._close()
                self._head = passed(each)
                self._projection.accounts |= accounts_behind(each)
            else:
                self._take(each)
        self._close()

    def _take(self, row: WrittenRow) -> None:
        batch = self._batch_of.get(row.record.run_id)
        if self._open is not None and self._open[0] != batch:
            self._close()
        if batch is not None:
            self.places.setdefault(row.record.run_id, []).append(row.position)
            if self._open is None:
                self._projection.changes = Changes()
                gap = GapRow(row.position, 0, 0, self._head.hash, 0, "", 0, b"", "")
                self._open = batch, gap
        project(self._projection, decoded(row.record.body))
        self._head = followed(self._head, [row.record])

    def _close(self) -> None:
        if self._open is None:
            return
        (batch, gap), self._open, head = self._open, None, self._head
        changed = self._projection.changes.accounts
        left = {
            scope: self._projection.account(scope)
            for scope in changed
            if not self._goes(scope, batch)
        }
        self.gaps.setdefault(batch, []).append(
            gap._replace(
                last=head.records,
                runs=head.runs,
                hash=head.hash,
                at=head.at,
                accounts=_ENCODER.encode(left),
            )
        )

    def _goes(self, scope: str, batch: int) -> bool:
        """Whether an account is archived with its run."""
        kind, _, name = scope.partition("/")
        return kind in ("run", "tree") and self._batch_of.get(name) == batch
