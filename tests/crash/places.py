"""A ledger that children work on, one after the other, and what they acknowledged."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Self

from crash.facts import assert_sound
from crash.jobs import work
from crash.nursery import Child, Nursery
from interlock import Budget, Interlock
from interlock.service.policies.policy_files import default_policy


class Place:
    """Where a ledger is, and everything that must be in it."""

    def __init__(self, url: str, keys: Path, run: str) -> None:
        self.url = url
        self.keys = keys
        self.run = run
        self.acknowledged: list[str] = []
        self._children = 0

    @classmethod
    def made(cls, url: str, keys: Path) -> Self:
        """Make a ledger with one run in it."""
        with Interlock.open(url, keys=keys, policy=default_policy()) as interlock:
            run = interlock.run("mend the build", budget=Budget(tool_calls=10_000_000))
            return cls(url, keys, run.id)

    @property
    def name(self) -> str:
        """What the last child puts in front of everything it does."""
        return f"c{self._children}"

    @property
    def file(self) -> Path:
        return Path(self.url)

    @property
    def wal(self) -> Path:
        return self.file.with_name(f"{self.file.name}-wal")

    def opened(self) -> Interlock:
        return Interlock.open(self.url, keys=self.keys, policy=default_policy())

    def spawn(self, nursery: Nursery, job: str = "write", **more: object) -> Child:
        """Return a child that works on the same run as all others before it."""
        self._children += 1
        return nursery.spawn(
            job, place=self.url, keys=str(self.keys), run=self.run, name=self.name, **more
        )

    def fill(self, interlock: Interlock, lines: int) -> None:
        """Work in this process until so much more is acknowledged."""
        enough = len(self.acknowledged) + lines
        self._children += 1

        def tell(line: str) -> None:
            self.acknowledged.append(line)
            if len(self.acknowledged) >= enough:
                raise _EnoughError

        with contextlib.suppress(_EnoughError):
            work(interlock, self.run, tell, f"c{self._children}")

    def assert_sound(self) -> int:
        """Hold the ledger against everything that was ever acknowledged; return its length."""
        return assert_sound(self.url, self.keys, self.acknowledged)


class _EnoughError(Exception):
    """So much was wanted, and no more."""
