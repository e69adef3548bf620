"""`interlock replay RUN`: would every answer be the same today?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click
import msgspec

from interlock.backtest.run_replay import Difference, Replayed, replay_run
from interlock.cli.call.exit_code import ExitCode
from interlock.cli.call.ledger_access import reading_ledger
from interlock.cli.call.options import json_option, ledger_option, show
from interlock.cli.text.progress_bar import progress
from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    labelled_lines,
    text_width,
)
from interlock.ledger.ledger import Ledger
from interlock.views import units
from interlock.views.json_text import json_text
from interlock.views.lookup import found_run

_TOLD_EVERY: Final = 50


class _Outcome(msgspec.Struct, kw_only=True):
    """What replaying a run came to."""

    run: str
    answers: int = 0
    different: int = 0
    first: Replayed | None = None
    """The first answer that differs."""


@click.command("replay")
@click.argument("run", metavar="RUN")
@json_option
@ledger_option
@click.pass_context
def replay_command(context: click.Context, *, run: str) -> None:
    """Decide every judgement of a run again, from its record.

    RUN may be the beginning of an id. Exit code: 0 when every answer comes out as it was
    recorded, 1 when one does not.
    """
    with reading_ledger() as ledger:
        outcome = _replayed(ledger, found_run(ledger.rows, run).id)
    show(outcome, _outcome_lines(outcome))
    context.exit(ExitCode.FAILED if outcome.different else ExitCode.ALLOWED)


def _replayed(ledger: Ledger, run_id: str) -> _Outcome:
    state = ledger.state(run_id)
    total = 0 if state is None else sum(state.decisions.values())
    outcome = _Outcome(run=run_id)
    with progress("replaying", long=500) as advance:
        for each in replay_run(ledger.rows, run_id):
            outcome.answers += 1
            if not each.is_same:
                outcome.different += 1
                outcome.first = outcome.first or each
            if outcome.answers % _TOLD_EVERY == 0:
                advance(outcome.answers, total)
    return outcome


def _outcome_lines(outcome: _Outcome) -> Iterator[Line]:
    answers = units.counted(outcome.answers, "answer")
    if outcome.first is None:
        yield (Span(answers, Tone.GOOD), Span(", all identical" if outcome.answers else ""))
        return
    yield (
        Span(f"{outcome.different:,} of {answers}", Tone.BAD),
        Span(" come out differently; the first is "),
        Span(f"record {outcome.first.seq}", Tone.STRONG),
    )
    for difference in outcome.first.differences:
        yield from _difference_lines(difference)


def _difference_lines(difference: Difference) -> Iterator[Line]:
    yield ()
    yield (Span(f"  {difference.field}", Tone.STRONG),)
    for label, value, tone in (
        ("recorded", difference.recorded, Tone.GOOD),
        ("now", difference.now, Tone.BAD),
    ):
        text = value if isinstance(value, str) else json_text(value)
        yield from labelled_lines(label, text, tone, width=text_width(), indent="    ")
