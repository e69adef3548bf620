"""One answer with everything behind it: as a value for programs, as a page for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from interlock.cli.text.render import Line, Span, Tone, escape, wrapped_lines
from interlock.cli.text.tables import cut
from interlock.model.arbitration import Authority, Course
from interlock.model.step import StepDecision
from interlock.model.stop import StopOutcome
from interlock.policy.steps.loop_detector import STOPS, Figure
from interlock.views import units
from interlock.views.lookup import SHORT
from interlock.views.moment import Deed
from interlock.views.step_explanation import NOT_ASKED, SILENT, Explained, SignPart, StopPart

BADGES: Final = {
    StepDecision.CONTINUE: Tone.ALLOW,
    StepDecision.CHECKPOINT: Tone.ALLOW,
    StepDecision.THROTTLE: Tone.WARN,
    StepDecision.PAUSE: Tone.CONFIRM,
    StepDecision.STOP: Tone.BLOCK,
}
_COURSES: Final = {
    Course.GO_ON: (Tone.ALLOW, "the run goes on"),
    Course.WAIT: (Tone.WARN, "a timer runs, then it goes on"),
    Course.FINISH: (Tone.ALLOW, "the turn ends here"),
    Course.AWAIT_PERSON: (Tone.CONFIRM, "the run waits for a person"),
    Course.HALT: (Tone.BLOCK, "the run is stopped until a person lifts that"),
}
_AUTHORITIES: Final = {
    Authority.PERSON_STOP: "a person, who stopped the run before",
    Authority.STOPPED: "an earlier stop, which holds until a person lifts it",
    Authority.PAUSED: "an earlier pause, which holds until a person decides",
    Authority.AWAITING_PERSON: "an open question to a person",
    Authority.OVER_BUDGET: "a budget that is used up",
    Authority.STEP: "the continue gate (should it go on?)",
    Authority.WAITING: "what it waits for outside",
    Authority.CREDIT: "the credit for going on unasked, which is used up",
    Authority.STOP: "the stop gate (is it really done?)",
    Authority.COMPLETION: "the checks of the policy that must pass before a run may finish",
}
_TONES: Final = {
    "stop": Tone.BAD,
    "pause": Tone.ASKING,
    "throttle": Tone.CAREFUL,
    "checkpoint": Tone.GOOD,
    SILENT: Tone.FAINT,
    "warns": Tone.CAREFUL,
}
_LABEL: Final = 10
_CODE: Final = 17
_SAYS: Final = 11


def explained_lines(whole: Explained, *, now: int, width: int) -> Iterator[Line]:
    """Yield the page."""
    yield from _head_lines(whole, now, width)
    if whole.stop is not None:
        yield from stop_lines(whole.stop, width=width)
    yield from _check_lines(whole, width)
    yield from _sign_lines(whole, width)
    yield from _figure_lines(whole.figures, width)
    yield from _otherwise_lines(whole, width)


def _head_lines(whole: Explained, now: int, width: int) -> Iterator[Line]:
    tone, meaning = _COURSES[whole.ruling.course]
    badge = whole.decision.decision.value if whole.stop is None else whole.ruling.course.value
    yield (Span(badge.upper(), tone), Span(f"  {meaning}"))
    yield from _labelled(_facts(whole, now), width)


def _facts(whole: Explained, now: int) -> Iterator[tuple[str, str, Tone]]:
    what = "at step" if whole.kind == "step" else "at the end of a turn, step"
    when = f"{units.span(now - whole.at)} ago"
    yield "answer", f"{what} {whole.step}, record {whole.record}, {when}", Tone.PLAIN
    yield "run", f"{whole.run[:SHORT]} ({whole.task})" if whole.task else whole.run, Tone.FAINT
    if whole.said:
        yield "it said", f"`{' '.join(whole.said.split())}`", Tone.PLAIN
    yield from _why(whole)
    yield from _effects(whole)


def _why(whole: Explained) -> Iterator[tuple[str, str, Tone]]:
    """Yield whose word it was, and what else held the run."""
    yield "word of", _AUTHORITIES[whole.ruling.by], Tone.PLAIN
    yield "because", whole.ruling.reason, Tone.STRONG
    if whole.ruling.by is Authority.STEP:
        for remedy in dict.fromkeys(each.remediation for each in whole.decision.reasons):
            yield "to do", remedy, Tone.PLAIN
    for hard in whole.hard:
        if hard.reason != whole.ruling.reason:
            yield "held by", f"{hard.state.value}: {hard.reason}", Tone.PLAIN


def _effects(whole: Explained) -> Iterator[tuple[str, str, Tone]]:
    """Yield what really happens besides the answer."""
    if whole.waiting is not None:
        told = f"{whole.waiting.what}, for {units.duration(whole.waiting.delay_ms)}"
        yield "waits for", told, Tone.PLAIN
    if whole.ruling.delay_ms:
        yield "delay", units.duration(whole.ruling.delay_ms), Tone.PLAIN
    if whole.decision.checkpoint_due:
        yield "saves", "a checkpoint was due", Tone.PLAIN
    if whole.decision.short:
        yield "short", "only the hard checks were made: a full answer had just been given", _FAINT
    if whole.reviews:
        yield "reviews", "; ".join(whole.reviews), Tone.PLAIN
    if whole.approval is not None:
        yield "question", f"approval {whole.approval}", Tone.CODE


_FAINT: Final = Tone.FAINT


def _labelled(rows: Iterator[tuple[str, str, Tone]], width: int) -> Iterator[Line]:
    for label, text, tone in rows:
        head = (Span(f"  {label:<{_LABEL}}", Tone.LABEL),)
        yield from wrapped_lines(head, text, tone, width=width)


def _check_lines(whole: Explained, width: int) -> Iterator[Line]:
    if any(check.says == NOT_ASKED for check in whole.checks):
        # What holds a run is stronger than any check: none was made.
        return
    yield from _heading("What was checked: should it go on?")
    for check in whole.checks:
        head = (
            Span(f"  {check.code:<{_CODE}}"),
            Span(f"{check.says:<{_SAYS}}", _TONES.get(check.says, Tone.LABEL)),
        )
        yield from wrapped_lines(head, f"{check.found}; {check.limit}", width=width)


def _sign_lines(whole: Explained, width: int) -> Iterator[Line]:
    if not whole.signs:
        return
    yield from _heading("What looks stuck", "steps here are calls and messages")
    shown: set[Line] = set()
    for sign in whole.signs:
        head = (
            Span(f"  {sign.name:<{_CODE}}"),
            Span(f"{sign.says:<{_SAYS}}", _TONES.get(sign.says, Tone.LABEL)),
        )
        yield from wrapped_lines(head, f"{sign.points:.2f} points: {sign.message}", width=width)
        for deed in sign.deeds[-_MOST_DEEDS:]:
            line = _deed_line(sign, deed, width)
            # Signs that see the same calls from different sides show them once.
            if line not in shown:
                yield line
            shown.add(line)
    together = (
        f"{whole.stuck_score:.2f} points, the length of the run adds a little; from"
        f" {whole.pause_score:.2f} on it pauses, one sign alone stops it from {STOPS:.2f} on"
    )
    pauses = whole.stuck_score >= whole.pause_score
    says = StepDecision.PAUSE.value if pauses else SILENT
    head = (Span(f"  {'together':<{_CODE}}"), Span(f"{says:<{_SAYS}}", _TONES[says]))
    yield from wrapped_lines(head, together, width=width)


def _deed_line(sign: SignPart, deed: Deed, width: int) -> Line:
    """Return one step that a sign comes from."""
    spoken = sign.name == _SPOKEN
    what = f"it says: {deed.said}" if spoken else deed.what
    came_to = f"  {deed.came_to}" if deed.came_to and not spoken else ""
    number = f"      step {deed.step:<5} "
    room = max(12, width - len(number) - len(came_to))
    text = cut(escape(" ".join(what.split())), room)
    return (Span(number, _FAINT), Span(text, Tone.CODE), Span(came_to, _FAINT))


_SPOKEN: Final = "echo"
"""The sign that is about words, not about calls."""
_MOST_DEEDS: Final = 5


def _figure_lines(figures: Sequence[Figure], width: int) -> Iterator[Line]:
    if not figures:
        return
    yield from _heading("What the figures come from")
    for each in figures:
        head = (Span(f"  {each.name:<{_CODE}}"), Span(f"{each.value:<{_SAYS}.3g}", Tone.STRONG))
        yield from wrapped_lines(head, "; ".join(each.because), width=width)


def _otherwise_lines(whole: Explained, width: int) -> Iterator[Line]:
    if not whole.otherwise:
        return
    yield from _heading("What would have changed the answer")
    for each in whole.otherwise:
        yield from wrapped_lines((Span("  "),), f"{each.had}: {each.then}", width=width)


def _heading(text: str, note: str = "") -> Iterator[Line]:
    yield ()
    yield (Span(text, Tone.HEADING), Span(f"  ({note})" if note else "", _FAINT))


_NAME: Final = 17
_POINTS: Final = 11
_OUTCOMES: Final = {
    StopOutcome.ACTS: "its message holds calls: it goes on by itself",
    StopOutcome.NUDGED: "it looks unfinished: it is told to go on",
    StopOutcome.RESUMED: "it was cut off: it is told to go on",
    StopOutcome.FINISHED: "it looks done",
    StopOutcome.FINISHED_WITH_WARNING: "it looks done, but something speaks for going on",
    StopOutcome.VETOED: "a veto ends the turn, whatever the score says",
}


def stop_lines(part: StopPart, *, width: int) -> Iterator[Line]:
    """Yield everything that spoke for being done or for going on."""
    yield ()
    yield (Span("Is it really done?", Tone.HEADING),)
    yield from _row("stop gate", "", f"{part.outcome.value}: {_OUTCOMES[part.outcome]}", width)
    veto = "none" if part.veto is None else f"{part.veto}: {part.reason}"
    yield from _row("veto", "", veto, width)
    for signal in part.signals:
        points = f"+{signal.points}" if signal.points else "0"
        yield from _row(signal.signal, points, signal.because, width)
    limits = (
        f"from {part.continue_at} on it goes on, from {part.warn_at} on it ends with a warning"
        f" (profile `{part.profile}`{_of_model(part)})"
    )
    yield from _row("score", str(part.score), limits, width)
    times = f"in a row told to go on; {part.max_retries} times are the most"
    yield from _row("continuations", str(part.retries), times, width)
    earned = f"of {part.credit_in_all} left; verified progress earns it back"
    yield from _row("credit", str(part.credit), earned, width)
    for each in part.evidence:
        yield from _row("evidence", "", f"{each.kind.value}: {each.text}", width)
    if part.completion is not None:
        told = f"{part.completion.outcome.value}: {part.completion.reason}"
        yield from _row("completion", "", told, width)
    if part.nudge is not None:
        yield from _told_lines(part.nudge, width)


def _told_lines(nudge: str, width: int) -> Iterator[Line]:
    first, *others = [line for line in nudge.splitlines() if line.strip()]
    yield from _row("it is told", "", first, width)
    for line in others:
        yield from _row("", "", line, width)


def _of_model(part: StopPart) -> str:
    return "" if part.model is None else f", model `{part.model}`"


def _row(name: str, figure: str, text: str, width: int) -> Iterator[Line]:
    head = (
        Span(f"  {name:<{_NAME}}"),
        Span(f"{figure:<{_POINTS}}" if figure else "", Tone.STRONG),
    )
    return wrapped_lines(head, text, width=width)
