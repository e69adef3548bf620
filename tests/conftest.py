"""The environment of every test, and fixtures for a real Postgres."""

from __future__ import annotations

import gc
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis.strategies import text

import effort
from gates.policies import gates_with
from interlock.service.policies.policy_files import default_policy
from logged import Unprinted
from postgres_ledger import be_another_ledger, make_ledger
from postgres_server import (
    SKIPPED,
    WAYS_OUT,
    PostgresServer,
    PostgresUnavailableError,
    drop_template,
    fresh_database,
    own_server,
    owned_folder,
    shared_server_url,
    template_of,
)
from session_environment import session_environment
from temporary_place import temporary_place
from warm_python import warm_process

pytest_plugins = ["forked_workers"]

_FOLDER = pytest.StashKey[Path]()
_GC_THRESHOLD = 10_000
"""New objects between two garbage collections: fewer collections, more memory."""


effort.load_profile()


def pytest_configure(config: pytest.Config) -> None:
    """Set up what all tests share; remove it at the end."""
    # A shell makes background jobs and their children ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    logging.getLogger().addHandler(Unprinted())
    session = ExitStack()
    config.add_cleanup(session.close)
    session.enter_context(session_environment())
    session.enter_context(temporary_place())
    config.stash[_FOLDER] = session.enter_context(owned_folder())
    session.callback(drop_template, config.stash[_FOLDER])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the warm process, compile the shared policies and freeze the collected tests.

    A compiled policy guards the paths of its process: if a test with a ledger below /tmp compiled
    it, it would guard /tmp in all later tests. Freezing keeps the garbage collector from visiting
    tens of thousands of tests again and again.
    """
    if session.config.option.workers:
        warm_process()
        # In a new clone Hypothesis has to work out the characters of UTF-8: once, not per worker.
        text().validate()
    default_policy()
    gates_with("")
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD)


@pytest.fixture(scope="session")
def postgres_server_url(pytestconfig: pytest.Config) -> str:
    """The URL of the server that all tests of this session share; never stop it."""
    _skip_if_disabled()
    try:
        return shared_server_url(pytestconfig.stash[_FOLDER])
    except PostgresUnavailableError as error:
        pytest.fail(f"{error}; {WAYS_OUT}", pytrace=False)


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """The URL of an empty database for one test."""
    with fresh_database(postgres_server_url) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(pytestconfig: pytest.Config, postgres_server_url: str) -> str:
    """The name of a database that holds an empty ledger, to copy from."""
    return template_of(pytestconfig.stash[_FOLDER], postgres_server_url, make_ledger)


@pytest.fixture
def postgres_ledger_url(postgres_server_url: str, postgres_template: str) -> Iterator[str]:
    """The URL of an empty ledger for one test that is not about creating ledgers."""
    with fresh_database(postgres_server_url, postgres_template) as url:
        be_another_ledger(url)
        yield url


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """A running server for one test, which may stop or kill it."""
    _skip_if_disabled()
    with ExitStack() as stack:
        try:
            server = stack.enter_context(own_server(durable=False))
        except PostgresUnavailableError as error:
            pytest.fail(f"{error}; {WAYS_OUT}", pytrace=False)
        yield server


def _skip_if_disabled() -> None:
    if os.environ.get(SKIPPED) == "1":
        pytest.skip(f"{SKIPPED}=1 is set: unset it to run the tests that need Postgres")
