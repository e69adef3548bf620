"""Does every record follow from those before it?

An answer is recorded with the facts that it was given on. Here they are found once more, with the
functions that found them then, in what the earlier records come to. So whoever changes what is
stored beside the records, lets Interlock answer and puts it back is told of by the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from msgspec.structs import replace

from interlock.errors import InputError, LedgerError
from interlock.ledger.projection import FORGOTTEN, Projection, project, report_key
from interlock.ledger.verification import Mismatch
from interlock.model import events, loop_events
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import NOTHING, Account, Amounts, BudgetBalance, Dimension, Limits
from interlock.model.control_state import ControlState, Reviews
from interlock.model.facts import Facts, HoldKind
from interlock.model.loop_state import DAY, LoopState
from interlock.model.rows import Changes, KeyRow
from interlock.model.run import LEDGER_RUN, RunState, RunStatus, folded
from interlock.model.step import Remaining, StepContext, remaining_field
from interlock.model.system_loop import RailFacts
from interlock.model.verdict import Decision
from interlock.ports import Rows
from interlock.service.policies.policy_book import stored_policy
from interlock.service.questions.action_question import with_word_of_person
from interlock.service.questions.step_question import remaining_in
from interlock.service.records.budgets import charged_scopes, limited_balances, policy_limits
from interlock.service.records.context import SECOND
from interlock.service.records.holds import hard_states, holds_in_tree

_HALTED: Final = HoldKind.PERSON_STOP.value
_SETTLED_AFTER: Final = 60 * SECOND
"""So long after a halt of all runs, every answer must know of it."""
_Answer = events.ActionJudged | events.StepJudged | events.StopJudged


class Grounds:
    """Goes along the records in order, and notes the first of each run that has no grounds.

    Of one run alone it is not known what the others used, nor what holds those above it.
    """

    def __init__(self, rows: Rows, *, is_alone: bool = False) -> None:
        self._rows = rows
        self._is_alone = is_alone
        self._accounts: dict[str, Account] = {}
        self._runs: dict[str, _Run] = {}
        self._limits = cache(self._limits_of)
        self._problems: dict[str, Mismatch] = {}
        self._all_changed_at: int | None = None
        """When all runs were last halted, or that was lifted."""

    def account(self, scope: str) -> Account:
        """Return an account as the records so far have it."""
        return self._accounts.get(scope, Account())

    def state(self, run_id: str) -> RunState:
        """Return a run as the records so far have it."""
        found = self._runs.get(run_id)
        return RunState(id=run_id) if found is None else found.state

    def take(self, record: events.Record) -> None:
        """Hold one more record against those before it."""
        run = self._runs.get(record.run)
        if run is None:
            run = self._runs[record.run] = _Run(record.run, self._accounts)
            row = self._rows.run(record.run)
            run.last = 0 if row is None else row.seq
        if record.run not in self._problems:
            difference = next(self._differences(run, record), None)
            if difference is not None:
                place = f"run `{record.run}`, record {record.seq}"
                self._problems[record.run] = Mismatch(row=place, difference=difference)
        run.take(record)
        is_of_all = isinstance(record.event, events.RunHalted | events.RunLifted)
        if record.run == LEDGER_RUN and is_of_all:
            self._all_changed_at = record.at
        if record.run == LEDGER_RUN and isinstance(record.event, events.LedgerAccepted):
            # A person let it count, knowing that it was not what was written.
            self._problems.clear()

    def skip(self, accounts: Mapping[str, Account]) -> None:
        """Go on behind archived records, with what they made of accounts."""
        self._accounts.update(accounts)

    @property
    def problems(self) -> tuple[str, ...]:
        """What does not follow from what was recorded before, with the place."""
        return tuple(each.problem for each in self._problems.values())

    def _differences(self, run: _Run, record: events.Record) -> Iterator[str]:
        match record.event:
            case events.ActionJudged() as event:
                yield from run.as_answer(event)
                yield from self._unlike_facts(run, record, event)
                yield from run.unlike_word(event, record.at)
                yield from run.unlike_promise(event.replaces, event.returned)
            case events.StepJudged(context=context) | events.StopJudged(facts=context) as event:
                yield from run.as_answer(event)
                yield from self._unlike_step(run.state, record.at, event, context)
            case events.ReviewJudged(key=key, digest=digest):
                yield from run.unlike_key(key, digest)
            case events.ActionObserved(of=int(of), released=released):
                yield from run.as_report(of)
                yield from run.unlike_promise(of, released)
            case events.ReservationLapsed(of=of, released=released):
                yield from run.unlike_promise(of, released)
            case loop_events.CycleDecided() as event:
                yield from run.as_cycle(event, record.at)
            case events.ApprovalDecided(id=approval_id):
                yield from run.as_decided(approval_id)
            case events.ApprovalUsed(id=approval_id):
                yield from run.as_used(approval_id, record.at)
            case _:
                pass

    def _unlike_facts(
        self, run: _Run, record: events.Record, event: events.ActionJudged
    ) -> Iterator[str]:
        state, facts = run.state, event.facts
        if not self._is_alone or not state.ancestors:
            told = None if facts.hold is None else facts.hold.kind.value
            possible = self._possible_holds(state, record.at)
            if told not in possible:
                yield f"it was answered with the hold `{told}`, the run had `{possible[0]}`"
        if facts.unpriced_accepted not in (None, state.unpriced_accepted):
            yield "it was answered as if a person had spoken on an unknown price"
        named = self._limits(event.verdict.policy_hash)
        if self._is_alone or named is None:
            return
        found = limited_balances(named, self, state, charged=event.scopes, now=record.at)
        expected = [replace(each, reserved=each.reserved - event.returned) for each in found]
        yield from _unlike_balances(facts, expected)

    def _unlike_step(
        self,
        state: RunState,
        at: int,
        event: events.StepJudged | events.StopJudged,
        context: StepContext,
    ) -> Iterator[str]:
        if not self._is_alone or not state.ancestors:
            held = [each.state.value for each in hard_states(self, state)]
            if held and not self._are_all_halted(at):
                held = held[: sum(1 for _ in holds_in_tree(self, state))]
            if [each.state.value for each in event.hard][: len(held)] != held:
                yield f"it was answered although the run was held: {', '.join(held)}"
        named = self._limits(state.policy_hash)
        if self._is_alone or named is None:
            return
        # It may have been asked on one day and answered on the next: the day's account is left out.
        charged = charged_scopes(state, at)[:-1]
        least = remaining_in(limited_balances(named, self, state, charged=charged, now=at))
        recorded = context.budget_remaining or Remaining()
        for name in map(remaining_field, Dimension):
            left, told = getattr(least, name), getattr(recorded, name)
            if left is not None and (told is None or told > left):
                yield f"it was answered with {name} `{told}`, the records leave `{left}`"

    def _possible_holds(self, state: RunState, at: int) -> list[str | None]:
        """Return the kinds of hold that an action may have been answered with."""
        kinds = [hold.kind for _, hold in holds_in_tree(self, state)]
        halted = self._are_all_halted(at)
        in_tree = max(kinds).value if kinds else None
        return [*([] if halted else [in_tree]), *([] if halted is False else [_HALTED])]

    def _are_all_halted(self, at: int) -> bool | None:
        """Whether a person had halted all runs; None where that cannot be said for this moment.

        No run waits for the ledger's own chain, so that an answer may come on record right behind
        a halt that was not there yet when it was decided.
        """
        changed_at = self._all_changed_at
        if self._is_alone or (changed_at is not None and at - changed_at < _SETTLED_AFTER):
            return None
        return self.state(LEDGER_RUN).control.hold is not None

    def _limits_of(self, policy_hash: str) -> Mapping[str, Limits] | None:
        try:
            return policy_limits(stored_policy(self._rows, policy_hash))
        except (LedgerError, InputError):
            return None


class _Run(Projection):
    """A run so far: its state, its questions to people, its request keys and promises."""

    def __init__(self, run_id: str, accounts: dict[str, Account]) -> None:
        super().__init__()
        self.accounts = accounts
        self.state = RunState(id=run_id)
        self.last = 0
        """How many records there will be."""
        self.promised: dict[int, Amounts] = {}
        """What answers have reserved that nobody reported on yet, by record."""
        self._asked: dict[tuple[str, str], str] = {}
        """The latest question about an action under a policy."""
        self._before: events.Event | None = None

    def take(self, record: events.Record) -> None:
        """Let one more record count."""
        event = record.event
        match event:
            case events.ActionJudged(approval=approval):
                # A question about a price is one of the run, not of the action that met it.
                if approval not in (None, event.facts.granted, self.state.price_question):
                    self._asked[event.digest, event.verdict.policy_hash] = approval
                self.promised.pop(event.replaces or 0, None)
                if event.lease_until is not None:
                    self.promised[record.seq] = event.reserved
            case events.ActionObserved(of=int(of)) | events.ReservationLapsed(of=of):
                self.promised.pop(of, None)
            case _:
                pass
        self.state, self._before = folded(self.state, record), event
        project(self, record)
        if record.seq == self.last:
            self._rest()

    def as_answer(self, event: _Answer) -> Iterator[str]:
        """Yield why this cannot have been answered."""
        if self.state.status is not RunStatus.RUNNING:
            yield "it was answered after the run was finished"
        yield from self.unlike_key(event.key, event.digest)
        earlier = self._answered(event.key)
        if isinstance(event, events.ActionJudged) and earlier and event.replaces != earlier.seq:
            yield f"its key has the answer of record {earlier.seq} already"

    def unlike_key(self, key: str | None, digest: str) -> Iterator[str]:
        """Yield that a key stands for something else."""
        earlier = self._answered(key)
        if earlier is not None and earlier.digest != digest:
            yield f"its key `{key}` stands for another request, that of record {earlier.seq}"

    def _answered(self, key: str | None) -> KeyRow | None:
        row = None if key is None else self.changes.keys.get((self.state.id, key))
        return None if row is None or row.seq == FORGOTTEN else row

    def unlike_word(self, event: events.ActionJudged, at: int) -> Iterator[str]:
        """Yield where a person's word on an action is not the one on record."""
        facts = event.facts
        asks = event.decision is Decision.REQUIRE_CONFIRMATION
        if not (asks or facts.granted or facts.denied or facts.undo):
            # Only where a person has to agree does it matter what a person has said.
            return
        asked = self._asked.get((event.digest, event.verdict.policy_hash))
        approval = None if asked is None else self.approval(asked)
        said = with_word_of_person(Facts(), approval, self.state, at)
        if (said.granted, said.denied) != (facts.granted, facts.denied):
            told = f"approval `{facts.granted}`" if facts.granted else "no approval"
            yield f"it was answered with {told}; on record for this action is {_told(approval)}"
        waits = None if event.approval is None else self.approval(event.approval)
        if asks and (waits is None or not waits.is_open_at(at)):
            yield f"it waits for approval `{event.approval}`, which is {_told(waits)}"

    def as_report(self, of: int) -> Iterator[str]:
        """Yield why an action cannot have been reported on."""
        if (self.state.id, report_key(of)) in self.changes.keys:
            yield f"record {of} was reported on before"

    def as_decided(self, approval_id: str) -> Iterator[str]:
        """Yield why nobody can have decided."""
        approval = self.approval(approval_id)
        if approval is None or approval.state is not ApprovalState.PENDING:
            yield f"it decides approval `{approval_id}`, which is {_told(approval)}"

    def as_used(self, approval_id: str, at: int) -> Iterator[str]:
        """Yield why an approval cannot have let anything through."""
        approval = self.approval(approval_id)
        if approval is None or not approval.is_usable_at(at):
            yield f"approval `{approval_id}` cannot be used: it is {_told(approval)}"
        judged = self._before
        is_judged = isinstance(judged, events.ActionJudged | loop_events.CycleDecided)
        if not is_judged or judged.facts.granted != approval_id:
            yield f"approval `{approval_id}` let nothing through"

    def as_cycle(self, event: loop_events.CycleDecided, at: int) -> Iterator[str]:
        """Yield why the loop cannot have decided this."""
        loop = self.state.loop
        unknown = [each for each in event.triggers if each not in loop.triggers]
        if unknown or not event.triggers:
            yield f"it answers what does not wait: {', '.join(unknown) or 'nothing'}"
        facts = RailFacts(
            frozen=self.state.standstill,
            acted=loop.acted_within_hour(event.choice.action, at),
            outgoing=len(loop.outgoing),
            held=len(loop.held),
            spent_micros=loop.spent_on(at // DAY),
            granted=event.facts.granted,
            denied=event.facts.denied,
        )
        if event.facts != facts:
            yield f"it was decided on {event.facts}, and the records say {facts}"
        granted = None if facts.granted is None else self.approval(facts.granted)
        if facts.granted is not None and (granted is None or not granted.is_usable_at(at)):
            yield f"it was decided with approval `{facts.granted}`, which is {_told(granted)}"

    def unlike_promise(self, of: int | None, returned: Amounts) -> Iterator[str]:
        """Yield that more or less goes back than was reserved."""
        promised = NOTHING if of is None else self.promised.get(of, NOTHING)
        if returned != promised:
            yield f"it gives back what record {of} did not reserve, or not all of it"

    def _rest(self) -> None:
        """Forget what only later records of the run would need."""
        self.promised.clear()
        self._asked.clear()
        self.changes = Changes()
        control = ControlState(hold=self.state.control.hold)
        state = replace(
            self.state, control=control, reviews=Reviews(), loop=LoopState(), report=None
        )
        self.state = replace(state, files=frozenset(), written={}, granted=frozenset())


def _unlike_balances(facts: Facts, expected: list[BudgetBalance]) -> Iterator[str]:
    recorded, derived = ({each.scope: each for each in of} for of in (facts.balances, expected))
    for scope in sorted({*recorded, *derived}):
        told, wanted = recorded.get(scope), derived.get(scope)
        if told != wanted:
            yield f"account `{scope}` was taken for {_shown(told)}, and was {_shown(wanted)}"


def _shown(balance: BudgetBalance | None) -> str:
    if balance is None:
        return "no limit"
    taken = balance.after(NOTHING)
    limited = [each for each in Dimension if balance.limits.of(each) is not None]
    return ", ".join(
        f"{taken.of(each)} of {balance.limits.of(each)} {each.unit}" for each in limited
    )


def _told(approval: Approval | None) -> str:
    if approval is None:
        return "none"
    if approval.state is ApprovalState.GRANTED and approval.uses_left <= 0:
        return "used up"
    return f"{approval.state.value}"
