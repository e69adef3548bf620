"""The state of a run: its records, folded forward one at a time.

`folded` takes the state before a record and returns the state after it. The state does not
grow with the number of records, only with how many different tools and files a run touches.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final, assert_never

import msgspec
from msgspec.structs import replace

from interlock.errors import LedgerError
from interlock.model import events
from interlock.model.approval import ApprovalState, Subject
from interlock.model.budget import NOTHING, Alert, Amounts, Dimension, Limits
from interlock.model.control_state import (
    ControlState,
    Reviews,
    after_action,
    after_belief,
    after_check,
    after_checkpoint,
    after_choice,
    after_decision,
    after_halt,
    after_lift,
    after_more_work,
    after_opening,
    after_person,
    after_refusal,
    after_step,
    after_stop,
    after_verdict,
    after_violation,
    one_more,
    with_check,
)
from interlock.model.facts import HoldKind
from interlock.model.glance import Glance, Glanced
from interlock.model.loop_state import LoopState, after_loop_event
from interlock.model.own_places import NOWHERE, OwnPlaces
from interlock.model.principal import PrincipalKind
from interlock.model.review import Report, TestCounts
from interlock.model.step_statistics import StepStatistics, statistics_of
from interlock.model.verdict import Decision, Verdict

LEDGER_RUN = "ledger"
"""The chain of what happens to the ledger itself and belongs to no run."""

FOLD_VERSION = 7
"""Changes whenever `folded` comes to another state than before: stored ones are then made anew."""

ControlEvent = (
    events.StepJudged
    | events.StopJudged
    | events.BeliefHeld
    | events.PersonSpoke
    | events.CheckpointTaken
    | events.RunHalted
    | events.RunLifted
)
"""What changes how a run gets on, and nothing else of it."""

ReviewEvent = events.ReviewOpened | events.CheckRan | events.ReviewJudged | events.ReviewChosen
"""What changes the reviews of a run."""

FROM_FACTS = frozenset(("budget", "approval", "continue", "privilege", "undo"))
"""The gates that speak from the state of a run, not from the action."""

_MOST_EVIDENCE = 20
_MOST_RANKED = 100
_ANSWERED = {ApprovalState.GRANTED: True, ApprovalState.DENIED: False}


class RunStatus(enum.StrEnum):
    """Where a run stands."""

    RUNNING = "running"
    FINISHED = "finished"


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that was broken, as the report will quote it."""

    rule: str
    message: str


