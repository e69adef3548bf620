"""The order of all records: one hash that follows from each of them, in the order of writing.

A run's chain says what follows what within the run. This one goes across all runs, so that a run
that is gone, or was put before another, shows as well. The hash of a record covers its run and its
number; how many there are is its place.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

from interlock.model.rows import GapRow, HeadRow, RecordRow

BEFORE_ALL: Final = HeadRow(records=0, runs=0, hash="", at=0)
"""The head of a ledger in which nothing was written yet."""


def followed(head: HeadRow, records: Iterable[RecordRow]) -> HeadRow:
    """Return the head after some more records."""
    count, runs, total, at = head
    for record in records:
        count += 1
        runs += record.seq == 1
        total = hashlib.sha256(f"{total}{record.hash}".encode()).hexdigest()
        at = record.at
    return HeadRow(count, runs, total, at)


def passed(gap: GapRow) -> HeadRow:
    """Return the head behind archived records."""
    return HeadRow(gap.last, gap.runs, gap.hash, gap.at)
