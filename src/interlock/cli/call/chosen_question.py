"""Which question or run a person means: by its code, the only one there is, or one of a list.

INVARIANT: what is decided is shown at the terminal before the passphrase for it is typed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import click

from interlock.cli.call.ledger_access import check_may_decide, current_time
from interlock.cli.call.terminal import Terminal, terminal
from interlock.cli.text.render import escape, terminal_width
from interlock.cli.text.tables import cut
from interlock.errors import InputError, NotPermittedError, UnknownError
from interlock.ledger.abbreviations import found_approval, found_run, named
from interlock.ledger.ledger import Ledger
from interlock.model.approval import Approval, Subject
from interlock.model.hook import is_canary
from interlock.model.rows import RunRow
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.model.short_code import code_of, codes_of
from interlock.model.system_loop import LOOP_RUN
from interlock.ports import ALL
from interlock.processes import is_alive
from interlock.service.interlock import Interlock
from interlock.service.records.approvals import check_is_open
from interlock.views.inbox import loop_question
from interlock.views.loop_timeline import choice_text
from interlock.views.question_view import asked_folder
from interlock.views.timeline import reason_text

_MOST_LISTED: Final = 20
_MOST_LOOKED_AT: Final = 200
"""So many of the latest runs are looked at for the one that is meant."""
_STILL_AT_WORK_US: Final = 3_600_000_000
"""A run whose process nobody knows counts as at work for so long after its last record."""
_OWN: Final = (LEDGER_RUN, LOOP_RUN)


class Option(NamedTuple):
    """Something to choose, in one line."""

    id: str
    text: str


class Menu(NamedTuple):
    """What may be chosen, and what is said where that is not clear."""

    noun: str
    options: Sequence[Option]
    command: str
    """What is typed to name one of them."""
    listed_by: str
    nothing: str
    """What is said where there is nothing to choose."""


def chosen_questions(
    interlock: Interlock, asked: Sequence[str], command: str, *, about_reviews: bool = False
) -> list[Approval]:
    """Return the open questions that are meant, each once: the named ones, or those picked."""
    rows, now = interlock.ledger.rows, current_time()
    if asked:
        found = [found_approval(rows, each) for each in asked]
    else:
        known = {
            each.id: each
            for each in rows.approvals(state="pending", limit=ALL)
            if each.is_open_at(now) and (each.subject is Subject.REVIEW) is about_reviews
        }
        noun = "review" if about_reviews else "question"
        menu = Menu(
            noun,
            [Option(each.id, _asks(interlock.ledger, each)) for each in known.values()],
            f"interlock {command}",
            "interlock approvals",
            f"no {noun} waits for an answer: `interlock approvals --all` lists what was answered",
        )
        found = [known[each] for each in _picked(interlock, menu, command)]
    for each in found:
        check_is_open(each, now)
    return list({each.id: each for each in found}.values())


def chosen_review(interlock: Interlock, asked: Sequence[str], command: str) -> Approval:
    """Return the question about a review that is meant."""
    found = chosen_questions(interlock, asked, command, about_reviews=True)
    if len(found) > 1:
        raise InputError("choose for one review at a time: nothing was changed")
    return found[0]


def ask_to_abort(interlock: Interlock, run_id: str, command: str) -> None:
    """Ask a person at the terminal whether a run is to be ended; raise InputError for a no."""
    check_may_decide(interlock, command)
    state = interlock.governor.state(run_id)
    with terminal() as at:
        at.show(run_line(state))
        if at.answered("this ends the run for good: type `abort` to go on") != "abort":
            raise InputError("it was not confirmed: the run goes on as before")


def question_lines(ledger: Ledger, approvals: Sequence[Approval]) -> Iterator[str]:
    """Yield each question in full, for whoever is about to answer it."""
    for each in approvals:
        run = ledger.rows.run(each.run_id)
        yield f"{each.code}  {_asks(ledger, each)}"
        if folder := asked_folder(ledger, each):
            yield f"        in   {folder}"
        for finding in each.findings:
            yield f"        why  {reason_text(finding)}"
        if run is not None and each.subject is not Subject.LOOP:
            yield f"        run  {code_of(run.id)} ({run.agent}: {run.task})"


def held_run(interlock: Interlock, text: str | None, command: str) -> str:
    """Return the id of the run that is meant: the named one, or one of those that are held."""
    if text is not None:
        return named_run(interlock.ledger, text)
    held = [each for each in _at_work(interlock.ledger) if each.control.hold is not None]
    menu = Menu(
        "run",
        [Option(each.id, f"{each.agent}: {each.task}") for each in held],
        f"interlock {command}",
        "interlock runs",
        "no run is held: `interlock runs` lists those at work",
    )
    picked = _picked(interlock, menu, command)
    if len(picked) > 1:
        raise InputError("choose one run at a time: nothing was changed")
    return picked[0]


def named_run(ledger: Ledger, text: str) -> str:
    """Return the id of the run that is named, which may be held."""
    run_id = found_run(ledger.rows, text).id
    if run_id == LEDGER_RUN:
        raise InputError("`ledger` is the chain of the ledger itself: it is no run to be held")
    return run_id


def run_line(state: RunState) -> str:
    """Return a run in a line, for whoever is about to decide on it."""
    return f"{code_of(state.id)}  {state.agent}: {state.task}"


def run_or_latest(ledger: Ledger, text: str | None) -> str:
    """Return the run that is named, or else the one that a person most likely means.

    That is the latest that waits for a person, else the latest at work, else the latest of all;
    which one it is, is said on standard error.
    """
    if text is not None:
        return text
    rows, now = ledger.rows, current_time()
    pending = rows.approvals(state="pending", limit=ALL)
    waiting = {each.run_id for each in pending if each.is_open_at(now)}
    latest = [row for row in rows.runs(limit=_MOST_LOOKED_AT) if row.id not in _OWN]
    running = rows.runs(limit=_MOST_LOOKED_AT, status=RunStatus.RUNNING.value)
    running = [row for row in running if row.id not in _OWN and not is_canary(row.task)]
    chosen = (
        ("it waits for a person", [row for row in running if row.id in waiting]),
        ("it is at work", [row for row in running if _is_at_work(row, now)]),
        ("the latest", [row for row in latest if not is_canary(row.task)] or latest),
    )
    for why, found in chosen:
        if found:
            about = f"run {code_of(found[0].id)} ({why}); `interlock runs` lists the others"
            click.echo(about, err=True)
            return found[0].id
    raise UnknownError("there is no run yet: `interlock run -- COMMAND` starts one")


def _is_at_work(row: RunRow, now: int) -> bool:
    """Whether a run that nobody ended is still at work, as far as anybody can tell."""
    if row.process:
        return is_alive(row.process)
    return now - row.updated_at < _STILL_AT_WORK_US


def _at_work(ledger: Ledger) -> Iterator[RunState]:
    for row in ledger.rows.runs(limit=ALL, status=RunStatus.RUNNING.value):
        state = ledger.state(row.id)
        if state is not None:
            yield state


def _asks(ledger: Ledger, approval: Approval) -> str:
    """Return what is asked, in one line."""
    asked = loop_question(ledger, approval) if approval.subject is Subject.LOOP else None
    return approval.summary if asked is None else choice_text(asked.choice)


def _picked(interlock: Interlock, menu: Menu, command: str) -> list[str]:
    """Return the ids that a person picks; where there is one only, that one."""
    check_may_decide(interlock, command)
    if not menu.options:
        raise UnknownError(menu.nothing)
    if len(menu.options) == 1:
        return [menu.options[0].id]
    try:
        with terminal() as at:
            return _picked_at(at, menu)
    except NotPermittedError as error:
        codes = codes_of([each.id for each in menu.options])
        known = ", ".join(
            f"`{codes[each.id]}` ({escape(each.text)})" for each in menu.options[:_MOST_LISTED]
        )
        raise InputError(
            f"{len(menu.options)} {menu.noun}s wait: name one, `{menu.command} CODE`: {known}"
        ) from error


def _picked_at(at: Terminal, menu: Menu) -> list[str]:
    codes = codes_of([each.id for each in menu.options])
    room = max(terminal_width(), 40) - 16
    for place, each in enumerate(menu.options[:_MOST_LISTED], start=1):
        at.show(f"{place:>4}  {codes[each.id]}  {cut(each.text, room)}")
    more = len(menu.options) - _MOST_LISTED
    if more > 0:
        at.show(f"      and {more} more: {menu.listed_by}")
    words = at.answered(f"which {menu.noun}, by number or code").split()
    if not words:
        raise InputError("nothing was chosen: nothing was changed")
    return [_meant(word, menu) for word in words]


def _meant(word: str, menu: Menu) -> str:
    if word.isdecimal() and len(word) <= len(str(_MOST_LISTED)):
        place = int(word)
        if not 1 <= place <= min(len(menu.options), _MOST_LISTED):
            most = min(len(menu.options), _MOST_LISTED)
            raise InputError(f"there is no number {word}: choose from 1 to {most}")
        return menu.options[place - 1].id
    return named(menu.noun, word, ((each.id, each.id) for each in menu.options), menu.listed_by)
