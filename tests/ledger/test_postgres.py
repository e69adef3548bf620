"""Does the Postgres store keep its schema, and its promises to several servers at once?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql

from interlock.errors import LedgerError, UnavailableError
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores import postgres_connection
from interlock.ledger.stores.postgres import PostgresStore
from interlock.ledger.stores.sql_rows import migrations
from interlock.model.rows import Changes, PolicyRow, RecordRow, SealRow
from ledger.events import KEY, a_start, a_violation, appending, checked_chain
from ledger.postgres_stores import (
    a_record,
    answers,
    changes_with,
    said,
    started,
    tell,
    write,
)
from patience import wait_until
from postgres_server import PostgresServer


@pytest.fixture
def open_store(postgres_url: str) -> Iterator[Callable[[], PostgresStore]]:
    """Opens a store on one database; all are closed when the test is over."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(PostgresStore(postgres_url)))


@pytest.fixture
def store(open_store: Callable[[], PostgresStore]) -> PostgresStore:
    return open_store()


# The schema.


def test_the_schema_is_made_of_its_migrations(store: PostgresStore, postgres_url: str) -> None:
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1"
    columns = (
        "SELECT column_name, data_type, collation_name FROM information_schema.columns"
        " WHERE table_name = 'interlock_records' ORDER BY ordinal_position"
    )
    names = (
        "accounts approvals archived_runs credentials earlier_credentials gaps head keys meta"
        " policies records"
    )

    assert [name for (name,) in answers(postgres_url, tables)] == [
        f"interlock_{name}"
        for name in [*names.split(), "reservations", "runs", "schema", "seals", "snapshots"]
    ]
    assert answers(postgres_url, columns) == [
        ("position", "bigint", None),
        ("run_id", "text", "C"),
        ("seq", "bigint", None),
        ("at", "bigint", None),
        ("kind", "text", "C"),
        ("body", "bytea", None),
        ("hash", "text", "C"),
    ]
    assert answers(postgres_url, "SELECT version FROM interlock_schema ORDER BY 1") == [
        (each.version,) for each in migrations("postgres")
    ]


def test_both_dialects_have_the_same_migrations() -> None:
    postgres, sqlite = (
        [each.version for each in migrations(dialect)] for dialect in ("postgres", "sqlite")
    )

    assert postgres == sqlite


def test_refuses_a_schema_from_the_future(store: PostgresStore, postgres_url: str) -> None:
    answers(postgres_url, "INSERT INTO interlock_schema VALUES (99)")

    with pytest.raises(LedgerError, match="has schema version 99, newer than the 6 known here"):
        PostgresStore(postgres_url)


def test_refuses_a_database_that_cannot_hold_every_text(postgres_url: str) -> None:
    name = f"{urlsplit(postgres_url).path[1:]}_latin"
    answers(
        postgres_url,
        f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc"
        " TEMPLATE template0",
    )
    try:
        with pytest.raises(LedgerError, match="keeps texts as LATIN1"):
            PostgresStore(urlsplit(postgres_url)._replace(path=f"/{name}").geturl())
    finally:
        answers(postgres_url, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("table", ["records", "policies", "seals"])
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE {} SET hash = 'forged'",
        "DELETE FROM {}",
        "TRUNCATE {}",
    ],
)
@pytest.mark.parametrize("role", ["origin", "replica"])
def test_what_is_recorded_cannot_be_changed_by_hand(
    store: PostgresStore, postgres_url: str, table: str, statement: str, role: str
) -> None:
    name = f"interlock_{table}"
    changes = changes_with(a_record())
    changes.seals.append(SealRow("r1", 1, "hash 1", 1, "k", "s"))
    store.begin(["run/r1"])
    store.commit(changes)
    with closing(psycopg.connect(postgres_url)) as connection:
        connection.execute(sql.SQL("SET session_replication_role = {}").format(role))

        with pytest.raises(psycopg.errors.RestrictViolation, match=f"{name} is append-only"):
            connection.execute(statement.format(name).encode())


def test_many_processes_may_open_an_empty_database_at_once(postgres_url: str) -> None:
    program = """
        import sys
        from contextlib import closing
        from interlock.ledger.stores.postgres import PostgresStore

        print("ready", flush=True)
        sys.stdin.readline()
        with closing(PostgresStore(sys.argv[1])) as store:
            print(store.reading().meta("id"))
        """
    with ExitStack() as stack:
        processes = [started(stack, program, postgres_url) for _ in range(16)]
        for process in processes:
            assert said(process) == "ready"
        for process in processes:
            tell(process)
        ids = {said(process) for process in processes}

    assert ids == {
        answers(postgres_url, "SELECT value FROM interlock_meta WHERE name = 'id'")[0][0]
    }


# Several servers.


