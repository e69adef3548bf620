"""The page of one run: what it was for, what holds it, its figures, its timeline, its report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    badge_line,
    escape,
    heading_lines,
    labelled_lines,
    labelled_rows,
    terminal_width,
    wrapped_lines,
)
from interlock.cli.text.review_page import reviews_lines
from interlock.cli.text.statistics_text import matches_text, ranking, statistics_rows
from interlock.cli.text.summary_page import next_line
from interlock.cli.text.tables import bar_lines, cut
from interlock.model.approval import ApprovalState, Subject
from interlock.model.budget import BudgetBalance, Dimension
from interlock.model.facts import HoldKind
from interlock.model.run import LEDGER_RUN, RunState
from interlock.model.short_code import code_of, codes_of
from interlock.model.step import StepDecision
from interlock.views import units
from interlock.views.run_digest import WORDS, Digest
from interlock.views.run_view import ABANDONED, WAITING, ChildRun, Held, RunView, would_have_text
from interlock.views.timeline import ANSWERS
from interlock.views.timeline_entry import Entry

_HOLD_TONES: Final = {
    HoldKind.PAUSE: Tone.CONFIRM,
    HoldKind.STOP: Tone.BLOCK,
    HoldKind.PERSON_STOP: Tone.BLOCK,
}
_EFFECTS: Final = ("lets it go on", "stops it")
_INDENT: Final = "    "
_MARK_WIDTH: Final = 10


def run_lines(
    view: RunView,
    entries: Iterable[tuple[int, Entry]],
    *,
    earlier: int = 0,
    width: int | None = None,
) -> Iterator[Line]:
    """Yield the whole page of one run; of its timeline, so many records are left out."""
    if view.state.id != LEDGER_RUN:
        yield from _head_lines(view)
        yield from _figure_lines(view.state)
        if view.balances:
            yield from heading_lines("Budget")
            yield from bar_lines(view.balances)
        yield from _review_lines(view)
    else:
        yield (Span("What happened to the ledger itself", Tone.STRONG),)
    yield from heading_lines("Timeline")
    if earlier:
        left_out = f"  {units.counted(earlier, 'earlier record')}: `--all` shows them"
        yield (Span(left_out, Tone.FAINT),)
    yield from _timeline_lines(view, entries, width or terminal_width())
    yield from _report_lines(view.state, width)
    yield from _child_lines(view.children)


def brief_lines(view: RunView, digest: Digest) -> Iterator[Line]:
    """Yield the page of one run in short: how it stands, and what concerned a person."""
    yield from _head_lines(view)
    yield from _review_lines(view)
    if digest.entries:
        yield from heading_lines("Questions and refusals")
        if digest.left_out:
            left_out = f"  {units.counted(digest.left_out, 'earlier one')}: `--all` shows them"
            yield (Span(left_out, Tone.FAINT),)
        yield from _timeline_lines(view, digest.entries, terminal_width())
    yield from _child_lines(view.children)
    yield ()
    count = units.counted(view.state.seq, "record")
    yield next_line(f"interlock show {code_of(view.state.id)} --all", f"shows every one of {count}")


def _timeline_lines(
    view: RunView, entries: Iterable[tuple[int, Entry]], room: int
) -> Iterator[Line]:
    column = 2 + len(units.offset(view.state.updated_at - view.began))
    indent = " " * (column + 2 + _MARK_WIDTH)
    for at, entry in entries:
        when = units.offset(at - view.began).rjust(column)
        yield entry_line(entry, when=when, width=room, facts=entry.facts)
        for reason in entry.reasons:
            yield (Span(indent), Span(cut(reason, room - len(indent)), Tone.FAINT))


def _review_lines(view: RunView) -> Iterator[Line]:
    if not view.reviews.is_empty:
        yield from heading_lines("Was it good enough?")
        yield from reviews_lines(view.reviews)


def _child_lines(children: Sequence[ChildRun]) -> Iterator[Line]:
    if not children:
        return
    yield from heading_lines("Runs below it")
    short = codes_of([child.id for child in children])
    for child in children:
        task = cut(child.task, terminal_width() - 30)
        yield (Span(f"  {short[child.id]}", Tone.CODE), Span(f"  {child.outcome:<10}  {task}"))


def _head_lines(view: RunView) -> Iterator[Line]:
    """Yield what a run is for, how it stands and why, what it was answered and used, what waits."""
    state, now = view.state, view.at
    end = now if state.ended_at is None else state.ended_at
    lasted = units.duration((end - state.started_at) // 1000)
    waits = [each for each in view.approvals if each.is_open_at(now)]
    yield (Span(state.task or state.id, Tone.STRONG),)
    yield from hold_lines(view.holds, state.id, now)
    yield from labelled_rows(
        ("run", f"{code_of(state.id)} ({state.id})", Tone.CODE),
        ("agent", f"{state.agent} ({state.client})" if state.agent else ""),
        ("project", state.project),
        ("below", " < ".join(state.ancestors), Tone.CODE),
        ("started", f"{units.moment(state.started_at)}, lasted {lasted}"),
        ("state", _standing(view, len(waits)), Tone.STRONG),
        ("because", view.ended_because),
        ("answers", _answers(view)),
        ("observed", would_have_text(state.would_have)),
        ("by rule", matches_text(state.observed_rules, state.would_have)),
        ("used", f"{units.counted(state.spent.tokens, 'token')}, {_cost(state)}"),
        ("budget", _nearest(view.balances)),
    )
    for place, each in enumerate(waits):
        asked = f"{each.code}  {each.summary}"
        yield from labelled_lines("" if place else "waits", asked, Tone.ASKING)


def _standing(view: RunView, waiting: int) -> str:
    """Return how a run stands, in one word and what it waits for."""
    if view.word == WAITING:
        return f"{WAITING} for a person: {units.counted(waiting, 'question')}"
    return f"{ABANDONED}, its process has ended" if view.word == ABANDONED else view.word


def _nearest(balances: Sequence[BudgetBalance]) -> str:
    """Return the limit of which the largest share is used."""
    shares = [
        (100 * (balance.used.of(each) + balance.reserved.of(each)) // limit, each, balance, limit)
        for balance in balances
        for each in Dimension
        if (limit := balance.limits.of(each))
    ]
    percent, dimension, balance, limit = max(
        shares, key=lambda share: share[0], default=(0, Dimension.TOKENS, None, 0)
    )
    if balance is None or not percent:
        return ""
    used = units.amount(dimension, balance.used.of(dimension))
    of = f"{used} of {units.amount(dimension, limit)} {dimension.label}"
    return f"{of} ({percent} %), the nearest limit"


def _figure_lines(state: RunState) -> Iterator[Line]:
    """Yield what a run did and used, one by one."""
    by_count = sorted(state.tools.items(), key=lambda item: (-item[1], item[0]))
    tokens = f"{state.input_tokens:,} in, {state.output_tokens:,} out"
    yield from heading_lines("Figures")
    yield from labelled_rows(
        ("policy", state.policy_hash[:16], Tone.FAINT),
        ("steps", steps_text(state)),
        *statistics_rows(state.step_statistics),
        ("saved", _saved(state)),
        ("lines", _lines(state)),
        ("tools", ", ".join(f"{name} {count:,}" for name, count in by_count)),
        ("tokens", tokens if state.spent.tokens else ""),
        ("tests", _tests(state)),
        ("packages", ", ".join(sorted(state.dependencies))),
        ("broken", _broken(state)),
        ("rules", ranking(state.violated_rules)),
        ("places", ranking(state.violated_places)),
    )


def _report_lines(state: RunState, width: int | None) -> Iterator[Line]:
    """Yield what the evaluators say, if the run has ended."""
    if state.report is None:
        return
    yield from heading_lines("Report")
    longest = max((len(each.evaluator) for each in state.report.evaluations), default=0)
    for each in state.report.evaluations:
        mark = Span("pass", Tone.GOOD) if each.passed else Span("fail", Tone.BAD)
        score = f"  {each.evaluator:<{longest}}  {each.score / 10:>5.1f} %"
        yield (Span("  "), mark, Span(score))
        for evidence in each.evidence:
            yield from labelled_lines("", evidence, Tone.FAINT, width=width, indent="")


def steps_text(state: RunState) -> str:
    """Return how many steps were taken, and how often each answer was given before one."""
    control = state.control
    if not control.decisions:
        return ""
    answers = [
        f"{control.decisions[each.value]} {each.value}"
        for each in StepDecision
        if each.value in control.decisions
    ]
    return f"{control.steps:,} taken; {', '.join(answers)}"


def _saved(state: RunState) -> str:
    control = state.control
    if not control.checkpoints:
        return ""
    count = units.counted(control.checkpoints, "checkpoint")
    return f"{count}, the last at step {control.saved_step}"


def _answers(view: RunView) -> str:
    """Return how often each answer was given; what a person approved is told apart."""
    approved = sum(
        each.subject is Subject.ACTION
        and each.state is ApprovalState.GRANTED
        and not each.uses_left
        for each in view.approvals
    )
    counts = {word: view.state.decisions.get(each.value, 0) for each, (word, _) in ANSWERS.items()}
    # On record it is a warning; there may be fewer where somebody restored a ledger.
    counts["warn"] = max(0, counts["warn"] - approved)
    counts["approved"] = approved
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no calls yet"


def _lines(state: RunState) -> str:
    files = units.counted(len(state.files), "file")
    rework = f", {state.rework_lines:,} reworked" if state.rework_lines else ""
    return f"+{state.lines_added:,} -{state.lines_removed:,} in {files}{rework}"


def _cost(state: RunState) -> str:
    cost = units.dollars(state.spent.cost_micros)
    if not state.unpriced_tokens:
        return cost
    return f"{cost}, and {units.counted(state.unpriced_tokens, 'token')} of unknown price"


def _tests(state: RunState) -> str:
    if state.tests is None:
        return ""
    skipped = f", {state.tests.skipped:,} skipped" if state.tests.skipped else ""
    return f"{state.tests.passed:,} passed, {state.tests.failed:,} failed{skipped}"


def _broken(state: RunState) -> str:
    if not state.violations and not state.forbidden:
        return ""
    corrected = f", {state.corrected} corrected" if state.corrected else ""
    forbidden = f", {state.forbidden} ran although forbidden" if state.forbidden else ""
    # Of very many rules only the most frequent are counted each.
    rules = len(state.violated_rules)
    which = f" of {units.counted(rules, 'rule')}" if sum(state.violated_rules.values()) else ""
    return f"{units.counted(state.violations, 'violation')}{which}{corrected}{forbidden}"


def entry_line(entry: Entry, *, when: str, width: int, facts: str) -> Line:
    """Return what happened as one line."""
    facts = escape(facts)
    room = width - len(when) - 2 - _MARK_WIDTH - (len(facts) + 2 if facts else 0)
    text = cut(entry.text, max(12, room))
    line = (
        Span(f"{when}  ", Tone.FAINT),
        Span(f"{entry.mark:<{_MARK_WIDTH - 1}} ", Tone[entry.accent.name]),
        Span(text),
    )
    return (*line, Span(f"  {facts}", Tone.FAINT)) if facts else line


def all_halted_lines(reason: str | None) -> Iterator[Line]:
    """Yield that no run of the ledger goes on or begins, where a person said so."""
    if reason is not None:
        yield badge_line("HALTED", Tone.BLOCK, f"every run, and new ones: {reason}")


def hold_lines(
    holds: Sequence[Held],
    run_id: str,
    now: int,
    *,
    width: int | None = None,
    most: int | None = None,
) -> Iterator[Line]:
    """Yield each hold: since when, why in at most so many lines, and what answers it."""
    for held in holds:
        whose = "" if held.run == run_id else f", by run {code_of(held.run)} above"
        where = ", with all runs" if held.run == LEDGER_RUN else f" at step {held.step}{whose}"
        since = f"{units.span(now - held.since)} ago{where}"
        yield (
            Span("  "),
            Span(WORDS[held.kind].upper(), _HOLD_TONES[held.kind]),
            Span(f"  {since}"),
        )
        why = wrapped_lines((Span(_INDENT),), held.reason, Tone.STRONG, width=width)
        yield from islice(why, most)
        for command in held.raises:
            yield (
                Span(_INDENT),
                Span(command, Tone.CODE),
                Span("  raises the limit; then", Tone.FAINT),
            )
        for command, effect in zip(held.commands, _EFFECTS, strict=False):
            yield (Span(_INDENT), Span(command, Tone.CODE), Span(f"  {effect}", Tone.FAINT))
