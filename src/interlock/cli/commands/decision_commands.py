"""What a person decides: `approve` or `deny` what waits, `halt` and `resume` runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final

import click

from interlock import settings
from interlock.adapters.installation.client_hooks import CLIENTS
from interlock.cli.call.chosen_question import (
    chosen_questions,
    held_run,
    named_run,
    question_lines,
    run_line,
)
from interlock.cli.call.ledger_access import current_time, governing, operator_token, reading_ledger
from interlock.cli.call.options import ledger_call, note_option, reason_option, show
from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    badge_line,
    labelled_lines,
    labelled_rows,
    wrapped_lines,
)
from interlock.cli.text.review_page import choice_lines
from interlock.cli.text.run_page import hold_lines
from interlock.cli.text.summary_page import next_line
from interlock.errors import InputError
from interlock.ledger.abbreviations import found_approval
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.short_code import code_of, codes_of
from interlock.service.interlock import Interlock
from interlock.service.people.credentials import has_operator
from interlock.service.records.approvals import refuse_used_up
from interlock.views import units
from interlock.views.inbox import NO_RULE, InboxItem, LoopQuestion, inbox, loop_question
from interlock.views.loop_timeline import choice_text
from interlock.views.question_view import asked_folder, asked_rule
from interlock.views.run_view import holds_on, run_figures, stopped_by
from interlock.views.timeline import STATES, reason_text

_OF_RUNS: Final = (Subject.RESUME, Subject.PRICE)
"""What lets a whole run go on, not one action."""
_LOOKED_AT_BY: Final = {Subject.RESUME: "explain", Subject.REVIEW: "review list"}
_STARTED_BY_US: Final = "interlock-run"
_TAKEN_UP_BY: Final = {"claude-code": ", which `claude --continue` opens again"}


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
        folders = {each.approval.id: asked_folder(ledger, each.approval) for each in items}
        is_set_up = has_operator(ledger)
    nothing = "nobody was ever asked" if everything else "nothing waits for you"
    lines = chain(
        _inbox_lines(items, folders, at, is_set_up=is_set_up) if items else [(Span(nothing),)],
        () if is_set_up else _setup_lines(),
    )
    show([item.approval for item in items], lines)


def _setup_lines() -> Iterator[Line]:
    """Yield what comes before any decision, where there is nobody who may decide."""
    yield ()
    yield next_line("interlock setup", "makes you the person who approves")


@ledger_call("approve", decides=True)
@click.argument("asked", metavar="[ID]...", nargs=-1)
@click.option("--always", is_flag=True, help="Print a rule for exactly this command as well.")
@note_option
def approve_command(*, asked: tuple[str, ...], always: bool, note: str | None) -> None:
    """Let what was asked happen, once.

    ID is the code that `interlock approvals` shows. Without one it is the only question that
    waits; where several do, you choose from a list. You see what you decide before you type
    your passphrase, which serves for several IDs.

    Examples:
      interlock approve K7QP3M
      interlock approve K7QP3M --reason "checked by hand"
    """
    with governing() as interlock:
        found = chosen_questions(interlock, asked, "approve")
        for each in found:
            if always and each.subject is Subject.RESUME:
                raise InputError(
                    f"approval `{each.id}` lets a run go on, which no rule can do: leave"
                    " `--always` out"
                )
            _refuse_used_up(interlock, each)
        token = operator_token(interlock, "approve", question_lines(interlock.ledger, found))
        asked_by_loop = [_of_loop(interlock, each) for each in found]
        decided = [
            interlock.approve(each.id, token=token, note=note, always=always) for each in found
        ]
        rows = interlock.ledger.rows
        rules = [asked_rule(rows, each) if always else None for each in decided]
        clients = [interlock.governor.state(each.run_id).client for each in decided]
    _show_decided(decided, rules, asked_by_loop, clients)


@ledger_call("deny", decides=True)
@click.argument("asked", metavar="[ID]...", nargs=-1)
@note_option
def deny_command(*, asked: tuple[str, ...], note: str | None) -> None:
    """Refuse what was asked.

    ID is the code that `interlock approvals` shows. Without one it is the only question that
    waits; where several do, you choose from a list.

    Examples:
      interlock deny K7QP3M --reason "not on a Friday"
    """
    with governing() as interlock:
        found = chosen_questions(interlock, asked, "deny")
        token = operator_token(interlock, "deny", question_lines(interlock.ledger, found))
        asked_by_loop = [_of_loop(interlock, each) for each in found]
        decided = [interlock.deny(each.id, token=token, note=note) for each in found]
        clients = [interlock.governor.state(each.run_id).client for each in decided]
    _show_decided(decided, None, asked_by_loop, clients)


def _of_loop(interlock: Interlock, approval: Approval) -> LoopQuestion | None:
    is_loop = approval.subject is Subject.LOOP
    return loop_question(interlock.ledger, approval) if is_loop else None


def _show_decided(
    decided: Sequence[Approval],
    rules: Sequence[str | None] | None,
    asked_by_loop: Sequence[LoopQuestion | None],
    clients: Sequence[str],
) -> None:
    said = [None] * len(decided) if rules is None else rules
    values = [
        {"approval": each} if rules is None else {"approval": each, "recommendation": rule}
        for each, rule in zip(decided, said, strict=True)
    ]
    lines = chain.from_iterable(map(_decided_lines, decided, said, asked_by_loop, clients))
    show(values[0] if len(values) == 1 else values, lines)


def _inbox_lines(
    items: Sequence[InboxItem], folders: Mapping[str, str], at: int, *, is_set_up: bool
) -> Iterator[Line]:
    short = codes_of([item.approval.id for item in items])
    for place, item in enumerate(items):
        if place:
            yield ()
        of = item.approval.id
        yield from _question_lines(item, short[of], folders[of], at)
    # A review has ways on of its own, which stand with its question.
    waiting = [each for each in items if each.is_open]
    waiting = [each for each in waiting if each.approval.subject is not Subject.REVIEW]
    asked = [each.approval for each in waiting]
    if asked and is_set_up:
        yield ()
        for command in waiting[0].raises:
            yield (Span(command, Tone.CODE), Span(" raises the limit; then", Tone.FAINT))
        code, is_resume = short[asked[0].id], asked[0].subject in _OF_RUNS
        named = code if len(asked) == 1 else "CODE"
        granted = "lets it go on" if is_resume else "lets it happen once"
        denied = "stops it" if is_resume else "refuses"
        yield (
            Span(asked[0].way_to_grant.replace(asked[0].code, named), Tone.CODE),
            Span(f" {granted}, ", Tone.FAINT),
            Span(f"interlock deny {named}", Tone.CODE),
            Span(f" {denied}", Tone.FAINT),
        )


def _question_lines(item: InboxItem, short: str, folder: str, at: int) -> Iterator[Line]:
    approval = item.approval
    run = approval.run_id
    yield (Span(short, Tone.CODE), Span(f"  {_state_text(approval, at)}", Tone.FAINT))
    asks = approval.summary if item.choice is None else choice_text(item.choice.choice)
    yield from labelled_lines("asks", asks, Tone.STRONG)
    yield from labelled_rows(("in", folder))
    for place, finding in enumerate(approval.findings):
        yield from labelled_lines("" if place else "why", reason_text(finding))
    whose = code_of(run)
    if item.run is not None:
        whose = f"{whose} ({item.run.agent}: {item.run.task})"
    yield from labelled_lines("run", whose, Tone.FAINT)
    if item.choice is not None:
        yield from labelled_lines("then", item.choice.effect)
        look = f"interlock loop log --decision {code_of(item.choice.decision_id)}"
        yield from labelled_lines("look", look, Tone.CODE)
    if approval.subject in _LOOKED_AT_BY:
        looks = f"interlock {_LOOKED_AT_BY[approval.subject]} {run}"
        yield from labelled_lines("look", looks, Tone.CODE)
    if item.review is not None:
        yield from choice_lines(item.review, indent="  ")
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
    return f"{asked}, {STATES[approval.state][0]} by {who}{used}"


def _decided_lines(
    approval: Approval, rule: str | None, question: LoopQuestion | None, client: str
) -> Iterator[Line]:
    if approval.state is ApprovalState.GRANTED:
        tone, run, action = Tone.ALLOW, "the run may go on", "it may happen once"
    else:
        tone, run, action = Tone.BLOCK, "the run stays stopped", "it must not happen"
    meaning = run if approval.subject in _OF_RUNS else action
    yield badge_line(STATES[approval.state][0].upper(), tone, meaning)
    asked = approval.summary if question is None else choice_text(question.choice)
    yield (Span(f"  {asked}", Tone.CODE),)
    if question is not None:
        yield from _loop_lines(approval, question)
    elif approval.subject is not Subject.LOOP:
        yield from labelled_lines("next", _after_decision(approval, client))
    if rule is not None:
        yield from _rule_lines(rule)


def _rule_lines(rule: str) -> Iterator[Line]:
    """Yield the lines to be added to a policy, or why there are none."""
    lines = [line for line in rule.splitlines() if line]
    yield ()
    if all(line.startswith(NO_RULE) for line in lines):
        for line in lines:
            yield from wrapped_lines((), f"N{line.removeprefix('# n')}", Tone.FAINT)
        yield (Span("A person is asked about it each time.", Tone.FAINT),)
        return
    file = settings.current_places().user_file
    about = f"To be asked no more about exactly this, add to {file}; nothing was changed:"
    yield from ((Span(about, Tone.FAINT),), ())
    for line in rule.splitlines():
        yield (Span(f"  {line}"),)
    yield from ((), (Span("Then have it count: interlock policy adopt", Tone.FAINT),))


def _after_decision(approval: Approval, client: str) -> str:
    """Return what comes next, for whoever has just decided."""
    is_run = approval.subject is Subject.RESUME
    if approval.state is not ApprovalState.GRANTED:
        again = (
            f"`interlock resume {code_of(approval.run_id)} --reason TEXT` lets it go on after all"
        )
        denied = "nothing to do: where the agent makes the same call again, it is denied"
        return again if is_run else denied
    if client == _STARTED_BY_US:
        return "nothing to do: `interlock run` waits for your answer and goes on by itself"
    if client in CLIENTS:
        return (
            "an agent that still waits goes on by itself; otherwise tell it `go on` in the same"
            f" session{_TAKEN_UP_BY.get(client, '')}"
        )
    if is_run:
        return "the agent asks for its next step again, and goes on"
    until = units.time_of_day(approval.expires_at)
    return (
        f"the agent makes the same call again, in the same run: it goes through once, until {until}"
    )


def _loop_lines(approval: Approval, question: LoopQuestion) -> Iterator[Line]:
    """Yield what follows from an answer to the loop, and where it stands."""
    if approval.state is ApprovalState.GRANTED:
        yield from labelled_lines("then", f"{question.effect}, in the loop's next cycle")
    look = f"interlock loop log --decision {code_of(question.decision_id)}"
    yield from labelled_lines("look", look, Tone.CODE)


_all_option: Final = click.option(
    "--all", "everything", is_flag=True, help="Every run of this ledger, and every new one."
)


@ledger_call("halt", decides=True)
@click.argument("run", metavar="[RUN]", required=False)
@_all_option
@reason_option
def halt_command(*, run: str | None, everything: bool, reason: str) -> None:
    """Stop a run and every run below it, until it is resumed.

    RUN is its code, as `interlock runs` shows it. Whatever the agent asks from now on is refused.
    With --all every run is stopped, no new one begins, and the loop emits nothing, until
    `interlock resume --all`.

    Examples:
      interlock halt R4X9TM --reason "it works on the wrong branch"
      interlock halt --all --reason "the token leaked"
    """
    if everything is (run is not None):
        raise click.UsageError("expected RUN, as `interlock runs` shows it, or `--all`")
    with governing() as interlock:
        if run is None:
            about = "every run of this ledger stops, and no new one begins"
            token = operator_token(interlock, "halt", [about])
            _show_all(interlock.halt_all(token=token, reason=reason), is_halted=True)
            return
        run_id = named_run(interlock.ledger, run)
        about = [run_line(interlock.governor.state(run_id))]
        token = operator_token(interlock, "halt", about)
        state = interlock.halt(run_id, token=token, reason=reason)
    resume = Span(f"interlock resume {code_of(run_id)} --reason TEXT", Tone.CODE)
    lines = (
        badge_line("HALTED", Tone.BLOCK, "it takes no further step, nor does a run below it"),
        (Span(f"  {state.task}", Tone.CODE),),
        (Span("  "), resume, Span(" lets it go on", Tone.FAINT)),
    )
    show(run_figures(state), lines)


@ledger_call("resume", decides=True)
@click.argument("run", metavar="[RUN]", required=False)
@_all_option
@reason_option
def resume_command(*, run: str | None, everything: bool, reason: str) -> None:
    """Resume a run that was paused, stopped or halted.

    RUN is its code, as `interlock runs` shows it; without one it is the only run that is held, or
    you choose from a list. Loops and limits on steps count anew from here. --all ends what
    `interlock halt --all` began; a run that is held by itself stays so.

    Examples:
      interlock resume R4X9TM --reason "the branch is right now"
      interlock resume --all --reason "the token is replaced"
    """
    if everything and run is not None:
        raise click.UsageError("`--all` is every run: leave RUN out")
    with governing() as interlock:
        if everything:
            about = "runs of this ledger may go on and begin"
            token = operator_token(interlock, "resume", [about])
            _show_all(interlock.lift_all(token=token, reason=reason), is_halted=False)
            return
        run_id = held_run(interlock, run, "resume")
        state = interlock.governor.state(run_id)
        hold = state.control.hold
        if hold is not None and hold.approval is not None:
            _refuse_used_up(interlock, found_approval(interlock.ledger.rows, hold.approval))
        token = operator_token(interlock, "resume", [run_line(state)])
        state = interlock.lift(run_id, token=token, reason=reason)
        now = current_time()
        holds = holds_on(interlock.ledger, state, now)
    still = ", once no run above it is held" if holds else ""
    lines = (
        badge_line("RESUMED", Tone.ALLOW, f"it may go on{still}"),
        (Span(f"  {state.task}", Tone.CODE),),
        *hold_lines(holds, run_id, now),
    )
    show(run_figures(state), lines)


def _refuse_used_up(interlock: Interlock, approval: Approval) -> None:
    """Raise InputError where a run would be stopped again at once, before a passphrase is typed."""
    # A policy that was adopted since the run's last step counts already.
    named = interlock.governor.context.policy_limits
    limits = stopped_by(interlock.ledger, approval.id, current_time(), named)
    refuse_used_up(approval, limits)


def _show_all(runs: int, *, is_halted: bool) -> None:
    at_work = units.counted(runs, "run")
    if is_halted:
        resume = Span("interlock resume --all --reason TEXT", Tone.CODE)
        lines: Sequence[Line] = (
            badge_line("HALTED", Tone.BLOCK, f"{at_work} at work, and no new one begins"),
            (Span("  "), resume, Span(" lets them go on", Tone.FAINT)),
        )
    else:
        lines = (badge_line("RESUMED", Tone.ALLOW, f"{at_work} at work may go on, new ones begin"),)
    show({"all_halted": is_halted, "runs": runs}, lines)
