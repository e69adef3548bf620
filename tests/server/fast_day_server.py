"""A server for whom a day passes in minutes: run as a process of its own."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

import msgspec
import uvloop

from interlock.server.desk.desk import Desk
from interlock.server.server_process import ServerOptions, ServerProcess
from interlock.service.interlock import Interlock
from interlock.service.whereabouts import Listening
from interlock.settings import ServerPlaces


class FastClock:
    """Goes so many times as fast as the real one."""

    def __init__(self, speed: int) -> None:
        self._speed = speed
        self._began = time.time_ns() // 1000

    def now(self) -> int:
        """Return the time, in microseconds since 1970."""
        real = time.time_ns() // 1000
        return self._began + (real - self._began) * self._speed


def main(folder: Path, speed: int) -> None:
    """Serve until a signal says that it is enough; say where, on a line."""
    interlock = Interlock.open(
        folder / "ledger.db",
        clock=FastClock(speed),
        keys=folder / "keys",
        undo_store=folder / "undo",
    )
    places = ServerPlaces(*(folder / name for name in (".", "http", "hooks", "lock", "note.json")))

    def say(listening: Listening) -> None:
        sys.stdout.write(f"{msgspec.json.encode(listening).decode()}\n")
        sys.stdout.flush()

    async def serve() -> None:
        options = ServerOptions(places=places, port=0)
        await ServerProcess(Desk(interlock.governor), options).run(say)

    with interlock, asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve())


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
