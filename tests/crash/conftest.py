"""A nursery of children to kill, and ledgers for them to work on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from crash.nursery import Nursery
from crash.places import Place
from postgres_server import (
    SKIPPED,
    WAYS_OUT,
    PostgresServer,
    PostgresUnavailableError,
    fresh_database,
    own_server,
)


@pytest.fixture(scope="session")
def warm_nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    nursery = Nursery(tmp_path_factory.mktemp("nursery") / "log")
    yield nursery
    nursery.close()


@pytest.fixture
def nursery(warm_nursery: Nursery) -> Iterator[Nursery]:
    """Where children come from; none of them outlives its test."""
    yield warm_nursery
    warm_nursery.end_children()


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    """A new ledger in a file, with a run in it."""
    return Place.made(str(tmp_path / "ledger.db"), tmp_path / "keys")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A new ledger of each durable kind, with a run in it."""
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_place")
    return Place.made(request.getfixturevalue("durable_url"), tmp_path / "keys")


@pytest.fixture(scope="session")
def durable_server() -> Iterator[PostgresServer]:
    """A server that waits for the disk."""
    if os.environ.get(SKIPPED) == "1":
        pytest.skip(f"{SKIPPED}=1 is set: unset it to run the tests that need Postgres")
    try:
        with own_server(durable=True) as server:
            yield server
    except PostgresUnavailableError as error:
        pytest.fail(f"{error}; {WAYS_OUT}", pytrace=False)


@pytest.fixture
def durable_url(durable_server: PostgresServer) -> Iterator[str]:
    with fresh_database(durable_server.url) as url:
        yield url
