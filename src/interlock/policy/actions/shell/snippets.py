"""Code and SQL inside a command line: what they would do, in the words of commands and effects."""

from __future__ import annotations

from interlock.policy.actions.shell.commands import Command, Frame
from interlock.policy.actions.shell.machine import Machine
from interlock.policy.actions.shell.scope import Scope
from interlock.policy.actions.shell.words import literal


def follow_code(machine: Machine, code: str, language: str, command: Command, scope: Scope) -> None:
    """Note what a snippet in another language would do."""


def follow_sql(
    machine: Machine, text: str, command: Command, scope: Scope, *, dialect: str = "sql"
) -> None:
    """Note what SQL, or the commands of another store, would do to the data."""
    from interlock.policy.actions.shell.sql import operations_in  # noqa: PLC0415 - only where SQL is seen

    if dialect != "sql":
        return
    for operation in operations_in(text):
        words = [
            literal(operation.kind.value),
            literal(operation.object),
            literal(operation.target),
        ]
        machine.note("sql", words, command)


def follow_bare_statement(machine: Machine, line: str, frame: Frame) -> bool:
    """Follow a line that is no shell at all: a pasted statement, or a call into a library."""
    return False
