"""How the tests run the command line: in this process for most, in a real one for some."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from click.testing import CliRunner, Result

from interlock.cli.command_group import cli
from warm_python import run_python


def interlock(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(cli, arguments, input=stdin, prog_name="interlock")


def interlock_process(
    *arguments: str, stdin: bytes = b"", folder: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line as a program."""
    return run_python("-m", "interlock", *arguments, stdin=stdin, folder=folder)


def program(arguments: Sequence[str]) -> list[str]:
    """Return the words that start the program."""
    return [sys.executable, "-m", "interlock", *arguments]


def without_colour() -> dict[str, str]:
    """Return the environment of a plain terminal."""
    return {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
