"""What an action came to: what is recorded of it, and what the progress meter makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Unpack, cast

import msgspec
import re2
from msgspec.structs import replace

from interlock.errors import InputError, KeyConflictError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Work
from interlock.ledger.projection import report_key
from interlock.ledger.transaction import Transaction
from interlock.model.action import Action, CommandAction, EditAction, ToolAction, summary_of
from interlock.model.budget import NOTHING, Amounts, TokenUsage, Usd, micros_from_usd
from interlock.model.control_state import ControlState
from interlock.model.entrance import MOST
from interlock.model.events import (
    ActionJudged,
    ActionObserved,
    BeliefHeld,
    FileChange,
    Outcome,
    UsageReported,
    ViolationRecorded,
)
from interlock.model.principal import PrincipalKind
from interlock.model.progress_meter import ChangedFile, Meter, noted
from interlock.model.question_fields import SeenAsIs
from interlock.model.review import TestCounts
from interlock.model.rows import KeyRow
from interlock.model.run import RunState
from interlock.model.step import COHERENCE_ACTIONS, Belief, Evidence
from interlock.model.verdict import Decision, Severity
from interlock.policy.actions.calls.payload import Payload
from interlock.policy.actions.inspection import Inspection, inspect
from interlock.policy.evidence.changed_lines import edits_of, file_changes
from interlock.policy.evidence.dependencies import dependencies_in
from interlock.policy.evidence.tool_output import counts_in
from interlock.policy.steps.call_observation import call_seen
from interlock.policy.steps.loop_detector import Progress, progress_of
from interlock.policy.steps.step_figures import coherence
from interlock.service.records.approvals import settle_elsewhere
from interlock.service.records.budgets import alert_after, charged_scopes
from interlock.service.records.context import Asked, Context, Moment, checked_name

_READ_OF_OUTPUT: Final = 2_000
"""Errors and short results stand at the beginning; what counts tests is read elsewhere."""
_SEARCHED_OF_OUTPUT: Final = 4 * _READ_OF_OUTPUT
"""A secret that begins within what is read also has to end within this to be known as one."""


def measured(
    context: Context,
    run: RunState,
    action: Action,
    event: ActionObserved,
    *,
    output: str | None,
    edits: Sequence[Payload],
    now: int,
) -> ActionObserved:
    """Return the report with what it does to the progress of its run."""
    if event.outcome is Outcome.NOT_RUN:
        return event
    seen = call_seen(
        event.tool,
        arguments=_arguments(action),
        arguments_digest=_digest(context, action),
        result=None if output is None else _shown(context, output),
        result_digest=event.output_digest,
        failed=event.outcome is Outcome.FAILED,
        changed=True if event.changes else None,
        files=tuple(_file_seen(context, edit) for edit in edits if _is_whole(action, edit)),
        rewritten=sum(change.rework for change in event.changes),
        tests=event.tests,
        volatile=context.policy.config.loops.volatile_arguments,
        polling=context.policy.config.loops.polling_tools,
        text=run.control.said or "",
        at=now,
    )
    seen = replace(seen, turn=run.control.turn, asked=event.of, told=run.seq)
    before = run.control.meter
    meter = noted(before, seen)
    control = replace(run.control, actions=run.control.actions + 1)
    return replace(
        event,
        measured=seen,
        coherence=coherence_now(control, unsettled_progress(control, meter)),
        progressed=_is_verified(before, meter, event),
    )


def _is_verified(before: Meter, after: Meter, event: ActionObserved) -> bool:
    """Whether new content was written, or fewer tests fail than ever.

    A command that looks as if it changed something is not enough: nobody has seen what it did.
    """
    if after.fewest_failing != before.fewest_failing:
        return True
    return bool(event.changes) and after.since == after.steps


def _shown(context: Context, output: str) -> str:
    """Return the beginning of an output without secrets, none of them cut in two."""
    return context.clean(output[:_SEARCHED_OF_OUTPUT])[:_READ_OF_OUTPUT]


def _arguments(action: Action) -> str:
    """Return what a call is told apart by: of an edit its place, for the text has a digest."""
    match action:
        case CommandAction(command=command):
            return command
        case ToolAction(params=params):
            return params if isinstance(params, str) else msgspec.json.encode(params).decode()
        case EditAction(path=path):
            return path


def _digest(context: Context, action: Action) -> str | None:
    if isinstance(action, EditAction):
        old = () if action.old is None else (action.old,)
        return context.digest(action.path, action.content, *old)
    return None


def _is_whole(action: Action, edit: Payload) -> bool:
    """Whether an edit says what the file holds afterwards, not only what a part of it does."""
    return edit.path is not None and (isinstance(action, EditAction) or edit.old is None)


def _file_seen(context: Context, edit: Payload) -> ChangedFile:
    before = None if edit.old is None else _content(context, edit.old)
    return ChangedFile(edit.path or "", before, _content(context, edit.content))


def _content(context: Context, text: str) -> str:
    return context.digest(text.encode("utf-8", "surrogatepass"))[:16]


_SAME_CALL: Final = "same:"
_LONGEST_MODEL: Final = 512


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What a client saw an action do; what it does not know it leaves out."""

    outcome: Outcome
    exit_code: int | None = None
    duration_ms: int = 0
    usage: TokenUsage | None = None
    model: str | None = None
    cost_micros: int | None = None
    """What it cost, where the client knows better than the price list."""
    output: str | None = None
    tests: TestCounts | None = None
    storage_bytes: int | None = None
    counted: tuple[FileChange, ...] | None = None
    """How many lines were added and removed, where Interlock itself has counted them."""


