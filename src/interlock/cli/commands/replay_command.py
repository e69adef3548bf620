"""`interlock replay RUN`: would every answer be the same today?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click
import msgspec

from interlock.cli.lazy_group import ExitCode, json_option
from interlock.cli.options import ledger_option, reading_ledger

if TYPE_CHECKING:
    from interlock.backtest.run_replay import Difference, Replayed
    from interlock.cli.text.render import Line
    from interlock.ledger.ledger import Ledger


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
def replay_command(context: click.Context, *, run: str, as_json: bool) -> None:
    """Decide every judgement of a run again, from its record.

    RUN may be the beginning of an id. Exit code: 0 when every answer comes out as it was
    recorded, 1 when one does not.
    """
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.views.lookup import found_run  # noqa: PLC0415 - the same

    with reading_ledger() as ledger:
        outcome = _replayed(ledger, found_run(ledger.rows, run).id)
    if as_json:
        render.print_json(outcome)
    else:
        render.print_lines(_outcome_lines(outcome))
    context.exit(ExitCode.FAILED if outcome.different else ExitCode.ALLOWED)


def _replayed(ledger: Ledger, run_id: str) -> _Outcome:
    from interlock.backtest.run_replay import replay_run  # noqa: PLC0415 - commands import late
    from interlock.cli.text.progress_bar import progress  # noqa: PLC0415 - the same

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
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.views.units import counted  # noqa: PLC0415 - commands import late

    answers = counted(outcome.answers, "answer")
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
    from interlock.cli.text.escape import json_text  # noqa: PLC0415 - commands import late
    from interlock.cli.text.render import Span, Tone, labelled_lines, text_width  # noqa: PLC0415 - load late

    yield ()
    yield (Span(f"  {difference.field}", Tone.STRONG),)
    for label, value, tone in (
        ("recorded", difference.recorded, Tone.GOOD),
        ("now", difference.now, Tone.BAD),
    ):
        text = value if isinstance(value, str) else json_text(value)
        yield from labelled_lines(label, text, tone, width=text_width(), indent="    ")
