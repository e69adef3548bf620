"""Workers that are killed or stopped at any moment: nothing is lost, nothing is done twice."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.facts import assert_holds
from effort import DURABLE, rounds
from interlock.model.events import RunFinished
from interlock.model.loop_events import CycleDecided, NotesProcessed, TriggerReceived
from interlock.model.run import RunStatus
from interlock.model.system_loop import LOOP_RUN, LoopAction
from loop.loop_bench import LoopBench
from loop.loop_worker_process import Orders, QuickClock, WorkerProcess
from loop.webhook_server import Behaviour, Connection, WebhookServer, answers, webhook_server
from patience import LONG_ENOUGH_S, wait_until
from service.ledgers import events_of

ROUNDS = rounds(short=3, soak=100)
NAMES = ("a", "b", "c")
SECRET = "HOOK_SECRET"
JOB = """
import os, sys
with open("started", "a") as lines:
    lines.write(os.environ["INTERLOCK_RUN"] + "\\n")
if os.path.exists("wait"):
    open("wait").read()
"""


class Session:
    """A ledger, an engine and a webhook, with workers that come and go."""

    def __init__(self, stack: ExitStack, bench: LoopBench, engine: str, hook: WebhookServer):
        self._stack = stack
        self._bench = bench
        self.engine = engine
        self.hook = hook
        self.folder = bench.folder
        (self.folder / "job.py").write_text(JOB)
        self.loop = bench.loop(_policy(hook.url, self.folder))
        self._workers: list[WorkerProcess] = []
        self.sent: list[str] = []
        self.notes: list[str] = []

    def worker(self, name: str, *, lease_s: float = 6.0, gate: Path | None = None) -> WorkerProcess:
        orders = Orders(
            name=name,
            ledger=self._bench.place,
            engine=self.engine,
            folder=str(self.folder),
            began_at=self._bench.clock.at,
            lease_s=lease_s,
            gate=None if gate is None else str(gate),
        )
        worker = self._stack.enter_context(WorkerProcess(orders))
        self._workers.append(worker)
        return worker

    def send(self, name: str, scope: str = "default") -> str:
        event_id = f"e{len(self.sent)}"
        self.loop.send(name, json.dumps({"n": len(self.sent)}), event_id=event_id, scope=scope)
        self.sent.append(event_id)
        return event_id

    def note(self, text: str, scope: str = "default") -> None:
        note = self.loop.chain.add_note(text, scope=scope)
        self.notes.append(note.id)
        self.sent.append(f"note-{note.id}")

    @property
    def length(self) -> int:
        """How many records the chain of the loop has."""
        run = self._bench.interlock.ledger.state(LOOP_RUN)
        return 0 if run is None else run.seq

    @property
    def slog(self) -> list[CycleDecided]:
        return self._bench.slog()

    def started(self) -> list[str]:
        """Return the runs whose command was started, once for each time."""
        file = self.folder / "started"
        return file.read_text().splitlines() if file.exists() else []

    def is_idle(self) -> bool:
        """Whether nothing is left to be done; what waits for a heartbeat is not."""
        loop = self.loop.chain.state
        if loop.triggers or loop.outgoing or loop.jobs:
            return False
        return not self.loop.learner.unlearnt()

    def drain(self) -> None:
        """Wait until everything is done, with a heartbeat for what one cycle left to the next."""
        self.until(self.is_idle)
        while self.loop.chain.state.notes:
            self.loop.beat(self.loop.now)
            self.until(self.is_idle)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Wait for something that another process is about to do."""
        wait_until(is_so, lambda: f"{self.loop.chain.state}\n{self._stacks()}")

    def _stacks(self) -> str:
        """End every worker; return where each of its threads stood."""
        return "\n".join(each.aborted()[-6000:] for each in self._workers if each.is_alive)

    def outcomes(self) -> dict[str, str]:
        """Return how the run of each job ended."""
        ledger, found = self._bench.interlock.ledger, dict[str, str]()
        for row in ledger.rows.runs(limit=10_000):
            state = ledger.state(row.id)
            if state is None or state.ancestors[:1] != (LOOP_RUN,):
                continue
            assert state.status is RunStatus.FINISHED, f"run `{row.id}` was forgotten"
            [end] = [e for e in events_of(ledger, row.id) if isinstance(e, RunFinished)]
            found[row.id] = end.outcome
        return found

    def check(self) -> None:
        """Check that everything was done, and nothing twice."""
        ledger = self._bench.interlock.ledger
        events = events_of(ledger, LOOP_RUN)
        came = [event.trigger.id for event in events if isinstance(event, TriggerReceived)]
        answered = Counter(each for decided in self.slog for each in decided.triggers)
        assert set(self.sent) <= set(came)
        assert len(set(came)) == len(came)
        assert answered == Counter(came)
        taken = [
            note for event in events if isinstance(event, NotesProcessed) for note in event.notes
        ]
        assert sorted(taken) == sorted(self.notes)
        self._check_written()
        self._check_delivered()
        self._check_jobs()
        self._bench.check()
        assert_holds(ledger, ())

    def _check_written(self) -> None:
        """Whatever is written again after a crash is the same."""
        lines = {json.dumps(line) for line in self._bench.written("notes.jsonl")}
        assert sorted(json.loads(line)["id"] for line in lines) == sorted(self.notes)
        told = {str(line["id"]): json.dumps(line) for line in self._bench.written("alerts.jsonl")}
        alerts = [each for each in self.slog if each.action is LoopAction.EMIT_ALERT]
        assert set(told) == {each.decision_id for each in alerts}
        assert len({json.dumps(line) for line in self._bench.written("alerts.jsonl")}) == len(told)

    def _check_delivered(self) -> None:
        """Every event arrived, under the one id that its decision has given it."""
        emitted = [each.emitted for each in self.slog if each.emitted is not None]
        arrived = {request.body for request in self.hook.received}
        found = [json.loads(body) for body in arrived]
        assert sorted(event["id"] for event in found) == sorted(each.id for each in emitted)
        assert len({event["data"]["decisionId"] for event in found}) == len(emitted)

    def _check_jobs(self) -> None:
        outcomes, started = self.outcomes(), self.started()
        assert len(set(started)) == len(started)
        assert set(started) <= set(outcomes)
        completed = {run for run, outcome in outcomes.items() if outcome == "completed"}
        assert completed <= set(started)
        assert set(outcomes.values()) <= {"completed", "abandoned", "failed"}


