"""How a snippet falls into tokens, in each language that is read."""

from __future__ import annotations

import enum
import re
from functools import cache
from typing import Final


class Language(enum.Enum):
    """The languages of snippets: what `python -c`, `node -e`, `ruby -e`... are given."""

    PYTHON = "python"
    JAVASCRIPT = "javascript"
    """TypeScript too."""
    RUBY = "ruby"
    PERL = "perl"
    PHP = "php"
    LUA = "lua"
    GO = "go"
    R = "r"


@cache
def pattern_of(language: Language) -> re.Pattern[str]:
    """Return the pattern whose matches, one after the other, are the tokens of a snippet.

    The kind of a token is the name of the group that matched: define, name, member, string,
    command, newline, number, operator, or mark. Comments and blanks have none.
    """
    first, *others = _PIECES[language]
    alternatives = "|".join([first, _MARK, *others, _SHARED])
    return re.compile(f"(?:{alternatives})[ \\t]*", re.VERBOSE | re.DOTALL | re.MULTILINE)


# INVARIANT: at every position some alternative holds. Whatever may run far, runs to its end or to
# the end of the text, and what could fail behind a long run is bounded; so reading is linear.
def _quoted(quote: str, *, over_lines: bool) -> str:
    """Return a pattern for a string in one-character quotes, which may lack the second one."""
    plain = rf"[^{quote}\\]" if over_lines else rf"[^{quote}\\\n]"
    return rf"{quote}{plain}*(?:\\.{plain}*)*{quote}?"


def _tripled(quote: str) -> str:
    three = quote * 3
    return rf"{three}[^{quote}\\]*(?:(?:\\.|{quote}(?!{quote}{quote}))[^{quote}\\]*)*(?:{three})?"


def _bracketed(prefix: str) -> str:
    """Return a pattern for a string in brackets of any kind after a prefix: `%w[...]`, `q{...}`."""
    curly = r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}?"
    return rf"{prefix}(?:\([^)]*\)?|\[[^\]]*\]?|{curly}|<[^>]*>?|\|[^|]*\|?|![^!]*!?|/[^/]*/?)"


_SINGLE: Final = _quoted("'", over_lines=True)
_DOUBLE: Final = _quoted('"', over_lines=True)
_BACKTICK: Final = _quoted("`", over_lines=True)
# A gap of a template may hold a template.
_TEMPLATE: Final = r"`[^`\\$]*(?:(?:\\.|\$\{(?:[^{}`]|`[^`]*`)*\}|\$)[^`\\$]*)*`?"
_SINGLE_LINE: Final = _quoted("'", over_lines=False)
_DOUBLE_LINE: Final = _quoted('"', over_lines=False)

_THREE_DOUBLE: Final = _tripled('"')
_THREE_SINGLE: Final = _tripled("'")
_HASH_COMMENT: Final = r"\#[^\n]*"
_SLASH_COMMENT: Final = r"//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/)?"
_WORD: Final = r"[^\W\d]\w*"
_DOTTED: Final = rf"{_WORD}(?:\.{_WORD})*"
# A slash begins a pattern where no value can stand before it.
_PATTERN_LITERAL: Final = (
    r"(?:(?<=[(,=:\[!&|?{};~+])|(?<=[(,=:\[!&|?{};~+][ ]))/(?![/*=])[^/\\\n]{1,400}"
    r"(?:\\.[^/\\\n]{0,400}){0,40}/[a-z]*"
)
_PERL_PATTERN: Final = (
    r"\b(?:s|tr|y)(?:/[^/\n]{0,400}/[^/\n]{0,400}/|\|[^|\n]{0,400}\|[^|\n]{0,400}\|"
    r"|\#[^#\n]{0,400}\#[^#\n]{0,400}\#|\{[^}\n]{0,400}\}\{[^}\n]{0,400}\})[a-z]*"
    r"|\bm[/{|][^/}|\n]{0,400}[/}|][a-z]*"
)
_RUBY_COMMAND: Final = _bracketed("%x")
_RUBY_QUOTED: Final = _bracketed("%[wWqQiI]")
_PERL_COMMAND: Final = _bracketed(r"\bqx[ ]?")
_PERL_QUOTED: Final = _bracketed(r"\bq[qw]?[ ]?")
_MEMBER: Final = rf"(?P<member>[ \t\r\n]*(?:\?\.|\.)[ \t]*{_WORD}(?:\.{_WORD})*)"
_MARK: Final = r"(?P<mark> [()\[\]{},;] )"
_SHARED: Final = r"""
    (?P<newline> \n[ \t\r\n]* )
  | \\\n | [^\S\n]+
  | (?P<number> \d[\w.]* )
  | (?P<operator> [=!<>]==? | => | -> | <- | :=? | \|\|=? | &&=? | \?\?=? | \*\*? | [-+.]=
                | \.\.\.? | . )
"""

