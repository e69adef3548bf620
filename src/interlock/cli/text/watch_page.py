"""One frame of the live view: how a run gets on, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from interlock.cli.text.render import Line, Span, Tone, drawable, heading_lines, wrapped_lines
from interlock.cli.text.review_page import gate_lines, standing_text
from interlock.cli.text.run_page import hold_lines, steps_text
from interlock.cli.text.tables import bar_lines, cut
from interlock.model.approval import Approval, Subject
from interlock.model.short_code import code_of
from interlock.views import units
from interlock.views.watch_view import MOST_ANSWERS, Answered, Frame

_LABEL: Final = 13
_BAND_TONES: Final = {
    "full": Tone.GOOD,
    "restricted": Tone.CAREFUL,
    "read-only": Tone.CAREFUL,
    "stop": Tone.BAD,
}
_NOT_KNOWN: Final = "not known yet"
_FEWEST_ANSWERS: Final = 2
_REASON_LINES: Final = 3


def frame_lines(frame: Frame, *, now: int, width: int, height: int | None = None) -> Iterator[Line]:
    """Yield the view of a run; in so many lines, older answers are left out."""
    upper = [*_head_lines(frame, now, width), *_figure_lines(frame, width)]
    if frame.reviews.pending:
        upper += [*heading_lines("Was it good enough?"), *_review_lines(frame, width)]
    if frame.balances:
        upper += [*heading_lines("Budget"), *bar_lines(frame.balances)]
    yield from upper
    yield from heading_lines("Lately")
    room = MOST_ANSWERS if height is None else max(_FEWEST_ANSWERS, height - len(upper) - 3)
    if not frame.answers:
        yield (Span("  nobody has asked whether it should go on", Tone.FAINT),)
    for answered in frame.answers[-room:]:
        yield _answer_line(answered, frame.state.started_at, width)


def _head_lines(frame: Frame, now: int, width: int) -> Iterator[Line]:
    state = frame.state
    yield (Span(cut(state.task or state.id, width), Tone.STRONG),)
    yield from hold_lines(frame.holds, state.id, now, width=width, most=_REASON_LINES)
    for question in frame.questions:
        yield from _question_lines(question, width)
    end = now if state.ended_at is None else state.ended_at
    lasted = units.duration((end - state.started_at) // 1000)
    news = f"last news {units.span(now - state.updated_at)} ago"
    end_or_news = (state.outcome or "finished") if frame.is_over else news
    records = units.counted(state.seq, "record")
    about = f"{code_of(state.id)}, {state.agent}, {lasted}, {records}, {end_or_news}"
    yield from _row("run", about, width, Tone.FAINT)


def _question_lines(question: Approval, width: int) -> Iterator[Line]:
    """Yield what an action waits for; the question of a held run stands with what holds it."""
    summary = cut(question.summary, width - len("  ASKS    "))
    yield (Span("  "), Span("ASKS", Tone.CONFIRM), Span(f"  {summary}"))
    is_review, short = question.subject is Subject.REVIEW, code_of(question.id)
    command = f"review resolve {short} retry|skip|abort" if is_review else f"approve {short}"
    effect = "" if is_review else "  lets it happen once"
    yield (Span(f"    interlock {command}", Tone.CODE), Span(effect, Tone.FAINT))


def _figure_lines(frame: Frame, width: int) -> Iterator[Line]:
    yield from heading_lines("Should it go on?")
    yield from _row("steps", steps_text(frame.state) or "nobody has asked yet", width)
    grows = frame.slope is not None and frame.slope > frame.policy.steps.max_slope
    yield from _row("tokens", _tokens(frame), width, Tone.CAREFUL if grows else Tone.PLAIN)
    yield _rework_line(frame, width)
    yield from _row("coherence", _coherence(frame), width, _BAND_TONES.get(frame.band or ""))
    yield from _row("uncertainty", _uncertainty(frame), width)
    stuck, tone = _stuck(frame)
    yield from _row("stuck", stuck, width, tone)
    for each in frame.evidence:
        sign = cut(f"{each.name} {each.points:.2f}: {each.message}", width - _LABEL - 2)
        yield from _row("", sign, width, Tone.CAREFUL)
    yield from _row("saved", _saved(frame), width)


def _review_lines(frame: Frame, width: int) -> Iterator[Line]:
    for review in frame.reviews.pending:
        name = cut(review.id, _LABEL - 1)
        tone = Tone.ASKING if review.choices else Tone.PLAIN
        yield from _row(name, standing_text(review), width, tone)
        yield from gate_lines(review.gates, width=width, indent="    ")


def _tokens(frame: Frame) -> str:
    per_step, slope = frame.tokens_per_step, frame.slope
    if per_step is None:
        return _NOT_KNOWN
    most = f"slowed down above {frame.policy.steps.max_slope:+.1%}"
    grows = "growth not known yet" if slope is None else f"{slope:+.1%} with each step, {most}"
    return f"{per_step:,.0f} per step; {grows}"


def _rework_line(frame: Frame, width: int) -> Line:
    ratio, most = frame.rework_ratio, frame.policy.steps.max_rework
    share = _NOT_KNOWN if ratio is None else f"{ratio:.2f}"
    text = f"{share}; pauses above {most:.2f}"
    room = max(0, width - _LABEL - len(text) - 4)
    drawn = sparkline(frame.rework[-room:] if room else ())
    tone = Tone.BAD if ratio is not None and ratio > most else Tone.PLAIN
    return (
        Span(f"  {'rework':<{_LABEL}}", Tone.LABEL),
        Span(text, tone),
        Span(f"  {drawn}" if drawn else "", Tone.CODE),
    )


def sparkline(shares: Sequence[float]) -> str:
    """Return shares between 0 and 1 as one character each, as the terminal can draw them."""
    blocks = drawable("▁▂▃▄▅▆▇█", ".:-=+*#@")
    return "".join(
        blocks[min(len(blocks) - 1, round(share * (len(blocks) - 1)))] for share in shares
    )


def _coherence(frame: Frame) -> str:
    coherence, steps = frame.state.control.coherence, frame.policy.steps
    if coherence is None:
        return _NOT_KNOWN
    return (
        f"{coherence:.2f}, {frame.band}; restricted below {steps.restricted_below},"
        f" stops below {steps.min_coherence}"
    )


def _uncertainty(frame: Frame) -> str:
    unsure, beliefs = frame.uncertainty, frame.state.control.beliefs
    if unsure is None:
        return "no beliefs were reported"
    about = units.counted(len(beliefs), "belief")
    return f"{unsure:.2f} over {about}; pauses above {frame.policy.steps.max_uncertainty:.2f}"


def _stuck(frame: Frame) -> tuple[str, Tone]:
    if not frame.evidence:
        return "no sign of it", Tone.PLAIN
    pauses = frame.policy.loops.pause_score
    tone = Tone.BAD if frame.stuck >= pauses else Tone.CAREFUL
    return f"{frame.stuck:.2f} points; pauses from {pauses:.2f} on", tone


def _saved(frame: Frame) -> str:
    control, interval = frame.state.control, frame.policy.steps.checkpoint_interval
    due = max(0, control.checkpoint_step + interval - control.steps)
    coming = "the next is due" if due == 0 else f"the next is due in {units.counted(due, 'step')}"
    if not control.checkpoints:
        return f"never; {'one is due now' if due == 0 else f'one is due in {due} steps'}"
    last = frame.checkpoint
    which = "" if last is None else f" as {code_of(last.id)}"
    return f"at step {control.saved_step}{which}; {coming}"


def _answer_line(answered: Answered, began: int, width: int) -> Line:
    when = units.offset(answered.at - began).rjust(7)
    return (
        Span(f"  {when}  ", Tone.FAINT),
        Span(f"{answered.entry.mark:<10}", Tone[answered.entry.accent.name]),
        Span(cut(answered.text, max(12, width - 21))),
    )


def _row(label: str, text: str, width: int, tone: Tone | None = None) -> Iterator[Line]:
    head = (Span(f"  {label:<{_LABEL}}", Tone.LABEL),)
    return wrapped_lines(head, text, tone or Tone.PLAIN, width=width)
