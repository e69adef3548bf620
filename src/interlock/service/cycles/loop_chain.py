"""The chain of the loop: opened once, and everything that is noted in it besides decisions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.projection import answer_key, decision_key, trigger_key
from interlock.ledger.transaction import Transaction
from interlock.model.approval import Approval, ApprovalState
from interlock.model.events import RunStarted
from interlock.model.loop_events import (
    CycleDecided,
    DeliveryAttempted,
    LoopCancelled,
    LoopFrozen,
    LoopThawed,
    NoteAdded,
    NotesProcessed,
    TriggerReceived,
)
from interlock.model.loop_state import LoopState
from interlock.model.principal import SYSTEM, Principal
from interlock.model.rows import KeyRow
from interlock.model.run import LEDGER_RUN, RunState
from interlock.model.system_loop import (
    DEFAULT_SCOPE,
    LONGEST_NOTE,
    LOOP_AGENT,
    LOOP_RUN,
    MOST_NOTES,
    MOST_TRIGGERS,
    NOTE_ADDED,
    Note,
    Trigger,
)
from interlock.policy.config.loop_section import SystemLoop
from interlock.ports import Clock
from interlock.service.people.credentials import require_operator
from interlock.service.questions.question import Asking, Entry, Question, Runs
from interlock.service.records.approvals import withdraw
from interlock.service.records.budgets import charged_scopes
from interlock.service.records.context import (
    SECOND,
    Context,
    Moment,
    checked_name,
    engine,
    new_id,
)
from interlock.service.records.holds import halt_of_all

T = TypeVar("T")

OWN_IDS: Final = ("heartbeat-", "manual-", "approval-", "note-", "job-", "run-", "retro-")
"""How the ids of the loop's own triggers begin."""
_LONGEST_DATA: Final = 2_000
"""So much of an event's data is kept."""
_LONGEST_REASON: Final = 400
_PROJECT: Final = "default"


class Received(NamedTuple):
    """What became of an event that came in."""

    trigger: Trigger
    is_new: bool
    """False where it was there before: then nothing has changed."""
    answered_by: str | None = None
    """The decision that answered it, if it was answered already."""


class LoopGovernor(Runs, Protocol):
    """Whoever answers what is asked of the loop: the governor, as far as it is needed here."""

    @property
    def ledger(self) -> Ledger:
        """Where everything is recorded."""
        ...

    @property
    def clock(self) -> Clock:
        """What tells the time."""
        ...

    def answer(self, question: Question[T], principal: Principal | None = None) -> T:
        """Answer a question that somebody asks."""
        ...


