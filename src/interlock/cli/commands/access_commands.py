"""`interlock token`: what programs ask with; `interlock login`: a person's way into the console."""

from __future__ import annotations

import http.client
import json
import socket
from typing import Any, Final, cast

import click

from interlock import settings
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
from interlock.service.people.operators import all_tokens
from interlock.views import units

_PATIENCE_S: Final = 30.0
_DECIDING: Final = (Scope.OPERATOR, Scope.ADMIN)
_COLUMNS: Final = (
    Column("name", stretches=True),
    Column("scope"),
    Column("for", right=True),
    Column("credential"),
)


@click.group("token")
@ledger_option
def token_command() -> None:
    """List the tokens of programs, make one, or let one go."""


@ledger_call("list", group=token_command)
def list_command() -> None:
    """List the tokens that count, by what the record calls them."""
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
    none = "no program has a token: `interlock token add NAME --scope SCOPE` makes one"
    lines = table_lines(_COLUMNS, rows, width=terminal_width()) if found else [(Span(none),)]
    show(found, lines)


@ledger_call("add", group=token_command, decides=True)
@click.argument("name")
@click.option(
    "--scope",
    required=True,
    type=click.Choice([each.value for each in Scope]),
    help="What it is good for.",
)
def add_command(*, name: str, scope: str) -> None:
    """Make a token for the program NAME; it is shown this once.

    `agent` asks in runs of its own, `viewer` looks, `operator` decides, `admin` changes policies
    and tokens as well. One that decides is shown at the terminal only: no pipe gets it.
    """
    is_deciding = Scope(scope) in _DECIDING
    if is_deciding:
        _refuse_json("a token that decides")
    with governing() as interlock:
        token = operator_token(interlock, "add a token")
        made = interlock.add_token(name, scope=scope, token=token)
    if not is_deciding:
        show({"name": name, "scope": scope, "token": made}, [(Span(made),)])
        return
    with terminal() as at:
        at.show(f"token of {name} ({scope}), shown this once: {made}")
    show({"name": name}, [badge_line("LET IN", Tone.ALLOW, f"{name} may ask as {scope}")])


@ledger_call("revoke", group=token_command, decides=True)
@click.argument("credential")
def revoke_command(*, credential: str) -> None:
    """Let a token go; CREDENTIAL is what `interlock token list` calls it."""
    with governing() as interlock:
        token = operator_token(interlock, "revoke a token")
        interlock.revoke_token(credential, token=token)
    revoked = badge_line("REVOKED", Tone.BLOCK, "it opens nothing any more")
    show({"revoked": credential}, [revoked])


@ledger_call("login", decides=True)
def login_command() -> None:
    """Show a link that opens the console once, as you, within ten minutes.

    The server of this ledger has to run: `interlock serve`. The link is shown at the terminal
    only: no program gets it.
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
