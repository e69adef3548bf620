"""Where a ledger is, which policy counts there, and what time it is: the same in any process."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import msgspec

from interlock import CompiledPolicy, Interlock
from interlock.service.policies.policy_files import compile_policy, default_policy, merged_policy

NOON = 1_794_744_000_000_000
"""2026-11-15, 12:00 UTC, in microseconds."""
SECOND = 1_000_000
DAY = "2026-11-15"


class FileClock:
    """A clock that all processes read from one file; it moves when a test says so."""

    def __init__(self, file: Path, *, ahead_s: int = 0) -> None:
        self._file = file
        self._ahead = ahead_s * SECOND

    def now(self) -> int:
        return int(self._file.read_text()) + self._ahead

    def set(self, now: int) -> None:
        fresh = self._file.with_suffix(".fresh")
        fresh.write_text(str(now))
        # Replaced at once: no reader sees half of it.
        fresh.replace(self._file)

    def advance(self, *, seconds: float) -> None:
        self.set(self.now() + int(seconds * SECOND))


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """What a process must know to open a ledger."""

    ledger: str
    folder: Path
    """For keys, policies and the clock."""
    policy: str = ""
    """The text of the user's policy file."""
    ahead_s: int = 0
    """By how much the clock of this machine is ahead of the others'."""

    @property
    def clock(self) -> FileClock:
        return FileClock(self.folder / "clock", ahead_s=self.ahead_s)

    def opened(self) -> Interlock:
        return Interlock.open(
            self.ledger,
            policy=_gates(self.policy, self.folder) if self.policy else default_policy(),
            clock=self.clock,
            keys=self.folder / "keys",
        )

    def ahead(self, *, seconds: int) -> Place:
        """The same ledger from a machine whose clock is ahead."""
        return msgspec.structs.replace(self, ahead_s=seconds)

    def under(self, policy: str) -> Place:
        """The same ledger under another policy."""
        return msgspec.structs.replace(self, policy=policy)


@cache
def _gates(policy: str, folder: Path) -> CompiledPolicy:
    # Each process writes its own: another one may be reading already.
    file = folder / f"policy-{os.getpid()}.toml"
    file.write_text(policy)
    return compile_policy(merged_policy(user=file))
