"""Is a candidate a credential, or text that only looks like one?"""

from __future__ import annotations

import base64
from typing import NamedTuple, assert_never

import re2

from interlock.secrets.placeholders import is_password_placeholder, is_token_placeholder
from interlock.secrets.rules import Form, Judge, SecretRule
from interlock.secrets.shape import (
    changes,
    digits,
    entropy,
    has_letters,
    has_signs,
    is_identifier,
    kinds_of,
)

_SHORTEST_PASSWORD = 4
_LONGEST_PASSWORD = 512
_SHORTEST_RANDOM = 12
_SHORTEST_PHRASE = 12
_LEAST_RANDOM_ENTROPY = 2.9


class Candidate(NamedTuple):
    """A possible credential at text[start:end], found from `key_start` on."""

    text: str
    start: int
    end: int
    key_start: int
    secret: str

    @property
    def before(self) -> str:
        """The character before it, or nothing."""
        return self.text[self.start - 1] if self.start else ""

    @property
    def after(self) -> str:
        """The character after it, or nothing."""
        return self.text[self.end : self.end + 1]

    @property
    def is_quoted(self) -> bool:
        """Whether it stands in quotation marks."""
        return self.before in _QUOTES


_QUOTES = ('"', "'", "`")
# What follows a name in code.
_OPENING = ("(", "[", "{", ".")
# What follows an argument in code.
_CLOSING = (")", ",")


def is_credential(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether the rule's judge takes the candidate for real."""
    match rule.judge:
        case Judge.ALWAYS:
            taken = _starts_freely(rule, candidate)
        case Judge.TOKEN:
            taken = _is_token(rule, candidate)
        case Judge.PASSWORD:
            taken = _is_password(candidate)
        case Judge.RANDOM:
            taken = _is_random_value(candidate)
        case Judge.BASIC:
            taken = _is_login(candidate.secret)
        case _:
            assert_never(rule.judge)
    return taken and (not rule.min_entropy or entropy(candidate.secret) >= rule.min_entropy)


def _starts_freely(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether a token, or the name a value carries, is not the tail of a longer word."""
    match rule.form:
        case Form.TOKEN:
            before = candidate.text[max(0, candidate.start - 2) : candidate.start]
            # Where entropy has to help, the prefix is short enough to stand in a hash by chance.
            joins = "-_" if rule.min_entropy else ""
            return not _is_alphanumeric(before.rstrip(joins)[-1:]) or _follows_escape(candidate)
        case Form.NAMED:
            return not _continues_word(candidate.text, candidate.key_start)
        case Form.PATTERN:
            return True
        case _:
            assert_never(rule.form)


# An escape ends in a letter or digit that is not part of what follows it.
_ESCAPE = re2.compile(
    r"(?:\\[a-z]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,8}m)$"
)


def _follows_escape(candidate: Candidate) -> bool:
    nearby = candidate.text[max(0, candidate.start - 12) : candidate.start]
    return _ESCAPE.search(nearby.encode("ascii", "replace").decode("ascii")) is not None


def _is_alphanumeric(character: str) -> bool:
    # Only ASCII: a letter of another script before a token is no part of it.
    return character.isascii() and character.isalnum()


def _continues_word(text: str, start: int) -> bool:
    pair = text[start - 1 : start + 1] if start else ""
    return pair.isalpha() and (pair.islower() or pair.isupper())


def _is_token(rule: SecretRule, candidate: Candidate) -> bool:
    return (
        _starts_freely(rule, candidate)
        and not is_token_placeholder(candidate.secret)
        and not _is_code(rule, candidate)
    )


def _is_code(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether what stands behind a name or a short prefix is a piece of code."""
    secret = candidate.secret
    if rule.form is Form.TOKEN and not rule.min_entropy:
        return False
    if rule.form is Form.NAMED and candidate.after in _OPENING:
        return True
    kinds = kinds_of(secret)
    if digits(kinds):
        return False
    return changes(kinds) < len(secret) / 3 or is_identifier(kinds)


def _is_password(candidate: Candidate) -> bool:
    secret = candidate.secret
    if not _SHORTEST_PASSWORD <= len(secret) <= _LONGEST_PASSWORD:
        return False
    if not _could_be_chosen(candidate):
        return False
    return not is_identifier(kinds_of(secret)) and not is_password_placeholder(secret)


def _is_random_value(candidate: Candidate) -> bool:
    secret = candidate.secret
    if not _SHORTEST_RANDOM <= len(secret) <= _LONGEST_PASSWORD:
        return False
    return (
        (candidate.is_quoted or candidate.after not in _OPENING)
        and _is_disordered(kinds_of(secret))
        and not _is_harmless_name(candidate)
        and not is_password_placeholder(secret)
        and entropy(secret) >= _LEAST_RANDOM_ENTROPY
    )


def _could_be_chosen(candidate: Candidate) -> bool:
    """Tell whether it mixes kinds of characters, or is a passphrase where one may stand."""
    secret = candidate.secret
    if candidate.is_quoted:
        return _mixes(secret) or _is_run_of_words(secret)
    if candidate.after in _OPENING or _is_path_segment(candidate):
        return False
    if candidate.after in _CLOSING:
        return len(secret) >= _SHORTEST_RANDOM and changes(kinds_of(secret)) >= 4
    return _mixes(secret) or (_fills_line(candidate) and _is_run_of_words(secret))


def _is_login(secret: str) -> bool:
    try:
        login = base64.b64decode(secret, validate=True).decode("utf-8")
    except ValueError:
        return False
    user, colon, password = login.partition(":")
    return bool(user and colon and password) and login.isprintable()


def _is_disordered(kinds: bytes) -> bool:
    """Tell whether letters and digits take turns as no person would choose."""
    return (
        digits(kinds) > 0
        and has_letters(kinds)
        and changes(kinds) >= max(3, len(kinds) // 8)
        and not is_identifier(kinds)
    )


_HARMLESS_NAMES = (
    "page", "nextpage", "next", "continuation", "cancel", "cancellation", "csrf", "xsrf", "sync",
    "cursor", "resume", "public", "primary", "foreign", "partition", "sort", "cache",
    "idempotency", "invalidation", "etag", "pad", "eos", "bos", "mask", "special", "stop", "unk",
    "dedup", "deduplication", "request", "sig", "host", "object", "index", "hot",
)  # fmt: skip


def _is_harmless_name(candidate: Candidate) -> bool:
    before = candidate.text[max(0, candidate.key_start - 24) : candidate.key_start]
    return before.lower().rstrip("_-. ").endswith(_HARMLESS_NAMES)


def _mixes(secret: str) -> bool:
    kinds = kinds_of(secret.strip("!?.,:;*@#"))
    return has_letters(kinds) and (digits(kinds) > 0 or has_signs(kinds))


def _is_path_segment(candidate: Candidate) -> bool:
    """Tell whether name and value are parts of an identifier such as `arn:...:secret:...`."""
    return candidate.before == ":" == candidate.text[max(0, candidate.key_start - 1)]


def _fills_line(candidate: Candidate) -> bool:
    """Tell whether it ends the line and follows `=` at once, as in an environment file."""
    return candidate.before == "=" and candidate.after in {"", "\n", "\r"}


def _is_run_of_words(secret: str) -> bool:
    """Tell whether it is a passphrase without spaces."""
    return (
        len(secret) >= _SHORTEST_PHRASE
        and secret.isascii()
        and secret.islower()
        and secret.isalpha()
    )
