"""The same for every test about undoing: a workplace, and a ledger wherever ledgers are kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from effort import DURABLE
from gates.policies import gates_with
from interlock import Interlock
from service.ledgers import HandClock
from undo_snapshots.workplace import POLICY, OpenInterlock, Workplace


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    """An empty folder to work in."""
    return Workplace(tmp_path / "here")


@pytest.fixture
def clock() -> HandClock:
    """A clock that stands at noon."""
    return HandClock()


@pytest.fixture(params=["memory", *DURABLE])
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, place: Workplace, clock: HandClock
) -> Iterator[OpenInterlock]:
    """Opens a ledger: in memory, or the same one each time in a file and in Postgres."""
    places = {"memory": lambda: ":memory:", "sqlite": lambda: str(tmp_path / "ledger.db")}
    where = places.get(request.param, lambda: str(request.getfixturevalue("postgres_ledger_url")))()
    with ExitStack() as stack:

        def open_it(policy: str = POLICY) -> Interlock:
            interlock = Interlock.open(
                where,
                policy=gates_with(policy),
                clock=clock,
                keys=tmp_path / "keys",
                undo_store=place.store,
            )
            return stack.enter_context(interlock)

        yield open_it
