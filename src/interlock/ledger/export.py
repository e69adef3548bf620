"""Records as lines: to keep them elsewhere, and to check them there without a ledger.

Each line is `{"hash":…,"record":…}`. What stands behind `record` are the bytes that were hashed,
as they are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from interlock.errors import DamagedError
from interlock.ledger.chain import GENESIS, ChainBrokenError, Fault, check_record, decoded, kind_of
from interlock.model.rows import RecordRow
from interlock.ports import Rows


class _Line(msgspec.Struct, frozen=True):
    hash: str
    record: msgspec.Raw


_LINE_DECODER: Final = msgspec.json.Decoder(_Line)


class LinesChecked(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about exported lines."""

    runs: dict[str, int]
    """How many records of each run hold. Whether more were written, only a ledger knows."""
    line: int
    """The number of the last line that was read."""
    fault: Fault | None = None


def exported_lines(rows: Rows, run_id: str | None = None) -> Iterator[bytes]:
    """Yield the records of a run, or of all runs one after the other, as lines."""
    for name in _all_chains(rows) if run_id is None else (run_id,):
        last = 0
        while page := rows.records(name, after=last):
            for row in page:
                yield b'{"hash":"%b","record":%b}\n' % (row.hash.encode(), row.body)
            last = page[-1].seq


def verify_lines(lines: Iterable[bytes]) -> LinesChecked:
    """Check exported lines: the records of each run in order, whatever lies between them."""
    ends: dict[str, tuple[int, str]] = {}
    number = 0
    fault = None
    for number, line in enumerate(lines, 1):
        try:
            row = _row(line)
            seq, head = ends.get(row.run_id, (0, GENESIS))
            check_record(row, row.run_id, seq + 1, head)
        except ChainBrokenError as broken:
            fault = broken.fault
            break
        except DamagedError as error:
            fault = Fault(run_id="", seq=0, problem=f"line {number}: {error}")
            break
        ends[row.run_id] = (row.seq, row.hash)
    runs = {run_id: seq for run_id, (seq, _) in ends.items()}
    return LinesChecked(runs=runs, line=number, fault=fault)


def _all_chains(rows: Rows) -> Iterator[str]:
    last = ""
    while page := rows.chains(after=last):
        yield from page
        last = page[-1]


def _row(line: bytes) -> RecordRow:
    try:
        exported = _LINE_DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedError(f"not an exported record: {error}") from error
    body = bytes(exported.record)
    record = decoded(body)
    return RecordRow(record.run, record.seq, record.at, kind_of(record.event), body, exported.hash)
