"""What many agents need: bytes and time per action measured here, and what follows from that.

    python benchmarks/scaling.py [--actions N] [--agents N] [--per-minute N]

The first part is measured on this machine: what an action weighs in the ledger and in an archive,
its answer and its report, and how many are made durable per second by one and by sixteen threads.
The second is arithmetic. The third plays shards whose heads are anchored in a parent chain, and
changes one behind its back.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from interlock import Interlock
from interlock.model.order import BEFORE_ALL, followed
from interlock.model.principal import SYSTEM
from interlock.model.rows import HeadRow, RecordRow
from interlock.service.archives import archive_runs
from interlock.service.records.context import SystemClock
from interlock.views.grounds import Grounds

_LINES = ("pytest -q", "git status", "ls -la src", "grep -rn total src", "python -m build")
_DAY_S = 86_400
_COMMIT_MS = 1.5
"""What one commit takes in Postgres on a good disk; the end of the order lets one at a time."""
_TOGETHER = 20
"""So many answers a busy server commits as one group."""


class Measured(NamedTuple):
    """What was found on this machine."""

    record_bytes: float
    archived_bytes: float
    alone_per_s: float
    together_per_s: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, reckon and play."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--actions", type=int, default=2_000)
    parser.add_argument("--agents", type=int, default=1_000_000)
    parser.add_argument("--per-minute", type=float, default=2.0)
    given = parser.parse_args(arguments)
    measured = _measured(given.actions)
    print(f"bytes per action in the ledger      {measured.record_bytes:12,.0f}")
    print(f"bytes per action in an archive      {measured.archived_bytes:12,.0f}")
    print(f"durable actions per s, 1 thread     {measured.alone_per_s:12,.0f}")
    print(f"durable actions per s, 16 threads   {measured.together_per_s:12,.0f}")
    print()
    print("   agents    actions/s  servers  databases  GB/day  archived GB/day")
    agents = 1_000
    while agents <= given.agents:
        _reckon(agents, given.per_minute, measured)
        agents *= 10
    print()
    _play(shards=16, rounds=50)


def _measured(actions: int) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "ledger.db"
        with Interlock.open(place, keys=Path(folder) / "keys") as interlock:
            alone_s = _timed(interlock, actions, threads=1)
            together_s = _timed(interlock, actions, threads=16)
            interlock.ledger.tidy()
            size = place.stat().st_size
            written = archive_runs(
                interlock.ledger,
                before=SystemClock().now() + 1,
                folder=Path(folder) / "archives",
                by=SYSTEM,
                clock=SystemClock(),
                grounds=Grounds,
            )
        archived = sum(Path(each.file).stat().st_size for each in written)
    return Measured(
        record_bytes=size / (2 * actions),
        archived_bytes=archived / (2 * actions),
        alone_per_s=actions / alone_s,
        together_per_s=actions / together_s,
    )


def _timed(interlock: Interlock, actions: int, *, threads: int) -> float:
    def work() -> None:
        with interlock.run("measure", agent="bench") as run:
            for number in range(actions // threads):
                run.observe(run.command(_LINES[number % len(_LINES)]), exit_code=0)

    crowd = [threading.Thread(target=work) for _ in range(threads)]
    begun = time.perf_counter()
    for each in crowd:
        each.start()
    for each in crowd:
        each.join()
    return time.perf_counter() - begun


def _reckon(agents: int, per_minute: float, measured: Measured) -> None:
    per_s = agents * per_minute / 60
    servers = -(-per_s // measured.together_per_s)
    # An action is two records in two groups: its answer, and its report.
    databases = -(-2 * per_s // (1000 / _COMMIT_MS * _TOGETHER))
    stored, archived = (
        per_s * _DAY_S * each / 1e9 for each in (measured.record_bytes, measured.archived_bytes)
    )
    print(
        f"{agents:9,}  {per_s:11,.0f}  {servers:7,.0f}  {databases:9,.0f}  {stored:6,.1f}"
        f"  {archived:15,.1f}"
    )


def _play(*, shards: int, rounds: int) -> None:
    """Let shards write, anchor their heads in a parent chain, and change one of them."""
    written: list[list[RecordRow]] = [[] for _ in range(shards)]
    parent: list[tuple[int, HeadRow]] = []
    chain = BEFORE_ALL
    for number in range(rounds):
        for shard, rows in enumerate(written):
            rows.append(_row(f"{shard}", number, f"decision {number} of shard {shard}"))
            head = followed(BEFORE_ALL, rows)
            parent.append((shard, head))
            chain = followed(chain, [_row("parent", len(parent), f"{shard} {head}")])
    written[3][10] = _row("3", 10, "another decision")
    found = {
        shard
        for shard, head in parent
        if followed(BEFORE_ALL, written[shard][: head.records]) != head
    }
    ends = chain.hash[:12]
    print(f"{shards} shards, {len(parent):,} heads in the parent chain, which ends in {ends}")
    print(f"one record of shard 3 was changed; the parent chain accuses: {sorted(found)}")


def _row(run: str, number: int, text: str) -> RecordRow:
    body = text.encode()
    return RecordRow(run, number + 1, number, "play", body, hashlib.sha256(body).hexdigest())


if __name__ == "__main__":
    main()
