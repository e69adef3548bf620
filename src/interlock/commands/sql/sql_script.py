"""What a text of SQL would do: drop, empty, rewrite, hand out rights, reach the file system.

Text in strings and comments is data, except where the server runs it: MySQL's executable
comments, `EXECUTE IMMEDIATE '...'`, `PREPARE ... FROM '...'`, `DO $$ ... $$`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from interlock.commands.sql.sql_syntax import (
    Group,
    Item,
    Reading,
    Statement,
    readings_of,
    statements_of,
    tokens_of,
    tree_of,
)
from interlock.commands.sql.sql_verbs import (
    NAMED_SO,
    ROUTINES,
    STATEMENTS,
    VERBS,
    Found,
    Script,
    SqlOperation,
    client_command,
    reached_by,
    routines_in,
)

_MAX_NESTING: Final = 4
_ONLY_TELL: Final = frozenset("EXPLAIN DESCRIBE DESC HELP SHOW COMMENT".split())
_ONE_PIECE: Final = frozenset("GRANT REVOKE DENY ALTER MERGE AUDIT".split())
_DEFINED: Final = frozenset("PROCEDURE FUNCTION TRIGGER PACKAGE RULE".split())
_BLOCK_OPENERS: Final = frozenset("BEGIN THEN ELSE LOOP DO GO".split())
_DROPPED: Final = frozenset(
    "TABLE DATABASE SCHEMA VIEW INDEX USER ROLE FUNCTION PROCEDURE SEQUENCE TRIGGER TYPE DOMAIN"
    " EXTENSION TABLESPACE KEYSPACE MATERIALIZED FOREIGN EXTERNAL LOGIN OWNED COLLECTION".split()
)
_SECOND_WORDS: Final = {
    "DROP": _DROPPED,
    "DELETE": frozenset({"FROM"}),
    "TRUNCATE": frozenset({"TABLE"}),
    "MERGE": frozenset({"INTO"}),
    "EXECUTE": frozenset({"IMMEDIATE", "("}),
    "EXEC": frozenset({"SP_EXECUTESQL", "("}),
}
_HEADS: Final = frozenset(VERBS) | {"EXECUTE", "EXEC"}
# The words without which a text only reads or adds.
_TELLING: Final = (
    (_HEADS - {"INSERT", "CREATE"})
    | {"OVERWRITE", "REPLACE", "SUPERUSER", "SYSADMIN"}
    | (ROUTINES | STATEMENTS)
)
_CLIENT_COMMAND: Final = r"(?m)\\|^\.[a-zA-Z]"
_HEAD: Final = 12
_MAX_TARGET: Final = 200
_SET_STANDS_WITHIN: Final = 8


def operations_in(sql: str) -> list[SqlOperation]:
    """Return what the text would do; nothing when it only reads or adds."""
    words = re.findall(r"[A-Z]\w+", sql.upper())
    if (
        _TELLING.isdisjoint(words)
        and not any(map(NAMED_SO.fullmatch, words))
        and not re.search(_CLIENT_COMMAND, sql)
    ):
        return []
    found: dict[SqlOperation, None] = {}
    texts = [sql]
    for _ in range(_MAX_NESTING):
        nested: dict[str, None] = {}
        for text in texts:
            for reading in readings_of(text):
                script = Script()
                for each in _operations(text, script, reading):
                    cut = SqlOperation(each.kind, each.target[:_MAX_TARGET], each.object)
                    found[cut] = None
                nested.update(dict.fromkeys(script.nested))
        texts = list(nested)
    return list(found)


def _operations(sql: str, script: Script, reading: Reading) -> Found:
    """Return what the statements of the text do, the outermost level first."""
    outermost = tree_of(tokens_of(sql, reading), len(sql), _TELLING)
    pending = [outermost]
    for group in pending:
        for items in statements_of(group.items):
            if _only_tells(items):
                continue
            pending.extend([item for item in items if isinstance(item, Group) and item.telling])
            if group is outermost:
                yield from _what_it_does(sql, items, script)
            else:
                yield from _what_it_hides(sql, items, script)


def _only_tells(items: Sequence[Item]) -> bool:
    """Whether the statement runs nothing: a plan, a help text, a definition."""
    first = items[0].text
    if first == "EXPLAIN":
        return not _analyzes(items)
    return first in _ONLY_TELL or (
        first == "CREATE" and any(item.text in _DEFINED for item in items[1:_HEAD])
    )


def _analyzes(items: Sequence[Item]) -> bool:
    options = items[1].items if len(items) > 1 and isinstance(items[1], Group) else items[1:_HEAD]
    return any(option.text == "ANALYZE" for option in options)


def _what_it_does(sql: str, items: Sequence[Item], script: Script) -> Found:
    if items[0].kind == "meta":
        yield from client_command(Statement(sql, items), script)
        return
    for part in _parts(items):
        statement = Statement(sql, part)
        yield from reached_by(statement, script)
        yield from routines_in(statement)
        if reads := VERBS.get(statement.word(0)):
            yield from reads(statement, script)


def _what_it_hides(sql: str, items: Sequence[Item], script: Script) -> Found:
    """Return what stands in parentheses and runs all the same: `WITH gone AS (DELETE ...)`."""
    for part in _parts(items):
        statement = Statement(sql, part)
        yield from routines_in(statement)
        reads = VERBS.get(statement.word(0))
        if reads and _begins_statement(part, 0):
            yield from reads(statement, script)


def _parts(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Cut where another statement begins without a semicolon: in a block, or just behind."""
    start = 0
    if items[0].text not in _ONE_PIECE:
        for index in range(1, len(items)):
            if items[index].text in _HEADS and _is_head(items, index):
                yield items[start:index]
                start = index
    yield items[start:]


