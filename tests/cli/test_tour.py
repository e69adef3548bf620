from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Generator
from contextlib import contextmanager

import pytest

from cli.asking import interlock_process, program, without_colour
from interlock.cli.tour.tour_chapters import made_up_token
from warm_python import PythonProcess


class Visitor:
    """Somebody at a terminal: reads until a text appears, then types."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self.seen = ""

    def waits_for(self, text: str) -> None:
        start = len(self.seen)
        while text not in self.seen[start:]:
            piece = self._read()
            assert piece, f"{text!r} never came"
            self.seen += piece

    def goes_on_until(self, end: str) -> list[str]:
        """Press Enter on one screen after the other; return what each of them showed."""
        screens: list[str] = []
        while not screens or end not in screens[-1]:
            start = len(self.seen)
            while not any(each in self.seen[start:] for each in ("q leaves", end)):
                piece = self._read()
                assert piece, f"{end!r} never came"
                self.seen += piece
            screens.append(self.seen[start:])
            if end not in screens[-1]:
                self.types("")
        return screens

    def types(self, text: str) -> None:
        os.write(self._terminal, f"{text}\n".encode())

    def reads_to_the_end(self) -> None:
        while piece := self._read():
            self.seen += piece

    def _read(self) -> str:
        try:
            return os.read(self._terminal, 65536).decode(errors="replace")
        except OSError:  # Linux says so when the other side has gone
            return ""


@contextmanager
def a_visitor(*arguments: str) -> Generator[tuple[Visitor, subprocess.Popen[bytes]]]:
    ours, theirs = pty.openpty()
    with PythonProcess[bytes](
        program(arguments), stdin=theirs, stdout=theirs, stderr=theirs, env=without_colour()
    ) as process:
        os.close(theirs)
        yield Visitor(ours), process
    os.close(ours)


def test_visitor_goes_from_chapter_to_chapter_and_asks_own_questions() -> None:
    with a_visitor("tour") as (visitor, process):
        screens = visitor.goes_on_until("An empty line ends")
        visitor.types("rm -rf /")
        visitor.waits_for("filesystem.delete-root")
        visitor.types("")
        visitor.reads_to_the_end()

    assert process.returncode == 0
    assert "where to go on" in visitor.seen
    assert len(screens) > 12
    assert max(screen.count("\n") for screen in screens) <= 23


def test_visitor_can_leave_at_any_time() -> None:
    with a_visitor("tour") as (visitor, process):
        visitor.waits_for("q leaves")
        visitor.types("q")
        visitor.reads_to_the_end()

    assert process.returncode == 0
    assert "\n2  " not in visitor.seen


def test_visitor_can_hang_up() -> None:
    with a_visitor("tour") as (visitor, process):
        visitor.waits_for("q leaves")
        visitor.types("\x04")
        visitor.reads_to_the_end()

    assert process.returncode == 0
    assert "Traceback" not in visitor.seen


def test_a_terminal_gets_a_badge_and_no_colour_where_none_is_wanted() -> None:
    with a_visitor("check", "command", "rm -rf /") as (visitor, process):
        visitor.reads_to_the_end()

    assert process.returncode == 4
    assert " DENY " in visitor.seen
    assert not re.search(r"\x1b\[[\d;]*(?:3|4)\d", visitor.seen)


@pytest.fixture(scope="module")
def printed_tour(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[bytes]:
    """The tour where nobody sits at a terminal, played once."""
    folder = tmp_path_factory.mktemp("tour")
    environment = {**os.environ, "INTERLOCK_CONFIG_HOME": str(folder / "config"), "COLUMNS": "80"}
    return interlock_process("tour", folder=folder, environment=environment)


@pytest.fixture
def text(printed_tour: subprocess.CompletedProcess[bytes]) -> str:
    """Everything that it printed."""
    return printed_tour.stdout.decode()


def test_tour_prints_everything_when_nobody_sits_there(
    printed_tour: subprocess.CompletedProcess[bytes], text: str
) -> None:
    assert printed_tour.returncode == 0
    assert printed_tour.stderr == b""
    assert [int(number) for number in re.findall(r"^(\d+)  \w", text, re.MULTILINE)] == list(
        range(1, 13)
    )
    assert "every evaluator passes" in text
    assert "1 of 12 tests failed\n" in text
    assert text.count("µs") >= 14
    assert "interlock init" in text
    assert max(map(len, text.splitlines())) <= 80


def test_tour_shows_a_run_that_is_paused_helped_and_sent_on(text: str) -> None:
    chapter = text[text.index("10  Should it go on?") :]
    told = [chapter.index(f"\n  {mark} ") for mark in ("pause", "approved", "nudge", "ends")]
    assert told == sorted(told)
    assert "warned: the same call with the same results" in chapter
    assert "`run the whole suite`" in " ".join(chapter.split())


def test_tour_refuses_a_pass_until_a_real_check_agrees(text: str) -> None:
    chapter = text[text.index("11  Was it good enough?") :]
    told = [chapter.index(f"\n  {mark} ") for mark in ("check bad", "retry", "check ok", "advance")]
    assert told == sorted(told)
    assert "exit code 1 (1 test failed, 1 passed)" in chapter
    assert "the PASS of gate `tests` is refused" in chapter
    assert "warned: gate `readable` failed" in chapter


def test_tour_plays_a_loop_that_asks_and_is_frozen(text: str) -> None:
    chapter = text[text.index("12  What next?") :]
    told = [
        chapter.index(f"\n  {mark} ") for mark in ("note", "taken", "asks", "approved", "frozen")
    ]
    assert told == sorted(told)
    assert "emit_alert ci/nightly.failed" in chapter
    assert "start_loop mend-the-build" in chapter
    assert "the loop is frozen: a release is on" in chapter


def test_tour_gets_every_kind_of_answer_and_shows_no_credential(text: str) -> None:
    assert {word for word in ("ALLOW", "WARN", "ASK", "DENY") if f" {word} " in text} == {
        "ALLOW",
        "WARN",
        "ASK",
        "DENY",
    }
    assert made_up_token()[4:] not in text
