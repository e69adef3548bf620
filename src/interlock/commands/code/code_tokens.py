"""How a snippet falls into tokens, in each language that is read, and what its strings say."""

from __future__ import annotations

import enum
import re
import string
import unicodedata
from collections.abc import Callable
from functools import cache, partial
from typing import Final

import msgspec

from interlock.commands.code.code_values import Value, joined, text_value


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
_PERL_REPLACEMENT: Final = (
    r"(?P<replacement> \bs(?P<divider>[/|\#!,])(?:(?!(?P=divider))[^\\\n]|\\.){0,400}(?P=divider)"
    r"(?:(?!(?P=divider))[^\\\n]|\\.){0,400}(?P=divider)[a-z]*e[a-z]*"
    r"|\bs\{[^{}\n]{0,400}\}[ ]?\{[^{}\n]{0,400}\}[a-z]*e[a-z]* )"
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
# Lines may end behind the dot, with a backslash or a comment.
_BEHIND_DOT: Final = r"(?:[ \t\r\n\\]|\#[^\n]{0,200}\n|//[^\n]{0,200}\n|/\*[^*]{0,200}\*/){0,40}"
_MEMBER: Final = rf"(?P<member>[ \t\r\n]*(?:\?\.|\.){_BEHIND_DOT}(?P<last>{_WORD}(?:\.{_WORD})*))"
_MARK: Final = r"(?P<mark> [()\[\]{},;] )"
_SHARED: Final = r"""
    (?P<newline> \n[ \t\r\n]* )
  | \\\n | [^\S\n]+
  | (?P<number> \d[\w.]* )
  | (?P<operator> [=!<>]==? | => | -> | <- | << | \+\+ | -- | :=? | \|\|=? | &&=? | \?\?=?
                | \*\*? | [-+.]= | \.\.\.? | . )
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
        _PERL_REPLACEMENT,
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


class Syntax(msgspec.Struct, frozen=True):
    """What the reader has to know about a language."""

    keywords: frozenset[str]
    joins: frozenset[str]
    """Operators that put two texts together."""
    assigns: frozenset[str] = frozenset({"="})
    calls_without_brackets: bool = False
    names_call: bool = False
    """Whether a dotted name alone is a call."""
    adjacent_strings_join: bool = False


def syntax_of(language: Language) -> Syntax:
    """Return what the reader has to know about the language."""
    return _SYNTAXES[language]


_SYNTAXES: Final = {
    Language.PYTHON: Syntax(
        keywords=frozenset(
            "and or not is in if elif else for while with as return yield await lambda del assert"
            " raise try except finally def class import from global nonlocal pass break continue"
            " async".split()
        ),
        joins=frozenset({"+"}),
        assigns=frozenset({"=", ":="}),
        adjacent_strings_join=True,
    ),
    Language.JAVASCRIPT: Syntax(
        keywords=frozenset(
            "const let var if else for while do of in return await async new typeof void delete"
            " throw try catch finally switch case default break continue import from export extends"
            " yield instanceof static as function class".split()
        ),
        joins=frozenset({"+"}),
    ),
    Language.RUBY: Syntax(
        keywords=frozenset(
            "if unless else elsif end while until for in do begin rescue ensure return yield and or"
            " not then case when def class module next break redo retry BEGIN END".split()
        ),
        joins=frozenset({"+", "<<"}),
        calls_without_brackets=True,
        names_call=True,
    ),
    Language.PERL: Syntax(
        keywords=frozenset(
            "my our local state if unless else elsif while until for foreach do return and or not"
            " xor sub use no package last next redo x eq ne lt gt le ge cmp".split()
        ),
        joins=frozenset({"."}),
        calls_without_brackets=True,
    ),
    Language.PHP: Syntax(
        keywords=frozenset(
            "if else elseif while for foreach as do return echo print new function class and or xor"
            " not try catch finally switch case default break continue global static use namespace"
            " public private protected throw fn instanceof clone".split()
        ),
        joins=frozenset({"."}),
    ),
    Language.LUA: Syntax(
        keywords=frozenset(
            "local if then else elseif end for in while do repeat until return and or not function"
            " break goto".split()
        ),
        joins=frozenset({".."}),
        calls_without_brackets=True,
    ),
    Language.GO: Syntax(
        keywords=frozenset(
            "var const if else for range return go defer func type struct interface switch case"
            " default break continue import package map chan select".split()
        ),
        joins=frozenset({"+"}),
        assigns=frozenset({"=", ":="}),
    ),
    Language.R: Syntax(
        keywords=frozenset("if else for while in repeat function return next break".split()),
        joins=frozenset(),
        assigns=frozenset({"=", "<-"}),
    ),
}


_ODD_NAME: Final = r"\w*[^\W\x00-\x7f]\w*"
_NAME_ESCAPE: Final = r"\\u(?:\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))"
Lookup = Callable[[str], Value]

_QUOTES: Final = "'\""
_SPECIAL: Final = frozenset("\\$#@")
_LONG_QUOTES: Final = ("'''", '"""', "[[", "[=[")
_PREFIX_LETTERS: Final = "% " + string.ascii_letters
_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "<": ">", "[[": "]]", "[=[": "]=]"}
_SHELL_LIKE: Final = frozenset({Language.RUBY, Language.PERL, Language.PHP})
_LISTS: Final = frozenset({"%w", "%W", "%i", "%I", "qw"})
_TEMPLATES: Final = frozenset({"%Q", "%x", "qq", "qx"})


