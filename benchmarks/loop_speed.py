"""What does the loop cost? Event in, decision on record, event out; and a heartbeat for nothing.

    python benchmarks/loop_speed.py            everything
    python benchmarks/loop_speed.py --quick    a fifth of it

Beside it, in the same run, stands the bare engine: a flow of as many steps that do nothing.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from clock import line
from interlock import Interlock
from interlock.loop.control_loop import ControlLoop
from interlock.loop.engine import Engine, JsonValue, Steps
from interlock.loop.worker import LoopWorker, engine_at
from interlock.service.policies.policy_files import load_policy
from interlock.service.records.context import SystemClock

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

EVENTS = 100
HEARTBEATS = 200
_PATIENCE_S = 120.0
_POLICY = """\
version = 1
[loop]
debounce-seconds = 0
emit-alert-per-hour = 1000
"""


def main() -> None:
    """Print one row per figure, the bare engine beside."""
    scale = 5 if "--quick" in sys.argv else 1
    print(line("what", "measured", "goal", "beside it"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _heartbeats(folder, HEARTBEATS // scale)
        _events(
            "SQLite", folder, str(folder / "ledger.db"), str(folder / "engine.db"), EVENTS // scale
        )
        from postgres_server import running_postgres  # noqa: PLC0415 - found once the path is set

        with running_postgres() as url:
            _events("Postgres", folder, url, url, EVENTS // scale)


@contextmanager
def _loop(folder: Path, ledger: str) -> Generator[ControlLoop]:
    file = folder / "policy.toml"
    file.write_text(_POLICY)
    with Interlock.open(
        ledger, policy=load_policy(user=file, project=None), keys=folder / "keys"
    ) as opened:
        yield ControlLoop(opened.governor, folder=folder)


def _heartbeats(folder: Path, count: int) -> None:
    """What it costs that a heart beats and nothing has happened: no model is asked."""
    with _loop(folder, str(folder / "idle.db")) as loop:
        loop.tick()
        began, processor = time.perf_counter(), time.process_time()
        for _ in range(count):
            loop.tick()
        wall_ms = (time.perf_counter() - began) / count * 1000
        own_ms = (time.process_time() - processor) / count * 1000
        is_idle = set(loop.chain.state.outcomes) == {"nothing"}
    assert is_idle, "something was decided where nothing had happened"
    print(
        line(
            "a heartbeat for nothing: processor time",
            f"{own_ms:.1f} ms",
            "20 ms",
            f"{wall_ms:.1f} ms passed",
        )
    )


def _events(store: str, folder: Path, ledger: str, engine: str, count: int) -> None:
    bare = _bare(engine, count)
    with _loop(folder, ledger) as loop, _working(loop, engine):
        latencies = [_latency(loop, number) for number in range(count)]
        began = time.perf_counter()
        for number in range(count):
            loop.send(
                "bench/failed",
                f'{{"number": {number}}}',
                event_id=f"burst-{number}",
                scope=f"scope-{number % 50}",
            )
        _until(lambda: not loop.chain.state.triggers and not loop.chain.state.outgoing)
        burst_s = time.perf_counter() - began
        emitted = loop.chain.state.emitted
    middle = statistics.median(latencies) * 1000
    print(
        line(
            f"{store}: event in, decided, out",
            f"{middle:.0f} ms",
            "",
            f"{middle / (bare * 1000):.1f} x the bare engine's {bare * 1000:.0f} ms",
        )
    )
    print(
        line(
            "  in a burst of different scopes",
            f"{count / burst_s:.0f} /s",
            "",
            f"{emitted:,} emitted",
        )
    )


def _latency(loop: ControlLoop, number: int) -> float:
    before, began = loop.chain.state.emitted, time.perf_counter()
    loop.send("bench/failed", f'{{"number": {number}}}', event_id=f"one-{number}")
    _until(lambda: loop.chain.state.emitted > before and not loop.chain.state.outgoing)
    return time.perf_counter() - began


def _bare(place: str, count: int) -> float:
    """Return how long a flow of three steps takes that does nothing."""
    done = threading.Event()

    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        for name in ("think", "act", "deliver"):
            steps.run(name, lambda: None)
        done.set()
        return argument

    latencies: list[float] = []
    with Engine(place, worker="bare", flows={"bare": flow}, clock=SystemClock()) as engine:
        for number in range(count):
            done.clear()
            began = time.perf_counter()
            engine.begin("bare", f"bare-{number}", number)
            done.wait(_PATIENCE_S)
            latencies.append(time.perf_counter() - began)
    return statistics.median(latencies)


@contextmanager
def _working(loop: ControlLoop, engine: str) -> Generator[None]:
    ready = threading.Event()
    worker = LoopWorker(loop, engine_at(engine, name="bench", clock=SystemClock()))
    thread = threading.Thread(target=lambda: worker.serve(when_ready=ready.set))
    thread.start()
    ready.wait(_PATIENCE_S)
    try:
        yield
    finally:
        worker.stop()
        thread.join()


def _until(is_so: Callable[[], bool]) -> None:
    ends = time.monotonic() + _PATIENCE_S
    while not is_so():
        if time.monotonic() > ends:
            raise TimeoutError("the loop did not answer in time")
        time.sleep(0.002)


if __name__ == "__main__":
    main()
