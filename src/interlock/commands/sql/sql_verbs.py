"""What each verb of SQL does, and where it reaches out of the database."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final

import msgspec

from interlock.commands.sql.sql_syntax import Group, Item, Statement


class SqlKind(enum.Enum):
    """What happens to the data, or to the machine that holds it."""

    DROP = "drop"
    TRUNCATE = "truncate"
    DELETE_ALL = "delete-all"
    """Deletes every row: no condition, or one that always holds."""
    DELETE_SOME = "delete-some"
    UPDATE_ALL = "update-all"
    """Rewrites every row: no condition, or one that always holds."""
    UPDATE_SOME = "update-some"
    ALTER_DROP = "alter-drop"
    """Takes a column, a partition or a constraint out of a table."""
    GRANT_ALL = "grant-all"
    """Hands out the whole server: every right on everything, or a superuser."""
    GRANT_SOME = "grant-some"
    REVOKE = "revoke"
    SHUTDOWN = "shutdown"
    ADMIN = "admin"
    """Throws away logs or replication, or loosens what the server may run."""
    FILE_READ = "file-read"
    FILE_WRITE = "file-write"
    SAVE = "save"
    """The client writes a file, as a redirection would."""
    EXECUTE = "execute"
    """Runs a program on the machine; the target is its command line."""


class SqlOperation(msgspec.Struct, frozen=True):
    """One thing that a statement would do."""

    kind: SqlKind
    target: str
    object: str = ""
    """What kind of thing is meant: `table`, `database`, `column`..."""


class Script(msgspec.Struct):
    """What earlier statements of the same text have said."""

    temporary: set[str] = msgspec.field(default_factory=set[str])
    """Tables that end with the session: nothing is lost with them."""
    variables: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    nested: list[str] = msgspec.field(default_factory=list[str])
    """Texts of SQL that the statements run."""

    def is_scratch(self, name: str) -> bool:
        """Whether a table is gone with the session anyway."""
        plain = name.lower()
        return plain.startswith(("#", "@", "pg_temp.", "temp.")) or plain in self.temporary


Found = Iterator[SqlOperation]

_OBJECT_ADJECTIVES: Final = frozenset(
    "MATERIALIZED FOREIGN EXTERNAL UNIQUE EVENT ACCESS PUBLIC GLOBAL SEARCH TEXT".split()
)
_IF_EXISTS: Final = frozenset({"IF", "NOT", "EXISTS"})
_BEFORE_NAME: Final = _IF_EXISTS | {"CONCURRENTLY", "ONLY", "COLUMN", "BY"}
_NOTHING_LOST: Final = frozenset({"PREPARE", "TEMPORARY", "TEMP", "STATISTICS"})
_DELETE_MODIFIERS: Final = frozenset({"LOW_PRIORITY", "QUICK", "IGNORE", "ONLY", "FROM"})
_UPDATE_MODIFIERS: Final = frozenset(
    {"LOW_PRIORITY", "IGNORE", "ONLY", "OR", "REPLACE", "ROLLBACK", "ABORT", "FAIL"}
)
_KEEPS_DATA: Final = frozenset({"NOT", "DEFAULT", "IDENTITY", "EXPRESSION", "STATISTICS"})
_ALTER_PARTS: Final = frozenset(
    "COLUMN PARTITION CONSTRAINT INDEX KEY PRIMARY FOREIGN CHECK FILE SUBPARTITION TABLE VALUE"
    " MEMBER ATTRIBUTE PROJECTION LOGFILE UNIQUE".split()
)
_ACCOUNTS: Final = frozenset({"USER", "ROLE", "LOGIN"})
_SUPERUSERS: Final = frozenset({"DBA", "SYSADMIN", "SYSDBA", "SUPER", "SUPERUSER"})
_TEMPORARY: Final = frozenset({"TEMP", "TEMPORARY"})
_CREATE_MODIFIERS: Final = frozenset({"OR", "REPLACE", "LOCAL", "GLOBAL", "TRANSIENT"})
_HOLDS_DATA: Final = frozenset({"TABLE", "DATABASE", "SCHEMA"})
_RESETS: Final = frozenset({"MASTER", "SLAVE", "REPLICA", "BINARY", "GROUP_REPLICATION"})


def _drop(statement: Statement, script: Script) -> Found:
    index = statement.skip(1, _OBJECT_ADJECTIVES)
    thing = statement.word(index)
    names = statement.names(statement.skip(index + 1, _BEFORE_NAME))
    if thing not in _NOTHING_LOST and not (names and all(map(script.is_scratch, names))):
        yield SqlOperation(SqlKind.DROP, ", ".join(names), thing.lower())


def _truncate(statement: Statement, script: Script) -> Found:
    names = statement.names(statement.skip(1, frozenset({"TABLE", "ONLY", "IF", "EXISTS"})))
    if names and not all(map(script.is_scratch, names)):
        yield SqlOperation(SqlKind.TRUNCATE, ", ".join(names), "table")


def _delete(statement: Statement, script: Script) -> Found:
    origin = statement.find("FROM")
    target = statement.name(statement.skip(max(origin, 0) + 1, _DELETE_MODIFIERS))
    if target and not script.is_scratch(target):
        kind = SqlKind.DELETE_SOME if _has_condition(statement) else SqlKind.DELETE_ALL
        yield SqlOperation(kind, target, "table")


def _update(statement: Statement, script: Script) -> Found:
    start = statement.skip(1, _UPDATE_MODIFIERS)
    target = "" if statement.word(start) == "SET" else statement.name(start)
    if target and statement.find("SET") >= 0 and not script.is_scratch(target):
        kind = SqlKind.UPDATE_SOME if _has_condition(statement) else SqlKind.UPDATE_ALL
        yield SqlOperation(kind, target, "table")


def _has_condition(statement: Statement) -> bool:
    """Whether a real condition stands there, so that some row may be left out."""
    start = statement.find("WHERE")
    if start < 0 and not _keeps_unmatched_rows(statement):
        start = statement.find("ON")
    return start >= 0 and _truth_from(statement, start + 1) is not Truth.ALWAYS


def _keeps_unmatched_rows(statement: Statement) -> bool:
    return any(statement.find(side) >= 0 for side in ("LEFT", "RIGHT", "FULL", "CROSS"))


def _merge(statement: Statement, script: Script) -> Found:
    target = statement.name(statement.skip(1, frozenset({"INTO", "ONLY"})))
    if statement.find("THEN", "DELETE") < 0 or script.is_scratch(target):
        return
    joined = statement.find("ON")
    picks = joined >= 0 and _truth_from(statement, joined + 1) is Truth.DEPENDS
    picks = picks and statement.find("BY", "SOURCE", "THEN", "DELETE") < 0
    yield SqlOperation(SqlKind.DELETE_SOME if picks else SqlKind.DELETE_ALL, target, "table")


def _alter(statement: Statement, script: Script) -> Found:
    name_at = statement.skip(2, _BEFORE_NAME)
    target = statement.name(name_at)
    if statement.word(1) in _ACCOUNTS:
        yield from _superuser(statement)
    elif statement.word(1) == "SYSTEM":
        setting = statement.name(statement.skip(2, frozenset({"SET", "RESET"})))
        yield SqlOperation(SqlKind.ADMIN, setting, "system")
    elif not script.is_scratch(target):
        for index in range(name_at, len(statement.items)):
            yield from _alter_part(statement, target, index)


def _alter_part(statement: Statement, target: str, index: int) -> Found:
    verb, part = statement.word(index), statement.word(index + 1)
    if verb == "DROP" and part not in _KEEPS_DATA:
        thing = part.lower() if part in _ALTER_PARTS else "column"
        name = statement.name(statement.skip(index + 1, _ALTER_PARTS | _BEFORE_NAME))
        yield SqlOperation(SqlKind.ALTER_DROP, f"{target}.{name}", thing)
    elif (verb, part) in {("DISABLE", "ROW"), ("SET", "OFFLINE"), ("SET", "SINGLE_USER")}:
        yield SqlOperation(SqlKind.ADMIN, target, "protection")
    elif (verb, part) in {("TRUNCATE", "PARTITION"), ("DISCARD", "TABLESPACE")}:
        yield SqlOperation(SqlKind.ALTER_DROP, target, part.lower())
    elif (verb, part) == ("DELETE", "WHERE"):
        always = _truth_from(statement, index + 2) is Truth.ALWAYS
        yield SqlOperation(SqlKind.DELETE_ALL if always else SqlKind.DELETE_SOME, target, "table")


def _superuser(statement: Statement) -> Found:
    if statement.find("SUPERUSER") >= 0 or statement.find("SYSADMIN") >= 0:
        target = statement.name(statement.skip(2, _IF_EXISTS))
        yield SqlOperation(SqlKind.GRANT_ALL, target, "server")


def _grant(statement: Statement, _script: Script) -> Found:
    to = statement.find("TO")
    on = statement.find("ON")
    if to < 0:
        return
    target = "".join(map(statement.text, statement.items[on + 1 : to])) if 0 < on < to else ""
    everything = statement.word(1) == "ALL" and (
        target in {"", "*.*", "*"} or _to_everybody(statement, on, to)
    )
    if everything or statement.word(1) in _SUPERUSERS:
        yield SqlOperation(SqlKind.GRANT_ALL, target or "*", "server")
    else:
        yield SqlOperation(SqlKind.GRANT_SOME, target)


def _to_everybody(statement: Statement, on: int, to: int) -> bool:
    """`GRANT ALL ON DATABASE prod TO PUBLIC`; a schema comes like that out of the box."""
    return statement.word(to + 1) == "PUBLIC" and statement.word(on + 1) != "SCHEMA"


def _revoke(statement: Statement, _script: Script) -> Found:
    start = max(statement.find("FROM"), 0) + 1
    yield SqlOperation(SqlKind.REVOKE, "".join(map(statement.text, statement.items[start:])))


def _create(statement: Statement, script: Script) -> Found:
    index = statement.skip(1, _CREATE_MODIFIERS | _TEMPORARY)
    thing = statement.word(index)
    name = statement.name(statement.skip(index + 1, _BEFORE_NAME))
    if any(statement.word(before) in _TEMPORARY for before in range(1, index)):
        script.temporary.add(name.lower())
    elif thing in _ACCOUNTS:
        yield from _superuser(statement)
    elif statement.find("OR", "REPLACE") == 1 and thing in _HOLDS_DATA:
        yield SqlOperation(SqlKind.DROP, name, thing.lower())


def _insert(statement: Statement, _script: Script) -> Found:
    if statement.word(1) == "OVERWRITE":
        target = statement.name(statement.skip(2, frozenset({"TABLE", "INTO", "LOCAL"})))
        yield SqlOperation(SqlKind.TRUNCATE, target, "table")


def _shutdown(_statement: Statement, _script: Script) -> Found:
    yield SqlOperation(SqlKind.SHUTDOWN, "", "server")


def _reset(statement: Statement, script: Script) -> Found:
    if statement.word(1) in _RESETS:
        yield from _purge(statement, script)


def _purge(statement: Statement, _script: Script) -> Found:
    yield SqlOperation(SqlKind.ADMIN, statement.word(1).lower())


def _restore(statement: Statement, _script: Script) -> Found:
    if statement.word(1) == "DATABASE":
        yield SqlOperation(SqlKind.DROP, statement.name(2), "database")


VERBS: Final[Mapping[str, Callable[[Statement, Script], Found]]] = {
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
    "STOP": _reset,
}


_KINDS: Final = {
    word: kind
    for kind, words in (
        (SqlKind.EXECUTE, "XP_CMDSHELL SYS_EXEC SYS_EVAL SP_OACREATE LOAD_EXTENSION"),
        (SqlKind.ADMIN, "SP_CONFIGURE"),
        (SqlKind.FILE_WRITE, "LO_EXPORT WRITEFILE OUTFILE DUMPFILE"),
        (
            SqlKind.FILE_READ,
            "LO_IMPORT LOAD_FILE PG_READ_FILE PG_READ_BINARY_FILE READFILE INFILE",
        ),
    )
    for word in words.split()
}
_RUNS_TEXT: Final = frozenset({"EXECUTE", "EXEC", "PREPARE", "DO"})
_SETS_VARIABLE: Final = frozenset({"SET", "DECLARE", "SELECT"})
_CLIENT_VERBS: Final = {
    "SYSTEM": SqlKind.EXECUTE,
    "PAGER": SqlKind.EXECUTE,
    "TEE": SqlKind.SAVE,
}
_COPY_DIRECTIONS: Final = {"TO": SqlKind.FILE_WRITE, "FROM": SqlKind.FILE_READ}
_CLIENT_COMMANDS: Final = {
    name: kind
    for kind, names in (
        (SqlKind.EXECUTE, "! shell system load"),
        (SqlKind.DROP, "drop"),
        (SqlKind.SAVE, "o out g gx w write output once save backup clone log"),
        (SqlKind.FILE_READ, "i ir include include_relative read import"),
    )
    for name in names.split()
}
_SAVED: Final = r"(?i)\sto\s{1,9}'?(?!(?:program|stdout|pstdout)\b)([^\s']{1,400})[^()]{0,400}$"
r"""The file behind the `to` of `\copy`."""
ROUTINES: Final = frozenset(_KINDS)
"""The words that reach out of the database wherever they stand."""
NAMED_SO: Final = re.compile(
    r"(?!(?:JSONB?|ARRAY|LIST|MAP|HSTORE|STR|BIT)_)(?:\w{1,60}_)?"
    r"(?:TERMINATE|DROP|DELETE|PURGE|TRUNCATE|KILL|DESTROY|WIPE)(?:_\w{1,60})?"
)
"""How a routine is called by what it does: `pg_terminate_backend`, `sp_delete_job`."""
_CALLS: Final = frozenset("SELECT CALL EXEC EXECUTE PERFORM".split())
_NO_CALL: Final = frozenset("INTO JOIN AS TABLE ON REFERENCES".split())
STATEMENTS: Final = _RUNS_TEXT | {"COPY", "VACUUM"} | frozenset(_CLIENT_VERBS)
"""The verbs that do, or that run a text."""


def routines_in(statement: Statement) -> Found:
    """Return what the routines reach that stand among the items of this level."""
    for index, item in enumerate(statement.items):
        kind = _KINDS.get(item.text) if item.kind == "word" else None
        target = None if kind is None else statement.string(index + 1)
        if kind is not None and target is not None:
            yield SqlOperation(kind, target)
        elif item.kind == "word" and "_" in item.text and _is_called(statement, index):
            yield SqlOperation(SqlKind.ADMIN, item.text.lower(), "routine")


def _is_called(statement: Statement, index: int) -> bool:
    """Whether a routine is called there whose name says that it takes something away."""
    verb = statement.word(0)
    if verb not in _CALLS or statement.word(index - 1) in _NO_CALL:
        return False
    behind = [item.kind for item in statement.items[index + 1 : index + 2]]
    if behind != ["group"] and verb not in {"EXEC", "EXECUTE"}:
        return False
    return NAMED_SO.fullmatch(statement.items[index].text) is not None


def reached_by(statement: Statement, script: Script) -> Found:
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
        yield SqlOperation(SqlKind.FILE_WRITE, statement.string(into + 1) or "")
    elif kind := _CLIENT_VERBS.get(verb):
        yield SqlOperation(kind, statement.rest_of_line(1))


def client_command(statement: Statement, script: Script) -> Found:
    r"""Return what a command of the client itself reaches: `\!` of psql, `.shell` of sqlite3."""
    name, _, argument = statement.items[0].text[1:].partition(" ")
    if statement.items[0].text.startswith("\\!"):
        name, argument = "!", statement.items[0].text[2:]
    argument = argument.strip()
    kind = _CLIENT_COMMANDS.get(name.lower())
    if name.lower() == "copy":
        saved = re.search(_SAVED, argument)
        if saved is not None:
            yield SqlOperation(SqlKind.SAVE, saved[1])
            argument = f"{argument[: saved.start()]} to stdout"
        script.nested.append(f"copy {argument}")
    elif kind is not None and argument.startswith("|"):
        yield SqlOperation(SqlKind.EXECUTE, argument[1:].strip())
    elif kind is not None and argument:
        yield SqlOperation(kind, argument)


def _copy(statement: Statement) -> Found:
    """Return the file or the program at the other end of `COPY ... TO` or `COPY ... FROM`."""
    for index in range(1, len(statement.items)):
        kind = _COPY_DIRECTIONS.get(statement.word(index))
        if kind is None:
            continue
        program = statement.word(index + 1) == "PROGRAM"
        kind = SqlKind.EXECUTE if program else kind
        target = statement.string(index + 2 if program else index + 1)
        if target is not None:
            yield SqlOperation(kind, target)


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


class Truth(enum.Enum):
    """What a condition is for every row."""

    ALWAYS = "always"
    NEVER = "never"
    DEPENDS = "depends"


_NEGATED: Final = {
    Truth.ALWAYS: Truth.NEVER,
    Truth.NEVER: Truth.ALWAYS,
    Truth.DEPENDS: Truth.DEPENDS,
}
_AFTER_CONDITION: Final = frozenset(
    "ORDER LIMIT RETURNING OPTION ALLOW IF OFFSET GROUP HAVING WINDOW FOR UNION GO WHEN SET"
    " WHERE JOIN INNER LEFT RIGHT FULL CROSS".split()
)
_CONSTANT_WORDS: Final = frozenset(
    "TRUE FALSE NULL UNKNOWN NOT IN BETWEEN AND OR LIKE ILIKE IS DISTINCT FROM EXISTS SELECT DIV"
    " MOD AS CAST INT INTEGER BOOLEAN".split()
)
_EQUALITIES: Final = frozenset({"=", "==", "<=>", "LIKE", "ILIKE", "IS"})
_INEQUALITIES: Final = frozenset({"<>", "!=", "<", ">"})
# Two constants in an ordering are taken for true: `1 < 2` means no row in particular.
_ORDERINGS: Final = frozenset({"<", ">", "<=", ">="})
_COMPARISONS: Final = _EQUALITIES | _INEQUALITIES | _ORDERINGS
_ANY_TEXT: Final = (["%"], ["%%"])
# What holds for the key of every row: asked only to get around a demand for a condition.
_EVERY_KEY: Final = frozenset({"> 0", ">= 0", ">= 1", "<> 0", "!= 0"})


def _truth_from(statement: Statement, start: int) -> Truth:
    """Return whether the condition at `start` holds for every row, for none, or depends on it."""
    condition = list(takewhile(_belongs_to_condition, statement.items[start:]))
    known: _Known = {}
    for group in _inner_first(condition):
        known[group.start] = (_disjunction(group.items, known), _is_constant(group.items, known))
    return _disjunction(condition, known)


def _belongs_to_condition(item: Item) -> bool:
    return item.kind != "word" or item.text not in _AFTER_CONDITION


# What is known of each group, by where it starts: its truth, and whether it is a constant.
_Known = dict[int, tuple[Truth, bool]]


def _inner_first(condition: Sequence[Item]) -> Iterator[Group]:
    found = [item for item in condition if isinstance(item, Group)]
    for group in found:
        found.extend(item for item in group.items if isinstance(item, Group))
    return reversed(found)


def _disjunction(items: Sequence[Item], known: _Known) -> Truth:
    parts = [_conjunction(part, known) for part in _split(items, "OR", "||")]
    if Truth.ALWAYS in parts:
        return Truth.ALWAYS
    return Truth.DEPENDS if Truth.DEPENDS in parts else Truth.NEVER


def _conjunction(items: Sequence[Item], known: _Known) -> Truth:
    parts = [_factor(part, known) for part in _split(items, "AND", "&&")]
    if Truth.NEVER in parts:
        return Truth.NEVER
    return Truth.DEPENDS if Truth.DEPENDS in parts else Truth.ALWAYS


def _split(items: Sequence[Item], word: str, mark: str) -> Iterator[Sequence[Item]]:
    """Return the parts between the operators; the AND of a BETWEEN divides nothing."""
    start = 0
    between = False
    for index, item in enumerate(items):
        if item.kind not in {"word", "mark"}:
            continue
        if item.text == "BETWEEN":
            between = True
        elif between and item.text == word == "AND":
            between = False
        elif item.text in {word, mark}:
            yield items[start:index]
            start = index + 1
    yield items[start:]


def _factor(items: Sequence[Item], known: _Known) -> Truth:
    start = 0
    while start < len(items) and items[start].text in {"NOT", "!"}:
        start += 1
    truth = _claim(items[start:], known)
    return _NEGATED[truth] if start % 2 else truth


def _claim(items: Sequence[Item], known: _Known) -> Truth:
    if not items:
        return Truth.DEPENDS
    if len(items) == 1 and items[0].kind == "group":
        return known[items[0].start][0]
    for index, item in enumerate(items):
        if item.text in _COMPARISONS and item.kind in {"word", "mark"}:
            return _comparison(items[:index], item.text, items[index + 1 :], known)
    return _lone_claim(items, known)


def _comparison(left: Sequence[Item], operator: str, right: Sequence[Item], known: _Known) -> Truth:
    if not (_is_constant(left, known) and _is_constant(right, known)):
        always = _is_reflexive(left, operator, right) or _is_of_every_key(left, operator, right)
        return Truth.ALWAYS if always else Truth.DEPENDS
    if len(left) == len(right) == 1 and operator not in _ORDERINGS:
        same = _is_same(left[0], right[0])
        return Truth.ALWAYS if same is (operator in _EQUALITIES) else Truth.NEVER
    return Truth.ALWAYS


def _is_same(left: Item, right: Item) -> bool:
    number = _number(left)
    return left.text == right.text or (number is not None and number == _number(right))


def _is_reflexive(left: Sequence[Item], operator: str, right: Sequence[Item]) -> bool:
    """Whether both sides are the same column, or any text is liked."""
    spelt = [item.text.upper() for item in right]
    if operator in {"LIKE", "ILIKE"} and spelt in _ANY_TEXT:
        return not left or left[-1].text != "NOT"
    same = spelt == [item.text.upper() for item in left]
    return same and "(" not in spelt and operator not in _INEQUALITIES


def _is_of_every_key(left: Sequence[Item], operator: str, right: Sequence[Item]) -> bool:
    """Whether that is said of a row's own `id` which is so for all rows: `id > 0`."""
    if not left or len(right) != 1 or left[-1].text.upper() != "ID":
        return False
    return f"{operator} {right[0].text}" in _EVERY_KEY


def _lone_claim(items: Sequence[Item], known: _Known) -> Truth:
    """Return the truth of what compares nothing: `1`, `TRUE`, `1 IN (1, 2)`."""
    if not _is_constant(items, known):
        return Truth.DEPENDS
    if len(items) > 1:
        return Truth.ALWAYS
    number = _number(items[0])
    if items[0].text in {"FALSE", "NULL"} or number == 0:
        return Truth.NEVER
    return Truth.NEVER if items[0].kind == "string" and number is None else Truth.ALWAYS


def _is_constant(items: Sequence[Item], known: _Known) -> bool:
    """Whether no column and no function stands in the items."""
    for item in items:
        match item.kind:
            case "group":
                if not known[item.start][1]:
                    return False
            case "word":
                if item.text not in _CONSTANT_WORDS:
                    return False
            case "name" | "variable":
                return False
            case _:
                pass
    return True


def _number(item: Item) -> float | None:
    try:
        return float(item.text)
    except ValueError:
        return None
