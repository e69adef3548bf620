"""What a person decides: `approve` or `deny` what waits, `halt` and `resume` runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import click

from interlock import settings
from interlock.cli.call.ledger_access import current_time, governing, operator_token, reading_ledger
from interlock.cli.call.options import ledger_call, note_option, reason_option, show
from interlock.cli.text.render import Line, Span, Tone, badge_line, labelled_lines
from interlock.cli.text.review_page import choice_lines
from interlock.cli.text.run_page import hold_lines
from interlock.errors import InputError
from interlock.ledger.abbreviations import found_approval, found_run
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.run import LEDGER_RUN
from interlock.service.interlock import Interlock
from interlock.views import units
from interlock.views.inbox import InboxItem, LoopQuestion, inbox, loop_question, recommendation
from interlock.views.lookup import SHORT, short_ids
from interlock.views.loop_timeline import choice_text
from interlock.views.run_view import holds_on, run_figures
from interlock.views.timeline import reason_text

_LOOKED_AT_BY: Final = {Subject.RESUME: "explain", Subject.REVIEW: "review list"}


@ledger_call("approvals")
@click.option("--all", "everything", is_flag=True, help="Also those that came to their end.")
def approvals_command(*, everything: bool) -> None:
    """List what waits for a person: what is asked, and why.

    Examples:
      interlock approvals
      interlock approvals --all --json
    """
    at = current_time()
    with reading_ledger() as ledger:
        items = inbox(ledger, at, everything=everything)
    nothing = "nobody was ever asked" if everything else "nothing waits for you"
    lines = _inbox_lines(items, at) if items else [(Span(nothing),)]
    show([item.approval for item in items], lines)


@ledger_call("approve", decides=True)
@click.argument("asked", metavar="ID...", nargs=-1, required=True)
@click.option("--always", is_flag=True, help="Print the rule for the policy as well.")
@note_option
def approve_command(*, asked: tuple[str, ...], always: bool, note: str | None) -> None:
    """Let what was asked happen, once.

    ID may be its beginning. One passphrase serves for several IDs.

    Examples:
      interlock approve 0192a1b2
      interlock approve 0192a1b2 --reason "checked by hand"
    """
    with governing() as interlock:
        found = _found(interlock, asked)
        for each in found:
            if always and each.subject is Subject.RESUME:
                raise InputError(
                    f"approval `{each.id}` lets a run go on, which no rule can do: leave"
                    " `--always` out"
                )
        token = operator_token(interlock, "approve")
        asked_by_loop = [_of_loop(interlock, each) for each in found]
        decided = [
            interlock.approve(each.id, token=token, note=note, always=always) for each in found
        ]
    rules = [recommendation(each.findings) if always else None for each in decided]
    _show_decided(decided, rules, asked_by_loop)


@ledger_call("deny", decides=True)
@click.argument("asked", metavar="ID...", nargs=-1, required=True)
@note_option
def deny_command(*, asked: tuple[str, ...], note: str | None) -> None:
    """Refuse what was asked.

    ID may be its beginning. One passphrase serves for several IDs.

    Examples:
      interlock deny 0192a1b2 --reason "not on a Friday"
    """
    with governing() as interlock:
        found = _found(interlock, asked)
        token = operator_token(interlock, "deny")
        asked_by_loop = [_of_loop(interlock, each) for each in found]
        decided = [interlock.deny(each.id, token=token, note=note) for each in found]
    _show_decided(decided, None, asked_by_loop)


def _found(interlock: Interlock, asked: tuple[str, ...]) -> list[Approval]:
    """Return the questions that are meant, each once."""
    found = [found_approval(interlock.ledger.rows, each) for each in asked]
    return list({each.id: each for each in found}.values())


def _of_loop(interlock: Interlock, approval: Approval) -> LoopQuestion | None:
    is_loop = approval.subject is Subject.LOOP
    return loop_question(interlock.ledger, approval) if is_loop else None


def _show_decided(
    decided: Sequence[Approval],
    rules: Sequence[str | None] | None,
    asked_by_loop: Sequence[LoopQuestion | None],
) -> None:
    said = [None] * len(decided) if rules is None else rules
    values = [
        {"approval": each} if rules is None else {"approval": each, "recommendation": rule}
        for each, rule in zip(decided, said, strict=True)
    ]
    lines = chain.from_iterable(map(_decided_lines, decided, said, asked_by_loop))
    show(values[0] if len(values) == 1 else values, lines)


def _inbox_lines(items: Sequence[InboxItem], at: int) -> Iterator[Line]:
    short = short_ids([item.approval.id for item in items])
    for place, item in enumerate(items):
        if place:
            yield ()
        yield from _question_lines(item, short[item.approval.id], at)
    # A review has ways on of its own, which stand with its question.
    asked = [each.approval for each in items if each.is_open]
    asked = [each for each in asked if each.subject is not Subject.REVIEW]
    if asked:
        yield ()
        named, is_resume = short[asked[0].id], asked[0].subject is Subject.RESUME
        granted = "lets it go on" if is_resume else "lets it happen once"
        denied = "stops it" if is_resume else "refuses"
        yield (
            Span(f"interlock approve {named}", Tone.CODE),
            Span(f" {granted}, ", Tone.FAINT),
            Span(f"interlock deny {named}", Tone.CODE),
            Span(f" {denied}", Tone.FAINT),
        )


def _question_lines(item: InboxItem, short: str, at: int) -> Iterator[Line]:
    approval = item.approval
    run = approval.run_id
    yield (Span(short, Tone.CODE), Span(f"  {_state_text(approval, at)}", Tone.FAINT))
    asks = approval.summary if item.choice is None else choice_text(item.choice.choice)
    yield from labelled_lines("asks", asks, Tone.STRONG)
    for place, finding in enumerate(approval.findings):
        yield from labelled_lines("" if place else "why", reason_text(finding))
    whose = run if item.run is None else f"{run} ({item.run.agent}: {item.run.task})"
    yield from labelled_lines("run", whose, Tone.FAINT)
    if item.choice is not None:
        yield from labelled_lines("then", item.choice.effect)
        look = f"interlock loop log --decision {item.choice.decision_id[:SHORT]}"
        yield from labelled_lines("look", look, Tone.CODE)
    if approval.subject in _LOOKED_AT_BY:
        looks = f"interlock {_LOOKED_AT_BY[approval.subject]} {run}"
        yield from labelled_lines("look", looks, Tone.CODE)
    if item.review is not None:
        yield from choice_lines(item.review, run=run, indent="  ")
    if approval.note is not None:
        yield from labelled_lines("note", approval.note)


def _state_text(approval: Approval, at: int) -> str:
    asked = f"asked {units.span(at - approval.opened_at)} ago"
    if approval.is_open_at(at):
        return f"{asked}, expires in {units.span(approval.expires_at - at)}"
    if approval.state is ApprovalState.PENDING:
        return f"{asked}, expired {units.span(at - approval.expires_at)} ago"
    who = (approval.decided_by or "").partition(":")[2]
    used = ", used" if approval.uses_left == 0 else ""
    return f"{asked}, {approval.state.value} by {who}{used}"


def _decided_lines(
    approval: Approval, rule: str | None, question: LoopQuestion | None
) -> Iterator[Line]:
    if approval.state is ApprovalState.GRANTED:
        tone, run, action = Tone.ALLOW, "the run may go on", "it may happen once"
    else:
        tone, run, action = Tone.BLOCK, "the run stays stopped", "it must not happen"
    meaning = run if approval.subject is Subject.RESUME else action
    yield badge_line(approval.state.value.upper(), tone, meaning)
    asked = approval.summary if question is None else choice_text(question.choice)
    yield (Span(f"  {asked}", Tone.CODE),)
    if question is not None:
        yield from _loop_lines(approval, question)
    if rule is not None:
        file = settings.current_places().user_file
        about = f"To be asked no more, put this into {file}; nothing was changed:"
        yield from ((), (Span(about, Tone.FAINT),), ())
        for line in rule.splitlines():
            yield (Span(f"  {line}"),)
        yield from ((), (Span("Then have it count: interlock policy adopt", Tone.FAINT),))


def _loop_lines(approval: Approval, question: LoopQuestion) -> Iterator[Line]:
    """Yield what follows from an answer to the loop, and where it stands."""
    if approval.state is ApprovalState.GRANTED:
        yield from labelled_lines("then", f"{question.effect}, in the loop's next cycle")
    look = f"interlock loop log --decision {question.decision_id[:SHORT]}"
    yield from labelled_lines("look", look, Tone.CODE)


@ledger_call("halt", decides=True)
@click.argument("run", metavar="RUN")
@reason_option
def halt_command(*, run: str, reason: str) -> None:
    """Stop a run and every run below it, until it is resumed.

    RUN is its id, or enough of its beginning. Whatever the agent asks from now on is refused.

    Examples:
      interlock halt 0198c2ab --reason "it works on the wrong branch"
    """
    with governing() as interlock:
        run_id = _found_id(interlock, run)
        state = interlock.halt(run_id, token=operator_token(interlock, "halt"), reason=reason)
    resume = Span(f"interlock resume {run_id[:SHORT]} --reason TEXT", Tone.CODE)
    lines = (
        badge_line("HALTED", Tone.BLOCK, "it takes no further step, nor does a run below it"),
        (Span(f"  {state.task}", Tone.CODE),),
        (Span("  "), resume, Span(" lets it go on", Tone.FAINT)),
    )
    show(run_figures(state), lines)


@ledger_call("resume", decides=True)
@click.argument("run", metavar="RUN")
@reason_option
def resume_command(*, run: str, reason: str) -> None:
    """Resume a run that was paused, stopped or halted.

    RUN is its id, or enough of its beginning. Loops and limits on steps count anew from here.

    Examples:
      interlock resume 0198c2ab --reason "the branch is right now"
    """
    with governing() as interlock:
        run_id = _found_id(interlock, run)
        state = interlock.lift(run_id, token=operator_token(interlock, "resume"), reason=reason)
        now = current_time()
        holds = holds_on(interlock.ledger, state, now)
    still = ", once no run above it is held" if holds else ""
    lines = (
        badge_line("RESUMED", Tone.ALLOW, f"it may go on{still}"),
        (Span(f"  {state.task}", Tone.CODE),),
        *hold_lines(holds, run_id, now),
    )
    show(run_figures(state), lines)


def _found_id(interlock: Interlock, text: str) -> str:
    run_id = found_run(interlock.ledger.rows, text).id
    if run_id == LEDGER_RUN:
        raise InputError("`ledger` is the chain of the ledger itself: it is no run to be held")
    return run_id
