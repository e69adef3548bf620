"""A review that work waits for: its gates, the checks that are run for them, a person's choice.

A check is run outside of the ledger, in the run's workspace, with the part of the environment
that the policy lists and nothing else. What it printed is recorded without secrets.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

import msgspec
from msgspec.structs import replace

from interlock.checkpoints.bounded_command import Deadline, Ended, run_bounded
from interlock.checkpoints.workspace_state import WorkspaceState
from interlock.errors import CheckpointError, InputError
from interlock.ledger.chain import decoded, records_of
from interlock.ledger.ledger import Work
from interlock.model.action import CommandAction
from interlock.model.answers import ReviewAnswer, ReviewOpening
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.control_state import OpenReview, dated
from interlock.model.events import ApprovalDecided, CheckRan, ReviewChosen, ReviewOpened
from interlock.model.principal import SYSTEM
from interlock.model.progress_meter import Observation, noted
from interlock.model.question_fields import GateGiven
from interlock.model.review import (
    Check,
    CheckResult,
    GateAction,
    ReviewDecision,
    ReviewGate,
    ReviewOutcome,
    refuse_name,
)
from interlock.model.run import RunState
from interlock.model.short_code import code_of
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.evidence.tool_output import counts_in, lint_counts_in
from interlock.policy.reviews.gate_faults import (
    coverage_of,
    environment_of_checks,
    fault_in_words,
    refusing,
)
from interlock.policy.reviews.review_gate import COMPLETION, asked_again, choose, opened
from interlock.policy.reviews.review_guidance import guidance_of
from interlock.ports import Rows
from interlock.service.records.adoption import adopt_in_run
from interlock.service.records.approvals import check_is_open, expire, open_approval
from interlock.service.records.context import Asked, Context, Moment
from interlock.service.records.runs import close_run
from interlock.settings import environment

_MOST_PENDING: Final = 20
_LONGEST_SUBJECT: Final = 1_000
_MOST_BYTES: Final = 256 * 1024
"""So much may all gates of a review take: they are part of the run's state while it is pending."""


def open_review(
    asked: Asked,
    review_id: str,
    given: GateGiven | Sequence[GateGiven],
    *,
    subject: str = "",
    all_hints: bool = False,
) -> Work[ReviewOpening]:
    """Return the work of opening a review; one that is pending already stays as it is."""
    context = asked.context
    refuse_name("review", "id", review_id)
    _refuse_secret(context, "review: its id", review_id)
    if review_id == COMPLETION:
        raise InputError(
            f"`{COMPLETION}` is the review that the policy asks for: name it otherwise"
        )
    # Tables are gates by now: the entrance has made them.
    every = cast(
        "Sequence[str | ReviewGate]", [given] if isinstance(given, str | ReviewGate) else given
    )
    gates = tuple(_gate(context, each) for each in every)
    _check_size(review_id, gates)
    event = ReviewOpened(
        review=opened(review_id, gates, context.policy.config.reviews),
        gates=gates,
        subject=context.clean(subject)[:_LONGEST_SUBJECT],
    )

    def plan(moment: Moment) -> ReviewOpening:
        run = moment.running()
        earlier = run.reviews.pending.get(review_id)
        if earlier is not None:
            _check_is_same(earlier, event)
            return _opening(context, run, earlier, repeated=True, all_hints=all_hints)
        _check_room(run)
        adopt_in_run(moment)
        moment.append(event)
        run = moment.run
        return _opening(
            context, run, run.reviews.pending[review_id], repeated=False, all_hints=all_hints
        )

    return asked.work(plan)


def recordable_gate(context: Context, gate: ReviewGate) -> ReviewGate:
    """Return a gate without credentials; InputError for a check with a secret among its words."""
    _refuse_secret(context, "gate: its id", gate.id)
    argv = () if gate.check is None else gate.check.argv
    for text in (*argv, shlex.join(argv)):
        if not _is_whole(text):
            raise InputError(f"gate `{gate.id}`: its check holds half a character")
        _refuse_secret(context, f"gate `{gate.id}`: its check", text)
    return replace(gate, criteria=tuple(map(context.clean, gate.criteria)))


def _refuse_secret(context: Context, place: str, text: str) -> None:
    if context.clean(text) != text:
        raise InputError(f"{place} holds a secret: name it otherwise, or read it from a file")


