"""Exported lines hold the very bytes of the records, and can be checked anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.ledger.chain import exported_lines, hash_of, verify_lines
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.memory import MemoryStore
from ledger.attacker import fill
from ledger.events import KEY, all_records


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    with Ledger(MemoryStore(), key=KEY) as ledger:
        fill(ledger)
        return list(exported_lines(ledger.rows))


def test_a_line_holds_the_hash_and_the_bytes_that_have_it(ledger: Ledger) -> None:
    fill(ledger)

    lines = list(exported_lines(ledger.rows, "r1"))
    bodies = all_records(ledger, "r1")
    assert [line.partition(b'"record":')[2] for line in lines] == [b + b"}\n" for b in bodies]
    assert [json.loads(line)["hash"] for line in lines] == [hash_of(body) for body in bodies]
    assert verify_lines(lines).runs == {"r1": 7}


def test_every_run_is_exported_one_after_the_other(ledger: Ledger) -> None:
    fill(ledger)

    checked = verify_lines(exported_lines(ledger.rows))
    assert checked.runs == {"ledger": 1, "long": 300, "over": 3, "r1": 7}
    assert (checked.line, checked.fault) == (311, None)


def test_lines_come_one_by_one(ledger: Ledger) -> None:
    fill(ledger)

    lines = exported_lines(ledger.rows)
    assert isinstance(lines, Iterator)
    assert b'"run":"ledger"' in next(lines)


def test_there_are_no_lines_of_a_run_that_never_was(ledger: Ledger) -> None:
    assert list(exported_lines(ledger.rows, "r9")) == []
    assert verify_lines([]).line == 0


def test_runs_may_be_mixed_and_left_out(lines: list[bytes]) -> None:
    mixed = [*lines[301:304], *lines[304:], *lines[:301]]

    assert verify_lines(mixed).fault is None
    assert verify_lines(lines[1:301]).runs == {"long": 300}


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        ([1, 3], "missing: record 3 follows record 1"),
        ([1, 3, 2], "missing: record 3 follows record 1"),
        ([2, 3], "missing: record 2 follows record 0"),
        ([1, 2, 2], "missing: record 2 follows record 2"),
    ],
    ids=["one is missing", "two are swapped", "the first is missing", "one comes twice"],
)
def test_names_the_first_line_that_does_not_follow(
    lines: list[bytes], order: list[int], problem: str
) -> None:
    fault = verify_lines(lines[303 + number] for number in order).fault

    assert fault is not None
    assert (fault.run_id, fault.problem) == ("r1", problem)


@given(data=st.data())
def test_any_byte_that_is_changed_is_found(lines: list[bytes], data: st.DataObject) -> None:
    kept = lines[304:]
    number = data.draw(st.integers(0, len(kept) - 1))
    changed = bytearray(kept[number])
    place = data.draw(st.integers(0, len(changed) - 2))
    changed[place] ^= data.draw(st.integers(1, 255))

    checked = verify_lines([*kept[:number], bytes(changed), *kept[number + 1 :]])
    assert checked.fault is not None
    assert checked.line == number + 1


@pytest.mark.parametrize("line", [b"", b"[]", b"\xff", b'{"hash":"","record":{}}', b"[" * 99_999])
def test_garbage_is_no_line(line: bytes) -> None:
    fault = verify_lines([line]).fault

    assert fault is not None
    assert fault.problem.startswith("line 1: not ")
