"""Whether a text is SQL: for a command line that was meant for a database client."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

_LONGEST_HEAD: Final = 600
_THING: Final = (
    "(?:table|database|schema|view|index|user|role|function|procedure|sequence|trigger|type|domain"
    "|extension|tablespace|keyspace|owned|login|event|server|policy|column|materialized|collection"
    "|foreign|external|temporary|temp|unique|global|local|aggregate|publication|subscription"
    "|warehouse|stage|system)"
)
_NAME: Final = r"[\w.\"`\[\]$@#-]+"
_ANYTHING: Final = ".+?"
# Blanks stand for blanks, words in capitals for the patterns above.
_HEADS: Final = (
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
    r"exec(?:ute)? (?:immediate|sp_executesql|(?:master\.\w*\.)?xp_cmdshell)",
)
_BEFORE: Final = r" ?(?:(?:begin|start transaction|use NAME) ?; ?)?(?:explain (?:analyze )?)?"


def looks_like_sql(line: str) -> bool:
    """Whether the line begins with a statement of SQL: its verb and what must follow it."""
    return _statement().match(line, 0, _LONGEST_HEAD) is not None


# INVARIANT: only the first characters of a line are looked at, so no repetition can run far.
@cache
def _statement() -> re.Pattern[str]:
    pattern = f"{_BEFORE}(?:{'|'.join(_HEADS)})"
    pattern = pattern.replace(" ?", r"\s*").replace(" ", r"\s+")
    for word, meaning in (("ANYTHING", _ANYTHING), ("THING", _THING), ("NAME", _NAME)):
        pattern = pattern.replace(word, meaning)
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)