def _is_whole(text: str) -> bool:
    """Whether a text can be written: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _gate(context: Context, given: str | ReviewGate) -> ReviewGate:
    if isinstance(given, ReviewGate):
        return recordable_gate(context, given)
    known = context.policy.review_gates
    if given not in known:
        names = ", ".join(f"`{name}`" for name in known) or "it has none"
        raise InputError(f"the policy has no review gate `{given[:80]}`: {names}")
    return recordable_gate(context, known[given])


def _check_size(review_id: str, gates: Sequence[ReviewGate]) -> None:
    size = len(msgspec.json.encode(gates))
    if size > _MOST_BYTES:
        raise InputError(
            f"the gates of review `{review_id}` take {size} bytes, at most {_MOST_BYTES} are kept:"
            " have checks read from files, or make it several reviews"
        )


def _check_is_same(earlier: OpenReview, event: ReviewOpened) -> None:
    if earlier.gates != event.gates:
        raise InputError(
            f"review `{event.review.id}` is pending already, with other gates: give its verdict"
            " first, or name the new one otherwise"
        )


def _check_room(run: RunState) -> None:
    pending = len(run.reviews.pending)
    if pending >= _MOST_PENDING:
        raise InputError(
            f"run `{run.id}` has {pending} pending reviews, {_MOST_PENDING} are the most: give"
            " their verdicts first"
        )


def _opening(
    context: Context, run: RunState, found: OpenReview, *, repeated: bool, all_hints: bool
) -> ReviewOpening:
    guidance = guidance_of(found, context.policy.config.reviews, all_hints=all_hints)
    return ReviewOpening(
        run_id=run.id,
        seq=run.seq,
        review=found.review,
        gates=found.gates,
        guidance=guidance,
        repeated=repeated,
    )


_LONGEST_SUMMARY: Final = 300


def to_be_judged(run: RunState, review_id: str | None) -> OpenReview:
    """Return a review that a verdict is about: the named one, or the only one."""
    if review_id == COMPLETION:
        raise InputError(
            f"review `{COMPLETION}` is decided by its checks: end the turn or finish the run, and"
            " they are run again"
        )
    judged = {name: each for name, each in run.reviews.pending.items() if name != COMPLETION}
    return _the_one(run, judged, review_id)


def to_be_chosen_for(run: RunState, review_id: str | None) -> OpenReview:
    """Return a review that a person decides about: the named one, or the only one that waits."""
    pending = run.reviews.pending
    waiting = {name: each for name, each in pending.items() if each.review.awaiting_choice}
    return _the_one(run, pending if review_id is not None or not waiting else waiting, review_id)


def _the_one(run: RunState, pending: Mapping[str, OpenReview], review_id: str | None) -> OpenReview:
    names = ", ".join(f"`{name}`" for name in pending)
    if not pending:
        raise InputError(f"no review is pending in run `{run.id}`: open one first")
    if review_id is None:
        if len(pending) > 1:
            raise InputError(f"several reviews are pending in run `{run.id}`, name one: {names}")
        return next(iter(pending.values()))
    if review_id not in pending:
        raise InputError(f"no review `{review_id[:80]}` is pending in run `{run.id}`, but {names}")
    return pending[review_id]


def _ask_for_choice(moment: Moment, found: OpenReview, decision: ReviewDecision) -> str:
    """Ask a person how a review goes on, unless one is asked already; return the question's id."""
    earlier = None if found.approval is None else moment.transaction.approval(found.approval)
    if earlier is not None and earlier.is_open_at(moment.now):
        return earlier.id
    review_id, run = found.review.id, moment.run
    what = found.subject or f"failed {', '.join(decision.exhausted_gate_ids)}"
    return open_approval(
        moment,
        subject=Subject.REVIEW,
        digest=moment.context.digest("review", run.id, review_id, str(run.seq)),
        summary=f"review `{review_id}`: {what}"[:_LONGEST_SUMMARY],
        findings=_findings(found, decision),
        superseded=earlier,
    )


def _findings(found: OpenReview, decision: ReviewDecision) -> tuple[Finding, ...]:
    """Return why a person is asked: what is wrong with each gate, or what was said last."""
    remediation = "choose " + ", ".join(f"`{each.value}`" for each in decision.choices)
    faults = [(fault.gate, fault_in_words(fault)) for fault in decision.faults]
    last = found.review.feedback or decision.reason
    return tuple(
        Finding(
            gate="review",
            rule=f"review.{gate}",
            decision=Decision.REQUIRE_CONFIRMATION,
            severity=Severity.MEDIUM,
            message=message,
            remediation=remediation,
        )
        for gate, message in faults or [(found.review.id, last)]
    )


