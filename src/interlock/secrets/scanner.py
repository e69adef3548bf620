"""Which credentials stand in a text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import re2

from interlock.errors import PolicyError
from interlock.secrets.credential_rules import SECRET, SecretRule

_FEW_MATCHES = 1_000
_BYTES_PER_MATCH = 32
_FEW_CANDIDATES = 2_000
_BYTES_PER_CANDIDATE = 16
_FEW_ATTEMPTS = 2_000
_BYTES_PER_ATTEMPT = 16
_DENSE = 8
_QUOTES = b"\\\"'`"
_SHORT_TEXT = 2048
_BRIEF_TEXT = 256
_SHORT_NAME = 64
_REMEMBERED = 1024
_CHEAP_LOOKS = 8
_TESTED = 32
_SET_BYTES = 32 << 20


_OWN: Final = SecretRule(
    family="own", id="pattern", title="what the policy calls a secret", pattern="."
)


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
        own: Sequence[str] = (),
    ) -> None:
        """Take the rules but those in `off`, by family, id or `family.id`.

        A credential that one of the `allow` patterns (RE2) matches as a whole is let through.
        What one of the `own` patterns matches is a secret as it stands.
        """
        self._rules = tuple(
            rule for rule in rules if not {rule.name, rule.id, rule.family}.intersection(off)
        )
        self._searches: dict[int, _Search] = {}
        keywords = sorted({keyword for rule in self._rules for keyword in rule.literals})
        self._literals = LiteralSet(keywords)
        self._rules_of = _rules_by_keyword(self._rules, keywords)
        self._allowed = [_policy_pattern("allow", pattern) for pattern in allow]
        self._own = [_policy_pattern("patterns", pattern) for pattern in own]
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
        data = _text_as_bytes(text)
        rules: set[int] = set()
        for keyword in self._literals.present(data):
            rules.update(self._rules_of[keyword])
        work = _Work(len(data))
        if not rules:
            return _merged(self._own_matches(data, work)) if self._own else []
        searches = [self._searches.get(index) or self._search(index) for index in sorted(rules)]
        found: list[SecretMatch] = []
        for search in searches:
            for match in search.matches(data, work):
                start, end = search.span(match, data)
                if start == end:
                    continue
                work.candidates += 1
                if self._is_credential(search.rule, text, (start, end), match.start()):
                    work.matches += 1
                    found.append(SecretMatch(search.rule, start, end))
                if work.is_over:
                    break
            if work.is_over:
                return [SecretMatch(search.rule, 0, len(text))]
        if self._own:
            found += self._own_matches(data, work)
        return _merged(found) if found else found

    def _own_matches(self, data: bytes, work: _Work) -> list[SecretMatch]:
        found: list[SecretMatch] = []
        for pattern in self._own:
            for match in pattern.finditer(data):
                work.candidates += 1
                start, end = match.span(min(1, pattern.groups))
                if 0 <= start < end and not self._is_allowed(data[start:end]):
                    work.matches += 1
                    found.append(SecretMatch(_OWN, start, end))
                if work.is_over:
                    return [SecretMatch(_OWN, 0, len(data))]
        return found

    def _search(self, index: int) -> _Search:
        # Compiled on first use: a process that scans one short text needs a handful of rules.
        search = self._searches[index] = _Search(self._rules[index])
        return search

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
        return not self._is_allowed(_text_as_bytes(secret))

    def _is_allowed(self, secret: bytes) -> bool:
        return any(pattern.fullmatch(secret) is not None for pattern in self._allowed)


class _Work:
    """What was done for one text, and how much there may be of it: so much for each byte."""

    def __init__(self, size: int) -> None:
        self.attempts = self.candidates = self.matches = 0
        self._most_attempts = _FEW_ATTEMPTS + size // _BYTES_PER_ATTEMPT
        self._most_candidates = _FEW_CANDIDATES + size // _BYTES_PER_CANDIDATE
        self._most_matches = _FEW_MATCHES + size // _BYTES_PER_MATCH

    @property
    def is_over(self) -> bool:
        return (
            self.attempts > self._most_attempts
            or self.candidates > self._most_candidates
            or self.matches > self._most_matches
        )


class _Search:
    """A rule's pattern, ready to run."""

    def __init__(self, rule: SecretRule) -> None:
        self.rule = rule
        self.pattern = _compiled(rule.regex)
        self._begins = _beginning(rule)
        self._may_overlap = _may_overlap([head.lower() for head in rule.beginnings])
        names = self.pattern.groupindex.items()
        named = [index for name, index in names if name.decode("ascii").startswith(SECRET)]
        self._groups = sorted(named) or [min(1, self.pattern.groups)]

    def matches(self, data: bytes, work: _Work) -> Iterator[re2.Match[bytes]]:
        """Yield every match, the leftmost first and none within another.

        Where it is known what a match begins with, it is tried there and nowhere else: a pattern
        that counts is slow wherever it could have begun at many places before. In a few words it
        cannot have.
        """
        most = _FEW_ATTEMPTS + len(data) // _DENSE
        begins = self._begins if len(data) > _BRIEF_TEXT else None
        starts = None if begins is None else list(islice(self._starts(begins, data), most))
        if starts is None or len(starts) == most:
            yield from self.pattern.finditer(data)
            return
        done = 0
        for start in starts:
            if start < done:
                continue
            work.attempts += 1
            if work.is_over:
                return
            match = self.pattern.match(data, start)
            if match is not None:
                done = match.end()
                yield match

    def _starts(self, begins: re2.Regexp[bytes], data: bytes) -> Iterator[int]:
        """Yield where a match may begin."""
        if not self._may_overlap:
            yield from (found.start() for found in begins.finditer(data))
            return
        found = begins.search(data)
        while found is not None:
            yield found.start()
            found = begins.search(data, found.start() + 1)

    def span(self, match: re2.Match[bytes], data: bytes) -> tuple[int, int]:
        """Return start and end of the credential in a match, without the quotes before it."""
        taken = (match.span(group) for group in self._groups)
        start, end = next((span for span in taken if span[0] >= 0), match.span())
        while start < end and data[start] in _QUOTES:
            start += 1
        return start, end


