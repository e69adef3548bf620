"""How RE2 is used: on Latin-1 bytes, silent about its own errors."""

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
