"""Is a candidate a credential, or text that only looks like one?"""

from __future__ import annotations

import base64
import math
from typing import NamedTuple

import re2

from interlock.policy.actions.secrets.placeholders import (
    is_password_placeholder,
    is_token_placeholder,
)
from interlock.policy.actions.secrets.rules import Form, Judge, SecretRule

_LONGEST_PASSWORD = 512
_SHORTEST_RANDOM = 12
_SHORTEST_PHRASE = 12


class Candidate(NamedTuple):
    """A possible credential at text[start:end], found from `key_start` on."""

    text: str
    start: int
    end: int
    key_start: int

    @property
    def secret(self) -> str:
        """The credential itself."""
        return self.text[self.start : self.end]

    @property
    def before(self) -> str:
        """The character before it, or nothing."""
        return self.text[self.start - 1 : self.start] if self.start else ""

    @property
    def after(self) -> str:
        """The character after it, or nothing."""
        return self.text[self.end : self.end + 1]

    @property
    def is_quoted(self) -> bool:
        """Whether it stands in quotation marks."""
        return self.before in _QUOTES and self.before != ""


_QUOTES = "\"'`"


def is_credential(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether the rule's judge takes the candidate for real."""
    match rule.judge:
        case Judge.ALWAYS:
            return _starts_freely(rule, candidate)
        case Judge.TOKEN:
            taken = (
                _starts_freely(rule, candidate)
                and not is_token_placeholder(candidate.secret)
                and not _is_code(rule, candidate)
            )
        case Judge.PASSWORD:
            taken = _is_password(candidate)
        case Judge.RANDOM:
            taken = _is_random_value(candidate)
        case Judge.BASIC:
            taken = _is_login(candidate.secret)
    return taken and (not rule.min_entropy or entropy(candidate.secret) >= rule.min_entropy)


def entropy(text: str) -> float:
    """Return the Shannon entropy in bits per character."""
    size = len(text)
    counts = [text.count(character) for character in sorted(set(text))]
    return -sum(count / size * math.log2(count / size) for count in counts)


# An escape ends in a letter or digit that is not part of what follows it.
_ESCAPE = re2.compile(
    r"(?:\\[a-z]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]{0,8}m)$"
)


def _starts_freely(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether a token, or the name a value carries, is not the tail of a longer word."""
    match rule.form:
        case Form.TOKEN:
            before = candidate.text[max(0, candidate.start - 2) : candidate.start]
            # Where entropy has to help, the prefix is short enough to stand in a hash by chance.
            joins = "-_" if rule.min_entropy else ""
            return not before.rstrip(joins)[-1:].isalnum() or _follows_escape(candidate)
        case Form.NAMED:
            return not _continues_word(candidate.text, candidate.key_start)
        case Form.PATTERN:
            return True


def _follows_escape(candidate: Candidate) -> bool:
    nearby = candidate.text[max(0, candidate.start - 12) : candidate.start]
    return _ESCAPE.search(nearby.encode("ascii", "replace").decode("ascii")) is not None


def _continues_word(text: str, start: int) -> bool:
    pair = text[start - 1 : start + 1] if start else ""
    return len(pair) == 2 and pair.isalpha() and (pair.islower() or pair.isupper())


def _is_code(rule: SecretRule, candidate: Candidate) -> bool:
    """Tell whether what stands behind a name or a short prefix is a piece of code."""
    secret = candidate.secret
    if rule.form is Form.TOKEN and not rule.min_entropy:
        return False
    if rule.form is Form.NAMED and candidate.after in _OPENING:
        return True
    if any(character.isdigit() for character in secret):
        return False
    return _class_changes(secret) < len(secret) / 3 or _is_reference(secret)


# What follows a name in code; the empty text ends a file and opens nothing.
_OPENING = ("(", "[", "{", ".")


def _is_password(candidate: Candidate) -> bool:
    secret = candidate.secret
    if len(secret) > _LONGEST_PASSWORD or is_password_placeholder(secret):
        return False
    if _is_reference(secret) or _is_identifier(secret):
        return False
    if candidate.is_quoted:
        return _mixes(secret) or _is_run_of_words(secret)
    if candidate.after in _OPENING:
        return False
    if candidate.after in {")", ","}:
        return len(secret) >= 12 and _class_changes(secret) >= 4
    return _mixes(secret) or (_fills_line(candidate) and _is_run_of_words(secret))


def _is_random_value(candidate: Candidate) -> bool:
    secret = candidate.secret
    return (
        _SHORTEST_RANDOM <= len(secret) <= _LONGEST_PASSWORD
        and is_random(secret)
        and not is_password_placeholder(secret)
        and (candidate.is_quoted or candidate.after not in _OPENING)
        and not _is_harmless_name(candidate)
        and not _is_reference(secret)
        and not _is_identifier(secret)
    )


def _is_login(secret: str) -> bool:
    try:
        login = base64.b64decode(secret, validate=True).decode("utf-8")
    except ValueError:
        return False
    user, colon, password = login.partition(":")
    return bool(user and colon and password) and login.isprintable()


def is_random(secret: str) -> bool:
    """Tell whether a machine wrote it: letters and digits in no order a person would choose."""
    digits = sum(character.isdigit() for character in secret)
    letters = sum(character.isalpha() for character in secret)
    if not digits or not letters or entropy(secret) < 2.9:
        return False
    return _class_changes(secret) >= max(3, len(secret) // 8)


_HARMLESS_NAMES = (
    "page", "nextpage", "next", "continuation", "cancel", "cancellation", "csrf", "xsrf", "sync",
    "cursor", "resume", "public", "primary", "foreign", "partition", "sort", "cache", "idempotency",
    "invalidation", "etag", "pad", "eos", "bos", "mask", "special", "stop", "unk", "dedup",
    "deduplication", "request", "registry",
)  # fmt: skip


def _is_harmless_name(candidate: Candidate) -> bool:
    before = candidate.text[max(0, candidate.key_start - 24) : candidate.key_start]
    return before.lower().rstrip("_-. ").endswith(_HARMLESS_NAMES)


_REFERENCE = re2.compile(
    r"^(?:[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)+"  # a.b, a->b, A::B
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+"  # A_CONSTANT
    r"|\d{4}-\d\d-\d\d.*"  # a date
    r"|[A-Za-z_][\w.]*\(.*)$"  # a call
)


def _is_reference(secret: str) -> bool:
    return _is_ordered(secret) and _REFERENCE.match(secret) is not None


_WORDS_JOINED = re2.compile(
    r"^[_\-./:]?(?:[A-Za-z]{0,3}[0-9]{0,4}[A-Za-z]*[0-9]{0,4}[_\-./:%])+"
    r"[A-Za-z]{0,3}[0-9]{0,4}[A-Za-z]*[0-9]{0,4}$"
)


def _is_identifier(secret: str) -> bool:
    """Tell whether it is made of words joined by separators, as names, paths and labels are."""
    return _is_ordered(secret) and _WORDS_JOINED.match(secret) is not None


def _is_ordered(secret: str) -> bool:
    """Tell whether letters, digits and signs change places as seldom as in words."""
    digits = sum(character.isdigit() for character in secret)
    return _class_changes(secret) < 0.42 * len(secret) and digits <= max(4, len(secret) / 6)


def _fills_line(candidate: Candidate) -> bool:
    """Tell whether it ends the line and follows `=` at once, as in an environment file."""
    return candidate.before == "=" and candidate.after in {"", "\n", "\r"}


def _is_run_of_words(secret: str) -> bool:
    """Tell whether it is a passphrase without spaces."""
    return len(secret) >= _SHORTEST_PHRASE and secret.isascii() and secret.islower() and secret.isalpha()


def _mixes(secret: str) -> bool:
    core = secret.strip("!?.,:;*@#")
    has_letter = any(character.isalpha() for character in core)
    has_digit = any(character.isdigit() for character in core)
    has_sign = any(character in "!@#$%^&*?+=~" for character in core)
    return has_letter and (has_digit or has_sign)


def _class_changes(secret: str) -> int:
    """Count how often lower case, upper case, digits and signs take turns."""
    kinds = [_kind(character) for character in secret]
    return sum(one != other for one, other in zip(kinds, kinds[1:], strict=False))


def _kind(character: str) -> int:
    if character.isdigit():
        return 0
    if character.isalpha():
        return 1 if character.islower() else 2
    return 3
