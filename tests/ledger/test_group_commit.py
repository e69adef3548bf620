"""Many at once: groups are made durable together, nobody spoils another's work or misses it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from interlock.errors import InputError, LedgerError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.transaction import Transaction
from interlock.model.budget import Amounts
from interlock.ports import Store
from ledger.conftest import DURABLE, OpenLedger
from ledger.events import (
    AGENT,
    KEY,
    NOON,
    ONE_OF_EACH,
    a_judgement,
    a_start,
    a_started,
    a_violation,
    all_records,
    an_opening,
    appending,
    checked_chain,
    planned,
    state_of,
    submitted,
)
from patience import LONG_ENOUGH_S

shared_by_many = pytest.mark.parametrize("open_store", DURABLE, indirect=True)


# Groups


def in_one_group(ledger: Ledger, works: list[Work[object]]) -> list[BaseException | None]:
    """Let all work wait while somebody else commits; return what became of each."""
    committing, may_go = threading.Event(), threading.Event()

    def hold(transaction: Transaction) -> None:
        committing.set()
        assert may_go.wait(LONG_ENOUGH_S)

    with ThreadPoolExecutor(1) as pool:
        holder = pool.submit(ledger.execute, planned(hold, "holder"))
        assert committing.wait(LONG_ENOUGH_S)
        futures = [submitted(ledger, work) for work in works]
        may_go.set()
        holder.result(60)
        return [future.exception(60) for future in futures]


class Startled:
    """A turn whose taker is interrupted, once, in the very moment of having taken it."""

    def __init__(self) -> None:
        self._turn = threading.RLock()
        self._calm = False

    def acquire(self, *, blocking: bool = True, timeout: float = -1) -> bool:
        taken = self._turn.acquire(blocking, timeout)
        if not self._calm:
            self._calm = True
            raise KeyboardInterrupt
        return taken

    def release(self) -> None:
        self._turn.release()


def test_an_interrupt_in_the_moment_of_taking_the_turn_leaves_it_free(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "_turn", Startled())
    with pytest.raises(KeyboardInterrupt):
        ledger.execute(appending("r1", a_start()))

    with ThreadPoolExecutor(1) as pool:
        pool.submit(ledger.execute, appending("r1", a_violation("a"))).result(60)

    # What had been asked for is done, whoever stopped waiting for it.
    assert [decoded(body).seq for body in all_records(ledger, "r1")] == [1, 2]


def test_whoever_answers_cannot_be_asked_meanwhile(ledger: Ledger) -> None:
    def ask_again(transaction: Transaction) -> None:
        assert not transaction.has_run("r1")
        ledger.execute(appending("r1", a_start()))

    with pytest.raises(LedgerError, match="asked in the middle of an answer"):
        ledger.execute(planned(ask_again, "r1"))
    assert not ledger.rows.run("r1")


def append_and_fail(transaction: Transaction) -> None:
    transaction.append("r1", a_violation("never kept"), at=NOON, by=AGENT)
    raise RuntimeError("after appending")


def fail(transaction: Transaction) -> None:
    raise InputError("before appending")


def append_two(transaction: Transaction) -> None:
    transaction.append("r1", a_violation("one"), at=NOON, by=AGENT)
    transaction.append("r1", a_violation("two"), at=NOON, by=AGENT)


def test_who_fails_before_appending_only_fails_alone(ledger: Ledger) -> None:
    a_started(ledger)

    outcomes = in_one_group(ledger, [planned(append_two), planned(fail), planned(append_two)])

    assert [type(each) for each in outcomes] == [type(None), InputError, type(None)]
    assert checked_chain(ledger.rows, "r1") == 5


def test_who_fails_after_appending_spoils_nobody_else(ledger: Ledger) -> None:
    a_started(ledger)

    works = [planned(append_two), planned(append_and_fail), planned(fail), planned(append_two)]
    outcomes = in_one_group(ledger, works)

    assert [type(each) for each in outcomes] == [
        type(None),
        RuntimeError,
        InputError,
        type(None),
    ]
    assert checked_chain(ledger.rows, "r1") == 5
    assert not any(b"never kept" in body for body in all_records(ledger, "r1"))


def test_who_fails_alone_leaves_nothing_behind(ledger: Ledger) -> None:
    a_started(ledger)

    with pytest.raises(RuntimeError, match="after appending"):
        ledger.execute(planned(append_and_fail))

    assert checked_chain(ledger.rows, "r1") == 1
    assert ledger.execute(appending("r1", a_violation()))[0].seq == 2


def test_who_stops_waiting_takes_nothing_back(ledger: Ledger) -> None:
    a_started(ledger)
    committing, may_go = threading.Event(), threading.Event()

    def hold(transaction: Transaction) -> None:
        committing.set()
        assert may_go.wait(LONG_ENOUGH_S)

    holding = submitted(ledger, planned(hold, "holder"))
    assert committing.wait(LONG_ENOUGH_S)
    impatient = submitted(ledger, planned(append_two))
    patient = submitted(ledger, planned(append_two))
    assert not impatient.cancel()
    may_go.set()

    wait([holding, impatient, patient], timeout=LONG_ENOUGH_S)
    assert patient.exception() is None
    assert checked_chain(ledger.rows, "r1") == 5


def test_within_a_group_everybody_sees_what_came_before(ledger: Ledger) -> None:
    a_started(ledger)
    seen: list[tuple[int, bool]] = []

    def look(transaction: Transaction) -> None:
        state = transaction.state("r1")
        record = transaction.record("r1", state.seq)
        assert record is not None
        assert transaction.record("r1", state.seq + 1) is None
        seen.append((record.seq, transaction.key("r1", "k1") is not None))

    def judge(transaction: Transaction) -> None:
        transaction.append("r1", a_judgement(key="k1", lease_until=NOON), at=NOON, by=AGENT)
        assert transaction.has_reservation("r1", transaction.state("r1").seq)

    in_one_group(ledger, [planned(look), planned(judge), planned(look)])

    assert seen == [(1, False), (2, True)]


def test_sixteen_threads_on_one_run_leave_no_gap(ledger: Ledger) -> None:
    a_started(ledger)

    def append(number: int) -> list[int]:
        return [
            ledger.execute(appending("r1", a_judgement(key=f"{number}/{each}")))[0].seq
            for each in range(8)
        ]

    with ThreadPoolExecutor(16) as pool:
        given_out = [seq for seqs in pool.map(append, range(16)) for seq in seqs]

    assert sorted(given_out) == list(range(2, 130))
    assert checked_chain(ledger.rows, "r1") == 129
    account = ledger.execute(
        Work(lambda transaction: transaction.account("run/r1"), locks=("run/r1",))
    )
    assert account.reserved == Amounts(tool_calls=128, tokens=128 * 400)


def test_a_state_can_be_read_while_others_write(ledger: Ledger) -> None:
    a_started(ledger)
    is_over = threading.Event()

    def write() -> None:
        try:
            for _ in range(150):
                ledger.execute(appending("r1", a_violation()))
        finally:
            is_over.set()

    seen = [0]
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not is_over.is_set():
            state = ledger.state("r1")
            assert state is not None
            seen.append(state.seq)
        writing.result()

    assert seen == sorted(seen)


# Several at once


def test_a_second_ledger_sees_what_the_first_wrote(open_ledger: OpenLedger) -> None:
    records = open_ledger().execute(appending("r1", *ONE_OF_EACH.values()))

    assert open_ledger().state("r1") == state_of("r1", records)


@shared_by_many
def test_who_remembers_an_older_state_folds_forward(open_ledger: OpenLedger) -> None:
    first, second = open_ledger(), open_ledger()
    a_started(first)
    records = [decoded(body) for body in all_records(first, "r1")]
    for turn in range(6):
        writer = (first, second)[turn % 2]
        records += writer.execute(appending("r1", a_judgement(), *[a_violation()] * 30))

    for each in (first, second):
        state = each.execute(Work(lambda transaction: transaction.state("r1"), locks=("run/r1",)))
        account = each.execute(
            Work(lambda transaction: transaction.account("run/r1"), locks=("run/r1",))
        )
        assert state == state_of("r1", records)
        assert account.reserved == Amounts(tool_calls=6, tokens=2_400)
    assert checked_chain(first.rows, "r1") == len(records)


@shared_by_many
def test_two_ledgers_at_the_same_run_leave_no_gap(open_ledger: OpenLedger) -> None:
    ledgers = [open_ledger(), open_ledger()]
    a_started(ledgers[0])

    def append(number: int) -> None:
        for _ in range(10):
            ledgers[number % 2].execute(appending("r1", a_judgement()))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))

    assert checked_chain(ledgers[0].rows, "r1") == 41


def test_rows_of_one_moment_do_not_change(ledger: Ledger) -> None:
    a_started(ledger)

    with ledger.store.frozen() as rows:
        ledger.execute(appending("r1", a_judgement(key="k1"), an_opening("a1")))
        ledger.execute(appending("r2", a_start()))

        assert checked_chain(rows, "r1") == 1
        assert rows.chains() == ["r1"]
        assert len(rows.written()) == 1
        assert rows.key("r1", "k1") is None
        assert rows.approval("a1") is None
        assert rows.meta("id") == ledger.rows.meta("id")
    assert checked_chain(ledger.rows, "r1") == 3


# Waiting and closing


def test_the_future_holds_the_result_once_it_is_durable(
    ledger: Ledger, open_ledger: OpenLedger
) -> None:
    a_started(ledger)

    futures = [submitted(ledger, appending("r1", a_violation())) for _ in range(5)]

    assert [future.result(60)[0].seq for future in futures] == [2, 3, 4, 5, 6]
    assert len(all_records(open_ledger(), "r1")) == 6


def test_closing_finishes_what_waits(open_store: Callable[[], Store]) -> None:
    store = open_store()
    ledger = Ledger(store, key=KEY)
    a_started(ledger)

    futures = [submitted(ledger, appending("r1", a_violation())) for _ in range(20)]
    ledger.close()

    assert all(future.done() for future in futures)
    assert [future.result()[0].seq for future in futures] == list(range(2, 22))


@pytest.mark.parametrize("has_committer", [True, False])
def test_a_closed_ledger_says_so(open_store: Callable[[], Store], has_committer: bool) -> None:
    ledger = Ledger(open_store(), key=KEY)
    if has_committer:
        submitted(ledger, appending("r1", a_start())).result(60)
    ledger.close()
    ledger.close()

    with pytest.raises(LedgerError, match="the ledger is closed: open it again"):
        ledger.execute(appending("r1", a_violation()))
    with pytest.raises(LedgerError, match="the ledger is closed: open it again"):
        submitted(ledger, appending("r1", a_violation())).result(60)


def test_a_listener_never_misses_a_commit(ledger: Ledger) -> None:
    listener = ledger.listen()
    try:
        a_started(ledger)
        assert listener.wait(LONG_ENOUGH_S)
        seen = 1

        with ThreadPoolExecutor(1) as pool:
            writing = pool.submit(
                lambda: [ledger.execute(appending("r1", a_violation())) for _ in range(50)]
            )
            while seen < 51:
                assert listener.wait(LONG_ENOUGH_S)
                seen = len(all_records(ledger, "r1"))
            writing.result()
    finally:
        listener.close()


@shared_by_many
def test_a_listener_hears_of_the_commits_of_others(open_ledger: OpenLedger) -> None:
    first, second = open_ledger(), open_ledger()
    listener = first.listen()
    try:
        a_started(second)
        assert listener.wait(LONG_ENOUGH_S)
    finally:
        listener.close()
