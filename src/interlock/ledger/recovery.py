"""What can be saved from a damaged file, and what is lost?

The records are the truth: those that can be read and still form a chain go, byte for byte, into
a new file, and everything else is made again from them. The damaged file is left as it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final, NamedTuple

import apsw
import msgspec

from interlock.errors import DamagedError, LedgerError
from interlock.ledger.chain import GENESIS, SealKey, check_record, decoded, hash_of, kind_of
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.ledger.transaction import Transaction
from interlock.ledger.verification import policy_named_by
from interlock.model.events import PolicyAdopted
from interlock.model.rows import PolicyRow, RecordRow, WrittenRow

_PAGE: Final = 500
_ID: Final = "SELECT value FROM meta WHERE name = 'id'"
_PUT_META: Final = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
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
CREATE INDEX chosen_in_order ON found (place, run_id, seq) WHERE place IS NOT NULL;
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
_CHOOSE: Final = "UPDATE found SET place = ? WHERE hash = ?"
_CHOSEN: Final = """
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

# The format of the file: https://www.sqlite.org/fileformat.html.
_MAGIC: Final = b"SQLite format 3\0"
_USUAL_PAGE_SIZE: Final = 4096
_PAGE_SIZES: Final = frozenset(1 << power for power in range(9, 17))
_WAL_HEADER: Final = Struct(">8I")
_FRAME_HEADER: Final = Struct(">6I")
_LITTLE_ENDIAN_WAL: Final = 0x377F0682
_BIG_ENDIAN_WAL: Final = 0x377F0683

_INDEX_INTERIOR: Final = 0x02
_INDEX_LEAF: Final = 0x0A
_TABLE_LEAF: Final = 0x0D
_KINDS_WITH_ROWS: Final = (_INDEX_INTERIOR, _INDEX_LEAF, _TABLE_LEAF)
_INTEGER_SIZES: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}

Value = int | str | bytes | None
Progress = Callable[[int, int], None]
"""Is called with how many of the pages have been looked at, and how many there are."""


