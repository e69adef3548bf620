"""Simulating many runs: in one process or in several, it comes to the same."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from gates.policies import gates_with
from interlock import Interlock, TokenUsage
from interlock.adapters.known_histories import known_readers
from interlock.backtest.history_files import HistoryFile, found_files
from interlock.backtest.simulation_work import simulate
from interlock.errors import InterlockError
from interlock.ledger.chain import recorded_runs
from interlock.model.past_run import PastRun, PastStep, Unread
from interlock.model.policy_comparison import Simulation
from interlock.service.policies.policy_simulation import Policies
from service.ledgers import SECOND, HandClock, in_memory

FORCE = "git push --force origin topic"
BLOCKING = '[destructive-ops.rules]\n"git.push-force" = "block"\n'
NAMES = (("one", None), ("other", None))


def a_few_runs(interlock: Interlock, clock: HandClock, count: int = 3) -> None:
    for number in range(count):
        clock.forward(seconds=10)
        run = interlock.run(f"task {number}")
        for each in range(40):
            run.command(f"ls {each}")
        run.command(f"{FORCE}-{number}")
        run.usage(TokenUsage(input_tokens=10, output_tokens=1))
        run.finish()


def histories(folder: Path, *rows: object) -> Sequence[HistoryFile]:
    for number, row in enumerate(rows):
        (folder / f"{number}.jsonl").write_text(json.dumps(row) + "\n")
    return found_files([folder], known_readers())[0]


def simulated(
    interlock: Interlock | None,
    files: Sequence[HistoryFile] = (),
    *,
    since: int = 0,
    only: str | None = None,
    processes: int = 1,
    advance: Callable[[int, int], None] = lambda _done, _total: None,
) -> Simulation:
    rows = None if interlock is None else interlock.ledger.rows
    runs = [] if rows is None else list(recorded_runs(rows, since=since))
    tally = simulate(
        rows,
        runs,
        files,
        Policies(gates_with(""), gates_with(BLOCKING), since=since),
        only=only,
        processes=processes,
        advance=advance,
    )
    return tally.told(*NAMES)


def test_several_processes_come_to_the_same_as_one(tmp_path: Path) -> None:
    clock = HandClock()
    steps = [{"role": "assistant", "text": "Now let me see:"}] * 200
    # Other processes are started for large histories only; no reader looks at this field.
    row = {"run_id": "a1", "steps": steps, "unread": "-" * 3_000_000}
    files = histories(tmp_path, row, row)
    done: list[tuple[int, int]] = []
    with in_memory(clock=clock) as interlock:
        a_few_runs(interlock, clock)

        alone = simulated(interlock, files)
        together = simulated(
            interlock, files, processes=2, advance=lambda now, total: done.append((now, total))
        )

    assert together == alone
    assert (alone.runs, alone.stricter) == (5, 3)
    assert (len(done), done[0][0]) == (6, 0)
    assert done[-1][0] == done[-1][1]


def test_what_is_older_is_left_out() -> None:
    clock = HandClock()
    with in_memory(clock=clock) as interlock:
        a_few_runs(interlock, clock, 2)
        clock.forward(seconds=100)
        since = clock.now() - SECOND
        long = interlock.run("more")
        long.command(FORCE)

        told = simulated(interlock, since=since)

    assert (told.runs, told.answers) == (1, 1)


def test_more_runs_than_fit_on_a_page_are_all_found() -> None:
    with in_memory() as interlock:
        for number in range(510):
            interlock.run(f"task {number}")

        assert len(list(recorded_runs(interlock.ledger.rows, since=0))) == 510


def test_only_the_run_that_is_named_counts_of_a_history(tmp_path: Path) -> None:
    steps = [{"role": "assistant", "text": "done"}]
    files = histories(tmp_path, {"run_id": "a1", "steps": steps}, {"run_id": "b1", "steps": steps})

    assert simulated(None, files, only="a").runs == 1


def test_what_cannot_be_read_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    (file,) = histories(tmp_path, {"run_id": "a1", "steps": [{"text": "done"}]})
    with Path(file.path).open("a") as more:
        more.write('{"run_id": "b1", "steps": 3}\n{"run_id": "c1", "steps": [{"text": "x"}]}\n')
    gone = file._replace(path=str(tmp_path / "gone.jsonl"))

    told = simulated(None, [file, gone])

    assert (told.runs, told.unread_count) == (2, 2)
    assert [each.line for each in told.unread] == [2, None]
    assert "`steps` is not a list" in told.unread[0].reason
    assert "gone.jsonl" in told.unread[1].reason


class Deadly:
    """Reads nothing, and takes its process along."""

    name = "deadly"
    version = 1

    def usual_places(self, home: Path, environment: Mapping[str, str]) -> Sequence[Path]:
        return ()

    def reads(self, path: Path, beginning: bytes) -> bool:
        return True

    def beside(self, path: Path) -> Sequence[Path]:
        return ()

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        os._exit(3)
        yield PastRun(id="", steps=[PastStep()])


def test_a_process_that_dies_is_told_with_what_to_do(tmp_path: Path) -> None:
    large = [
        HistoryFile(str(tmp_path / name), Deadly(), 10_000_000, "") for name in ("a", "b", "c")
    ]

    with pytest.raises(InterlockError, match="run the same again, with `--processes 1`"):
        simulated(None, large, processes=2)
