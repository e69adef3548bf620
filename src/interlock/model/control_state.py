"""How a run gets on: its steps, what holds it, what it believes, and its reviews.

Part of a run's state, folded forward with it; nothing here grows with the length of a run.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from interlock.model.approval import ApprovalState
from interlock.model.arbitration import Authority, Course
from interlock.model.facts import Hold, HoldKind, stricter
from interlock.model.progress_meter import Meter, Observation, noted
from interlock.model.review import (
    CheckResult,
    EntryKind,
    PendingGateReview,
    ReviewDecision,
    ReviewEntry,
    ReviewGate,
    ReviewPurpose,
)
from interlock.model.step import COHERENCE_ACTIONS, Belief, Checkpoint, StepDecision
from interlock.model.step_statistics import StepTally, tallied
from interlock.model.stop import LastEvent, StopOutcome, StopVeto

if TYPE_CHECKING:
    from interlock.model.events import (
        ActionObserved,
        CheckRan,
        ReviewChosen,
        ReviewJudged,
        ReviewOpened,
        StepJudged,
        StopJudged,
    )


_RECENT_TURNS: Final = 10
_MOST_BELIEFS: Final = 100
_LONGEST_TAIL: Final = 3_000
"""So much of what a check printed is remembered; the record has the rest."""
_MOST_CLOSED: Final = 50
_MOST_WARNINGS: Final = 20
_EXHAUSTED: Final = (StopVeto.RETRIES_EXHAUSTED, StopVeto.PROTOCOL_VIOLATION)
_HOLDS: Final = {Course.HALT: HoldKind.STOP, Course.AWAIT_PERSON: HoldKind.PAUSE}


class ControlState(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a run gets on."""

    steps: int = 0
    """How many steps it was let go on for."""
    decisions: Mapping[str, int] = {}
    """How often each answer was given."""
    tally: StepTally = StepTally()
    tokens_at_step: int | None = None
    step_tokens: tuple[int, ...] = ()
    """What each of the last steps used, oldest first."""
    throttled: int = 0
    """How many answers in a row slowed it down."""
    evaluated_at: int | None = None
    """When it was last looked at in full."""
    checkpoint_step: int = 0
    """The step of the last checkpoint, whether or not there was anything to save."""
    saved_step: int = 0
    """The step of the last one that saved something."""
    checkpoints: int = 0
    person_step: int = 0
    """The step at which a person last touched it."""
    hold: Hold | None = None
    meter: Meter = Meter()
    said: str | None = None
    """What it said and has not acted on yet."""
    coherence: float | None = None
    actions: int = 0
    """How many actions there were since a person last let it go on."""
    settled_steps: int = 0
    """How many steps of the meter a person had seen when letting it go on: they are forgiven."""
    violated: tuple[int, ...] = ()
    """The actions at which rules were broken, by their number, as far as they still count."""
    beliefs: Mapping[str, Belief] = {}
    turns: tuple[bool, ...] = ()
    """Whether each of the last turns did anything, oldest first."""
    last_event: LastEvent | None = None
    continuations: int = 0
    """How often in a row it was sent on after it had stopped."""
    credit_used: int = 0
    """Continuations that no verified progress has paid back."""

    @property
    def turn(self) -> int | None:
        """The step that it is taking, by the number that it was asked about with; None for none."""
        return self.steps - 1 if self.steps else None

    @property
    def steps_since_person(self) -> int:
        """How many steps it took without anybody."""
        return self.steps - self.person_step

    @property
    def recent_violations(self) -> int:
        """How many rules were broken within the actions that count for coherence."""
        return len([at for at in self.violated if at > self.actions - COHERENCE_ACTIONS])

    @property
    def tool_ratio(self) -> float | None:
        """Which share of the last turns did something."""
        return sum(self.turns) / len(self.turns) if self.turns else None


