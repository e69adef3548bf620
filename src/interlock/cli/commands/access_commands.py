"""`interlock token`: what programs ask with; `interlock login`: a person's way into the console."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, Final, cast

import click

from interlock import settings
from interlock.cli.call.command_names import Commands
from interlock.cli.call.ledger_access import (
    current_time,
    governing,
    operator_token,
    reading_ledger,
)
from interlock.cli.call.options import chosen_place, ledger_call, ledger_option, show, wants_json
from interlock.cli.call.terminal import terminal
from interlock.cli.text.render import Span, Tone, badge_line, terminal_width
from interlock.cli.text.tables import Column, table_lines
from interlock.errors import InputError, NotPermittedError, UnavailableError
from interlock.model.principal import Scope
from interlock.service.people.operators import Token, all_tokens
from interlock.views import units

_PATIENCE_S: Final = 30.0
_DECIDING: Final = (Scope.OPERATOR, Scope.ADMIN)
_COLUMNS: Final = (
    Column("name", stretches=True),
    Column("role"),
    Column("for", right=True),
    Column("credential"),
)


@click.group("token", cls=Commands)
@ledger_option
def token_command() -> None:
    """Manage the tokens of agents and programs."""


@ledger_call("list", group=token_command)
def list_command() -> None:
    """List the tokens that are valid, by what the record calls them.

    Examples:
      interlock token list
      interlock token list --json
    """
    with reading_ledger() as ledger:
        found = all_tokens(ledger)
    now = current_time()
    rows = [
        [
            Span(each.name, Tone.STRONG),
            Span(each.scope.value),
            Span(units.span(now - each.since), Tone.FAINT),
            Span(each.credential, Tone.CODE),
        ]
        for each in found
    ]
    none = "no program has a token: `interlock token create NAME --role ROLE` makes one"
    lines = table_lines(_COLUMNS, rows, width=terminal_width()) if found else [(Span(none),)]
    show([_token_value(each) for each in found], lines)


def _token_value(token: Token) -> dict[str, object]:
    return {
        "name": token.name,
        "role": token.scope,
        "since": token.since,
        "credential": token.credential,
    }


@ledger_call("create", group=token_command, decides=True)
@click.argument("name")
@click.option(
    "--role",
    required=True,
    type=click.Choice([each.value for each in Scope]),
    help="What it may do.",
)
def create_command(*, name: str, role: str) -> None:
    """Create a token for the agent or program NAME; it is shown this once.

    `agent` asks in runs of its own, `viewer` looks, `operator` decides, `admin` changes policies
    and tokens as well. One that decides is shown at the terminal only: no pipe gets it. An agent
    has its token in INTERLOCK_TOKEN.

    Examples:
      interlock token create claude --role agent
      interlock token create dashboard --role viewer --json
    """
    is_deciding = Scope(role) in _DECIDING
    if is_deciding:
        _refuse_json("a token that decides")
    with governing() as interlock:
        token = operator_token(interlock, "create a token")
        made = interlock.add_token(name, scope=role, token=token)
    if not is_deciding:
        show({"name": name, "role": role, "token": made}, [(Span(made),)])
        return
    with terminal() as at:
        at.show(f"token of {name} ({role}), shown this once: {made}")
    show({"name": name}, [badge_line("CREATED", Tone.ALLOW, f"{name} may ask as {role}")])


@ledger_call("revoke", group=token_command, decides=True)
@click.argument("named", metavar="NAME")
def revoke_command(*, named: str) -> None:
    """Revoke the tokens of NAME, or the one whose credential `interlock token list` shows so.

    Examples:
      interlock token revoke dashboard
    """
    with governing() as interlock:
        known = all_tokens(interlock.ledger)
        found = [each.credential for each in known if named in (each.name, each.credential)]
        token = operator_token(interlock, "revoke a token")
        for each in found or [named]:
            interlock.revoke_token(each, token=token)
    told = f"{units.counted(len(found), 'token')} of {named}: no longer valid"
    show({"revoked": named, "credentials": found}, [badge_line("REVOKED", Tone.BLOCK, told)])


@ledger_call("login", decides=True)
def login_command() -> None:
    """Show a link that opens the web console as you.

    The link works once, within ten minutes. The server of this ledger has to run: `interlock
    serve`. The link is shown at the terminal only: no program gets it.

    Examples:
      interlock login
    """
    _refuse_json("a link into the console")
    with governing() as interlock:
        token = operator_token(interlock, "open the console")
    link = console_link(chosen_place(), token)
    with terminal() as at:
        at.show(f"open this once, within {link['seconds'] // 60} minutes: {link['url']}")


def _refuse_json(what: str) -> None:
    if wants_json():
        raise InputError(f"{what} is a secret, shown at the terminal only: leave `--json` out")


def console_link(ledger: str, token: str) -> dict[str, Any]:
    """Ask the server of a ledger that runs here for a link."""
    place = str(settings.current_server_places(ledger).socket)
    connection = _SocketConnection(place)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    try:
        connection.request("POST", "/v1/links", b"{}", headers)
        answer = connection.getresponse()
        told = cast("dict[str, Any]", json.loads(answer.read()))
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UnavailableError(
            f"no server answers at {place}: {error}; start one with `interlock serve`"
        ) from error
    finally:
        connection.close()
    if answer.status != 201:
        raise NotPermittedError(str(told.get("detail", "the server refused")))
    return told


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over the socket of a file."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_PATIENCE_S)
        self._path = path

    def connect(self) -> None:
        """Connect to the file."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(_PATIENCE_S)
        self.sock.connect(self._path)
