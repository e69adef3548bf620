"""A worker of the loop as a process of its own: it works until it is told to stop, or killed."""

from __future__ import annotations

import faulthandler
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import msgspec

from interlock import Interlock
from interlock.loop.control_loop import ControlLoop
from interlock.loop.worker import LoopWorker, engine_at
from interlock.model.system_loop import Item
from loop.stopped_process import stop
from service.ledgers import HandClock
from warm_python import PythonProcess

_SPEED = 20
"""What is tried again after a minute is tried again after three seconds."""


class QuickClock(HandClock):
    """The computer's clock, many times as fast: the same in every process."""

    def __init__(self, began_at: int) -> None:
        super().__init__(began_at)

    def now(self) -> int:
        """Return the time in microseconds since 1970."""
        return self.at + (time.time_ns() // 1000 - self.at) * _SPEED


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker is told when it is started."""

    name: str
    ledger: str
    engine: str
    folder: str
    began_at: int
    lease_s: float
    gate: str | None = None
    """A pipe at which it waits in the middle of every cycle."""


class Gate:
    """A source that says that it was asked, and answers once it is let through or the gate gone."""

    name = "gate"

    def __init__(self, pipe: Path) -> None:
        self._pipe = pipe

    def read(self, now: int) -> Sequence[Item]:
        if self._pipe.exists():
            self._pipe.with_suffix(".reached").touch()
            self._pipe.read_bytes()
        return ()


class WorkerProcess:
    """A worker that a test has started; it never outlives the test."""

    def __init__(self, orders: Orders) -> None:
        self.orders = orders
        self.log = Path(orders.folder) / f"{orders.name}.log"
        with self.log.open("ab") as log:
            self._process = PythonProcess[bytes](
                ["-m", "loop.loop_worker_process", msgspec.json.encode(orders)],
                cwd=orders.folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def stop(self) -> None:
        """Let it stand still until it is told to go on."""
        stop(self._process)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        assert self.is_alive, f"{self._process.returncode}: {self.log.read_text()}"
        self.__exit__()

    def aborted(self) -> str:
        """End it in the middle; return what it said, and where each of its threads stood."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGABRT)
        self._process.communicate()
        return self.log.read_text()

    def end(self) -> None:
        """Let it come to its end, which is a good one."""
        self._process.communicate()
        assert self._process.returncode == 0, self.log.read_text()


def main(text: str) -> None:
    """Work until nobody holds the other end of standard input any more."""
    faulthandler.enable()
    logging.basicConfig(format="%(asctime)s %(name)s %(message)s")
    orders = msgspec.json.decode(text, type=Orders)
    folder, clock = Path(orders.folder), QuickClock(orders.began_at)
    sources = [] if orders.gate is None else [Gate(Path(orders.gate))]
    with Interlock.open(orders.ledger, clock=clock, keys=folder / "keys") as interlock:
        loop = ControlLoop(interlock.governor, folder=folder, sources=sources)
        engine = engine_at(orders.engine, name=orders.name, clock=clock, lease_s=orders.lease_s)
        worker = LoopWorker(loop, engine)

        def wait_for_end() -> None:
            sys.stdin.read()
            worker.stop()

        threading.Thread(target=wait_for_end, daemon=True).start()
        worker.serve()


if __name__ == "__main__":
    main(sys.argv[1])
