"""The decision of a cycle, in one transaction: facts, rails, approval, slog entry and event.

Whoever comes second finds its triggers answered, and adds nothing: so many workers may try, and
one decides.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.errors import InputError
from interlock.ledger.projection import trigger_key
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.events import ApprovalUsed
from interlock.model.loop_events import CycleDecided, RecommendationSettled
from interlock.model.loop_state import DAY, Held, LoopState, ScopeState
from interlock.model.principal import SYSTEM, Principal
from interlock.model.recommendation import RecommendationState
from interlock.model.system_loop import (
    EVENT_TYPES,
    LOOP_RUN,
    ApplyRecommendation,
    Choice,
    CloudEvent,
    CycleOutcome,
    DoNothing,
    EmitAlert,
    LoopAction,
    LoopMode,
    ProcessNotes,
    Proposal,
    RailFacts,
    Snapshot,
    Source,
    StartLoop,
    Trigger,
)
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.orientation import short_circuit, state_hash
from interlock.policy.loop.rails import CycleVerdict, ruled
from interlock.policy.loop.rules_decider import about_event, is_same_work
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.people.credentials import require_operator
from interlock.service.records.approvals import expire, open_approval
from interlock.service.records.context import SECOND, Moment, new_id

PERSON: Final = "person"
"""What the slog calls a decider who is one."""
HANDLERS: Final = "interlock"
"""The sink that is always there: Interlock does itself what an event asks for."""
_ENDS_WAIT: Final = frozenset(
    (
        CycleOutcome.EMITTED,
        CycleOutcome.APPROVAL_DENIED,
        CycleOutcome.VALIDATION_ERROR,
        CycleOutcome.SHADOW,
    )
)
"""The outcomes after which nobody waits for a person any more."""
_LONGEST_RAW: Final = 4_000
_LONGEST_REASONING: Final = 1_000


class Findings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a cycle comes with when it asks to be decided."""

    scope: str
    triggers: tuple[str, ...]
    """What it wants to answer."""
    decider: str
    proposal: Proposal
    snapshot: Snapshot | None = None
    held: str | None = None
    """The question that a person has answered, where their word is what it comes with."""
    short_circuit: str | None = None
    degraded: str | None = None
    raw: str = ""
    invalid: str | None = None
    unpaid: str | None = None
    cost_micros: int = 0
    emitted_before: int = 0
    """How many events the loop had emitted when the state was looked at."""
    began_at: int = 0


class Outdated(enum.Enum):
    """What a cycle is told that looked around before another one acted."""

    OUTDATED = "outdated"


OUTDATED: Final = Outdated.OUTDATED


def decide_cycle(chain: LoopChain, findings: Findings) -> CycleDecided | Outdated | None:
    """Decide a cycle and put it on record; None where everything was answered already.

    Whoever looked around before another cycle acted has to look again.
    """
    settings = chain.settings
    return chain.do(lambda moment: _decided(moment, findings, settings))


def cancel_cycle(chain: LoopChain, trigger_id: str, reason: str, by: Principal) -> CycleDecided:
    """Answer a trigger that waits with nothing, because a person wants it so."""
    said = chain.reason(reason)

    def plan(moment: Moment) -> CycleDecided:
        trigger = moment.run.loop.triggers.get(trigger_id)
        if trigger is None:
            raise InputError(
                f"no trigger `{trigger_id}` waits: `interlock loop status` lists those that do"
            )
        event = CycleDecided(
            decision_id=new_id(),
            scope=trigger.scope,
            triggers=(trigger.id,),
            trigger_source=trigger.source,
            depth=trigger.depth,
            mode=LoopMode(chain.settings.mode),
            policy_hash=moment.context.policy.hash,
            decider=PERSON,
            choice=DoNothing(),
            reasoning=said,
            facts=_facts(moment, LoopAction.DO_NOTHING, None),
            outcome=CycleOutcome.CANCELLED,
            action=LoopAction.DO_NOTHING,
        )
        moment.append(event)
        return event

    return chain.do(plan, require_operator(by))


def word_given(chain: LoopChain, loop: LoopState, scope: str) -> Held | None:
    """Return the first action of a scope whose question a person has answered, or nobody in time.

    In the same state they are taken at their word; in another one they are asked anew.
    """
    now, rows = chain.governor.clock.now(), chain.governor.ledger.rows
    for held in loop.held.values():
        approval = rows.approval(held.approval) if held.scope == scope else None
        if approval is not None and not approval.is_open_at(now):
            return held
    return None


