"""What was ever written is read for ever, and only what was written is read at all.

A line of `shapes/v1.jsonl` never changes. A new kind of event adds a line (`write_shapes`); a
new shape of an old one adds a field with a default, or a version with a file of its own.
"""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.errors import DamagedError
from interlock.ledger.chain import VERSION, decoded, encoded, kind_of
from interlock.model.events import Event, Record
from interlock.model.principal import Principal
from ledger.events import AGENT, NOON, actors, events
from ledger.write_shapes import SHAPES

LINES = SHAPES.read_bytes().splitlines()


def a_record(event: Event, *, seq: int = 1, by: Principal = AGENT) -> Record:
    return Record(v=VERSION, run="r1", seq=seq, at=NOON + seq, by=by, prev="", event=event)


@pytest.mark.parametrize("line", LINES, ids=lambda line: kind_of(decoded(line).event))
def test_reads_a_shape_of_old_and_writes_it_the_same(line: bytes) -> None:
    assert encoded(decoded(line)) == line


def test_a_shape_of_every_event_is_kept() -> None:
    kept = [kind_of(decoded(line).event) for line in LINES]

    assert sorted(kept) == sorted(kind.__struct_config__.tag for kind in Event.__args__)


@given(events(), actors())
def test_a_record_comes_back_as_it_went(event: Event, by: Principal) -> None:
    record = a_record(event, by=by)

    assert decoded(encoded(record)) == record
    assert encoded(decoded(encoded(record))) == encoded(record)


@given(st.binary(max_size=200))
@example(b"")
@example(b"\xff\xfe")
@example(b'{"v":1,"event":' + b"[" * 100_000)
@example(b'{"v":' + b"9" * 5_000 + b"}")
@example(b'{"v":true}')
@example(LINES[0].replace(b"run-started", b"run-stopped"))
@example(LINES[0][:-1])
def test_garbage_is_no_record(body: bytes) -> None:
    with pytest.raises(DamagedError):
        decoded(body)


@given(st.sampled_from(LINES), st.data())
def test_a_changed_record_is_another_record_or_none(line: bytes, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(line) - 1))
    changed = bytearray(line)
    changed[place] ^= data.draw(st.integers(1, 255))

    try:
        record = decoded(bytes(changed))
    except DamagedError:
        return
    assert isinstance(record, Record)


def test_a_value_that_no_report_may_carry_is_damage_too() -> None:
    line = next(line for line in LINES if b'"coherence_score":0.72' in line)

    with pytest.raises(DamagedError, match=r"<= 1\.0 - at `\$\.event\.context\.coherence_score`"):
        decoded(line.replace(b'"coherence_score":0.72', b'"coherence_score":1.72'))


def test_says_that_a_newer_format_needs_a_newer_interlock() -> None:
    line = LINES[0].replace(b'"v":1', b'"v":2')

    with pytest.raises(DamagedError, match="format 2, newer than the 1 known here: update"):
        decoded(line)
