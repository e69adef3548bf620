"""How fast is an answer that is on the record? Through the service, in process, durable.

    python benchmarks/durable.py            everything
    python benchmarks/durable.py --quick    a tenth of it

Every command is asked once only: nothing is answered from memory. Beside it, in the same run,
stands what one would write first: the same verdict, one row, one commit.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec

from clock import line
from interlock import AsyncInterlock, Interlock, Run, evaluate_command
from interlock.service.wiring import default_gates
from speed import TYPICAL

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

ASKERS = 16
DECISIONS = 24_000
LONG_RUN = 100_000
WINDOW = 2_000
"""How many decisions the cost of one is the median of."""
_NUMBER = count()


def main() -> None:
    """Print one row per figure, the baseline beside."""
    scale = 10 if "--quick" in sys.argv else 1
    print(line("what", "measured", "goal", "beside it"))
    with tempfile.TemporaryDirectory() as folder:
        naive = _naive(Path(folder) / "naive.db", DECISIONS // scale // 2)
        _sqlite(Path(folder), DECISIONS // scale, naive)
        _postgres(Path(folder), DECISIONS // scale, naive)
        _long_run(Path(folder), LONG_RUN // scale)


def _next_command() -> str:
    number = next(_NUMBER)
    return f"{TYPICAL[number % len(TYPICAL)]} # {number}"


def _sqlite(folder: Path, decisions: int, naive: float) -> None:
    with _opened(str(folder / "ledger.db"), folder) as interlock:
        rate = _threads(interlock, decisions)
        beside = f"{rate / naive:.1f}x one commit per row ({naive:,.0f} /s)"
        measured = f"{rate:,.0f} /s"
        print(line("SQLite, 16 askers (threads), 16 runs", measured, ">= 5,000 /s", beside))
        rate = _threads(interlock, decisions, runs=1)
        print(line("SQLite, 16 askers (threads), one run", f"{rate:,.0f} /s"))
        _one_asker("SQLite", interlock, decisions // 8)
    rate = asyncio.run(_coroutines(str(folder / "async.db"), folder, decisions))
    print(line("SQLite, 16 askers (coroutines), 16 runs", f"{rate:,.0f} /s"))


def _postgres(folder: Path, decisions: int, naive: float) -> None:
    from postgres_server import running_postgres  # noqa: PLC0415 - found once the path is set

    with running_postgres() as url, _opened(url, folder) as interlock:
        rate = _threads(interlock, decisions // 2)
        measured = f"{rate:,.0f} /s"
        beside = f"{rate / naive:.1f}x one commit per row"
        print(line("Postgres, 16 askers (threads), 16 runs", measured, "", beside))
        _one_asker("Postgres", interlock, decisions // 16)


def _one_asker(store: str, interlock: Interlock, decisions: int) -> None:
    run = interlock.run("alone")
    times = sorted(_timed_asks(run, decisions))
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    print(line(f"{store}, one asker, p50 / p99", f"{p50:.0f} / {p99:.0f} µs"))


def _long_run(folder: Path, decisions: int) -> None:
    """Hold the cost of a late decision against an early one, and the memory likewise."""
    with _opened(str(folder / "long.db"), folder) as interlock:
        run = interlock.run("long")
        early = _timed_asks(run, 10 + WINDOW)[10:]
        at_first = _resident_mb()
        _threads_on(run, decisions - 2 * WINDOW - 10)
        late = _timed_asks(run, WINDOW)
        grown = _resident_mb() - at_first
        ratio = statistics.median(late) / statistics.median(early)
        measured = f"{ratio:.2f}x"
        beside = f"{statistics.median(early):.0f} → {statistics.median(late):.0f} µs"
        print(line(f"decision {decisions:,} beside decision 10", measured, "<= 1.2x", beside))
        print(line(f"  memory gained over {decisions:,} decisions", f"{grown:.1f} MB", "flat"))


def _threads(interlock: Interlock, decisions: int, *, runs: int = ASKERS) -> float:
    opened = [interlock.run(f"bench {number}") for number in range(runs)]
    return _rate(decisions, lambda asker: opened[asker % runs].command(_next_command()))


def _threads_on(run: Run, decisions: int) -> None:
    _rate(decisions, lambda _: run.command(_next_command()))


def _rate(decisions: int, ask: Callable[[int], object]) -> float:
    """Return how many questions a second so many askers get answered together."""

    def work(asker: int) -> None:
        for _ in range(decisions // ASKERS):
            ask(asker)

    askers = [threading.Thread(target=work, args=(asker,)) for asker in range(ASKERS)]
    start = time.perf_counter()
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    return decisions // ASKERS * ASKERS / (time.perf_counter() - start)


async def _coroutines(place: str, folder: Path, decisions: int) -> float:
    gates, keys = default_gates(), folder / "keys"
    async with await AsyncInterlock.open(place, gates=gates, keys=keys) as interlock:
        runs = [await interlock.run(f"bench {number}") for number in range(ASKERS)]

        async def work(asker: int) -> None:
            for _ in range(decisions // ASKERS):
                await runs[asker].command(_next_command())

        start = time.perf_counter()
        await asyncio.gather(*[work(asker) for asker in range(ASKERS)])
        return decisions // ASKERS * ASKERS / (time.perf_counter() - start)


def _naive(path: Path, decisions: int) -> float:
    """Judge and write one row per commit, as a script would: same durability, no more."""
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE decisions (id INTEGER PRIMARY KEY, body BLOB)")
    turn = threading.Lock()

    def ask(_: int) -> None:
        command = _next_command()
        body = msgspec.json.encode((command, evaluate_command(command)))
        with turn:
            connection.execute("INSERT INTO decisions (body) VALUES (?)", (body,))

    rate = _rate(decisions, ask)
    connection.close()
    return rate


def _timed_asks(run: Run, asks: int) -> list[float]:
    times: list[float] = []
    for _ in range(asks):
        command = _next_command()
        start = time.perf_counter_ns()
        run.command(command)
        times.append((time.perf_counter_ns() - start) / 1000)
    return times


def _resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


@contextmanager
def _opened(place: str, folder: Path) -> Generator[Interlock]:
    with Interlock.open(place, gates=default_gates(), keys=folder / "keys") as interlock:
        yield interlock


if __name__ == "__main__":
    main()