def _decided(
    moment: Moment, findings: Findings, settings: SystemLoop
) -> CycleDecided | Outdated | None:
    waiting = moment.run.loop.triggers
    triggers = [waiting[each] for each in findings.triggers if each in waiting]
    if not triggers:
        return None
    if _is_outdated(moment, findings, triggers, settings):
        return OUTDATED
    depth = max(trigger.depth for trigger in triggers)
    digest = "" if findings.snapshot is None else state_hash(findings.snapshot)
    choice = findings.proposal.choice
    latest = _approval_for(moment, findings, digest)
    is_revoked = latest is not None and latest.id in moment.run.loop.revoked
    approval = None if is_revoked else latest
    facts = _facts(moment, choice.action, approval)
    invalid = findings.invalid or _unknown(moment, findings, settings)
    verdict = ruled(choice, facts, settings, depth=depth, invalid=invalid, unpaid=findings.unpaid)
    decision_id = new_id()
    event = CycleDecided(
        decision_id=decision_id,
        scope=findings.scope,
        triggers=tuple(trigger.id for trigger in triggers),
        trigger_source=_source_of(triggers),
        depth=depth,
        mode=LoopMode(settings.mode),
        policy_hash=moment.context.policy.hash,
        snapshot=findings.snapshot,
        state_hash=digest,
        decider=findings.decider,
        short_circuit=findings.short_circuit,
        degraded=findings.degraded,
        raw=moment.context.clean(findings.raw)[:_LONGEST_RAW],
        invalid=invalid,
        choice=choice,
        reasoning=moment.context.clean(findings.proposal.reasoning)[:_LONGEST_REASONING],
        facts=facts,
        rails=verdict.rails,
        outcome=verdict.outcome,
        action=choice.action if verdict.is_emitted else LoopAction.DO_NOTHING,
        approval=_question(moment, findings, verdict, approval, digest, superseded=latest),
        cost_micros=findings.cost_micros,
        duration_ms=max(0, moment.now - findings.began_at) // 1000,
    )
    if verdict.is_emitted:
        sinks = (HANDLERS, *[sink.name for sink in settings.sinks])
        emitted = _envelope(moment, event)
        event = msgspec.structs.replace(event, emitted=emitted, sinks=sinks)
    moment.append(event)
    _after(moment, event)
    return event


def _is_outdated(
    moment: Moment, findings: Findings, triggers: Sequence[Trigger], settings: SystemLoop
) -> bool:
    """Whether another cycle has done the same since the state was looked at, or a part of it."""
    snapshot, choice = findings.snapshot, findings.proposal.choice
    if snapshot is None:
        return False
    if findings.held is not None and findings.held not in moment.run.loop.held:
        return True
    if len(triggers) < len(findings.triggers):
        # What was chosen may be about what others have answered.
        return True
    if findings.short_circuit is not None:
        known = moment.run.loop.scopes.get(findings.scope, ScopeState())
        before = known.thought_under(moment.context.policy.hash)
        found = short_circuit(snapshot, triggers, settings, before=before)
        return found != findings.short_circuit
    if choice.action is LoopAction.DO_NOTHING:
        return False
    acted = moment.run.loop.acted_since(findings.emitted_before)
    return acted is None or any(is_same_work(choice, each.choice) for each in acted)


def _unknown(moment: Moment, findings: Findings, settings: SystemLoop) -> str | None:
    """Return what there is no more since somebody chose or agreed to it."""
    choice, snapshot = findings.proposal.choice, findings.snapshot or Snapshot(readings=())
    match choice:
        case StartLoop(job=job) if job not in settings.job_names:
            return f"the policy has no job `{job}`: add it to [[loop.jobs]]"
        case ProcessNotes(notes=notes):
            gone = set(notes) - _ids_of(snapshot, Source.NOTES)
        case ApplyRecommendation(recommendation=recommendation):
            gone = {recommendation} - _ids_of(snapshot, Source.RECOMMENDATIONS)
        case EmitAlert(about=about) if not _has_happened(moment, about):
            gone = {about} - _ids_of(snapshot, *[each.source for each in snapshot.readings])
        case _:
            return None
    return f"`{min(gone)}` is not there any more: the loop decides anew" if gone else None


def _ids_of(snapshot: Snapshot, *sources: str) -> set[str]:
    return {item.id for source in sources for item in snapshot.items(source)}


def _has_happened(moment: Moment, about: str) -> bool:
    """Whether an alert is about nothing in particular, or about an event."""
    key = trigger_key(about.removeprefix(about_event("")))
    return not about or moment.transaction.key(LOOP_RUN, key) is not None


