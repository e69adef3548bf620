"""The write-ahead file stays small, whoever reads, and is emptied when nobody does."""

from __future__ import annotations

from pathlib import Path
from threading import Event, Thread

from crash.jobs import OPENED
from crash.nursery import Nursery
from crash.places import Place
from effort import rounds
from interlock import Interlock, load_policy
from interlock.model.events import ViolationRecorded
from interlock.service.questions.question import Asking
from interlock.service.records.observations import record_violation
from ledger.events import submitted

_LIMIT = 4 << 20
_MANY = rounds(short=8_000, soak=20_000)
"""Of which it would be half as large again as twice the limit, if nobody kept it small."""
_GROUP = 64


def test_the_write_ahead_file_stays_small_beside_a_reader_of_ours(sqlite_place: Place):
    with sqlite_place.opened() as interlock:
        _report(interlock, sqlite_place, 1_000)
        is_over, pages = Event(), [0]
        reader = Thread(target=_page_through, args=(interlock, sqlite_place.run, is_over, pages))
        reader.start()
        largest = _report(interlock, sqlite_place, _MANY)
        is_over.set()
        reader.join()

        assert pages[0] > 10
        assert largest <= 2 * _LIMIT
    sqlite_place.assert_sound()


def test_it_stays_small_while_somebody_looks_at_one_moment(sqlite_place: Place):
    """As `verify` does, for as long as that takes."""
    with sqlite_place.opened() as interlock:
        _report(interlock, sqlite_place, 1_000)
        with interlock.ledger.store.frozen() as rows:
            before = rows.head()
            largest = _report(interlock, sqlite_place, _MANY)
            seen = len(rows.records(sqlite_place.run, limit=_MANY))

            assert rows.head() == before
            assert seen <= before.records < interlock.ledger.rows.head().records
        assert largest <= 2 * _LIMIT
        left = {each.name for each in sqlite_place.wal.parent.iterdir()}
        assert not {name for name in left if name.startswith(f".{sqlite_place.file.name}")}
    sqlite_place.assert_sound()


def test_how_large_it_gets_is_a_key_of_the_policy(tmp_path: Path):
    policy = tmp_path / "policy.toml"
    policy.write_text("[ledger]\ncheckpoint-pages = 50\n")
    file, largest = tmp_path / "ledger.db", 0
    with Interlock.open(file, keys=tmp_path / "keys", policy=load_policy(user=policy)) as interlock:
        run = interlock.run("many")
        for number in range(150):
            run.violation("many", f"number {number}")
            largest = max(largest, file.with_name("ledger.db-wal").stat().st_size)
        interlock.checkpoint_store()
        emptied = file.with_name("ledger.db-wal").stat().st_size

    # One group more than the limit: it is looked at after each.
    assert 50 * 4096 < largest < 100 * 4096
    assert emptied == 0


def test_a_foreign_reader_lets_it_grow_and_it_is_emptied_afterwards(
    sqlite_place: Place, nursery: Nursery
):
    with sqlite_place.opened() as interlock:
        reader = nursery.spawn("read", place=sqlite_place.url)
        reader.hear_until(OPENED)
        grown = _report(interlock, sqlite_place, 4_000)
        interlock.ledger.tidy()
        kept = sqlite_place.wal.stat().st_size
        reader.kill()
        interlock.ledger.tidy()

        assert grown > _LIMIT
        assert kept >= grown
        assert sqlite_place.wal.stat().st_size == 0
    sqlite_place.assert_sound()


def _report(interlock: Interlock, place: Place, count: int) -> int:
    """Write so many records, some at once; return how large the write-ahead file ever was."""
    moment, largest = Asking(interlock.governor, None).of_run(place.run), 0
    for first in range(0, count, _GROUP):
        events = [
            ViolationRecorded(rule="many", message=f"number {number} of a long list")
            for number in range(first, first + _GROUP)
        ]
        waiting = [submitted(interlock.ledger, record_violation(moment, event)) for event in events]
        for each in waiting:
            each.result()
        largest = max(largest, place.wal.stat().st_size)
    return largest


def _page_through(interlock: Interlock, run_id: str, is_over: Event, pages: list[int]) -> None:
    rows, last = interlock.ledger.rows, 0
    while not is_over.is_set():
        page = rows.records(run_id, after=last, limit=500)
        last = page[-1].seq if page else 0
        pages[0] += 1
