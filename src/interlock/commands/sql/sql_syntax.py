"""How a text of SQL falls into tokens, statements and groups, and how to find one's way in them.

Servers disagree about tokens in two ways. The standard reading (PostgreSQL, SQLite, SQL Server,
Cassandra) nests comments, and takes a backslash and `#` as they stand. The MySQL reading ends a
comment at the first `*/`, runs `/*! ... */`, escapes with a backslash, starts a comment with `#`,
and needs a blank after `--`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
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
    if re.search(_AMBIGUOUS, sql):
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
        return re.sub(_ESCAPE, r"\1", body) if reading is Reading.MYSQL and "\\" in body else body
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
_AMBIGUOUS: Final = r"[\\#]|/\*|--(?=\S)"
_ESCAPE: Final = r"(?s)\\(.)"
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


class Group(msgspec.Struct):
    """What stands between two parentheses; one left open ends with the text."""

    start: int
    end: int
    items: list[Item]
    telling: bool = False
    """Whether one of the words that were asked for stands in it, at any depth."""
    kind: str = "group"
    text: str = "("


Item = SqlToken | Group

_ENDS: Final = frozenset({"end", "meta"})
_SEPARATORS: Final = frozenset({";", "\\\\"})
_ROUTINES: Final = frozenset({"PROCEDURE", "FUNCTION", "TRIGGER", "PACKAGE"})
_ROUTINE_STANDS_WITHIN: Final = 12
_BLOCKS_WITHOUT_BEGIN: Final = frozenset({"IF", "LOOP", "WHILE", "REPEAT", "FOR"})


def tree_of(tokens: Sequence[SqlToken], length: int, words: frozenset[str]) -> Group:
    """Return the whole text as one group; groups without any of the words are not telling."""
    group = Group(0, length, [])
    outer: list[Group] = []
    for token in tokens:
        if token.kind != "mark":
            group.items.append(token)
            if token.text in words:
                group.telling = True
        elif token.text == "(":
            inner = Group(token.start, length, [])
            group.items.append(inner)
            outer.append(group)
            group = inner
        elif token.text == ")" and outer:
            group.end = token.end
            group = _outer(group, outer)
        else:
            group.items.append(token)
    while outer:
        group = _outer(group, outer)
    return group


def _outer(group: Group, outer: list[Group]) -> Group:
    surrounding = outer.pop()
    surrounding.telling |= group.telling
    return surrounding


def statements_of(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Return the statements of one level; the body of a stored routine stays in one piece."""
    start = 0
    for cut in [*_cuts(items), len(items)]:
        if start < cut:
            yield items[start:cut]
        if cut < len(items) and items[cut].kind == "meta":
            yield items[cut : cut + 1]
        start = cut + 1


def _cuts(items: Sequence[Item]) -> list[int]:
    """Return where statements end.

    Inside the body of a routine a semicolon ends nothing, unless the body never closes:
    then its statements are taken for statements of their own.
    """
    cuts: list[int] = []
    inside: list[int] = []
    depth = 0
    routine = False
    for index, item in enumerate(items):
        if item.text in _SEPARATORS or item.kind in _ENDS:
            (inside if depth else cuts).append(index)
            routine = routine and depth > 0
        elif item.kind == "word" and routine:
            depth += _step(items, index)
            if depth == 0:
                inside.clear()
        elif item.text in _ROUTINES:
            start = cuts[-1] + 1 if cuts else 0
            routine = items[start].text == "CREATE" and index - start < _ROUTINE_STANDS_WITHIN
    return cuts + inside


def _step(items: Sequence[Item], index: int) -> int:
    """Return how the word changes the depth of blocks that `END` closes."""
    match items[index].text:
        case "BEGIN":
            return 1
        case "CASE":
            return 0 if items[index - 1].text == "END" else 1
        case "END":
            following = items[index + 1].text if index + 1 < len(items) else ""
            return 0 if following in _BLOCKS_WITHOUT_BEGIN else -1
        case _:
            return 0


_MAX_NAMES: Final = 32
_NAME_KINDS: Final = frozenset({"word", "name", "variable"})


class Statement:
    """The items of one statement, from its verb on, with the text they were read from."""

    def __init__(self, sql: str, items: Sequence[Item]) -> None:
        self._sql = sql
        self.items = items

    def word(self, index: int) -> str:
        """Return the word at the index in upper case; empty when no word stands there."""
        item = self.items[index] if index < len(self.items) else None
        return item.text if item is not None and item.kind == "word" else ""

    def find(self, *words: str) -> int:
        """Return where the words stand one after the other, or -1."""
        for index, item in enumerate(self.items):
            if item.text == words[0] and item.kind == "word":
                found = [self.word(index + offset) for offset in range(len(words))]
                if found == [*words]:
                    return index
        return -1

    def skip(self, index: int, words: frozenset[str]) -> int:
        """Return the first index from here on at which none of the words stands."""
        while self.word(index) in words:
            index += 1
        return index

    def text(self, item: Item) -> str:
        """Return the item as it was written, names and strings without their quotes."""
        if item.kind in {"name", "string"}:
            return item.text
        return self._sql[item.start : item.end]

    def string(self, index: int) -> str | None:
        """Return the string at the index, or the first one in a group that stands there."""
        for item in self.items[index : index + 1]:
            inside = item.items if isinstance(item, Group) else [item]
            for piece in inside:
                if piece.kind == "string":
                    return piece.text
        return None

    def rest_of_line(self, index: int) -> str:
        """Return the text from the item at the index to the end of its line."""
        start = self.items[index].start if index < len(self.items) else len(self._sql)
        return self._sql[start:].split("\n", 1)[0]

    def name(self, index: int) -> str:
        """Return the dotted name that begins at the index; empty when none does."""
        return self._name(index)[0]

    def names(self, index: int) -> list[str]:
        """Return the names from the index on that commas join."""
        found: list[str] = []
        while len(found) < _MAX_NAMES:
            name, index = self._name(index)
            if name:
                found.append(name)
            if not name or index >= len(self.items) or self.items[index].text != ",":
                break
            index += 1
        return found

    def _name(self, index: int) -> tuple[str, int]:
        parts: list[str] = []
        while index < len(self.items) and self.items[index].kind in _NAME_KINDS:
            parts.append(self.text(self.items[index]))
            index += 1
            if index >= len(self.items) or self.items[index].text not in {".", "*", "@"}:
                break
            parts.append(self.items[index].text)
            index += 1
        return "".join(parts), index
