"""Many audited runs, added up to one audit. What it keeps does not grow with their number."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec.structs import replace

from interlock.model.audit import Audit, AuditedPlace, Moment, MomentKind, RunAudit
from interlock.model.past_run import Unread

_MOST_OF_A_KIND: Final = 100
_MOST_ALIKE: Final = 3
"""So often the same text is listed for the same rule."""
_MOST_UNREAD: Final = 100
_SPARE: Final = 20
"""So many times more are kept than are listed, before those that are alike are left out."""


_TOTALS: Final = (
    "runs steps calls judged turns tokens unpriced micro_usd looped burnt burnt_micro_usd early"
    " tested false_done unread_count"
).split()


class AuditSum:
    """Adds runs up."""

    def __init__(self) -> None:
        self._totals: Counter[str] = Counter()
        self._clients: Counter[str] = Counter()
        self._decisions: Counter[str] = Counter()
        self._rules: Counter[str] = Counter()
        self._counts: Counter[MomentKind] = Counter()
        self._moments: dict[MomentKind, list[Moment]] = {kind: [] for kind in MomentKind}
        self._unread: list[Unread] = []
        self._began: int | None = None
        self._ended: int | None = None

    def add(self, run: RunAudit) -> None:
        """Add a run."""
        self._totals.update(
            runs=1,
            steps=run.steps,
            calls=run.calls,
            judged=run.judged,
            turns=run.turns,
            tokens=run.tokens,
            unpriced=run.unpriced,
            micro_usd=run.micro_usd,
            looped=int(MomentKind.LOOP in run.counts),
            burnt=run.burnt,
            burnt_micro_usd=run.burnt_micro_usd,
            early=int(MomentKind.EARLY_STOP in run.counts),
            tested=int(run.tested),
            false_done=int(MomentKind.FALSE_DONE in run.counts),
        )
        self._clients[run.client or "unknown"] += 1
        self._decisions.update(run.decisions)
        self._rules.update(run.rules)
        self._counts.update(run.counts)
        self._began = min(filter(None, (self._began, run.began_at)), default=None)
        self._ended = max(filter(None, (self._ended, run.ended_at)), default=None)
        for moment in run.moments:
            kept = self._moments[moment.kind]
            kept.append(moment)
            if len(kept) > 2 * _SPARE * _MOST_OF_A_KIND:
                self._moments[moment.kind] = worst(kept, _SPARE * _MOST_OF_A_KIND)

    def add_unread(self, unread: Iterable[Unread], *, unlisted: int = 0) -> None:
        """Add what could not be read, and how much more of it is only counted."""
        self._totals["unread_count"] += unlisted
        for each in unread:
            self._totals["unread_count"] += 1
            if len(self._unread) < _MOST_UNREAD:
                self._unread.append(each)

    def told(
        self,
        *,
        identity: str,
        at: int,
        policy_hash: str,
        version: str,
        places: Sequence[AuditedPlace],
    ) -> Audit:
        """Return all of it."""
        listed = [each for kind in MomentKind for each in _distinct(self._moments[kind])]
        audit = Audit(
            id=identity,
            at=at,
            policy_hash=policy_hash,
            version=version,
            places=tuple(places),
            files=sum(each.files for each in places),
            size=sum(each.size for each in places),
            clients=dict(self._clients.most_common()),
            began_at=self._began,
            ended_at=self._ended,
            decisions=dict(self._decisions),
            rules=dict(self._rules.most_common()),
            counts=dict(self._counts),
            unread=tuple(self._unread),
            moments=tuple(sorted(listed, key=_order)),
            **{name: self._totals[name] for name in _TOTALS},  # pyright: ignore[reportArgumentType] - all of them are numbers
        )
        return replace(audit, unknown=tuple(_unknown(audit)))


def _order(moment: Moment) -> tuple[int, int, str]:
    """Return what the worst comes first by; among equals the latest does."""
    return -moment.weight, -(moment.at or 0), moment.id


def worst(moments: Iterable[Moment], most: int) -> list[Moment]:
    """Return those that weigh most, the worst first."""
    return heapq.nsmallest(most, moments, key=_order)


def _distinct(moments: Sequence[Moment]) -> Iterator[Moment]:
    """Yield the worst, of those that say the same of the same only a few."""
    alike: Counter[tuple[str, str]] = Counter()
    listed = 0
    for moment in sorted(moments, key=_order):
        alike[moment.rule, moment.text] += 1
        if alike[moment.rule, moment.text] <= _MOST_ALIKE and listed < _MOST_OF_A_KIND:
            listed += 1
            yield moment


def _unknown(audit: Audit) -> Iterator[str]:
    """Yield what is not known, in sentences."""
    yield "what agents did outside of their tools, and what a script did that they ran"
    if audit.judged < audit.calls:
        missing = audit.calls - audit.judged
        yield f"what {missing:,} of {audit.calls:,} calls were: their arguments are not kept whole"
    if audit.calls and not audit.tokens:
        yield "tokens and money: these histories do not tell them"
    elif audit.unpriced:
        yield f"what {audit.unpriced:,} of {audit.tokens:,} tokens cost: their price is not known"
