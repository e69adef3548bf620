"""How long does it take to try a policy on a ledger of 100,000 decisions?

    python benchmarks/simulate_speed.py            everything
    python benchmarks/simulate_speed.py --quick    a twentieth of it

Every command is another one, so that nothing is remembered. Beside it, in the same run, stands the
replay of the same ledger: one policy, one process.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from clock import line
from durable import VARIED
from interlock import Interlock
from interlock.backtest.run_replay import replay_run
from interlock.backtest.simulation_work import simulate
from interlock.ledger.chain import recorded_runs
from interlock.model.rows import RunRow
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.ports import Rows
from interlock.service.policies.policy_files import load_policy
from interlock.service.policies.policy_simulation import Policies

DECISIONS = 100_000
RUN_LENGTH = 500
GOAL_S = 60
PROCESSES = 2
COMMANDS = (*VARIED, "git push --force origin topic-{0}", "rm -rf src/v{0}")
_OTHER = """\
[destructive-ops.rules]
"git.push-force" = "block"
[steps]
max-rework-percent = 20
[stops]
continue-at = 70
"""


def main() -> None:
    """Print one row per figure, the replay beside."""
    count = DECISIONS // 20 if "--quick" in sys.argv else DECISIONS
    print(line("what", "measured", "goal", "beside it"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "other.toml").write_text(_OTHER)
        (folder / "own.toml").write_text("[steps]\nmode = 'observe'\n")
        own, other = (
            load_policy(user=folder / f"{each}.toml", project=None) for each in ("own", "other")
        )
        with Interlock.open(folder / "ledger.db", policy=own, keys=folder / "keys") as interlock:
            _fill(interlock, count)
            rows = interlock.ledger.rows
            runs = list(recorded_runs(rows))
            replay_s = _replayed(rows, runs)
            print(line(f"replay of {count:,} decisions: the baseline", f"{replay_s:.1f} s"))
            _measure(
                "the same policy", rows, runs, Policies(own, own), replay_s=replay_s, count=count
            )
            _measure(
                "against the record",
                rows,
                runs,
                Policies(None, other),
                replay_s=replay_s,
                count=count,
            )
            _measure(
                "two policies", rows, runs, Policies(own, other), replay_s=replay_s, count=count
            )


def _fill(interlock: Interlock, count: int) -> None:
    """Record so many decisions: nine calls, each another one, to every step."""
    for first in range(0, count, RUN_LENGTH):
        run = interlock.run(f"task {first}")
        for number in range(first, min(count, first + RUN_LENGTH)):
            if number % 10 == 9:
                run.step()
            else:
                run.command(COMMANDS[number % len(COMMANDS)].format(number))
        run.finish()


def _replayed(rows: Rows, runs: Sequence[RunRow]) -> float:
    began = time.perf_counter()
    different = sum(not each.is_same for run in runs for each in replay_run(rows, run.id))
    assert not different, "the ledger is not what was decided"
    return time.perf_counter() - began


def _measure(
    name: str,
    rows: Rows,
    runs: Sequence[RunRow],
    policies: Policies,
    *,
    replay_s: float,
    count: int,
) -> None:
    began = time.perf_counter()
    tally = simulate(
        rows, runs, (), policies, processes=PROCESSES, advance=lambda _done, _total: None
    )
    took_s = time.perf_counter() - began
    told = tally.told(("before", None), ("after", policies.after.hash))
    assert told.answers == count, f"{told.answers} of {count} were decided again"
    same: CompiledPolicy | None = policies.before
    assert (same is policies.after) == (told.changed == 0), "what changes is not what was changed"
    goal = f"{GOAL_S * count / DECISIONS:.0f} s"
    print(
        line(f"simulate: {name}, {PROCESSES} processes", f"{took_s:.1f} s", goal,
             f"{took_s / replay_s:.2f} x the replay, {told.changed:,} changed, {_peak_mb():.0f} MB")
    )  # fmt: skip


def _peak_mb() -> float:
    """Return the most memory that this process, or one that it started, has held."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(each).ru_maxrss for each in who) / 1024


if __name__ == "__main__":
    main()
