"""The engine: what was begun comes to its end, once, whoever is killed or stopped on the way."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import pytest

from interlock.errors import InputError, UnavailableError
from interlock.loop.engine import Body, Cron, Engine, JsonValue, Steps
from interlock.loop.engine_lease import EngineDatabase, Lease, Worker
from loop.engine_worker import SettableClock
from loop.stopped_process import stop
from patience import LONG_ENOUGH_S, wait_until
from warm_python import PythonProcess

LEASE_S = 600.0
"""Nobody loses this one because the machine is busy."""
HOUR = 3_600_000_000


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an engine can be made."""
    if request.param == "sqlite":
        return str(tmp_path / "engine.db")
    return request.getfixturevalue("postgres_url")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """What the workers write into."""
    path = tmp_path / "log"
    path.touch()
    return path


def an_engine(
    place: str | Path, flows: dict[str, Body] | None = None, *, worker: str = "here"
) -> Engine:
    return Engine(
        str(place), worker=worker, flows=flows or {}, clock=SettableClock(), lease_s=LEASE_S
    )


class Process:
    """A worker in a process of its own; it never outlives the test."""

    def __init__(self, place: str, worker: str, log: Path, gate: Path | None = None) -> None:
        self._process = PythonProcess[str](
            ["-m", "loop.engine_worker", place, worker, str(log)]
            + ([] if gate is None else [str(gate)]),
            cwd=log.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answers("started")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def tell(self, *words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(words) + "\n")
        self._process.stdin.flush()
        self._answers("done")

    def signal(self, number: int) -> None:
        self._process.send_signal(number)
        if number == signal.SIGKILL:
            self._process.wait()

    def stop(self) -> None:
        stop(self._process)

    def end(self) -> None:
        self._process.communicate()
        assert self._process.returncode == 0

    def _answers(self, expected: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == f"{expected}\n"


def test_a_killed_worker_goes_on_where_it_was(place: str, log: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with Process(place, "a", log, gate) as first:
        first.tell("begin", "f")
        wait_until(lambda: "gate" in log.read_text())
        first.signal(signal.SIGKILL)
    with Process(place, "a", log) as second:
        wait_until(lambda: an_engine(place).status().flows["done"] == 1)
        second.end()

    assert log.read_text().split("\n") == ["one a", "gate a", "two a", "three a", ""]


def test_another_worker_takes_over_from_a_killed_one(place: str, log: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    with Process(place, "b", log) as second, Process(place, "a", log, gate) as first:
        first.tell("begin", "f")
        wait_until(lambda: "gate" in log.read_text())
        first.signal(signal.SIGKILL)
        second.tell("take over")
        wait_until(lambda: "three" in log.read_text())
        second.tell("begin", "f")
        second.end()

    assert log.read_text().split("\n") == ["one a", "gate a", "two b", "three b", ""]


def test_a_stopped_worker_does_nothing_more_once_it_was_taken_over(
    place: str, log: Path, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    database = EngineDatabase(place)
    with Process(place, "b", log) as second, Process(place, "a", log, gate) as first:
        first.tell("begin", "f")
        wait_until(lambda: "gate" in log.read_text())
        first.stop()
        before = database.workers()[0]
        database.change(
            "UPDATE {schema}interlock_workers SET lease_until = {now} WHERE worker = 'a'"
        )
        second.tell("take over")
        wait_until(lambda: "three b" in log.read_text())
        first.signal(signal.SIGCONT)
        gate.write_bytes(b"")
        wait_until(lambda: "two a" in log.read_text())
        first.tell("look")
        first.tell("look")
        after = database.workers()[0]
        first.tell("begin", "f")
        first.end()
        second.end()
    database.close()

    # The step in whose middle it was ends; there is nothing more.
    assert log.read_text().split("\n") == [
        *("one a", "gate a", "two b", "three b", "two a"),
        "",
    ]
    assert before.name == after.name == "a"
    assert after.epoch > before.epoch + 1
    assert after.is_alive


def test_a_worker_that_nobody_took_over_goes_on(place: str) -> None:
    database = EngineDatabase(place)

    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        database.change("UPDATE {schema}interlock_workers SET lease_until = 0")
        return steps.run("step", lambda: 1)

    with an_engine(place, {"flow": flow}) as engine:
        engine.begin("flow", "f", None)
        wait_until(lambda: engine.status().flows["done"] == 1)
        [worker] = engine.status().workers
    database.close()

    assert worker.is_alive


def test_a_schedule_is_kept_once_by_two_workers(place: str, log: Path) -> None:
    with Process(place, "a", log) as first, Process(place, "b", log) as second:
        first.tell("fire", str(HOUR * 24))
        second.tell("fire", str(HOUR * 24))
        second.tell("fire", str(HOUR * 48))
        wait_until(lambda: log.read_text().count("three") >= 2)
        first.end()
        second.end()

    database = EngineDatabase(place)
    found = database.rows("SELECT workflow_uuid FROM {schema}workflow_status ORDER BY 1")
    database.close()
    assert [flow_id for (flow_id,) in found] == ["beat-1970-01-02T00:00Z", "beat-1970-01-03T00:00Z"]
    assert len(log.read_text().splitlines()) == 6


def test_no_two_workers_have_the_same_name(place: str) -> None:
    with an_engine(place) as engine:
        with pytest.raises(UnavailableError, match="has a worker `here` already"):
            an_engine(place).start()
        assert [worker.is_alive for worker in engine.status().workers] == [True]


class FencedMeanwhile(EngineDatabase):
    """Somebody takes over the flows of whoever is gone, right after they were looked at."""

    def workers(self) -> Sequence[Worker]:
        found = super().workers()
        for worker in found:
            if not worker.is_alive and not worker.epoch & 1:
                self.fence(worker)
        return found


def test_a_name_is_taken_again_although_its_old_flows_are_taken_over_meanwhile(place: str) -> None:
    with an_engine(place):
        pass
    database = FencedMeanwhile(place)
    set_even = "UPDATE {schema}interlock_workers SET epoch = epoch - epoch % 2"
    database.change(set_even)
    [before] = EngineDatabase.workers(database)

    lease = Lease.taken(database, "here", LEASE_S)

    [after] = database.workers()
    database.close()
    assert not before.is_alive
    assert after.is_alive
    assert after.executor == lease.executor
    assert after.epoch > before.epoch + 1


def test_a_process_has_one_engine_at_a_time(tmp_path: Path) -> None:
    one, another = an_engine(tmp_path / "1"), an_engine(tmp_path / "2")
    with one:
        with pytest.raises(InputError, match="runs in this process already"):
            another.start()
        with pytest.raises(InputError, match="this engine runs already"):
            one.start()
    with another:
        assert [worker.is_alive for worker in another.status().workers] == [True]
    with one:
        pass
    assert [worker.is_alive for worker in one.status().workers] == [False]


def test_the_same_id_is_the_same_flow(place: str) -> None:
    done: list[JsonValue] = []

    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        return steps.run("step", lambda: done.append(argument))

    with an_engine(place, {"flow": flow, "other": flow}) as engine:
        for _ in range(3):
            engine.begin("flow", "f", "once")
        wait_until(lambda: engine.status().flows["done"] == 1)
        engine.begin("flow", "f", "again")
        with pytest.raises(InputError, match="`f` is the id of another flow than `other`"):
            engine.begin("other", "f", None)

    assert done == ["once"]


def test_a_flow_is_begun_by_another(tmp_path: Path) -> None:
    done: list[JsonValue] = []

    def parent(steps: Steps, argument: JsonValue) -> JsonValue:
        steps.run("begin", lambda: engine.begin("child", "c", 7))
        return None

    def child(steps: Steps, argument: JsonValue) -> JsonValue:
        return steps.run("step", lambda: done.append(argument))

    with an_engine(tmp_path / "engine.db", {"parent": parent, "child": child}) as engine:
        engine.begin("parent", "p", None)
        wait_until(lambda: engine.status().flows["done"] == 2)

    assert done == [7]


def test_more_flows_than_are_done_at_once_wait_for_their_turn(place: str) -> None:
    gate = threading.Event()

    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        return steps.run("wait", lambda: gate.wait(LONG_ENOUGH_S))

    with an_engine(place, {"flow": flow}) as engine:
        for number in range(40):
            engine.begin("flow", f"f{number}", None)
            wait_until(lambda so_far=number + 1: len(engine._running) >= min(so_far, 16))
        queued = engine.status().flows["queued"]
        gate.set()
        wait_until(lambda: engine.status().flows["done"] == 40)

    assert queued >= 40 - 2 * 16


def test_a_step_that_fails_fails_in_the_same_way_whenever_its_flow_comes_by(place: str) -> None:
    tried: list[int] = []
    heard: list[str] = []

    def fail() -> JsonValue:
        tried.append(1)
        raise ValueError("no")

    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        try:
            steps.run("fail", fail, attempts=2)
        except UnavailableError as error:
            heard.append(str(error))
        steps.run("next", lambda: 1)
        if len(heard) == 1:
            raise SystemExit
        steps.run("not text", object)  # pyright: ignore[reportArgumentType] - the mistake
        return None

    with an_engine(place, {"flow": flow}) as engine:
        engine.begin("flow", "f", None)
        wait_until(lambda: len(heard) == 1 and not len(engine._running))
        wait_until(lambda: engine.take_over() == ["f"])
        wait_until(lambda: engine.status().flows["failed"] == 1)

    assert heard == ["step `fail` of `f` failed: ValueError: no"] * 2
    assert len(tried) == 2


def test_what_a_step_gives_back_is_what_it_would_give_back_later(tmp_path: Path) -> None:
    seen: list[JsonValue] = []

    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        seen.append(steps.run("step", lambda: {"a": (1, 2)}))
        return None

    with an_engine(tmp_path / "engine.db", {"flow": flow}) as engine:
        engine.begin("flow", "f", None)
        wait_until(lambda: bool(seen))

    assert seen == [{"a": [1, 2]}]


def test_flows_that_ended_are_forgotten(place: str) -> None:
    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        return steps.run("step", lambda: 1)

    with an_engine(place, {"flow": flow}) as engine:
        for number in range(3):
            engine.begin("flow", f"f{number}", None)
        wait_until(lambda: engine.status().flows["done"] == 3)
        kept = engine.prune(keep_s=3600)
        wait_until(lambda: engine.prune(keep_s=0) > 0)
        wait_until(lambda: engine.prune(keep_s=0) == 0 and not engine.status().flows["done"])
        status = engine.status()
        steps = engine._database.rows("SELECT 1 FROM {schema}operation_outputs")

    assert kept == 0
    assert status.flows == {"running": 0, "queued": 0, "done": 0, "failed": 0}
    assert list(steps) == []
    assert len(status.workers) == 1


def test_everything_is_kept_as_json(place: str) -> None:
    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        steps.run("step", lambda: {"é": [1.5, None]})
        if argument == "fail":
            raise ValueError("no")
        return argument

    with an_engine(place, {"flow": flow}) as engine:
        engine.begin("flow", "f", {"a": 1})
        engine.begin("flow", "g", "fail")
        wait_until(lambda: {"done": 1, "failed": 1}.items() <= engine.status().flows.items())
        rows = engine._database.rows
        kinds = [
            *rows("SELECT serialization FROM {schema}workflow_status"),
            *rows("SELECT serialization FROM {schema}operation_outputs"),
        ]
        texts = [
            *rows("SELECT inputs FROM {schema}workflow_input"),
            *rows("SELECT output FROM {schema}operation_outputs"),
            *rows("SELECT coalesce(output, error) FROM {schema}workflow_output"),
        ]

    assert {kind for (kind,) in kinds} == {"portable_json"}
    assert len(texts) == 6
    for (text,) in texts:
        json.loads(text)


def test_nothing_listens_and_nothing_is_said_or_left_behind(
    place: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        return steps.run("step", lambda: 1)

    with an_engine(place, {"flow": flow}) as engine:
        engine.begin("flow", "f", None)
        wait_until(lambda: engine.status().flows["done"] == 1)
        listening = list(own_listeners())

    assert listening == []
    assert capfd.readouterr() == ("", "")
    assert list(folder.iterdir()) == []


def own_listeners() -> Iterator[str]:
    """Yield the sockets of this process that wait for connections over the network."""
    if not Path("/proc/net/tcp").exists():
        pytest.skip("only where the kernel shows its sockets as files")
    own = set[str]()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            own.add(str(descriptor.readlink()))
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and f"socket:[{words[9]}]" in own:
                yield line


def test_a_file_is_private_safe_and_made_anew_when_lost(tmp_path: Path) -> None:
    place = tmp_path / "with space?%20#" / "engine.db"
    before = os.umask(0)
    try:
        with an_engine(place) as engine:
            modes = {path.name: path.stat().st_mode & 0o777 for path in place.parent.iterdir()}
            [(journal,)] = engine._database.rows("PRAGMA journal_mode")
            [(synchronous,)] = engine._database.rows("PRAGMA synchronous")
    finally:
        os.umask(before)
    assert modes == {"engine.db": 0o600, "engine.db-wal": 0o600, "engine.db-shm": 0o600}
    assert (journal, synchronous) == ("wal", 2)

    place.chmod(0o644)
    with an_engine(place):
        assert place.stat().st_mode & 0o777 == 0o600
    place.unlink()
    with an_engine(place) as engine:
        assert engine.status().flows["done"] == 0


def test_looking_at_nothing_makes_nothing(place: str, tmp_path: Path) -> None:
    engine = Engine(
        place,
        worker="here",
        flows={"flow": lambda steps, argument: None},
        crons={"beat": Cron(expression="0 * * * *", flow="flow")},
        clock=SettableClock(),
    )
    engine._clock.at = 0  # pyright: ignore[reportAttributeAccessIssue] - the clock of this test
    status = engine.status()

    assert status.workers == ()
    assert set(status.flows.values()) == {0}
    assert status.crons == {"beat": HOUR}
    assert list(tmp_path.iterdir()) == []
    for ask in (engine.take_over, lambda: engine.prune(keep_s=0)):
        with pytest.raises(UnavailableError, match="does not work now"):
            ask()
    with pytest.raises(UnavailableError, match="does not work now"):
        engine.begin("flow", "f", None)
    engine.close()


def test_what_cannot_be_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a database" * 100)
    with pytest.raises(UnavailableError, match="file is not a database"):
        an_engine(tmp_path / "file").start()
    with pytest.raises(UnavailableError, match="cannot use"):
        an_engine(tmp_path / "file" / "below").start()
    with pytest.raises(UnavailableError, match="cannot use postgresql://localhost/none"):
        an_engine("postgresql://u:secret@localhost:1/none").start()
    with pytest.raises(InputError, match="cannot be read") as caught:
        an_engine("postgresql://u:secret@localhost:port/none")
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="which is no flow"):
        Engine(
            str(tmp_path / "e"),
            worker="w",
            flows={},
            clock=SettableClock(),
            crons={"beat": Cron(expression="* * * * *", flow="none")},
        )
    with an_engine(tmp_path / "engine.db", {"flow": lambda steps, argument: None}) as engine:
        with pytest.raises(InputError, match="there is no flow `other`"):
            engine.begin("other", "f", None)
        for flow_id in (" ", "x" * 201):
            with pytest.raises(InputError, match="1 to 200 characters"):
                engine.begin("flow", flow_id, None)


def test_nothing_heavy_is_loaded_before_an_engine_is_made() -> None:
    program = (
        "import sys, interlock.loop.engine;"
        "print([name for name in ('dbos', 'sqlalchemy', 'psycopg') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert done.stdout == b"[]\n"


@pytest.mark.parametrize(
    ("expression", "after", "expected"),
    [
        ("*/15 * * * *", "2026-01-01T00:00:00", "2026-01-01T00:15:00"),
        ("*/15 * * * *", "2026-01-01T00:14:59", "2026-01-01T00:15:00"),
        ("0 * * * *", "2026-12-31T23:00:01", "2027-01-01T00:00:00"),
        ("30 6 * * 1", "2026-01-01T00:00:00", "2026-01-05T06:30:00"),
    ],
)
def test_a_schedule_comes_when_it_says(expression: str, after: str, expected: str) -> None:
    micros = [
        int(datetime.fromisoformat(each).replace(tzinfo=UTC).timestamp()) * 1_000_000
        for each in (after, expected)
    ]

    assert Cron(expression=expression, flow="f").after(micros[0]) == micros[1]


@pytest.mark.parametrize(
    "expression", ["* * * *", "60 * * * *", "*/0 * * * *", "a * * * *", "0 0 31 2 *"]
)
def test_a_schedule_that_is_none_is_refused(expression: str) -> None:
    with pytest.raises(InputError, match="cannot be kept"):
        Cron(expression=expression, flow="f")
