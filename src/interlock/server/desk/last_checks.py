"""The last results of verify and replay, in memory: a server that begins anew knows none."""

from __future__ import annotations

from typing import Final, TypeVar

from interlock.views.check_results import ReplayResult, VerifyResult

T = TypeVar("T")

_MOST_RUNS: Final = 256


class LastChecks:
    """Remembers what was checked last, of the whole ledger and of each run."""

    def __init__(self) -> None:
        self.verified: VerifyResult | None = None
        """The last time that all chains were looked at."""
        self._replays: dict[str, ReplayResult] = {}
        self._runs: dict[str, VerifyResult] = {}

    def note_replay(self, result: ReplayResult) -> None:
        """Remember how a run was replayed; the runs of long ago are forgotten."""
        _remember(self._replays, result.run, result)

    def replay_of(self, run_id: str) -> ReplayResult | None:
        """Return how a run was last replayed; None where it was not."""
        return self._replays.get(run_id)

    def note_run(self, run_id: str, result: VerifyResult) -> None:
        """Remember how the chain of one run was looked at."""
        _remember(self._runs, run_id, result)

    def check_of(self, run_id: str) -> VerifyResult | None:
        """Return how the chain of a run was last looked at, by itself or with all others."""
        found = [each for each in (self._runs.get(run_id), self.verified) if each is not None]
        return max(found, key=lambda each: each.at, default=None)


def _remember(known: dict[str, T], run_id: str, result: T) -> None:
    known.pop(run_id, None)
    known[run_id] = result
    while len(known) > _MOST_RUNS:
        known.pop(next(iter(known)), None)
