"""Exported lines hold the very bytes of the records, and can be checked anywhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from interlock.ledger.chain import exported_lines, hash_of
from interlock.ledger.ledger import Ledger
from ledger.attacker import fill
from ledger.events import all_records


def test_a_line_holds_the_hash_and_the_bytes_that_have_it(ledger: Ledger) -> None:
    fill(ledger)

    lines = list(exported_lines(ledger.rows, "r1"))
    bodies = all_records(ledger, "r1")
    assert [line.partition(b'"record":')[2] for line in lines] == [b + b"}\n" for b in bodies]
    assert [json.loads(line)["hash"] for line in lines] == [hash_of(body) for body in bodies]


def test_every_run_is_exported_one_after_the_other(ledger: Ledger) -> None:
    fill(ledger)

    runs = [json.loads(line)["record"]["run"] for line in exported_lines(ledger.rows)]
    assert runs == sorted(runs)
    assert Counter(runs) == {"ledger": 1, "long": 300, "over": 3, "r1": 7}


def test_each_line_names_the_hash_of_the_one_before_it(ledger: Ledger) -> None:
    fill(ledger)

    lines = [json.loads(line) for line in exported_lines(ledger.rows, "long")]
    hashes = [line["hash"] for line in lines]
    assert [line["record"]["prev"] for line in lines] == ["", *hashes[:-1]]


def test_lines_come_one_by_one(ledger: Ledger) -> None:
    fill(ledger)

    lines = exported_lines(ledger.rows)
    assert isinstance(lines, Iterator)
    assert b'"run":"ledger"' in next(lines)


def test_there_are_no_lines_of_a_run_that_never_was(ledger: Ledger) -> None:
    assert list(exported_lines(ledger.rows, "r9")) == []
