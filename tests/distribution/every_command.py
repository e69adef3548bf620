"""Calls every command with as few words as it takes, and prints as JSON how each call ended.

It runs in the environment that is tried, so it imports nothing of the other tests.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator

import click
from click.testing import CliRunner

from interlock.cli.command_group import cli

_ENDLESS = frozenset(("hook", "tail", "watch"))
"""They wait for more, or end the process."""


def leaves(command: click.Command, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command that does something, with the words that lead to it."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from leaves(below, *path, name)
        if not command.invoke_without_command:
            return
    yield path, command


def ended(*words: str) -> tuple[int, str, str]:
    """How a call ended: its exit code, what it wrote, and the traceback if there is one."""
    result = CliRunner().invoke(cli, words, prog_name="interlock")
    error = result.exception
    trace = (
        "" if error is None or isinstance(error, SystemExit) else traceback.format_exception(error)
    )
    return result.exit_code, result.output, "".join(trace)


def main() -> None:
    """Call each for its help, and then for real."""
    found: dict[str, tuple[int, str, str]] = {}
    for path, command in leaves(cli):
        found[" ".join((*path, "--help"))] = ended(*path, "--help")
        if path[0] in _ENDLESS:
            continue
        arguments = [each for each in command.params if isinstance(each, click.Argument)]
        words = [*path, *["x" for each in arguments if each.required]]
        found[" ".join(words)] = ended(*words)
    print(json.dumps(found))  # noqa: T201 - this is what it is for


if __name__ == "__main__":
    main()
