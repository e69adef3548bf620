"""Where a text stands: in runs by their names, in what was asked lately, in questions to people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.events import ActionJudged
from interlock.model.short_code import code_of
from interlock.model.verdict import Decision
from interlock.views.deed import Deed, deed_of
from interlock.views.queue_view import QueueEntry, queue
from interlock.views.run_glance import RunGlance, glances_at
from interlock.views.run_list_view import runs_named

LOOKED_THROUGH: Final = 4_000
"""So many of the latest records are looked through."""
MOST_RUNS: Final = 20
MOST_ANSWERS: Final = 40
_MOST_RUNS_READ: Final = 2_000
_PAGE: Final = 1_000
_PLAIN: Final = re.compile(r"[a-z0-9_.:/-]+")


class FoundAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer to something that has the text in it."""

    run_id: str
    seq: int
    at: int
    decision: Decision
    deed: Deed
    why: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Where a text stands."""

    q: str
    runs: tuple[RunGlance, ...]
    more_runs: int
    questions: tuple[QueueEntry, ...]
    answers: tuple[FoundAnswer, ...]
    more_answers: bool
    records: int
    """How many of the latest records were looked through."""
    is_whole: bool
    """Whether those were all of them."""


def found_in(ledger: Ledger, q: str, now: int) -> Found:
    """Look for a text; an empty one is found nowhere."""
    rows, glances, text = ledger.rows, glances_at(ledger), q.strip()
    if not text:
        return Found(
            q="", runs=(), more_runs=0, questions=(), answers=(), more_answers=False, records=0,
            is_whole=True,
        )  # fmt: skip
    runs = runs_named(rows.runs(limit=_MOST_RUNS_READ), text)
    records = rows.head().records
    answers = list(_answers(ledger, text, records))
    asked = queue(ledger, now, with_ended=True)
    return Found(
        q=text,
        runs=tuple(glances.of(row) for row in runs[:MOST_RUNS]),
        more_runs=max(0, len(runs) - MOST_RUNS),
        questions=tuple(
            each
            for each in (*asked.waiting, *asked.ended)
            if text.casefold()
            in f"{each.id} {code_of(each.id)} {each.verb} {each.text} {each.why}".casefold()
        )[:MOST_RUNS],
        answers=tuple(answers[:MOST_ANSWERS]),
        more_answers=len(answers) > MOST_ANSWERS,
        records=min(records, LOOKED_THROUGH),
        is_whole=records <= LOOKED_THROUGH,
    )


def _answers(ledger: Ledger, text: str, records: int) -> Iterator[FoundAnswer]:
    """Yield what was asked lately and has the text in it, the newest first."""
    wanted, count, upto = text.casefold(), 0, records
    first = max(0, records - LOOKED_THROUGH)
    # A text that is written the same in a record saves reading those that have it not.
    plain = wanted.encode() if _PLAIN.fullmatch(wanted) else b""
    while upto > first and count <= MOST_ANSWERS:
        begin = max(first, upto - _PAGE)
        for _, row in reversed(ledger.rows.written(after=begin, limit=upto - begin)):
            may_be = row.kind == "action-judged" and (not plain or plain in row.body.lower())
            event = decoded(row.body).event if may_be else None
            if not isinstance(event, ActionJudged):
                continue
            deed, findings = deed_of(event.action), event.verdict.findings
            told = f"{deed.verb} {deed.text} {' '.join(each.rule for each in findings)}"
            if wanted in told.casefold():
                count += 1
                yield FoundAnswer(
                    run_id=row.run_id,
                    seq=row.seq,
                    at=row.at,
                    decision=event.decision,
                    deed=deed,
                    why=findings[0].message if findings else "",
                )
        upto = begin
