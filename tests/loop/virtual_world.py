"""The world of a simulated loop: a clock that is set, stores that die, sinks and sources in a mood.

Everything in it follows from one seed.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Final

import pytest

from interlock.ledger.chain import SealKey
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.stores.memory import MemoryStore
from interlock.ledger.transaction import Transaction
from interlock.loop import jobs as loop_jobs
from interlock.model.rows import Changes, HeadRow
from interlock.model.system_loop import CloudEvent, Item
from interlock.ports import Listener, Rows, Store
from interlock.service.ledgers import open_ledger
from interlock.service.records import context, runs
from interlock.service.webhooks import DeliveryError
from loop.virtual_engine import Crash

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
MONDAY: Final = 1_794_787_200 * SECOND
"""2026-11-16, 00:00 UTC."""


class World:
    """What all workers of a history live in."""

    def __init__(self, random: Random) -> None:
        self.random: Final = random
        self.at = MONDAY + random.randrange(24 * 60) * MINUTE + random.randrange(MINUTE)
        self.fuse: tuple[int, bool] | None = None
        """How many commits are left until somebody dies, and whether behind that one."""
        self.process = ""
        """What names the process that is at work."""
        self.processes: set[str] = set()
        """Those that live."""
        self.last_writer: object = None
        self.sick_sinks: set[str] = set()
        self.sick_sources: set[str] = set()
        self.weather: list[str] = []
        """What the source of somebody's own names."""
        self.received: list[tuple[str, CloudEvent]] = []
        """What each sink got."""
        self.handed_frozen: list[str] = []
        """What was handed to anybody while the loop was frozen."""
        self.begun: list[tuple[str, str]] = []
        """The jobs that were started: the decision and the run."""

    def now(self) -> int:
        return self.at

    def burn(self, *, is_behind: bool) -> None:
        """Let whoever commits die, if it is time; jobs that run for real are left alone."""
        if self.fuse is None or threading.current_thread() is not threading.main_thread():
            return
        left, behind = self.fuse
        if behind is is_behind:
            self.fuse = None if left == 0 else (left - 1, behind)
            if left == 0:
                raise Crash

    @contextmanager
    def in_charge(self) -> Generator[None]:
        """Have ids, times and processes come from this world."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(context, "os", SimpleNamespace(urandom=self.random.randbytes))
            patch.setattr(context, "time", SimpleNamespace(time_ns=lambda: self.at * 1_000))
            patch.setattr(runs, "own_name", lambda: self.process)
            patch.setattr(loop_jobs, "own_name", lambda: self.process)
            patch.setattr(loop_jobs, "is_alive", self.processes.__contains__)
            yield


class FragileStore:
    """A store whose user dies before or behind a commit."""

    def __init__(self, inner: Store, world: World, *, is_shared: bool) -> None:
        self.name = inner.name
        self.idle_after_s = None
        self._inner = inner
        self._world = world
        self._is_shared = is_shared
        """Whether others write into the same memory, who are told apart here."""

    def begin(self, locks: Sequence[str]) -> bool:
        is_current = self._inner.begin(locks)
        return is_current and (not self._is_shared or self._world.last_writer is self)

    def writing(self) -> Rows:
        return self._inner.writing()

    def commit(self, changes: Changes) -> HeadRow:
        self._world.burn(is_behind=False)
        head = self._inner.commit(changes)
        self._world.last_writer = self
        self._world.burn(is_behind=True)
        return head

    def rollback(self) -> None:
        self._inner.rollback()

    def reading(self) -> Rows:
        return self._inner.reading()

    def frozen(self) -> AbstractContextManager[Rows]:
        return self._inner.frozen()

    def listen(self) -> Listener:
        return self._inner.listen()

    def tidy(self) -> None:
        self._inner.tidy()

    def close(self) -> None:
        self._inner.close()


class Place:
    """Where the ledger of a history is: opened anew by every worker that comes to life."""

    def __init__(self, world: World, folder: Path | None) -> None:
        self._world = world
        self._folder = folder
        self._store = MemoryStore()
        self._key = SealKey(b"simulated")
        if folder is None:
            Ledger(self._store, key=self._key).execute(Work(Transaction.seal_meta, locks=()))

    def opened(self) -> Ledger:
        """Open the ledger, as a process does that has just begun."""
        if self._folder is None:
            store = FragileStore(self._store, self._world, is_shared=True)
            return Ledger(store, key=self._key)
        found = open_ledger(str(self._folder / "ledger.db"), keys=self._folder / "keys")
        # What opening it was done with goes on: its anchor, and whoever tidies up in between.
        vars(found)["store"] = FragileStore(found.store, self._world, is_shared=False)
        return found


class MoodySink:
    """Gets events, if it is well; where it is not, it may have got them all the same."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self._world = world

    def deliver(self, event: CloudEvent, attempt: int) -> None:
        random, is_sick = self._world.random, self.name in self._world.sick_sinks
        if not is_sick or random.random() < 0.4:
            self._world.received.append((self.name, event))
        if is_sick:
            raise DeliveryError(
                f"sink `{self.name}` answers 500",
                is_final=random.random() < 0.2,
                retry_after_s=random.choice((None, 5.0, 900.0)),
            )


class MoodySource:
    """Names what a world has for it; sick, it fails or takes too long."""

    def __init__(self, name: str, world: World) -> None:
        self._name = name
        self._world = world

    @property
    def name(self) -> str:
        return self._name

    def read(self, now: int) -> Sequence[Item]:
        self.check()
        return [Item(id=each, kind="weather", text=each, since=now) for each in self._world.weather]

    def check(self) -> None:
        """Fail, if it is sick."""
        if self.name in self._world.sick_sources:
            raise TimeoutError("no answer in time")
