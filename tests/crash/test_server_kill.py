"""A Postgres that is killed loses nothing, and whoever asks meanwhile is told so."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.jobs import UNAVAILABLE
from crash.nursery import Nursery
from crash.places import Place
from effort import rounds
from interlock.errors import UnavailableError
from postgres_server import SKIPPED, PostgresServer, own_server

ROUNDS = rounds(short=1, soak=20)


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server that waits for the disk, to be killed."""
    if os.environ.get(SKIPPED) == "1":
        pytest.skip(f"{SKIPPED}=1 is set: unset it to run the tests that need Postgres")
    with own_server(durable=True) as server:
        yield server


@pytest.mark.soak
def test_a_killed_server_loses_nothing_it_acknowledged(
    server: PostgresServer, nursery: Nursery, tmp_path: Path
):
    place, chance = Place.made(server.url, tmp_path / "keys"), random.Random(1)
    child = place.spawn(nursery, "persist")
    for _ in range(ROUNDS):
        outages = child.told.count(UNAVAILABLE)
        child.hear(len(child.told) + chance.randint(1, 200))
        server.kill()
        while child.told.count(UNAVAILABLE) == outages:
            child.hear(len(child.told) + 1)
        server.start()
        after = _acknowledged(child.told)
        while _acknowledged(child.told) < after + 50:
            child.hear(len(child.told) + 1)
    place.acknowledged += child.kill()

    place.assert_sound()


def test_who_asks_while_the_server_is_gone_is_told_and_served_afterwards(
    server: PostgresServer, tmp_path: Path
):
    place = Place.made(server.url, tmp_path / "keys")
    with place.opened() as interlock:
        place.fill(interlock, 20)
        run = interlock.resume(place.run)
        server.kill()
        with pytest.raises(UnavailableError, match=r"does not answer.*ask again"):
            run.command("ls")
        with pytest.raises(UnavailableError, match="nothing could be read"):
            interlock.ledger.state(place.run)
        server.start()
        place.fill(interlock, 20)

        assert interlock.ledger.state(place.run) is not None
    place.assert_sound()


def _acknowledged(told: list[str]) -> int:
    return sum(line != UNAVAILABLE for line in told)
