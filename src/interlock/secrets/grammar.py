"""How a credential stands in a text: the RE2 patterns that the forms of a rule stand for.

Patterns run on Latin-1 bytes, one byte per character, so that offsets are the text's own.
"""

from __future__ import annotations

from collections.abc import Sequence

SECRET = "secret"  # noqa: S105 - the name of a group
"""Groups whose name starts so hold the credential; the first one that took part counts."""

# Zero-width where the token ends in a word character: the separator stays for the next match.
_END = r"(?:\b|[^A-Za-z0-9_]|$)"

_REST_OF_VENDOR_KEY = r"[A-Za-z0-9_.\-]{0,30}"
_REST_OF_PLAIN_KEY = (
    r"(?:[_.\-]?(?:prod|production|dev|staging|live|local|root|admin|user|old|new|value|string"
    r"|text|plain|base64|b64|hex|data|[0-9]{1,3}))?"
)

_KEY_CLOSES = r"""\\{0,3}["'`]?\]?"""
_TYPE = r":[ \t]{0,2}[&A-Za-z][A-Za-z0-9_&'<>\[\]|?.]{0,24}[ \t]{0,2}="
_OPERATOR = (
    r"[ \t]{0,8}(?:"
    + _TYPE
    + r"|[ \t]string[ \t]?=|=>|:{1,3}=|\.=|={1,3}:?|\|\|=|\?\?=|\?=|:|<-)[ \t]{0,8}"
)
_ELEMENT = r"[ \t]{0,2}(?:[a-z]{1,12}=\"[^\"<>]{0,40}\"[ \t]{0,2})?>"
_CALL = r"[ \t]?\([ \t]{0,2}"
_PAIR = r"""["'`],[ \t]{0,4}"""
_NAME_THEN_VALUE = (
    r"""["']?[ \t]{0,2},?\s{0,24}\\{0,3}["']?(?i:value)\\{0,3}["']?[ \t]{0,2}[:=][ \t]{0,4}"""
)
_ASSIGNS = rf"(?:{_KEY_CLOSES}{_OPERATOR}|{_ELEMENT}|{_NAME_THEN_VALUE})"
_HANDS_OVER = rf"(?:{_KEY_CLOSES}{_CALL}|{_PAIR})"
_SCHEME = r"(?:(?i:bearer|token|basic|apikey)[ :=]{1,2})?"
_OPENS = r"""[A-Za-z@$]{0,2}\\{0,3}["'`]{0,3}"""
_SAID = r"(?:(?i:key|token|secret|pat|password|auth)s?(?: is)?[ :]{1,3})"

# A value of letters alone is a word unless it is long: most of what is assigned ends here.
_VALUE_IN_DOUBLE_QUOTES = (
    r'(?:[A-Za-z]*(?:[^A-Za-z"\\\s]|\\[^"\s])(?:[^"\\\s]|\\[^"\s])*|[a-z]{12,})'
)
_VALUE_IN_SINGLE_QUOTES = _VALUE_IN_DOUBLE_QUOTES.replace('"', "'")
_VALUE_IN_BACKQUOTES = r"(?:[A-Za-z]*[^A-Za-z`\s][^`\s]*|[a-z]{12,})"
# The opening quotation mark is part of the group and is left out by whoever takes its span.
_QUOTED_VALUE = (
    rf'\\{{0,3}}"{{1,3}}{_VALUE_IN_DOUBLE_QUOTES}'
    rf"|\\{{0,3}}'{{1,3}}{_VALUE_IN_SINGLE_QUOTES}"
    rf"|`{_VALUE_IN_BACKQUOTES}"
)
_BARE = r"""[^\s"'`<>(){}\[\],;|&\\]"""
_BARE_VALUE = rf"""(?:[A-Za-z]*[^A-Za-z\s"'`<>(){{}}\[\],;|&\\$]{_BARE}*|[a-z]{{12,}})"""


def token_pattern(token: str) -> str:
    """Return the pattern of a credential that is known by its own shape."""
    return rf"(?P<{SECRET}>{token}){_END}"


def vendor_pattern(names: Sequence[str], value: str) -> str:
    """Return the pattern of a value that is a credential because of whose name it carries."""
    assigned = rf"{_REST_OF_VENDOR_KEY}(?:{_ASSIGNS}|{_HANDS_OVER}){_SCHEME}{_OPENS}"
    said = rf"[A-Za-z0-9_. \-]{{0,16}}{_SAID}{_OPENS}"
    return rf"{_any_of(names)}(?:{assigned}|{said})(?P<{SECRET}>{value}){_END}"


def plain_pattern(names: Sequence[str]) -> str:
    """Return the pattern of anything assigned to a name that means a credential."""
    return (
        rf"{_any_of(names)}{_REST_OF_PLAIN_KEY}"
        rf"(?:{_ASSIGNS}{_SCHEME}(?:[A-Za-z@$]{{0,2}}(?P<{SECRET}>{_QUOTED_VALUE})"
        rf"|(?P<{SECRET}_bare>{_BARE_VALUE}))"
        rf"|{_HANDS_OVER}[A-Za-z@$]{{0,2}}(?P<{SECRET}_handed_over>{_QUOTED_VALUE}))"
    )


def _any_of(names: Sequence[str]) -> str:
    return f"(?i:{'|'.join(names)})"