def _policy(url: str, folder: Path) -> str:
    return f"""
[loop]
debounce-seconds = 0
heartbeat-minutes = 60
source-timeout-seconds = 300
stale-minutes = 1000000
start-loop = "allow"
apply-retro-recommendation = "off"
start-loop-per-hour = 1000
process-notes-per-hour = 1000
emit-alert-per-hour = 1000

[[loop.jobs]]
name = "mend"
command = ["{sys.executable}", "job.py"]
workspace = "{folder}"
on = ["ci/build.failed"]

[[loop.sinks]]
name = "hook"
kind = "webhook"
url = "{url}"
secret-variable = "{SECRET}"
timeout-seconds = 300
"""


class HeldHook:
    """A webhook that holds what it gets until it is let go."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, connection: Connection) -> None:
        self.reached.set()
        self.let_go.wait(LONG_ENOUGH_S)
        answers(204)(connection)


OpenSession = Callable[..., Session]


@pytest.fixture
def open_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenSession]:
    """Opens a session on a ledger and an engine."""
    monkeypatch.setenv("INTERLOCK_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv(SECRET, "a secret of this test")
    monkeypatch.delenv("INTERLOCK_POLICY", raising=False)
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:

        def opened(place: str, engine: str, *script: Behaviour) -> Session:
            hook = stack.enter_context(webhook_server(*(script or (answers(204),))))
            clock = QuickClock(time.time_ns() // 1000)
            return Session(stack, LoopBench(stack, place, tmp_path, clock), engine, hook)

        yield opened


@pytest.fixture(params=["sqlite", "postgres"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Where a ledger and its engine are."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db"), str(tmp_path / "engine.db")
    url = request.getfixturevalue("postgres_ledger_url")
    return url, url


@pytest.mark.soak
def test_whoever_is_killed_whenever_nothing_is_lost_or_doubled(
    open_session: OpenSession, places: tuple[str, str]
) -> None:
    session, chance = open_session(*places), random.Random(11)
    workers = {name: session.worker(name) for name in NAMES}
    for _ in range(ROUNDS):
        _let_much_happen(session, chance)
        _wait_for_some_moment(session, chance)
        victim = chance.choice(NAMES)
        workers[victim].kill()
        workers[victim] = session.worker(victim)
    session.drain()
    for worker in workers.values():
        worker.end()

    session.check()


def _let_much_happen(session: Session, chance: random.Random) -> None:
    for _ in range(chance.randint(2, 8)):
        scope = chance.choice(["default", "shop", "docs"])
        match chance.randint(0, 4):
            case 0:
                session.send("ci/build.failed", scope)
            case 1 | 2:
                session.note("look at this", scope)
            case _:
                session.send("ci/deploy.failed", scope)


def _wait_for_some_moment(session: Session, chance: random.Random) -> None:
    """Wait for some records or some deliveries more, and a little; or until all is done."""
    length, arrived = session.length, len(session.hook.received)
    more = chance.choice([0, 1, 2, 4, 8, 16])
    if chance.random() < 0.3:
        session.until(lambda: len(session.hook.received) >= arrived + more or session.is_idle())
    else:
        session.until(lambda: session.length >= length + more or session.is_idle())
    threading.Event().wait(chance.random() * chance.choice([0, 0.002, 0.02, 0.5]))


@pytest.mark.parametrize("places", DURABLE, indirect=True)
def test_a_worker_stopped_while_it_thinks_does_nothing_twice(
    open_session: OpenSession, places: tuple[str, str], tmp_path: Path
) -> None:
    session, gate = open_session(*places), tmp_path / "gate"
    os.mkfifo(gate)
    stopped = session.worker("a", lease_s=3.0, gate=gate)
    session.send("ci/build.failed")
    session.until(gate.with_suffix(".reached").exists)
    stopped.stop()
    heir = session.worker("b", lease_s=3.0)
    session.drain()
    stopped.signal(signal.SIGCONT)
    gate.write_bytes(b"")
    gate.unlink()
    _see_it_work_again(session, stopped, heir)

    session.check()
    assert len(session.started()) == 1


@pytest.mark.parametrize("places", DURABLE, indirect=True)
def test_a_worker_stopped_while_it_delivers_does_nothing_twice(
    open_session: OpenSession, places: tuple[str, str]
) -> None:
    held = HeldHook()
    session = open_session(*places, held, answers(204))
    stopped = session.worker("a", lease_s=3.0)
    session.send("ci/build.failed")
    session.until(held.reached.is_set)
    stopped.stop()
    heir = session.worker("b", lease_s=3.0)
    session.until(lambda: not session.loop.chain.state.outgoing)
    stopped.signal(signal.SIGCONT)
    held.let_go.set()
    session.drain()
    _see_it_work_again(session, stopped, heir)

    session.check()
    assert len(session.started()) == 1


def _see_it_work_again(session: Session, stopped: WorkerProcess, heir: WorkerProcess) -> None:
    """Let whoever was taken over do what comes next, alone."""
    heir.end()
    session.send("ci/deploy.failed")
    session.drain()
    stopped.end()


@pytest.mark.parametrize("places", DURABLE, indirect=True)
def test_a_job_whose_worker_is_killed_ends_with_it_and_is_never_started_again(
    open_session: OpenSession, places: tuple[str, str], tmp_path: Path
) -> None:
    session, wait = open_session(*places), tmp_path / "wait"
    os.mkfifo(wait)
    worker = session.worker("a")
    session.send("ci/build.failed")
    session.until(lambda: bool(session.started()) and _is_read(wait))
    worker.kill()
    session.until(lambda: not _is_read(wait))
    other = session.worker("b")
    session.drain()
    other.end()

    session.check()
    [run_id] = session.started()
    assert session.outcomes() == {run_id: "abandoned"}
    [about] = [each for each in session.slog if f"job-{run_id}" in each.triggers]
    assert about.trigger_source == "event:agent/loop.failed"
    assert about.action is LoopAction.EMIT_ALERT


def _is_read(pipe: Path) -> bool:
    """Whether somebody waits at the other end of a pipe."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return False
    return True


def test_an_engine_that_is_lost_loses_nothing(open_session: OpenSession, tmp_path: Path) -> None:
    session = open_session(
        str(tmp_path / "ledger.db"), str(tmp_path / "engine.db"), held := HeldHook(), answers(204)
    )
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    worker = session.worker("a")
    session.send("ci/deploy.failed")
    session.until(held.reached.is_set)
    worker.kill()
    worker = session.worker("a", gate=gate)
    session.send("ci/build.failed", "shop")
    session.note("look at this", "docs")
    session.until(gate.with_suffix(".reached").exists)
    worker.kill()
    for file in tmp_path.glob("engine.db*"):
        file.unlink()
    held.let_go.set()
    gate.unlink()
    worker = session.worker("a")
    session.drain()
    worker.end()

    session.check()
    assert len(session.started()) == 1
