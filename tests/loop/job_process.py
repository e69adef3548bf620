"""A process that answers one event with a job, and is killed while that runs."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from loop.loop_bench import LoopBench
from service.ledgers import HandClock


def main(place: str, folder: str, policy: str) -> None:
    """Answer `ci/build.failed`, and see to the end of what that starts."""
    with ExitStack() as stack:
        bench = LoopBench(stack, place, Path(folder), HandClock())
        loop = bench.loop(policy)
        loop.send("ci/build.failed", None, event_id="e1")
        bench.clock.forward(seconds=3)
        loop.answer("default")
        loop.jobs.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
