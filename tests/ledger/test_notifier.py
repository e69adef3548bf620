"""Are all who wait for a ledger in a file woken, in every process, and the dead forgotten?"""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from interlock.errors import LedgerError
from interlock.ledger.ledger import Ledger
from interlock.ledger.stores.memory import MemoryStore
from interlock.ledger.stores.sqlite import SqliteStore
from ledger.events import KEY, a_violation, appending
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(place: Path) -> Iterator[Ledger]:
    with opened(place) as ledger:
        yield ledger


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    """Ends every process that a test has started."""
    with ExitStack() as stack:
        yield stack


def opened(place: Path) -> Ledger:
    return Ledger(SqliteStore(place), key=KEY)


def commit(ledger: Ledger) -> None:
    ledger.execute(appending("ours", a_violation()))


def started(processes: ExitStack, *arguments: object, **environment: str) -> subprocess.Popen[str]:
    process = PythonProcess[str](
        ["-m", "ledger.notifier_process", *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    processes.enter_context(process)
    processes.callback(process.kill)
    return process


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_wakes_a_listener_in_the_same_process(ledger: Ledger) -> None:
    listener = ledger.listen()
    commit(ledger)

    assert listener.wait(LONG_ENOUGH_S)


def test_wakes_a_listener_to_the_memory_of_the_process() -> None:
    with Ledger(MemoryStore(), key=KEY) as ledger:
        listener = ledger.listen()
        assert not listener.wait(0)
        threading.Timer(0.01, commit, [ledger]).start()

        assert listener.wait(None)
        assert not listener.wait(0)


def test_wakes_who_listens_through_another_opening_of_the_same_file(
    ledger: Ledger, place: Path
) -> None:
    with opened(place) as other:
        listener = other.listen()
        commit(ledger)

        assert listener.wait(LONG_ENOUGH_S)


@pytest.mark.parametrize("temporary", ["the same", "another"])
def test_is_woken_from_another_process(
    ledger: Ledger, place: Path, tmp_path: Path, processes: ExitStack, temporary: str
) -> None:
    elsewhere = {} if temporary == "the same" else {"TMPDIR": str(tmp_path)}
    listener = ledger.listen()
    started(processes, "commit", place, **elsewhere)

    assert listener.wait(LONG_ENOUGH_S)


def test_wakes_fifty_listeners_in_five_processes(
    ledger: Ledger, place: Path, processes: ExitStack
) -> None:
    others = [started(processes, "listen", place, 10) for _ in range(5)]
    assert [said(other) for other in others] == ["listening 10"] * 5

    commit(ledger)

    assert [said(other) for other in others] == ["woken 10"] * 5


def test_wakes_six_hundred_listeners(ledger: Ledger) -> None:
    listeners = [ledger.listen() for _ in range(600)]

    commit(ledger)

    assert sum(listener.wait(0) for listener in listeners) == 600


def test_loses_no_wakeup_between_looking_and_waiting() -> None:
    rounds = 1000

    def echo(ledger: Ledger) -> None:
        listener = ledger.listen()
        for number in range(1, rounds + 1):
            while ledger.rows.record("ours", number) is None:
                assert listener.wait(LONG_ENOUGH_S)
            ledger.execute(appending("theirs", a_violation()))

    # In memory nobody looks again after a while: a wakeup that is lost is lost.
    with Ledger(MemoryStore(), key=KEY) as ledger:
        thread = threading.Thread(target=echo, args=[ledger])
        thread.start()
        listener = ledger.listen()
        for number in range(1, rounds + 1):
            commit(ledger)
            while ledger.rows.record("theirs", number) is None:
                assert listener.wait(LONG_ENOUGH_S), f"lost the answer of round {number}"
        thread.join(LONG_ENOUGH_S)


def test_loses_no_wakeup_from_another_process(
    ledger: Ledger, place: Path, processes: ExitStack
) -> None:
    rounds = 30
    echo = started(processes, "echo", place, rounds)
    assert said(echo) == "listening 1"

    listener = ledger.listen()
    for number in range(1, rounds + 1):
        commit(ledger)
        while ledger.rows.record("theirs", number) is None:
            assert listener.wait(LONG_ENOUGH_S), f"lost the answer of round {number}"

    assert echo.wait(LONG_ENOUGH_S) == 0


def test_many_commits_are_one_wakeup(ledger: Ledger) -> None:
    listener = ledger.listen()
    for _ in range(100):
        commit(ledger)

    assert listener.wait(0)
    assert not listener.wait(0)


def test_a_commit_after_many_that_were_taken_still_wakes(ledger: Ledger) -> None:
    listener = ledger.listen()
    for _ in range(100):
        commit(ledger)
    assert listener.wait(0)

    commit(ledger)

    assert listener.wait(0)


def test_does_not_wake_those_who_listen_to_another_ledger(ledger: Ledger, tmp_path: Path) -> None:
    listener = ledger.listen()
    with opened(tmp_path / "other.db") as other:
        commit(other)

    assert not listener.wait(0)


def test_a_commit_before_listening_is_not_heard(ledger: Ledger) -> None:
    commit(ledger)

    assert not ledger.listen().wait(0)


@pytest.mark.parametrize("timeout_s", [0, 0.001, 0.2, -1.0])
def test_says_that_nothing_was_heard(ledger: Ledger, timeout_s: float) -> None:
    assert not ledger.listen().wait(timeout_s)


def test_a_killed_listener_is_in_nobodys_way(
    ledger: Ledger, place: Path, processes: ExitStack
) -> None:
    other = started(processes, "listen", place, 3)
    assert said(other) == "listening 3"
    survivor = ledger.listen()
    other.kill()
    other.wait()

    commit(ledger)

    assert survivor.wait(0)


def test_listening_leaves_nothing_behind(tmp_path: Path, place: Path) -> None:
    with opened(place) as ledger:
        listener = ledger.listen()
        commit(ledger)
        assert listener.wait(0)
        listener.close()

    assert [path.name for path in tmp_path.iterdir()] == [place.name]


def test_listeners_come_and_go_while_others_commit(ledger: Ledger) -> None:
    over = threading.Event()

    def commit_on() -> None:
        while not over.is_set():
            commit(ledger)

    def come_and_go(meter_with_words: list[bool]) -> None:
        meter_with_words.extend(ledger.listen().wait(LONG_ENOUGH_S) for _ in range(50))

    meter_with_words: list[bool] = []
    writers = [threading.Thread(target=commit_on) for _ in range(2)]
    comers = [threading.Thread(target=come_and_go, args=(meter_with_words,)) for _ in range(4)]
    for thread in (*writers, *comers):
        thread.start()
    for thread in comers:
        thread.join()
    over.set()
    for thread in writers:
        thread.join()

    assert meter_with_words == [True] * 200


def test_finds_the_ledger_by_any_of_its_paths(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place) as ledger:
        (tmp_path / "link.db").symlink_to(place)
        monkeypatch.chdir(tmp_path)
        with opened(Path("link.db")) as other:
            listener = other.listen()
            commit(ledger)

            assert listener.wait(LONG_ENOUGH_S)


def test_a_forked_child_does_not_take_the_listener_away(ledger: Ledger) -> None:
    listener = ledger.listen()
    child = os.fork()
    if child == 0:
        refused = False
        try:
            listener.wait(0)
        except LedgerError:
            refused = True
        listener.close()
        os._exit(0 if refused else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

    commit(ledger)

    assert listener.wait(0)