def meter_with_words(control: ControlState, closing: str | None = None) -> Meter:
    """Return the meter with what it said and did not do, and with the words that end its turn."""
    meter = control.meter
    for words in (control.said, closing):
        if words is not None:
            meter = noted(meter, Observation.of_message(words, turn=control.turn))
    return meter


def after_step(control: ControlState, event: StepJudged, at: int) -> ControlState:
    """Return how it gets on after the continue gate has spoken."""
    decision = event.decision.decision
    control = replace(
        control,
        decisions=one_more(control.decisions, decision.value),
        tally=tallied(control.tally, event.context, event.decision),
        meter=meter_with_words(control),
        said=event.said,
    )
    if event.held:
        return control
    return replace(
        control,
        steps=control.steps + (event.ruling.course is Course.GO_ON),
        tokens_at_step=event.context.total_tokens_used,
        coherence=event.context.coherence_score,
        step_tokens=event.context.steps_tokens,
        throttled=_throttled(control, event),
        evaluated_at=control.evaluated_at if event.decision.short else at,
        hold=_held(control, event, at),
    )


def after_stop(control: ControlState, event: StopJudged, at: int) -> ControlState:
    """Return how it gets on after it was asked whether it is really done."""
    goes_on = event.ruling.course is Course.GO_ON
    # A message that holds calls goes on by itself: nobody had to send it on.
    is_sent_on = goes_on and event.decision.outcome is not StopOutcome.ACTS
    # Its checks count by themselves how often they send it on.
    is_sent_on = is_sent_on and event.ruling.by is not Authority.COMPLETION
    # Waiting for what the agent's own words wait for costs no credit, but is bounded as well.
    waits = event.ruling.course is Course.WAIT and event.ruling.by is Authority.STOP
    return replace(
        control,
        turns=(*control.turns, False)[-_RECENT_TURNS:],
        last_event=LastEvent.ASSISTANT_MESSAGE,
        meter=meter_with_words(control, event.context.text),
        said=None,
        continuations=(
            0 if _ends_normally(event) else control.continuations + (is_sent_on or waits)
        ),
        credit_used=control.credit_used + is_sent_on,
        hold=_held(control, event, at),
    )


def after_action(control: ControlState, event: ActionObserved) -> ControlState:
    """Return how it gets on after an action was reported on."""
    measured = event.measured
    return replace(
        control,
        actions=control.actions + 1,
        coherence=event.coherence if event.coherence is not None else control.coherence,
        meter=control.meter if measured is None else noted(control.meter, measured),
        said=None,
        turns=(*control.turns, True)[-_RECENT_TURNS:],
        last_event=LastEvent.TOOL_RESULT,
        # What came of it is verified: it pays for being sent on.
        continuations=0 if event.progressed else control.continuations,
        credit_used=max(0, control.credit_used - event.progressed),
    )


def after_check(control: ControlState, event: CheckRan) -> ControlState:
    """Return how it gets on after a check was run: better results pay for being sent on."""
    measured = event.measured
    if measured is None:
        return control
    return replace(
        control,
        meter=noted(control.meter, measured),
        continuations=0 if event.progressed else control.continuations,
        credit_used=max(0, control.credit_used - event.progressed),
    )


def after_violation(control: ControlState) -> ControlState:
    """Return how it gets on after a rule was broken."""
    violated = [at for at in control.violated if at > control.actions - COHERENCE_ACTIONS]
    return replace(control, violated=(*violated, control.actions)[-COHERENCE_ACTIONS:])


def after_refusal(control: ControlState) -> ControlState:
    """Return how it gets on after it wanted something that a rule forbids."""
    return after_violation(replace(control, actions=control.actions + 1))


def after_person(control: ControlState) -> ControlState:
    """Return how it gets on after a person has spoken: it starts counting anew."""
    return replace(
        control,
        person_step=control.steps,
        last_event=LastEvent.USER_MESSAGE,
        continuations=0,
        credit_used=0,
        throttled=0,
        said=None,
        meter=noted(control.meter, Observation.of_person()),
    )


