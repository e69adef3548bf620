"""How fast is an answer that is on the record? Through the service, in process, durable.

    python benchmarks/durable.py            everything
    python benchmarks/durable.py --quick    a tenth of it

Two streams of questions: typical commands asked again and again, as agents do, whose verdicts are
remembered (the answer is recorded all the same); and commands that nobody has asked before. Beside
them, in the same run, stands what one would write first: the same verdict, one row, one commit.
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
from interlock.service.policies.policy_files import default_policy
from speed import TYPICAL

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

ASKERS = 16
DECISIONS = 24_000
LONG_RUN = 100_000
WINDOW = 2_000
"""How many decisions the cost of one is the median of."""
VARIED = (
    "git diff --stat HEAD~{0}",
    "git log --oneline -{0} | cat",
    "git show {0}f3a:src/app/main.py",
    "sed -n '{0},200p' src/app/main.py",
    'grep -rn "case {0}" src | head -50',
    "npm run test -- --shard={0}/9 2>&1 | tail -20",
    "python3 -m pytest tests/unit/test_{0}.py -q",
    "cd packages/p{0} && npx tsc --noEmit",
    "ls -la src/v{0} && cat src/v{0}/README.md",
    "cat logs/{0}.json | jq '.scripts'",
    "mkdir -p build/{0} && cp -r assets build/{0}/",
    "curl -s http://localhost:3000/items/{0} | jq .status",
    "docker compose logs --tail {0} api",
    "find . -name 'test_{0}*.py' | wc -l",
    "go test ./pkg/p{0}/... && go vet ./pkg/p{0}/...",
    "echo 'step {0}' >> notes.md",
)
_NUMBER = count()


def main() -> None:
    """Print one row per figure, the baseline beside."""
    scale = 10 if "--quick" in sys.argv else 1
    print(line("what", "measured", "goal", "beside it"))
    with tempfile.TemporaryDirectory() as folder:
        alone = _naive(Path(folder) / "alone.db", DECISIONS // scale // 8, askers=1)
        print(line("one commit per row, one thread: the baseline", f"{alone:,.0f} /s"))
        naive = _naive(Path(folder) / "naive.db", DECISIONS // scale // 4)
        print(line("  16 threads", f"{naive:,.0f} /s"))
        _sqlite(Path(folder), DECISIONS // scale, naive)
        _postgres(Path(folder), DECISIONS // scale, naive)
        _long_run(Path(folder), LONG_RUN // scale)


def _new_command() -> str:
    number = next(_NUMBER)
    return VARIED[number % len(VARIED)].format(number)


def _typical_command() -> str:
    return TYPICAL[next(_NUMBER) % len(TYPICAL)]


def _sqlite(folder: Path, decisions: int, naive: float) -> None:
    with _opened(str(folder / "ledger.db"), folder) as interlock:
        rate = _threads(interlock, decisions, _typical_command)
        beside = f"{rate / naive:.1f}x one commit per row ({naive:,.0f} /s)"
        measured = f"{rate:,.0f} /s"
        print(line("SQLite, 16 threads, typical commands", measured, ">= 5,000 /s", beside))
        rate = _threads(interlock, decisions, _typical_command, runs=1)
        print(line("  all in one run", f"{rate:,.0f} /s"))
        rate = _threads(interlock, decisions, _new_command)
        print(line("  commands never asked before", f"{rate:,.0f} /s"))
        _one_asker("SQLite", interlock, decisions // 8)
        _noticed(interlock, folder)
    for name, commands in (
        ("SQLite, 16 coroutines, typical commands", _typical_command),
        ("  commands never asked before", _new_command),
    ):
        place = str(folder / f"{commands.__name__}.db")
        rate = asyncio.run(_coroutines(place, folder, decisions, commands))
        print(line(name, f"{rate:,.0f} /s", f"{rate / naive:.1f}x"))


def _postgres(folder: Path, decisions: int, naive: float) -> None:
    from postgres_server import running_postgres  # noqa: PLC0415 - found once the path is set

    with running_postgres() as url, _opened(url, folder) as interlock:
        rate = _threads(interlock, decisions // 2, _typical_command)
        beside = f"{rate / naive:.1f}x one commit per row in SQLite"
        print(line("Postgres, 16 threads, typical commands", f"{rate:,.0f} /s", "", beside))
        rate = _threads(interlock, decisions // 2, _new_command)
        print(line("  commands never asked before", f"{rate:,.0f} /s"))
        _one_asker("Postgres", interlock, decisions // 16)
        rate = asyncio.run(_coroutines(url, folder, decisions // 2, _typical_command))
        print(line("Postgres, 16 coroutines, typical commands", f"{rate:,.0f} /s"))


def _one_asker(store: str, interlock: Interlock, decisions: int) -> None:
    run = interlock.run("alone")
    times = sorted(_timed_asks(run, decisions))
    p50, p99 = times[len(times) // 2], times[len(times) * 99 // 100]
    print(line(f"{store}, one asker, p50 / p99", f"{p50:.0f} / {p99:.0f} µs"))


def _noticed(interlock: Interlock, folder: Path) -> None:
    """Time how long a commit stays unnoticed by another opening of the same file."""
    times: list[float] = []
    run = interlock.run("noticed")
    with _opened(str(folder / "ledger.db"), folder) as other:
        for _ in range(20):
            listener = other.ledger.listen()
            committed: list[float] = []

            def commit(done: list[float] = committed) -> None:
                run.command("ls")
                done.append(time.perf_counter())

            threading.Timer(0.01, commit).start()
            listener.wait(None)
            noticed = time.perf_counter()
            while not committed:
                time.sleep(0.001)
            times.append(max(noticed - committed[0], 0) * 1000)
    measured = f"{statistics.median(times):.0f} / {max(times):.0f} ms"
    print(line("  noticed by another process, p50 / longest", measured, "<= 100 ms"))


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


def _threads(
    interlock: Interlock, decisions: int, commands: Callable[[], str], *, runs: int = ASKERS
) -> float:
    opened = [interlock.run(f"bench {number}") for number in range(runs)]
    return _rate(decisions, lambda asker: opened[asker % runs].command(commands()))


def _threads_on(run: Run, decisions: int) -> None:
    _rate(decisions, lambda _: run.command(_new_command()))


def _rate(decisions: int, ask: Callable[[int], object], *, askers: int = ASKERS) -> float:
    """Return how many questions a second so many askers get answered together."""

    def work(asker: int) -> None:
        for _ in range(decisions // askers):
            ask(asker)

    threads = [threading.Thread(target=work, args=(asker,)) for asker in range(askers)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return decisions // askers * askers / (time.perf_counter() - start)


async def _coroutines(
    place: str, folder: Path, decisions: int, commands: Callable[[], str]
) -> float:
    gates, keys = default_policy(), folder / "keys"
    async with await AsyncInterlock.open(place, policy=gates, keys=keys) as interlock:
        runs = [await interlock.run(f"bench {number}") for number in range(ASKERS)]

        async def work(asker: int) -> None:
            for _ in range(decisions // ASKERS):
                await runs[asker].command(commands())

        start = time.perf_counter()
        await asyncio.gather(*[work(asker) for asker in range(ASKERS)])
        return decisions // ASKERS * ASKERS / (time.perf_counter() - start)


def _naive(path: Path, decisions: int, *, askers: int = ASKERS) -> float:
    """Judge and write one row per commit, as a script would: same durability, nothing else."""
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE decisions (id INTEGER PRIMARY KEY, body BLOB)")
    turn = threading.Lock()

    def ask(_: int) -> None:
        command = _typical_command()
        body = msgspec.json.encode((command, evaluate_command(command)))
        with turn:
            connection.execute("INSERT INTO decisions (body) VALUES (?)", (body,))

    rate = _rate(decisions, ask, askers=askers)
    connection.close()
    return rate


def _timed_asks(run: Run, asks: int) -> list[float]:
    times: list[float] = []
    for _ in range(asks):
        command = _new_command()
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
    with Interlock.open(place, policy=default_policy(), keys=folder / "keys") as interlock:
        yield interlock


if __name__ == "__main__":
    main()
