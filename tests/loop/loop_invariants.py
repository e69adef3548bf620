"""What must hold of every history of the loop, whoever lied, died or came twice.

Everything is found out from the records of the chain and from what arrived, by other means than
the loop's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import Final, NamedTuple, TypeVar

import msgspec

from interlock.ledger.chain import decoded, records_of
from interlock.ledger.verification import RunChecked, verify_all
from interlock.model.approval import ApprovalState, Subject
from interlock.model.events import ApprovalDecided, ApprovalOpened, ApprovalUsed, Record
from interlock.model.loop_events import (
    CycleDecided,
    LoopCancelled,
    LoopFrozen,
    LoopThawed,
    ModelAnswered,
    ModelAsked,
    RetrospectiveWritten,
    TriggerReceived,
)
from interlock.model.run import RunState, folded
from interlock.model.system_loop import (
    EVENT_TYPES,
    ApplyRecommendation,
    Choice,
    CloudEvent,
    DoNothing,
    EmitAlert,
    LoopAction,
    ProcessNotes,
    Snapshot,
    Source,
    StartLoop,
)
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.rules_decider import about_event
from loop.simulation import OPERATOR, History
from loop.virtual_world import HOUR

E = TypeVar("E")

_LONGEST_MESSAGE: Final = 500


class Emission(NamedTuple):
    """A decision that let something out."""

    record: Record
    decided: CycleDecided
    event: CloudEvent
    policy: SystemLoop


class TakenBack(NamedTuple):
    """A question that a person cancelled."""

    seq: int
    approval: str | None


class Evidence:
    """What there is to judge a history by."""

    def __init__(self, history: History) -> None:
        self.history = history
        rows = history.loop.chain.governor.ledger.rows
        self.records = [decoded(row.body) for row in records_of(rows, "loop")]
        self.policies: Mapping[str, SystemLoop] = {
            policy.hash: policy.config.loop for policy in history.policies.all()
        }

    def of(self, kind: type[E]) -> list[tuple[Record, E]]:
        """Return every record of a kind, with what it says."""
        return [(each, each.event) for each in self.records if isinstance(each.event, kind)]

    @cached_property
    def emissions(self) -> list[Emission]:
        return [
            Emission(record, decided, decided.emitted, self.policies[decided.policy_hash])
            for record, decided in self.of(CycleDecided)
            if decided.emitted is not None
        ]

    @cached_property
    def cancelled(self) -> set[str]:
        return {each.id for _, each in self.of(LoopCancelled)}


def violations(history: History) -> Iterator[str]:
    """Yield what does not hold, each with the name of what was to hold."""
    evidence = Evidence(history)
    for name, law in _LAWS.items():
        for problem in law(evidence):
            yield f"{name}: {problem}"


def _one_event(evidence: Evidence) -> Iterator[str]:
    """Never two events for one decision, nor two ids."""
    emitted = {each.event.id: each for each in evidence.emissions}
    decisions = Counter(each.decision_id for _, each in evidence.of(CycleDecided))
    yield from [f"decision {name} stands twice" for name, n in decisions.items() if n > 1]
    if len(emitted) != len(evidence.emissions):
        yield "two decisions emitted events of the same id"
    for sink, event in evidence.history.world.received:
        found = emitted.get(event.id)
        if found is None:
            yield f"{sink} got event {event.id}, which nobody emitted"
        elif found.event != event or event.data["decisionId"] != found.decided.decision_id:
            yield f"{sink} got event {event.id} with other contents"
    begun = Counter(decision for decision, _ in evidence.history.world.begun)
    yield from [f"decision {name} started {n} jobs" for name, n in begun.items() if n > 1]


def _closed_set(evidence: Evidence) -> Iterator[str]:
    """Never an event outside of the set, nor parameters that nobody knows."""
    # A person may have agreed to an alert about an event that an earlier cycle answered.
    happened = {about_event(each.trigger.id) for _, each in evidence.of(TriggerReceived)}
    for record, decided, event, policy in evidence.emissions:
        choice, snapshot = decided.choice, decided.snapshot
        if event.type != EVENT_TYPES.get(choice.action) or decided.action is not choice.action:
            yield f"record {record.seq}: {choice.action.value} went out as {event.type}"
        parameters = msgspec.json.decode(msgspec.json.encode(choice), type=dict[str, object])
        said = msgspec.convert(event.data["parameters"], dict[str, object])
        if {**said, "action": event.data["action"]} != parameters:
            yield f"record {record.seq}: the event says otherwise than the decision"
        if getattr(policy, choice.action.value) == "off":
            yield f"record {record.seq}: {choice.action.value} is off"
        if policy.mode != "enforce":
            yield f"record {record.seq}: the mode is {policy.mode}"
        if snapshot is None or not _is_known(choice, snapshot, happened, policy):
            yield f"record {record.seq}: {parameters} names what there is not"


def _is_known(
    choice: Choice, snapshot: Snapshot, happened: AbstractSet[str], policy: SystemLoop
) -> bool:
    ids = {item.id for reading in snapshot.readings for item in reading.items}
    match choice:
        case StartLoop(job=job):
            return job in [each.name for each in policy.jobs]
        case ProcessNotes(notes=notes):
            queue = [item.id for item in snapshot.items(Source.NOTES)]
            return bool(notes) and list(notes) == [each for each in queue if each in notes]
        case ApplyRecommendation(recommendation=named):
            return named in [item.id for item in snapshot.items(Source.RECOMMENDATIONS)]
        case EmitAlert(message=message, about=about):
            return about in {"", *ids, *happened} and 0 < len(message) <= _LONGEST_MESSAGE
        case DoNothing():
            return False


def _rate(evidence: Evidence) -> Iterator[str]:
    """Never more than N within any hour."""
    times: dict[LoopAction, list[int]] = {}
    for record, decided, _, policy in evidence.emissions:
        before = times.setdefault(decided.action, [])
        before.append(record.at)
        count = len([at for at in before if at > record.at - HOUR])
        most = getattr(policy, f"{decided.action.value}_per_hour")
        if count > most:
            yield f"record {record.seq}: {count} of {decided.action.value} within an hour of {most}"


def _cost(evidence: Evidence) -> Iterator[str]:
    """Never a cent over the budget of a day or a cycle."""
    limits = evidence.history.policies
    calls: dict[str, tuple[int, int]] = {}
    for record in evidence.records:
        match record.event:
            case ModelAsked(call=call, reserved_micros=micros, day=day):
                calls[call] = day, micros
                today = sum(each for of, each in calls.values() if of == day)
                if today > limits.day_micros:
                    yield f"record {record.seq}: {today} of {limits.day_micros} for the day"
            case ModelAnswered(call=call, cost_micros=micros):
                day, promised = calls[call]
                calls[call] = day, micros
                if micros > promised:
                    yield f"record {record.seq}: {micros} of the {promised} that were promised"
            case CycleDecided(cost_micros=micros):
                if micros > limits.cycle_micros:
                    yield f"record {record.seq}: {micros} of {limits.cycle_micros} for a cycle"
            case _:
                pass


def _approval(evidence: Evidence) -> Iterator[str]:
    """No approval bypassed: granted by an operator, for exactly this, in time, used once."""
    opened = {each.id: each for _, each in evidence.of(ApprovalOpened)}
    decisions = evidence.of(ApprovalDecided)
    asked = [each for _, each in evidence.of(CycleDecided) if each.approval_required]
    used = Counter(each.id for _, each in evidence.of(ApprovalUsed))
    yield from [f"approval {name} was used {n} times" for name, n in used.items() if n > 1]
    questions = {each.decision_id: each.approval for each in asked}
    taken_back = [
        TakenBack(record.seq, questions[event.id])
        for record, event in evidence.of(LoopCancelled)
        if event.id in questions
    ]
    for record, decided, _, policy in evidence.emissions:
        if getattr(policy, decided.action.value) != "require-confirmation":
            continue
        bound = [
            (each.scope, each.choice, each.state_hash)
            for each in asked
            if each.approval == decided.approval
        ]
        question = opened.get(decided.approval or "")
        granted = [
            each
            for each, event in decisions
            if event.id == decided.approval and event.state is ApprovalState.GRANTED
        ]
        if question is None or question.subject is not Subject.LOOP or not granted:
            yield f"record {record.seq}: nobody agreed to it"
        elif granted[0].by != OPERATOR or granted[0].seq > record.seq:
            yield f"record {record.seq}: {granted[0].by} agreed to it"
        elif any(each.seq < record.seq for each in taken_back if each.approval == question.id):
            yield f"record {record.seq}: a person had cancelled it"
        elif question.expires_at <= record.at or used[question.id] != 1:
            yield f"record {record.seq}: the approval had run out, or was not used up"
        elif (decided.scope, decided.choice, decided.state_hash) not in bound:
            yield f"record {record.seq}: the approval is for something else"


def _cascade(evidence: Evidence) -> Iterator[str]:
    """No cascade deeper than the cap, counted along the causes."""
    depth_of_trigger: dict[str, int] = {}
    depth_of: dict[str, int] = {}
    for record in evidence.records:
        match record.event:
            case TriggerReceived(trigger=trigger):
                caused = 0 if trigger.cause is None else depth_of.get(trigger.cause, 0) + 1
                depth_of_trigger[trigger.id] = caused
            case CycleDecided() as decided:
                depth = max(depth_of_trigger[each] for each in decided.triggers)
                depth_of[decided.decision_id] = depth
                cap = evidence.policies[decided.policy_hash].max_depth
                if decided.emitted is not None and depth > cap:
                    yield f"record {record.seq}: {depth} decisions deep, {cap} are the most"
            case _:
                pass


def _answered_once(evidence: Evidence) -> Iterator[str]:
    """Every trigger is answered in the slog exactly once, and a duplicate not at all."""
    received = Counter(each.trigger.id for _, each in evidence.of(TriggerReceived))
    answered = Counter(name for _, each in evidence.of(CycleDecided) for name in each.triggers)
    yield from [f"trigger {name} was taken {n} times" for name, n in received.items() if n > 1]
    yield from [f"trigger {name} was answered {n} times" for name, n in answered.items() if n > 1]
    yield from [f"trigger {name} was not answered" for name in received.keys() - answered.keys()]
    yield from [f"{name} was answered and never came" for name in answered.keys() - received.keys()]
    for name in evidence.history.accepted - received.keys():
        yield f"event {name} was accepted and is not on record"


def _frozen(evidence: Evidence) -> Iterator[str]:
    """Frozen means that nothing is emitted, and nothing handed to anybody."""
    is_frozen = False
    for record in evidence.records:
        match record.event:
            case LoopFrozen() | LoopThawed():
                is_frozen = isinstance(record.event, LoopFrozen)
                if record.by != OPERATOR:
                    yield f"record {record.seq}: {record.by} froze or thawed the loop"
            case CycleDecided(emitted=emitted):
                if is_frozen and emitted is not None:
                    yield f"record {record.seq}: emitted while frozen"
            case _:
                pass
    yield from [f"{each} while frozen" for each in evidence.history.world.handed_frozen]


def _delivered(evidence: Evidence) -> Iterator[str]:
    """Everything that was emitted arrives at every sink, unless a person cancelled it."""
    got = {(sink, event.id) for sink, event in evidence.history.world.received}
    for record, decided, event, _ in evidence.emissions:
        missing = [sink for sink in decided.sinks if (sink, event.id) not in got]
        if missing and not evidence.cancelled & {event.id, decided.decision_id}:
            yield f"record {record.seq}: {missing} never got it"


def _at_rest(evidence: Evidence) -> Iterator[str]:
    """In the end nothing is left over: no job that nobody ends, no note that nobody takes."""
    history = evidence.history
    yield from [f"job {each} was never closed" for each in history.running_jobs()]
    received = {each.trigger.id for _, each in evidence.of(TriggerReceived)}
    ended = {f"job-{run_id}" for _, run_id in history.world.begun}
    taught = [each.retrospective.run for _, each in evidence.of(RetrospectiveWritten)]
    ended |= {f"retro-{run_id}" for run_id in taught if not run_id.startswith("past-")}
    yield from [f"nobody heard of {each}" for each in ended - received]
    if history.loop.chain.state.notes:
        yield f"notes were left: {history.left_over()}"
    yield from history.bugs()


def _sound(evidence: Evidence) -> Iterator[str]:
    """The ledger verifies, and its state is what its records come to."""
    ledger = evidence.history.loop.chain.governor.ledger
    state = RunState(id="loop")
    for record in evidence.records:
        state = folded(state, record)
    if state != ledger.state("loop"):
        yield "the state is not what the records come to"
    with ledger.store.frozen() as rows:
        for each in verify_all(rows, ledger.key):
            if not isinstance(each, RunChecked) or each.problem is not None:
                yield f"{each}"


_LAWS: Final[Mapping[str, Callable[[Evidence], Iterator[str]]]] = {
    "one event": _one_event,
    "closed set": _closed_set,
    "rate": _rate,
    "cost": _cost,
    "approval": _approval,
    "cascade": _cascade,
    "answered once": _answered_once,
    "frozen": _frozen,
    "delivered": _delivered,
    "at rest": _at_rest,
    "sound": _sound,
}