class RunRecovered(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one run."""

    run_id: str
    saved: int
    written: int
    """How many records are known to have been written; there may have been more."""


class Recovered(msgspec.Struct, frozen=True, kw_only=True):
    """What was saved, and what was not."""

    runs: tuple[RunRecovered, ...]
    lost_policies: tuple[str, ...]
    """Policies that records name and that could not be read: load them once more."""
    has_same_id: bool
    """Whether it is known to be the same ledger still."""
    has_same_digests: bool
    """Whether digests from before still fit: where not, nobody can use an open approval."""

    @property
    def records(self) -> int:
        """How many records were saved."""
        return sum(run.saved for run in self.runs)

    @property
    def losses(self) -> tuple[RunRecovered, ...]:
        """The runs of which something is missing."""
        return tuple(run for run in self.runs if run.saved < run.written)


def recover(
    source: Path,
    target: Path,
    key_of: Callable[[str], SealKey],
    progress: Progress = lambda _done, _of: None,
    agree: Callable[[Ledger], object] = lambda _: None,
) -> Recovered:
    """Save everything that can be read in `source` into the new file `target`.

    `key_of` gives the key that seals it, by the ledger's id. `agree` is called with what was
    saved, before that has its name: what it raises prevents it.
    """
    if not source.is_file():
        raise LedgerError(f"{source} is not a file: name the damaged ledger")
    if target.exists():
        raise LedgerError(f"{target} exists already: choose another name for what is saved")
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-") as folder,
        contextlib.closing(_SalvagedRows(Path(folder) / "salvaged.db")) as salvaged,
    ):
        with contextlib.closing(_DamagedFile(source)) as damaged:
            salvaged.take(damaged.pages(progress))
        runs = tuple(_choose(salvaged))
        unfinished = Path(folder) / target.name
        ledger_id = _put_meta(unfinished, salvaged)
        lost = _write(unfinished, key_of(ledger_id), salvaged, agree)
        unfinished.rename(target)
        return Recovered(
            runs=runs,
            lost_policies=lost,
            has_same_id="id" in salvaged.meta,
            has_same_digests="digest-key" in salvaged.meta,
        )


def _choose(salvaged: _SalvagedRows) -> Iterator[RunRecovered]:
    """Mark the longest beginning of each run whose chain holds."""
    for run_id, written in sorted(salvaged.written.items()):
        seq, head, place = 0, GENESIS, 0
        while (found := salvaged.next_of(run_id, seq + 1, head)) is not None:
            seq, head = found.record.seq, found.record.hash
            # A place that is damaged must not bring the run into disorder.
            place = max(place, found.position)
            salvaged.choose(found.record, place)
        yield RunRecovered(run_id=run_id, saved=seq, written=max(written, seq))


def _put_meta(path: Path, salvaged: _SalvagedRows) -> str:
    """Make the new file, and give it the id of the old one; return that."""
    SqliteStore(path).close()
    connection = apsw.Connection(str(path))
    try:
        connection.executemany(_PUT_META, salvaged.meta.items())
        [(ledger_id,)] = connection.execute(_ID).fetchall()
        return str(ledger_id)
    finally:
        connection.close()


def _write(
    path: Path, key: SealKey, salvaged: _SalvagedRows, agree: Callable[[Ledger], object]
) -> tuple[str, ...]:
    """Fill the new file; return the policies that it lacks."""
    lost, policies = salvaged.policies()

    def put(transaction: Transaction) -> None:
        transaction.seal_meta()
        for policy in policies:
            transaction.put_policy(policy)

    with Ledger(SqliteStore(path), key=key) as ledger:
        ledger.execute(Work(put, locks=()))
        for page in salvaged.chosen(_PAGE):
            ledger.execute(Work(partial(_adopt, page=page), locks=()))
        agree(ledger)
    return lost


def _adopt(transaction: Transaction, page: list[RecordRow]) -> None:
    for row in page:
        transaction.adopt(row)


class _SalvagedRows:
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

    def take(self, pages: Iterable[tuple[Iterable[_Row], bytes]]) -> None:
        """Take everything that is worth keeping from pages and the rows that they list."""
        for rows, content in pages:
            for row in rows:
                self._sort(row)
            for body, what_follows in _bodies_in(content):
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

    def choose(self, record: RecordRow, place: int) -> None:
        """Note that a record goes into the new ledger, and where."""
        self._connection.execute(_CHOOSE, (place, record.hash))
        event = decoded(record.body).event
        if isinstance(event, PolicyAdopted):
            self._policies[event.policy_hash] = event.body_digest
        elif (named := policy_named_by(event)) is not None:
            self._policies.setdefault(named, None)

    def chosen(self, page_size: int) -> Iterator[list[RecordRow]]:
        """Yield the records that go into the new ledger, page by page, in their order."""
        last: tuple[int, str, int] = (-1, "", 0)
        while found := self._connection.execute(_CHOSEN, (*last, page_size)).fetchall():
            yield [RecordRow._make(columns) for _, *columns in found]
            place, run_id, seq, *_ = found[-1]
            last = (int(str(place)), str(run_id), int(str(seq)))

    def policies(self) -> tuple[tuple[str, ...], list[PolicyRow]]:
        """Return the policies that chosen records name: those that are lost, and those found."""
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

    def _sort(self, row: _Row) -> None:
        match row.values:
            case (None, str(), int(), int(), str(), bytes(body), hash_, *_) if (
                row.rowid is not None
            ):
                self._take_record(row.rowid, body, hash_)
            case (str(name), bytes(body)):
                self._connection.execute(_ADD_BLOB, (name, body))
            case (str(name), str(value)) if name in _META:
                self.meta.setdefault(name, value)
            case (str(run_id), int(seq), str(), int(), str(), str()):  # a seal
                self._note_length(run_id, seq)
            case (str(run_id), int(seq), str(), str(), str(), int(), int(), *_):  # a run
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


class _Row(NamedTuple):
    """One row, of whatever table: which one, its columns tell."""

    rowid: int | None
    values: tuple[Value, ...]


class _DamagedFile:
    """A database file and the write-ahead file beside it, as numbered pages."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        wal = path.with_name(f"{path.name}-wal")
        self._wal = wal.open("rb") if wal.exists() else None
        self._size, self._usable = self._sizes()
        self._newer = {} if self._wal is None else _committed_frames(self._wal, self._size)
        length = self._file.seek(0, 2)
        self._in_file = -(-length // self._size)

    def pages(self, progress: Progress) -> Iterator[tuple[Iterator[_Row], bytes]]:
        """Yield the rows that can be read in each page, with the page, some more than once."""
        total = max([self._in_file, *self._newer])
        for number in range(1, total + 1):
            for page in self._versions(number):
                yield self._rows_in(page, 100 if number == 1 else 0), page
            progress(number, total)

    def close(self) -> None:
        """Let go of the files."""
        self._file.close()
        if self._wal is not None:
            self._wal.close()

    def _sizes(self) -> tuple[int, int]:
        header = self._file.read(100)
        if header.startswith(_MAGIC) and len(header) == 100:
            size = int.from_bytes(header[16:18], "big")
            size = 65536 if size == 1 else size
            if size in _PAGE_SIZES:
                return size, size - header[20]
        return _USUAL_PAGE_SIZE, _USUAL_PAGE_SIZE

    def _versions(self, number: int) -> Iterator[bytes]:
        """A page as it is now, and as it was before the write-ahead file.

        Rows that are never changed are as good from either.
        """
        newer = self._newer.get(number)
        if newer is not None and self._wal is not None:
            yield _read(self._wal, newer, self._size)
        if number <= self._in_file:
            yield _read(self._file, (number - 1) * self._size, self._size)

    def _rows_in(self, page: bytes, start: int) -> Iterator[_Row]:
        if len(page) < self._size or page[start] not in _KINDS_WITH_ROWS:
            return
        kind = page[start]
        first = start + (12 if kind == _INDEX_INTERIOR else 8)
        for number in range(int.from_bytes(page[start + 3 : start + 5], "big")):
            pointer = page[first + 2 * number : first + 2 * number + 2]
            try:
                yield self._row(page, int.from_bytes(pointer, "big"), kind)
            except (IndexError, ValueError):
                # Damaged, or no row at all. The others may be whole.
                continue

    def _row(self, page: bytes, at: int, kind: int) -> _Row:
        rowid = None
        if kind == _INDEX_INTERIOR:
            at += 4
        length, at = _varint(page, at)
        if kind == _TABLE_LEAF:
            rowid, at = _varint(page, at)
        return _Row(rowid, _values(self._payload(page, at, length, is_table=rowid is not None)))

    def _payload(self, page: bytes, at: int, length: int, *, is_table: bool) -> bytes:
        if not 0 < length <= (self._in_file + len(self._newer)) * self._size:
            raise ValueError("longer than the file")
        local = _local_length(length, self._usable, is_table=is_table)
        parts = [page[at : at + local]]
        missing = length - len(parts[0])
        follows = page[at + local : at + local + 4]
        while missing > 0:
            overflow = self._overflow(int.from_bytes(follows, "big"))
            parts.append(overflow[4 : min(self._usable, 4 + missing)])
            missing -= len(parts[-1])
            follows = overflow[:4]
        return b"".join(parts)

    def _overflow(self, number: int) -> bytes:
        for page in self._versions(number) if number else ():
            if len(page) == self._size:
                return page
        raise ValueError("a part of it is missing")


def _read(file: BinaryIO, at: int, size: int) -> bytes:
    file.seek(at)
    return file.read(size)


def _local_length(length: int, usable: int, *, is_table: bool) -> int:
    """How much of a payload is in the page itself."""
    most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    wanted = least + (length - least) % (usable - 4)
    return wanted if wanted <= most else least


def _values(payload: bytes) -> tuple[Value, ...]:
    end, at = _varint(payload, 0)
    values: list[Value] = []
    place = end
    while at < end:
        serial, at = _varint(payload, at)
        value, place = _value(payload, place, serial)
        values.append(value)
    if at != end or place != len(payload):
        raise ValueError("the columns are not as long as the row")
    return tuple(values)


def _value(payload: bytes, at: int, serial: int) -> tuple[Value, int]:
    if serial == 0:
        return None, at
    if serial in (8, 9):
        return serial - 8, at
    # No column of a ledger is a fraction: that of one has no size.
    size = _INTEGER_SIZES.get(serial, (serial - 12) // 2)
    data = payload[at : at + size]
    if size < 0 or len(data) < size:
        raise ValueError("a column is cut off")
    if serial in _INTEGER_SIZES:
        return int.from_bytes(data, "big", signed=True), at + size
    return (data.decode() if serial % 2 else data), at + size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        byte = data[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    value = value << 8 | data[at + 8]
    return (value - (1 << 64) if value >> 63 else value), at + 9


def _committed_frames(wal: BinaryIO, page_size: int) -> dict[int, int]:
    """Where in the write-ahead file the newest committed version of each page is.

    A damaged frame is left out by itself; what follows it was committed all the same.
    """
    header = _read(wal, 0, _WAL_HEADER.size)
    if len(header) < _WAL_HEADER.size:
        return {}
    magic, _, size, _, *salts, first, second = _WAL_HEADER.unpack(header)
    if magic not in (_LITTLE_ENDIAN_WAL, _BIG_ENDIAN_WAL) or size != page_size:
        return {}
    order = "<" if magic == _LITTLE_ENDIAN_WAL else ">"
    committed: dict[int, int] = {}
    open_group: dict[int, int] = {}
    checksum, at = (first, second), _WAL_HEADER.size
    while len(frame := _read(wal, at, _FRAME_HEADER.size + size)) == _FRAME_HEADER.size + size:
        number, commit, *found, first, second = _FRAME_HEADER.unpack_from(frame)
        if found != salts:
            break
        if _checksum(frame, checksum, order) == (first, second):
            open_group[number] = at + _FRAME_HEADER.size
            if commit:
                committed |= open_group
                open_group = {}
        checksum, at = (first, second), at + len(frame)
    return committed


def _checksum(frame: bytes, before: tuple[int, int], order: str) -> tuple[int, int]:
    data = frame[:8] + frame[_FRAME_HEADER.size :]
    words = Struct(f"{order}{len(data) // 4}I").unpack(data)
    first, second = before
    for place in range(0, len(words), 2):
        first = (first + words[place] + second) & 0xFFFFFFFF
        second = (second + words[place + 1] + first) & 0xFFFFFFFF
    return first, second
