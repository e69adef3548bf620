"""Does the Postgres store say the truth when connections and servers come and go?"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from interlock.errors import InputError, LedgerError, UnavailableError
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.postgres import PostgresStore
from interlock.ledger.stores.postgres_connection import Address
from ledger.events import KEY, a_start, a_violation, appending, checked_chain
from ledger.postgres_stores import a_record, answers, changes_with, line_to, write
from patience import LONG_ENOUGH_S
from postgres_server import PostgresServer


@pytest.fixture
def store(postgres_ledger_url: str) -> Iterator[PostgresStore]:
    """An empty store."""
    with closing(PostgresStore(postgres_ledger_url)) as opened:
        yield opened


# Outages.


def test_a_killed_server_is_told_and_forgiven(postgres_server: PostgresServer) -> None:
    with ExitStack() as stack:
        store = PostgresStore(postgres_server.url)
        ledger = stack.enter_context(Ledger(store, key=KEY))
        listener = stack.enter_context(closing(store.listen()))
        stopped = stack.enter_context(closing(store.listen()))
        ledger.execute(appending("r1", a_start()))
        assert listener.wait(LONG_ENOUGH_S)
        assert stopped.wait(LONG_ENOUGH_S)
        postgres_server.kill()

        with pytest.raises(UnavailableError, match="nothing of this was recorded"):
            ledger.execute(appending("r1", a_violation()))
        with pytest.raises(UnavailableError, match="nothing could be read"):
            store.reading().run("r1")
        with pytest.raises(UnavailableError, match="nobody can listen"):
            store.listen()
        assert not listener.wait(0)
        threading.Timer(0.1, stopped.stop).start()
        assert not stopped.wait(None)
        with pytest.raises(UnavailableError, match="the ledger was not opened"):
            PostgresStore(postgres_server.url)

        postgres_server.start()
        ledger.execute(appending("r1", a_violation()))
        assert checked_chain(ledger.rows, "r1") == 2
        assert listener.wait(LONG_ENOUGH_S)


def test_a_restart_between_two_groups_is_not_even_noticed(postgres_server: PostgresServer) -> None:
    with Ledger(PostgresStore(postgres_server.url), key=KEY) as ledger:
        ledger.execute(appending("r1", a_start()))
        assert checked_chain(ledger.rows, "r1") == 1
        postgres_server.stop()
        postgres_server.start()

        ledger.execute(appending("r1", a_violation()))
        assert checked_chain(ledger.rows, "r1") == 2


def test_a_server_killed_inside_a_group_records_nothing_of_it(
    postgres_server: PostgresServer,
) -> None:
    with closing(PostgresStore(postgres_server.url)) as store:
        store.begin(["run/r1"])
        postgres_server.kill()
        with pytest.raises(UnavailableError, match="nothing of this was recorded"):
            store.writing().run("r1")
        with pytest.raises(UnavailableError, match="nothing of this was recorded"):
            store.commit(changes_with(a_record()))
        store.rollback()

        postgres_server.start()
        assert store.reading().record("r1", 1) is None
        write(store, a_record())


def test_a_server_killed_before_the_commit_leaves_the_outcome_open(
    postgres_server: PostgresServer,
) -> None:
    with closing(PostgresStore(postgres_server.url)) as store:
        store.begin(["run/r1"])
        postgres_server.kill()

        with pytest.raises(UnavailableError, match="not known; asking again with the same key"):
            store.commit(changes_with(a_record()))
        store.rollback()


def test_a_connection_lost_before_the_commit_is_known_to_have_recorded_nothing(
    store: PostgresStore, postgres_ledger_url: str
) -> None:
    store.begin(["run/r1"])
    end_writers(postgres_ledger_url)

    with pytest.raises(UnavailableError, match="nothing of this was recorded"):
        store.commit(changes_with(a_record()))
    store.rollback()

    assert store.reading().record("r1", 1) is None
    write(store, a_record())


def test_a_commit_whose_answer_was_lost_is_found_to_have_happened(postgres_ledger_url: str) -> None:
    with line_to(postgres_ledger_url) as line, closing(PostgresStore(line.url)) as store:
        store.begin(["run/r1"])
        line.swallow_next_answer()
        store.commit(changes_with(a_record()))

        assert store.reading().record("r1", 1) == a_record()
        store.begin(["run/r1"])
        store.commit(changes_with(a_record("r1", 2)))


def test_a_commit_whose_answer_was_lost_for_good_may_have_happened(
    postgres_ledger_url: str,
) -> None:
    with line_to(postgres_ledger_url) as line, closing(PostgresStore(line.url)) as store:
        store.begin(["run/r1"])
        line.swallow_next_answer(and_hang_up=True)

        with pytest.raises(UnavailableError, match="whether this was recorded is not known"):
            store.commit(changes_with(a_record()))
        store.rollback()


# The rest of a life.


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://ada:{}@db/ledger", "postgresql://ada@db/ledger"),
        ("postgresql://ada@db:5/ledger?password={}", "postgresql://ada@db:5/ledger"),
        (
            "postgresql://ada:{}@/ledger?host=/run/pg&sslpassword={}",
            "postgresql://ada@/ledger?host=/run/pg",
        ),
        ("host=db user=ada password={}", "postgresql://ada@db/"),
        ("postgresql://ada:{}?#@db/ledger", "postgresql://ada@db/ledger"),
        ("postgresql://a:5,b:6/ledger?passfile={}", "postgresql://a:5,b:6/ledger"),
    ],
)
def test_a_name_never_tells_the_password(url: str, name: str) -> None:
    assert Address(url.format("wonder%2Fland", "wonder")).name == name


@pytest.mark.parametrize("password", ["wonder%zz", "wonder/land", "7/wonder"])
def test_an_unreadable_address_is_refused_without_repeating_it(password: str) -> None:
    with pytest.raises(InputError, match="the ledger's address cannot be read") as refusal:
        PostgresStore(f"postgresql://ada:{password}@db/ledger")

    assert "wonder" not in str(refusal.value)


def test_a_closed_store_says_so(store: PostgresStore) -> None:
    store.reading().run("r1")
    store.close()
    store.close()

    with pytest.raises(LedgerError, match="is closed: open it again"):
        store.reading().run("r1")
    with pytest.raises(LedgerError, match="is closed: open it again"):
        store.begin(["run/r1"])


def test_a_child_process_must_open_its_own(store: PostgresStore) -> None:
    write(store, a_record())
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, refusals(store).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writer)
    with os.fdopen(reader) as told:
        assert told.read() == "begin reading listen"

    write(store, a_record("r1", 2))


def refusals(store: PostgresStore) -> str:
    refused: list[str] = []
    attempts: dict[str, Callable[[], object]] = {
        "begin": lambda: store.begin([]),
        "reading": lambda: store.reading().run("r1"),
        "listen": store.listen,
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except LedgerError as error:
            if "was opened before a fork" in str(error):
                refused.append(name)
    store.close()
    return " ".join(refused)


def end_writers(url: str) -> None:
    answers(
        url,
        "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
        " WHERE state = 'idle in transaction' AND datname = current_database()",
    )