def _is_head(items: Sequence[Item], index: int) -> bool:
    before = items[index - 1]
    return (
        (before.kind == "word" and before.text in _BLOCK_OPENERS)
        or (before.kind == "group" and items[0].text == "WITH")
        or _begins_statement(items, index)
    )


def _begins_statement(items: Sequence[Item], index: int) -> bool:
    """Whether the verb and what follows it cannot be anything but a statement."""
    verb = items[index].text
    following = [item.text for item in items[index + 1 : index + _SET_STANDS_WITHIN]]
    if not following or items[index].kind != "word":
        return False
    if verb == "UPDATE":
        return "SET" in following[1:]
    return following[0] in _SECOND_WORDS.get(verb, ())


_LONGEST_HEAD: Final = 600
_THING: Final = (
    "(?:table|database|schema|view|index|user|role|function|procedure|sequence|trigger|type|domain"
    "|extension|tablespace|keyspace|owned|login|event|server|policy|column|materialized|collection"
    "|foreign|external|temporary|temp|unique|global|local|aggregate|publication|subscription"
    "|warehouse|stage|system|stream|dictionary|pipe|bucket|measurement|graph)"
)
_NAME: Final = r"[\w.\"`\[\]$@#-]+"
_ANYTHING: Final = ".+?"
# Blanks stand for blanks, words in capitals for the patterns above.
_HEADS_OF_LOOKS: Final = (
    r"drop THING \S",
    r"delete from NAME",
    r"truncate table NAME",
    r"alter THING \S",
    r"create (?:or replace )?THING \S",
    r"update (?:only )?NAME (?:as )?(?:NAME )?set \S",
    r"insert (?:ignore )?(?:into|overwrite) \S",
    r"replace into \S",
    r"merge into \S",
    r"(?:grant|revoke) ANYTHING (?:on|to|from) \S",
    r"select (?!\w+ in\b)ANYTHING from \S",
    r"with (?:recursive )?NAME as ?\(",
    r"copy (?:NAME ?(?:\([^()]*\) ?)?|\(ANYTHING\) ?)(?:from|to) ?(?:program ?)?'",
    r"do (?:language \w+ )?(?:'|\$\w*\$)",
    r"attach (?:database )?'",
    r"exec(?:ute)? (?:immediate|sp_executesql|(?:master\.\w*\.)?xp_cmdshell)",
)
_BEFORE: Final = r" ?(?:(?:begin|start transaction|use NAME) ?; ?)?(?:explain (?:analyze )?)?"


def looks_like_sql(line: str) -> bool:
    """Whether the line begins with a statement of SQL: its verb and what must follow it."""
    return _statement().match(line, 0, _LONGEST_HEAD) is not None


def holds_sql(text: str) -> bool:
    """Whether any statement of a text is one of SQL, behind comments and other statements too."""
    if looks_like_sql(text):
        return True
    starts = (
        items[0].start
        for reading in readings_of(text)
        for items in statements_of(tree_of(tokens_of(text, reading), len(text), _TELLING).items)
    )
    return any(_statement().match(text, at, at + _LONGEST_HEAD) for at in starts)


# INVARIANT: only the first characters of a line are looked at, so no repetition can run far.
@cache
def _statement() -> re.Pattern[str]:
    pattern = f"{_BEFORE}(?:{'|'.join(_HEADS_OF_LOOKS)})"
    pattern = pattern.replace(" ?", r"\s*").replace(" ", r"\s+")
    for word, meaning in (("ANYTHING", _ANYTHING), ("THING", _THING), ("NAME", _NAME)):
        pattern = pattern.replace(word, meaning)
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
