"""Steps, stops, holds and checkpoints as a person reads them on a timeline."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, assert_never

from interlock.cli import measures
from interlock.cli.render import Tone
from interlock.cli.run_choice import SHORT
from interlock.model.events import (
    BeliefHeld,
    CheckpointTaken,
    PersonSpoke,
    RunHalted,
    RunLifted,
    StepJudged,
    StopJudged,
)
from interlock.model.ruling import Course, Ruling
from interlock.model.step import StepDecision
from interlock.policy.steps.step_figures import confidence
from interlock.views.entries import Entry

if TYPE_CHECKING:
    from interlock.model.checkpoint import Checkpoint
    from interlock.model.events import Record
    from interlock.model.run import GoingEvent

STEPS: Final = {
    StepDecision.CONTINUE: ("continue", Tone.GOOD),
    StepDecision.CHECKPOINT: ("save", Tone.GOOD),
    StepDecision.THROTTLE: ("throttle", Tone.CAREFUL),
    StepDecision.PAUSE: ("pause", Tone.ASKING),
    StepDecision.STOP: ("stop", Tone.BAD),
}
"""The mark of each answer before a step."""
_STOPS: Final = {
    Course.GO_ON: ("go on", Tone.CAREFUL),
    Course.WAIT: ("timer", Tone.FAINT),
    Course.FINISH: ("ends", Tone.GOOD),
    Course.AWAIT_PERSON: ("pause", Tone.ASKING),
    Course.HALT: ("stop", Tone.BAD),
}
_HELD: Final = ("held", Tone.CAREFUL)
_SHORT_COMMIT: Final = 12


def going_entry(event: GoingEvent, record: Record) -> Entry:
    """Return what happened, where it is about how a run gets on."""
    match event:
        case StepJudged():
            return step_entry(event)
        case StopJudged():
            return stop_entry(event)
        case BeliefHeld(belief=belief, because=because):
            sure = f"confidence {confidence(belief):.2f}"
            return Entry("believes", Tone.FAINT, belief.name, sure, (because,) if because else ())
        case PersonSpoke():
            return Entry("person", Tone.ASKING, "spoke to the agent: it counts anew from here")
        case CheckpointTaken(checkpoint=checkpoint):
            return _saved(checkpoint)
        case RunHalted(reason=reason):
            return Entry("halted", Tone.BAD, reason, f"by {record.by.name}")
        case RunLifted(reason=reason):
            return Entry("lifted", Tone.GOOD, reason, f"by {record.by.name}")
        case _:
            assert_never(event)


def step_entry(event: StepJudged) -> Entry:
    """Return the answer to "should it go on?" with all its reasons and warnings."""
    mark, tone = _step_mark(event)
    number = event.context.step_number
    step = "a step" if number is None else f"step {number}"
    text = step if not event.said else f"{step}, it says: {_first_line(event.said)}"
    if event.held:
        return Entry(mark, tone, text, _held_by(event))
    told = [reason.message for reason in event.decision.reasons]
    warned = [f"warned: {sign.message}" for sign in event.decision.warnings]
    waits = [event.ruling.reason] if event.ruling.course is Course.WAIT else []
    codes = [reason.code for reason in event.decision.reasons] or _warned_names(event)
    facts = ", ".join(_ruling_facts(event.ruling, event.approval))
    return Entry(mark, tone, text, facts, (*told, *warned, *waits), ", ".join(codes))


def stop_entry(event: StopJudged) -> Entry:
    """Return the answer to "is it really done?" with its reason and what the agent is told."""
    mark, tone = _HELD if event.hard else _STOPS[event.ruling.course]
    nudge = event.ruling.nudge
    mark = "nudge" if nudge is not None else mark
    said = _last_line(event.context.text or "")
    text = f"it stopped at: {said}" if said else "it stopped and said nothing"
    if event.hard:
        return Entry(mark, tone, text, _held_by(event))
    veto = event.decision.veto
    facts = ", ".join(
        (
            *((veto.value,) if veto is not None else (f"score {event.decision.score}",)),
            *_ruling_facts(event.ruling, event.approval),
        )
    )
    told = () if nudge is None else (f"it is told: {' '.join(nudge.split())}",)
    return Entry(mark, tone, text, facts, (event.ruling.reason, *told), event.ruling.by.value)


def _held_by(event: StepJudged | StopJudged) -> str:
    """Return what held it; why is told where that began."""
    return ", ".join(dict.fromkeys(hard.state.value for hard in event.hard))


def _step_mark(event: StepJudged) -> tuple[str, Tone]:
    if event.held:
        return _HELD
    if event.ruling.course is Course.WAIT:
        return _STOPS[Course.WAIT]
    return STEPS[event.decision.decision]


def _warned_names(event: StepJudged) -> Iterator[str]:
    for sign in event.decision.warnings:
        yield f"warns of {sign.name}"


def _ruling_facts(ruling: Ruling, approval: str | None) -> Iterator[str]:
    if ruling.delay_ms:
        yield f"waits {measures.duration(ruling.delay_ms)}"
    if approval is not None:
        yield f"approval {approval[:SHORT]}"


def _saved(checkpoint: Checkpoint) -> Entry:
    text = f"checkpoint {checkpoint.id[:SHORT]} at step {checkpoint.step}"
    if checkpoint.error is not None:
        return Entry("not saved", Tone.BAD, text, checkpoint.kind.value, (checkpoint.error,))
    if checkpoint.commit is not None:
        return Entry("saved", Tone.GOOD, text, f"commit {checkpoint.commit[:_SHORT_COMMIT]}")
    return Entry("saved", Tone.FAINT, text, _WITHOUT_COMMIT[checkpoint.kind.value])


_WITHOUT_COMMIT: Final = {
    "git": "by git",
    "command": "by a command of your own",
    "none": "the step alone, no files",
}


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