class LoopChain:
    """The loop as it is on record, and what is put there."""

    def __init__(self, governor: LoopGovernor) -> None:
        self.governor = governor
        """What everything goes through."""
        self._is_there = False
        self._known: tuple[str, RunState | None] = "", None
        """The run as it was when last looked at, by the end of its chain."""

    @property
    def settings(self) -> SystemLoop:
        """What the policy says about the loop."""
        return self.governor.context.policy.config.loop

    @property
    def state(self) -> LoopState:
        """The loop as it is on record; empty where it never did anything."""
        run = self._run
        return LoopState() if run is None else run.loop

    @property
    def standstill(self) -> str | None:
        """Why nothing is let out, where a person has frozen or halted the loop, or all runs."""
        run, everything = self._run, self.governor.ledger.state(LEDGER_RUN)
        own = None if run is None else run.standstill
        halted = None if everything is None else halt_of_all(everything)
        return own if halted is None else halted.reason

    @property
    def _run(self) -> RunState | None:
        ledger = self.governor.ledger
        row, (head, known) = ledger.rows.run(LOOP_RUN), self._known
        if row is not None and row.hash != head:
            known = ledger.state(LOOP_RUN)
            if known is not None and known.seq == row.seq:
                self._known = row.hash, known
        return known

    def do(self, plan: Callable[[Moment], T], by: Principal | None = None) -> T:
        """Do something about the loop in a transaction, by the system or by somebody."""

        def work(asking: Asking) -> Work[T]:
            asked = asking.of_run(LOOP_RUN)
            charged = charged_scopes(asked.run, asked.context.clock.now())
            return asked.work(plan, charged=charged)

        self._open()
        return self.governor.answer(Entry(work), by or SYSTEM)

    def _open(self) -> None:
        """Begin the run of the loop, if it is not there."""
        if self._is_there:
            return
        context = self.governor.context_of(_PROJECT)
        event = RunStarted(
            task="decide what comes next",
            agent=LOOP_AGENT,
            client="loop",
            project=_PROJECT,
            policy_hash=context.policy.hash,
            engine=engine(),
            own_places=context.own_places,
        )

        def plan(transaction: Transaction) -> None:
            if not transaction.has_run(LOOP_RUN):
                transaction.append(LOOP_RUN, event, at=context.clock.now(), by=SYSTEM)

        self.governor.ledger.execute(Work(plan, locks=(f"run/{LOOP_RUN}",)))
        self._is_there = True

    # What comes in.

    def add_note(
        self,
        text: str,
        *,
        source: str = "",
        tags: Sequence[str] = (),
        scope: str = DEFAULT_SCOPE,
        cause: str | None = None,
    ) -> Note:
        """Put a note into the queue; it starts a cycle."""
        if not text.strip() or len(text) > LONGEST_NOTE:
            raise InputError(
                f"the note has {len(text)} characters, expected 1 to {LONGEST_NOTE}: keep it short"
                " and name a file for the rest"
            )
        for name in (scope, *tags):
            checked_name("a tag or scope", name)

        def plan(moment: Moment) -> Note:
            clean = moment.context.clean
            if len(moment.run.loop.notes) >= MOST_NOTES:
                raise InputError(
                    f"{MOST_NOTES} notes wait, which is the most: run `interlock loop run`, or see"
                    " why nothing takes them with `interlock loop log`"
                )
            note = Note(
                id=new_id(),
                text=clean(text),
                source=clean(source),
                tags=tuple(map(clean, tags)),
                scope=clean(scope),
                at=moment.now,
            )
            moment.append(NoteAdded(note=note))
            self.take(moment, _of_note(note, cause, moment.now))
            return note

        return self.do(plan)

    def receive(self, trigger: Trigger) -> Received:
        """Take a trigger that a cycle has to answer; the same id is taken once.

        Its depth follows from the decision that caused it, where that is known.
        """
        return self.do(lambda moment: self.take(moment, trigger))

    def take(self, moment: Moment, trigger: Trigger) -> Received:
        """Take a trigger together with what else a transaction does."""
        transaction, loop = moment.transaction, moment.run.loop
        trigger = _recordable(moment.context, trigger)
        earlier = transaction.key(LOOP_RUN, trigger_key(trigger.id))
        if earlier is not None:
            answer = transaction.key(LOOP_RUN, answer_key(trigger.id))
            return Received(trigger, is_new=False, answered_by=_decision_at(moment, answer))
        # Its own are few, and what would empty the queue must not be kept out by it.
        if len(loop.triggers) >= MOST_TRIGGERS and not trigger.id.startswith(OWN_IDS):
            raise InputError(
                f"{MOST_TRIGGERS} events wait for their cycle, which is the most: run"
                " `interlock loop run`, and send this one again"
            )
        depth = max(trigger.depth, self._depth_after(moment, trigger.cause))
        waiting = [each.due_at for each in loop.triggers.values() if each.scope == trigger.scope]
        is_event = trigger.name not in ("heartbeat", "manual")
        due_at = moment.now + is_event * self.settings.debounce_seconds * SECOND
        # It is answered with those that wait already: nothing is put off for ever.
        taken = replace(trigger, depth=depth, due_at=min((due_at, *waiting)))
        moment.append(TriggerReceived(trigger=taken))
        return Received(taken, is_new=True)

    def _depth_after(self, moment: Moment, cause: str | None) -> int:
        row = None if cause is None else moment.transaction.key(LOOP_RUN, decision_key(cause))
        record = None if row is None else moment.transaction.record(LOOP_RUN, row.seq)
        if record is None or not isinstance(record.event, CycleDecided):
            return 0 if cause is None else 1
        return record.event.depth + 1

    # What goes out.

    def attempt(
        self,
        event: str,
        sink: str,
        *,
        error: str | None = None,
        next_at: int | None = None,
        result: str = "",
        notes: Sequence[str] = (),
        opens: Callable[[Transaction], object] = lambda _: None,
    ) -> bool:
        """Record that an event was handed to a sink; False where nobody waits for it any more.

        `notes` are those that it took from the queue, and `opens` what it begins, in the same
        breath.
        """

        def plan(moment: Moment) -> bool:
            found = moment.run.loop.outgoing.get(event)
            waiting = (
                [] if found is None else [each for each in found.deliveries if each.sink == sink]
            )
            if not waiting:
                return False
            clean = moment.context.clean
            opens(moment.transaction)
            moment.append(
                DeliveryAttempted(
                    event=event,
                    sink=sink,
                    attempt=waiting[0].attempts + 1,
                    error=None if error is None else clean(error)[:_LONGEST_REASON],
                    next_at=next_at,
                    result=clean(result)[:_LONGEST_REASON],
                )
            )
            taken = tuple(each for each in notes if each in moment.run.loop.notes)
            if taken:
                moment.append(NotesProcessed(notes=taken, event=event))
            return True

        return self.do(plan)

    # What people say.

    def freeze(self, reason: str, by: Principal) -> None:
        """Freeze the loop: it does nothing from now on; an operator may."""
        self._said(LoopFrozen(reason=self.reason(reason)), by)

    def thaw(self, reason: str, by: Principal) -> None:
        """Unfreeze the loop; an operator may."""
        self._said(LoopThawed(reason=self.reason(reason)), by)

    def cancel(self, thing: str, reason: str, by: Principal) -> None:
        """Take back an event that was not delivered yet, or an action that waits for a person."""
        event = LoopCancelled(id=thing, reason=self.reason(reason))

        def plan(moment: Moment) -> None:
            loop = moment.run.loop
            held = list(loop.held.values())
            known = {each.decision_id for each in (*loop.outgoing.values(), *held)}
            if thing not in known | set(loop.outgoing):
                raise InputError(
                    f"nothing waits under `{thing}`: `interlock loop status` lists what does"
                )
            moment.append(event)
            for each in held:
                asked = moment.transaction.approval(each.approval)
                if each.decision_id == thing and asked is not None:
                    _withdraw_unanswered(moment, asked)

        self.do(plan, require_operator(by))

    def _said(self, event: LoopFrozen | LoopThawed, by: Principal) -> None:
        def plan(moment: Moment) -> None:
            is_frozen = moment.run.loop.frozen is not None
            if is_frozen != isinstance(event, LoopFrozen):
                moment.append(event)

        self.do(plan, require_operator(by))

    def reason(self, reason: str) -> str:
        """Return why a person wants something, as it goes on record."""
        if not reason.strip():
            raise InputError("the reason is empty: say why, for the record")
        return self.governor.context.clean(reason)[:_LONGEST_REASON]

    # What is looked up.

    def cause_of(self, trigger_id: str) -> str | None:
        """Return the decision that led to a trigger, if it is on record that one did."""
        rows = self.governor.ledger.rows
        key = rows.key(LOOP_RUN, trigger_key(trigger_id))
        row = None if key is None else rows.record(LOOP_RUN, key.seq)
        event = None if row is None else decoded(row.body).event
        return event.trigger.cause if isinstance(event, TriggerReceived) else None

    def decision(self, decision_id: str) -> CycleDecided | None:
        """Return a decision by its id, or by that of the event that it emitted."""
        rows = self.governor.ledger.rows
        row = rows.key(LOOP_RUN, decision_key(decision_id))
        return None if row is None else decision_at(self.governor, row.seq)


