"""A ledger of one's own on each durable store, and processes to share it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from concurrency.crew import Crew, Hands
from concurrency.places import NOON, Place
from concurrency.soundness import assert_sound
from effort import rounds


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An empty ledger at noon; when a test is through with it, everything in it adds up."""
    is_sqlite = request.param == "sqlite"
    url = (
        str(tmp_path / "ledger.db") if is_sqlite else request.getfixturevalue("postgres_ledger_url")
    )
    found = Place(ledger=url, folder=tmp_path)
    found.clock.set(NOON)
    yield found
    assert_sound(found)


@pytest.fixture(scope="module")
def all_hands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hands]:
    """Many processes, shared by the tests of a module."""
    with closing(Hands(rounds(short=16, soak=64), tmp_path_factory.mktemp("crew"))) as hands:
        yield hands


@pytest.fixture
def crew(all_hands: Hands, place: Place) -> Iterator[Crew]:
    """The processes, none of which has a ledger open before or afterwards."""
    yield all_hands.idle()
    all_hands.idle().leave()
