"""May it do this? read → decide → record → answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from interlock.errors import DamagedError, InputError
from interlock.ledger.ledger import Work
from interlock.model.action import Action, CommandAction, ToolAction, summary_of
from interlock.model.answers import Answer, action_id
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.budget import NOTHING, Amounts
from interlock.model.events import ActionJudged, ApprovalUsed, Record
from interlock.model.facts import Band, Denial, Facts, Privilege, Undoable
from interlock.model.rows import ReservationRow
from interlock.model.run import RunState, RunStatus
from interlock.model.verdict import Decision, Finding
from interlock.policy.actions.calls.payload import listing
from interlock.policy.actions.undo_eligibility import is_undoable
from interlock.policy.evidence.changed_lines import edits_of
from interlock.policy.gates.budget_gate import asks_about_price
from interlock.policy.gates.judgement import Judgement, Settled, decide
from interlock.policy.steps.step_figures import band_of
from interlock.service.questions.question import (
    Asking,
    Decided,
    Preparation,
    answered_before,
    key_of,
)
from interlock.service.records.adoption import adopt_in_run
from interlock.service.records.approvals import open_approval
from interlock.service.records.budgets import (
    alerts_with,
    balances_of,
    charged_scopes,
    record_alerts,
    take_back,
)
from interlock.service.records.context import SECOND, Asked, Moment
from interlock.service.records.holds import settle_hold, strictest_hold
from interlock.service.records.undo_snapshot import snapshot_of

_SAME_CALL: Final = "same:"
_GO_ON_UNPRICED: Final = "go on in this run although nobody knows what its model costs"
_MOST_SWEEPS: Final = 100
"""How often reservations are taken back before one answer, a page of them each time."""


class _Replaced(NamedTuple):
    """An earlier answer to the same request, which no longer holds."""

    seq: int
    returned: Amounts
    """What it had reserved, and still has."""


class ActionQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """May it do this?"""

    run_id: str
    action: Action
    key: str | None = None
    """The client's own name for this question: asked again, it gets the same answer."""
    expects: Amounts = NOTHING
    """What the client expects it to use up."""
    kind: str | None = None
    """Which question it is to the client; None is one about an action of its kind."""

    def prepare(self, asking: Asking) -> Work[Decided[Answer]]:
        """Inspect the action, and have the gates judge it."""
        asked = asking.of_run(self.run_id)
        question = self._in_workspace(asked.run.workspace)
        prepared = PreparedAction(asked, question, asked.context.judgements.of(question.action))
        return asked.work(prepared.decide, charged=prepared.scopes)

    def _in_workspace(self, workspace: str | None) -> ActionQuestion:
        """Return the question about a command in the run's folder, where none was named."""
        action = self.action
        if not isinstance(action, CommandAction) or action.cwd is not None or workspace is None:
            return self
        return replace(self, action=replace(action, cwd=workspace))


