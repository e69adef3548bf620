"""The ledger of this call to decide in: under which policy, and by whose credential."""

from __future__ import annotations

import getpass
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from interlock import settings
from interlock.cli.call.ledger_access import is_local, opened_ledger, require_ledger
from interlock.cli.call.options import chosen_place
from interlock.cli.call.process_exit import close_at_exit
from interlock.errors import LedgerError
from interlock.ledger.ledger import Ledger
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.run import LEDGER_RUN
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.service.credentials import (
    CredentialGrant,
    authenticated,
    new_token,
    require_operator,
)
from interlock.service.governor import Governor
from interlock.service.interlock import Interlock
from interlock.service.policies.policy_book import PolicyBook, stored_gates
from interlock.service.policies.policy_files import load_policy
from interlock.service.records.context import SystemClock

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@contextmanager
def governing(*, creates: bool = False) -> Generator[Interlock]:
    """Open the ledger that counts for changes, under the policy that it has itself.

    INVARIANT: a person's decision changes no policy, in whatever folder it is made.
    """
    place = chosen_place()
    if not creates:
        require_ledger(place)
    ledger = opened_ledger(place)
    try:
        interlock = Interlock(Governor(ledger, PolicyBook(_own_policy(ledger)), SystemClock()))
    except BaseException:
        ledger.close()
        raise
    close = close_at_exit(ledger)
    try:
        yield interlock
    finally:
        close()


def operator_token(interlock: Interlock) -> str:
    """Return the token of whoever decides.

    `INTERLOCK_TOKEN` counts before the token file. Where there is neither, and a local ledger
    has no operator yet, this person becomes the first one.
    """
    places = settings.current_ledger_places()
    if places.token is not None:
        return places.token
    token = _stored_token(places.token_file)
    if is_local(chosen_place()) and not has_operator(interlock):
        return _first_operator(interlock, token, places.token_file)
    if token is None:
        authenticated(interlock.ledger.rows, None)
        raise LedgerError("no credential was given")
    return token


def operator(interlock: Interlock) -> Principal:
    """Return who decides; raise NotPermittedError if it is nobody who may."""
    return require_operator(authenticated(interlock.ledger.rows, operator_token(interlock)))


def has_operator(interlock: Interlock) -> bool:
    """Whether anybody may decide in this ledger yet."""
    return any(row.kind == "operator" for row in interlock.ledger.rows.credentials())


def _own_policy(ledger: Ledger) -> CompiledPolicy:
    """Return the ledger's own policy, or for a new ledger the one that counts here."""
    state = ledger.state(LEDGER_RUN)
    if state is not None and state.policy_hash:
        return stored_gates(ledger.rows, state.policy_hash)
    places = settings.current_places()
    return load_policy(user=places.user, project=places.project)


def _first_operator(interlock: Interlock, token: str | None, file: Path) -> str:
    name = _user_name()
    if token is None:
        token = new_token()
        _store_token(file, token)
        click.echo(f"`{file}` holds your credential as operator from now on", err=True)
    governor = interlock.governor
    governor.answer(CredentialGrant(kind=PrincipalKind.OPERATOR, name=name, token=token))
    click.echo(f"you are `{name}`, the first operator of this ledger", err=True)
    return token


def _stored_token(file: Path) -> str | None:
    try:
        if file.stat().st_mode & _OTHERS:
            raise LedgerError(f"`{file}` can be read by others: run `chmod 600 {file}`")
        return file.read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None


def _store_token(file: Path, token: str) -> None:
    """Write the token file, readable by nobody else from its first moment on."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, stat.S_IRUSR | stat.S_IWUSR)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(f"{token}\n")


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "operator"
