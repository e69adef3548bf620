"""A worker of the engine as a process of its own, which does what it is told line by line."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from interlock.loop.engine import Body, Cron, Engine, JsonValue, Steps

STEPS = ("one", "two", "three")


class SettableClock:
    """The computer's clock, which may stand still."""

    def __init__(self) -> None:
        self.at: int | None = None

    def now(self) -> int:
        """Return the time in microseconds since 1970, UTC."""
        return time.time_ns() // 1000 if self.at is None else self.at


def three_steps(worker: str, log: Path, gate: str | None) -> Body:
    """A flow of three steps, each of which writes a line; the second waits at a gate first."""

    def written(steps: Steps, name: str) -> Callable[[], JsonValue]:
        def write() -> JsonValue:
            if name == "two" and gate is not None:
                with log.open("a") as lines:
                    lines.write(f"gate {worker}\n")
                Path(gate).read_bytes()
            with log.open("a") as lines:
                lines.write(f"{name} {worker}\n")
            return name

        return write

    def flow(steps: Steps, argument: JsonValue) -> JsonValue:
        return [steps.run(name, written(steps, name)) for name in STEPS]

    return flow


def say(word: str) -> None:
    """Answer whoever tells this worker what to do."""
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


class AttendedEngine(Engine):
    """An engine that says when its own thread has looked around, as it does first of all."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.has_looked = threading.Event()

    def _look(self) -> None:
        super()._look()
        self.has_looked.set()


def main(place: str, worker: str, log: str, gate: str | None = None) -> None:
    """Work until nobody tells anything any more; the time is what it is told, 1970 at first."""
    clock = SettableClock()
    clock.at = 0
    engine = AttendedEngine(
        place,
        worker=worker,
        flows={"three": three_steps(worker, Path(log), gate)},
        crons={"beat": Cron(expression="0 0 * * *", flow="three")},
        clock=clock,
        lease_s=600.0,
    )
    engine.start()
    engine.has_looked.wait()  # from here on nothing is done but what is told
    say("started")
    for line in sys.stdin:
        match msgspec.json.decode(line, type=list[str]):
            case ["begin", flow_id]:
                engine.begin("three", flow_id, None)
            case ["take over"]:
                engine.take_over()
            case ["look"]:
                engine._look()
            case ["fire", at]:
                clock.at = int(at)
                engine._fire()
            case unknown:
                raise AssertionError(unknown)
        say("done")
    engine.close(wait_s=60.0)


if __name__ == "__main__":
    os.umask(0)  # what is private is so whatever the user lets others do
    main(*sys.argv[1:])
