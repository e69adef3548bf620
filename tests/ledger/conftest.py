"""Every store there is, each behind the same door."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.memory import MemoryStore
from interlock.ledger.stores.postgres import PostgresStore
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.ports import Store
from ledger.events import KEY

OpenLedger = Callable[[], Ledger]
DURABLE = ["sqlite", "postgres"]


@pytest.fixture(params=["memory", *DURABLE])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Opens a store, each time on the same rows."""
    match request.param:
        case "memory":
            kept = MemoryStore()
            return lambda: kept
        case "sqlite":
            return lambda: SqliteStore(tmp_path / "ledger.db")
        case _:
            url = request.getfixturevalue("postgres_ledger_url")
            return lambda: PostgresStore(url)


@pytest.fixture
def open_ledger(open_store: Callable[[], Store]) -> Iterator[OpenLedger]:
    """Opens a ledger, each time on the same rows, and closes it when the test is over."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(Ledger(open_store(), key=KEY))


@pytest.fixture
def ledger(open_ledger: OpenLedger) -> Ledger:
    """An empty ledger."""
    return open_ledger()