class PreparedAction:
    """An action that was judged, on its way to an answer."""

    def __init__(self, asked: Asked, question: ActionQuestion, judgement: Judgement) -> None:
        context, run = asked.context, asked.run
        self._context = context
        self._policy = context.policy
        self._run_id = run.id
        self._workspace = run.workspace
        self._action = question.action
        self._expects = question.expects
        # Settled here, because they are locked before the ledger is looked at.
        self.scopes = charged_scopes(run, context.clock.now())
        """Every account that it is charged to, besides the run's own."""
        self._judgement = judgement
        self._digest = context.digest(run.id, self._judgement.canonical)
        self._kind = question.kind or str(question.action.__struct_config__.tag)
        self._key = self._request_key(question.key)
        self._asked = self._amounts_asked()
        self._bound: str | None = None
        self._undo: Undoable | None = None
        self._sweeps = 0

    def decide(self, moment: Moment) -> Answer | Preparation:
        """Answer by what the gates said and what the ledger knows; record it."""
        if moment.run.status is not RunStatus.RUNNING:
            raise InputError(f"run `{self._run_id}` is finished: start another one")
        moment.running()
        settle_hold(moment)
        earlier = answered_before(
            moment.transaction, self._run_id, self._key, self._digest, ActionJudged
        )
        return self._answer(moment) if earlier is None else self._answer_again(moment, *earlier)

    def _request_key(self, key: str | None) -> str | None:
        if key is not None:
            return key_of(self._context, self._kind, key)
        if isinstance(self._action, ToolAction):
            idempotent = self._policy.config.tools.idempotent
            if idempotent and listing(self._action.name, idempotent) is not None:
                return f"{_SAME_CALL}{self._digest}:{self._policy.hash}"
        return None

    @property
    def _is_same_call(self) -> bool:
        """Whether not the client named the request, but a tool that may be called twice."""
        return self._key is not None and self._key.startswith(_SAME_CALL)

    def _answer_again(
        self, moment: Moment, record: Record, event: ActionJudged
    ) -> Answer | Preparation:
        """Give the recorded answer, unless something has changed that it hung on."""
        seq = record.seq
        if self._still_holds(moment, event):
            return answer_of(self._run_id, seq, event, repeated=True)
        is_reserved = moment.transaction.has_reservation(self._run_id, seq)
        if is_reserved and event.scopes != self.scopes:
            # What was reserved on the account of another day goes back there by itself.
            return self._taking_back([ReservationRow(self._run_id, seq, event.lease_until or 0)])
        return self._answer(moment, _Replaced(seq, event.reserved if is_reserved else NOTHING))

    def _taking_back(self, lapsed: Sequence[ReservationRow]) -> Preparation:
        """Return what has to come back to its accounts first: reservations that are over."""
        context = self._context
        return Preparation(lambda: context.ledger.execute(take_back(context, lapsed)))

    def _still_holds(self, moment: Moment, event: ActionJudged) -> bool:
        if event.verdict.policy_hash != self._policy.hash:
            return False
        if _undo_id(event.facts) is not None and self._is_same_call:
            # It is another call, and the files may have changed since they were copied.
            return False
        if event.facts.hold != strictest_hold(moment.transaction, moment.run):
            return False
        taken = event.facts.privilege
        if band_of(moment.run.control.coherence, self._policy.config.steps).value != (
            Band.FULL.value if taken is None else taken.band
        ):
            return False
        if event.decision is not Decision.REQUIRE_CONFIRMATION or event.approval is None:
            return True
        approval = moment.transaction.approval(event.approval)
        return approval is not None and approval.is_open_at(moment.now)

    def _answer(self, moment: Moment, replaced: _Replaced | None = None) -> Answer | Preparation:
        facts = self._facts(moment, NOTHING if replaced is None else replaced.returned)
        settled = decide(self._judgement, facts)
        lapsed = self._lapsed(settled.verdict.findings, moment.now) if facts.balances else ()
        if lapsed:
            return self._taking_back(lapsed)
        if settled.decision is not Decision.REQUIRE_CONFIRMATION:
            return self._record(moment, facts, settled, replaced)
        if asks_about_price(settled.verdict.findings):
            # It is not the action that a person has to agree to: one answer counts for the run.
            return self._record(moment, facts, settled, replaced)
        # Only where a person has to agree can it matter what a person has said.
        approval = moment.transaction.approval_for(self._run_id, self._bound_digest())
        known = with_word_of_person(facts, approval, moment.run, moment.now)
        if known is facts and is_undoable(settled.verdict.findings, self._policy.config):
            # A copy of what it will overwrite makes a person's word needless.
            if self._undo is None:
                return Preparation(self._take_snapshot)
            known = replace(facts, undo=self._undo)
        if known is not facts:
            settled = decide(self._judgement, known)
        return self._record(moment, known, settled, replaced, approval)

    def _take_snapshot(self) -> None:
        self._undo = snapshot_of(self._context, self._workspace, self._judgement.touches)

    def _facts(self, moment: Moment, returned: Amounts) -> Facts:
        balances = balances_of(moment, self.scopes)
        if returned != NOTHING:
            balances = tuple(replace(each, reserved=each.reserved - returned) for each in balances)
        return Facts(
            balances=balances,
            asked=self._asked,
            withheld=self._judgement.withheld,
            hold=strictest_hold(moment.transaction, moment.run),
            privilege=self._privilege(moment.run.control.coherence),
            unpriced_accepted=moment.run.unpriced_accepted,
        )

    def _privilege(self, coherence: float | None) -> Privilege | None:
        """Return what is taken from the run, with what it wants; None while nothing is."""
        band = band_of(coherence, self._policy.config.steps)
        if coherence is None or band is Band.FULL:
            return None
        risk_class = self._judgement.risk_class
        return Privilege(band=band.value, coherence=coherence, risk_class=risk_class.value)

    def _amounts_asked(self) -> Amounts:
        """Return what the action will use up, as far as it can be known before."""
        if isinstance(self._action, CommandAction):
            return replace(self._expects, tool_calls=1)
        edits = list(edits_of(self._judgement.inspection))
        return replace(
            self._expects,
            tool_calls=1,
            diff_lines=sum(edit.changed for edit in edits),
            storage_bytes=self._expects.storage_bytes
            or sum(len(edit.content.encode("utf-8", "replace")) for edit in edits),
        )

    def _lapsed(self, findings: Sequence[Finding], now: int) -> Sequence[ReservationRow]:
        """Before a budget says no, return reservations that nobody holds any more."""
        if self._sweeps >= _MOST_SWEEPS or all(each.gate != "budget" for each in findings):
            return ()
        self._sweeps += 1
        return self._context.ledger.rows.lapsed(now)

    def _record(
        self,
        moment: Moment,
        facts: Facts,
        settled: Settled,
        replaced: _Replaced | None,
        approval: Approval | None = None,
    ) -> Answer:
        adopt_in_run(moment)
        waiting = self._waiting_approval(moment, settled, approval)
        is_admitted = settled.decision in (Decision.ALLOW, Decision.WARN)
        lease = SECOND * self._policy.config.budgets.lease_seconds
        alerts = ()
        if is_admitted:
            alerts = alerts_with(moment.transaction, facts.balances, facts.asked)
        event = ActionJudged(
            action=self._judgement.recordable,
            digest=self._digest,
            key=self._key,
            facts=facts,
            verdict=settled.verdict,
            decision=settled.decision,
            scopes=self.scopes,
            reserved=facts.asked if is_admitted else NOTHING,
            lease_until=moment.now + lease if is_admitted else None,
            approval=waiting or facts.granted,
            replaces=None if replaced is None else replaced.seq,
            returned=NOTHING if replaced is None else replaced.returned,
            alerts=alerts,
        )
        record = moment.append(event)
        if facts.granted is not None and is_admitted:
            moment.append(ApprovalUsed(id=facts.granted))
        record_alerts(moment, alerts)
        return answer_of(self._run_id, record.seq, event, repeated=False)

    def _waiting_approval(
        self, moment: Moment, settled: Settled, approval: Approval | None
    ) -> str | None:
        """Return the open question to a person, which is asked once for the same action."""
        if settled.decision is not Decision.REQUIRE_CONFIRMATION:
            return None
        subject, digest = Subject.ACTION, self._bound_digest()
        summary = summary_of(self._judgement.recordable)
        if asks_about_price(settled.verdict.findings):
            subject, summary = Subject.PRICE, _GO_ON_UNPRICED
            digest = self._context.digest(self._run_id, subject.value)
            approval = moment.transaction.approval_for(self._run_id, digest)
        if approval is not None and approval.is_open_at(moment.now):
            return approval.id
        return open_approval(
            moment,
            subject=subject,
            digest=digest,
            summary=summary,
            findings=settled.verdict.findings,
            superseded=approval,
        )

    def _bound_digest(self) -> str:
        """Bind an approval to this action, run and policy, and to nothing else."""
        if self._bound is None:
            self._bound = self._context.digest(self._digest, self._policy.hash)
        return self._bound


