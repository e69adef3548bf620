"""What was found in a damaged file, put in order in a file of its own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import apsw

from interlock.errors import DamagedError
from interlock.ledger.auditing import policy_named_by
from interlock.ledger.chain import check_record, hash_of
from interlock.ledger.codec import decoded, kind_of
from interlock.ledger.rows import PolicyRow, RecordRow, WrittenRow
from interlock.ledger.salvage import Page, Row
from interlock.model.events import PolicyAdopted

_SCHEMA: Final = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE found (
    hash TEXT PRIMARY KEY, is_sure INTEGER NOT NULL, position INTEGER NOT NULL,
    run_id TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL,
    body BLOB NOT NULL, prev TEXT NOT NULL, place INTEGER
) STRICT;
CREATE INDEX found_by_number ON found (run_id, seq, prev);
CREATE INDEX found_by_time ON found (at, position);
CREATE INDEX kept_in_order ON found (place, run_id, seq) WHERE place IS NOT NULL;
CREATE TABLE blobs (name TEXT, body BLOB, PRIMARY KEY (name, body)) STRICT;
"""
_ADD_RECORD: Final = (
    "INSERT INTO found (hash, is_sure, position, run_id, seq, at, kind, body, prev)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (hash) DO UPDATE SET is_sure = max(is_sure, excluded.is_sure),"
    " position = max(position, excluded.position)"
    " WHERE excluded.is_sure > is_sure OR excluded.position > position"
)
_ADD_BLOB: Final = "INSERT OR IGNORE INTO blobs VALUES (?, ?)"
# Whose own hash is damaged is known by the record that names it.
_NEXT: Final = """
SELECT position, run_id, seq, at, kind, body, hash, EXISTS (
    SELECT 1 FROM found AS later
    WHERE later.run_id = found.run_id AND later.seq = found.seq + 1 AND later.prev = found.hash
) AS is_named
FROM found WHERE run_id = ? AND seq = ? AND prev = ? AND (is_sure OR is_named)
ORDER BY is_named DESC, position LIMIT 1
"""
_KEEP: Final = "UPDATE found SET place = ? WHERE hash = ?"
_KEPT: Final = """
SELECT place, run_id, seq, at, kind, body, hash FROM found
WHERE place IS NOT NULL AND (place, run_id, seq) > (?, ?, ?)
ORDER BY place, run_id, seq LIMIT ?
"""
_POSITION_AT: Final = "SELECT max(position) FROM found WHERE at <= ?"
_BLOBS: Final = "SELECT body FROM blobs WHERE name = ?"
_UNKNOWN: Final = 0
_BEGIN: Final = b'{"at":'
_END: Final = re.compile(rb'"v":[0-9]+}')
_HASH_LENGTH: Final = 64
_META: Final = frozenset({"id", "digest-key"})