def after_checkpoint(control: ControlState, checkpoint: Checkpoint) -> ControlState:
    """Return how it gets on after its work was saved; what could not be saved is still due."""
    if checkpoint.error is not None:
        return control
    return replace(
        control,
        checkpoint_step=checkpoint.step,
        saved_step=checkpoint.step if checkpoint.is_saved else control.saved_step,
        checkpoints=control.checkpoints + checkpoint.is_saved,
    )


def after_decision(control: ControlState, approval: str, state: ApprovalState) -> ControlState:
    """Return how it gets on after a person was asked, or was asked in vain, to let it go on."""
    hold = control.hold
    if hold is None or hold.approval != approval:
        return control
    if state is ApprovalState.GRANTED:
        return after_lift(control)
    stop = replace(hold, kind=max(hold.kind, HoldKind.STOP), approval=None)
    return replace(control, hold=stop)


def after_halt(control: ControlState, reason: str, at: int) -> ControlState:
    """Return how it gets on after a person has stopped it."""
    hold = Hold(kind=HoldKind.PERSON_STOP, reason=reason, step=control.steps, since=at)
    return replace(control, hold=stricter(control.hold, hold))


def after_lift(control: ControlState) -> ControlState:
    """Return how it gets on after a person has let it go on.

    What spoke against it is settled, or it would be held again before it could do better.
    """
    return after_person(
        replace(
            control,
            hold=None,
            actions=0,
            settled_steps=control.meter.steps,
            violated=(),
            coherence=None,
            beliefs={},
        )
    )


def after_belief(control: ControlState, belief: Belief) -> ControlState:
    """Return how it gets on after it has said what it believes; the oldest are forgotten first."""
    beliefs = {name: each for name, each in control.beliefs.items() if name != belief.name}
    beliefs[belief.name] = belief
    while len(beliefs) > _MOST_BELIEFS:
        del beliefs[next(iter(beliefs))]
    return replace(control, beliefs=beliefs)


def _throttled(control: ControlState, event: StepJudged) -> int:
    if event.decision.decision is StepDecision.THROTTLE:
        return control.throttled + 1
    # A short answer has not looked at the slope: it says nothing about a throttle.
    return control.throttled if event.decision.short else 0


def _ends_normally(event: StopJudged) -> bool:
    """Whether the turn ends because it is done, not because it was sent on too often."""
    ruling, decision = event.ruling, event.decision
    return (
        ruling.course is Course.FINISH
        and ruling.by is Authority.STOP
        and decision.veto not in _EXHAUSTED
    )


def _held(control: ControlState, event: StepJudged | StopJudged, at: int) -> Hold | None:
    """Return the hold after the arbiter's word: the continue gate's pause or stop begins one."""
    ruling = event.ruling
    if ruling.by is not Authority.STEP or ruling.course not in _HOLDS:
        return control.hold
    new = Hold(
        kind=_HOLDS[ruling.course],
        reason=ruling.reason,
        step=control.steps,
        since=at,
        approval=event.approval,
    )
    return stricter(control.hold, new)


def one_more(counts: Mapping[str, int], name: str) -> Mapping[str, int]:
    """Return counts with one more of a name."""
    return {**counts, name: counts.get(name, 0) + 1}


