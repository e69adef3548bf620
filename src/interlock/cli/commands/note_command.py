"""`interlock note`: leave a note for the loop, and see which ones wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import click

from interlock import settings
from interlock.cli.call.command_names import Commands
from interlock.cli.call.ledger_access import current_time, governing, reading_ledger
from interlock.cli.call.options import ledger_call, ledger_option, show
from interlock.cli.call.standard_input import given_text
from interlock.cli.text.loop_page import note_lines
from interlock.cli.text.render import Span, Tone, badge_line
from interlock.model.system_loop import DEFAULT_SCOPE, LONGEST_NOTE
from interlock.service.cycles.loop_chain import LoopChain
from interlock.views.loop_view import loop_state

_ABOUT: Final = """\
Leave a note for the loop, or list those that wait.

A note starts a cycle: `interlock loop run` answers it within seconds, `interlock loop tick` at
once.
"""
_ABOUT_ADD: Final = """\
Leave a note; `-` reads it from standard input.

Examples:
  interlock note add "the nightly build is flaky, look at it"
  interlock note add "the certificate ends on Friday" --tag ops --source pager
  interlock note add - < note.txt
"""


@click.group("note", cls=Commands, help=_ABOUT)
@ledger_option
def note_command() -> None:
    """Hold the commands about notes."""


@ledger_call("add", group=note_command, help=_ABOUT_ADD)
@click.argument("text", metavar="TEXT|-")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A word to find it by; any many.")
@click.option("--source", metavar="NAME", help="Who leaves it; you, where nothing is said.")
@click.option(
    "--scope", metavar="NAME", default=DEFAULT_SCOPE, help="What it is decided together with."
)
def add_command(*, text: str, tags: Sequence[str], source: str | None, scope: str) -> None:
    """Leave a note."""
    said = given_text(text, most=4 * LONGEST_NOTE, what="the note is")
    with governing(creates=True) as interlock:
        note = LoopChain(interlock.governor).add_note(
            said,
            source=_source() if source is None else source,
            tags=tags,
            scope=scope,
            cause=settings.current_cause().decision,
        )
    lines = (
        badge_line("NOTED", Tone.ALLOW, "the loop looks at it in its next cycle"),
        (Span(f"  {note.id}", Tone.CODE),),
    )
    show(note, lines)


@ledger_call("list", group=note_command)
def list_command() -> None:
    """List the notes that wait, the oldest first.

    Examples:
      interlock note list
      interlock note list --json
    """
    with reading_ledger() as ledger:
        notes = tuple(loop_state(ledger).notes.values())
    show(notes, note_lines(notes, current_time()))


def _source() -> str:
    run = settings.current_cause().run
    return settings.user_name() if run is None else f"run/{run}"
