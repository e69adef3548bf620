"""What would another policy have answered? Past questions, decided again under both.

Each question is taken as it was asked, with what was known then: what a run would have done next
instead, nobody knows. Only the signs of loops are found anew, in the same steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

from msgspec.structs import replace

from interlock.commands.affected_paths import Unknown
from interlock.ledger.chain import decoded, records_of
from interlock.model import events
from interlock.model.action import summary_of
from interlock.model.arbitration import Course, Ruling
from interlock.model.budget import TokenUsage
from interlock.model.control_state import meter_with_words
from interlock.model.own_places import OwnPlaces
from interlock.model.policy_comparison import AnswerKind, TurnAnswer, Went
from interlock.model.recommendation import PatchOperation, SimulatedEffect
from interlock.model.run import RunState, folded
from interlock.model.step import ContinueDecision
from interlock.model.stop import StopDecision
from interlock.model.verdict import Decision, Finding
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import inspect
from interlock.policy.actions.undo_eligibility import is_undoable, touched_by
from interlock.policy.config.document import MergedPolicy, canonical_bytes
from interlock.policy.gates.judgement import settle
from interlock.policy.learn.recommendations import policy_after
from interlock.policy.reviews.review_gate import claims_success
from interlock.policy.steps.loop_detector import signs_of
from interlock.ports import Rows
from interlock.service.policies.answer_tally import Place, RunTally, Said, Tally, Used
from interlock.service.policies.policy_files import compile_policy
from interlock.service.policies.recorded_answer import findings_again, step_again, stop_again

_ASKS: Final = Decision.REQUIRE_CONFIRMATION
_TURNS: Final = {
    Course.GO_ON: TurnAnswer.CONTINUE,
    Course.WAIT: TurnAnswer.CONTINUE,
    Course.AWAIT_PERSON: TurnAnswer.PAUSE,
    Course.HALT: TurnAnswer.STOP,
    Course.FINISH: TurnAnswer.FINISH,
}
_Judged = events.ActionJudged | events.StepJudged | events.StopJudged


def recommended_policy(policy: CompiledPolicy, patch: Sequence[PatchOperation]) -> CompiledPolicy:
    """Return a policy with what a recommendation changes, ready to judge by."""
    config = policy_after(policy.config, patch)
    digest = hashlib.sha256(canonical_bytes(config)).hexdigest()
    return compile_policy(MergedPolicy(policy=config, hash=digest))


def simulated(
    rows: Rows,
    before: CompiledPolicy,
    after: CompiledPolicy,
    *,
    runs: Sequence[str],
    most: int,
) -> SimulatedEffect:
    """Return in short what would have been different; no more than `most` records are looked at."""
    policies = Policies(before, after, is_brief=True)
    tally, left = Tally(), most
    for run_id in runs:
        run = RecordedRun(run_id)
        read = [row.body for row in records_of(rows, run_id, last=left)]
        run.follow(read, policies)
        left -= len(read)
        tally.add(run.close())
    return tally.effect()


class Policies(NamedTuple):
    """The two policies, as they judge where a run was."""

    before: CompiledPolicy | None
    """None is what was answered then."""
    after: CompiledPolicy
    since: int = 0
    """Earlier questions are not counted."""
    is_brief: bool = False
    """Whether only what changes is of interest: the rest counts as it was answered then."""

    def at(self, places: OwnPlaces) -> Policies:
        """Return them for a run that found Interlock in these places."""
        before = None if self.before is None else self.before.placed(places)
        return self._replace(before=before, after=self.after.placed(places))

    def differ_on(self, kind: AnswerKind) -> bool:
        """Whether they may answer such a question differently."""
        if self.before is None:
            return True
        one, other = self.before.config, self.after.config
        steps = (one.steps, one.loops) != (other.steps, other.loops)
        match kind:
            case AnswerKind.ACTION:
                alike = replace(one, steps=other.steps, loops=other.loops, stops=other.stops)
                return alike != other
            case AnswerKind.STEP:
                return steps
            case AnswerKind.STOP:
                return steps or one.stops != other.stops


class RecordedRun:
    """A run of the ledger, followed record by record.

    It can be handed from one process to another in between.
    """

    def __init__(self, run_id: str) -> None:
        self._state = RunState(id=run_id)
        self._counts = RunTally()

    def follow(self, bodies: Iterable[bytes], policies: Policies) -> None:
        """Decide again what was asked in the next records."""
        differing = frozenset(filter(policies.differ_on, AnswerKind))
        placed = policies.at(self._state.own_places) if self._state.seq else policies
        for body in bodies:
            record = decoded(body)
            event = record.event
            if isinstance(event, events.RunStarted):
                placed = policies.at(event.own_places)
            elif record.at >= policies.since:
                self._take(record, event, placed, differing)
            self._state = folded(self._state, record)

    def close(self) -> Tally:
        """Return what it came to."""
        return self._counts.close()

    def _take(
        self,
        record: events.Record,
        event: events.Event,
        policies: Policies,
        differing: frozenset[AnswerKind],
    ) -> None:
        match event:
            case events.ActionJudged() | events.StepJudged() | events.StopJudged():
                kind = _kind_of(event)
                before, after = self._both(event, policies, is_differing=kind in differing)
                place = Place(record.run, record.seq)
                self._counts.compare(kind, before, after, place, partial(_words, event))
            case events.ActionObserved(usage=usage, cost_micros=cost):
                self._spend(usage, cost)
            case events.UsageReported(usage=usage, cost_micros=cost):
                self._spend(usage, cost)
            case events.RunFinished(outcome=outcome, report=report):
                went_well = claims_success(outcome) and report.passed
                self._counts.went = Went.WELL if went_well else Went.BADLY
            case _:
                pass

    def _both(self, event: _Judged, policies: Policies, *, is_differing: bool) -> tuple[Said, Said]:
        before, after = policies.before, policies.after
        if before is None or (policies.is_brief and not is_differing):
            then = recorded_answer(event)
            return then, self._again(event, after) if is_differing else then
        first = self._again(event, before)
        return first, self._again(event, after) if is_differing else first

    def _again(self, event: _Judged, policy: CompiledPolicy) -> Said:
        """Return what a policy says to a question, of a run as it was before."""
        control, settings = self._state.control, policy.config
        match event:
            case events.ActionJudged():
                return _action_again(event, policy, has_workspace=self._state.workspace is not None)
            case events.StepJudged():
                signs = signs_of(meter_with_words(control), settings.loops)
                context = replace(event.context, signs=signs)
                return step_said(step_again(replace(event, context=context), policy))
            case events.StopJudged():
                meter = meter_with_words(control, event.context.text)
                facts = replace(event.facts, signs=signs_of(meter, settings.loops))
                return _turn_said(*stop_again(replace(event, facts=facts), policy))

    def _spend(self, usage: TokenUsage | None, cost_micros: int | None) -> None:
        if usage is not None:
            self._counts.spend(used_by(usage, cost_micros))


def used_by(usage: TokenUsage, cost_micros: int | None) -> Used:
    """Return what a call of a model used; an unknown cost is told as such."""
    if cost_micros is None:
        return Used(tokens=usage.total, unpriced=usage.total)
    return Used(tokens=usage.total, micro_usd=cost_micros)


def recorded_answer(event: _Judged) -> Said:
    """Return what was answered then."""
    match event:
        case events.ActionJudged(decision=decision, verdict=verdict):
            return Said(decision, weighed(verdict.findings))
        case events.StepJudged(decision=decision):
            return step_said(decision)
        case events.StopJudged():
            return _turn_said(event.decision, event.step, event.ruling)


def weighed(findings: Iterable[Finding]) -> tuple[tuple[str, int], ...]:
    """Return the rules that spoke, by how much each wanted."""
    return tuple((each.rule, each.decision.rank) for each in findings)


def stop_signals(decision: StopDecision) -> Iterator[tuple[str, int]]:
    """Yield what the stop gate went by, with its points."""
    yield from ((each.signal, each.points) for each in decision.signals if each.points)
    if decision.veto is not None:
        yield decision.veto.value, 0


def _kind_of(event: _Judged) -> AnswerKind:
    match event:
        case events.ActionJudged():
            return AnswerKind.ACTION
        case events.StepJudged():
            return AnswerKind.STEP
        case events.StopJudged():
            return AnswerKind.STOP


def _words(event: _Judged) -> str:
    """Return what was asked; what is recorded holds no credentials."""
    match event:
        case events.ActionJudged(action=action):
            return summary_of(action)
        case events.StepJudged(context=context):
            return f"step {context.step_number}"
        case events.StopJudged(context=context):
            return context.text or ""


def _action_again(
    event: events.ActionJudged, policy: CompiledPolicy, *, has_workspace: bool
) -> Said:
    """Return what is said to an action.

    Where a rule newly allows with undo, whatever names what it touches counts as copied: whether
    that would have been possible, only the files of then could tell.
    """
    settled = settle(findings_again(event, policy), event.facts, policy, policy.hash)
    findings = settled.verdict.findings
    could_be_copied = (
        has_workspace
        and settled.decision is _ASKS
        and event.facts.undo is None
        and is_undoable(findings, policy.config)
        and not isinstance(touched_by(inspect(event.action, policy)), Unknown)
    )
    return Said(Decision.WARN if could_be_copied else settled.decision, weighed(findings))


def step_said(decision: ContinueDecision) -> Said:
    """Return what the continue gate answered, by its checks."""
    because = tuple((each.code, each.decision.rank) for each in decision.reasons)
    return Said(decision.decision, because)


def _turn_said(decision: StopDecision, step: ContinueDecision, ruled: Ruling) -> Said:
    answer = _TURNS[ruled.course]
    if answer is TurnAnswer.FINISH and decision.would_have is not None:
        answer = TurnAnswer.UNCHECKED
    signals = stop_signals(decision)
    held = step_said(step).because if answer in (TurnAnswer.PAUSE, TurnAnswer.STOP) else ()
    return Said(answer, (*signals, *held))
