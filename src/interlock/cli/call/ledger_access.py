"""The ledger of this call: to be read, or to decide in, by whose credential; left in good order."""

from __future__ import annotations

import atexit
import getpass
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

import click

from interlock import settings
from interlock.cli.call.options import chosen_place
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
from interlock.service.ledgers import open_ledger
from interlock.service.policies.policy_book import recompiled_policy
from interlock.service.policies.policy_files import load_policy
from interlock.service.records.context import SystemClock

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_ENDED_BY_SIGTERM: Final = 128 + signal.SIGTERM


@contextmanager
def reading_ledger(*, creates: bool = False) -> Generator[Ledger]:
    """Open the ledger that counts; one that is not there is not made, unless so wanted."""
    place = chosen_place()
    if not creates:
        _require_ledger(place)
    ledger = open_ledger(place, keys=settings.current_ledger_places().keys)
    close = close_at_exit(ledger)
    try:
        yield ledger
    finally:
        close()


@contextmanager
def governing(*, creates: bool = False) -> Generator[Interlock]:
    """Open the ledger that counts for changes, under the policy that it has itself.

    INVARIANT: a person's decision changes no policy, in whatever folder it is made.
    """
    with reading_ledger(creates=creates) as ledger:
        yield Interlock(Governor(ledger, _own_policy(ledger), SystemClock()))


def close_at_exit(ledger: Ledger) -> Callable[[], None]:
    """Return what closes the ledger; it is called at the latest when the program ends."""
    atexit.register(ledger.close)
    _end_on_sigterm()

    def close() -> None:
        atexit.unregister(ledger.close)
        ledger.close()

    return close


def current_time() -> int:
    """Return the present moment, as records have it."""
    return SystemClock().now()


def is_local(place: str) -> bool:
    """Whether a ledger is a file of this computer."""
    return "://" not in place


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


def _require_ledger(place: str) -> None:
    """Refuse a ledger that is not there: to look at something must not make it."""
    if is_local(place):
        missing = None if Path(place).expanduser().exists() else place
    else:
        missing = _name_without_tables(place)
    if missing is not None:
        raise LedgerError(
            f"there is no ledger at `{missing}`: the first run makes one, and so does"
            " `interlock ledger operator NAME`; --ledger or INTERLOCK_LEDGER names another one"
        )


def _name_without_tables(url: str) -> str | None:
    """Return what a database is called, without its password, if it holds no ledger."""
    try:
        from interlock.ledger.stores.postgres_connection import Address  # noqa: PLC0415 - only with the extra
    except ImportError:
        # Opening it will say what has to be installed.
        return None
    if not url.startswith(("postgres://", "postgresql://")):
        return None
    address = Address(url)
    with address.clear_errors("the ledger was not opened"), address.connect() as connection:
        row = connection.execute("SELECT to_regclass('interlock_schema')").fetchone()
    return address.name if row is None or row[0] is None else None


def _own_policy(ledger: Ledger) -> CompiledPolicy:
    """Return the ledger's own policy, or for a new ledger the one that counts here."""
    state = ledger.state(LEDGER_RUN)
    if state is not None and state.policy_hash:
        return recompiled_policy(ledger.rows, state.policy_hash)
    places = settings.current_places()
    return load_policy(user=places.user, project=places.project)


def _first_operator(interlock: Interlock, token: str | None, file: Path) -> str:
    try:
        name = getpass.getuser()
    except (OSError, KeyError):
        name = "operator"
    if token is None:
        token = new_token()
        _store_token(file, token)
        click.echo(f"`{file}` holds your credential as operator from now on", err=True)
    grant = CredentialGrant(kind=PrincipalKind.OPERATOR, name=name, token=token)
    interlock.governor.answer(grant)
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


def _end_on_sigterm() -> None:
    """Let a program that has no wish of its own end like any other when SIGTERM asks it to."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(signum: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001 - the shape of a handler
    sys.exit(_ENDED_BY_SIGTERM)