class Finds:
    """Rows from anywhere in the file, each known by its shape."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.execute(_SCHEMA).fetchall()
        # Never committed: nobody else looks at it, and it is gone afterwards.
        self._connection.execute("BEGIN")
        self.meta: dict[str, str] = {}
        self.written: dict[str, int] = {}
        """How many records each run is known to have had."""
        self._policies: dict[str, str | None] = {}

    def take(self, pages: Iterable[Page]) -> None:
        """Take everything that is worth keeping."""
        for page in pages:
            for row in page.rows:
                self._sort(row)
            for body, what_follows in _bodies_in(page.content):
                self._take_record(_UNKNOWN, body, what_follows)

    def next_of(self, run_id: str, seq: int, prev: str) -> WrittenRow | None:
        """Return the record that follows `prev` in a run, if it was found."""
        row = self._connection.execute(_NEXT, (run_id, seq, prev)).fetchone()
        if row is None:
            return None
        position, *columns, _ = row
        record = RecordRow._make(columns)
        try:
            check_record(record, run_id, seq, prev)
        except DamagedError:
            return None
        return WrittenRow(int(str(position)) or self._position_at(record.at), record)

    def keep(self, record: RecordRow, place: int) -> None:
        """Note that a record goes into the new ledger, and where."""
        self._connection.execute(_KEEP, (place, record.hash))
        event = decoded(record.body).event
        if isinstance(event, PolicyAdopted):
            self._policies[event.policy_hash] = event.body_digest
        elif (named := policy_named_by(event)) is not None:
            self._policies.setdefault(named, None)

    def kept(self, page_size: int) -> Iterator[list[RecordRow]]:
        """Yield the records that go into the new ledger, page by page, in their order."""
        last: tuple[int, str, int] = (-1, "", 0)
        while found := self._connection.execute(_KEPT, (*last, page_size)).fetchall():
            yield [RecordRow._make(columns) for _, *columns in found]
            place, run_id, seq, *_ = found[-1]
            last = (int(str(place)), str(run_id), int(str(seq)))

    def policies(self) -> tuple[tuple[str, ...], list[PolicyRow]]:
        """Return the policies that kept records name: those that are lost, and those found."""
        lost: list[str] = []
        found: list[PolicyRow] = []
        for policy_hash, digest in self._policies.items():
            body = self._policy_body(policy_hash, digest)
            if body is None:
                lost.append(policy_hash)
            else:
                found.append(PolicyRow(policy_hash, body))
        return tuple(lost), found

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _position_at(self, at: int) -> int:
        """Where a record stood whose own place is not known: behind what was there by then."""
        [(position,)] = self._connection.execute(_POSITION_AT, (at,)).fetchall()
        return position if isinstance(position, int) else _UNKNOWN

    def _sort(self, row: Row) -> None:
        match row.values:
            case (None, str(), int(), int(), str(), bytes(body), hash_, *_) if (
                row.rowid is not None
            ):
                self._take_record(row.rowid, body, hash_)
            case (str(name), bytes(body)):
                self._connection.execute(_ADD_BLOB, (name, body))
            case (str(name), str(value)) if name in _META:
                self.meta.setdefault(name, value)
            case (str(run_id), int(seq), str(), int(), str(), str()) | (
                str(run_id),
                int(seq),
                str(),
                str(),
                str(),
                int(),
                int(),
                *_,
            ):
                # A seal, or a run in the list of runs.
                self._note_length(run_id, seq)
            case _:
                pass

    def _take_record(self, position: int, body: bytes, stored_hash: object) -> None:
        try:
            record = decoded(body)
        except DamagedError:
            return
        found_hash = hash_of(body)
        self._note_length(record.run, record.seq)
        self._connection.execute(
            _ADD_RECORD,
            (
                found_hash,
                int(found_hash == stored_hash),
                position,
                record.run,
                record.seq,
                record.at,
                kind_of(record.event),
                body,
                record.prev,
            ),
        )

    def _note_length(self, run_id: str, seq: int) -> None:
        self.written[run_id] = max(seq, self.written.get(run_id, 0))

    def _policy_body(self, policy_hash: str, digest: str | None) -> bytes | None:
        for (body,) in self._connection.execute(_BLOBS, (policy_hash,)).fetchall():
            if isinstance(body, bytes) and digest in (None, hashlib.sha256(body).hexdigest()):
                return body
        return None


def _bodies_in(page: bytes) -> Iterator[tuple[bytes, str]]:
    """Yield what looks like a record, with the hash that follows it in its row.

    A page lists its rows at its beginning. Where that is damaged, and where a row was moved to
    another page, the bytes may still be there.
    """
    begin = page.find(_BEGIN)
    while begin >= 0:
        end = _END.search(page, begin)
        if end is None:
            return
        follows = page[end.end() : end.end() + _HASH_LENGTH]
        yield page[begin : end.end()], follows.decode("ascii", "replace")
        begin = page.find(_BEGIN, begin + 1)
