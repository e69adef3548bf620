"""Who decides: the credential of this call, and how a person becomes the first operator."""

from __future__ import annotations

import getpass
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from interlock.cli.ledger_choice import chosen_place, is_local
from interlock.errors import LedgerError

if TYPE_CHECKING:
    from interlock.model.principal import Principal
    from interlock.service.interlock import Interlock

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def operator_token(interlock: Interlock) -> str:
    """Return the token of whoever decides.

    `INTERLOCK_TOKEN` counts before the token file. Where there is neither, and a local ledger
    has no operator yet, this person becomes the first one.
    """
    from interlock import settings  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.service.credentials import authenticated  # noqa: PLC0415 - the same

    places = settings.current_ledger_places()
    if places.token is not None:
        return places.token
    token = _kept_token(places.token_file)
    if is_local(chosen_place()) and not has_operator(interlock):
        return _first_operator(interlock, token, places.token_file)
    if token is None:
        authenticated(interlock.ledger.rows, None)
        raise LedgerError("no credential was given")
    return token


def operator(interlock: Interlock) -> Principal:
    """Return who decides; raise NotPermittedError if it is nobody who may."""
    from interlock.service.credentials import authenticated, require_operator  # noqa: PLC0415 - load late

    return require_operator(authenticated(interlock.ledger.rows, operator_token(interlock)))


def has_operator(interlock: Interlock) -> bool:
    """Whether anybody may decide in this ledger yet."""
    return any(row.kind == "operator" for row in interlock.ledger.rows.credentials())


def _first_operator(interlock: Interlock, token: str | None, file: Path) -> str:
    from interlock.model.principal import PrincipalKind  # noqa: PLC0415 - commands import late
    from interlock.service.credentials import grant, new_token  # noqa: PLC0415 - the same

    name = _user_name()
    if token is None:
        token = new_token()
        _keep_token(file, token)
        click.echo(f"`{file}` holds your credential as operator from now on", err=True)
    governor = interlock.governor
    governor.done(
        grant(governor.context, kind=PrincipalKind.OPERATOR, name=name, token=token, by=None)
    )
    click.echo(f"you are `{name}`, the first operator of this ledger", err=True)
    return token


def _kept_token(file: Path) -> str | None:
    try:
        if file.stat().st_mode & _OTHERS:
            raise LedgerError(f"`{file}` can be read by others: run `chmod 600 {file}`")
        return file.read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None


def _keep_token(file: Path, token: str) -> None:
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