ABORTED: Final = "aborted"
"""How a run ends whose review a person aborts."""


def choose_by_approval(
    asked: Asked, approval: Approval, action: GateAction, *, instructions: str | None
) -> Work[ReviewAnswer]:
    """Return the work of answering a question about a review."""
    context, approval_id = asked.context, approval.id
    if approval.subject is not Subject.REVIEW:
        raise InputError(
            f"approval `{approval_id}` is about {approval.subject.value}, not about a review:"
            f" `interlock approve {code_of(approval_id)}` or `deny`"
        )
    said = None if instructions is None else context.clean(instructions)

    def plan(moment: Moment) -> ReviewAnswer:
        known = moment.transaction.approval(approval_id)
        current = approval if known is None else known
        check_is_open(current, moment.now)
        return _chosen(moment, _asked_by(moment.running(), current), action, said)

    return asked.work(plan)


def choose_by_review(
    asked: Asked, review_id: str | None, action: GateAction, *, instructions: str | None
) -> Work[ReviewAnswer]:
    """Return the work of choosing for a review by its name; refused while attempts remain."""
    said = None if instructions is None else asked.context.clean(instructions)

    def plan(moment: Moment) -> ReviewAnswer:
        return _chosen(moment, to_be_chosen_for(moment.running(), review_id), action, said)

    return asked.work(plan)


def _asked_by(run: RunState, approval: Approval) -> OpenReview:
    for found in run.reviews.pending.values():
        if found.approval == approval.id:
            return found
    raise InputError(f"no review of run `{run.id}` waits for approval `{approval.id}` any more")


def _chosen(
    moment: Moment, found: OpenReview, action: GateAction, instructions: str | None
) -> ReviewAnswer:
    settings = moment.context.policy.config.reviews
    decision = choose(found, action, settings, instructions=instructions)
    if decision.outcome is ReviewOutcome.REFUSED:
        raise InputError(decision.reason)
    adopt_in_run(moment)
    _answer_question(moment, found, action, instructions)
    event = ReviewChosen(
        review=found.review.id,
        action=action,
        instructions=instructions,
        decision=decision,
        approval=found.approval,
    )
    record = moment.append(event)
    if decision.outcome is ReviewOutcome.STOPPED:
        close_run(moment, outcome=ABORTED)
    return ReviewAnswer(
        run_id=moment.run.id,
        seq=record.seq,
        review_id=found.review.id,
        decision=decision.outcome,
        detail=dated(decision, record.at),
        coverage=coverage_of(found),
    )


def chosen_by(rows: Rows, answer: ReviewAnswer) -> ReviewAnswer | None:
    """Return what a person's choice made of a review, once there is one."""
    for row in records_of(rows, answer.run_id, after=answer.seq):
        event = decoded(row.body).event
        if isinstance(event, ReviewChosen) and event.approval == answer.approval_id:
            return replace(
                answer,
                seq=row.seq,
                decision=event.decision.outcome,
                detail=dated(event.decision, row.at),
                approval_id=None,
            )
    return None


def _answer_question(
    moment: Moment, found: OpenReview, action: GateAction, instructions: str | None
) -> None:
    """Close the question in the inbox, if it is still open there."""
    asked = None if found.approval is None else moment.transaction.approval(found.approval)
    if asked is None:
        return
    expire(moment, asked)
    if asked.is_open_at(moment.now):
        lets_on = action is not GateAction.ABORT
        event = ApprovalDecided(
            id=asked.id,
            state=ApprovalState.GRANTED if lets_on else ApprovalState.DENIED,
            note=f"{action.value}: {instructions}" if instructions else action.value,
        )
        moment.append(event)


def question_of(moment: Moment, found: OpenReview, decision: ReviewDecision) -> str | None:
    """Return the question to a person that a review waits for; it is asked again if it ran out."""
    review = decision.review
    if review is None or not review.awaiting_choice:
        return None
    is_new = decision.outcome is ReviewOutcome.ASK
    settings = moment.context.policy.config.reviews
    waiting = replace(found, review=review)
    return _ask_for_choice(moment, found, decision if is_new else asked_again(waiting, settings))


_MORE_READ: Final = 64 * 1024
"""So much more than is kept is read: a secret must not be cut in two."""
_MOST_TRIES: Final = 3
"""So often a check is run that passes while files change."""
_FEW_FILES: Final = 5
_EDGE: Final = 4 * 1024
"""So much is not kept of where the reading begins in the middle: half a secret may stand there."""