def _beginning(rule: SecretRule) -> re2.Regexp[bytes] | None:
    """Return what finds where a match may begin: heads without capitals stand for any spelling."""
    heads = [
        f"(?i:{re2.escape(head)})" if head.islower() else re2.escape(head)
        for head in sorted(rule.beginnings)
    ]
    return _compiled("|".join(heads)) if heads else None


def _may_overlap(heads: Sequence[str]) -> bool:
    """Whether one of them may begin within another."""
    rests = {head[start:] for head in heads for start in range(1, len(head))}
    return any(rest.startswith(head) or head.startswith(rest) for rest in rests for head in heads)


def _rules_by_keyword(rules: tuple[SecretRule, ...], keywords: list[str]) -> list[list[int]]:
    places = {keyword: place for place, keyword in enumerate(keywords)}
    table: list[list[int]] = [[] for _ in keywords]
    for index, rule in enumerate(rules):
        for keyword in rule.literals:
            table[places[keyword]].append(index)
    return table


def _policy_pattern(key: str, pattern: str) -> re2.Regexp[bytes]:
    try:
        return _compiled(pattern)
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


def _text_as_bytes(text: str) -> bytes:
    """Return one byte per character, so that offsets are the text's own.

    What Latin-1 does not know, lone surrogates included, becomes `?`: no credential is
    written with it.
    """
    return text.encode("latin-1", "replace")


def _options() -> re2.Options:
    chosen = re2.Options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    chosen.log_errors = False
    return chosen


def _compiled(pattern: str) -> re2.Regexp[bytes]:
    """Compile an ASCII pattern; raise re2.error or UnicodeEncodeError."""
    return re2.compile(pattern.encode("ascii"), _options())


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
        options = _options()
        # Where a text holds many of them, what was learnt of it must not be forgotten at once.
        options.max_mem = _SET_BYTES
        literals = re2.Set.SearchSet(options)
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
