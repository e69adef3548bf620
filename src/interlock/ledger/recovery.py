"""What can be saved from a damaged file, and what is lost?

The records are the truth: those that can be read and still form a chain go, byte for byte, into
a new file, and everything else is made again from them. The damaged file is left as it is.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, assert_never

import apsw
import msgspec

from interlock.errors import LedgerError
from interlock.ledger.chain import GENESIS, SealKey
from interlock.ledger.finds import Finds
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.rows import CredentialRow, PolicyRow, RecordRow
from interlock.ledger.salvage import DamagedFile
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.ledger.transaction import Transaction

_PAGE: Final = 500
_CREDENTIALS: Final = "SELECT digest, kind, name, created_at FROM credentials"
_PUT_META: Final = "INSERT OR REPLACE INTO meta VALUES (?, ?)"

Tell = Callable[[int, int], None]
"""Is told how many of the pages have been looked at, and how many there are."""


class RunRecovered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one run."""

    run_id: str
    kept: int
    written: int
    """How many records are known to have been written; there may have been more."""


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What was saved, and what was not."""

    runs: tuple[RunRecovered, ...]
    lost_policies: tuple[str, ...]
    """Policies that records name and that could not be read: load them once more."""
    credentials: int | None
    """How many were saved; None where they could not be read, and new ones have to be made."""
    has_same_id: bool
    """Whether it is known to be the same ledger still."""
    has_same_digests: bool
    """Whether digests from before still fit: where not, nobody can use an open approval."""

    @property
    def records(self) -> int:
        """How many records were saved."""
        return sum(run.kept for run in self.runs)

    @property
    def losses(self) -> tuple[RunRecovered, ...]:
        """The runs of which something is missing."""
        return tuple(run for run in self.runs if run.kept < run.written)


def recover(source: Path, target: Path, key: SealKey, tell: Tell | None = None) -> Recovered:
    """Save everything that can be read in `source` into the new file `target`."""
    if not source.is_file():
        raise LedgerError(f"{source} is not a file: name the damaged ledger")
    if target.exists():
        raise LedgerError(f"{target} exists already: choose another name for what is saved")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as folder,
        contextlib.closing(Finds(Path(folder) / "finds.db")) as finds,
    ):
        with DamagedFile(source) as damaged:
            finds.take(damaged.pages(tell))
        runs = tuple(_choose(finds))
        credentials = _credentials(source, Path(folder))
        unfinished = Path(folder) / target.name
        _put_meta(unfinished, finds)
        lost = _write(unfinished, key, finds, credentials or ())
        unfinished.rename(target)
        return Recovered(
            runs=runs,
            lost_policies=lost,
            credentials=None if credentials is None else len(credentials),
            has_same_id="id" in finds.meta,
            has_same_digests="digest-key" in finds.meta,
        )


def _choose(finds: Finds) -> Iterator[RunRecovered]:
    """Mark the longest beginning of each run whose chain holds."""
    for run_id, written in sorted(finds.written.items()):
        seq, head, place = 0, GENESIS, 0
        while (found := finds.next_of(run_id, seq + 1, head)) is not None:
            seq, head = found.record.seq, found.record.hash
            # A place that is damaged must not bring the run into disorder.
            place = max(place, found.position)
            finds.keep(found.record, place)
        yield RunRecovered(run_id=run_id, kept=seq, written=max(written, seq))


def _credentials(source: Path, folder: Path) -> tuple[CredentialRow, ...] | None:
    """Return the credentials, if the database can still tell which of them count.

    They are not picked from the pages: one that was taken back may still lie in a free page.
    """
    copy = folder / "copy.db"
    shutil.copyfile(source, copy)
    wal = source.with_name(f"{source.name}-wal")
    if wal.exists():
        shutil.copyfile(wal, folder / "copy.db-wal")
    connection = apsw.Connection(str(copy))
    try:
        found = connection.execute(_CREDENTIALS).fetchall()
        return tuple(CredentialRow._make(row) for row in found)
    except (apsw.Error, UnicodeDecodeError):
        return None
    finally:
        connection.close()


def _put_meta(path: Path, finds: Finds) -> None:
    """Make the new file, and give it the name of the old one."""
    SqliteStore(path).close()
    connection = apsw.Connection(str(path))
    try:
        connection.executemany(_PUT_META, finds.meta.items())
    finally:
        connection.close()


def _write(
    path: Path, key: SealKey, finds: Finds, credentials: tuple[CredentialRow, ...]
) -> tuple[str, ...]:
    """Fill the new file; return the policies that it lacks."""
    lost, policies = finds.policies()
    with Ledger(SqliteStore(path), key=key) as ledger:
        ledger.do(Work(partial(_keep, rows=(*credentials, *policies)), locks=()))
        for page in finds.kept(_PAGE):
            ledger.do(Work(partial(_adopt, page=page), locks=()))
    return lost


def _keep(transaction: Transaction, rows: Iterable[CredentialRow | PolicyRow]) -> None:
    for row in rows:
        match row:
            case CredentialRow():
                transaction.keep_credential(row)
            case PolicyRow():
                transaction.keep_policy(row)
            case _:
                assert_never(row)


def _adopt(transaction: Transaction, page: list[RecordRow]) -> None:
    for row in page:
        transaction.adopt(row)
