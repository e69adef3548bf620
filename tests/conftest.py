"""What holds for every test, and what any may ask for: a real Postgres."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import effort
from gates.policies import gates_with
from interlock.service.policies.policy_files import default_policy
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
_FEW_COLLECTIONS = 10_000
"""New objects between two collections of garbage: tests are short, and memory is plenty."""


effort.load_profile()


def pytest_configure(config: pytest.Config) -> None:
    """Own what a session shares."""
    # A shell that starts something in the background has it, and all below, ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    session = ExitStack()
    config.add_cleanup(session.close)
    session.enter_context(session_environment())
    session.enter_context(temporary_place())
    config.stash[_FOLDER] = session.enter_context(owned_folder())
    session.callback(drop_template, config.stash[_FOLDER])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepare what every test shares, once and in the environment of the session.

    A compiled policy knows the places of its process: one that is compiled by a test with a ledger
    below /tmp would guard /tmp in all later tests. And no collection of garbage has to go through
    tens of thousands of tests again and again.
    """
    if session.config.option.workers:
        warm_process()
    default_policy()
    gates_with("")
    gc.collect()
    gc.freeze()
    gc.set_threshold(_FEW_COLLECTIONS)


@pytest.fixture(scope="session")
def postgres_server_url(pytestconfig: pytest.Config) -> str:
    """The URL of the server that all tests of this session share; never stop that one."""
    _skip_if_told_to()
    try:
        return shared_server_url(pytestconfig.stash[_FOLDER])
    except PostgresUnavailableError as error:
        pytest.fail(f"{error}; {WAYS_OUT}", pytrace=False)


@pytest.fixture
def postgres_url(postgres_server_url: str) -> Iterator[str]:
    """The URL of an empty database of one's own."""
    with fresh_database(postgres_server_url) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(pytestconfig: pytest.Config, postgres_server_url: str) -> str:
    """The name of a database with an empty ledger in it, to be copied."""
    return template_of(pytestconfig.stash[_FOLDER], postgres_server_url, make_ledger)


@pytest.fixture
def postgres_ledger_url(postgres_server_url: str, postgres_template: str) -> Iterator[str]:
    """The URL of an empty ledger of one's own, for tests that are not about how it is made."""
    with fresh_database(postgres_server_url, postgres_template) as url:
        be_another_ledger(url)
        yield url


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    """A running server of one's own, for tests that stop or kill it."""
    _skip_if_told_to()
    with ExitStack() as stack:
        try:
            server = stack.enter_context(own_server(durable=False))
        except PostgresUnavailableError as error:
            pytest.fail(f"{error}; {WAYS_OUT}", pytrace=False)
        yield server


def _skip_if_told_to() -> None:
    if os.environ.get(SKIPPED) == "1":
        pytest.skip(f"{SKIPPED}=1 is set: unset it to run what needs Postgres")
