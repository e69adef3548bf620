"""Are rows read back from Postgres as they were written, and is everybody told of them?"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InputError, LedgerError
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.postgres import PostgresStore
from interlock.ledger.stores.postgres_connection import text_bytes, text_from_bytes
from interlock.model.rows import Changes
from ledger.events import KEY, a_judgement, a_start, appending
from ledger.postgres_stores import a_record, a_run, answers, changes_with, write
from patience import LONG_ENOUGH_S

TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\0\1\2" + "01"))


@pytest.fixture
def open_store(postgres_ledger_url: str) -> Iterator[Callable[[], PostgresStore]]:
    """Opens a store on one database; all are closed when the test is over."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(closing(PostgresStore(postgres_ledger_url)))


@pytest.fixture
def store(open_store: Callable[[], PostgresStore]) -> PostgresStore:
    return open_store()


# Texts.


@given(TEXTS)
def test_every_text_comes_back(text: str) -> None:
    assert text_from_bytes(text_bytes(text)) == text
    assert b"\0" not in text_bytes(text)


@given(TEXTS, TEXTS)
def test_texts_keep_their_order_and_what_they_begin_with(one: str, other: str) -> None:
    assert (text_bytes(one) < text_bytes(other)) == (one < other)
    assert text_bytes(other).startswith(text_bytes(one)) == other.startswith(one)


def test_zeros_in_texts_are_kept_and_found(store: PostgresStore) -> None:
    changes = Changes()
    changes.runs = {name: a_run(name, task="a\0b\1c") for name in ("r\0a", "r\1b", "r0")}
    store.begin(["run/r"])
    store.commit(changes)

    assert store.reading().run("r\0a") == changes.runs["r\0a"]
    assert [row.id for row in store.reading().runs(limit=9, prefix="r\0")] == ["r\0a"]
    assert store.reading().chains() == ["r\0a", "r\1b", "r0"]


def test_half_a_character_is_refused_in_words(store: PostgresStore) -> None:
    with pytest.raises(InputError, match="half of a character at position 1"):
        store.reading().run("r\ud800")

    assert store.reading().run("r1") is None


def test_a_key_too_long_to_be_found_again_fails_alone(store: PostgresStore) -> None:
    ledger = Ledger(store, key=KEY)
    ledger.execute(appending("r1", a_start()))
    long = "".join(chr(0x4E00 + place) for place in range(342))

    with pytest.raises(InputError, match="a request key has 1026 bytes, at most 1024 can be kept"):
        store.reading().key("r1", long)
    with pytest.raises(InputError, match="a run's id has 1026 bytes"):
        ledger.execute(appending(long, a_start()))
    ledger.execute(appending("r1", a_judgement(key=long[:341])))

    assert store.reading().key("r1", long[:341]) is not None


def test_a_record_in_a_taken_place_is_refused(store: PostgresStore) -> None:
    write(store, a_record())
    store.begin(["run/r1"])
    with pytest.raises(LedgerError, match="nothing of this was recorded"):
        store.commit(changes_with(a_record("r2"), a_record()))
    store.rollback()

    assert store.reading().record("r2", 1) is None
    write(store, a_record("r1", 2))


# Reading.


def test_reads_from_many_threads_at_once(store: PostgresStore) -> None:
    write(store, *(a_record("r1", seq) for seq in range(1, 101)))
    found: list[int] = []

    def read() -> None:
        for seq in range(1, 101):
            row = store.reading().record("r1", seq)
            found.append(0 if row is None else row.seq)

    threads = [threading.Thread(target=read) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(found) == sorted([*range(1, 101)] * 20)


def test_frozen_rows_are_of_one_moment(store: PostgresStore) -> None:
    write(store, a_record("r1", 1))
    with store.frozen() as rows:
        write(store, a_record("r1", 2))

        assert [row.seq for row in rows.records("r1")] == [1]
    assert [row.seq for row in store.reading().records("r1")] == [1, 2]


# News.


def test_a_commit_of_another_server_wakes_who_listens(
    open_store: Callable[[], PostgresStore],
) -> None:
    ours, theirs = open_store(), open_store()
    with closing(ours.listen()) as listener:
        assert not listener.wait(0)
        write(theirs, a_record())

        assert listener.wait(LONG_ENOUGH_S)
        assert not listener.wait(0)


def test_who_waits_is_woken_by_a_commit(open_store: Callable[[], PostgresStore]) -> None:
    ours, theirs = open_store(), open_store()
    meter_with_words: list[bool] = []
    with closing(ours.listen()) as listener:
        thread = threading.Thread(target=lambda: meter_with_words.append(listener.wait(None)))
        thread.start()
        write(theirs, a_record())
        thread.join()

    assert meter_with_words == [True]


def test_nobody_is_woken_for_nothing(store: PostgresStore) -> None:
    with closing(store.listen()) as listener:
        store.begin(["run/r1"])
        store.commit(Changes())
        store.begin(["run/r1"])
        store.rollback()

        assert not listener.wait(0)


def test_a_listener_that_was_cut_off_looks_again(
    store: PostgresStore, postgres_ledger_url: str
) -> None:
    with closing(store.listen()) as listener:
        answers(
            postgres_ledger_url,
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%' AND datname = current_database()",
        )

        assert listener.wait(LONG_ENOUGH_S)
        write(store, a_record())
        assert listener.wait(LONG_ENOUGH_S)
