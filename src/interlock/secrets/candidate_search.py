"""Where candidates for credentials stand in a text, in linear time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import re2

from interlock.secrets.credential_rules import SECRET, SecretRule

_FEW_MATCHES: Final = 1_000
_BYTES_PER_MATCH: Final = 32
_FEW_CANDIDATES: Final = 2_000
_BYTES_PER_CANDIDATE: Final = 16
_FEW_ATTEMPTS: Final = 2_000
_BYTES_PER_ATTEMPT: Final = 16
_DENSE: Final = 8
_QUOTES: Final = b"\\\"'`"
_BRIEF_TEXT: Final = 256


class Found(NamedTuple):
    """A candidate at text[start:end], and where what led to it begins."""

    start: int
    end: int
    key_start: int


class Work:
    """What was done for one text, and how much there may be of it: so much for each byte."""

    def __init__(self, size: int) -> None:
        """Take the size of the text in bytes."""
        self.attempts = self.candidates = self.matches = 0
        self._most_attempts = _FEW_ATTEMPTS + size // _BYTES_PER_ATTEMPT
        self._most_candidates = _FEW_CANDIDATES + size // _BYTES_PER_CANDIDATE
        self._most_matches = _FEW_MATCHES + size // _BYTES_PER_MATCH

    @property
    def is_over(self) -> bool:
        """Whether more was done than may be."""
        return (
            self.attempts > self._most_attempts
            or self.candidates > self._most_candidates
            or self.matches > self._most_matches
        )


class PatternSearch:
    """A rule's pattern, ready to run."""

    def __init__(self, rule: SecretRule) -> None:
        """Compile the pattern of a rule."""
        self.rule = rule
        self.pattern = compiled(rule.regex)
        self._begins = _beginning(rule)
        self._may_overlap = _may_overlap([head.lower() for head in rule.beginnings])
        names = self.pattern.groupindex.items()
        named = [index for name, index in names if name.decode("ascii").startswith(SECRET)]
        self._groups = sorted(named) or [min(1, self.pattern.groups)]

    def found(self, data: bytes, work: Work) -> Iterator[Found]:
        """Yield what each match takes for a credential."""
        for match in self._matches(data, work):
            yield Found(*self._span(match, data), match.start())

    def _matches(self, data: bytes, work: Work) -> Iterator[re2.Match[bytes]]:
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

    def _span(self, match: re2.Match[bytes], data: bytes) -> tuple[int, int]:
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
    return compiled("|".join(heads)) if heads else None


def _may_overlap(heads: Sequence[str]) -> bool:
    """Whether one of them may begin within another."""
    rests = {head[start:] for head in heads for start in range(1, len(head))}
    return any(rest.startswith(head) or head.startswith(rest) for rest in rests for head in heads)


def options() -> re2.Options:
    """Return how every pattern is compiled: one byte per character, nothing printed."""
    chosen = re2.Options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    chosen.log_errors = False
    return chosen


def compiled(pattern: str) -> re2.Regexp[bytes]:
    """Compile an ASCII pattern; raise re2.error or UnicodeEncodeError."""
    return re2.compile(pattern.encode("ascii"), options())
