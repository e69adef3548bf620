"""`interlock approvals`, `approve` and `deny`: what waits for a person, and the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from interlock import settings
from interlock.cli.call.ledger_access import current_time, reading_ledger
from interlock.cli.call.operator_access import governing, operator_token
from interlock.cli.call.options import json_option, ledger_option, note_option, show
from interlock.cli.text.render import Line, Span, Tone, escape, labelled_lines, text_width
from interlock.cli.text.review_page import choice_lines
from interlock.errors import InputError
from interlock.model.approval import Approval, ApprovalState
from interlock.views import units
from interlock.views.inbox import InboxItem, inbox, lets_go_on, recommendation
from interlock.views.lookup import found_approval, short_ids
from interlock.views.timeline import reason_text


@click.command("approvals")
@click.option("--all", "everything", is_flag=True, help="Also those that came to their end.")
@json_option
@ledger_option
def approvals_command(*, everything: bool) -> None:
    """List what waits for a person: what is asked, and why."""
    at = current_time()
    with reading_ledger() as ledger:
        items = inbox(ledger, at, everything=everything)
    nothing = "nobody was ever asked" if everything else "nothing waits for you"
    lines = _inbox_lines(items, at) if items else [(Span(nothing),)]
    show([item.approval for item in items], lines)


@click.command("approve")
@click.argument("approval", metavar="ID")
@click.option("--always", is_flag=True, help="Print the rule for the policy as well.")
@note_option
@json_option
@ledger_option
def approve_command(*, approval: str, always: bool, note: str | None) -> None:
    """Let what was asked happen, once; ID may be its beginning."""
    decided = _decide(approval, granted=True, note=note, always=always)
    rule = recommendation(decided.findings) if always else None
    show({"approval": decided, "recommendation": rule}, _decided_lines(decided, rule))


@click.command("deny")
@click.argument("approval", metavar="ID")
@note_option
@json_option
@ledger_option
def deny_command(*, approval: str, note: str | None) -> None:
    """Refuse what was asked; ID may be its beginning."""
    decided = _decide(approval, granted=False, note=note, always=False)
    show({"approval": decided}, _decided_lines(decided, None))


def _decide(text: str, *, granted: bool, note: str | None, always: bool) -> Approval:
    with governing() as interlock:
        approval = found_approval(interlock.ledger.rows, text)
        if always and lets_go_on(approval):
            raise InputError(
                f"approval `{approval.id}` lets a run go on, which no rule can do: leave `--always`"
                " out"
            )
        token = operator_token(interlock)
        if granted:
            return interlock.approve(approval.id, token=token, note=note, always=always)
        return interlock.deny(approval.id, token=token, note=note)


def _inbox_lines(items: Sequence[InboxItem], at: int) -> Iterator[Line]:
    short = short_ids([item.approval.id for item in items])
    for place, item in enumerate(items):
        if place:
            yield ()
        yield from _question_lines(item, short[item.approval.id], at, text_width())
    # A review has ways on of its own, which stand with its question.
    asked = next((item for item in items if item.is_open and not item.is_review), None)
    if asked is not None:
        yield ()
        named = short[asked.approval.id]
        granted, denied = (
            ("lets it go on", "stops it")
            if asked.lets_go_on
            else ("lets it happen once", "refuses")
        )
        yield (
            Span(f"interlock approve {named}", Tone.CODE),
            Span(f" {granted}, ", Tone.FAINT),
            Span(f"interlock deny {named}", Tone.CODE),
            Span(f" {denied}", Tone.FAINT),
        )


def _question_lines(item: InboxItem, short: str, at: int, width: int) -> Iterator[Line]:
    approval = item.approval
    yield (Span(short, Tone.CODE), Span(f"  {_state_text(approval, at)}", Tone.FAINT))
    yield from labelled_lines("asks", approval.summary, Tone.STRONG, width=width)
    for place, finding in enumerate(approval.findings):
        yield from labelled_lines("" if place else "why", reason_text(finding), width=width)
    run = approval.run_id if item.task is None else f"{approval.run_id} ({item.agent}: {item.task})"
    yield from labelled_lines("run", run, Tone.FAINT, width=width)
    if item.is_review:
        look = f"interlock reviews {approval.run_id}"
        yield from labelled_lines("look", look, Tone.CODE, width=width)
    if item.review is not None:
        yield from choice_lines(item.review, run=approval.run_id, width=width, indent="  ")
    if item.lets_go_on:
        look = f"interlock explain {approval.run_id}"
        yield from labelled_lines("look", look, Tone.CODE, width=width)
    if approval.note is not None:
        yield from labelled_lines("note", approval.note, width=width)


def _state_text(approval: Approval, at: int) -> str:
    asked = f"asked {units.span(at - approval.opened_at)} ago"
    if approval.is_open_at(at):
        return f"{asked}, expires in {units.span(approval.expires_at - at)}"
    if approval.state is ApprovalState.PENDING:
        return f"{asked}, expired {units.span(at - approval.expires_at)} ago"
    who = (approval.decided_by or "").partition(":")[2]
    used = ", used" if approval.uses_left == 0 else ""
    return f"{asked}, {approval.state.value} by {who}{used}"


def _decided_lines(approval: Approval, rule: str | None) -> Iterator[Line]:
    is_granted = approval.state is ApprovalState.GRANTED
    tone = Tone.ALLOW if is_granted else Tone.BLOCK
    meaning = _meaning(approval, is_granted=is_granted)
    yield (Span(approval.state.value.upper(), tone), Span(f"  {meaning}"))
    yield (Span(f"  {escape(approval.summary)}", Tone.CODE),)
    if rule is not None:
        yield from _recommended_lines(rule)


def _meaning(approval: Approval, *, is_granted: bool) -> str:
    if lets_go_on(approval):
        return "the run may go on" if is_granted else "the run stays stopped"
    return "it may happen once" if is_granted else "it must not happen"


def _recommended_lines(rule: str) -> Iterator[Line]:
    file = settings.current_places().user_file
    yield ()
    yield (Span(f"To be asked no more, put this into {file}; nothing was changed:", Tone.FAINT),)
    yield ()
    for line in rule.splitlines():
        yield (Span(f"  {line}"),)