class RunState(Glanced, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a run after `seq` records."""

    id: str
    seq: int = 0
    task: str = ""
    agent: str = ""
    client: str = ""
    project: str = ""
    ancestors: tuple[str, ...] = ()
    policy_hash: str = ""
    status: RunStatus = RunStatus.RUNNING
    outcome: str | None = None
    started_at: int = 0
    updated_at: int = 0
    ended_at: int | None = None
    decisions: Mapping[str, int] = {}
    """How often each answer was given."""
    would_have: Mapping[str, int] = {}
    """How often each answer would have been given, of what was only observed."""
    observed_rules: Mapping[str, int] = {}
    """How often each rule matched that was only observed; of very many the most frequent."""
    tools: Mapping[str, int] = {}
    """How often each tool really ran."""
    spent: Amounts = NOTHING
    reserved: Amounts = NOTHING
    """What is promised to actions that nobody has reported on yet."""
    limits: Limits = Limits()
    """What the run itself may use, where it has limits of its own."""
    tree_limits: Limits = Limits()
    """The same for the run and everything below it."""
    alerted: Mapping[str, int] = {}
    """The highest percentage that was alerted of a limit, by `run/` or `tree/` and dimension."""
    input_tokens: int = 0
    output_tokens: int = 0
    unpriced_tokens: int = 0
    price_question: str | None = None
    """The latest question to a person whether it may go on at an unknown cost."""
    unpriced_accepted: bool | None = None
    """What that person said."""
    lines_added: int = 0
    lines_removed: int = 0
    rework_lines: int = 0
    files: frozenset[str] = frozenset()
    written: Mapping[str, frozenset[int]] = {}
    """Fingerprints of the lines this run wrote, by file: the oldest files are forgotten first."""
    tests: TestCounts | None = None
    """What the last run of the tests counted."""
    dependencies: frozenset[str] = frozenset()
    violations: int = 0
    corrected: int = 0
    recent_violations: tuple[Violation, ...] = ()
    violated_rules: Mapping[str, int] = {}
    """How often each rule was broken; of very many the most frequent."""
    violated_places: Mapping[str, int] = {}
    """The same by the place that was named, mostly a file."""
    forbidden: int = 0
    recent_forbidden: tuple[str, ...] = ()
    pending_approvals: int = 0
    granted: frozenset[str] = frozenset()
    """The questions that a person said yes to and that let nothing through yet."""
    workspace: str | None = None
    own_places: OwnPlaces = NOWHERE
    """Where Interlock itself is, as it was when the run began."""
    process: str = ""
    """The process that it was started for, or that went on with it."""
    granted_policies: Mapping[str, str] = {}
    """Of the ledger's own chain: what an operator adopted for a project of its own."""
    has_operator: bool = False
    """Of the ledger's own chain: whether anybody may decide. Once true, it stays so."""
    control: ControlState = msgspec.field(default=ControlState(), name="going")
    reviews: Reviews = Reviews()
    loop: LoopState = LoopState()
    """Of the loop's own run: what waits, what was done, what is held back."""
    report: Report | None = None

    @property
    def step_statistics(self) -> StepStatistics:
        """What the answers before its steps come to."""
        control = self.control
        return statistics_of(control.tally, control.decisions, self.spent.tokens)

    @property
    def standstill(self) -> str | None:
        """Of the loop's own run: why it lets nothing out, where a person stopped it."""
        if self.loop.frozen is not None:
            return self.loop.frozen.reason
        hold = self.control.hold
        return hold.reason if hold is not None and hold.kind is HoldKind.PERSON_STOP else None

    def _glance(self) -> Glance:
        status = self.outcome or self.status.value
        used = [
            f"{spent / each.scale:,g}{'' if limit is None else f' of {limit / each.scale:,g}'}"
            f" {each.unit}"
            for each in Dimension
            for spent, limit in ((self.spent.of(each), self.limits.of(each)),)
            if spent or limit is not None
        ]
        answers = [f"{count} {Decision(each).short}" for each, count in self.decisions.items()]
        return Glance(
            f"{self.id} {status}: {self.task}",
            (
                ("task", self.task),
                ("status", status),
                ("agent", self.agent),
                ("project", self.project),
                ("used", ", ".join(used)),
                ("answers", ", ".join(answers)),
                ("waits for", "a person" if self.pending_approvals else None),
            ),
        )

    @property
    def own_scope(self) -> str:
        """The account of the run by itself."""
        return f"run/{self.id}"

    @property
    def tree_scope(self) -> str:
        """The account of the run with everything below it."""
        return f"tree/{self.id}"


def folded(state: RunState, record: events.Record) -> RunState:
    """Return the state after one more record."""
    if record.seq != state.seq + 1:
        raise LedgerError(
            f"run `{state.id}`: record {record.seq} does not follow record {state.seq}"
        )
    return replace(_after(state, record), seq=record.seq, updated_at=record.at)


def _after(state: RunState, record: events.Record) -> RunState:  # noqa: C901, PLR0911, PLR0912 - one line per event
    match record.event:
        case events.RunStarted() as event:
            return _started(state, event, record.at)
        case events.RunResumed(process=process):
            return replace(state, process=process)
        case events.ActionJudged() as event:
            return _judged(state, event)
        case events.ActionObserved() as event:
            return _observed(state, event)
        case events.UsageReported() as event:
            return _used(state, event, event.spent)
        case events.ViolationRecorded() as event:
            return _violated(state, event)
        case events.ApprovalOpened(id=approval, subject=subject):
            return replace(
                state,
                pending_approvals=state.pending_approvals + 1,
                price_question=approval if subject is Subject.PRICE else state.price_question,
            )
        case events.ApprovalDecided(id=approval, state=decided):
            return replace(
                state,
                pending_approvals=state.pending_approvals - 1,
                granted=state.granted | {approval}
                if decided is ApprovalState.GRANTED
                else state.granted,
                control=after_decision(state.control, approval, decided),
                unpriced_accepted=_ANSWERED.get(decided)
                if approval == state.price_question
                else state.unpriced_accepted,
            )
        case events.PolicyAdopted(policy_hash=policy_hash, project=None):
            return replace(state, policy_hash=policy_hash)
        case events.PolicyAdopted(policy_hash=policy_hash, project=str(project)) if (
            record.by.kind is PrincipalKind.OPERATOR
        ):
            granted = {**state.granted_policies, project: policy_hash}
            return replace(state, granted_policies=granted)
        case events.CredentialGranted(kind=PrincipalKind.OPERATOR):
            return replace(state, has_operator=True)
        case (
            events.PolicyAdopted()
            | events.CredentialGranted()
            | events.CredentialRevoked()
            | events.AccessRefused()
            | events.LedgerAccepted()
            | events.LedgerArchived()
            | events.PersonNotified()
            | events.LedgerRestored()
        ):
            return state
        case events.RunFinished() as event:
            return _finished(state, event, record.at)
        case events.ReservationLapsed(released=released):
            return replace(state, reserved=state.reserved - released)
        case events.BudgetChanged() as event:
            return _relimited(state, event)
        case events.BudgetAlerted(alert=alert):
            return _alerted(state, alert)
        case events.EditsApplied() | events.Undone():
            return replace(state, reviews=after_more_work(state.reviews))
        case events.ApprovalUsed(id=approval):
            return replace(state, granted=state.granted - {approval})
        case (
            events.ReviewOpened()
            | events.CheckRan()
            | events.ReviewJudged()
            | events.ReviewChosen() as event
        ):
            return _reviewed(state, event, record.at)
        case (
            events.StepJudged()
            | events.StopJudged()
            | events.BeliefHeld()
            | events.PersonSpoke()
            | events.CheckpointTaken()
            | events.RunHalted()
            | events.RunLifted() as event
        ):
            control = _control_after(state.control, event, record.at)
            if isinstance(event, events.StepJudged | events.StopJudged):
                would_have = event.decision.would_have
                if would_have is not None:
                    counts = one_more(state.would_have, would_have.value)
                    return replace(state, control=control, would_have=counts)
            return replace(state, control=control)
        case _:
            loop = after_loop_event(state.loop, record.event, record.seq, record.at)
            return replace(state, loop=loop)


def _control_after(control: ControlState, event: ControlEvent, at: int) -> ControlState:
    match event:
        case events.StepJudged():
            return after_step(control, event, at)
        case events.StopJudged():
            return after_stop(control, event, at)
        case events.BeliefHeld(belief=belief):
            return after_belief(control, belief)
        case events.PersonSpoke():
            return after_person(control)
        case events.CheckpointTaken(checkpoint=checkpoint):
            return after_checkpoint(control, checkpoint)
        case events.RunHalted(reason=reason):
            return after_halt(control, reason, at)
        case events.RunLifted():
            return after_lift(control)
        case _:
            assert_never(event)


def _reviewed(state: RunState, event: ReviewEvent, at: int) -> RunState:
    match event:
        case events.ReviewOpened():
            return replace(state, reviews=after_opening(state.reviews, event))
        case events.CheckRan():
            control = after_check(state.control, event)
            tests = event.result.tests or state.tests
            return replace(
                state, reviews=with_check(state.reviews, event), control=control, tests=tests
            )
        case events.ReviewJudged():
            return replace(state, reviews=after_verdict(state.reviews, event, at))
        case events.ReviewChosen():
            reviews = after_choice(state.reviews, event, at)
            control = after_person(state.control)
            return replace(state, reviews=reviews, control=control)
        case _:
            assert_never(event)


def _started(state: RunState, event: events.RunStarted, at: int) -> RunState:
    return replace(
        state,
        task=event.task,
        agent=event.agent,
        client=event.client,
        project=event.project,
        ancestors=event.ancestors,
        policy_hash=event.policy_hash,
        started_at=at,
        limits=event.limits,
        tree_limits=event.tree_limits,
        workspace=event.workspace,
        own_places=event.own_places,
        process=event.process,
    )


def _judged(state: RunState, event: events.ActionJudged) -> RunState:
    if event.verdict.findings:
        state = _with_observed(state, event.verdict)
    return replace(
        state,
        control=after_refusal(state.control) if _is_against_a_rule(event) else state.control,
        reviews=after_more_work(state.reviews) if _is_let_through(event) else state.reviews,
        decisions=one_more(state.decisions, event.decision.value),
        reserved=state.reserved + event.reserved - event.returned,
    )


def _with_observed(state: RunState, verdict: Verdict) -> RunState:
    """Count what an action would have come to, and the rules that would have said so."""
    rules = {each.rule for each in verdict.findings if each.would_have is not msgspec.UNSET}
    if not rules:
        return state
    would_have, observed = verdict.would_have, state.observed_rules
    for rule in sorted(rules):
        observed = _ranked(observed, rule)
    if would_have is not None:
        state = replace(state, would_have=one_more(state.would_have, would_have.value))
    return replace(state, observed_rules=observed)


def _is_let_through(event: events.ActionJudged) -> bool:
    """Whether it may happen from here on, whether or not anybody reports on it."""
    return event.decision in (Decision.ALLOW, Decision.WARN)


def _is_against_a_rule(event: events.ActionJudged) -> bool:
    """Whether it was refused for what it is, not for the state that the run is in."""
    return event.decision is Decision.BLOCK and any(
        finding.decision is Decision.BLOCK and finding.gate not in FROM_FACTS
        for finding in event.verdict.findings
    )


def _observed(state: RunState, event: events.ActionObserved) -> RunState:
    state = replace(state, reserved=state.reserved - event.released)
    if event.outcome is events.Outcome.NOT_RUN:
        return state
    state = _used(state, event, event.spent)
    return replace(
        state,
        tools=one_more(state.tools, event.tool),
        lines_added=state.lines_added + sum(change.added for change in event.changes),
        lines_removed=state.lines_removed + sum(change.removed for change in event.changes),
        rework_lines=state.rework_lines + sum(change.rework for change in event.changes),
        files=with_files(state.files, event.changes),
        written=with_lines(state.written, event.changes),
        tests=event.tests or state.tests,
        dependencies=state.dependencies | set(event.dependencies)
        if event.dependencies
        else state.dependencies,
        forbidden=state.forbidden + len(event.forbidden),
        recent_forbidden=(*state.recent_forbidden, *event.forbidden)[-_MOST_EVIDENCE:],
        control=after_action(state.control, event),
        reviews=after_more_work(state.reviews),
    )


def _used(
    state: RunState, event: events.ActionObserved | events.UsageReported, spent: Amounts
) -> RunState:
    usage = event.usage
    if usage is None:
        return replace(state, spent=state.spent + spent)
    return replace(
        state,
        spent=state.spent + spent,
        input_tokens=state.input_tokens + usage.input_tokens,
        output_tokens=state.output_tokens + usage.output_tokens,
        unpriced_tokens=state.unpriced_tokens + unpriced_tokens(event),
    )


def unpriced_tokens(event: events.ActionObserved | events.UsageReported) -> int:
    """Return how many tokens an event brings whose price is not known."""
    return event.usage.total if event.usage is not None and event.cost_micros is None else 0


def _relimited(state: RunState, event: events.BudgetChanged) -> RunState:
    if event.scope not in (state.own_scope, state.tree_scope):
        return state
    key = _alert_key(event.scope, event.dimension)
    alerted = {name: percent for name, percent in state.alerted.items() if name != key}
    if event.scope == state.own_scope:
        limits = state.limits.with_limit(event.dimension, event.after)
        return replace(state, limits=limits, alerted=alerted)
    limits = state.tree_limits.with_limit(event.dimension, event.after)
    return replace(state, tree_limits=limits, alerted=alerted)


def _alerted(state: RunState, alert: Alert) -> RunState:
    if alert.scope not in (state.own_scope, state.tree_scope):
        return state
    key = _alert_key(alert.scope, alert.dimension)
    return replace(state, alerted={**state.alerted, key: alert.percent})


def _alert_key(scope: str, dimension: Dimension) -> str:
    return f"{scope.partition('/')[0]}/{dimension.value}"


def alerts_sent(state: RunState, scope: str) -> dict[str, int]:
    """Return the highest percentage that was alerted of each limit of a run's own account."""
    kind = f"{scope.partition('/')[0]}/"
    return {
        name.removeprefix(kind): percent
        for name, percent in state.alerted.items()
        if name.startswith(kind)
    }


def _violated(state: RunState, event: events.ViolationRecorded) -> RunState:
    quoted = Violation(rule=event.rule, message=event.message)
    return replace(
        state,
        violations=state.violations + 1,
        corrected=state.corrected + event.corrected,
        recent_violations=(*state.recent_violations, quoted)[-_MOST_EVIDENCE:],
        violated_rules=_ranked(state.violated_rules, event.rule),
        violated_places=state.violated_places
        if event.location is None
        else _ranked(state.violated_places, event.location),
        control=after_violation(state.control),
    )


def _finished(state: RunState, event: events.RunFinished, at: int) -> RunState:
    return replace(
        state,
        status=RunStatus.FINISHED,
        outcome=event.outcome,
        ended_at=at,
        report=event.report,
    )


def _ranked(counts: Mapping[str, int], name: str) -> Mapping[str, int]:
    """Return counts with one more, of which the rarest are forgotten first."""
    more = one_more(counts, name)
    if len(more) > _MOST_RANKED:
        kept = sorted(more.items(), key=lambda item: (item[0] != name, -item[1], item[0]))
        return dict(kept[:_MOST_RANKED])
    return more


_MOST_LINES: Final = 20_000


def with_files(files: frozenset[str], changes: tuple[events.FileChange, ...]) -> frozenset[str]:
    """Return the files with those that were changed."""
    new = {change.path for change in changes} - files
    return files | new if new else files


def with_lines(
    written: Mapping[str, frozenset[int]], changes: tuple[events.FileChange, ...]
) -> Mapping[str, frozenset[int]]:
    """Return the lines by file after some were written and others went."""
    if not any(change.wrote or change.gone for change in changes):
        return written
    lines = dict(written)
    for change in changes:
        # Taken out and put back, so that the file counts as the latest one.
        stayed = lines.pop(change.path, frozenset()) - set(change.gone)
        lines[change.path] = stayed | set(change.wrote)
    while sum(map(len, lines.values())) > _MOST_LINES and len(lines) > 1:
        del lines[next(iter(lines))]
    return lines
