"""How long does a line take that was never seen before? Each distinct line once, beside a baseline.

Processor time of this thread, because the wall clock also counts whoever else uses the machine.
"""

from __future__ import annotations

import shlex
import statistics
import time
from collections.abc import Callable, Sequence

from accuracy import rows_of
from clock import line
from interlock import evaluate_command, load_policy
from interlock.commands.analysis import CommandAnalysis
from interlock.policy.actions.inspection import lowered
from labelled_data import data_path
from speed import NAIVE

SLOWEST = 5
_SHOWN = 60
_UNREADABLE = "it is not a complete shell command"


def main() -> None:
    """Print a row for each way of reading the lines, and the slowest that cannot be read."""
    path = data_path("commands")
    if path is None:
        print("no corpus: set INTERLOCK_SHARED")
        return
    lines = list(dict.fromkeys(row.command for row in rows_of(path)))
    policy = load_policy()
    ours = _times(lines, lambda command: evaluate_command(command, policy=policy))
    warm = load_policy()
    for each in lines[::2]:
        evaluate_command(each, policy=warm)
    others = _times(lines[1::2], lambda command: evaluate_command(command, policy=warm))
    parse = _times(lines, lambda command: lowered(command, None, policy))
    naive = _times(lines, _naive)
    print(line(f"{len(lines)} distinct lines", "median", "p90/p99/max µs", "beside it"))
    ratio = statistics.median(ours) / statistics.median(naive)
    _row("whole decision", ours, f"goal 120 µs, p99 1000 µs; {ratio:.1f}x the baseline")
    _row("  every second one, after the others", others, "patterns are compiled by then")
    _row("  of it: what the line would do", parse, "")
    _row("baseline: shlex and one regex", naive, "")
    unreadable = [
        (time_us, command)
        for time_us, command in zip(ours, lines, strict=True)
        if _is_unreadable(lowered(command, None, policy))
    ]
    _row(f"{len(unreadable)} that the grammar cannot parse", [each[0] for each in unreadable], "")
    for time_us, command in sorted(unreadable, reverse=True)[:SLOWEST]:
        print(line(f"  {command[:_SHOWN]!r}"[:52], f"{time_us:.0f} µs", "goal 3000 µs"))


def _row(name: str, times: Sequence[float], beside: str) -> None:
    cuts = statistics.quantiles(times, n=100)
    spread = f"{cuts[89]:.0f}/{cuts[98]:.0f}/{max(times):.0f}"
    print(line(name, f"{statistics.median(times):.0f} µs", spread, beside))


def _times(lines: Sequence[str], work: Callable[[str], object]) -> list[float]:
    """Return the time that each line takes, in microseconds; warmed up by another line."""
    work("ls -la && git status")
    times: list[float] = []
    for each in lines:
        start = time.thread_time_ns()
        work(each)
        times.append((time.thread_time_ns() - start) / 1000)
    return times


def _is_unreadable(analysis: CommandAnalysis) -> bool:
    return any(part.reason == _UNREADABLE for part in analysis.unresolved)


def _naive(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError:
        return True
    return NAIVE.search(command) is not None


if __name__ == "__main__":
    main()