def observation_from(
    *,
    outcome: Outcome | str | None = None,
    cost_usd: Usd | None = None,
    **seen: Unpack[SeenAsIs],
) -> Observation:
    """Return what a client saw; without a word on it, the exit code says how it ended."""
    return Observation(
        outcome=_outcome(outcome, seen.get("exit_code")),
        cost_micros=None if cost_usd is None else micros_from_usd(cost_usd),
        **cast("Mapping[str, Any]", seen),
    )


def _outcome(named: Outcome | str | None, exit_code: int | None) -> Outcome:
    if named is None:
        return Outcome.FAILED if exit_code else Outcome.OK
    return Outcome(named)


def observe(asked: Asked, seq: int, seen: Observation) -> Work[ActionObserved]:
    """Return the work of reporting on an action that was asked about."""
    context, run_id = asked.context, asked.run.id
    digest = _report_digest(context, seen)
    judged = _judged(context, run_id, seq)
    if asked.principal.kind is PrincipalKind.PERSON:
        # A person at the client's own prompt was asked as well, and the client let it through.
        judged = _agreed(judged)
    effects = _effects(context, inspect(judged.action, context.policy), seen, judged)

    def plan(moment: Moment) -> ActionObserved:
        run, transaction = moment.running(), moment.transaction
        earlier = transaction.key(run.id, report_key(seq))
        if earlier is not None:
            return _reported_before(transaction, run.id, seq, earlier.seq, digest)
        released = judged.reserved if transaction.has_reservation(run.id, seq) else NOTHING
        event = replace(effects.in_run(run, context, seq), digest=digest, released=released)
        if moment.by.kind is PrincipalKind.PERSON and judged.approval is not None:
            settle_elsewhere(moment, judged.approval)
        return _record(moment, event, judged.scopes)

    # The accounts of the day when it was asked, which may be over by now.
    return asked.work(plan, charged=judged.scopes)


def _agreed(judged: ActionJudged) -> ActionJudged:
    """Return an action that a person had to agree to as one that they did agree to."""
    if judged.decision is not Decision.REQUIRE_CONFIRMATION:
        return judged
    return replace(judged, decision=Decision.WARN)


def observe_unasked(asked: Asked, action: Action, seen: Observation) -> Work[ActionObserved]:
    """Return the work of reporting on an action that nobody had asked about."""
    context = asked.context
    judgement = context.judgements.of(action)
    verdict, recordable = judgement.verdict, judgement.recordable
    effects = _effects(context, judgement.inspection.of(recordable), seen, None)
    scopes = charged_scopes(asked.run, context.clock.now())

    def plan(moment: Moment) -> ActionObserved:
        event = replace(effects.in_run(moment.running(), context), action=recordable)
        if verdict.decision.rank >= Decision.REQUIRE_CONFIRMATION.rank:
            rules = [finding.rule for finding in verdict.findings]
            words = f"{summary_of(recordable)[:200]}: {', '.join(rules)}"
            event = replace(event, forbidden=(*event.forbidden, words))
        return _record(moment, event, scopes)

    return asked.work(plan, charged=scopes)


def report_usage(
    asked: Asked, usage: TokenUsage, *, model: str | None, key: str | None = None, digest: str = ""
) -> Work[UsageReported]:
    """Return the work of reporting that a model was called; under one key it counts once."""
    context = asked.context
    cost = context.prices.cost_micros(model, usage)
    event = UsageReported(
        usage=usage,
        model=_model_on_record(context, model),
        cost_micros=cost,
        scopes=charged_scopes(asked.run, context.clock.now()),
        spent=Amounts(tokens=usage.total, cost_micros=cost or 0),
        key=key,
        digest=digest,
    )

    def plan(moment: Moment) -> UsageReported:
        earlier = None if key is None else moment.transaction.key(asked.run.id, key)
        if earlier is not None:
            return _same_usage(moment, earlier, digest)
        moment.running()
        moment.append(event)
        alert_after(moment, event.scopes)
        return event

    return asked.work(plan, charged=event.scopes)


