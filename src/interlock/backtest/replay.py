"""Would it be answered the same today? Every judgement of a run, decided again.

Recorded inputs, recorded facts and the recorded policy go through the same pure functions as
then. If an answer differs, something in those functions has changed, and the difference is
shown field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, cast

import msgspec

from interlock.ledger.chain import read_chain
from interlock.ledger.rows import RecordRow, Rows
from interlock.model.events import ActionJudged, Record
from interlock.model.verdict import Finding
from interlock.policy.actions.answering import settled_answer
from interlock.policy.actions.decide import Gates, judge
from interlock.service.policies import stored_gates

_PAGE: Final = 500
_FROM_FACTS: Final = frozenset(("budget", "approval"))
"""The gates that speak from recorded facts, not from the action."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A field of an answer that comes out differently."""

    field: str
    recorded: object
    now: object


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """One judgement, decided again."""

    seq: int
    differences: tuple[Difference, ...]

    @property
    def is_same(self) -> bool:
        """Whether the answer is the recorded one."""
        return not self.differences


def replay_run(
    rows: Rows, run_id: str, *, gates: Callable[[str], Gates] | None = None
) -> Iterator[Replayed]:
    """Decide every judgement of a run again, in order; the chain is verified on the way."""
    known: dict[str, Gates] = {}
    for record, _ in read_chain(_all_records(rows, run_id), run_id):
        if isinstance(record.event, ActionJudged):
            policy_hash = record.event.verdict.policy_hash
            if policy_hash not in known:
                known[policy_hash] = (gates or _stored(rows))(policy_hash)
            yield _replayed(record, record.event, known[policy_hash])


def _stored(rows: Rows) -> Callable[[str], Gates]:
    return lambda policy_hash: stored_gates(rows, policy_hash)


def _replayed(record: Record, event: ActionJudged, gates: Gates) -> Replayed:
    settled = settled_answer(
        _findings(event, gates), event.facts, gates.policy, event.verdict.policy_hash
    )
    then = {"decision": event.decision, "verdict": event.verdict}
    now = {"decision": settled.decision, "verdict": settled.verdict}
    return Replayed(seq=record.seq, differences=tuple(_differences("", then, now)))


def _findings(event: ActionJudged, gates: Gates) -> tuple[Finding, ...]:
    """Return what the gates find now, on the action as it was kept."""
    now = judge(event.action, gates).findings
    withheld = event.facts.withheld
    if withheld is not None and now == withheld.instead:
        # What was kept is judged as it was then, so what was taken out would be as well.
        return tuple(each for each in event.verdict.findings if each.gate not in _FROM_FACTS)
    return now


def _differences(place: str, then: object, now: object) -> Iterator[Difference]:
    """Yield every place where two answers differ, as deep as both go."""
    yield from _between(place, msgspec.to_builtins(then), msgspec.to_builtins(now))


def _between(place: str, then: object, now: object) -> Iterator[Difference]:
    if then == now:
        return
    if isinstance(then, dict) and isinstance(now, dict):
        before, after = cast("dict[str, object]", then), cast("dict[str, object]", now)
        for name in sorted(before.keys() | after.keys()):
            inner = f"{place}.{name}" if place else name
            yield from _between(inner, before.get(name), after.get(name))
    elif isinstance(then, list | tuple) and isinstance(now, list | tuple):
        earlier, later = cast("Sequence[object]", then), cast("Sequence[object]", now)
        for index in range(max(len(earlier), len(later))):
            yield from _between(f"{place}[{index}]", _at(earlier, index), _at(later, index))
    else:
        yield Difference(field=place, recorded=cast("object", then), now=now)


def _at(items: Sequence[object], index: int) -> object:
    return items[index] if index < len(items) else None


def _all_records(rows: Rows, run_id: str) -> Iterator[RecordRow]:
    after = 0
    while page := rows.records(run_id, after=after, limit=_PAGE):
        yield from page
        after = page[-1].seq
