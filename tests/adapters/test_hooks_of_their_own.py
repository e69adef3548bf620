"""Whoever writes a hook of their own is not let down: no way to ask looks like a yes."""

from __future__ import annotations

import msgspec
import pytest

from adapters.client_readings import RUNS, call
from cli.asking import interlock_process
from server.hook_process import Home, home

__all__ = ["home"]

DANGEROUS = "rm -rf /etc"


def interlock(home: Home, payload: object, *args: str) -> tuple[int, bytes, bytes]:
    """Run the command line to its end, with a payload on stdin."""
    done = interlock_process(
        *args, stdin=msgspec.json.encode(payload), folder=home.folder, environment=home.environment
    )
    return done.returncode, done.stdout, done.stderr


def test_a_hook_without_a_name_stops_it_for_every_client(home: Home) -> None:
    with home.served():
        for client, runs in RUNS.items():
            assert not runs(*interlock(home, call(client, DANGEROUS), "hook")), client
            assert runs(*interlock(home, call(client, "ls", number=2), "hook")), client


@pytest.mark.parametrize(
    "args",
    [
        ("check",),
        ("check", "--jsonl"),
        ("check", "command", "-"),
        ("check", "command", "--json", "-"),
        ("check", "tool", "Bash", "--params", "-"),
    ],
    ids=" ".join,
)
def test_check_says_that_it_is_no_hook_and_nobody_takes_that_for_a_yes(
    home: Home, args: tuple[str, ...]
) -> None:
    for client, runs in RUNS.items():
        code, said, complaint = interlock(home, call(client, DANGEROUS), *args)

        assert (code, said) == (2, b"")
        assert b"Error: " in complaint
        assert not runs(code, said, complaint), client