class OpenReview(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A review that work waits for, with everything it is judged by."""

    review: PendingGateReview
    gates: tuple[ReviewGate, ...]
    purpose: ReviewPurpose = ReviewPurpose.WORK
    subject: str = ""
    checks: tuple[CheckResult, ...] = ()
    """The latest result of each gate's check."""
    approval: str | None = None
    """The question to a person whose choice moves it."""


class ClosedReview(msgspec.Struct, frozen=True, kw_only=True):
    """How a review ended."""

    id: str
    kind: EntryKind
    reason: str
    at: int = 0
    """Microseconds since 1970."""


class Completion(enum.StrEnum):
    """How the checks stand that must pass before a run may finish."""

    OPEN = "open"
    PASSED = "passed"
    """Until something else is done."""
    SKIPPED = "skipped"
    """A person lets the run finish without them."""


class Reviews(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The reviews of a run."""

    pending: Mapping[str, OpenReview] = {}
    closed: tuple[ClosedReview, ...] = ()
    """The latest ones, oldest first."""
    warnings: tuple[str, ...] = ()
    """The warnings of gates that only advise, the latest last."""
    completion: Completion = Completion.OPEN


def after_opening(reviews: Reviews, event: ReviewOpened) -> Reviews:
    """Return the reviews with one more that is pending."""
    new = OpenReview(
        review=event.review, gates=event.gates, purpose=event.purpose, subject=event.subject
    )
    return replace(reviews, pending={**reviews.pending, new.review.id: new})


def with_check(reviews: Reviews, event: CheckRan) -> Reviews:
    """Return the reviews with what a check showed in the place of what it showed before."""
    found = reviews.pending.get(event.review)
    if found is None:
        return reviews
    result = replace(event.result, tail=event.result.tail[-_LONGEST_TAIL:])
    others = [each for each in found.checks if each.gate != result.gate]
    return _with(reviews, replace(found, checks=(*others, result)))


def after_verdict(reviews: Reviews, event: ReviewJudged, at: int) -> Reviews:
    """Return the reviews after a verdict on one of them."""
    return _moved(reviews, event.review, event.decision, event.approval, at)


def after_choice(reviews: Reviews, event: ReviewChosen, at: int) -> Reviews:
    """Return the reviews after a person has chosen how one of them goes on."""
    return _moved(reviews, event.review, event.decision, None, at)


def after_more_work(reviews: Reviews) -> Reviews:
    """Return the reviews after something was done: what passed before says nothing of it."""
    if reviews.completion is not Completion.PASSED:
        return reviews
    return replace(reviews, completion=Completion.OPEN)


def _moved(
    reviews: Reviews, review_id: str, decision: ReviewDecision, approval: str | None, at: int
) -> Reviews:
    found = reviews.pending.get(review_id)
    if found is None:
        return reviews
    reviews = replace(reviews, warnings=(*reviews.warnings, *decision.warnings)[-_MOST_WARNINGS:])
    review = dated(decision, at).review
    if review is not None:
        return _with(reviews, replace(found, review=review, approval=approval))
    return _closed(reviews, found, decision, at)


def dated(decision: ReviewDecision, at: int) -> ReviewDecision:
    """Return a decision of which each entry says when it was recorded: now, or earlier."""
    entry, review = decision.entry, decision.review
    if review is not None:
        review = replace(review, history=tuple(_entry_at(each, at) for each in review.history))
    return replace(decision, entry=entry and _entry_at(entry, at), review=review)


def _entry_at(entry: ReviewEntry, at: int) -> ReviewEntry:
    return entry if entry.at is not None else replace(entry, at=at)


def _with(reviews: Reviews, moved: OpenReview) -> Reviews:
    return replace(reviews, pending={**reviews.pending, moved.review.id: moved})


def _closed(reviews: Reviews, found: OpenReview, decision: ReviewDecision, at: int) -> Reviews:
    review_id = found.review.id
    kind = EntryKind.PASSED if decision.entry is None else decision.entry.kind
    end = ClosedReview(id=review_id, kind=kind, reason=decision.reason, at=at)
    completion = reviews.completion
    if found.purpose is ReviewPurpose.COMPLETION:
        skipped = kind is EntryKind.SKIPPED
        completion = Completion.SKIPPED if skipped else Completion.PASSED
    return replace(
        reviews,
        pending={name: each for name, each in reviews.pending.items() if name != review_id},
        closed=(*reviews.closed, end)[-_MOST_CLOSED:],
        completion=completion,
    )
