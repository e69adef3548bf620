"""Which ledger counts for this call, and how it is opened and left in good order."""

from __future__ import annotations

import getpass
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from interlock.errors import InputError, LedgerError

if TYPE_CHECKING:
    from interlock.ledger.ledger import Ledger
    from interlock.model.principal import Principal
    from interlock.policy.config.compiled import CompiledPolicy
    from interlock.service.interlock import Interlock


_PLACE: Final = "interlock.ledger"
_MEMORY: Final = ":memory:"
_Decorated = TypeVar("_Decorated", bound=Callable[..., object])


def ledger_option(command: _Decorated) -> _Decorated:
    """Add `--ledger`; `reading_ledger` and `governing` obey it."""

    def remember(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
        if value:
            ctx.meta[_PLACE] = value

    option = click.option(
        "--ledger",
        metavar="PATH_OR_URL",
        expose_value=False,
        callback=remember,
        help="The ledger: a file, or the URL of a Postgres.",
    )
    return option(command)


def chosen_place() -> str:
    """Return the path or URL that the call or the environment names."""
    from interlock import settings  # noqa: PLC0415 - commands import late, so that others start fast

    place: str = (
        click.get_current_context().meta.get(_PLACE) or settings.current_ledger_places().ledger
    )
    if place == _MEMORY:
        raise InputError(
            f"`{_MEMORY}` ends with the program that opened it: name a file or a URL with --ledger"
        )
    return place


@contextmanager
def reading_ledger() -> Generator[Ledger]:
    """Open the ledger that counts; one that is not there is not made."""
    place = chosen_place()
    _require(place)
    ledger = _opened(place)
    close = _closing(ledger)
    try:
        yield ledger
    finally:
        close()


@contextmanager
def governing(*, creates: bool = False) -> Generator[Interlock]:
    """Open the ledger that counts for changes, under the policy that it has itself.

    INVARIANT: a person's decision changes no policy, in whatever folder it is made.
    """
    from interlock.service.governor import Governor  # noqa: PLC0415 - the same
    from interlock.service.interlock import Interlock  # noqa: PLC0415 - the same
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - commands import late

    place = chosen_place()
    if not creates:
        _require(place)
    ledger = _opened(place)
    try:
        interlock = Interlock(Governor(ledger, _own_gates(ledger), SystemClock()))
    except BaseException:
        ledger.close()
        raise
    with interlock:
        yield interlock


def is_local(place: str) -> bool:
    """Whether a ledger is a file of this computer."""
    return "://" not in place


def _opened(place: str) -> Ledger:
    from interlock import settings  # noqa: PLC0415 - commands import late
    from interlock.service.ledgers import open_ledger  # noqa: PLC0415 - the same

    return open_ledger(place, keys=settings.current_ledger_places().keys)


def _closing(ledger: Ledger) -> Callable[[], None]:
    from interlock.service.leaving import close_at_exit  # noqa: PLC0415 - commands import late

    return close_at_exit(ledger)


def _own_gates(ledger: Ledger) -> CompiledPolicy:
    """Return the ledger's own policy, or for a new ledger the one that counts here."""
    from interlock import settings  # noqa: PLC0415 - commands import late
    from interlock.model.run import LEDGER_RUN  # noqa: PLC0415 - the same
    from interlock.service.policies import stored_gates  # noqa: PLC0415 - the same
    from interlock.service.policy_files import load_policy  # noqa: PLC0415 - the same

    state = ledger.state(LEDGER_RUN)
    if state is not None and state.policy_hash:
        return stored_gates(ledger.rows, state.policy_hash)
    places = settings.current_places()
    return load_policy(user=places.user, project=places.project)


def _require(place: str) -> None:
    """Refuse a ledger that is not there: to look at something must not make it."""
    found = Path(place).expanduser().exists() if is_local(place) else _has_tables(place)
    if not found:
        shown = place if is_local(place) else _without_password(place)
        raise LedgerError(
            f"there is no ledger at `{shown}`: the first run makes one, and so does"
            " `interlock ledger operator NAME`; --ledger or INTERLOCK_LEDGER names another one"
        )


def _has_tables(url: str) -> bool:
    try:
        from interlock.ledger.stores.postgres_connection import Address  # noqa: PLC0415 - only with the extra
    except ImportError:
        # Opening it will say what has to be installed.
        return True
    if not url.startswith(("postgres://", "postgresql://")):
        return True
    address = Address(url)
    with address.clear_errors("the ledger was not opened"), address.connect() as connection:
        row = connection.execute("SELECT to_regclass('interlock_schema')").fetchone()
    return row is not None and row[0] is not None


def _without_password(url: str) -> str:
    from interlock.ledger.stores.postgres_connection import Address  # noqa: PLC0415 - only with the extra

    return Address(url).name


_USER_FILE: Final = "interlock.policy"
_NO_PROJECT: Final = "interlock.no-project"
_Decorated_of_policy_choice = TypeVar("_Decorated", bound=Callable[..., object])


def policy_options(command: _Decorated_of_policy_choice) -> _Decorated_of_policy_choice:
    """Add `--policy` and `--no-project`; `chosen_gates` obeys them."""
    policy = click.option(
        "--policy",
        metavar="FILE",
        type=click.Path(path_type=Path),
        expose_value=False,
        callback=_remembered(_USER_FILE),
        help="Use this file as the user's policy.",
    )
    no_project = click.option(
        "--no-project",
        is_flag=True,
        expose_value=False,
        callback=_remembered(_NO_PROJECT),
        help="Leave the project's policy aside.",
    )
    return policy(no_project(command))


def chosen_gates() -> CompiledPolicy:
    """Load the policy that counts for the running command."""
    from interlock import settings  # noqa: PLC0415 - commands import late, so that others start fast
    from interlock.service import policy_files  # noqa: PLC0415 - the same

    chosen = click.get_current_context().meta
    places = settings.current_places()
    return policy_files.load_policy(
        user=chosen.get(_USER_FILE) or places.user,
        project=None if chosen.get(_NO_PROJECT) else places.project,
    )


def _remembered(key: str) -> Callable[[click.Context, click.Parameter, object], None]:
    """Note an option for the whole call, so that it may stand before or behind a subcommand."""

    def remember(ctx: click.Context, _: click.Parameter, value: object) -> None:
        if value:
            ctx.meta[key] = value

    return remember


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
