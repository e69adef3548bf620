"""Long lists go through a pager at a terminal, and nowhere else."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
from pathlib import Path
from typing import Final

import pytest

from cli.asking import interlock_process, program
from warm_python import PythonProcess

_CHOICES: Final = ("PAGER", "LESS", "NO_COLOR")


def at_a_screen(words: list[str], *, rows: int, pager: str | None) -> str:
    """Run a command at a terminal that is so many rows high; return what it shows."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
    known = {name: value for name, value in os.environ.items() if name not in _CHOICES}
    environment = known | ({} if pager is None else {"PAGER": pager}) | {"TERM": "xterm"}
    with PythonProcess[bytes](
        program(words), stdin=slave, stdout=slave, stderr=slave, env=environment
    ) as process:
        os.close(slave)
        shown = b""
        while block := _read(master):
            shown += block
        process.wait()
    os.close(master)
    return shown.decode()


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:
        return b""


@pytest.fixture
def pager(tmp_path: Path) -> str:
    """A pager that says that it was there."""
    file = tmp_path / "less"
    file.write_text('#!/bin/sh\necho "paged$LESS"\ncat\n')
    file.chmod(0o755)
    return str(file)


def test_what_is_longer_than_the_terminal_is_paged_in_its_colours(pager: str) -> None:
    shown = at_a_screen(["rules", "git"], rows=5, pager=pager)

    assert shown.startswith("paged-R")
    assert "git.push-force" in shown
    assert "\x1b[1;4m" in shown


def test_a_pager_that_may_show_no_colours_is_given_none(pager: str) -> None:
    other = Path(pager).rename(Path(pager).with_name("another"))
    shown = at_a_screen(["rules", "git"], rows=5, pager=str(other))

    assert shown.startswith("paged")
    assert "git.push-force" in shown
    assert "\x1b[" not in shown


@pytest.mark.parametrize(
    ("words", "rows", "program_"),
    [
        (["rules", "git"], 500, "PAGER"),
        (["--no-pager", "rules", "git"], 5, "PAGER"),
        (["rules", "git"], 5, ""),
        (["rules", "git", "--json"], 5, "PAGER"),
    ],
    ids=["it is short", "nobody wants one", "an empty PAGER", "a program reads it"],
)
def test_nothing_else_is(words: list[str], rows: int, program_: str, pager: str) -> None:
    shown = at_a_screen(words, rows=rows, pager=pager if program_ else "")

    assert "paged" not in shown
    assert "git.push-force" in shown


def test_help_is_paged_as_well(pager: str) -> None:
    assert at_a_screen(["help"], rows=5, pager=pager).startswith("paged")


def test_a_pipe_gets_no_pager() -> None:
    assert b"git.push-force" in interlock_process("rules", "git").stdout
