"""Which ledger counts for this call, and how it is opened and left in good order."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from interlock.errors import InputError, LedgerError

if TYPE_CHECKING:
    from interlock.ledger.ledger import Ledger
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
    from interlock.service.policies import PolicyBook  # noqa: PLC0415 - the same
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - commands import late

    place = chosen_place()
    if not creates:
        _require(place)
    ledger = _opened(place)
    try:
        interlock = Interlock(Governor(ledger, PolicyBook(_own_gates(ledger)), SystemClock()))
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
    from interlock.service.wiring import load_gates  # noqa: PLC0415 - the same

    state = ledger.state(LEDGER_RUN)
    if state is not None and state.policy_hash:
        return stored_gates(ledger.rows, state.policy_hash)
    places = settings.current_places()
    return load_gates(user=places.user, project=places.project)


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
