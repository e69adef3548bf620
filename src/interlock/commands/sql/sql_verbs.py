"""What each verb of SQL does, and where it reaches out of the database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from interlock.commands.sql.sql_statement import (
    Group,
    Item,
    Script,
    SqlKind,
    SqlOperation,
    Statement,
    operation,
)
from interlock.commands.sql.where_clause import Truth, condition_after, truth_of

_OBJECT_ADJECTIVES: Final = frozenset(
    "MATERIALIZED FOREIGN EXTERNAL UNIQUE EVENT ACCESS PUBLIC GLOBAL SEARCH TEXT".split()
)
_BEFORE_NAME: Final = frozenset({"IF", "NOT", "EXISTS", "CONCURRENTLY", "ONLY", "COLUMN", "BY"})
_NOTHING_LOST: Final = frozenset({"PREPARE", "TEMPORARY", "TEMP", "STATISTICS"})


def _drop(statement: Statement, script: Script) -> Iterator[SqlOperation]:
    index = statement.skip(1, _OBJECT_ADJECTIVES)
    thing = statement.word(index)
    names = statement.names(statement.skip(index + 1, _BEFORE_NAME))
    if thing in _NOTHING_LOST or (names and all(map(script.is_scratch, names))):
        return
    target = ", ".join(names)
    reason = f"drops {thing.lower() or 'an object'} `{target}`"
    yield operation(SqlKind.DROP, statement, target, reason, thing.lower())


def _truncate(statement: Statement, script: Script) -> Iterator[SqlOperation]:
    names = statement.names(statement.skip(1, frozenset({"TABLE", "ONLY", "IF", "EXISTS"})))
    if names and not all(map(script.is_scratch, names)):
        target = ", ".join(names)
        yield operation(SqlKind.TRUNCATE, statement, target, f"empties table `{target}`", "table")


_DELETE_MODIFIERS: Final = frozenset({"LOW_PRIORITY", "QUICK", "IGNORE", "ONLY", "FROM"})


def _delete(statement: Statement, script: Script) -> Iterator[SqlOperation]:
    origin = statement.find("FROM")
    target = statement.name(statement.skip(max(origin, 0) + 1, _DELETE_MODIFIERS))
    if not target or script.is_scratch(target):
        return
    kind, reason = SqlKind.DELETE_SOME, f"deletes the rows of `{target}` that a condition picks"
    if fault := _missing_condition(statement):
        kind, reason = SqlKind.DELETE_ALL, f"deletes every row of `{target}`: {fault}"
    yield operation(kind, statement, target, reason, "table")


_UPDATE_MODIFIERS: Final = frozenset(
    {"LOW_PRIORITY", "IGNORE", "ONLY", "OR", "REPLACE", "ROLLBACK", "ABORT", "FAIL"}
)


def _update(statement: Statement, script: Script) -> Iterator[SqlOperation]:
    start = statement.skip(1, _UPDATE_MODIFIERS)
    target = "" if statement.word(start) == "SET" else statement.name(start)
    if not target or statement.find("SET") < 0 or script.is_scratch(target):
        return
    kind, reason = SqlKind.UPDATE_SOME, f"rewrites the rows of `{target}` that a condition picks"
    if fault := _missing_condition(statement):
        kind, reason = SqlKind.UPDATE_ALL, f"rewrites every row of `{target}`: {fault}"
    yield operation(kind, statement, target, reason, "table")


def _missing_condition(statement: Statement) -> str:
    """Return why no row is left out; empty when a real condition stands there."""
    where = statement.find("WHERE")
    if where >= 0:
        always = truth_of(condition_after(statement.items, where + 1)) is Truth.ALWAYS
        return "its condition always holds" if always else ""
    joined = statement.find("ON")
    if joined >= 0 and not _keeps_unmatched_rows(statement):
        always = truth_of(condition_after(statement.items, joined + 1)) is Truth.ALWAYS
        return "its join always holds" if always else ""
    return "no condition"


def _keeps_unmatched_rows(statement: Statement) -> bool:
    return any(statement.find(side) >= 0 for side in ("LEFT", "RIGHT", "FULL", "CROSS"))


def _merge(statement: Statement, script: Script) -> Iterator[SqlOperation]:
    target = statement.name(statement.skip(1, frozenset({"INTO", "ONLY"})))
    deletes = statement.find("THEN", "DELETE")
    if deletes < 0 or script.is_scratch(target):
        return
    joined = statement.find("ON")
    real = joined >= 0 and truth_of(condition_after(statement.items, joined + 1)) is Truth.DEPENDS
    if real and statement.find("BY", "SOURCE", "THEN", "DELETE") < 0:
        kind, reason = SqlKind.DELETE_SOME, f"deletes the rows of `{target}` that it matches"
    else:
        kind, reason = SqlKind.DELETE_ALL, f"deletes whatever `{target}` holds beyond the source"
    yield operation(kind, statement, target, reason, "table")


_KEEPS_DATA: Final = frozenset({"NOT", "DEFAULT", "IDENTITY", "EXPRESSION", "STATISTICS"})
_ALTER_PARTS: Final = frozenset(
    "COLUMN PARTITION CONSTRAINT INDEX KEY PRIMARY FOREIGN CHECK FILE SUBPARTITION TABLE VALUE"
    " MEMBER ATTRIBUTE PROJECTION LOGFILE UNIQUE".split()
)


def _alter(statement: Statement, script: Script) -> Iterator[SqlOperation]:
    name_at = statement.skip(2, _BEFORE_NAME)
    target = statement.name(name_at)
    thing = statement.word(1).lower()
    if thing in {"user", "role", "login"}:
        yield from _superuser(statement)
    elif thing == "system":
        setting = statement.name(statement.skip(2, frozenset({"SET", "RESET"})))
        reason = f"changes the setting `{setting}` of the server"
        yield operation(SqlKind.ADMIN, statement, setting, reason, thing)
    elif not script.is_scratch(target):
        yield from _alter_drop(statement, target, name_at)


def _alter_drop(statement: Statement, target: str, start: int) -> Iterator[SqlOperation]:
    for index in range(start, len(statement.items)):
        verb, part = statement.word(index), statement.word(index + 1)
        if verb == "DROP" and part not in _KEEPS_DATA:
            thing = part.lower() if part in _ALTER_PARTS else "column"
            name = statement.name(statement.skip(index + 1, _ALTER_PARTS | _BEFORE_NAME))
            reason = f"takes {thing} `{name}` out of `{target}`"
            yield operation(SqlKind.ALTER_DROP, statement, f"{target}.{name}", reason, thing)
        elif (verb, part) in {("TRUNCATE", "PARTITION"), ("DISCARD", "TABLESPACE")}:
            reason = f"empties a part of `{target}`"
            yield operation(SqlKind.ALTER_DROP, statement, target, reason, part.lower())
        elif (verb, part) == ("DELETE", "WHERE"):
            yield from _delete_by_alter(statement, target, index + 2)


def _delete_by_alter(statement: Statement, target: str, start: int) -> Iterator[SqlOperation]:
    always = truth_of(condition_after(statement.items, start)) is Truth.ALWAYS
    kind = SqlKind.DELETE_ALL if always else SqlKind.DELETE_SOME
    yield operation(kind, statement, target, f"deletes rows of `{target}`", "table")


def _superuser(statement: Statement) -> Iterator[SqlOperation]:
    if statement.find("SUPERUSER") >= 0 or statement.find("SYSADMIN") >= 0:
        target = statement.name(statement.skip(2, frozenset({"IF", "NOT", "EXISTS"})))
        reason = f"makes `{target}` a superuser"
        yield operation(SqlKind.GRANT_ALL, statement, target, reason, "server")


def _grant(statement: Statement, _script: Script) -> Iterator[SqlOperation]:
    to = statement.find("TO")
    on = statement.find("ON")
    if to < 0:
        return
    target = "".join(map(statement.text, statement.items[on + 1 : to])) if 0 < on < to else ""
    everything = statement.word(1) == "ALL" and target in {"", "*.*", "*"}
    if everything or statement.word(1) in {"DBA", "SYSADMIN", "SYSDBA", "SUPER", "SUPERUSER"}:
        reason = "hands out every right on the whole server"
        yield operation(SqlKind.GRANT_ALL, statement, target or "*", reason, "server")
    else:
        reason = "hands out rights"
        yield operation(SqlKind.GRANT_SOME, statement, target, reason)


def _revoke(statement: Statement, _script: Script) -> Iterator[SqlOperation]:
    start = max(statement.find("FROM"), 0) + 1
    target = "".join(map(statement.text, statement.items[start:]))
    yield operation(SqlKind.REVOKE, statement, target, "takes rights away")


_TEMPORARY: Final = frozenset({"TEMP", "TEMPORARY"})
_CREATE_MODIFIERS: Final = frozenset({"OR", "REPLACE", "LOCAL", "GLOBAL", "TRANSIENT"})
_HOLDS_DATA: Final = frozenset({"TABLE", "DATABASE", "SCHEMA"})


def _create(statement: Statement, script: Script) -> Iterator[SqlOperation]:
    index = statement.skip(1, _CREATE_MODIFIERS | _TEMPORARY)
    thing = statement.word(index)
    name = statement.name(statement.skip(index + 1, _BEFORE_NAME))
    if any(statement.word(before) in _TEMPORARY for before in range(1, index)):
        script.temporary.add(name.lower())
    elif thing in {"USER", "ROLE", "LOGIN"}:
        yield from _superuser(statement)
    elif statement.find("OR", "REPLACE") == 1 and thing in _HOLDS_DATA:
        reason = f"replaces {thing.lower()} `{name}` and what it holds"
        yield operation(SqlKind.DROP, statement, name, reason, thing.lower())


def _insert(statement: Statement, _script: Script) -> Iterator[SqlOperation]:
    if statement.word(1) == "OVERWRITE":
        target = statement.name(statement.skip(2, frozenset({"TABLE", "INTO", "LOCAL"})))
        reason = f"replaces all that `{target}` holds"
        yield operation(SqlKind.TRUNCATE, statement, target, reason, "table")


def _shutdown(statement: Statement, _script: Script) -> Iterator[SqlOperation]:
    yield operation(SqlKind.SHUTDOWN, statement, "", "stops the database server", "server")


_RESETS: Final = frozenset({"MASTER", "SLAVE", "REPLICA", "BINARY"})


def _reset(statement: Statement, _script: Script) -> Iterator[SqlOperation]:
    if statement.word(1) in _RESETS:
        reason = "throws away the logs or the replication of the server"
        yield operation(SqlKind.ADMIN, statement, statement.word(1).lower(), reason)


def _purge(statement: Statement, _script: Script) -> Iterator[SqlOperation]:
    reason = "throws away for good what the server kept"
    yield operation(SqlKind.ADMIN, statement, statement.word(1).lower(), reason)


def _restore(statement: Statement, _script: Script) -> Iterator[SqlOperation]:
    if statement.word(1) == "DATABASE":
        target = statement.name(2)
        reason = f"overwrites database `{target}` with a backup"
        yield operation(SqlKind.DROP, statement, target, reason, "database")


VERBS: Final[Mapping[str, Callable[[Statement, Script], Iterator[SqlOperation]]]] = {
    "DROP": _drop,
    "TRUNCATE": _truncate,
    "DELETE": _delete,
    "UPDATE": _update,
    "MERGE": _merge,
    "ALTER": _alter,
    "GRANT": _grant,
    "REVOKE": _revoke,
    "CREATE": _create,
    "INSERT": _insert,
    "SHUTDOWN": _shutdown,
    "RESET": _reset,
    "PURGE": _purge,
    "RESTORE": _restore,
}


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
