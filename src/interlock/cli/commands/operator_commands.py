"""`interlock setup` and `interlock operator`: who may decide, and how they come to."""

from __future__ import annotations

from typing import Final

import click

from interlock.cli.call.command_names import Commands
from interlock.cli.call.ledger_access import (
    current_time,
    first_governing,
    governing,
    operator_token,
    reading_ledger,
)
from interlock.cli.call.options import chosen_place, ledger_call, ledger_option, show
from interlock.cli.call.terminal import Terminal, terminal
from interlock.cli.text.render import Line, Span, Tone, badge_line, labelled_lines, terminal_width
from interlock.cli.text.summary_page import next_line
from interlock.cli.text.tables import Column, table_lines
from interlock.service.people.operators import (
    NewOperator,
    all_operators,
    check_decider,
    check_setup,
)
from interlock.settings import current_ledger_places, current_places, user_name
from interlock.views import units
from interlock.views.run_view import first_command

_COLUMNS: Final = (
    Column("name", stretches=True),
    Column("proves it by"),
    Column("for", right=True),
    Column("credential", spared=1),
)


@ledger_call("setup")
@click.argument("name", required=False)
def setup_command(*, name: str | None) -> None:
    """Make the first operator: the person who approves.

    NAME is yours, or what the operating system calls you. It is done once, at a terminal, before
    the first agent is at work. A ledger that is not there yet is made. The recovery code is shown
    this once: keep it away from this computer.

    Examples:
      interlock setup
      interlock setup anna
    """
    with terminal() as at, first_governing() as interlock:
        check_setup(interlock.governor.context)
        whose = name or user_name()
        made = interlock.set_up(whose, at.new_passphrase(whose))
        _show_code(at, made)
        waits = next(iter(interlock.governor.approvals("pending")), None)
        way = None if waits is None else first_command(interlock.ledger, waits, current_time())
    places = current_ledger_places()
    policy = str(current_places().user or "built in")
    value = {
        "operator": made.name,
        "ledger": chosen_place(),
        "keys": str(places.keys),
        "policy": policy,
    }
    lines: list[Line] = [badge_line("SET UP", Tone.ALLOW, f"{made.name} may decide")]
    for label, text in (("ledger", chosen_place()), ("keys", value["keys"]), ("policy", policy)):
        lines.extend(labelled_lines(label, text))
    if way is None:
        lines.append(next_line("interlock status", "says what is governed, and what comes next"))
    else:
        lines.append(next_line(way, "answers what waits for you"))
    show(value, lines)


@click.group("operator", cls=Commands)
@ledger_option
def operator_command() -> None:
    """Manage the people who may decide."""


@ledger_call("list", group=operator_command)
def list_command() -> None:
    """List everybody who may decide.

    Examples:
      interlock operator list
      interlock operator list --json
    """
    with reading_ledger() as ledger:
        found = all_operators(ledger)
    now = current_time()
    rows = [
        [
            Span(each.name, Tone.STRONG),
            Span(each.method),
            Span(units.span(now - each.since), Tone.FAINT),
            Span(each.credential, Tone.CODE),
        ]
        for each in found
    ]
    nobody = "there is no operator yet: `interlock setup` makes the first operator"
    lines = table_lines(_COLUMNS, rows, width=terminal_width()) if found else [(Span(nobody),)]
    show(found, lines)


@ledger_call("add", group=operator_command, decides=True)
@click.argument("name")
def add_command(*, name: str) -> None:
    """Let NAME decide as well; they type their own passphrase, after yours.

    Examples:
      interlock operator add ben
    """
    with governing() as interlock:
        token = operator_token(interlock, "add an operator")
        with terminal() as at:
            made = interlock.add_operator(name, at.new_passphrase(name), token=token)
            _show_code(at, made)
    show({"operator": name}, [badge_line("ADDED", Tone.ALLOW, f"{name} may decide")])


@ledger_call("revoke", group=operator_command, decides=True)
@click.argument("name")
def revoke_command(*, name: str) -> None:
    """Take NAME's right to decide away; the last operator stays.

    Examples:
      interlock operator revoke ben
    """
    with governing() as interlock:
        token = operator_token(interlock, "revoke an operator")
        interlock.revoke_operator(name, token=token)
    value = {"revoked": name, "kind": "operator"}
    show(value, [badge_line("REVOKED", Tone.BLOCK, f"what {name} had is no longer valid")])


@ledger_call("passphrase", group=operator_command, decides=True)
def passphrase_command() -> None:
    """Choose another passphrase; the one from before is no longer valid.

    Examples:
      interlock operator passphrase
    """
    with governing() as interlock:
        token = operator_token(interlock, "change a passphrase")
        with terminal() as at:
            interlock.change_passphrase(at.new_passphrase("yours"), token=token)
    show({"changed": True}, [badge_line("CHANGED", Tone.ALLOW, "the new passphrase counts")])


@ledger_call("recover", group=operator_command)
def recover_operator_command() -> None:
    """Choose another passphrase with the recovery code that you kept.

    The code counts once; another one is shown.

    Examples:
      interlock operator recover
    """
    with terminal() as at, governing() as interlock:
        check_decider(interlock.governor.context, "recover")
        code = at.typed("recovery code")
        made = interlock.recover_operator(code, at.new_passphrase("yours"))
        _show_code(at, made)
    show({"operator": made.name}, [badge_line("RECOVERED", Tone.ALLOW, f"{made.name} may decide")])


def _show_code(at: Terminal, made: NewOperator) -> None:
    """Show the code where it was asked for: standard output may go anywhere."""
    at.show(f"recovery code of {made.name}, shown this once: {made.recovery_code}")
    at.show("Write it down and keep it away from this computer: it is the way back in without")
    at.show("the passphrase.")
