"""What holds for every test, and what any may ask for: a real Postgres."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Protocol

import pytest
from coverage import Coverage

import effort
from measurement import Measurement
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
from temporary_place import temporary_place

_MEASUREMENT = pytest.StashKey[Measurement]()
_FOLDER = pytest.StashKey[Path]()
_HANDED_DOWN = "interlock_postgres_folder"


class _WorkerNode(Protocol):
    """What pytest-xdist tells of a worker about to start."""

    config: pytest.Config
    workerinput: dict[str, str]


class _Module(pytest.Module):
    """A module of tests, which works out tables for them as it is loaded."""

    def _getobj(self) -> ModuleType:
        with self.config.stash[_MEASUREMENT].of_what_counts():
            return super()._getobj()


effort.load_profile()


def pytest_configure(config: pytest.Config) -> None:
    """Own what a session shares, or take it over from the process above."""
    # A shell that starts something in the background has it, and all below, ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    leads = config.getoption("numprocesses", None)
    config.stash[_MEASUREMENT] = (
        Measurement.left_to_workers() if leads else Measurement(Coverage.current())
    )
    handed_down: dict[str, str] | None = getattr(config, "workerinput", None)
    if handed_down is not None:
        config.stash[_FOLDER] = Path(handed_down[_HANDED_DOWN])
        return
    session = ExitStack()
    session.enter_context(temporary_place())
    config.stash[_FOLDER] = session.enter_context(owned_folder())
    session.callback(drop_template, config.stash[_FOLDER])
    config.add_cleanup(session.close)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: _WorkerNode) -> None:
    """Tell a worker where the session's server is, or will be."""
    node.workerinput[_HANDED_DOWN] = str(node.config.stash[_FOLDER])


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """Measure what modules of tests work out as they are loaded, not how pytest lists them."""
    return _Module.from_parent(parent, path=module_path)


def pytest_collection_finish() -> None:
    """Have no collection of garbage go through tens of thousands of tests again and again."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Measure what counts, and nothing else."""
    item.config.stash[_MEASUREMENT].turn_to(item)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """Measure how a test that counts is prepared."""
    with request.config.stash[_MEASUREMENT].of_what_counts():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Measure what a test that counts does."""
    with pyfuncitem.config.stash[_MEASUREMENT].of_what_counts():
        return (yield)


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
