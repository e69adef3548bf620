"""Records as bytes and as lines, and the hash chain: each names the hash of the one before it.

The bytes are canonical JSON (sorted keys, no blanks, no fractions). They are stored and hashed
as they are; nothing is ever verified by writing it anew. Every shape that was ever written is
read for ever.

An exported line is `{"hash":…,"record":…}`: what stands behind `record` are the bytes that were
hashed, so that records can be kept elsewhere and be checked there without a ledger.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from interlock.errors import DamagedError, InputError
from interlock.model.events import Event, Record
from interlock.model.rows import ARCHIVED, RecordRow, RunRow, SealRow
from interlock.model.run import LEDGER_RUN
from interlock.ports import ALL, Rows

VERSION: Final = 1
"""A new shape gets a new number and a reader beside those before it."""


class _Versioned(msgspec.Struct, frozen=True):
    v: int


_PAGE: Final = 500
_ENCODER: Final = msgspec.json.Encoder(order="sorted")
_VERSION_DECODER: Final = msgspec.json.Decoder(_Versioned)
_DECODER: Final = msgspec.json.Decoder(Record)
_KINDS: Final = {kind: kind.__struct_config__.tag for kind in Event.__args__}


def encoded(record: Record) -> bytes:
    """Return the record's canonical bytes; raise InputError for what cannot be written."""
    try:
        return _ENCODER.encode(record)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"nothing was recorded, for it could not be written: {error}") from error


def read_back(body: bytes) -> Record:
    """Return a record as it will be read from its bytes; raise InputError where it cannot be."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"nothing was recorded, for it could not be read back: {error}") from error


def decoded(body: bytes) -> Record:
    """Return the record that the bytes hold; raise DamagedError if they hold none."""
    try:
        version = _VERSION_DECODER.decode(body).v
        if version == VERSION:
            return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InputError) as error:
        raise DamagedError(f"not a record: {error}") from error
    raise DamagedError(
        f"written in format {version}, newer than the {VERSION} known here: update Interlock"
    )


def kind_of(event: Event) -> str:
    """Return the name under which an event is stored."""
    return str(_KINDS[type(event)])


GENESIS: Final = ""
"""What the first record of a chain follows."""


def hash_of(body: bytes) -> str:
    """Return the hash that the next record will name."""
    return hashlib.sha256(body).hexdigest()


KEY_ID: Final = "key-id"
SEAL: Final = "seal"
SEALED_META: Final = ("id", "digest-key", KEY_ID)
"""What a ledger says about itself: which one it is, and the keys of digests and seals."""


class SealKey:
    """The local key that seals chain heads; it is never stored with them."""

    __slots__ = ("_secret", "id")

    def __init__(self, secret: bytes) -> None:
        self._secret = hashlib.sha256(b"interlock seals\0" + secret).digest()
        self.id = hashlib.sha256(b"interlock seal key\0" + secret).hexdigest()[:16]
        """A name for the key that does not give it away."""

    def __repr__(self) -> str:
        """Leave the secret out: a key may end up in a log."""
        return f"SealKey(id={self.id!r})"

    def seal(self, run_id: str, seq: int, head: str) -> str:
        """Return the seal on a chain's length and head."""
        return self._digest(f"{run_id}\0{seq}\0{head}")

    def seal_of(self, what: str, content: bytes) -> str:
        """Return the seal on anything else, by what it is."""
        text = b"%b\0%b" % (what.encode(), content)
        return hashlib.blake2b(
            text, key=self._secret, digest_size=32, person=b"interlock named"
        ).hexdigest()

    def fits(self, seal: str, run_id: str, seq: int, head: str) -> bool:
        """Whether a seal was made with this key for this head."""
        return hmac.compare_digest(seal.encode(), self.seal(run_id, seq, head).encode())

    def seal_anchor(self, text: str) -> str:
        """Return the seal on what an anchor says."""
        return self._digest(text, b"anchor")

    def fits_anchor(self, seal: str, text: str) -> bool:
        """Whether a seal was made with this key for what an anchor says."""
        return hmac.compare_digest(seal.encode(), self.seal_anchor(text).encode())

    def seal_meta(self, meta: Mapping[str, str]) -> str:
        """Return the seal on what a ledger says about itself."""
        return self._digest("\0".join(meta.get(name, "") for name in SEALED_META), b"meta")

    def _digest(self, text: str, kind: bytes = b"") -> str:
        data = text.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._secret, digest_size=32, person=kind).hexdigest()


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """The first place in a chain where what is stored is not what was written."""

    run_id: str
    seq: int
    problem: str

    def __str__(self) -> str:
        """What is wrong, with the place."""
        return f"run `{self.run_id}`, record {self.seq}: {self.problem}"


def read_chain(rows: Iterable[RecordRow], run_id: str) -> Iterator[tuple[Record, str]]:
    """Yield a run's records with their hashes; raise ChainBrokenError at the first bad one."""
    expected, prev = 1, GENESIS
    for row in rows:
        record = check_record(row, run_id, expected, prev)
        prev, expected = row.hash, expected + 1
        yield record, prev


