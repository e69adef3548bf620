"""Whatever is changed behind the ledger's back, `verify` names the place."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from interlock.errors import DamagedError
from interlock.ledger.chain import Fault, SealKey
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.memory import MemoryStore
from interlock.ledger.stores.postgres import PostgresStore
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.ledger.verification import RunChecked, verify_all, verify_run
from interlock.ports import Store
from ledger.attacker import Attack, Execute, attack_postgres, attack_sqlite, fill
from ledger.attacks import ANOTHER_KEY, ATTACKS, number_changed, text_changed
from ledger.events import KEY, planned
from postgres_server import fresh_database


def problems_in(store: Store, key: SealKey = KEY) -> list[str]:
    with store.frozen() as rows:
        return [found.problem for found in verify_all(rows, key) if found.problem is not None]


def faults_in(path: Path) -> dict[str, Fault]:
    store = SqliteStore(path)
    try:
        with store.frozen() as rows:
            found = [each for each in verify_all(rows, KEY) if isinstance(each, RunChecked)]
            faults = {each.run_id: each.fault for each in found if each.fault is not None}
            assert all(verify_run(rows, run_id, KEY) == fault for run_id, fault in faults.items())
        return faults
    finally:
        store.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger that nobody has touched."""
    path = tmp_path_factory.mktemp("filled") / "ledger.db"
    with Ledger(SqliteStore(path), key=KEY) as ledger:
        fill(ledger)
    return path


# Untouched


def test_an_untouched_ledger_holds(open_store: Callable[[], Store]) -> None:
    told: list[int] = []
    with Ledger(open_store(), key=KEY) as ledger:
        fill(ledger)
        with ledger.store.frozen() as rows:
            found = list(verify_all(rows, KEY, told.append))

    runs = {each.run_id: each for each in found if isinstance(each, RunChecked)}
    assert [each.problem for each in found if each.problem] == []
    assert {run_id: each.records for run_id, each in runs.items()} == {
        "ledger": 1,
        "long": 300,
        "over": 3,
        "r1": 7,
    }
    assert told[-1] == 2 * 311
    assert told == sorted(told)


def test_nothing_holds_under_another_key(filled: Path) -> None:
    store = SqliteStore(filled)
    found = problems_in(store, ANOTHER_KEY)
    with store.frozen() as rows:
        missing = verify_run(rows, "nowhere", KEY)
    store.close()

    another = f"is sealed with another key, `{KEY.id}`"
    assert found == [
        f"run `ledger`, record 1: the last record {another}",
        f"run `long`, record 300: the last record {another}",
        f"run `over`, record 3: the last record {another}",
        f"run `r1`, record 7: the last record {another}",
        f"the ledger: the table meta names another key, `{KEY.id}`",
    ]
    assert missing == Fault(
        run_id="nowhere", seq=1, problem="the run is missing in the list of runs"
    )


def test_a_damaged_snapshot_is_not_used(filled: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(filled, tmp_path))
    attack_sqlite(path, _spoilt("snapshots", b"\x92\x03\x81\xa2id\xa1\xff"))

    with Ledger(SqliteStore(path), key=KEY) as ledger:
        assert problems_in(ledger.store) == []
        state = ledger.state("long")
        assert state is not None
        assert state.seq == 300


def test_a_damaged_account_is_named(filled: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(filled, tmp_path))
    attack_sqlite(path, _spoilt("accounts", b'{"alerted":{"\xff":1}}'))

    with (
        Ledger(SqliteStore(path), key=KEY) as ledger,
        pytest.raises(DamagedError, match="an account is unreadable"),
    ):
        ledger.execute(planned(lambda transaction: transaction.account("run/r1")))


def _spoilt(table: str, body: bytes) -> Attack:
    def attack(execute: Execute) -> None:
        execute(f"UPDATE {table} SET body = ?", body)

    return attack


def test_an_empty_ledger_holds() -> None:
    assert problems_in(MemoryStore()) == []


# Records


_texts = st.builds(
    text_changed,
    st.sampled_from(["run_id", "kind", "body", "hash"]),
    st.shared(st.integers(1, 7), key="seq"),
    st.integers(0, 2_000),
    st.integers(1, 255),
)
_numbers = st.builds(
    number_changed,
    st.sampled_from(["seq", "at"]),
    st.shared(st.integers(1, 7), key="seq"),
    st.integers(-(2**40), 2**40).filter(lambda change: not -8 < change < 8),
)


@examples(15, soak=500)
@given(attack=st.one_of(_texts, _numbers), seq=st.shared(st.integers(1, 7), key="seq"))
def test_any_byte_of_a_record_that_is_changed_is_found(
    filled: Path, attack: Attack, seq: int
) -> None:
    copy = filled.with_name("copy.db")
    shutil.copy(filled, copy)
    attack_sqlite(copy, attack)

    faults = faults_in(copy)
    assert faults["r1"].seq == seq
    assert faults.keys().isdisjoint({"ledger", "long", "over"})


@pytest.mark.parametrize("name", ATTACKS)
def test_names_the_place_in_sqlite(filled: Path, tmp_path: Path, name: str) -> None:
    copy = Path(shutil.copy(filled, tmp_path / "ledger.db"))
    attack, expected = ATTACKS[name]
    attack_sqlite(copy, attack)
    store = SqliteStore(copy)

    found = problems_in(store)
    store.close()
    assert any(problem.startswith(expected) for problem in found), found


@pytest.fixture(scope="module")
def filled_in_postgres(postgres_server_url: str, postgres_template: str) -> Iterator[str]:
    """The name of a database with a ledger that nobody has touched, to copy from."""
    with fresh_database(postgres_server_url, postgres_template) as url:
        with Ledger(PostgresStore(url), key=KEY) as ledger:
            fill(ledger)
        yield urlsplit(url).path.removeprefix("/")


@pytest.mark.parametrize("name", ATTACKS)
def test_names_the_place_in_postgres(
    filled_in_postgres: str, postgres_server_url: str, name: str
) -> None:
    with (
        fresh_database(postgres_server_url, filled_in_postgres) as url,
        Ledger(PostgresStore(url), key=KEY) as ledger,
    ):
        attack, expected = ATTACKS[name]
        attack_postgres(url, attack)

        found = problems_in(ledger.store)
        assert any(problem.startswith(expected) for problem in found), found
