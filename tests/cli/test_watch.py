"""`interlock watch`: what another process records is drawn at once, and nothing is read twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import cast

import pytest

from cli.asking import as_person, interlock, interlock_process, program
from cli.control import a_stuck_run, repeats_itself, steps_along
from cli.ledgers import a_run
from cli.test_tour import a_visitor
from interlock import Budget, Interlock
from interlock.cli.text.watch_page import sparkline
from interlock.ledger.ledger import Ledger
from interlock.model.rows import RecordRow
from interlock.model.run import RunState
from interlock.model.short_code import code_of
from interlock.ports import Rows
from interlock.views.watch_view import Watcher, rework_shares
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess


@contextmanager
def a_watcher(*arguments: str) -> Generator[subprocess.Popen[str]]:
    with PythonProcess[str](
        program(["watch", *arguments]), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def the_next(process: subprocess.Popen[str]) -> dict[str, object]:
    """Wait for the next piece of news."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def until_record(process: subprocess.Popen[str], record: int) -> dict[str, object]:
    """Wait until so many records were told of."""
    news = the_next(process)
    while cast("int", news["record"]) < record:
        news = the_next(process)
    return news


def test_news_of_another_process_come_one_by_one_until_the_run_is_over(any_place: str) -> None:
    with Interlock.open(any_place) as agent:
        run = a_run(agent, "escape the quotes", budget=Budget(tool_calls=40))
        with a_watcher(run.id, "--json") as process:
            begun = the_next(process)
            paused = repeats_itself(run)
            stuck = until_record(process, run.state.seq)
            run.finish("given-up")
            over = until_record(process, run.state.seq)

            assert process.wait(timeout=LONG_ENOUGH_S) == 0
    assert (begun["step"], begun["holds"], begun["status"]) == (0, [], "running")
    assert [held["question"] for held in cast("list[dict[str, object]]", stuck["holds"])] == [
        paused.approval_id
    ]
    assert cast("dict[str, int]", stuck["decisions"])["pause"] == 1
    assert "loop" in [each["name"] for each in cast("list[dict[str, str]]", stuck["evidence"])]
    assert (over["status"], over["outcome"], over["holds"]) == ("finished", "given-up", [])


def test_a_terminal_is_drawn_anew_and_left_when_the_run_is_over(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "escape the quotes")
        with a_visitor("watch", run.id) as (visitor, process):
            visitor.waits_for("nobody has asked whether it should go on")
            steps_along(run, 1)
            visitor.waits_for("1 taken; 1 continue")
            paused = repeats_itself(run)
            visitor.waits_for(f"interlock approve {code_of(paused.approval_id)}")
            run.finish()
            visitor.reads_to_the_end()

    assert process.returncode == 0
    assert "completed" in visitor.seen
    assert "Traceback" not in visitor.seen


def test_ctrl_c_leaves_without_a_fuss(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "escape the quotes")
        with a_watcher(run.id, "--json") as process:
            the_next(process)
            process.send_signal(signal.SIGINT)

            assert process.wait(timeout=LONG_ENOUGH_S) == 0
            assert process.stderr is not None
            assert process.stderr.read() == ""


