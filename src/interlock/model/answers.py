"""The answer to each question, as whoever asks gets it."""

from __future__ import annotations

from typing import Final, Never

import msgspec

from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.budget import Alert
from interlock.model.edit import Applied, EditPlan
from interlock.model.glance import Glance, Glanced, counted, glance_of
from interlock.model.review import (
    GateAction,
    GateCoverage,
    PendingGateReview,
    ReviewDecision,
    ReviewGate,
    ReviewOutcome,
)
from interlock.model.step import Checkpoint, ContinueDecision, StepContext, StepDecision
from interlock.model.stop import StopDecision, StopOutcome
from interlock.model.verdict import Decision, Verdict, decision_glance, no_truth

_PERSON: Final = "approval"
"""The gate that knows what a person has said."""


class Answer(Glanced, msgspec.Struct, frozen=True, kw_only=True):
    """The answer to "may it do this?", on the record."""

    run_id: str
    action_id: str
    """Names the action when its outcome is reported."""
    decision: Decision
    verdict: Verdict
    approval_id: str | None = None
    """The question to a person that this answer waits for or was given by."""
    undo_id: str | None = None
    """Puts back what the action does: everything that it touches was copied first."""
    alerts: tuple[Alert, ...] = ()
    repeated: bool = False
    """The same request had been answered before: nothing was evaluated or charged again."""

    def __bool__(self) -> bool:
        """Whether the action may happen now."""
        return self.allowed

    @property
    def allowed(self) -> bool:
        """Whether the action may happen now."""
        return self.decision in (Decision.ALLOW, Decision.WARN)

    @property
    def waits_for_person(self) -> bool:
        """Whether a person has to decide first."""
        return self.decision is Decision.REQUIRE_CONFIRMATION

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, in words that an agent can act on."""
        findings = self.verdict.findings
        # Once a person has said no, no rule's advice on how to do it otherwise stands beside it.
        said = {each.gate for each in findings} & {_PERSON}
        return tuple(
            f"{each.message}; {each.remediation}"
            if each.remediation and (not said or each.gate in said)
            else each.message
            for each in findings
        )

    def _glance(self) -> Glance:
        line, rows = decision_glance(self.decision, self.verdict.findings)
        asked = f", approval {self.approval_id}" if self.waits_for_person else ""
        return Glance(
            f"{line}{asked}",
            (*rows, ("approval", self.approval_id), ("undo", self.undo_id), ("run", self.run_id)),
        )


class StepAnswer(Glanced, msgspec.Struct, frozen=True, kw_only=True):
    """The answer to "should it go on?", on the record."""

    run_id: str
    seq: int
    """The record that holds it."""
    step: int
    """How many steps the run had taken."""
    decision: StepDecision
    facts: StepContext
    """What was known when it was given."""
    detail: ContinueDecision
    """Every reason and every figure behind it."""
    ruling: Ruling
    approval_id: str | None = None
    """The question to a person whose answer lets the run go on."""
    checkpoint: Checkpoint | None = None
    """What was saved before the step, if it was due."""
    waited_ms: int = 0
    """How much of the delay is over already."""
    repeated: bool = False
    """The same question had been answered before: nothing was evaluated or counted again."""

    def __bool__(self) -> bool:
        """Whether the run may take its step, after the delay if there is one."""
        return self.goes_on

    @property
    def goes_on(self) -> bool:
        """Whether the run may take its step, after the delay if there is one."""
        return self.ruling.course is Course.GO_ON

    @property
    def delay_ms(self) -> int:
        """How long to wait before anything else happens."""
        return max(0, (self.ruling.delay_ms or 0) - self.waited_ms)

    @property
    def waits_for_person(self) -> bool:
        """Whether a person has to decide first."""
        return self.ruling.course is Course.AWAIT_PERSON

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, in words that an agent can act on."""
        return tuple(f"{each.message}; {each.remediation}" for each in self.detail.reasons)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the agent should hear although the run goes on."""
        return tuple(f"{each.message}; {each.remediation}" for each in self.detail.warnings)

    def _glance(self) -> Glance:
        line, rows = glance_of(self.detail)
        asked = f", approval {self.approval_id}" if self.approval_id else ""
        return Glance(
            f"{line}{asked}, after {counted(self.step, 'step')}",
            (
                ("what next", f"{self.ruling.course.value}: {self.ruling.reason}"),
                *rows,
                ("approval", self.approval_id),
                ("run", self.run_id),
            ),
        )


class StopAnswer(Glanced, msgspec.Struct, frozen=True, kw_only=True):
    """The answer to "is it really done?", on the record."""

    run_id: str
    seq: int
    decision: StopOutcome
    """What the stop gate says of the turn; `ruling` is what comes of it."""
    detail: StopDecision
    """Every signal and veto behind it."""
    step: ContinueDecision
    """What the continue gate says about going on."""
    ruling: Ruling
    completion: ReviewDecision | None = None
    """What the policy's completion checks say, where it came to that."""
    approval_id: str | None = None
    waited_ms: int = 0
    """How much of the delay is over already."""
    repeated: bool = False

    def __bool__(self) -> Never:
        """Refuse to say: done is not allowed, and sent on is no failure."""
        raise no_truth("a stop", "`goes_on`, or `ruling.course`")

    @property
    def done(self) -> bool:
        """Whether the agent is taken to be done: nothing else ended the turn."""
        ends = self.ruling.course is Course.FINISH and self.ruling.by is Authority.STOP
        return ends and self.detail.veto is None

    @property
    def goes_on(self) -> bool:
        """Whether the agent is sent on, with the nudge."""
        return self.ruling.course is Course.GO_ON

    @property
    def nudge(self) -> str | None:
        """What is sent to the agent, as a message from the user's side."""
        return self.ruling.nudge

    @property
    def delay_ms(self) -> int:
        """How long to wait before anything else happens."""
        return max(0, (self.ruling.delay_ms or 0) - self.waited_ms)

    @property
    def waits_for_person(self) -> bool:
        """Whether a person has to decide first."""
        return self.ruling.course is Course.AWAIT_PERSON

    def _glance(self) -> Glance:
        asked = f", approval {self.approval_id}" if self.approval_id else ""
        return Glance(
            f"{self.ruling.course.value}: {self.ruling.reason}{asked}",
            (
                ("what next", f"{self.ruling.course.value}: {self.ruling.reason}"),
                ("stop gate", f"{self.decision.value}: {self.detail.reason}"),
                ("nudge", self.nudge),
                ("approval", self.approval_id),
                ("run", self.run_id),
            ),
        )