def run_checks(
    context: Context, run: RunState, review_id: str, gates: Sequence[ReviewGate]
) -> tuple[CheckRan, ...]:
    """Run every check of these gates, one after the other; what goes wrong is in the results."""
    return tuple(
        _ran(context, run, review_id, gate.id, gate.check)
        for gate in gates
        if gate.check is not None
    )


def record_checks(moment: Moment, ran: Sequence[CheckRan]) -> None:
    """Put on the record what checks showed, and tell the progress meter what they counted."""
    for each in ran:
        meter = moment.run.control.meter
        tests = each.result.tests
        seen = None if tests is None else Observation.of_check(tests, at=moment.now)
        after = meter if seen is None else noted(meter, seen)
        progressed = after.fewest_failing != meter.fewest_failing
        moment.append(replace(each, measured=seen, progressed=progressed), SYSTEM)


def _ran(context: Context, run: RunState, review_id: str, gate: str, check: Check) -> CheckRan:
    command = shlex.join(check.argv)
    action = CommandAction(command=command, cwd=run.workspace)
    findings = refusing(context.judgements.of(action).verdict)
    started = time.monotonic()
    result = _result(context, run, gate, check, findings)
    return CheckRan(
        review=review_id,
        result=result,
        command=command,
        findings=findings,
        duration_ms=round((time.monotonic() - started) * 1_000),
    )


def _result(
    context: Context, run: RunState, gate: str, check: Check, findings: Sequence[Finding]
) -> CheckResult:
    if findings:
        why = "; ".join(each.message for each in findings)
        return CheckResult(gate=gate, error=f"the policy does not let it run: {why}")
    if run.workspace is None:
        why = "the run has no workspace: start it with one"
        return CheckResult(gate=gate, error=why)
    try:
        ended, changed = _ran_on_one_state(context, Path(run.workspace), check)
    except (OSError, ValueError) as error:
        return CheckResult(gate=gate, error=context.clean(f"it cannot be started: {error}"))
    except CheckpointError as error:
        return CheckResult(gate=gate, error=context.clean(str(error)))
    return _seen(context, gate, ended) if not changed else _unsettled(context, gate, changed)


def _ran_on_one_state(
    context: Context, workspace: Path, check: Check
) -> tuple[Ended, Sequence[str]]:
    """Run a check until nothing has changed meanwhile; return also what did, the last time.

    A check that fails has no need of it: only what it passes must be what is there.
    """
    config, known = context.policy.config, environment()
    settings = config.reviews
    tries = 0
    while True:
        tries += 1
        state = WorkspaceState(workspace, config.destructive_ops.scratch_folders)
        ended = run_bounded(
            check.argv,
            folder=workspace,
            environment=environment_of_checks(known, settings.check_environment),
            deadline=Deadline(settings.timeout_s_of(check)),
            most_said=settings.check_tail_bytes + _MORE_READ,
            leaves_nothing=True,
        )
        changed = state.changed(known) if ended.exit_code == 0 else ()
        if not changed or tries == _MOST_TRIES:
            return ended, changed


def _unsettled(context: Context, gate: str, changed: Sequence[str]) -> CheckResult:
    shown = ", ".join(f"`{path}`" for path in changed[:_FEW_FILES])
    more = f" and {len(changed) - _FEW_FILES} more" if len(changed) > _FEW_FILES else ""
    why = (
        f"files changed while it ran, each of {_MOST_TRIES} times: {shown}{more}: let nothing write"
        " there meanwhile; what the check makes itself belongs into a folder of"
        " `destructive-ops.scratch-folders`, or is ignored by git"
    )
    return CheckResult(gate=gate, error=context.clean(why))


def _seen(context: Context, gate: str, ended: Ended) -> CheckResult:
    said = ended.said.decode("utf-8", "replace")
    most = context.policy.config.reviews.check_tail_bytes
    clean = context.clean(said).encode("utf-8", "replace")
    if len(ended.said) >= most + _MORE_READ:
        clean = clean[_EDGE:]
    return CheckResult(
        gate=gate,
        exit_code=ended.exit_code,
        timed_out=ended.exit_code is None,
        tail=clean[len(clean) - min(most, len(clean)) :].decode("utf-8", "ignore"),
        tests=counts_in(said),
        lint=lint_counts_in(said),
    )
