"""What can be done to a run, as work for the ledger: said once, for sync and async callers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import TypedDict, Unpack

from interlock.errors import InputError
from interlock.ledger.ledger import Work
from interlock.model.action import Action
from interlock.model.answers import Answer, ReviewAnswer, ReviewOpening, StepAnswer, StopAnswer
from interlock.model.approval import Approval, ApprovalState
from interlock.model.belief import Belief, Evidence
from interlock.model.budget import NOTHING, Budget, Dimension, TokenUsage, micros_from_usd
from interlock.model.checkpoint import Checkpoint
from interlock.model.events import (
    ActionObserved,
    BudgetChanged,
    Outcome,
    UsageReported,
    ViolationRecorded,
)
from interlock.model.report import Report, TestCounts
from interlock.model.review import GateAction
from interlock.model.run import RunState
from interlock.policy.reviews.gate_definition import action_from
from interlock.policy.reviews.verdict_grammar import VerdictSource
from interlock.ports import Evaluator
from interlock.service.credentials import authenticated, require_operator
from interlock.service.governor import Governor
from interlock.service.questions import step, stop
from interlock.service.questions.finish import Unfinished, finish_run
from interlock.service.questions.verdict import VerdictGiven, VerdictQuestion
from interlock.service.records import (
    approvals,
    budgets,
    holds,
    observations,
    reviews,
    run_checkpoints,
    runs,
)
from interlock.service.records.observations import Observation
from interlock.service.records.reviews import GateGiven, open_review
from interlock.service.records.runs import NewRun
from interlock.service.turns import StepFields, StopFields, step_report, stop_report


class RunFields(TypedDict, total=False):
    """What a run may be started with, besides its task."""

    agent: str
    client: str
    project: str
    parent: str | None
    budget: Budget
    """What the run itself may use."""
    tree_budget: Budget
    """What the run and everything below it may use together."""
    workspace: str | os.PathLike[str] | None
    """The folder it works in: checkpoints are taken there."""


class Seen(TypedDict, total=False):
    """What an action did, as far as it was seen."""

    outcome: Outcome | str
    """`ok`, `failed` or `not-run`; without it the exit code tells."""
    exit_code: int
    duration_ms: int
    usage: TokenUsage
    model: str
    cost_usd: Decimal | str | int
    output: str
    tests: TestCounts
    storage_bytes: int


class ReviewFields(TypedDict, total=False):
    """What a review may be opened with, besides its name and its gates."""

    subject: str
    """What is reviewed, in words."""
    all_hints: bool
    """Whether the guidance shows every criterion, not only the first few."""


class VerdictFields(TypedDict, total=False):
    """What may be said beside a verdict."""

    review: str
    """Which review it is about; not needed while only one is pending."""
    key: str
    """The caller's own name for it: sent again, it gets the same answer and counts once."""
    is_reply: bool
    """Whether the text is an agent's whole reply: then only a marked line counts as a verdict."""


