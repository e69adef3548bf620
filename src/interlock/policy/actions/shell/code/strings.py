"""What a string of some language says, with its escapes decoded and its gaps looked up."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Final

from interlock.policy.actions.shell.code.tokens import Language
from interlock.policy.actions.shell.code.values import Value, joined, text_value

_ESCAPES: Final = {
    "n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v",
    "e": "\x1b", "\n": "",
}  # fmt: skip
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "<": ">"}
_ONLY_QUOTES_ESCAPED: Final = frozenset({Language.RUBY, Language.PERL, Language.PHP})
_GAPS: Final = {
    Language.PYTHON: r"\{([^{}]*)\}",
    Language.JAVASCRIPT: r"\$\{([^{}]*)\}",
    Language.RUBY: r"#\{([^{}]*)\}",
    Language.PERL: r"(\$ENV\{\w+\}|[$@]\w+|\$\{\w+\})",
    Language.PHP: r"\{?(\$\w+(?:->\w+|\[[^\]]*\])?)\}?",
}

Lookup = Callable[[str], Value]


def string_value(token: str, language: Language, lookup: Lookup) -> Value:
    """Return what a string token says; `lookup` tells what an expression in a gap means."""
    prefix, body = _taken_apart(token)
    quote = token[len(prefix)]
    if language is Language.RUBY and token.startswith(":"):
        return text_value(token[1:])
    if prefix[-1:] in {"w", "W", "i", "I"} and prefix[:1] in {"%", "q"}:
        return Value(items=tuple(body.split()))
    if _is_template(prefix.lower(), quote, language):
        return _filled(body, language, lookup)
    return text_value(_decoded(body, prefix, quote, language))
