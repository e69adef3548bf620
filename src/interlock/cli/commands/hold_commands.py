"""`interlock halt` and `interlock lift`: a person stops a run, and lets one go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click

from interlock.cli.call.operator_access import governing, operator_token
from interlock.cli.call.options import json_option, ledger_option, show
from interlock.cli.text.render import Line, Span, Tone, escape, text_width
from interlock.cli.text.run_page import hold_lines
from interlock.errors import InputError
from interlock.model.run import LEDGER_RUN, RunState
from interlock.views.lookup import SHORT, found_run
from interlock.views.run_figures import Held, holds_on, run_figures

_reason_option = click.option(
    "--reason", metavar="TEXT", required=True, help="Why; it goes on record."
)


class _Done(NamedTuple):
    """The run afterwards, and what still holds it."""

    state: RunState
    holds: Sequence[Held]
    now: int


@click.command("halt")
@click.argument("run", metavar="RUN")
@_reason_option
@json_option
@ledger_option
def halt_command(*, run: str, reason: str) -> None:
    """Stop a run and every run below it, until it is lifted.

    RUN is its id, or enough of its beginning. Whatever the agent asks from now on is refused.
    """
    done = _decide(run, reason, lifts=False)
    show(run_figures(done.state), _halted_lines(done))


@click.command("lift")
@click.argument("run", metavar="RUN")
@_reason_option
@json_option
@ledger_option
def lift_command(*, run: str, reason: str) -> None:
    """Let a run go on that was paused, stopped or halted.

    RUN is its id, or enough of its beginning. What it does counts anew from here.
    """
    done = _decide(run, reason, lifts=True)
    show(run_figures(done.state), _lifted_lines(done))


def _decide(text: str, reason: str, *, lifts: bool) -> _Done:
    with governing() as interlock:
        run_id = found_run(interlock.ledger.rows, text).id
        if run_id == LEDGER_RUN:
            raise InputError("`ledger` is the chain of the ledger itself: it is no run to be held")
        decide = interlock.lift if lifts else interlock.halt
        state = decide(run_id, token=operator_token(interlock), reason=reason)
        now = interlock.governor.clock.now()
        return _Done(state, holds_on(interlock.ledger, state, now), now)


def _halted_lines(done: _Done) -> Iterator[Line]:
    yield (Span("HALTED", Tone.BLOCK), Span("  it takes no further step, nor does a run below it"))
    yield (Span(f"  {escape(done.state.task)}", Tone.CODE),)
    yield (
        Span("  "),
        Span(f"interlock lift {done.state.id[:SHORT]} --reason TEXT", Tone.CODE),
        Span(" lets it go on", Tone.FAINT),
    )


def _lifted_lines(done: _Done) -> Iterator[Line]:
    still = ", once no run above it is held" if done.holds else ""
    yield (Span("LIFTED", Tone.ALLOW), Span(f"  it may go on{still}"))
    yield (Span(f"  {escape(done.state.task)}", Tone.CODE),)
    yield from hold_lines(done.holds, done.state.id, done.now, width=text_width())