class Operations:
    """Makes work out of what a caller says."""

    def __init__(self, governor: Governor) -> None:
        self._governor = governor

    def start(self, task: str, **fields: Unpack[RunFields]) -> Work[RunState]:
        """Start a run."""
        folder = fields.get("workspace")
        new = NewRun(
            task=task,
            agent=fields.get("agent", "agent"),
            client=fields.get("client", "python"),
            project=fields.get("project", "default"),
            parent=fields.get("parent"),
            limits=fields.get("budget", Budget()).limits(),
            tree_limits=fields.get("tree_budget", Budget()).limits(),
            workspace=None if folder is None else str(Path(folder).absolute()),
        )
        return runs.start_run(self._governor.context, new)

    def child(self, parent: str, task: str, fields: RunFields) -> Work[RunState]:
        """Start a run below another one, of the same agent and project unless told otherwise."""
        above = self._governor.run(parent)
        told: RunFields = {
            "agent": above.agent,
            "client": above.client,
            "project": above.project,
            "workspace": above.workspace,
            **fields,
            "parent": parent,
        }
        return self.start(task, **told)

    def ask(
        self, run_id: str, action: Action, key: str | None, expects: Budget | None
    ) -> Work[Answer]:
        """Ask whether an action may happen."""
        amounts = NOTHING if expects is None else expects.amounts()
        return self._governor.ask(run_id, action, key=key, expects=amounts)

    def observe(self, run_id: str, answer: Answer | str, seen: Seen) -> Work[ActionObserved]:
        """Report on an action that was asked about."""
        action_id = answer.action_id if isinstance(answer, Answer) else answer
        whose, _, seq = action_id.rpartition(":")
        if whose != run_id or not seq.isdecimal():
            raise InputError(f"`{action_id}` is not an action of run `{run_id}`")
        context, state = self._governor.context, self._governor.run(run_id)
        return observations.observe(context, state, int(seq), _observation(seen))

    def observe_unasked(self, run_id: str, action: Action, seen: Seen) -> Work[ActionObserved]:
        """Report on an action that nobody had asked about."""
        context, state = self._governor.context, self._governor.run(run_id)
        return observations.observe_unasked(context, state, action, _observation(seen))

    def usage(self, run_id: str, usage: TokenUsage, model: str | None) -> Work[UsageReported]:
        """Report that a model was called."""
        context, state = self._governor.context, self._governor.run(run_id)
        return observations.report_usage(context, state, usage, model=model, cost_micros=None)

    def violation(self, run_id: str, event: ViolationRecorded) -> Work[ViolationRecorded]:
        """Record that a rule was broken."""
        context, state = self._governor.context, self._governor.run(run_id)
        return observations.record_violation(context, state, event)

    def step(self, run_id: str, said: str | None, fields: StepFields) -> Work[StepAnswer]:
        """Ask whether a run may take its next step."""
        context, state = self._governor.context, self._governor.run(run_id)
        return step.judge_step(context, state, step_report(said, fields))

    def stopped(self, run_id: str, text: str | None, fields: StopFields) -> Work[StopAnswer]:
        """Ask whether an agent that ends its turn is really done."""
        context, state = self._governor.context, self._governor.run(run_id)
        return stop.judge_stop(context, state, stop_report(text, fields))

    def checkpoint(self, run_id: str, checkpoint: Checkpoint) -> Work[Checkpoint]:
        """Record that the work was saved."""
        context, state = self._governor.context, self._governor.run(run_id)
        return run_checkpoints.record_checkpoint(context, state, checkpoint)

    def belief(
        self, run_id: str, name: str, *, supporting: float, opposing: float, because: str
    ) -> Work[Belief]:
        """Note what the agent takes to be true."""
        evidence = [
            Evidence(supports=supports, weight=weight)
            for supports, weight in ((True, supporting), (False, opposing))
            if weight
        ]
        context, state = self._governor.context, self._governor.run(run_id)
        return observations.hold_belief(context, state, name, evidence, because)

    def person_spoke(self, run_id: str) -> Work[RunState]:
        """Note that a person spoke to the agent."""
        return holds.note_person(self._governor.context, self._governor.run(run_id))

    def halt(self, run_id: str, token: str, *, reason: str) -> Work[RunState]:
        """Stop a run, and everything below it."""
        context = self._governor.context
        by = require_operator(authenticated(context.ledger.rows, token))
        return holds.halt(context, self._governor.run(run_id).id, reason=reason, by=by)

    def lift(self, run_id: str, token: str, *, reason: str) -> Work[RunState]:
        """Let a run go on that was paused or stopped."""
        context = self._governor.context
        by = require_operator(authenticated(context.ledger.rows, token))
        return holds.lift(context, self._governor.run(run_id).id, reason=reason, by=by)

    def review(
        self, run_id: str, review_id: str, gates: Sequence[GateGiven], fields: ReviewFields
    ) -> Work[ReviewOpening]:
        """Have the work reviewed."""
        context, state = self._governor.context, self._governor.run(run_id)
        return open_review(
            context,
            state,
            review_id,
            gates,
            subject=fields.get("subject", ""),
            all_hints=fields.get("all_hints", False),
        )

    def verdict(self, run_id: str, said: VerdictGiven, fields: VerdictFields) -> Work[ReviewAnswer]:
        """Say whether the work is good enough."""
        context, state = self._governor.context, self._governor.run(run_id)
        is_reply = fields.get("is_reply", False)
        return VerdictQuestion(
            context,
            state,
            said,
            review_id=fields.get("review"),
            key=fields.get("key"),
            source=VerdictSource.REPLY if is_reply else VerdictSource.VERDICT,
        ).work()

    def choose(
        self, approval_id: str, action: GateAction | str, token: str, *, instructions: str | None
    ) -> Work[ReviewAnswer]:
        """Choose how a review goes on, by the question to a person."""
        context = self._governor.context
        by = require_operator(authenticated(context.ledger.rows, token))
        return reviews.choose_by_approval(
            context, approval_id, _gate_action(action), instructions=instructions, by=by
        )

    def choose_review(
        self,
        run_id: str,
        review_id: str | None,
        action: GateAction | str,
        token: str,
        *,
        instructions: str | None,
    ) -> Work[ReviewAnswer]:
        """Choose how a review goes on, by its name."""
        context = self._governor.context
        by = require_operator(authenticated(context.ledger.rows, token))
        return reviews.choose_by_review(
            context,
            self._governor.run(run_id).id,
            review_id,
            _gate_action(action),
            instructions=instructions,
            by=by,
        )

    def finish(
        self, run_id: str, outcome: str, evaluators: Sequence[Evaluator]
    ) -> Work[Report | Unfinished]:
        """Close a run."""
        context = self._governor.context
        return finish_run(context, run_id, outcome=outcome, evaluators=evaluators)

    def decide(
        self,
        approval_id: str,
        token: str,
        *,
        granted: bool,
        note: str | None = None,
        always: bool = False,
    ) -> Work[Approval]:
        """Answer a question to a person."""
        context = self._governor.context
        by = require_operator(authenticated(context.ledger.rows, token))
        approval = approvals.the_approval(context.ledger.rows, approval_id)
        state = ApprovalState.GRANTED if granted else ApprovalState.DENIED
        return approvals.decide(context, approval, state, by=by, note=note, always=always)

    def set_budget(
        self, scope: str, budget: Budget, token: str, *, note: str | None
    ) -> Sequence[Work[BudgetChanged]]:
        """Give an account other limits, one for each that the budget names."""
        context = self._governor.context
        by = require_operator(authenticated(context.ledger.rows, token))
        limits = budget.limits()
        return [
            budgets.change_budget(
                context, scope=scope, dimension=dimension, limit=limit, note=note, by=by
            )
            for dimension in Dimension
            if (limit := limits.of(dimension)) is not None
        ]


def _gate_action(action: GateAction | str) -> GateAction:
    return action if isinstance(action, GateAction) else action_from(action)


def _observation(seen: Seen) -> Observation:
    exit_code = seen.get("exit_code")
    cost = seen.get("cost_usd")
    return Observation(
        outcome=_outcome(seen.get("outcome"), exit_code),
        exit_code=exit_code,
        duration_ms=seen.get("duration_ms", 0),
        usage=seen.get("usage"),
        model=seen.get("model"),
        cost_micros=None if cost is None else micros_from_usd(cost),
        output=seen.get("output"),
        tests=seen.get("tests"),
        storage_bytes=seen.get("storage_bytes"),
    )


def _outcome(told: Outcome | str | None, exit_code: int | None) -> Outcome:
    if told is None:
        return Outcome.FAILED if exit_code else Outcome.OK
    try:
        return Outcome(told)
    except ValueError as error:
        known = ", ".join(f"`{each.value}`" for each in Outcome)
        raise InputError(f"`{told}` is not an outcome: expected one of {known}") from error
