"""The ledger of this call: opened to be read, and left in good order."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from interlock import settings
from interlock.cli.call.options import chosen_place
from interlock.errors import LedgerError
from interlock.ledger.ledger import Ledger


@contextmanager
def reading_ledger() -> Generator[Ledger]:
    """Open the ledger that counts; one that is not there is not made."""
    from interlock.cli.call.process_exit import close_at_exit  # noqa: PLC0415 - the service, not for `--help`

    place = chosen_place()
    require_ledger(place)
    ledger = opened_ledger(place)
    close = close_at_exit(ledger)
    try:
        yield ledger
    finally:
        close()


def is_local(place: str) -> bool:
    """Whether a ledger is a file of this computer."""
    return "://" not in place


def current_time() -> int:
    """Return the present moment, as records have it."""
    from interlock.service.records.context import SystemClock  # noqa: PLC0415 - the same

    return SystemClock().now()


def opened_ledger(place: str) -> Ledger:
    """Open the ledger at a place; where there is none it is made."""
    from interlock.service.ledgers import open_ledger  # noqa: PLC0415 - the same

    return open_ledger(place, keys=settings.current_ledger_places().keys)


def require_ledger(place: str) -> None:
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
