"""Are all who wait for the ledger woken, in every process, and the dead forgotten?"""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from interlock.errors import UnavailableError
from interlock.ledger import notifier as bell_module
from interlock.ledger.notifier import Notifier, PollingListener

PROGRAM = Path(__file__).with_name("notifier_process.py")
LONG_ENOUGH_S = 60.0


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A temporary folder with a short path, which other processes inherit.

    Asked for after `tmp_path`, which must not be made inside it.
    """
    with tempfile.TemporaryDirectory(prefix="ilk-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    """Ends every process that a test has started."""
    with ExitStack() as stack:
        yield stack


def started(processes: ExitStack, *arguments: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        # Not measured: whoever is killed leaves half a file of measurements behind.
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
    )
    processes.enter_context(process)
    processes.callback(process.kill)
    return process


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def sockets(temporary_folder: Path) -> list[Path]:
    return [path for path in temporary_folder.rglob("*") if path.is_socket()]


def test_wakes_a_listener_in_the_same_process(tmp_path: Path) -> None:
    with Notifier(tmp_path).listen() as listener:
        Notifier(tmp_path).ring()

        assert listener.wait(LONG_ENOUGH_S)


def test_is_rung_from_another_process(tmp_path: Path, processes: ExitStack) -> None:
    with Notifier(tmp_path).listen() as listener:
        started(processes, "ring", tmp_path)

        assert listener.wait(LONG_ENOUGH_S)


def test_wakes_fifty_listeners_in_five_processes(tmp_path: Path, processes: ExitStack) -> None:
    others = [started(processes, "listen", tmp_path, 10) for _ in range(5)]
    assert [said(other) for other in others] == ["listening 10"] * 5

    Notifier(tmp_path).ring()

    assert [said(other) for other in others] == ["woken 10"] * 5


def test_wakes_more_listeners_than_one_sender_may_have_messages_under_way(tmp_path: Path) -> None:
    with ExitStack() as stack:
        listeners = [stack.enter_context(Notifier(tmp_path).listen()) for _ in range(600)]

        Notifier(tmp_path).ring()

        assert sum(listener.wait(0) for listener in listeners) == 600


def test_loses_no_wakeup_between_looking_and_waiting(tmp_path: Path, processes: ExitStack) -> None:
    rounds = 1000
    asked, answered = tmp_path / "asked", tmp_path / "answered"
    asked.write_text("0")
    answered.write_text("0")
    echo = started(processes, "echo", tmp_path, rounds)
    assert said(echo) == "listening 1"

    with Notifier(answered).listen() as listener:
        for number in range(1, rounds + 1):
            replace(asked, number)
            Notifier(asked).ring()
            while int(answered.read_text()) < number:
                assert listener.wait(LONG_ENOUGH_S), f"lost the answer of round {number}"

    assert echo.wait(LONG_ENOUGH_S) == 0


def replace(path: Path, number: int) -> None:
    fresh = path.with_suffix(".fresh")
    fresh.write_text(str(number))
    fresh.replace(path)


def test_many_rings_are_one_wakeup(tmp_path: Path) -> None:
    with Notifier(tmp_path).listen() as listener:
        for _ in range(1000):
            Notifier(tmp_path).ring()

        assert listener.wait(0)
        assert not listener.wait(0)


def test_a_ring_after_many_that_nobody_took_still_wakes(tmp_path: Path) -> None:
    with Notifier(tmp_path).listen() as listener:
        for _ in range(1000):
            Notifier(tmp_path).ring()
        assert listener.wait(0)

        Notifier(tmp_path).ring()

        assert listener.wait(0)


def test_does_not_wake_those_who_listen_to_another_ledger(tmp_path: Path) -> None:
    with Notifier(tmp_path / "one").listen() as listener:
        Notifier(tmp_path / "other").ring()

        assert not listener.wait(0)


def test_a_ring_before_listening_is_not_heard(tmp_path: Path) -> None:
    Notifier(tmp_path).ring()

    with Notifier(tmp_path).listen() as listener:
        assert not listener.wait(0)


@pytest.mark.parametrize("timeout_s", [0, 0.001, -1.0])
def test_says_that_nothing_was_heard(tmp_path: Path, timeout_s: float) -> None:
    with Notifier(tmp_path).listen() as listener:
        assert not listener.wait(timeout_s)


def test_forgets_a_killed_listener(
    tmp_path: Path, temporary_folder: Path, processes: ExitStack
) -> None:
    other = started(processes, "listen", tmp_path, 3)
    assert said(other) == "listening 3"
    with Notifier(tmp_path).listen() as survivor:
        other.kill()
        other.wait()
        assert len(sockets(temporary_folder)) == 4

        Notifier(tmp_path).ring()

        assert len(sockets(temporary_folder)) == 1
        assert survivor.wait(0)


def test_a_closed_listener_leaves_nothing(tmp_path: Path, temporary_folder: Path) -> None:
    with Notifier(tmp_path).listen(), Notifier(tmp_path).listen():
        assert len(sockets(temporary_folder)) == 2

    assert [path.name for path in temporary_folder.rglob("*")] == [f"interlock-{os.getuid()}"]


def test_nobody_listening_leaves_nothing(tmp_path: Path, temporary_folder: Path) -> None:
    Notifier(tmp_path).ring()

    assert list(temporary_folder.iterdir()) == []


def test_listeners_come_and_go_while_others_ring(tmp_path: Path) -> None:
    over = threading.Event()

    def ring_on() -> None:
        while not over.is_set():
            Notifier(tmp_path).ring()

    def come_and_go(heard: list[bool]) -> None:
        for _ in range(200):
            with Notifier(tmp_path).listen() as listener:
                heard.append(listener.wait(LONG_ENOUGH_S))

    heard: list[bool] = []
    ringers = [threading.Thread(target=ring_on) for _ in range(2)]
    comers = [threading.Thread(target=come_and_go, args=(heard,)) for _ in range(4)]
    for thread in (*ringers, *comers):
        thread.start()
    for thread in comers:
        thread.join()
    over.set()
    for thread in ringers:
        thread.join()

    assert heard == [True] * 800


@pytest.mark.parametrize("where", ["ledger", "temporary folder"])
def test_takes_paths_longer_than_a_socket_may_have(
    tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("l" * 100) / ("l" * 100)
    long.mkdir(parents=True)
    if where == "temporary folder":
        monkeypatch.setattr(tempfile, "tempdir", str(long))

    with Notifier(long).listen() as listener:
        Notifier(long).ring()

        assert listener.wait(0)


def test_finds_the_ledger_by_any_of_its_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ledger").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "ledger")
    monkeypatch.chdir(tmp_path)

    with Notifier(tmp_path / "link").listen() as listener:
        Notifier(Path("ledger")).ring()

        assert listener.wait(0)


def test_works_with_asyncio(tmp_path: Path) -> None:
    async def wait_for_ring() -> bool:
        with Notifier(tmp_path).listen() as listener:
            heard = asyncio.Event()
            loop = asyncio.get_running_loop()
            loop.add_reader(listener.fileno(), heard.set)
            Notifier(tmp_path).ring()
            await asyncio.wait_for(heard.wait(), LONG_ENOUGH_S)
            loop.remove_reader(listener.fileno())
            return listener.wait(0)

    assert asyncio.run(wait_for_ring())


def test_a_forked_child_does_not_take_the_listener_away(
    tmp_path: Path, temporary_folder: Path
) -> None:
    with Notifier(tmp_path).listen() as listener:
        child = os.fork()
        if child == 0:
            listener.close()
            os._exit(0)
        os.waitpid(child, 0)

        Notifier(tmp_path).ring()

        assert listener.wait(0)


def home_of(temporary_folder: Path) -> Path:
    return temporary_folder / f"interlock-{os.getuid()}"


def test_refuses_a_folder_that_is_open_to_others(tmp_path: Path, temporary_folder: Path) -> None:
    home_of(temporary_folder).mkdir()
    home_of(temporary_folder).chmod(0o755)

    with pytest.raises(UnavailableError, match="belongs to somebody else or is open to others"):
        Notifier(tmp_path).listen()


def test_refuses_a_link_in_place_of_its_folder(tmp_path: Path, temporary_folder: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    home_of(temporary_folder).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UnavailableError, match="belongs to somebody else"):
        Notifier(tmp_path).listen()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_refuses_a_folder_of_somebody_else(tmp_path: Path, temporary_folder: Path) -> None:
    home_of(temporary_folder).mkdir(mode=0o700)
    os.chown(home_of(temporary_folder), 65534, 65534)

    with pytest.raises(UnavailableError, match="belongs to somebody else"):
        Notifier(tmp_path).listen()


def test_removes_nothing_from_a_folder_that_others_can_fill(
    tmp_path: Path, temporary_folder: Path
) -> None:
    with Notifier(tmp_path).listen():
        (folder,) = home_of(temporary_folder).iterdir()
        bait = folder / "bait.bell"
        bait.touch()
        home_of(temporary_folder).chmod(0o777)

        Notifier(tmp_path).ring()

        assert bait.exists()


def test_names_the_folder_that_cannot_be_written(
    tmp_path: Path, temporary_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (temporary_folder / "file").touch()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary_folder / "file"))

    with pytest.raises(UnavailableError, match=r"cannot listen in `.*`: .*; set TMPDIR"):
        Notifier(tmp_path).listen()


def test_removes_what_a_process_left_that_died_while_beginning(
    tmp_path: Path, temporary_folder: Path
) -> None:
    with Notifier(tmp_path).listen():
        (folder,) = home_of(temporary_folder).iterdir()
        old, young = folder / "old.new", folder / "young.new"
        old.touch()
        young.touch()
        os.utime(old, (0, 0))

        with Notifier(tmp_path).listen():
            assert not old.exists()
            assert young.exists()
        young.unlink()


def test_looks_again_soon_where_there_are_no_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bell_module, "_HAS_DATAGRAM_SOCKETS", False)

    with Notifier(tmp_path).listen() as listener:
        Notifier(tmp_path).ring()

        assert isinstance(listener, PollingListener)
        assert listener.wait(None)
        assert not listener.wait(0)
        with pytest.raises(io.UnsupportedOperation, match="call wait instead"):
            listener.fileno()
