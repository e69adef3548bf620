"""One answer with everything behind it: as a value for programs, as a page for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    badge_line,
    heading_lines,
    labelled_rows,
    text_width,
    wrapped_lines,
)
from interlock.cli.text.statistics_text import statistics_rows
from interlock.cli.text.tables import cut
from interlock.cli.text.verdict_page import explanation_lines
from interlock.model.arbitration import Authority, Course
from interlock.model.short_code import code_of
from interlock.model.step import StepDecision
from interlock.model.step_statistics import StepStatistics
from interlock.model.stop import StopOutcome
from interlock.policy.steps.loop_detector import Figure
from interlock.policy.steps.stuck_evidence import STOPS
from interlock.views import units
from interlock.views.call_explanation import ExplainedCall
from interlock.views.moment import Deed
from interlock.views.step_explanation import NOT_ASKED, SILENT, Explained, SignPart, StopPart
from interlock.views.timeline import action_text

_COURSES: Final = {
    Course.GO_ON: (Tone.ALLOW, "the run goes on"),
    Course.WAIT: (Tone.WARN, "a timer runs, then it goes on"),
    Course.FINISH: (Tone.ALLOW, "the turn ends here"),
    Course.AWAIT_PERSON: (Tone.CONFIRM, "the run waits for a person"),
    Course.HALT: (Tone.BLOCK, "the run is stopped until a person resumes it"),
}
_AUTHORITIES: Final = {
    Authority.PERSON_STOP: "a person, who stopped the run before",
    Authority.STOPPED: "an earlier stop, which holds until a person resumes the run",
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
_OUTCOMES: Final = {
    StopOutcome.ACTS: "its message holds calls: it goes on by itself",
    StopOutcome.NUDGED: "it looks unfinished: it is told to go on",
    StopOutcome.RESUMED: "it was cut off: it is told to go on",
    StopOutcome.FINISHED: "it looks done",
    StopOutcome.FINISHED_WITH_WARNING: "it looks done, but there are signs that it is not",
    StopOutcome.WAITS: "nothing is to be done now: it is looked at again later",
    StopOutcome.VETOED: "a veto ends the turn, whatever the score says",
}
_LABEL: Final = 10
_NAME: Final = 17
_FIGURE: Final = 11
_MOST_DEEDS: Final = 5
_SPOKEN: Final = frozenset(("echo", "setbacks", "refrain", "done-again"))
"""The signs that are about words, not about calls."""


Fact = tuple[str, str] | tuple[str, str, Tone]
"""A label, a text, and how it looks."""


def call_lines(call: ExplainedCall, *, now: int, width: int) -> Iterator[Line]:
    """Yield the explanation of one call."""
    yield (Span(action_text(call.action), Tone.STRONG),)
    yield from labelled_rows(
        ("run", f"{call.code}, record {call.record}, {units.span(now - call.at)} ago"),
        ("asked", "" if call.approval is None else f"approval {code_of(call.approval)}"),
        width=width,
    )
    yield ()
    yield from explanation_lines(call.explanation, width=width)


def explained_lines(whole: Explained, *, now: int) -> Iterator[Line]:
    """Yield the page."""
    yield from _head_lines(whole, now)
    if whole.stop is not None:
        yield from _stop_lines(whole.stop)
    yield from _check_lines(whole)
    yield from _sign_lines(whole)
    yield from _figure_lines(whole.figures)
    yield from _otherwise_lines(whole)
    yield from _statistics_lines(whole.statistics)


def _head_lines(whole: Explained, now: int) -> Iterator[Line]:
    tone, meaning = _COURSES[whole.ruling.course]
    badge = whole.decision.decision.value if whole.stop is None else whole.ruling.course.value
    yield badge_line(badge.upper(), tone, meaning)
    for label, text, *tones in _facts(whole, now):
        head = (Span(f"  {label:<{_LABEL}}", Tone.LABEL),)
        yield from wrapped_lines(head, text, *tones)


def _facts(whole: Explained, now: int) -> Iterator[Fact]:
    what = "at step" if whole.kind == "step" else "at the end of a turn, step"
    when = f"{units.span(now - whole.at)} ago"
    yield "answer", f"{what} {whole.step}, record {whole.record}, {when}"
    yield "run", f"{code_of(whole.run)} ({whole.task})" if whole.task else whole.run, Tone.FAINT
    if whole.said:
        yield "it said", f"`{' '.join(whole.said.split())}`"
    yield from _why(whole)
    yield from _effects(whole)


def _why(whole: Explained) -> Iterator[Fact]:
    """Yield what decided, and what else held the run."""
    yield "by", _AUTHORITIES[whole.ruling.by]
    yield "because", whole.ruling.reason, Tone.STRONG
    if whole.ruling.by is Authority.STEP:
        for remedy in dict.fromkeys(each.remediation for each in whole.decision.reasons):
            yield "to do", remedy
    for hard in whole.hard:
        if hard.reason != whole.ruling.reason:
            yield "held by", f"{hard.state.value}: {hard.reason}"


def _effects(whole: Explained) -> Iterator[Fact]:
    """Yield what really happens besides the answer."""
    if whole.waiting is not None:
        waits = f"{whole.waiting.what}, for {units.duration(whole.waiting.delay_ms)}"
        yield "waits for", waits
    if whole.ruling.delay_ms:
        yield "delay", units.duration(whole.ruling.delay_ms)
    if whole.decision.checkpoint_due:
        yield "saves", "a checkpoint was due"
    if whole.decision.short:
        short = "only the hard checks were made: a full answer had just been given"
        yield "short", short, Tone.FAINT
    if whole.reviews:
        yield "reviews", "; ".join(whole.reviews)
    if whole.approval is not None:
        yield "question", f"approval {whole.approval}", Tone.CODE


def _check_lines(whole: Explained) -> Iterator[Line]:
    if any(check.says == NOT_ASKED for check in whole.checks):
        # What holds a run is stronger than any check: none was made.
        return
    yield from heading_lines("Checks: should it go on?")
    for check in whole.checks:
        text = f"{check.found}; {check.limit}"
        yield from _row(check.code, check.says, text, _tone(check.says))


def _sign_lines(whole: Explained) -> Iterator[Line]:
    if not whole.signs:
        return
    yield from heading_lines("Signs of being stuck", "counted in calls and messages")
    shown: set[Line] = set()
    for sign in whole.signs:
        text = f"{sign.points:.2f} points: {sign.message}"
        yield from _row(sign.name, sign.says, text, _tone(sign.says))
        for deed in sign.deeds[-_MOST_DEEDS:]:
            line = _deed_line(sign, deed)
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
    yield from _row("together", says, together, _tone(says))


def _deed_line(sign: SignPart, deed: Deed) -> Line:
    """Return one step that a sign comes from."""
    spoken = sign.name in _SPOKEN
    what = f"it says: {deed.said}" if spoken else deed.what
    number = f"      step {deed.step:<5} "
    width = text_width() - len(number)
    came_to = f"  {cut(deed.came_to, max(12, width - 14))}" if deed.came_to and not spoken else ""
    room = max(12, width - len(came_to))
    text = cut(" ".join(what.split()), room)
    return (Span(number, Tone.FAINT), Span(text, Tone.CODE), Span(came_to, Tone.FAINT))


def _figure_lines(figures: Sequence[Figure]) -> Iterator[Line]:
    if not figures:
        return
    yield from heading_lines("Figures")
    for each in figures:
        yield from _row(each.name, f"{each.value:.3g}", "; ".join(each.because))


def _statistics_lines(known: StepStatistics) -> Iterator[Line]:
    if not known.evaluations:
        return
    yield from heading_lines("Answers before it")
    given = ", ".join(f"{count:,} {each}" for each, count in known.decisions.items() if count)
    yield from labelled_rows(("answers", given), *statistics_rows(known))


def _otherwise_lines(whole: Explained) -> Iterator[Line]:
    if not whole.otherwise:
        return
    yield from heading_lines("What would have changed the answer")
    for each in whole.otherwise:
        yield from wrapped_lines((Span("  "),), f"{each.had}: {each.then}")


def _stop_lines(part: StopPart) -> Iterator[Line]:
    """Yield every sign of being done, or of not being done."""
    yield from heading_lines("Is it really done?")
    yield from _row("stop gate", "", f"{part.outcome.value}: {_OUTCOMES[part.outcome]}")
    veto = "none" if part.veto is None else f"{part.veto}: {part.reason}"
    yield from _row("veto", "", veto)
    for signal in part.signals:
        points = f"+{signal.points}" if signal.points else "0"
        yield from _row(signal.signal, points, signal.because)
    of_model = "" if part.model is None else f", model `{part.model}`"
    limits = (
        f"from {part.continue_at} on it goes on, from {part.warn_at} on it ends with a warning"
        f" (profile `{part.profile}`{of_model})"
    )
    yield from _row("score", str(part.score), limits)
    times = f"in a row told to go on; {part.max_retries} times are the most"
    yield from _row("continuations", str(part.retries), times)
    earned = f"of {part.credit_in_all} left; verified progress earns it back"
    yield from _row("credit", str(part.credit), earned)
    for each in part.evidence:
        yield from _row("evidence", "", f"{each.kind.value}: {each.text}")
    if part.completion is not None:
        found = f"{part.completion.outcome.value}: {part.completion.reason}"
        yield from _row("completion", "", found)
    nudge = [line for line in (part.nudge or "").splitlines() if line.strip()]
    for place, line in enumerate(nudge):
        yield from _row("" if place else "it is told", "", line)


def _row(name: str, figure: str, text: str, tone: Tone = Tone.STRONG) -> Iterator[Line]:
    head = (Span(f"  {name:<{_NAME}}"), Span(f"{figure:<{_FIGURE}}" if figure else "", tone))
    return wrapped_lines(head, text)


def _tone(says: str) -> Tone:
    return _TONES.get(says, Tone.LABEL)
