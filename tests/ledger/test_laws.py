"""Laws that hold for any history whatever."""

from __future__ import annotations

import tempfile
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.stores.memory import MemoryStore
from interlock.ledger.stores.sqlite import SqliteStore
from interlock.ledger.transaction import Transaction
from interlock.ledger.verification import verify_all
from interlock.model.events import (
    ActionJudged,
    ApprovalDecided,
    ApprovalOpened,
    ApprovalUsed,
    Event,
    PolicyAdopted,
    Record,
)
from interlock.model.rows import PolicyRow
from interlock.model.run import RunState, folded
from ledger.events import AGENT, KEY, NOON, POLICY, appending, events, planned, state_of

_histories = st.lists(events(), min_size=1, max_size=8)


@examples(15, soak=500)
@given(_histories, st.data())
def test_the_fold_of_a_whole_is_the_fold_of_its_parts(
    history: list[Event], data: st.DataObject
) -> None:
    records = [
        Record(v=1, run="r1", seq=seq, at=NOON + seq, by=AGENT, prev="", event=event)
        for seq, event in enumerate(history, 1)
    ]
    cut = data.draw(st.integers(0, len(records)))

    state = state_of("r1", records[:cut])
    for record in records[cut:]:
        state = folded(state, record)

    assert state == state_of("r1", records)


@examples(12, soak=500)
@given(_histories, st.integers(1, 7))
def test_a_ledger_that_is_opened_again_knows_what_its_records_tell(
    history: list[Event], size: int
) -> None:
    long_history = list(islice(cycle(history), 100))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger.db"
        with Ledger(SqliteStore(path), key=KEY) as ledger:
            records = _written_in_groups(ledger, long_history, size)
            remembered = ledger.execute(_state())
        with Ledger(SqliteStore(path), key=KEY) as ledger:
            assert ledger.rows.snapshot("r1") is not None
            assert ledger.state("r1") == ledger.execute(_state()) == remembered
            assert remembered == state_of("r1", records)


@given(st.lists(st.tuples(st.sampled_from(["r1", "r2", "r3"]), events()), max_size=12))
def test_the_books_always_follow_from_the_records(history: list[tuple[str, Event]]) -> None:
    with Ledger(MemoryStore(), key=KEY) as ledger:
        ledger.execute(planned(Transaction.seal_meta))
        for run_id, event in history:
            if not isinstance(event, PolicyAdopted):
                ledger.execute(planned(partial(_keep_policy_of, event)))
                ledger.execute(appending(run_id, _with_an_id_of_its_own(event, run_id)))

        assert [found.problem for found in verify_all(ledger.rows, KEY) if found.problem] == []


def _with_an_id_of_its_own(event: Event, run_id: str) -> Event:
    match event:
        case ApprovalOpened() | ApprovalDecided() | ApprovalUsed():
            return msgspec.structs.replace(event, id=f"{run_id}/{event.id}")
        case _:
            return event


def _keep_policy_of(event: Event, transaction: Transaction) -> None:
    named = event.verdict if isinstance(event, ActionJudged) else event
    if policy_hash := getattr(named, "policy_hash", ""):
        transaction.put_policy(PolicyRow(policy_hash, b"{}"))


def _written_in_groups(ledger: Ledger, history: list[Event], size: int) -> list[Record]:
    ledger.execute(planned(lambda transaction: transaction.put_policy(POLICY)))
    records: list[Record] = []
    for begin in range(0, len(history), size):
        records += ledger.execute(appending("r1", *history[begin : begin + size], at=NOON + begin))
    return records


def _state() -> Work[RunState]:
    return Work(lambda transaction: transaction.state("r1"), locks=("run/r1",))
