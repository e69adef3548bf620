"""How credentials are looked for with RE2: patterns on Latin-1 bytes, and sets of literals."""

from __future__ import annotations

from collections.abc import Sequence

import re2

from interlock.errors import PolicyError


def text_as_bytes(text: str) -> bytes:
    """Return one byte per character, so that offsets are the text's own.

    What Latin-1 does not know, lone surrogates included, becomes `?`: no credential is
    written with it.
    """
    return text.encode("latin-1", "replace")


def options() -> re2.Options:
    """Return the options that every pattern is compiled with."""
    chosen = re2.Options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    chosen.log_errors = False
    return chosen


def compiled(pattern: str) -> re2.Regexp[bytes]:
    """Compile an ASCII pattern; raise re2.error or UnicodeEncodeError."""
    return re2.compile(pattern.encode("ascii"), options())


class LiteralSet:
    """Which of many ASCII literals stand in a text, whatever their case."""

    def __init__(self, literals: Sequence[str]) -> None:
        self._literals = [literal.encode("ascii") for literal in literals]
        self._set: re2.Set | None = None
        self._looks = 0

    def present(self, data: bytes) -> list[int]:
        """Return the indices of the literals found, in ascending order."""
        if self._set is None:
            # Building the set takes longer than looking through a few short texts.
            self._looks += 1
            if len(data) <= _SHORT_TEXT and self._looks <= _CHEAP_LOOKS:
                lowered = data.lower()
                return [i for i, literal in enumerate(self._literals) if literal in lowered]
            self._set = self._built()
        return sorted(self._set.Match(data) or ())

    def _built(self) -> re2.Set:
        chosen = options()
        chosen.literal = True
        chosen.case_sensitive = False
        literals = re2.Set.SearchSet(chosen)
        for literal in self._literals:
            literals.Add(literal)
        try:
            literals.Compile()
        except re2.error as error:
            raise PolicyError(
                [f"secret rules: {len(self._literals)} keywords are too many to look for at once"]
            ) from error
        self._test(literals)
        return literals

    def _test(self, literals: re2.Set) -> None:
        # RE2 cannot tell a set that ran out of memory from one that found nothing: a set that
        # would stay silent must never be used.
        sample = range(0, len(self._literals), max(1, len(self._literals) // _TESTED))
        found = set(literals.Match(b"\n".join(self._literals[i] for i in sample)) or ())
        missed = [self._literals[i].decode("ascii") for i in sample if i not in found]
        if missed:
            raise PolicyError([f"secret rules: the pre-filter does not find `{missed[0]}`"])


_SHORT_TEXT = 2048
_CHEAP_LOOKS = 8
_TESTED = 32


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
