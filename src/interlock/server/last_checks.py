"""The last results of verify and replay, in memory: a server that begins anew knows none."""

from __future__ import annotations

from typing import Final

from interlock.views.check_results import ReplayResult, VerifyResult

_MOST_RUNS: Final = 256


class LastChecks:
    """Remembers what was checked last, of the whole ledger and of each run."""

    def __init__(self) -> None:
        self.verified: VerifyResult | None = None
        """The last time that all chains were looked at."""
        self._replays: dict[str, ReplayResult] = {}

    def note_replay(self, result: ReplayResult) -> None:
        """Remember how a run was replayed; the runs of long ago are forgotten."""
        self._replays.pop(result.run, None)
        self._replays[result.run] = result
        while len(self._replays) > _MOST_RUNS:
            self._replays.pop(next(iter(self._replays)), None)

    def replay_of(self, run_id: str) -> ReplayResult | None:
        """Return how a run was last replayed; None where it was not."""
        return self._replays.get(run_id)
