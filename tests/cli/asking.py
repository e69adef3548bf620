"""How the tests run the command line: in this process for most, in a real one for some."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from interlock import Interlock
from interlock.cli.command_group import cli
from service.ledgers import CHEAP, PASSPHRASE
from terminal import own_terminal
from warm_python import run_python


def interlock(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(cli, arguments, input=stdin, prog_name="interlock")


def as_person(*arguments: str, stdin: str | bytes | None = None) -> Result:
    """Run the command line as an operator does who types the passphrase whenever asked for it.

    Where the ledger that counts has no operator yet, `anna` is made the first one.
    """
    place = os.environ["INTERLOCK_LEDGER"]
    if "://" in place or Path(place).exists():
        make_operator(place)
    with pytest.MonkeyPatch.context() as patched, own_terminal(patched) as type_in:
        type_in(*[PASSPHRASE] * 4)
        return interlock(*arguments, stdin=stdin)


def make_operator(place: str, name: str = "anna") -> None:
    """Make the first operator of a ledger, unless it has one."""
    with Interlock.open(place) as opened:
        if not opened.operators():
            opened.set_up(name, PASSPHRASE, cost=CHEAP)


def agent_token(place: str, name: str = "claude") -> str:
    """Return the token of an agent, let in by `anna`."""
    with Interlock.open(place) as opened:
        return opened.add_agent(name, token=opened.unlock("anna", PASSPHRASE))


def interlock_process(
    *arguments: str,
    stdin: bytes | int = b"",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line as a program."""
    return run_python(*program(arguments), stdin=stdin, folder=folder, environment=environment)


def completed_by_bash(*words: str) -> subprocess.CompletedProcess[str]:
    """Have bash itself complete the last of some words by the script that is installed for it."""
    script = interlock_process("completion", "bash", "--print").stdout.decode()
    complete = (
        f"{script}\nCOMP_WORDS=({shlex.join(words)}) COMP_CWORD={len(words) - 1}\n"
        '_interlock_completion interlock\necho "${COMPREPLY[@]}"\n'
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", complete],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": path},
    )


def program(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with which Python runs the command line."""
    return ["-m", "interlock", *arguments]


def without_colour() -> dict[str, str]:
    """Return the environment of a plain terminal."""
    return {**os.environ, "NO_COLOR": "1", "COLUMNS": "80"}
