"""The page of a simulation: two policies side by side, what changes, and why."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from interlock.cli.text.render import Line, Span, Tone, heading_lines, text_width
from interlock.cli.text.tables import Column, Row, table_lines
from interlock.model.policy_comparison import (
    AnswerKind,
    ChangedAnswer,
    SimulatedSide,
    Simulation,
    Went,
)
from interlock.model.short_code import code_of
from interlock.model.verdict import Decision
from interlock.views import units

_MOST_RULES: Final = 10
_LONGEST_NAME: Final = 24
_NOUNS: Final = {
    AnswerKind.ACTION: "call",
    AnswerKind.STEP: "step",
    AnswerKind.STOP: "end of a turn",
}
_PLURALS: Final = {AnswerKind.STOP: "ends of turns"}
_HELD: Final = {
    Went.WELL: "of runs that went well: work held up",
    Went.BADLY: "of runs that did not: spared",
    Went.UNKNOWN: "of runs that nobody judged",
}
_CHANGES: Final = (
    Column("asked"),
    Column("before"),
    Column("after"),
    Column("times", right=True),
    Column(""),
)
_RULES: Final = (
    Column("rule, check or signal", stretches=True),
    Column("stricter", right=True),
    Column("looser", right=True),
)
_SHORT: Final = {each.value: each.short for each in Decision}


def simulation_lines(simulation: Simulation) -> Iterator[Line]:
    """Yield the whole page."""
    before, after = simulation.before, simulation.after
    yield (Span(f"{before.policy} → {after.policy}", Tone.STRONG),)
    yield from _headline(simulation)
    if not simulation.answers:
        yield from _unread_lines(simulation)
        return
    yield ()
    yield from table_lines(
        (
            Column("", stretches=True),
            Column(_name(before.policy), right=True),
            Column(_name(after.policy), right=True),
        ),
        [*_figures(simulation)],
        width=text_width(),
    )
    yield from _change_lines(simulation)
    yield from _unread_lines(simulation)


def _headline(simulation: Simulation) -> Iterator[Line]:
    if not simulation.answers:
        yield (Span("there is nothing to decide again"),)
        return
    asked = ", ".join(
        _counted(count, kind) for kind in AnswerKind if (count := simulation.of_kind(kind))
    )
    runs = units.counted(simulation.runs, "run")
    yield (Span(f"decided again: {asked}, in {runs}", Tone.FAINT),)
    if not simulation.changed:
        yield (Span("no answer changes", Tone.GOOD),)
        return
    changed = units.counted(simulation.changed, "answer")
    verb = "changes" if simulation.changed == 1 else "change"
    yield (
        Span(f"{changed} {verb}", Tone.STRONG),
        Span(f": {simulation.stricter:,} stricter, {simulation.looser:,} looser"),
    )
    if simulation.interrupted:
        runs = units.counted(simulation.interrupted, "run")
        yield (Span(f"{runs} that went well would be interrupted", Tone.BAD),)
    if simulation.released:
        runs = units.counted(simulation.released, "run")
        yield (Span(f"{runs} that went well would be interrupted no more", Tone.GOOD),)


def _counted(count: int, kind: AnswerKind) -> str:
    many = _PLURALS.get(kind)
    return f"{count:,} {many}" if many and count != 1 else units.counted(count, _NOUNS[kind])


def _figures(simulation: Simulation) -> Iterator[Row]:
    """Yield what both policies come to, a figure a row."""
    sides = simulation.before, simulation.after
    if calls := simulation.of_kind(AnswerKind.ACTION):
        name = f"confirmations asked, of {units.counted(calls, 'call')}"
        yield _row(name, [f"{each.confirmations:,}" for each in sides])
        if calls >= units.LEAST_CALLS:
            rates = [f"{each.confirmations_per_thousand:,}" for each in sides]
            yield _row("  per 1,000 calls", rates)
        yield _row("calls denied", [f"{each.denials:,}" for each in sides])
    of = f"runs paused or stopped, of {simulation.runs:,}"
    yield _row(of, [f"{each.runs_held():,}" for each in sides])
    total = {Went.WELL: simulation.well, Went.BADLY: simulation.badly}
    total[Went.UNKNOWN] = simulation.unknown
    for went, word in (
        (Went.WELL, "that went well"),
        (Went.BADLY, "that did not"),
        (Went.UNKNOWN, "that nobody judged"),
    ):
        if total[went]:
            name = f"  {word}, of {total[went]:,}"
            yield _row(name, [f"{each.runs_held(went):,}" for each in sides])
    yield from _spending(sides)


def _spending(sides: tuple[SimulatedSide, SimulatedSide]) -> Iterator[Row]:
    """Yield what was used after the first pause or stop."""
    used = [sum(held.tokens for held in each.held) for each in sides]
    if not any(used):
        return
    yield _row("tokens after the first pause or stop", [f"{each:,}" for each in used])
    for place, went in enumerate(Went):
        pair = [each.held[place] for each in sides]
        if any(each.tokens for each in pair):
            yield _row(f"  {_HELD[went]}", [f"{each.tokens:,}" for each in pair])
    money = [sum(held.micro_usd for held in each.held) for each in sides]
    unpriced = [sum(held.unpriced_tokens for held in each.held) for each in sides]
    if any(money):
        yield _row("  what they cost", [units.dollars(each) for each in money])
    if any(unpriced):
        yield _row("  tokens without a known price", [f"{each:,}" for each in unpriced])


def _row(name: str, figures: list[str]) -> Row:
    before, after = figures
    is_same = before == after
    tone = Tone.PLAIN if is_same else Tone.STRONG
    return (Span(name), Span(before), Span(after, tone))


def _change_lines(simulation: Simulation) -> Iterator[Line]:
    if not simulation.changed:
        return
    yield from heading_lines("What changes")
    rows = [
        (
            Span(_NOUNS[each.kind]),
            Span(_said(each.before)),
            Span(_said(each.after), Tone.STRONG),
            Span(f"{each.count:,}"),
            Span("stricter", Tone.CAREFUL) if each.stricter else Span("looser", Tone.BAD),
        )
        for each in simulation.changes
    ]
    yield from table_lines(_CHANGES, rows, width=text_width())
    if simulation.rules:
        yield from _rule_lines(simulation)
    yield from heading_lines("The first of them")
    for each in simulation.examples:
        yield from _example_lines(each)


def _rule_lines(simulation: Simulation) -> Iterator[Line]:
    more = len(simulation.rules) - _MOST_RULES
    note = f"the first {_MOST_RULES} of {len(simulation.rules)}" if more > 0 else ""
    yield from heading_lines("What that hangs on", note)
    rows = [
        (Span(each.rule, Tone.CODE), Span(f"{each.stricter:,}"), Span(f"{each.looser:,}"))
        for each in simulation.rules[:_MOST_RULES]
    ]
    yield from table_lines(_RULES, rows, width=text_width())


def _example_lines(example: ChangedAnswer) -> Iterator[Line]:
    rules = f"  {', '.join(example.rules)}" if example.rules else ""
    yield (
        Span(f"  {_said(example.before)} → {_said(example.after)}", Tone.STRONG),
        Span(f"  {example.text}"),
        Span(rules, Tone.FAINT),
    )
    if example.path is None:
        where = f"interlock explain {code_of(example.run)} --record {example.seq}"
    else:
        where = f"{example.path}:{example.line} (run {example.run})"
    yield (Span(f"    {where}", Tone.CODE),)


def _unread_lines(simulation: Simulation) -> Iterator[Line]:
    if not simulation.unread_count:
        return
    yield from heading_lines("What could not be read")
    for each in simulation.unread:
        yield (Span(f"  {each.place}: {each.reason}", Tone.CAREFUL),)
    if (more := simulation.unread_count - len(simulation.unread)) > 0:
        yield (Span(f"  and {more:,} more", Tone.CAREFUL),)


def _said(answer: str) -> str:
    return _SHORT.get(answer, answer)


def _name(policy: str) -> str:
    """Return what a policy is called at the head of a column: of a long path, its end."""
    return policy if len(policy) <= _LONGEST_NAME else f"…{policy[1 - _LONGEST_NAME :]}"
