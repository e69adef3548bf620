"""The same ledger for every test of the service: in memory, in a file, or in Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from effort import DURABLE, LOCAL
from gates.policies import gates_with
from interlock import Interlock
from service.ledgers import HandClock, OpenInterlock, operator_of


@pytest.fixture
def clock() -> HandClock:
    """A clock that stands at noon."""
    return HandClock()


@pytest.fixture(params=LOCAL)
def opened(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock
) -> Iterator[OpenInterlock]:
    """Opens an empty ledger under a policy, in a file or in memory."""
    place = ":memory:" if request.param == "memory" else str(tmp_path / "ledger.db")
    with ExitStack() as stack:
        yield _opener(stack, place, tmp_path / "keys", clock)


@pytest.fixture(params=DURABLE)
def reopened(
    request: pytest.FixtureRequest, tmp_path: Path, clock: HandClock
) -> Iterator[OpenInterlock]:
    """Opens the same ledger each time it is called, wherever ledgers last."""
    is_file = request.param == "sqlite"
    place = (
        str(tmp_path / "ledger.db") if is_file else request.getfixturevalue("postgres_ledger_url")
    )
    with ExitStack() as stack:
        yield _opener(stack, place, tmp_path / "keys", clock)


@pytest.fixture
def interlock(opened: OpenInterlock) -> Interlock:
    """An empty ledger under the default policy."""
    return opened()


@pytest.fixture
def operator(interlock: Interlock) -> str:
    """The token of the ledger's operator."""
    return operator_of(interlock)


def _opener(stack: ExitStack, place: str, keys: Path, clock: HandClock) -> OpenInterlock:
    def open_it(policy: str = "") -> Interlock:
        gates = gates_with(policy)
        return stack.enter_context(Interlock.open(place, policy=gates, clock=clock, keys=keys))

    return open_it