def decision_at(governor: LoopGovernor, seq: int) -> CycleDecided | None:
    """Return the decision that stands at a place of the chain."""
    row = governor.ledger.rows.record(LOOP_RUN, seq)
    event = None if row is None else decoded(row.body).event
    return event if isinstance(event, CycleDecided) else None


def _withdraw_unanswered(moment: Moment, asked: Approval) -> None:
    if asked.state is ApprovalState.PENDING:
        withdraw(moment, asked)


def _recordable(context: Context, trigger: Trigger) -> Trigger:
    """Return a trigger without credentials; an id that holds one is known by its digest."""
    clean = context.clean
    return replace(
        trigger,
        id=trigger.id if clean(trigger.id) == trigger.id else context.digest(trigger.id),
        name=clean(trigger.name),
        scope=clean(trigger.scope),
        cause=None if trigger.cause is None else clean(trigger.cause),
        data=clean(trigger.data)[:_LONGEST_DATA],
    )


def _of_note(note: Note, cause: str | None, now: int) -> Trigger:
    return Trigger(
        id=f"note-{note.id}",
        name=NOTE_ADDED,
        scope=note.scope,
        cause=cause,
        occurred_at=now,
        due_at=now,
    )


def _decision_at(moment: Moment, row: KeyRow | None) -> str | None:
    record = None if row is None else moment.transaction.record(LOOP_RUN, row.seq)
    event = None if record is None else record.event
    return event.decision_id if isinstance(event, CycleDecided) else None
