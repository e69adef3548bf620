"""SENSE: what every source says, each within its own time; one that fails stops no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from interlock.model.approval import ApprovalState, Subject
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.model.system_loop import (
    LOOP_RUN,
    MOST_ITEMS,
    Item,
    Reading,
    Snapshot,
    Source,
)
from interlock.policy.loop.rules_decider import (
    APPLICABLE,
    JOB,
    UNDELIVERED,
    subject_of,
    undelivered_text,
)
from interlock.service.cycles.cycle_decision import HANDLERS
from interlock.service.cycles.loop_chain import LoopChain

MINUTE: Final = 60_000_000
"""In the unit of the clock."""
_MOST_RUNS: Final = 200
"""So many of the runs that were active last are looked at."""
_LONGEST_TEXT: Final = 500
_LONGEST_ERROR: Final = 200


class StateSource(Protocol):
    """Somebody who knows a part of the state. Plug in one of your own by these two."""

    @property
    def name(self) -> str:
        """What its reading is called in a snapshot."""
        ...

    def read(self, now: int) -> Sequence[Item]:
        """Return what there is, the oldest first; raise whatever goes wrong."""
        ...


class Senses:
    """The sources of a loop: the five that are always there, and whatever is plugged in."""

    def __init__(self, chain: LoopChain, extra: Sequence[StateSource] = ()) -> None:
        self._chain = chain
        own = OwnSources(chain)
        self._sources: dict[str, Callable[[int], Sequence[Item]]] = {
            Source.NOTES.value: own.notes,
            Source.SLOG.value: own.slog,
            Source.RECOMMENDATIONS.value: own.recommendations,
            Source.RUNS.value: own.runs,
            Source.UNFINISHED.value: own.unfinished,
        }
        self._sources.update({each.name: each.read for each in extra})
        self._late: dict[str, _Question] = {}
        """What was asked and not answered in time, by the name of its source."""

    def snapshot(self) -> Snapshot:
        """Ask every source, all at once; whoever takes too long is left out, and says so."""
        now = self._chain.governor.clock.now()
        # Other cycles look at the same time: what is asked here is answered here.
        asked = {name: self._asked(name, read, now) for name, read in self._sources.items()}
        timeout_s = float(self._chain.settings.source_timeout_seconds)
        return Snapshot(
            readings=tuple(
                self._reading(name, question, now, timeout_s) for name, question in asked.items()
            )
        )

    def _asked(self, name: str, read: Callable[[int], Sequence[Item]], now: int) -> _Question:
        """Ask a source; one that hangs is not asked again until it has answered."""
        late = self._late.get(name)
        return _Question(read, now) if late is None or late.is_over else late

    def _reading(self, name: str, question: _Question, now: int, timeout_s: float) -> Reading:
        items, error = question.answer(timeout_s)
        if not question.is_over:
            self._late[name] = question
        if error is None and question.asked_at != now:
            error = "it had not answered the question before in time"
        if error is not None:
            clean = self._chain.governor.context.clean(error)[:_LONGEST_ERROR]
            return Reading(source=name, observed_at=now, error=clean)
        kept = tuple(map(self._recordable, items[:MOST_ITEMS]))
        return Reading(source=name, observed_at=now, value=len(items), items=kept)

    def _recordable(self, item: Item) -> Item:
        clean = self._chain.governor.context.clean
        return msgspec.structs.replace(
            item,
            id=clean(item.id),
            kind=clean(item.kind),
            text=clean(item.text)[:_LONGEST_TEXT],
            project=clean(item.project),
        )


class _Question:
    """A source that was asked; whoever asked waits so long and no longer."""

    def __init__(self, read: Callable[[int], Sequence[Item]], now: int) -> None:
        self.asked_at = now
        self._items: Sequence[Item] = ()
        self._error: str | None = None
        self._thread = threading.Thread(
            target=self._ask, args=(read, now), name="interlock-source", daemon=True
        )
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return not self._thread.is_alive()

    def answer(self, timeout_s: float) -> tuple[Sequence[Item], str | None]:
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            return (), f"no answer within {timeout_s:g} s"
        return self._items, self._error

    def _ask(self, read: Callable[[int], Sequence[Item]], now: int) -> None:
        try:
            self._items = list(read(now))
        except Exception as error:  # noqa: BLE001 - whatever a source raises, the cycle goes on
            self._error = f"{type(error).__name__}: {error}"


class OwnSources:
    """The five sources that every snapshot has, from the ledger."""

    def __init__(self, chain: LoopChain) -> None:
        self._chain = chain
        self._ledger = chain.governor.ledger

    def notes(self, _now: int) -> Sequence[Item]:
        """Return the notes that wait."""
        return [
            Item(id=note.id, kind="note", text=note.text, project=note.scope, since=note.at)
            for note in self._chain.state.notes.values()
        ]

    def slog(self, _now: int) -> Sequence[Item]:
        """Return the last decisions that emitted something."""
        return [
            Item(
                id=each.decision_id,
                kind=each.choice.action.value,
                text=subject_of(each.choice),
                project=each.scope,
                since=each.at,
            )
            for each in self._chain.state.recent
        ]

    def recommendations(self, _now: int) -> Sequence[Item]:
        """Return the recommendations that nobody has settled."""
        return [
            Item(id=each.id, kind=APPLICABLE if each.patch else "advice", text=each.title)
            for each in self._chain.state.pending_recommendations
        ]

    def runs(self, _now: int) -> Sequence[Item]:
        """Return the runs that are at work."""
        working = [run for run in self._at_work() if run.control.hold is None]
        # A snapshot names the first of them: whether a job runs must not be overlooked.
        return sorted(map(_as_item, working), key=lambda item: item.kind != JOB)

    def unfinished(self, now: int) -> Sequence[Item]:
        """Return what was begun and left lying."""
        before = now - self._chain.settings.stale_minutes * MINUTE
        return [
            *self._approvals(before),
            *[each for run in self._at_work() for each in _left_of(run, before)],
            *self._undelivered(),
        ]

    def _at_work(self) -> Sequence[RunState]:
        rows = self._ledger.rows.runs(limit=_MOST_RUNS, status=RunStatus.RUNNING.value)
        own = (LOOP_RUN, LEDGER_RUN)
        states = [self._ledger.state(row.id) for row in rows if row.id not in own]
        return sorted(
            (each for each in states if each is not None), key=lambda each: each.started_at
        )

    def _approvals(self, before: int) -> Sequence[Item]:
        pending = self._ledger.rows.approvals(state=ApprovalState.PENDING.value)
        return [
            Item(
                id=each.id,
                kind="unanswered-approval",
                text=each.summary,
                since=each.opened_at,
            )
            for each in pending
            # What the loop itself asks changes nothing in what it sees.
            if each.subject is not Subject.LOOP and each.opened_at <= before
        ]

    def _undelivered(self) -> Sequence[Item]:
        return [
            Item(id=each.event, kind=UNDELIVERED, text=undelivered_text(each.choice))
            for each in self._chain.state.outgoing.values()
            # What another sink does not have yet is done all the same.
            if any(delivery.sink == HANDLERS for delivery in each.deliveries)
        ]


def _as_item(run: RunState) -> Item:
    is_job = run.ancestors[:1] == (LOOP_RUN,)
    return Item(
        id=run.id,
        kind=JOB if is_job else "run",
        text=run.task,
        project=run.project,
        since=run.started_at,
    )


def _left_of(run: RunState, before: int) -> Sequence[Item]:
    """Return what of a run was left lying: a pause, reviews, or all of it."""
    hold = run.control.hold
    found = [
        Item(
            id=f"{run.id}/{name}",
            kind="pending-review",
            text=review.subject or run.task,
            project=run.project,
        )
        for name, review in run.reviews.pending.items()
    ]
    if hold is not None:
        text = f"{run.task}: {hold.reason}"
        kind = f"{hold.kind.value}-run" if hold.kind.value != "pause" else "paused-run"
        found.append(Item(id=run.id, kind=kind, text=text, project=run.project, since=hold.since))
    elif run.updated_at <= before:
        kind = "stale-checkpoint" if run.control.checkpoints else "stale-run"
        found.append(
            Item(id=run.id, kind=kind, text=run.task, project=run.project, since=run.updated_at)
        )
    return found
