"""`interlock tail`: what others record is seen at once, and one leaves without a trace."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cli.asking import interlock, program
from cli.ledgers import Story, a_run, told
from interlock import Interlock
from interlock.model.short_code import code_of
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess


class Follower:
    """A `tail` in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def reads(self) -> str:
        """Wait for the next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def reads_until(self, text: str) -> list[str]:
        """Wait for a line with this text; return all lines up to it."""
        lines = [self.reads()]
        while text not in lines[-1]:
            assert lines[-1], f"{text!r} never came"
            lines.append(self.reads())
        return lines

    def is_told(self, number: signal.Signals) -> int:
        """Send a signal; return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(timeout=LONG_ENOUGH_S)


@contextmanager
def a_follower(*arguments: str) -> Generator[Follower]:
    environment = {**os.environ, "COLUMNS": "100"}
    with PythonProcess[str](
        program(["tail", *arguments]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            yield Follower(process)
        finally:
            process.kill()


def test_what_another_process_records_is_seen_at_once(any_place: str) -> None:
    with Interlock.open(any_place) as agent:
        first = a_run(agent, "the first task")
        with a_follower("--since-start") as follower:
            follower.reads_until("the first task")

            second = a_run(agent, "the second task")
            answer = second.command("rm -rf /")
            lines = follower.reads_until("rm -rf /")

            assert not answer.allowed
            assert [line.split()[1] for line in lines] == [code_of(second.id)] * 2
            assert "  deny      $ rm -rf /  filesystem.delete-root\n" in lines[-1]
            assert follower.is_told(signal.SIGTERM) == 128 + signal.SIGTERM
        first.finish()


def test_without_a_run_only_what_is_new_is_told(place: str) -> None:
    with Interlock.open(place) as agent:
        old = a_run(agent, "the old task")
        with a_follower() as follower:
            # It listens before it looks: whatever is told first was recorded after that.
            line = ""
            while not line:
                old.violation("knock", "is anybody there")
                line = _line_if_any(follower)

            assert "knock: is anybody there" in line


def test_one_run_is_followed_alone(story: Story) -> None:
    with a_follower(story.checkout[:15], "--since-start") as follower:
        lines = [follower.reads() for _ in range(11)]

        shown = told("".join(lines), story)
        assert "look through the history" not in shown
        assert "fix the checkout" in lines[0]
        asked = f"approval {code_of(story.approval)}, git.push-force\n"
        assert f"ask       $ git push --force origin topic  {asked}" in lines[-1]


def test_json_lines_are_the_records_themselves(story: Story) -> None:
    exported = set(interlock("ledger", "export").stdout.splitlines())
    with a_follower("--since-start", "--json") as follower:
        lines = [follower.reads().rstrip("\n") for _ in exported]

    assert set(lines) == exported
    assert {json.loads(line)["record"]["run"] for line in lines} == {
        "ledger",
        story.checkout,
        story.history,
        story.changelog,
    }


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_whoever_is_told_to_end_leaves_the_file_in_order(
    number: signal.Signals, story: Story
) -> None:
    with a_follower("--since-start") as follower:
        follower.reads()
        code = follower.is_told(number)
        assert follower.process.stderr is not None
        told_to_end = follower.process.stderr.read()

    wal = Path(f"{story.place}-wal")
    assert code == (0 if number is signal.SIGINT else 128 + signal.SIGTERM)
    assert told_to_end == ""
    assert not wal.exists() or wal.stat().st_size == 0


def test_a_reader_that_goes_away_ends_it_without_a_traceback(story: Story) -> None:
    with a_follower("--since-start") as follower:
        follower.reads()
        assert follower.process.stdout is not None
        follower.process.stdout.close()
        with Interlock.open(story.place) as agent:
            a_run(agent, "one more")
        assert follower.process.stderr is not None
        complaint = follower.process.stderr.read()

    assert "Traceback" not in complaint


def _line_if_any(follower: Follower) -> str:
    """Return a line if one comes soon: the program may not be listening yet."""
    assert follower.process.stdout is not None
    ready, _, _ = select.select([follower.process.stdout], [], [], 0.2)
    return follower.reads() if ready else ""
