"""What each verb of SQL does with what stands behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from interlock.commands.sql.operations import SqlKind, SqlOperation
from interlock.commands.sql.script import Script, operation
from interlock.commands.sql.statement import Statement
from interlock.commands.sql.where import Truth, condition_after, truth_of

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
