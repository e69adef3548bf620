"""`interlock recommendations`: changes of the policy that finished runs suggest."""

from __future__ import annotations

from typing import Final

import click

from interlock.cli.call.command_names import Commands
from interlock.cli.call.ledger_access import governing, operator, reading_ledger
from interlock.cli.call.options import json_option, ledger_call, ledger_option, note_option, show
from interlock.cli.text.loop_page import (
    patch_text,
    recommendation_lines,
    recommendation_list_lines,
)
from interlock.cli.text.render import Span, Tone, badge_line, escape
from interlock.ledger.abbreviations import named
from interlock.ledger.ledger import Ledger
from interlock.model.recommendation import Recommendation
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.cycles.recommendation_desk import RecommendationDesk
from interlock.service.interlock import Interlock
from interlock.views.loop_view import loop_state, recommendations

_ABOUT: Final = """\
List changes of the policy that past runs suggest.

Each rests on counts and records, and says what would have been different in past runs. Nothing
is changed before an operator agrees; what was applied can be undone.

Examples:
  interlock recommendations
  interlock recommendations --all --json
"""


@click.group("recommendations", cls=Commands, help=_ABOUT, invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Also those that were settled lately.")
@ledger_option
@json_option
@click.pass_context
def recommendations_command(ctx: click.Context, *, everything: bool) -> None:
    """List what is recommended."""
    if ctx.invoked_subcommand is not None:
        return
    with reading_ledger() as ledger:
        found = recommendations(ledger, everything=everything)
    show(found, recommendation_list_lines(found))


@ledger_call("show", group=recommendations_command)
@click.argument("recommendation", metavar="ID")
def show_command(*, recommendation: str) -> None:
    """Show one: its evidence, what it changes, and what that would have meant.

    Examples:
      interlock recommendations show allow-push-5f
    """
    with reading_ledger() as ledger:
        found = _found(ledger, recommendation)
    show(found, recommendation_lines(found))


@ledger_call("apply", group=recommendations_command, decides=True)
@click.argument("recommendation", metavar="ID")
def apply_command(*, recommendation: str) -> None:
    """Change your policy file as it says, and have it count from now on.

    Everything else in the file stays as it stands, comments as well.

    Examples:
      interlock recommendations apply allow-push-5f
    """
    with governing() as interlock:
        found = _found(interlock.ledger, recommendation)
        for operation in found.patch:
            click.echo(escape(patch_text(operation)), err=True)
        by = operator(interlock, "apply a recommendation")
        applied = _desk(interlock).apply(found.id, by)
    _show_settled(applied, "APPLIED", Tone.ALLOW, "the policy says so from now on")


@ledger_call("dismiss", group=recommendations_command, decides=True)
@click.argument("recommendation", metavar="ID")
@note_option
def dismiss_command(*, recommendation: str, note: str | None) -> None:
    """Dismiss one: it is not recommended again.

    Examples:
      interlock recommendations dismiss allow-push-5f --reason "these tests are slow on purpose"
    """
    with governing() as interlock:
        found = _found(interlock.ledger, recommendation)
        by = operator(interlock, "dismiss a recommendation")
        dismissed = _desk(interlock).dismiss(found.id, by, note)
    _show_settled(dismissed, "DISMISSED", Tone.WARN, "it is not recommended again")


@ledger_call("undo", group=recommendations_command, decides=True)
@click.argument("recommendation", metavar="ID")
def undo_command(*, recommendation: str) -> None:
    """Put back what it changed, unless somebody has changed that since.

    Examples:
      interlock recommendations undo allow-push-5f
    """
    with governing() as interlock:
        found = _found(interlock.ledger, recommendation)
        by = operator(interlock, "undo a recommendation")
        undone = _desk(interlock).undo(found.id, by)
    _show_settled(undone, "UNDONE", Tone.WARN, "the policy says what it said before")


def _desk(interlock: Interlock) -> RecommendationDesk:
    return RecommendationDesk(interlock.governor, LoopChain(interlock.governor))


def _found(ledger: Ledger, text: str) -> Recommendation:
    known = loop_state(ledger).recommendations
    return named("recommendation", text, known.items(), "interlock recommendations --all")


def _show_settled(settled: Recommendation, word: str, tone: Tone, meaning: str) -> None:
    show(settled, (badge_line(word, tone, meaning), (Span(f"  {settled.title}", Tone.CODE),)))