_PIECES: Final = {
    Language.PYTHON: (
        rf"(?P<name> (?![rRbBuUfF]{{1,2}}['\"]|(?:def|class)[ \t]) {_DOTTED} )",
        r"(?P<define> (?:def|class) [ \t]+ \w+ )",
        rf"(?P<string> [rRbBuUfF]{{0,2}}(?:{_THREE_DOUBLE}|{_THREE_SINGLE}"
        rf"|{_DOUBLE_LINE}|{_SINGLE_LINE}) )",
        _HASH_COMMENT,
        _MEMBER,
    ),
    Language.JAVASCRIPT: (
        r"(?P<name> (?!(?:function|class)\b)"
        r" (?:[^\W\d]|\$)[\w$]*(?:\??\.(?:[^\W\d]|[$\#])[\w$]*)* )",
        r"(?P<define> (?:function|class) \b [ \t]* \*? [ \t]* [\w$]* )",
        rf"(?P<string> {_DOUBLE_LINE}|{_SINGLE_LINE}|{_TEMPLATE} )",
        _SLASH_COMMENT,
        _PATTERN_LITERAL,
        _MEMBER,
    ),
    Language.RUBY: (
        r"^=begin\b(?:[^\n]|\n(?!=end))*",
        r"(?P<define> (?:def|class|module) \b [ \t]+ [\w.:?!]+ )",
        rf"(?P<command> {_BACKTICK}|{_RUBY_COMMAND} )",
        r"(?P<name> [@$]{0,2}[^\W\d]\w*[?!]?(?:(?:&?\.|::)[^\W\d]\w*[?!]?)* )",
        rf"(?P<string> {_DOUBLE}|{_SINGLE}|{_RUBY_QUOTED}|:[^\W\d]\w*(?!:) )",
        _HASH_COMMENT,
        _PATTERN_LITERAL,
        _MEMBER.replace(r"\?\.", r"&\."),
    ),
    Language.PERL: (
        r"^=[a-z]+\b(?:[^\n]|\n(?!=cut))*(?:\n=cut)?",
        r"(?P<define> sub \b [ \t]+ [\w:]+ )",
        _PERL_PATTERN,
        rf"(?P<command> {_BACKTICK}|{_PERL_COMMAND} )",
        rf"(?P<string> {_DOUBLE}|{_SINGLE}|{_PERL_QUOTED}"
        r"|<[^<>\s;=]{0,200}[*?][^<>\s;=]{0,200}> )",
        r"(?P<name> (?:\$ENV\{['\"]?\w+['\"]?\}|[$@%]\{?[\w:]+\}?|&?[^\W\d]\w*(?:::\w+)*)"
        r"(?:->[^\W\d]\w*)* )",
        _HASH_COMMENT,
        _PATTERN_LITERAL,
        r"(?P<member>[ \t\r\n]*->[ \t]*[^\W\d]\w*)",
    ),
    Language.PHP: (
        r"<\?(?:php|=)?|\?>",
        r"(?P<define> (?:function|class) \b [ \t]+ &?\w+ )",
        rf"(?P<command> {_BACKTICK} )",
        r"(?P<name> \$?\\?[^\W\d]\w*(?:(?:\\|::|\??->)\$?[^\W\d]\w*)* )",
        rf"(?P<string> {_DOUBLE}|{_SINGLE} )",
        _SLASH_COMMENT,
        _HASH_COMMENT,
        r"(?P<member>[ \t\r\n]*(?:\??->|::)[ \t]*[^\W\d]\w*)",
    ),
    Language.LUA: (
        rf"(?P<string> {_DOUBLE_LINE}|{_SINGLE_LINE}"
        r"|\[=?\[[^\]]*(?:\](?!=?\])[^\]]*)*(?:\]=?\])? )",
        r"(?P<define> function \b [ \t]* [\w.:]* )",
        rf"(?P<name> {_WORD}(?:[.:]{_WORD})* )",
        r"--\[\[[^\]]*(?:\](?!\])[^\]]*)*(?:\]\])?|--[^\n]*",
        r"(?P<member>[ \t\r\n]*[.:][ \t]*[^\W\d]\w*)",
    ),
    Language.GO: (
        r"(?P<define> (?:func|type) \b [ \t]+ \w+ )",
        rf"(?P<name> {_DOTTED} )",
        rf"(?P<string> {_DOUBLE_LINE}|{_SINGLE_LINE}|`[^`]*`? )",
        _SLASH_COMMENT,
        _MEMBER,
    ),
    Language.R: (
        r"(?P<name> [^\W\d][\w.]*(?::{2,3}[\w.]+)* )",
        rf"(?P<string> {_DOUBLE}|{_SINGLE} )",
        _HASH_COMMENT,
        r"(?P<member>[ \t\r\n]*\$[ \t]*[^\W\d]\w*)",
    ),
}