def action_id(run_id: str, seq: int) -> str:
    """Return the id of the action that a record judged."""
    return f"{run_id}:{seq}"


class EditAnswer(Glanced, msgspec.Struct, frozen=True, kw_only=True):
    """What became of a set of edits: judged, and applied where that was allowed."""

    answer: Answer | None = None
    """What was answered; None where it was only to be looked at."""
    plan: EditPlan | None = None
    """What would become of each file, or has; None where that was answered before."""
    diff: str = ""
    """The same, to be read, without credentials."""
    applied: Applied | None = None
    """What was done; None where nothing was."""
    repeated: bool = False
    """The same request had been answered before: nothing was changed or charged again."""

    def __bool__(self) -> bool:
        """Whether the edits may be made, and so are unless they were only looked at."""
        return self.allowed

    @property
    def decision(self) -> Decision | None:
        """What was answered; None where it was only to be looked at."""
        return None if self.answer is None else self.answer.decision

    @property
    def allowed(self) -> bool:
        """Whether the edits may be made, and so are made unless they were only looked at."""
        return self.answer is not None and self.answer.allowed

    @property
    def waits_for_person(self) -> bool:
        """Whether a person has to decide first."""
        return self.answer is not None and self.answer.waits_for_person

    @property
    def approval_id(self) -> str | None:
        """The question to a person that the edits wait for, or were allowed by."""
        return None if self.answer is None else self.answer.approval_id

    @property
    def reasons(self) -> tuple[str, ...]:
        """Every reason as a sentence, with what to do about it."""
        return () if self.answer is None else self.answer.reasons

    @property
    def undo_id(self) -> str | None:
        """What puts the files back."""
        return None if self.applied is None else self.applied.id

    def _glance(self) -> Glance:
        line, rows = ("only looked at", ()) if self.answer is None else glance_of(self.answer)
        plan, files = self.plan, () if self.plan is None else self.plan.files
        size = "" if plan is None else f"+{plan.added} -{plan.removed} lines"
        told = "" if plan is None else f"; {counted(len(files), 'file')}, {size}"
        return Glance(
            f"{line}{told}",
            (
                *rows,
                *((each.path, f"+{each.added} -{each.removed} lines") for each in files),
                ("undo", self.undo_id),
            ),
        )


class ReviewOpening(Glanced, msgspec.Struct, frozen=True, kw_only=True):
    """A review that work waits for from here on, on the record."""

    run_id: str
    seq: int
    """The record that holds it."""
    review: PendingGateReview
    gates: tuple[ReviewGate, ...]
    guidance: str
    """What whoever reviews has to know, and how to answer."""
    repeated: bool = False
    """It was pending already: nothing was opened again."""

    def __bool__(self) -> Never:
        """Refuse to say: nothing was judged yet."""
        raise no_truth("a review that was opened", "the answer to `verdict`")

    def _glance(self) -> Glance:
        review = self.review
        return Glance(
            f"{review.id}: {counted(len(self.gates), 'gate')}, attempt"
            f" {review.attempt_count + 1} of {review.max_attempts}",
            (*((each.id, "; ".join(each.criteria)) for each in self.gates), ("run", self.run_id)),
        )


class ReviewAnswer(Glanced, msgspec.Struct, frozen=True, kw_only=True):
    """The answer to "was it good enough?", on the record."""

    run_id: str
    seq: int
    review_id: str
    decision: ReviewOutcome
    """What happens to the work."""
    detail: ReviewDecision
    """Every fault behind it, and the review as it stands."""
    coverage: tuple[GateCoverage, ...] = ()
    """What is known of each gate besides what was said."""
    footer: str = ""
    """The warnings of gates that only advise; empty where there are none."""
    approval_id: str | None = None
    """The question to a person whose choice moves the review."""
    repeated: bool = False
    """The same verdict had been answered before: nothing was run or counted again."""

    def __bool__(self) -> bool:
        """Whether the work goes on."""
        return self.advances

    @property
    def outcome(self) -> ReviewOutcome:
        """What happens to the work."""
        return self.decision

    @property
    def advances(self) -> bool:
        """Whether the work goes on."""
        return self.decision is ReviewOutcome.ADVANCE

    @property
    def reason(self) -> str:
        """Why."""
        return self.detail.reason

    @property
    def guidance(self) -> str | None:
        """What is said to whoever tries again, or asked of a person."""
        return self.detail.guidance

    @property
    def choices(self) -> tuple[GateAction, ...]:
        """What a person may choose."""
        return self.detail.choices

    def _glance(self) -> Glance:
        line, rows = glance_of(self.detail)
        asked = f", approval {self.approval_id}" if self.approval_id else ""
        return Glance(
            f"{self.review_id} {line}{asked}",
            (*rows, ("approval", self.approval_id), ("run", self.run_id)),
        )


class AllRuns(msgspec.Struct, frozen=True, kw_only=True):
    """What was said to every run at once, over HTTP."""

    runs: int
    """How many are at work."""