def test_two_threads_with_a_ledger_each_lose_nothing_on_one_run(
    open_store: Callable[[], PostgresStore],
) -> None:
    ledgers = [Ledger(open_store(), key=KEY) for _ in range(2)]
    ledgers[0].execute(appending("r1", a_start()))

    def work(ledger: Ledger) -> None:
        for _ in range(50):
            ledger.execute(appending("r1", a_violation()))

    threads = [threading.Thread(target=work, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert checked_chain(ledgers[0].rows, "r1") == 101


def test_two_processes_lose_nothing_on_one_run(postgres_url: str) -> None:
    program = """
        import sys
        from interlock.ledger.ledger import Ledger
        from interlock.ledger.stores.postgres import PostgresStore
        from ledger.events import KEY, a_judgement, appending

        with Ledger(PostgresStore(sys.argv[1]), key=KEY) as ledger:
            print("ready", flush=True)
            sys.stdin.readline()
            for _ in range(50):
                ledger.execute(appending("r1", a_judgement()))
        """
    with Ledger(PostgresStore(postgres_url), key=KEY) as ledger, ExitStack() as stack:
        ledger.execute(appending("r1", a_start()))
        processes = [started(stack, program, postgres_url) for _ in range(2)]
        for process in processes:
            assert said(process) == "ready"
        for process in processes:
            tell(process)
        assert [process.wait() for process in processes] == [0, 0]

        assert checked_chain(ledger.rows, "r1") == 101
        account = ledger.rows.account("agent/coder")

    assert account is not None
    assert b'"tool_calls":100' in account


def test_a_run_does_not_wait_for_another_run(open_store: Callable[[], PostgresStore]) -> None:
    slow, quick = open_store(), open_store()
    slow.begin(["run/r1"])

    write(quick, a_record("r2"))

    assert quick.reading().record("r2", 1) == a_record("r2")
    slow.commit(changes_with(a_record("r1")))
    assert quick.reading().record("r1", 1) == a_record("r1")


def test_who_wants_the_same_run_waits_and_then_sees_everything(
    open_store: Callable[[], PostgresStore], postgres_url: str
) -> None:
    first, second = open_store(), open_store()
    seen: list[RecordRow | None] = []

    def follow() -> None:
        second.begin(["run/r0", "run/r1"])
        seen.append(second.writing().record("r1", 1))
        second.rollback()

    first.begin(["run/r1"])
    thread = threading.Thread(target=follow)
    thread.start()
    wait_until(lambda: "advisory" in waits(postgres_url))
    first.commit(changes_with(a_record()))
    thread.join()

    assert seen == [a_record()]


def test_locks_in_any_order_never_make_two_servers_wait_for_each_other(
    open_store: Callable[[], PostgresStore],
) -> None:
    names = [f"run/r{place}" for place in range(20)]
    failures: list[Exception] = []

    def work(store: PostgresStore, locks: list[str]) -> None:
        try:
            for _ in range(50):
                store.begin(locks)
                store.commit(Changes())
        except LedgerError as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(open_store(), locks)) for locks in (names, names[::-1])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


def test_who_waits_too_long_is_told(
    open_store: Callable[[], PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = open_store()
    monkeypatch.setattr(postgres_connection, "_SETTINGS", b"SET lock_timeout = '10ms'")
    hasty = open_store()
    holder.begin(["run/r1"])

    with pytest.raises(UnavailableError, match="another server has been writing"):
        hasty.begin(["run/r1"])

    hasty.rollback()
    holder.rollback()
    write(hasty, a_record())


def test_knows_whether_somebody_else_has_written(postgres_server: PostgresServer) -> None:
    # On a server of its own: transactions are counted for all of its databases together.
    with (
        closing(PostgresStore(postgres_server.url)) as ours,
        closing(PostgresStore(postgres_server.url)) as theirs,
    ):

        def is_current() -> bool:
            answer = ours.begin(["run/r1"])
            ours.commit(Changes())
            return answer

        write(ours, a_record("r1", 1))
        assert is_current()
        assert is_current()
        theirs.begin(["run/r2"])
        write(ours, a_record("r1", 2))
        assert is_current()
        theirs.commit(changes_with(a_record("r2")))
        assert not is_current()
        assert is_current()
        ours.begin(["run/r1"])
        ours.rollback()
        assert not is_current()


@pytest.mark.parametrize("others_between", [0, 1])
def test_who_began_before_and_ended_after_us_is_not_overlooked(
    store: PostgresStore, postgres_url: str, others_between: int
) -> None:
    write(store, a_record("r1", 1))
    with closing(psycopg.connect(postgres_url)) as other:
        other.execute("INSERT INTO interlock_accounts VALUES ('agent/coder', '')")
        for place in range(others_between):
            answers(postgres_url, f"INSERT INTO interlock_accounts VALUES ('agent/{place}', '')")
        write(store, a_record("r1", 2))
        other.commit()

    assert not store.begin(["run/r1"])


def test_servers_that_keep_the_same_policies_never_wait_for_each_other(
    open_store: Callable[[], PostgresStore], postgres_url: str
) -> None:
    failures: list[Exception] = []

    def keep(store: PostgresStore, names: str) -> None:
        changes = Changes()
        changes.policies = {name: PolicyRow(name, b"{}") for name in names}
        try:
            store.begin([f"run/{names}"])
            store.commit(changes)
        except LedgerError as error:
            failures.append(error)

    threads = [
        threading.Thread(target=keep, args=(open_store(), names)) for names in ("abc", "cba")
    ]
    with closing(psycopg.connect(postgres_url)) as other:
        # Both are stopped half-way, each with what it has written until then.
        other.execute("INSERT INTO interlock_policies VALUES ('b', '')")
        for thread in threads:
            thread.start()
        wait_until(lambda: waits(postgres_url).count("transactionid") == 2)
        other.rollback()
        for thread in threads:
            thread.join()

    assert failures == []


def waits(url: str) -> list[object]:
    statement = "SELECT wait_event FROM pg_stat_activity WHERE datname = current_database()"
    return [event for (event,) in answers(url, statement)]
