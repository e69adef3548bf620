"""What a string of some language says, with its escapes decoded and its gaps looked up."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import cache
from typing import Final

from interlock.commands.code.tokens import Language
from interlock.commands.code.values import Value, joined, text_value

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
    if _is_template(prefix, quote, language):
        return _filled(body, language, lookup, raw=raw)
    return text_value(body if raw else decoded(body))


def decoded(text: str) -> str:
    r"""Return the text with its escapes decoded: `\x2fetc` is `/etc`."""
    return _escape().sub(_unescaped, text) if "\\" in text else text


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
    for gap in _gap(language).finditer(body):
        piece = body[position : gap.start()]
        value = joined(value, text_value(piece if raw else decoded(piece)))
        expression = gap.group(1)
        value = joined(value, text_value(gap[0][0]) if expression is None else lookup(expression))
        position = gap.end()
    rest = body[position:]
    return joined(value, text_value(rest if raw else decoded(rest)))


def _unescaped(found: re.Match[str]) -> str:
    digits = found.group("hex")
    if digits is None:
        letter = found.group("letter")
        return _ESCAPES.get(letter, letter)
    code_point = int(digits.strip("{}xuU"), 16)
    return chr(code_point) if code_point <= _LAST_CODE_POINT else ""


_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
    "e": "\x1b", "\n": "",
}  # fmt: skip
_LAST_CODE_POINT: Final = 0x10FFFF
_GAPS: Final = {
    Language.PYTHON: r"\{\{|\}\}|\{([^{}]*)\}",
    Language.JAVASCRIPT: r"\$\{([^{}]*)\}",
    Language.RUBY: r"#\{([^{}]*)\}",
    Language.PERL: r"(\$ENV\{\w{1,80}\}|\$\{\w{1,80}\}|[$@]\w+)",
    Language.PHP: r"\{?(\$\w+(?:->\w+|\[[^\]]{0,80}\])?)\}?",
}


@cache
def _escape() -> re.Pattern[str]:
    return re.compile(
        r"\\(?:(?P<hex>[xu]\{[0-9A-Fa-f]{1,8}\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8})"
        r"|(?P<letter>.))",
        re.DOTALL,
    )


@cache
def _gap(language: Language) -> re.Pattern[str]:
    return re.compile(_GAPS[language])