def _same_usage(moment: Moment, earlier: KeyRow, digest: str) -> UsageReported:
    """Return what was reported under a key before; raise KeyConflictError where it is not this."""
    record = moment.transaction.record(earlier.run_id, earlier.seq)
    event = None if record is None else record.event
    if earlier.digest != digest or not isinstance(event, UsageReported):
        raise KeyConflictError(
            f"the key `{earlier.key.partition(':')[2][:60]}` stands for another report in run"
            f" `{earlier.run_id}`: use a new key for a new one"
        )
    return event


def record_violation(asked: Asked, violation: ViolationRecorded) -> Work[ViolationRecorded]:
    """Return the work of recording that a rule was broken."""
    clean = asked.context.clean
    event = replace(
        violation,
        rule=clean(violation.rule),
        message=clean(violation.message),
        location=None if violation.location is None else clean(violation.location),
    )
    return asked.entry(event)


class _Effects(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from an action and the report on it, before the run is looked at."""

    event: ActionObserved
    action: Action
    output: str | None
    edits: tuple[Payload, ...]
    counted: tuple[FileChange, ...] | None

    def in_run(self, run: RunState, context: Context, of: int | None = None) -> ActionObserved:
        """Return what is recorded, given what the run had done before."""
        changes = file_changes(self.edits, run.written)
        if self.counted is not None:
            changes = _as_counted(changes, self.counted)
        event = replace(self.event, of=of, changes=changes)
        return measured(
            context,
            run,
            self.action,
            event,
            output=self.output,
            edits=self.edits,
            now=context.clock.now(),
        )


def _effects(
    context: Context, recorded: Inspection, seen: Observation, judged: ActionJudged | None
) -> _Effects:
    action = recorded.action
    did_it = seen.outcome is Outcome.OK
    edits = tuple(edits_of(recorded)) if did_it else ()
    cost = seen.cost_micros
    if cost is None and seen.usage is not None:
        cost = context.prices.cost_micros(seen.model, seen.usage)
    output = (seen.output or "").encode("utf-8", "replace")
    event = ActionObserved(
        tool=_tool_name(action),
        outcome=seen.outcome,
        exit_code=seen.exit_code,
        duration_ms=seen.duration_ms,
        usage=seen.usage,
        model=_model_on_record(context, seen.model),
        cost_micros=cost,
        output_bytes=len(output),
        output_digest=context.digest(output) if output else None,
        tests=_tests(seen),
        dependencies=tuple(sorted({name for edit in edits for name in dependencies_in(edit)})),
        forbidden=_forbidden(context, recorded, seen, judged),
        forgets=_forgotten_key(seen, judged),
        spent=_spent(seen, cost, _changed_lines(seen, edits), _written_bytes(edits)),
    )
    return _Effects(
        event=event, action=action, output=seen.output, edits=edits, counted=seen.counted
    )


def _tests(seen: Observation) -> TestCounts | None:
    """Return what a test runner counted: what the client says, or else what was printed."""
    if seen.tests is not None or seen.output is None or seen.outcome is Outcome.NOT_RUN:
        return seen.tests
    return counts_in(seen.output)


def _as_counted(
    changes: Sequence[FileChange], counted: Sequence[FileChange]
) -> tuple[FileChange, ...]:
    """Return the changes with the figures that are known better; the lines are known again as is.

    What is on record of an action may be less than it did: it holds no credentials, and nothing
    that is too large to be searched for them.
    """
    known = {change.path: change for change in changes}
    return tuple(
        replace(known.get(each.path, each), added=each.added, removed=each.removed)
        for each in counted
    )


def _changed_lines(seen: Observation, edits: Sequence[Payload]) -> int:
    if seen.counted is not None:
        return sum(change.added + change.removed for change in seen.counted)
    return sum(edit.changed for edit in edits)


def _judged(context: Context, run_id: str, seq: int) -> ActionJudged:
    """Return the judgement of an action, which is on record since it was answered."""
    row = context.ledger.rows.record(run_id, seq) if seq <= MOST else None
    event = None if row is None else decoded(row.body).event
    if not isinstance(event, ActionJudged):
        raise InputError(f"run `{run_id}` has no action `{run_id}:{seq}`")
    return event


def _record(moment: Moment, event: ActionObserved, scopes: tuple[str, ...]) -> ActionObserved:
    event = replace(event, scopes=scopes)
    moment.append(event)
    for words in event.forbidden:
        moment.append(
            ViolationRecorded(rule="ran-against-the-answer", message=words, severity=Severity.HIGH)
        )
    alert_after(moment, scopes)
    return event


def _forbidden(
    context: Context, recorded: Inspection, seen: Observation, judged: ActionJudged | None
) -> tuple[str, ...]:
    """Return why an action should not have run, if it ran and should not have."""
    if seen.outcome is Outcome.NOT_RUN:
        return ()
    why: list[str] = []
    if judged is not None and judged.decision.rank >= Decision.REQUIRE_CONFIRMATION.rank:
        why.append(f"{summary_of(recorded.action)[:200]}: the answer was {judged.decision.value}")
    patterns = context.policy.config.evaluators.forbidden_commands
    why.extend(
        f"{command[:200]}: matches `{pattern}`"
        for command in _commands(recorded)
        for pattern in patterns
        if re2.search(pattern, command)
    )
    return tuple(why)


def _commands(recorded: Inspection) -> Iterator[str]:
    """Yield every command line that an action runs."""
    return (each.command for each in recorded.payloads if each.command is not None)


def _forgotten_key(seen: Observation, judged: ActionJudged | None) -> str | None:
    """Return the key of an answer that must not be given again: failures are not remembered."""
    if judged is None or judged.key is None or seen.outcome is not Outcome.FAILED:
        return None
    return judged.key if judged.key.startswith(_SAME_CALL) else None


def _spent(seen: Observation, cost: int | None, lines: int, stored: int) -> Amounts:
    if seen.outcome is Outcome.NOT_RUN:
        return NOTHING
    return Amounts(
        tokens=seen.usage.total if seen.usage is not None else 0,
        tool_calls=1,
        wall_time_ms=seen.duration_ms,
        cost_micros=cost or 0,
        diff_lines=lines,
        storage_bytes=stored if seen.storage_bytes is None else seen.storage_bytes,
    )


def _report_digest(context: Context, seen: Observation) -> str:
    """Return what tells this report from every other on the same action."""
    texts = [
        text.encode("utf-8", "surrogatepass") for text in (seen.output or "", seen.model or "")
    ]
    rest = msgspec.json.encode(replace(seen, output=None, model=None), order="sorted")
    return context.digest(rest, *texts)


def _model_on_record(context: Context, model: str | None) -> str | None:
    return None if model is None else context.clean(model)[:_LONGEST_MODEL]


def _written_bytes(edits: Sequence[Payload]) -> int:
    return sum(len(edit.content.encode("utf-8", "replace")) for edit in edits)


def _reported_before(
    transaction: Transaction, run_id: str, seq: int, reported: int, digest: str
) -> ActionObserved:
    record = transaction.record(run_id, reported)
    if record is None or not isinstance(record.event, ActionObserved):
        raise InputError(f"the report on action `{run_id}:{seq}` is gone: run `interlock verify`")
    if record.event.digest != digest:
        raise KeyConflictError(f"action `{run_id}:{seq}` was reported on before, differently")
    return record.event


def _tool_name(action: Action) -> str:
    match action:
        case ToolAction(name=name):
            return name
        case CommandAction():
            return "command"
        case EditAction():
            return "edit"


def coherence_now(control: ControlState, went: Progress) -> float | None:
    """Return how coherent a run is, given how its latest actions went."""
    return coherence(
        actions=min(control.actions, COHERENCE_ACTIONS),
        violations=control.recent_violations,
        rework=went.rework,
        progress=went.progress,
    )


def unsettled_progress(control: ControlState, meter: Meter) -> Progress:
    """Return how the latest actions went, of those that no person has let pass."""
    if not control.settled_steps:
        return progress_of(meter)
    calls = tuple(each for each in meter.calls if each.step > control.settled_steps)
    return progress_of(replace(meter, calls=calls))


def hold_belief(
    asked: Asked, name: str, evidence: Sequence[Evidence], because: str
) -> Work[Belief]:
    """Return the work of noting what an agent takes to be true, with what speaks for or against."""
    context = asked.context
    name = checked_name("belief", context.clean(name))
    because = context.clean(because)[:_LONGEST_NOTE]

    def plan(moment: Moment) -> Belief:
        belief = moment.running().control.beliefs.get(name, Belief(name=name))
        for each in evidence:
            belief = belief.with_evidence(each)
        moment.append(BeliefHeld(belief=belief, because=because))
        return belief

    return asked.work(plan)


_LONGEST_NOTE: Final = 400