def test_without_a_terminal_one_view_is_printed(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with a_stuck_run(place) as stuck:
        result = interlock("watch", stuck.run.id)

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in result.stdout
    assert lines[0] == "escape the quotes"
    assert lines[1] == f"  PAUSED  3 min ago at step {stuck.paused.step}"
    assert f"    interlock approve {code_of(stuck.question)}  lets it go on" in lines
    assert f"    interlock deny {code_of(stuck.question)}  stops it" in lines
    figures = lines[: lines.index("Budget")]
    labels = [line.split()[0] for line in figures if line.startswith("  ") and line[2] != " "]
    assert [each for each in labels if each in _FIGURES] == _FIGURES
    assert lines[-1].split()[1] == "pause"


_FIGURES = ["run", "steps", "tokens", "rework", "coherence", "uncertainty", "stuck", "saved"]


def test_the_figures_are_those_of_the_record(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "escape the quotes", budget=Budget(tool_calls=40))
        for number in range(6):
            run.step(total_tokens_used=1000 * number)
            run.observe(run.command(f"cat {number}"), output=f"{number}\n" * 20, exit_code=0)
        run.belief("the parser is in csv.py", supporting=3)

        text = interlock("watch", run.id, "--once").stdout
        [line] = interlock("watch", run.id, "--once", "--json").stdout.splitlines()

    value = json.loads(line)
    assert "tokens       1,000 per step; +0.0% with each step" in text
    assert "coherence    1.00, full;" in text
    assert "uncertainty  0.20 over 1 belief;" in text
    assert "saved        never; one is due in 19 steps" in text
    assert "6 of 40" in text
    assert (value["tokens_per_step"], value["slope"]) == (1000.0, 0.0)
    assert (value["coherence"], value["band"], value["uncertainty"]) == (1.0, "full", 0.2)
    assert value["accounts"][0]["used"]["tool_calls"] == 6
    assert value["last_checkpoint"] is None


def test_what_an_action_waits_for_is_told_with_the_command_that_answers(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "push it")
        asked = run.command("git push --force origin topic")
        text = interlock("watch", run.id).stdout
        as_person("deny", asked.approval_id or "")
        after = interlock("watch", run.id).stdout

    assert "  ASKS  git push --force origin topic\n" in text
    assert f"    interlock approve {code_of(asked.approval_id)}  lets it happen" in text
    assert "ASKS" not in after


def test_a_checkpoint_that_had_nothing_to_save_is_not_told_as_one(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "read everything")
        steps_along(run, 26)

        text = interlock("watch", run.id).stdout

    assert "saved        never; one is due in 24 steps" in text


def test_news_are_folded_forward_and_no_record_is_read_twice(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "read everything")
        steps_along(run, 5)
        counting = _CountingLedger(agent.ledger)
        watcher = Watcher(cast("Ledger", counting), run.id)
        counting.read.clear()

        for first in (5, 7, 9):
            steps_along(run, 2, first=first)
            before = watcher.frame(0).state.seq
            assert watcher.catch_up()
            assert counting.read == list(range(before + 1, run.state.seq + 1))
            assert watcher.frame(0).state == run.state
            counting.read.clear()
        assert not watcher.catch_up()
        assert counting.read == []


def test_a_run_that_is_not_there_is_told(place: str) -> None:
    Interlock.open(place).close()

    result = interlock("watch", "nobody")

    assert result.exit_code == 2
    assert result.stderr == "Error: there is no run `nobody`: look at `interlock runs`\n"


@pytest.mark.parametrize(
    ("calls", "shares"),
    [
        ([], []),
        ([False], [0.0]),
        ([True, False], [1.0, 0.5]),
        ([True] * 10 + [False], [1.0] * 10 + [0.9]),
    ],
)
def test_each_point_of_the_line_is_about_the_ten_calls_up_to_it(
    calls: list[bool], shares: list[float]
) -> None:
    assert rework_shares(calls) == shares


def test_the_line_goes_from_low_to_high() -> None:
    drawn = sparkline([0.0, 0.5, 1.0])

    assert len(drawn) == 3
    assert drawn in ("▁▅█", ".+@")


class _CountingLedger:
    """A ledger that remembers which records were read from it."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.read: list[int] = []

    @property
    def rows(self) -> Rows:
        return cast("Rows", _CountingRows(self._ledger.rows, self.read))

    def state(self, run_id: str) -> RunState | None:
        return self._ledger.state(run_id)


class _CountingRows:
    def __init__(self, rows: Rows, read: list[int]) -> None:
        self._rows = rows
        self._read = read

    def records(self, run_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[RecordRow]:
        found = self._rows.records(run_id, after=after, limit=limit)
        self._read.extend(row.seq for row in found)
        return found

    def __getattr__(self, name: str) -> object:
        return getattr(self._rows, name)


def test_colour_is_for_terminals_only(place: str) -> None:
    with a_stuck_run(place) as stuck:
        done = interlock_process("watch", stuck.run.id, environment={**os.environ, "COLUMNS": "60"})

    assert done.returncode == 0
    assert b"\x1b" not in done.stdout
