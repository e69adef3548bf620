"""When it is quiet, things are put in order; while there is work, they are left alone."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from interlock.ledger.chain import SealKey
from interlock.ledger.ledger import IdleTimer, Ledger
from interlock.ledger.stores.sqlite import SqliteStore
from ledger.events import a_violation, appending
from patience import LONG_ENOUGH_S

_SHORT_S = 0.02


def test_calls_back_once_after_each_stretch_of_work() -> None:
    quiet = threading.Semaphore(0)
    idling = IdleTimer(quiet.release, after_s=_SHORT_S)

    for _ in range(3):
        for _ in range(100):
            idling.note_work()
        assert quiet.acquire(timeout=LONG_ENOUGH_S)
    idling.stop()

    assert not quiet.acquire(blocking=False)


def test_does_not_call_back_after_it_was_stopped() -> None:
    called: list[bool] = []
    idling = IdleTimer(lambda: called.append(True), after_s=LONG_ENOUGH_S)

    idling.note_work()
    idling.stop()

    assert called == []


def test_starts_no_thread_before_there_is_work() -> None:
    before = threading.active_count()

    IdleTimer(lambda: None, after_s=_SHORT_S).stop()

    assert threading.active_count() == before


def test_the_write_ahead_file_is_emptied_when_it_is_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteStore, "idle_after_s", _SHORT_S)
    path = tmp_path / "ledger.db"
    written_ahead = path.with_name("ledger.db-wal")
    tidied = threading.Event()

    class Watched(SqliteStore):
        def tidy(self) -> None:
            super().tidy()
            tidied.set()

    with Ledger(Watched(path), key=SealKey(b"key")) as ledger:
        ledger.execute(appending("r1", a_violation()))

        assert tidied.wait(LONG_ENOUGH_S)
        assert written_ahead.stat().st_size == 0
