"""Where SQL reaches out of the database: files, programs, and text that it runs as SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from interlock.commands.sql.operations import SqlKind, SqlOperation
from interlock.commands.sql.script import Script, operation
from interlock.commands.sql.statement import Statement
from interlock.commands.sql.tree import Group, Item

_REASONS: Final = {
    SqlKind.EXECUTE: "runs a program on the machine",
    SqlKind.FILE_READ: "reads a file of the machine",
    SqlKind.FILE_WRITE: "writes a file of the machine",
    SqlKind.ADMIN: "loosens what the server may run",
    SqlKind.DROP: "drops an object",
}
_KINDS: Final = {
    "XP_CMDSHELL": SqlKind.EXECUTE,
    "SYS_EXEC": SqlKind.EXECUTE,
    "SYS_EVAL": SqlKind.EXECUTE,
    "SP_OACREATE": SqlKind.EXECUTE,
    "LOAD_EXTENSION": SqlKind.EXECUTE,
    "SP_CONFIGURE": SqlKind.ADMIN,
    "LO_EXPORT": SqlKind.FILE_WRITE,
    "WRITEFILE": SqlKind.FILE_WRITE,
    "OUTFILE": SqlKind.FILE_WRITE,
    "DUMPFILE": SqlKind.FILE_WRITE,
    "LO_IMPORT": SqlKind.FILE_READ,
    "LOAD_FILE": SqlKind.FILE_READ,
    "PG_READ_FILE": SqlKind.FILE_READ,
    "PG_READ_BINARY_FILE": SqlKind.FILE_READ,
    "READFILE": SqlKind.FILE_READ,
    "INFILE": SqlKind.FILE_READ,
}
_RUNS_TEXT: Final = frozenset({"EXECUTE", "EXEC", "PREPARE", "DO"})
_SETS_VARIABLE: Final = frozenset({"SET", "DECLARE", "SELECT"})
_CLIENT_VERBS: Final = {
    "SYSTEM": SqlKind.EXECUTE,
    "PAGER": SqlKind.EXECUTE,
    "TEE": SqlKind.FILE_WRITE,
}
_COPY_DIRECTIONS: Final = {"TO": SqlKind.FILE_WRITE, "FROM": SqlKind.FILE_READ}
_CLIENT_COMMANDS: Final = (
    {
        "!": SqlKind.EXECUTE,
        "shell": SqlKind.EXECUTE,
        "system": SqlKind.EXECUTE,
        "load": SqlKind.EXECUTE,
        "drop": SqlKind.DROP,
    }
    | dict.fromkeys(
        "o out g gx w write output once save backup clone log".split(), SqlKind.FILE_WRITE
    )
    | dict.fromkeys("i ir include include_relative read import".split(), SqlKind.FILE_READ)
)
ROUTINES: Final = frozenset(_KINDS)
"""The words that reach out of the database wherever they stand."""
STATEMENTS: Final = _RUNS_TEXT | {"COPY", "VACUUM"} | frozenset(_CLIENT_VERBS)
"""The verbs that do, or that run a text."""


def routines_in(statement: Statement) -> Iterator[SqlOperation]:
    """Return what the routines reach that stand among the items of this level."""
    for index, item in enumerate(statement.items):
        kind = _KINDS.get(item.text) if item.kind == "word" else None
        target = None if kind is None else statement.string(index + 1)
        if kind is not None and target is not None:
            yield operation(kind, statement, target, _REASONS[kind])


def reached_by(statement: Statement, script: Script) -> Iterator[SqlOperation]:
    """Return what a statement of the outermost level reaches; keep the SQL that it runs."""
    verb = statement.word(0)
    if verb == "COPY":
        yield from _copy(statement)
    elif verb in _RUNS_TEXT:
        script.nested.append("".join(_strings(statement.items)))
        script.nested.extend(
            script.variables.get(item.text, "")
            for item in statement.items
            if item.kind == "variable"
        )
    elif verb in _SETS_VARIABLE:
        _remember_variable(statement.items, script)
    elif verb == "VACUUM" and (into := statement.find("INTO")) > 0:
        target = statement.string(into + 1) or ""
        yield operation(SqlKind.FILE_WRITE, statement, target, _REASONS[SqlKind.FILE_WRITE])
    elif kind := _CLIENT_VERBS.get(verb):
        yield operation(kind, statement, statement.rest_of_line(1), _REASONS[kind])


def client_command(statement: Statement, script: Script) -> Iterator[SqlOperation]:
    r"""Return what a command of the client itself reaches: `\!` of psql, `.shell` of sqlite3."""
    name, _, argument = statement.items[0].text[1:].partition(" ")
    if statement.items[0].text.startswith("\\!"):
        name, argument = "!", statement.items[0].text[2:]
    argument = argument.strip()
    kind = _CLIENT_COMMANDS.get(name.lower())
    if name.lower() == "copy":
        script.nested.append(f"copy {argument}")
    elif kind is not None and argument.startswith("|"):
        yield operation(SqlKind.EXECUTE, statement, argument[1:].strip(), _REASONS[SqlKind.EXECUTE])
    elif kind is not None and argument:
        yield operation(kind, statement, argument, _REASONS[kind])


def _copy(statement: Statement) -> Iterator[SqlOperation]:
    """Return the file or the program at the other end of `COPY ... TO` or `COPY ... FROM`."""
    for index in range(1, len(statement.items)):
        kind = _COPY_DIRECTIONS.get(statement.word(index))
        if kind is None:
            continue
        program = statement.word(index + 1) == "PROGRAM"
        kind = SqlKind.EXECUTE if program else kind
        target = statement.string(index + 2 if program else index + 1)
        if target is not None:
            yield operation(kind, statement, target, _REASONS[kind])


def _remember_variable(items: Sequence[Item], script: Script) -> None:
    for item in items:
        if item.kind == "variable":
            script.variables[item.text] = "".join(_strings(items))
            return


def _strings(items: Sequence[Item]) -> Iterator[str]:
    """Return the strings among the items and their groups, in the order of the text."""
    pending = list(reversed(items))
    while pending:
        item = pending.pop()
        if isinstance(item, Group):
            pending.extend(reversed(item.items))
        elif item.kind == "string" or (item.kind == "name" and " " in item.text):
            yield item.text
