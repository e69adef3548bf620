"""`interlock runs`, `show` one of them, and `explain` why it was let go on, paused or stopped."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Final

import click
import msgspec

from interlock import settings
from interlock.cli.call.chosen_question import run_or_latest
from interlock.cli.call.ledger_access import current_time, reading_ledger
from interlock.cli.call.options import ledger_call, show, wants_json
from interlock.cli.text.explanation_page import call_lines, explained_lines
from interlock.cli.text.machine_text import machine_text
from interlock.cli.text.render import Line, Span, Tone, print_lines, terminal_width, text_width
from interlock.cli.text.run_page import all_halted_lines, brief_lines, run_lines
from interlock.cli.text.tables import Column, table_lines
from interlock.errors import InputError, LedgerError, UnknownError
from interlock.ledger.abbreviations import found_run
from interlock.ledger.chain import records_of
from interlock.model.facts import HoldKind
from interlock.model.hook import is_canary
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.model.short_code import codes_of
from interlock.ports import Rows
from interlock.service.audits import AuditFolder
from interlock.views import units
from interlock.views.call_explanation import explained_call
from interlock.views.lookup import found_state
from interlock.views.moment import answer_meant, judged_of, moment_at
from interlock.views.run_digest import WORDS, digest_of, last_refusal
from interlock.views.run_view import (
    RUNNING,
    WAITING,
    RunView,
    all_halted,
    run_figures,
    run_value,
    run_view,
    run_word,
    would_have_text,
)
from interlock.views.step_explanation import explained
from interlock.views.timeline import ANSWERS, Timeline
from interlock.views.units import json_text

_DEEPEST: Final = 4
_UNPRICED: Final = "+?"
_TEST: Final = "hook test"
_LATEST_RECORDS: Final = 40
_OPEN_TONES: Final = {
    RUNNING: Tone.STRONG,
    WAITING: Tone.ASKING,
    WORDS[HoldKind.PAUSE]: Tone.ASKING,
}


@ledger_call("runs")
@click.option("--status", type=click.Choice(["running", "finished"]), help="Only runs like this.")
@click.option("--agent", metavar="NAME", help="Only runs of this agent.")
@click.option("--project", metavar="NAME", help="Only runs of this project.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="So many at most."
)
def runs_command(*, status: str | None, agent: str | None, project: str | None, limit: int) -> None:
    """List the latest runs, with what they did and used.

    Examples:
      interlock runs
      interlock runs --status running --json
    """
    with reading_ledger() as ledger:
        # One more than asked for, since the ledger's own chain is no run.
        rows = ledger.rows.runs(limit=limit + 1, status=status, agent=agent, project=project)
        found = [ledger.state(row.id) for row in rows if row.id != LEDGER_RUN]
        halted, now = all_halted(ledger), current_time()
        states = [state for state in found if state is not None][:limit]
        words = {state.id: run_word(ledger, state, now) for state in states}
    shown = _run_lines(states, words, now) if states else [(Span("no runs"),)]
    lines = chain(all_halted_lines(halted), shown)
    show([run_figures(state) for state in states], lines)


def _run_lines(states: Sequence[RunState], words: Mapping[str, str], now: int) -> Iterator[Line]:
    columns = [
        Column("run"),
        Column("status"),
        Column("agent", spared=2),
        Column("task", stretches=True),
        Column("active", right=True),
        Column("records", right=True, spared=1),
        Column("allow", right=True),
        Column("warn", right=True, spared=5),
        Column("ask", right=True),
        Column("deny", right=True),
        Column("tokens", right=True, spared=3),
        Column("cost", right=True),
        Column("violations", right=True, spared=4),
    ]
    short = codes_of([state.id for state in states])
    rows = [
        _row(state, depth, short[state.id], words[state.id], now)
        for state, depth in _nested(states)
    ]
    if any(state.would_have for state in states):
        columns.append(Column("observed"))
        for (state, _), row in zip(_nested(states), rows, strict=True):
            row.append(Span(would_have_text(state.would_have), Tone.ASKING))
    yield from table_lines(columns, rows, width=terminal_width())
    yield from _legend_lines(states)


def _legend_lines(states: Sequence[RunState]) -> Iterator[Line]:
    """Yield what the marks mean that are shown, and nothing about those that are not."""
    told = [
        ("violations", "rules that the agent broke, as the run reported", _has_violations),
        (_UNPRICED, "some tokens have no known price: `interlock budget --help`", _has_unpriced),
        (_TEST, "a test by `interlock doctor`, no session of yours", _is_test),
    ]
    found = [(mark, text) for mark, text, is_shown in told if any(map(is_shown, states))]
    if found:
        yield ()
    for mark, text in found:
        yield (Span(mark, Tone.LABEL), Span(f"  {text}", Tone.FAINT))


def _has_violations(state: RunState) -> bool:
    return state.violations > 0


def _has_unpriced(state: RunState) -> bool:
    return state.unpriced_tokens > 0


def _is_test(state: RunState) -> bool:
    return is_canary(state.task)


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


def _row(state: RunState, depth: int, short: str, word: str, now: int) -> list[Span]:
    spent = state.spent
    unpriced = _UNPRICED if state.unpriced_tokens else ""
    return [
        Span("  " * min(depth, _DEEPEST) + short, Tone.CODE),
        Span(word, _tone(state, word)),
        Span(state.agent),
        Span(_TEST if _is_test(state) else state.task),
        Span(f"{units.span(now - state.updated_at)} ago", Tone.FAINT),
        Span(str(state.seq), Tone.FAINT),
        *[
            _figure(state.decisions.get(each.value, 0), Tone[accent.name])
            for each, (_, accent) in ANSWERS.items()
        ],
        Span(units.short_count(spent.tokens)),
        Span(f"{units.dollars(spent.cost_micros)}{unpriced}"),
        _figure(state.violations, Tone.BAD),
    ]


def _tone(state: RunState, word: str) -> Tone:
    """Return the tone of the word for how a run stands."""
    if state.status is RunStatus.RUNNING:
        return _OPEN_TONES.get(word, Tone.BAD)
    failed = state.report is not None and not state.report.passed
    return Tone.BAD if failed else Tone.GOOD


def _figure(number: int, tone: Tone) -> Span:
    return Span(str(number), tone) if number else Span("-", Tone.FAINT)


@ledger_call("show")
@click.argument("run", metavar="[RUN]", required=False)
@click.option(
    "--limit",
    type=click.IntRange(0),
    help="The whole page, with so many of the latest records.",
)
@click.option("--all", "everything", is_flag=True, help="The whole page, with every record.")
def show_command(*, run: str | None, limit: int | None, everything: bool) -> None:
    """Show one run: how it stands, why, and what was refused.

    RUN is its code, as `interlock runs` shows it; without one it is the latest run that waits for
    a person or is at work, else the latest. `--all` shows every record, all figures and budgets.

    Examples:
      interlock show R4X9TM
      interlock show R4X9TM --all --json
    """
    with reading_ledger() as ledger:
        state = found_state(ledger, run_or_latest(ledger, run))
        shown = _LATEST_RECORDS if limit is None else limit
        earlier = 0 if everything else max(0, state.seq - shown)
        view = run_view(ledger, state, current_time())
        if wants_json():
            _print_json(ledger.rows, view, earlier)
        elif limit is None and not everything and state.id != LEDGER_RUN:
            print_lines(brief_lines(view, digest_of(ledger.rows, state)))
        else:
            entries = Timeline(ledger.rows).of_run(state.id, after=earlier, last=state.seq)
            print_lines(run_lines(view, entries, earlier=earlier))


def _print_json(rows: Rows, view: RunView, earlier: int) -> None:
    """Print one JSON object, its records one by one: a long run must not fill the memory."""
    about = run_value(view) | {"earlier_records": earlier}
    click.echo(f'{machine_text(about)[:-1]},"records":[', nl=False)
    for number, row in enumerate(
        records_of(rows, view.state.id, after=earlier, last=view.state.seq)
    ):
        record = {"hash": row.hash, "record": msgspec.Raw(row.body)}
        click.echo(f"{',' if number else ''}{json_text(record)}", nl=False)
    click.echo("]}")


@ledger_call("explain")
@click.argument("run", metavar="[RUN]", required=False)
@click.option(
    "--step", type=click.IntRange(0), metavar="N", help="The answer at step N, as `show` counts."
)
@click.option("--stop", is_flag=True, help="The last time that the agent ended its turn.")
@click.option("--record", type=click.IntRange(1), metavar="SEQ", help="The answer of this record.")
def explain_command(*, run: str | None, step: int | None, stop: bool, record: int | None) -> None:
    """Explain why a call was refused, or a run paused or stopped.

    RUN is its code, as `interlock runs` shows it. Without one, the last answer of any run is
    explained that asked a person or denied. Of a RUN it is the last answer before a step, or where
    nobody asked for steps its last call that was asked about or denied; of a run that is held, the
    answer that began it. You see what was known and where it comes from, every check and sign with
    its limit, what decided, and what would have changed the answer. `--stop` explains the last
    time that the agent wanted to be done, `--record` one answer, of a call too.

    Examples:
      interlock explain
      interlock explain R4X9TM
      interlock explain R4X9TM --step 3 --json
    """
    if (step is not None) + stop + (record is not None) > 1:
        raise InputError("`--step`, `--stop` and `--record` name different answers: give one")
    is_plain = step is None and record is None and not stop
    if run is None and not is_plain:
        raise InputError("`--step`, `--stop` and `--record` are of one run: name it before them")
    with _or_moment(run), reading_ledger() as ledger:
        rows = ledger.rows
        run_id, seq = _last_refusal(rows) if run is None else (found_run(rows, run).id, record)
        if run is not None and is_plain and not judged_of(rows, run_id):
            run_id, seq = last_refusal(rows, run_id) or (run_id, None)
        call = None if seq is None else explained_call(ledger, run_id, seq)
        if call is not None:
            show(call, call_lines(call, now=current_time(), width=text_width()))
            return
        # What is no answer about a call is one about going on, or none at all.
        found = answer_meant(rows, run_id, step=step, record=seq, stop=stop)
        moment = moment_at(rows, run_id, found)
    whole = explained(moment)
    show(whole, explained_lines(whole, now=current_time()))


@contextmanager
def _or_moment(code: str | None) -> Generator[None]:
    """Say of the code of an audit's moment where that is told: there need not be a ledger."""
    try:
        yield
    except (LedgerError, UnknownError) as error:
        try:
            moment = AuditFolder(settings.current_audit_folder()).moment(code or "")
        except InputError:
            raise error from None
        raise UnknownError(
            f"`{code}` is a moment of an audit, of `{moment.rule}`: `interlock audit show` has it"
        ) from None


def _last_refusal(rows: Rows) -> tuple[str, int]:
    found = last_refusal(rows)
    if found is None:
        raise UnknownError(
            "nothing was asked about, denied, paused or stopped lately: name a run, as"
            " `interlock runs` lists them, and `--step N` or `--record SEQ` for one answer of it"
        )
    return found
