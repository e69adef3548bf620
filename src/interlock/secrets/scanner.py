"""Which credentials stand in a text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeVar

import re2

from interlock.errors import PolicyError
from interlock.secrets.candidate_search import PatternSearch, Work, compiled, options
from interlock.secrets.columns import ColumnSearch
from interlock.secrets.credential_rules import Judge, SecretRule
from interlock.secrets.proximity import NearSearch
from interlock.secrets.transcription import ESCAPES, text_as_bytes, unescaped

_SHORT_TEXT = 2048
_SHORT_NAME = 64
_REMEMBERED = 1024
_CHEAP_LOOKS = 8
_TESTED = 32
_SET_BYTES = 32 << 20


_BESIDE_WORDS: Final = frozenset((Judge.CHOSEN, Judge.NEAR))
T = TypeVar("T")
Search = PatternSearch | NearSearch | ColumnSearch
_SEARCHES: Final[Mapping[Judge, type[Search]]] = {
    Judge.NEAR: NearSearch,
    Judge.COLUMN: ColumnSearch,
}


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
        own: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Take the rules but those in `off`, by family, id or `family.id`.

        A credential that one of the `allow` patterns (RE2) matches as a whole is let through.
        What one of the `own` patterns matches is a secret as it stands, and called what it says.
        """
        kept = [rule for rule in rules if not {rule.name, rule.id, rule.family}.intersection(off)]
        # What only stands beside a word comes last: most of it was found by its own rule.
        self._rules = sorted(kept, key=lambda rule: rule.judge in _BESIDE_WORDS)
        self._searches = _OnFirstUse(self._search)
        self._least_lengths = _OnFirstUse(lambda index: self._rules[index].least_length)
        literals = {keyword for rule in self._rules for keyword in rule.literals}
        keywords = sorted(literals.union(ESCAPES))
        self._escapes = frozenset(map(keywords.index, ESCAPES))
        self._literals = LiteralSet(keywords)
        self._rules_of = _rules_by_keyword(self._rules, keywords)
        self._allowed = [_policy_pattern("allow", pattern) for pattern in allow]
        self._own = [
            (_own_rule(pattern, title), _policy_pattern("patterns", pattern))
            for pattern, title in own.items()
        ]
        self._harmless: set[str] = set()

    def scan(self, text: str) -> list[SecretMatch]:
        """Return the credentials in the order they stand, overlapping ones as one.

        A text with more of them than can be told apart in time is one credential as a whole.
        Names of parameters and folders come again and again: those without any are remembered.
        """
        if text in self._harmless:
            return []
        found = self._found_in(text)
        if not found and len(text) <= _SHORT_NAME:
            if len(self._harmless) >= _REMEMBERED:
                self._harmless.clear()
            self._harmless.add(text)
        return found

    def _found_in(self, text: str) -> list[SecretMatch]:
        data = text_as_bytes(text)
        keywords = self._literals.present(data)
        if not keywords and not self._own:
            return []
        if not self._escapes.isdisjoint(keywords):
            data = text_as_bytes(unescaped(text))
            keywords = self._literals.present(data)
        rules: set[int] = set()
        rules.update(*map(self._rules_of.__getitem__, keywords))
        work = Work(len(data))
        fitting = sorted([index for index in rules if self._least_lengths[index] <= len(data)])
        found: list[SecretMatch] = []
        for search in [self._searches[index] for index in fitting]:
            known = _ends_by_start(found) if search.rule.judge in _BESIDE_WORDS else {}
            for start, end, key_start in search.found(data, work):
                if start == end or known.get(start, -1) >= end:
                    continue
                work.candidates += 1
                if self._is_credential(search.rule, text, (start, end), key_start):
                    work.matches += 1
                    found.append(SecretMatch(search.rule, start, end))
                if work.is_over:
                    break
            if work.is_over:
                return [SecretMatch(search.rule, 0, len(text))]
        if self._own:
            found += self._own_matches(data, work)
        return _merged(found) if found else found

    def _own_matches(self, data: bytes, work: Work) -> list[SecretMatch]:
        found: list[SecretMatch] = []
        for rule, pattern in self._own:
            for match in pattern.finditer(data):
                work.candidates += 1
                start, end = match.span(min(1, pattern.groups))
                if 0 <= start < end and not self._is_allowed(data[start:end]):
                    work.matches += 1
                    found.append(SecretMatch(rule, start, end))
                if work.is_over:
                    return [SecretMatch(rule, 0, len(data))]
        return found

    def _search(self, index: int) -> Search:
        rule = self._rules[index]
        return _SEARCHES.get(rule.judge, PatternSearch)(rule)

    def _is_credential(
        self, rule: SecretRule, text: str, span: tuple[int, int], key_start: int
    ) -> bool:
        from interlock.secrets.candidates import (  # noqa: PLC0415 - most texts hold no candidate
            Candidate,
            is_credential,
        )

        secret = text[slice(*span)]
        if not is_credential(rule, Candidate(text, *span, key_start, secret)):
            return False
        return not self._is_allowed(text_as_bytes(secret))

    def _is_allowed(self, secret: bytes) -> bool:
        return any(pattern.fullmatch(secret) is not None for pattern in self._allowed)


class _OnFirstUse(dict[int, T]):
    """What is made for a rule when it is needed: one short text needs a handful of the rules."""

    def __init__(self, made: Callable[[int], T]) -> None:
        super().__init__()
        self._made = made

    def __missing__(self, index: int) -> T:
        found = self[index] = self._made(index)
        return found


def _ends_by_start(found: Sequence[SecretMatch]) -> dict[int, int]:
    return {match.start: match.end for match in found}


def _rules_by_keyword(rules: Sequence[SecretRule], keywords: list[str]) -> list[list[int]]:
    places = {keyword: place for place, keyword in enumerate(keywords)}
    table: list[list[int]] = [[] for _ in keywords]
    for index, rule in enumerate(rules):
        for keyword in rule.literals:
            table[places[keyword]].append(index)
    return table


def _own_rule(pattern: str, title: str) -> SecretRule:
    return SecretRule(family="own", id="pattern", title=title, pattern=pattern)


def _policy_pattern(key: str, pattern: str) -> re2.Regexp[bytes]:
    try:
        return compiled(pattern)
    except (re2.error, UnicodeEncodeError) as error:
        raise PolicyError(
            [f"`secrets.{key}`: `{pattern}` is not a pattern in RE2 syntax and ASCII"]
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


class LiteralSet:
    """Which of many ASCII literals stand in a text: with capitals as they are, or in any case."""

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
                texts = data, data.lower()
                return [i for i, each in enumerate(self._literals) if each in texts[each.islower()]]
            self._set = self._built()
        return sorted(self._set.Match(data) or ())

    def _built(self) -> re2.Set:
        chosen = options()
        # Where a text holds many of them, what was learnt of it must not be forgotten at once.
        chosen.max_mem = _SET_BYTES
        literals = re2.Set.SearchSet(chosen)
        for literal in self._literals:
            pattern = re2.escape(literal)
            literals.Add(b"(?i:%b)" % pattern if literal.islower() else pattern)
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
