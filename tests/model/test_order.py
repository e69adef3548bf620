"""The order of all records, in one hash."""

from __future__ import annotations

from itertools import permutations

from interlock.model.order import BEFORE_ALL, followed, passed
from interlock.model.rows import GapRow, HeadRow, RecordRow

ROWS = [
    RecordRow("r1", 1, 10, "run-started", b"{}", "aa"),
    RecordRow("r2", 1, 11, "run-started", b"{}", "bb"),
    RecordRow("r1", 2, 12, "run-finished", b"{}", "cc"),
]


def test_it_counts_records_and_runs_and_knows_the_last_moment() -> None:
    records, runs, _, at = followed(BEFORE_ALL, ROWS)

    assert (records, runs, at) == (3, 2, 12)


def test_it_is_the_same_in_one_go_and_step_by_step() -> None:
    head = BEFORE_ALL
    for row in ROWS:
        head = followed(head, [row])

    assert head == followed(BEFORE_ALL, ROWS) == followed(head, [])


def test_every_order_and_every_part_comes_to_something_else() -> None:
    parts: list[HeadRow] = [
        followed(BEFORE_ALL, rows) for length in range(4) for rows in permutations(ROWS, length)
    ]

    assert len({each.hash for each in parts}) == len(parts)


def test_behind_archived_records_it_goes_on_as_if_they_were_there() -> None:
    there = followed(BEFORE_ALL, ROWS)
    gap = GapRow(
        first=1,
        last=3,
        archive=7,
        follows="",
        runs=there.runs,
        hash=there.hash,
        at=there.at,
        accounts=b"",
        seal="",
    )

    assert passed(gap) == there
    assert followed(passed(gap), ROWS[:1]) == followed(BEFORE_ALL, [*ROWS, *ROWS[:1]])
