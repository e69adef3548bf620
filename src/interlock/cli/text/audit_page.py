"""An audit as text: its result, its figures, and the moments with the ids to mark them by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    drawable,
    heading_lines,
    text_width,
    wrapped_lines,
)
from interlock.cli.text.summary_page import next_line
from interlock.cli.text.tables import Column, cut, table_lines
from interlock.model.audit import MomentKind
from interlock.views import units
from interlock.views.audit_view import AuditedMoment, AuditView, Listed

_TONES: Final = {
    "deny": Tone.BAD,
    "stop": Tone.BAD,
    "ask": Tone.ASKING,
    "pause": Tone.ASKING,
    "warn": Tone.CAREFUL,
    "continue": Tone.GOOD,
}
_PLAIN: Final = str.maketrans({"“": '"', "”": '"', "·": ",", "…": "..."})
_TITLES: Final = {
    MomentKind.ACTION: "Calls",
    MomentKind.SECRET: "Secrets that went into commands",
    MomentKind.LOOP: "Loops",
    MomentKind.EARLY_STOP: "Stopped half-way",
    MomentKind.FALSE_DONE: "Ended with failing tests and did not say so",
}
_LONGEST: Final = 3
"""Of a command so many lines are shown: the transcript has all of it."""


def audit_lines(view: AuditView) -> Iterator[Line]:
    """Yield the report of an audit."""
    yield from wrapped_lines((), _drawn(view.heading), Tone.STRONG)
    yield from wrapped_lines((), _drawn(view.summary), Tone.FAINT)
    yield ()
    yield from _figure_lines(view)
    yield from _worst_lines(view)
    yield from _section_lines(MomentKind.SECRET, view.secrets, f"{view.secrets.count:,}", "secret")
    yield from _loop_lines(view)
    yield from _asked_lines(view)
    yield from _section_lines(MomentKind.EARLY_STOP, view.early, view.early_in, "turn")
    yield from _section_lines(MomentKind.FALSE_DONE, view.false_done, view.false_done_in, "turn")
    yield from _measured_lines(view)
    if view.moments:
        yield ()
        kept = f"the {view.moments:,} kept of {view.moments + view.unkept:,} moments"
        every = kept if view.unkept else "every moment"
        yield next_line("interlock audit show", f"lists {every}, with the id to mark it by")


def moments_lines(view: AuditView) -> Iterator[Line]:
    """Yield every moment that was kept, with the id to mark it by."""
    yield from wrapped_lines((), _drawn(view.heading), Tone.STRONG)
    found = {each: listed for each, listed in view.kinds.items() if listed.count}
    for each, listed in found.items():
        shown = f"{len(listed.every):,}"
        of_all = f"{shown} of {listed.count:,}" if listed.unlisted else shown
        yield from heading_lines(_TITLES[each], of_all)
        for moment in listed.every:
            yield from moment_lines(moment)
    yield ()
    if view.unkept:
        left = f"{units.counted(view.unkept, 'more moment')} counted but not kept"
        why = "of each kind and each session the worst are kept, of those alike the latest"
        yield from wrapped_lines((), f"{left}: {why}", Tone.CAREFUL)
    if any(each.every for each in found.values()):
        yield from wrapped_lines((Span("false alarms: ", Tone.LABEL),), view.marks)
        yield next_line(
            "interlock audit mark MOMENT right|wrong|none", "says whether it was worth telling"
        )
    else:
        yield (Span("no such moment is kept", Tone.FAINT),)


def moment_lines(each: AuditedMoment) -> Iterator[Line]:
    """Yield a moment: its id, the answer and what it was about, why, and where it stands."""
    word = Span(f"{each.word}  ", _TONES.get(each.word, Tone.PLAIN))
    head = (Span(f"  {each.short}  ", Tone.CODE), word)
    pieces = list(wrapped_lines(head, each.moment.text, Tone.STRONG, hangs_by="  "))
    yield from pieces[:_LONGEST]
    indent = (Span(" " * (4 + len(each.short))),)
    if len(pieces) > _LONGEST:
        yield (*indent, Span("  ..."))
    for text, tone in _notes(each):
        yield from wrapped_lines(indent, _drawn(text), tone)
    # In one piece, so that it can be copied: the terminal breaks it where it must.
    yield (*indent, Span(each.place, Tone.FAINT))


def _notes(each: AuditedMoment) -> Iterator[tuple[str, Tone]]:
    moment = each.moment
    if moment.kind is MomentKind.EARLY_STOP:
        yield f"{moment.why}, {each.then}", Tone.PLAIN
    else:
        yield each.why, Tone.PLAIN
    if moment.instead:
        yield f"instead: {moment.instead}", Tone.PLAIN
    if moment.kind is MomentKind.LOOP:
        yield _loop_text(each), Tone.PLAIN
    given = each.marked
    marked = "" if given is None else f" · marked {given.mark.value} by {given.by}"
    yield f"{each.about}{marked}", Tone.FAINT


def _loop_text(each: AuditedMoment) -> str:
    moment = each.moment
    burnt = f" with {units.tokens(moment.tokens)} tokens" if moment.tokens else ", tokens unknown"
    rounds = f"{units.counted(moment.rounds, 'round')}, " if moment.rounds else ""
    return f"{rounds}paused at step {moment.step:,}, went on to step {moment.steps:,}{burnt}"


def _figure_lines(view: AuditView) -> Iterator[Line]:
    labels = [_drawn(each.label) for each in view.figures]
    long, wide = max(map(len, labels)), max(len(each.value) for each in view.figures)
    tones = {"block": Tone.BAD, "ask": Tone.ASKING}
    for label, each in zip(labels, view.figures, strict=True):
        yield (
            Span(f"  {label:<{long}}  "),
            Span(f"{each.value:>{wide}}", tones.get(each.tone, Tone.STRONG)),
            Span(f"  {each.note}", Tone.FAINT),
        )


def _worst_lines(view: AuditView) -> Iterator[Line]:
    if not view.worst.count:
        return
    ten = "ten " if len(view.worst.first) == 10 else ""
    yield from heading_lines(f"The {ten}most worrying moments", "what really ran, worst first")
    for each in view.worst.first:
        yield from moment_lines(each)
    yield from _rest_line(view.worst, "call")


def _section_lines(kind: MomentKind, listed: Listed, about: str, noun: str) -> Iterator[Line]:
    if not listed.count:
        return
    yield from heading_lines(_TITLES[kind], about)
    for each in listed.first:
        yield from moment_lines(each)
    yield from _rest_line(listed, noun)


def _rest_line(listed: Listed, noun: str) -> Iterator[Line]:
    others = listed.count - len(listed.first)
    if others:
        yield (Span(f"  and {units.counted(others, f'more {noun}')}", Tone.FAINT),)


_LOOP_COLUMNS: Final = (
    Column("moment"),
    Column("what went round", stretches=True),
    Column("rounds", right=True),
    Column("session", spared=1),
    Column("paused at", right=True),
    Column("went on to", right=True),
    Column("burnt", right=True),
    Column("share", right=True, spared=2),
)


def _loop_lines(view: AuditView) -> Iterator[Line]:
    if not view.loops.count:
        return
    yield from heading_lines("Loops", "tokens after the point where the run would have been paused")
    rows = [_loop_row(each) for each in view.loops.first]
    if rows:
        for line in table_lines(_LOOP_COLUMNS, rows, width=text_width() - 2):
            yield (Span("  "), *line)
    if view.other_loops:
        yield (Span(f"  {view.other_loops}", Tone.FAINT),)


def _loop_row(each: AuditedMoment) -> Sequence[Span]:
    moment = each.moment
    return (
        Span(each.short, Tone.CODE),
        Span(moment.text),
        Span(f"{moment.rounds:,}" if moment.rounds else "?"),
        Span(_drawn(f"{each.project} {each.session}"), Tone.FAINT),
        Span(f"{moment.step:,}"),
        Span(f"{moment.steps:,}" if moment.steps else "?"),
        Span(units.tokens(moment.tokens) if moment.tokens else "unknown"),
        Span(f"{100 * moment.share:.0f} %" if moment.tokens else ""),
    )


def _asked_lines(view: AuditView) -> Iterator[Line]:
    if not view.asked:
        return
    yield from heading_lines("How often you would be asked")
    daily = f", {view.asked_daily}" if view.asked_daily else ""
    rate = f"{view.asked}{daily}. {view.asked_by}"
    yield from wrapped_lines((Span("  "),), rate)
    for each in view.rules:
        yield (Span(f"  {each.calls:>7,}  "), Span(cut(each.rule, text_width() - 11), Tone.CODE))
    if view.other_rules:
        yield (Span(f"  {view.other_rules}", Tone.FAINT),)


def _measured_lines(view: AuditView) -> Iterator[Line]:
    yield from heading_lines("How this was measured")
    rows = [*view.facts, ("false alarms", view.marks)]
    long = max(len(label) for label, _ in rows)
    before = ""
    for label, text in rows:
        head = (Span(f"  {'' if label == before else label:<{long}}  ", Tone.LABEL),)
        yield from wrapped_lines(head, _drawn(text))
        before = label
    for text in view.unread:
        yield from wrapped_lines(
            (Span(f"  {'not read':<{long}}  ", Tone.LABEL),), text, Tone.CAREFUL
        )
    others = view.unread_count - len(view.unread)
    if others:
        yield (Span(f"  {'':<{long}}  and {others:,} more", Tone.FAINT),)


def _drawn(text: str) -> str:
    return drawable(text, text.translate(_PLAIN))