def with_word_of_person(facts: Facts, approval: Approval | None, run: RunState, now: int) -> Facts:
    """Return the facts with the approval that lets this through, or the refusal.

    Raises DamagedError where somebody seems to have said yes, and no record of the run says so.
    """
    if approval is None:
        return facts
    if approval.state is ApprovalState.DENIED:
        return replace(facts, denied=Denial(approval=approval.id, note=approval.note))
    if not approval.is_usable_at(now):
        return facts
    if approval.id not in run.granted:
        raise DamagedError(
            f"approval `{approval.id}` of run `{run.id}` is stored as granted, and its records tell"
            " of nobody who granted it, or of its use: run `interlock verify`"
        )
    return replace(facts, granted=approval.id)


def answer_of(run_id: str, seq: int, event: ActionJudged, *, repeated: bool) -> Answer:
    """Return the answer that a record holds."""
    return Answer(
        run_id=run_id,
        action_id=action_id(run_id, seq),
        decision=event.decision,
        verdict=event.verdict,
        approval_id=event.approval,
        alerts=event.alerts,
        repeated=repeated,
        undo_id=_undo_id(event.facts),
    )


def _undo_id(facts: Facts) -> str | None:
    """Return what puts the action back, where it was copied."""
    return None if facts.undo is None or facts.undo.snapshot is None else facts.undo.snapshot.id
