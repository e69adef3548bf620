"""`interlock approvals`, `approve` and `deny`: what waits for a person, and the answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from interlock.cli.lazy_group import json_option
from interlock.cli.options import governing, ledger_option, reading_ledger
from interlock.cli.text.escape import escape
from interlock.errors import InputError

if TYPE_CHECKING:
    from interlock.cli.text.render import Line
    from interlock.ledger.ledger import Ledger
    from interlock.model.approval import Approval
    from interlock.model.verdict import Finding
    from interlock.ports import Rows


_note_option = click.option("--note", metavar="TEXT", help="A word that goes on record with it.")


@click.command("approvals")
@click.option("--all", "everything", is_flag=True, help="Also those that came to their end.")
@json_option
@ledger_option
def approvals_command(*, everything: bool, as_json: bool) -> None:
    """List what waits for a person: what is asked, and why."""
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same

    now = SystemClock().now()
    with reading_ledger() as ledger:
        found = ledger.rows.approvals(state=None if everything else "pending")
        shown = [each for each in found if everything or each.is_open_at(now)]
        if as_json:
            render.print_json(shown)
        elif shown:
            render.print_lines(_inbox_lines(ledger, shown, now))
        else:
            click.echo("nobody was ever asked" if everything else "nothing waits for you")


@click.command("approve")
@click.argument("approval", metavar="ID")
@click.option("--always", is_flag=True, help="Print the rule for the policy as well.")
@_note_option
@json_option
@ledger_option
def approve_command(*, approval: str, always: bool, note: str | None, as_json: bool) -> None:
    """Let what was asked happen, once; ID may be its beginning."""
    from interlock.cli.commands.approval_commands import recommendation  # noqa: PLC0415 - the same
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late

    decided = _decide(approval, granted=True, note=note, always=always)
    rule = recommendation(decided.findings) if always else None
    if as_json:
        render.print_json({"approval": decided, "recommendation": rule})
        return
    render.print_lines(_decided_lines(decided))
    if rule is not None:
        render.print_lines(_recommended_lines(rule))


@click.command("deny")
@click.argument("approval", metavar="ID")
@_note_option
@json_option
@ledger_option
def deny_command(*, approval: str, note: str | None, as_json: bool) -> None:
    """Refuse what was asked; ID may be its beginning."""
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late

    decided = _decide(approval, granted=False, note=note, always=False)
    if as_json:
        render.print_json({"approval": decided})
    else:
        render.print_lines(_decided_lines(decided))


def _decide(text: str, *, granted: bool, note: str | None, always: bool) -> Approval:
    from interlock.cli.options import operator_token  # noqa: PLC0415 - commands import late
    from interlock.views.lookup import found_approval  # noqa: PLC0415 - the same

    with governing() as interlock:
        approval = found_approval(interlock.ledger.rows, text)
        if always and _lets_go_on(approval):
            raise InputError(
                f"approval `{approval.id}` lets a run go on, which no rule can do: leave `--always`"
                " out"
            )
        token = operator_token(interlock)
        if granted:
            return interlock.approve(approval.id, token=token, note=note, always=always)
        return interlock.deny(approval.id, token=token, note=note)


def _inbox_lines(ledger: Ledger, shown: Sequence[Approval], now: int) -> Iterator[Line]:
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.views.lookup import short_ids  # noqa: PLC0415 - commands import late

    short = short_ids([each.id for each in shown])
    for place, approval in enumerate(shown):
        if place:
            yield ()
        yield from _question_lines(ledger, approval, short[approval.id], now)
    # A review has ways on of its own, told with its question.
    asked = [each for each in shown if each.is_open_at(now) and not _is_review(each)]
    if asked:
        yield ()
        first = asked[0]
        granted, denied = _effects(first)
        yield (
            Span(f"interlock approve {short[first.id]}", Tone.CODE),
            Span(f" {granted}, ", Tone.FAINT),
            Span(f"interlock deny {short[first.id]}", Tone.CODE),
            Span(f" {denied}", Tone.FAINT),
        )


def _effects(approval: Approval) -> tuple[str, str]:
    """Return what granting and denying do."""
    if _lets_go_on(approval):
        return "lets it go on", "stops it"
    return "lets it happen once", "refuses"


def _lets_go_on(approval: Approval) -> bool:
    """Whether it is a run that wants to go on, not an action that wants to happen."""
    from interlock.model.approval import Subject  # noqa: PLC0415 - commands import late

    return approval.subject is Subject.RESUME


def _is_review(approval: Approval) -> bool:
    """Whether it asks how a review goes on, which is more than yes or no."""
    from interlock.model.approval import Subject  # noqa: PLC0415 - commands import late

    return approval.subject is Subject.REVIEW


def _question_lines(ledger: Ledger, approval: Approval, short: str, now: int) -> Iterator[Line]:
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late
    from interlock.views.timeline import reason_text  # noqa: PLC0415 - the same

    width = render.text_width()
    plain, faint = render.Tone.PLAIN, render.Tone.FAINT
    yield (
        render.Span(short, render.Tone.CODE),
        render.Span(f"  {_standing(approval, now)}", faint),
    )
    yield from render.labelled_lines("asks", approval.summary, render.Tone.STRONG, width=width)
    for at, finding in enumerate(approval.findings):
        label = "" if at else "why"
        yield from render.labelled_lines(label, reason_text(finding), plain, width=width)
    run = _run_text(ledger.rows, approval.run_id)
    yield from render.labelled_lines("run", run, faint, width=width)
    if _is_review(approval):
        yield from _choice_lines(ledger, approval, now, width)
    if _lets_go_on(approval):
        look = f"interlock explain {approval.run_id}"
        yield from render.labelled_lines("look", look, render.Tone.CODE, width=width)
    if approval.note is not None:
        yield from render.labelled_lines("note", approval.note, plain, width=width)


def _choice_lines(ledger: Ledger, approval: Approval, now: int, width: int) -> Iterator[Line]:
    """Yield where to look, and what a person may choose."""
    from interlock.cli.text import render  # noqa: PLC0415 - commands import late
    from interlock.cli.text.review_page import choice_lines  # noqa: PLC0415 - the same
    from interlock.views.review_view import asked_about  # noqa: PLC0415 - the same

    look = f"interlock reviews {approval.run_id}"
    yield from render.labelled_lines("look", look, render.Tone.CODE, width=width)
    review = asked_about(ledger, approval, now)
    if review is not None:
        yield from choice_lines(review, run=approval.run_id, width=width, indent="  ")


def _standing(approval: Approval, now: int) -> str:
    from interlock.model.approval import ApprovalState  # noqa: PLC0415 - the same
    from interlock.views.units import span  # noqa: PLC0415 - commands import late

    asked = f"asked {span(now - approval.opened_at)} ago"
    if approval.is_open_at(now):
        return f"{asked}, expires in {span(approval.expires_at - now)}"
    if approval.state is ApprovalState.PENDING:
        return f"{asked}, expired {span(now - approval.expires_at)} ago"
    who = (approval.decided_by or "").partition(":")[2]
    used = ", used" if approval.uses_left == 0 else ""
    return f"{asked}, {approval.state.value} by {who}{used}"


def _run_text(rows: Rows, run_id: str) -> str:
    row = rows.run(run_id)
    return run_id if row is None else f"{run_id} ({row.agent}: {row.task})"


def _decided_lines(approval: Approval) -> Iterator[Line]:
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same
    from interlock.model.approval import ApprovalState  # noqa: PLC0415 - the same

    is_granted = approval.state is ApprovalState.GRANTED
    tone = Tone.ALLOW if is_granted else Tone.BLOCK
    meaning = _meaning(approval, is_granted=is_granted)
    yield (Span(approval.state.value.upper(), tone), Span(f"  {meaning}"))
    yield (Span(f"  {escape(approval.summary)}", Tone.CODE),)


def _meaning(approval: Approval, *, is_granted: bool) -> str:
    if _lets_go_on(approval):
        return "the run may go on" if is_granted else "the run stays stopped"
    return "it may happen once" if is_granted else "it must not happen"


def _recommended_lines(rule: str) -> Iterator[Line]:
    from interlock import settings  # noqa: PLC0415 - commands import late
    from interlock.cli.text.render import Span, Tone  # noqa: PLC0415 - the same

    file = settings.current_places().user_file
    yield ()
    yield (Span(f"To be asked no more, put this into {file}; nothing was changed:", Tone.FAINT),)
    yield ()
    for line in rule.splitlines():
        yield (Span(f"  {line}"),)


_TABLES: Final = {"destructive-ops": "destructive-ops.rules", "secrets": "secrets.rules"}
_BEFORE_THE_PATH: Final = "protected-paths."


def recommendation(findings: Iterable[Finding]) -> str:
    """Return the lines of a policy under which a person would not be asked about this again.

    Each finding is answered by its own rule, as narrowly as the policy can say it.
    """
    asking = [each for each in findings if each.decision.value == "require-confirmation"]
    tables: dict[str, list[str]] = {}
    blocks: list[str] = []
    for finding in asking:
        table = _TABLES.get(finding.gate)
        if table is not None and _is_listed(finding):
            rule = finding.rule.removeprefix("secrets.")
            line = f'{_quoted(rule)} = "warn"  # {_one_line(finding.message)}'
            tables.setdefault(table, []).append(line)
        else:
            blocks.append(_block(finding))
    named = [f"[{table}]\n" + "\n".join(dict.fromkeys(lines)) for table, lines in tables.items()]
    return "\n\n".join((*named, *dict.fromkeys(blocks))) + "\n"


def _is_listed(finding: Finding) -> bool:
    """Whether the rule has a name that the policy's tables know."""
    return "." in finding.rule and finding.rule != "secrets.oversize-content"


def _block(finding: Finding) -> str:
    match finding.gate:
        case "protected-paths":
            path = finding.rule.removeprefix(_BEFORE_THE_PATH)
            return f'[[protected-paths.entries]]\npath = {_quoted(path)}\ndecision = "warn"'
        case "diff-size":
            return '[diff-size]\ndecision = "warn"'
        case "rules":
            return f'# in [[rules]] {_quoted(finding.rule)}, which is yours: decision = "warn"'
        case "budget":
            return '[budgets]\nunpriced = "warn"'
        case _:
            return f"# no key of the policy silences `{finding.rule}` alone: see `docs/policy.md`"


def _quoted(text: str) -> str:
    import json  # noqa: PLC0415 - a JSON string is a TOML string as well

    return json.dumps(text)


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
