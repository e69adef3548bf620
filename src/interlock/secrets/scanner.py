"""Which credentials stand in a text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import re2

from interlock.errors import PolicyError
from interlock.secrets.candidates import Candidate, is_credential
from interlock.secrets.credential_rules import SecretRule
from interlock.secrets.patterns import SECRET, LiteralSet, compiled, text_as_bytes

_MOST_MATCHES = 10_000
_MOST_CANDIDATES = 30_000
_QUOTES = b"\\\"'`"


class SecretMatch(NamedTuple):
    """A credential at text[start:end] and the kind it is."""

    rule: SecretRule
    start: int
    end: int


class SecretScanner:
    """Finds credentials in linear time: literals first, then only the rules they point to."""

    def __init__(
        self,
        rules: Iterable[SecretRule],
        *,
        allow: Sequence[str] = (),
        off: Collection[str] = (),
    ) -> None:
        """Take the rules but those in `off`, by family, id or `family.id`.

        A credential that one of the `allow` patterns (RE2) matches as a whole is let through.
        """
        self._rules = tuple(rule for rule in rules if not _is_off(rule, off))
        self._searches: dict[int, _Search] = {}
        keywords = sorted({keyword for rule in self._rules for keyword in rule.keywords})
        self._literals = LiteralSet(keywords)
        self._rules_of = _rules_by_keyword(self._rules, keywords)
        self._allowed = [_allow_pattern(pattern) for pattern in allow]

    def scan(self, text: str) -> list[SecretMatch]:
        """Return the credentials in the order they stand, overlapping ones as one.

        A text with more of them than can be told apart in time is one credential as a whole.
        """
        data = text_as_bytes(text)
        present = self._literals.present(data)
        if not present:
            return []
        rules = sorted({rule for keyword in present for rule in self._rules_of[keyword]})
        found: list[SecretMatch] = []
        for looked, (match, is_real) in enumerate(self._judged(rules, text, data)):
            if is_real:
                found.append(match)
            if len(found) >= _MOST_MATCHES or looked >= _MOST_CANDIDATES:
                return [SecretMatch(match.rule, 0, len(text))]
        return _merged(found)

    def _judged(
        self, rules: list[int], text: str, data: bytes
    ) -> Iterator[tuple[SecretMatch, bool]]:
        for index in rules:
            rule = self._rules[index]
            for start, end, key_start in self._search(index).spans(data):
                candidate = Candidate(text, start, end, key_start, text[start:end])
                is_real = is_credential(rule, candidate) and not self._lets_through(data[start:end])
                yield SecretMatch(rule, start, end), is_real

    def _search(self, index: int) -> _Search:
        # Compiled on first use: a process that scans one short text needs a handful of rules.
        search = self._searches.get(index)
        if search is None:
            search = self._searches[index] = _Search(self._rules[index])
        return search

    def _lets_through(self, secret: bytes) -> bool:
        return any(pattern.fullmatch(secret) is not None for pattern in self._allowed)


class _Search:
    """A rule's pattern, ready to run."""

    def __init__(self, rule: SecretRule) -> None:
        self._pattern = compiled(rule.pattern)
        named = [
            index
            for name, index in self._pattern.groupindex.items()
            if name.decode("ascii").startswith(SECRET)
        ]
        self._groups = sorted(named) or [min(1, self._pattern.groups)]

    def spans(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Yield start and end of every credential, and where its match starts."""
        for match in self._pattern.finditer(data):
            taken = (match.span(group) for group in self._groups)
            start, end = next((span for span in taken if span[0] >= 0), match.span())
            while start < end and data[start] in _QUOTES:
                start += 1
            if start < end:
                yield start, end, match.start()


def _is_off(rule: SecretRule, off: Collection[str]) -> bool:
    return rule.name in off or rule.id in off or rule.family in off


def _rules_by_keyword(rules: tuple[SecretRule, ...], keywords: list[str]) -> list[list[int]]:
    places = {keyword: place for place, keyword in enumerate(keywords)}
    table: list[list[int]] = [[] for _ in keywords]
    for index, rule in enumerate(rules):
        for keyword in rule.keywords:
            table[places[keyword]].append(index)
    return table


def _allow_pattern(pattern: str) -> re2.Regexp[bytes]:
    try:
        return compiled(pattern)
    except (re2.error, UnicodeEncodeError) as error:
        raise PolicyError(
            [f"`secrets.allow`: `{pattern}` is not a pattern in RE2 syntax and ASCII"]
        ) from error


def _merged(found: list[SecretMatch]) -> list[SecretMatch]:
    """Join what overlaps into one span that carries the name of the most specific rule."""
    merged: list[SecretMatch] = []
    for match in sorted(found, key=lambda match: (match.start, match.end, match.rule.name)):
        if merged and match.start < merged[-1].end:
            merged[-1] = _joined(merged[-1], match)
        else:
            merged.append(match)
    return merged


def _joined(one: SecretMatch, other: SecretMatch) -> SecretMatch:
    best = max(one, other, key=lambda match: (match.rule.rank, match.end - match.start))
    return SecretMatch(best.rule, one.start, max(one.end, other.end))