class ChainBrokenError(DamagedError):
    """A chain does not hold; `fault` names the first bad record."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(str(fault))


def check_record(row: RecordRow, run_id: str, expected: int, prev: str) -> Record:
    """Return the record of a row that belongs in this place; raise ChainBrokenError if not."""
    if row.seq != expected:
        problem = f"missing: record {row.seq} follows record {expected - 1}"
        raise broken_at(run_id, expected, problem)
    if hash_of(row.body) != row.hash:
        raise broken_at(run_id, expected, "its bytes do not have the hash stored beside them")
    try:
        record = decoded(row.body)
    except DamagedError as error:
        raise broken_at(run_id, expected, str(error)) from error
    if record.prev != prev:
        raise broken_at(run_id, expected, "it does not follow from the record before it")
    if (record.run, record.seq) != (run_id, expected):
        raise broken_at(run_id, expected, f"it is record {record.seq} of run `{record.run}`")
    if (row.at, row.kind) != (record.at, kind_of(record.event)):
        raise broken_at(run_id, expected, "its time or kind is not the one in its bytes")
    return record


def check_head(run: RunRow, seq: int, head: str, key: SealKey) -> None:
    """Hold a chain's end against what was noted and sealed when it was written."""
    if seq != run.seq:
        missing = min(seq, run.seq) + 1
        raise broken_at(run.id, missing, f"the chain has {seq} records, {run.seq} were written")
    if head != run.hash:
        raise broken_at(run.id, seq, "the last record is not the one that was noted")
    if run.key_id != key.id:
        raise broken_at(run.id, seq, f"the last record is sealed with another key, `{run.key_id}`")
    if not key.fits(run.seal, run.id, seq, head):
        raise broken_at(run.id, seq, "the seal on the last record does not fit")


def check_seal(seal: SealRow, sealed: Mapping[int, tuple[str, int]], key: SealKey) -> None:
    """Hold a chain against a seal that was set on it earlier: `sealed` has hashes and times."""
    run_id, seq = seal.run_id, seal.seq
    if seq not in sealed:
        raise broken_at(run_id, seq, f"missing: it was sealed with {seq} records")
    if sealed[seq] != (seal.hash, seal.at):
        raise broken_at(run_id, seq, "it is not the record that was sealed")
    if seal.key_id != key.id:
        raise broken_at(run_id, seq, f"it is sealed with another key, `{seal.key_id}`")
    if not key.fits(seal.seal, run_id, seq, seal.hash):
        raise broken_at(run_id, seq, "its seal does not fit")


def check_meta(meta: Mapping[str, str], key: SealKey) -> None:
    """Hold what a ledger says about itself against its seal; raise DamagedError if it differs."""
    if unknown := sorted(meta.keys() - {*SEALED_META, SEAL}):
        raise DamagedError(f"the table meta has a row `{unknown[0]}` that nobody wrote")
    if KEY_ID not in meta or SEAL not in meta:
        raise DamagedError("the table meta has no seal")
    if meta[KEY_ID] != key.id:
        raise DamagedError(f"the table meta names another key, `{meta[KEY_ID]}`")
    if not hmac.compare_digest(meta[SEAL].encode(), key.seal_meta(meta).encode()):
        raise DamagedError("the table meta is not what was sealed")


def broken_at(run_id: str, seq: int, problem: str) -> ChainBrokenError:
    """Return the error that names the first bad record of a chain."""
    return ChainBrokenError(Fault(run_id=run_id, seq=seq, problem=problem))


def records_of(rows: Rows, run_id: str, *, after: int = 0, last: int = ALL) -> Iterator[RecordRow]:
    """Yield the records of a run behind `after` up to `last`, a page at a time."""
    while after < last:
        page = rows.records(run_id, after=after, limit=min(_PAGE, last - after))
        if not page:
            return
        yield from page
        after = page[-1].seq


def recorded_runs(rows: Rows, *, since: int = 0) -> Iterator[RunRow]:
    """Yield the runs of agents whose records are there, active since then, the newest first."""
    behind: tuple[int, str] | None = None
    while page := rows.runs(limit=_PAGE, behind=behind):
        for row in page:
            if row.updated_at < since:
                return
            if row.id != LEDGER_RUN and row.status != ARCHIVED:
                yield row
        behind = page[-1].updated_at, page[-1].id


def exported_lines(rows: Rows, run_id: str | None = None) -> Iterator[bytes]:
    """Yield the records of a run, or of all runs one after the other, as lines."""
    for name in _all_chains(rows) if run_id is None else (run_id,):
        for row in records_of(rows, name):
            yield b'{"hash":"%b","record":%b}\n' % (row.hash.encode(), row.body)


def _all_chains(rows: Rows) -> Iterator[str]:
    last = ""
    while page := rows.chains(after=last):
        yield from page
        last = page[-1]
