"""`interlock runs`: what is at work, what was, and what it used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import click

from interlock.cli.call.ledger_access import current_time, reading_ledger
from interlock.cli.call.options import json_option, ledger_option, show
from interlock.cli.text.render import Line, Span, Tone, terminal_width
from interlock.cli.text.tables import Column, table_lines
from interlock.ledger.ledger import Ledger
from interlock.model.facts import HoldKind
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.views import units
from interlock.views.lookup import short_ids
from interlock.views.run_figures import WORDS, run_figures

_DEEPEST: Final = 4


@click.command("runs")
@click.option("--status", type=click.Choice(["running", "finished"]), help="Only runs like this.")
@click.option("--agent", metavar="NAME", help="Only runs of this agent.")
@click.option("--project", metavar="NAME", help="Only runs of this project.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="So many at most."
)
@json_option
@ledger_option
def runs_command(*, status: str | None, agent: str | None, project: str | None, limit: int) -> None:
    """List the runs that were active last, with what they did and used."""
    with reading_ledger() as ledger:
        states = _found(ledger, status=status, agent=agent, project=project, limit=limit)
    lines = _run_lines(states) if states else [(Span("no runs"),)]
    show([run_figures(state) for state in states], lines)


def _found(
    ledger: Ledger, *, status: str | None, agent: str | None, project: str | None, limit: int
) -> list[RunState]:
    # One more than asked for, since the ledger's own chain is no run.
    rows = ledger.rows.runs(limit=limit + 1, status=status, agent=agent, project=project)
    states = [ledger.state(row.id) for row in rows if row.id != LEDGER_RUN]
    return [state for state in states if state is not None][:limit]


def _run_lines(states: Sequence[RunState]) -> Iterator[Line]:
    columns = [
        Column("run"),
        Column("status"),
        Column("agent", spared=3),
        Column("task", stretches=True),
        Column("active", right=True),
        Column("records", right=True, spared=1),
        Column("allow", right=True),
        Column("warn", right=True, spared=2),
        Column("ask", right=True),
        Column("block", right=True),
        Column("tokens", right=True, spared=4),
        Column("cost", right=True),
        Column("broken", right=True, spared=5),
    ]
    short = short_ids([state.id for state in states])
    now = current_time()
    rows = [_row(state, depth, short[state.id], now) for state, depth in _nested(states)]
    return table_lines(columns, rows, width=terminal_width())


def _nested(states: Sequence[RunState]) -> Iterator[tuple[RunState, int]]:
    """Yield every run with its depth, each below the one that it belongs to, if that is shown."""
    shown = {state.id for state in states}
    below: dict[str | None, list[RunState]] = {}
    for state in states:
        above = next((each for each in state.ancestors if each in shown), None)
        below.setdefault(above, []).append(state)
    waiting = [(state, 0) for state in reversed(below.get(None, []))]
    while waiting:
        state, depth = waiting.pop()
        yield state, depth
        children = sorted(below.get(state.id, []), key=lambda child: -child.started_at)
        waiting.extend((child, depth + 1) for child in children)


def _row(state: RunState, depth: int, short: str, now: int) -> list[Span]:
    spent = state.spent
    unpriced = "+?" if state.unpriced_tokens else ""
    return [
        Span("  " * min(depth, _DEEPEST) + short, Tone.CODE),
        _status(state),
        Span(state.agent),
        Span(state.task),
        Span(units.span(now - state.updated_at), Tone.FAINT),
        Span(str(state.seq), Tone.FAINT),
        _answers(state, "allow", Tone.GOOD),
        _answers(state, "warn", Tone.CAREFUL),
        _answers(state, "require-confirmation", Tone.ASKING),
        _answers(state, "block", Tone.BAD),
        Span(units.short_count(spent.tokens)),
        Span(f"{units.dollars(spent.cost_micros)}{unpriced}"),
        _figure(state.violations, Tone.BAD),
    ]


def _status(state: RunState) -> Span:
    hold = state.control.hold
    if state.status is RunStatus.RUNNING and hold is not None:
        return Span(WORDS[hold.kind], Tone.ASKING if hold.kind is HoldKind.PAUSE else Tone.BAD)
    if state.status is RunStatus.RUNNING:
        waits = state.pending_approvals > 0
        return Span("waiting" if waits else "running", Tone.ASKING if waits else Tone.STRONG)
    if state.report is not None and not state.report.passed:
        return Span(state.outcome or "finished", Tone.BAD)
    return Span(state.outcome or "finished", Tone.GOOD)


def _answers(state: RunState, decision: str, tone: Tone) -> Span:
    return _figure(state.decisions.get(decision, 0), tone)


def _figure(number: int, tone: Tone) -> Span:
    """Return a number; nothing is told quietly."""
    return Span(str(number), tone) if number else Span("-", Tone.FAINT)