def string_value(token: str, language: Language, lookup: Lookup) -> Value:
    """Return what a string token says; `lookup` tells what an expression in a gap means."""
    quote = token[0]
    if quote in _QUOTES and token[1:2] != quote == token[-1] and _SPECIAL.isdisjoint(token):
        return text_value(token[1:-1])
    if quote == ":":
        return text_value(token[1:])
    prefix, quote, body = _taken_apart(token)
    if prefix in _LISTS:
        return Value(items=tuple(body.split()))
    raw = _is_raw(prefix, quote, language)
    if "\\N{" in body and not raw:
        body = re.sub(_NAMED_CHARACTER, _named_character, body)
    if _is_template(prefix, quote, language):
        return _filled(body, language, lookup, raw=raw)
    return text_value(body if raw else decoded(body, 10 if language is Language.LUA else 8))


def with_plain_names(code: str, language: Language) -> str:
    """Write names as the language reads them: Python by NFKC, JavaScript without escapes."""
    if language is Language.PYTHON and not code.isascii():
        return re.sub(_ODD_NAME, lambda found: unicodedata.normalize("NFKC", found[0]), code)
    if language is Language.JAVASCRIPT and "\\u" in code:
        return re.sub(_NAME_ESCAPE, _unescaped_letter, code)
    return code


def _unescaped_letter(found: re.Match[str]) -> str:
    char = chr(min(int(found[1] or found[2], 16), 0x10FFFF))
    return char if char.isalnum() or char in "_$" else found[0]


def decoded(text: str, base: int = 8) -> str:
    r"""Return the text with its escapes decoded: `\x2fetc` is `/etc`, and so is `\57etc`."""
    return re.sub(_ESCAPE, partial(_unescaped, base), text) if "\\" in text else text


def _named_character(found: re.Match[str]) -> str:
    r"""Return the character that `\N{LATIN SMALL LETTER R}` names."""
    try:
        return unicodedata.lookup(found[1])
    except KeyError:
        return found[0]


def _taken_apart(token: str) -> tuple[str, str, str]:
    """Return what stands before the quote, the quote, and what stands in it."""
    start = len(token) - len(token.lstrip(_PREFIX_LETTERS))
    quote = next((long for long in _LONG_QUOTES if token.startswith(long, start)), token[start])
    body = token[start + len(quote) :].removesuffix(_CLOSING.get(quote, quote))
    return token[:start].rstrip(), quote, body


def _is_raw(prefix: str, quote: str, language: Language) -> bool:
    """Whether backslashes stand for themselves, near enough."""
    if language is Language.PYTHON:
        return "r" in prefix.lower()
    if language in _SHELL_LIKE:
        return quote == "'" or prefix in {"%q", "q"}
    return quote in {"[[", "[=["} or (language is Language.GO and quote == "`")


def _is_template(prefix: str, quote: str, language: Language) -> bool:
    """Whether the string has gaps that the run fills."""
    if language is Language.PYTHON:
        return "f" in prefix.lower()
    if language is Language.JAVASCRIPT:
        return quote == "`"
    return language in _SHELL_LIKE and (quote in {'"', "`"} or prefix in _TEMPLATES)


def _filled(body: str, language: Language, lookup: Lookup, *, raw: bool) -> Value:
    value = text_value("")
    position = 0
    for gap in re.finditer(_GAPS[language], body):
        piece = body[position : gap.start()]
        value = joined(value, text_value(piece if raw else decoded(piece)))
        expression = gap.group(1)
        value = joined(value, text_value(gap[0][0]) if expression is None else lookup(expression))
        position = gap.end()
    rest = body[position:]
    return joined(value, text_value(rest if raw else decoded(rest)))


def _unescaped(base: int, found: re.Match[str]) -> str:
    number = found.group("number")
    if number is not None:
        return chr(int(number, base)) if base > 8 or max(number) < "8" else number
    digits = found.group("hex")
    if digits is None:
        letter = found.group("letter")
        return _ESCAPES.get(letter, letter)
    code_point = int(digits.strip("{}xuU"), 16)
    return chr(code_point) if code_point <= _LAST_CODE_POINT else ""


_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
    "e": "\x1b", "\n": "",
}  # fmt: skip
_ESCAPE: Final = (
    r"(?s)\\(?:(?P<hex>[xu]\{[0-9A-Fa-f]{1,8}\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
    r"|(?P<number>[0-9]{1,3})|(?P<letter>.))"
)
_NAMED_CHARACTER: Final = r"(?<!\\)\\N\{([^{}\n]{1,100})\}"
_LAST_CODE_POINT: Final = 0x10FFFF
_GAPS: Final = {
    Language.PYTHON: r"\{\{|\}\}|\{([^{}]*)\}",
    Language.JAVASCRIPT: r"\$\{([^{}]*)\}",
    Language.RUBY: r"#\{([^{}]*)\}",
    Language.PERL: r"(\$ENV\{\w{1,80}\}|\$\{\w{1,80}\}|[$@]\w+)",
    Language.PHP: r"\{?(\$\w+(?:->\w+|\[[^\]]{0,80}\])?)\}?",
}
