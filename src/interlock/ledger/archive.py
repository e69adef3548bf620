"""An archive: the records of finished runs as they were written, in a file of their own.

It is compressed NDJSON: who it is of, the policies that the records name, then each run with its
seals, its places in the order and its records (the very bytes that were hashed), and a seal on all
of it at the end. It is verified without the ledger, with nothing but the key.
"""

from __future__ import annotations

import gzip
import hashlib
import hmac
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from interlock.descriptors import sync
from interlock.errors import DamagedError, InputError, UnavailableError
from interlock.ledger.chain import (
    SealKey,
    check_head,
    check_seal,
    decoded,
    hash_of,
    kind_of,
    read_chain,
    records_of,
)
from interlock.ledger.verification import policy_named_by
from interlock.model.rows import PolicyRow, RecordRow, RunRow, SealRow, WrittenRow
from interlock.ports import Rows

T = TypeVar("T")

_VERSION: Final = 1
_ENCODER: Final = msgspec.json.Encoder()


class ArchiveHead(msgspec.Struct, frozen=True, kw_only=True):
    """What an archive says about itself."""

    archive: int
    """The version of its format."""
    ledger: str
    runs: int
    records: int
    policies: tuple[str, ...]


class _Policy(msgspec.Struct, frozen=True):
    policy: PolicyRow


class _Run(msgspec.Struct, frozen=True):
    run: RunRow
    seals: list[SealRow]
    places: list[int]


class _Line(msgspec.Struct, frozen=True):
    hash: str
    record: msgspec.Raw


class _End(msgspec.Struct, frozen=True):
    digest: str
    seal: str


class Archive(NamedTuple):
    """What an archive holds, once all of it was found to be as written."""

    head: ArchiveHead
    digest: str
    policies: Sequence[PolicyRow]
    runs: Sequence[RunRow]
    seals: Sequence[SealRow]
    records: Sequence[WrittenRow]
    """In the order of writing."""


def written_archive(
    folder: Path,
    rows: Rows,
    runs: Sequence[RunRow],
    places: Mapping[str, Sequence[int]],
    key: SealKey,
) -> tuple[Path, ArchiveHead, str]:
    """Write the records of runs to a file that is named after what is in it.

    Return it with its head and its digest once all of that is on the disk.
    """
    head = ArchiveHead(
        archive=_VERSION,
        ledger=rows.meta("id") or "",
        runs=len(runs),
        records=sum(run.seq for run in runs),
        policies=_policies_named(rows, runs),
    )
    unfinished = folder / f".archive.{os.getpid()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            digest = _write(unfinished, _lines(head, rows, runs, places), key)
            file = folder / f"archive-{digest[:16]}.ndjson.gz"
            unfinished.replace(file)
            sync(folder)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise UnavailableError(f"{folder}: no archive can be written: {error}") from error
    return file, head, digest


def _policies_named(rows: Rows, runs: Sequence[RunRow]) -> tuple[str, ...]:
    bodies = (row.body for run in runs for row in records_of(rows, run.id))
    named = {policy_named_by(decoded(body).event) for body in bodies}
    return tuple(sorted(filter(None, named)))


def _lines(
    head: ArchiveHead, rows: Rows, runs: Sequence[RunRow], places: Mapping[str, Sequence[int]]
) -> Iterator[bytes]:
    yield _ENCODER.encode(head)
    for policy in filter(None, map(rows.policy, head.policies)):
        yield _ENCODER.encode(_Policy(policy))
    for run in runs:
        yield _ENCODER.encode(_Run(run, [*rows.seals(run.id)], [*places[run.id]]))
        for row in records_of(rows, run.id):
            yield b'{"hash":"%b","record":%b}' % (row.hash.encode(), row.body)


def _write(file: Path, lines: Iterable[bytes], key: SealKey) -> str:
    """Write what is the same whenever it is written, and wait until it is on the disk."""
    digest = hashlib.sha256()
    descriptor = os.open(file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
            for line in lines:
                packed.write(line + b"\n")
                digest.update(line + b"\n")
            found = digest.hexdigest()
            packed.write(_ENCODER.encode(_End(found, _seal(found, key))) + b"\n")
        stream.flush()
        os.fsync(stream.fileno())
    return found


def _seal(digest: str, key: SealKey) -> str:
    return key.seal_of("archive", digest.encode())


def archive_head(file: Path) -> ArchiveHead:
    """Return what an archive says about itself; nothing of it is verified yet."""
    head = _as(ArchiveHead, next(_read(file), b""), file)
    if head.archive != _VERSION:
        raise InputError(f"`{file}` is an archive of version {head.archive}: update Interlock")
    return head


def verified_archive(file: Path, key: SealKey) -> Archive:
    """Return what an archive holds; raise DamagedError unless all of it is what was written."""
    head = archive_head(file)
    *lines, end = _read(file)
    digest = hashlib.sha256(b"".join(lines)).hexdigest()
    told = _as(_End, end, file)
    if told.digest != digest or not hmac.compare_digest(told.seal, _seal(digest, key)):
        raise DamagedError(f"`{file}` is not what was written there: its seal does not fit")
    content = iter(lines[1:])
    policies = [_as(_Policy, next(content, b""), file).policy for _ in head.policies]
    runs: list[_Run] = []
    records: list[WrittenRow] = []
    for line in content:
        runs.append(run := _as(_Run, line, file))
        records += _records_of(run, content, file, key)
    if (len(runs), len(records)) != (head.runs, head.records):
        raise DamagedError(f"`{file}` has not as many runs and records as it says")
    return Archive(
        head=head,
        digest=digest,
        policies=policies,
        runs=[each.run for each in runs],
        seals=[seal for each in runs for seal in each.seals],
        records=sorted(records),
    )


def _records_of(
    found: _Run, lines: Iterator[bytes], file: Path, key: SealKey
) -> Iterator[WrittenRow]:
    """Yield a run's records, each in its place, as far as the chain and its seals hold."""
    run = found.run
    rows = [_row(_as(_Line, next(lines, b""), file), run.id) for _ in found.places]
    hashes: dict[int, tuple[str, int]] = {}
    seq, head = 0, ""
    for record, head in read_chain(rows, run.id):
        seq, hashes[record.seq] = record.seq, (head, record.at)
    check_head(run, seq, head, key)
    for seal in found.seals:
        check_seal(seal, hashes, key)
    yield from map(WrittenRow, found.places, rows)


def _row(line: _Line, run_id: str) -> RecordRow:
    body = bytes(line.record)
    record = decoded(body)
    return RecordRow(run_id, record.seq, record.at, kind_of(record.event), body, hash_of(body))


def _read(file: Path) -> Iterator[bytes]:
    try:
        with gzip.open(file) as stream:
            yield from stream
    except OSError as error:
        raise InputError(f"`{file}` cannot be read as an archive: {error}") from error
    except (EOFError, zlib.error) as error:
        raise DamagedError(f"`{file}` is damaged: {error}") from error


def _as(kind: type[T], line: bytes, file: Path) -> T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DamagedError(f"`{file}` is not an archive, or is damaged: {error}") from error
