"""Measure how long something takes: medians of many, and ratios in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def median_us(work: Callable[[], object], *, rounds: int = 200) -> float:
    """Return the median time of one call, in microseconds, warm."""
    for _ in range(min(rounds, 10)):
        work()
    times: list[int] = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        work()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1000


def line(name: str, measured: str, goal: str = "", ratio: str = "") -> str:
    """Return one row of the report."""
    return f"{name:52} {measured:>14}  {goal:16} {ratio}".rstrip()