def _source_of(triggers: Sequence[Trigger]) -> str:
    """Return what the slog says started it: an event before a mere look around."""
    events = [each.source for each in triggers if each.source.startswith("event:")]
    return (events or [each.source for each in triggers])[0]


def _facts(moment: Moment, action: LoopAction, approval: Approval | None) -> RailFacts:
    loop, now = moment.run.loop, moment.now
    return RailFacts(
        frozen=moment.run.standstill,
        acted=loop.acted_within_hour(action, now),
        outgoing=len(loop.outgoing),
        held=len(loop.held),
        spent_micros=loop.spent_on(now // DAY),
        granted=approval.id if approval is not None and approval.is_usable_at(now) else None,
        denied=approval.id if approval is not None and _is_refused(approval, now) else None,
    )


def _is_refused(approval: Approval, now: int) -> bool:
    """Whether a person said no, or said nothing in time: silence is never consent."""
    if approval.state is ApprovalState.PENDING:
        return not approval.is_open_at(now)
    return not approval.is_usable_at(now) and approval.uses_left > 0


def _approval_for(moment: Moment, findings: Findings, digest: str) -> Approval | None:
    """Return the latest question about exactly this action in exactly this state.

    Whoever said no meant the action, whatever else has changed since.
    """
    choice = findings.proposal.choice
    if choice.action is LoopAction.DO_NOTHING:
        return None
    bound = _bound_to(moment, findings.scope, choice, digest)
    found = moment.transaction.approval_for(LOOP_RUN, bound)
    if found is None and findings.held is not None:
        word = moment.transaction.approval(findings.held)
        return word if word is not None and _is_refused(word, moment.now) else None
    return found


def _bound_to(moment: Moment, scope: str, choice: Choice, digest: str) -> str:
    encoded = msgspec.json.encode(choice, order="sorted")
    return moment.context.digest("loop", scope, encoded, digest)


def _question(
    moment: Moment,
    findings: Findings,
    verdict: CycleVerdict,
    approval: Approval | None,
    digest: str,
    *,
    superseded: Approval | None,
) -> str | None:
    """Return the question that a person is asked, or has answered, about the choice."""
    if approval is not None:
        expire(moment, approval)
    if verdict.outcome is not CycleOutcome.APPROVAL_REQUIRED:
        # Whatever came of a person's word, it is not taken a second time.
        waited = findings.held if approval is None else approval.id
        return waited if verdict.outcome in _ENDS_WAIT else None
    if approval is not None and approval.is_open_at(moment.now):
        return approval.id
    choice = findings.proposal.choice
    finding = Finding(
        gate="loop",
        rule=f"loop.{choice.action.value.replace('_', '-')}",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.MEDIUM,
        message=moment.context.clean(findings.proposal.reasoning)[:_LONGEST_REASONING],
        remediation="approve it, deny it, or let it expire",
    )
    return open_approval(
        moment,
        subject=Subject.LOOP,
        digest=_bound_to(moment, findings.scope, choice, digest),
        summary=moment.context.clean(msgspec.json.encode(choice).decode()),
        findings=(finding,),
        superseded=superseded,
    )


def _envelope(moment: Moment, event: CycleDecided) -> CloudEvent:
    choice = msgspec.to_builtins(event.choice)
    return CloudEvent(
        id=event.decision_id,
        source="interlock/loop",
        type=EVENT_TYPES[event.action],
        time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment.now // SECOND)),
        subject=event.scope,
        causationdepth=event.depth,
        data={
            "decisionId": event.decision_id,
            "reasoningSummary": event.reasoning,
            "stateHash": event.state_hash,
            "triggerSource": event.trigger_source,
            "action": choice.pop("action"),
            "parameters": choice,
        },
    )


def _after(moment: Moment, event: CycleDecided) -> None:
    """Record what follows from a decision at once."""
    if event.outcome is CycleOutcome.EMITTED and event.facts.granted is not None:
        moment.append(ApprovalUsed(id=event.facts.granted))
    word = None if event.approval is None else moment.transaction.approval(event.approval)
    # Whoever said nothing may be asked again.
    is_refused = word is not None and word.state is ApprovalState.DENIED
    if is_refused and isinstance(event.choice, ApplyRecommendation):
        settled = RecommendationSettled(
            id=event.choice.recommendation, state=RecommendationState.DISMISSED
        )
        moment.append(settled, SYSTEM)
