"""How a text of SQL falls into tokens, in the two ways that servers disagree about.

The standard reading (PostgreSQL, SQLite, SQL Server, Cassandra) nests comments, and takes a
backslash and `#` as they stand. The MySQL reading ends a comment at the first `*/`, runs
`/*! ... */`, escapes with a backslash, starts a comment with `#`, and needs a blank after `--`.
"""

from __future__ import annotations

import enum
import re
from functools import cache
from typing import Final

import msgspec


class Reading(enum.Enum):
    """Whose rules decide where strings and comments end."""

    STANDARD = "standard"
    MYSQL = "mysql"


class SqlToken(msgspec.Struct, frozen=True, gc=False):
    """One token; its kind is the name of the group in the pattern below that matched it.

    Of the kinds, `meta` is a command of the client itself, and `end` ends a statement.
    """

    kind: str
    text: str
    """Words in upper case, names and strings without their quotes, the rest as it stands."""
    start: int
    end: int


def readings_of(sql: str) -> tuple[Reading, ...]:
    """Return the readings under which the text can mean different things."""
    if _ambiguous().search(sql):
        return (Reading.STANDARD, Reading.MYSQL)
    return (Reading.STANDARD,)


def tokens_of(sql: str, reading: Reading) -> list[SqlToken]:
    """Return the tokens of the text, without blanks and comments."""
    tokens: list[SqlToken] = []
    position = 0
    while position < len(sql):
        position = _read_until_jump(sql, position, reading, tokens)
    return tokens


def _read_until_jump(sql: str, position: int, reading: Reading, tokens: list[SqlToken]) -> int:
    """Read on to the end of the next comment or dollar quote, which no pattern can find."""
    add = tokens.append
    for found in _pattern(reading).finditer(sql, position):
        kind = found.lastgroup
        if kind == "word":
            add(SqlToken(kind, found[kind].upper(), found.start(kind), found.end()))
        elif kind == "comment":
            return _end_of_comment(sql, found.end(), nests=reading is Reading.STANDARD)
        elif kind == "dollar":
            return _end_of_dollar_quote(sql, found.start(kind), found.end(), tokens)
        elif kind is not None:
            add(SqlToken(kind, _plain(kind, found[kind], reading), found.start(kind), found.end()))
    return len(sql)


def _end_of_dollar_quote(sql: str, start: int, body: int, tokens: list[SqlToken]) -> int:
    tag = sql[start:body]
    closing = sql.find(tag, body)
    body_end = len(sql) if closing < 0 else closing
    tokens.append(SqlToken("string", sql[body:body_end], start, body_end))
    return body_end + len(tag)


def _plain(kind: str, text: str, reading: Reading) -> str:
    if kind == "variable":
        return text.upper()
    if kind == "name":
        return text.strip('"`[]')
    if kind == "string":
        body = text[text.index("'") + 1 :].removesuffix("'").replace("''", "'")
        return _escape().sub(r"\1", body) if reading is Reading.MYSQL and "\\" in body else body
    return text


def _end_of_comment(sql: str, position: int, *, nests: bool) -> int:
    """Return where the comment ends whose `/*` stands just before `position`."""
    depth = 1
    while depth:
        closing = sql.find("*/", position)
        if closing < 0:
            return len(sql)
        depth += sql.count("/*", position, closing) - 1 if nests else -1
        position = closing + 2
    return position


# INVARIANT: at every position some alternative holds, it is decided by its first characters, and
# an unclosed quote runs to the end of the text: nothing is tried twice, so reading is linear.
_WORD: Final = r"(?P<word> (?![EeNnBbXx]'|[Uu]&') [^\W\d][\w$]* )"
_QUOTED: Final = {
    Reading.STANDARD: r"""
      | (?P<string> [Ee]'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'?
                  | (?:[NnBbXx]|[Uu]&)?'[^']*(?:''[^']*)*'? )
      | (?P<name> "[^"]*(?:""[^"]*)*"? | `[^`]*`? | \[[^\[\]'"`;\n]*\] )
      | (?P<meta> \\(?!\\)(?:![^\n]*|[^\n\\]*) | ^\.[A-Za-z][^\n]* )
      | (?P<dollar> \$(?:[^\W\d]\w*)?\$ )
      | --[^\n]*
    """,
    Reading.MYSQL: r"""
      | /\*M?!\d* | \*/
      | (?P<string> [NnBbXx]?'[^'\\]*(?:(?:\\.|'')[^'\\]*)*'? )
      | (?P<name> "[^"\\]*(?:(?:\\.|"")[^"\\]*)*"? | `[^`]*`? )
      | (?P<end> \\[gG] )
      | (?P<meta> \\[!.][^\n]* )
      | (?:--(?=\s|$)|\#)[^\n]*
    """,
}
_SHARED: Final = r"""
      | (?P<comment> /\* )
      | (?P<variable> @@?[\w$]+ | \#\#?[^\W\d]\w* )
      | (?P<number> \d[\w.]* )
      | (?P<mark> <> | != | <=>? | >= | \|\| | && | := | :: | \\\\ | \S )
      | \Z
"""


@cache
def _pattern(reading: Reading) -> re.Pattern[str]:
    alternatives = _WORD + _QUOTED[reading] + _SHARED
    return re.compile(rf"\s*(?:{alternatives})", re.VERBOSE | re.DOTALL | re.MULTILINE)


@cache
def _ambiguous() -> re.Pattern[str]:
    return re.compile(r"[\\#]|/\*|--(?=\S)")


@cache
def _escape() -> re.Pattern[str]:
    return re.compile(r"\\(.)", re.DOTALL)
