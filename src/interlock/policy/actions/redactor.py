"""Keeps secrets out of everything that gates say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace

from interlock.commands.code.code_values import excerpt_of
from interlock.model.verdict import Finding
from interlock.secrets.redaction import KnownSecrets, redact
from interlock.secrets.scanner import SecretMatch

_MAX_MESSAGE: Final = 400
_SHORTEST_PART: Final = 6

_Scan = Callable[[str], Sequence[SecretMatch]]


class Redactor:
    """Replaces every credential of one input, whole, before anything is cut short."""

    __slots__ = ("_known", "_scan", "is_taken_apart")

    def __init__(self, scan: _Scan, texts: Sequence[str], joined: str = "") -> None:
        """Take the input's texts, and what a shell would make of them once quotes are off."""
        self._scan = scan
        known: dict[str, str] = {}
        for text in texts:
            _add(known, text, scan(text))
        self.is_taken_apart = False
        """Whether a credential shows only once the input is put together, as a shell would."""
        if joined and (matches := scan(joined)):
            together = {joined[each.start : each.end]: each.rule.id for each in matches}
            for secret in known.keys() & together:
                del together[secret]
            self.is_taken_apart = together.keys() != KnownSecrets(together).those_in(texts)
            _add(known, joined, matches)
        self._known = KnownSecrets(known) if known else None

    def finding(self, finding: Finding) -> Finding:
        """Return the finding without a character of any credential."""
        excerpt = finding.excerpt
        if self.is_taken_apart:
            # Its parts stand in the text as it was written, where nothing can name them.
            excerpt = None
        if excerpt is not None:
            excerpt = excerpt_of(self.text(excerpt))
        message = self.text(finding.message)
        if len(message) > _MAX_MESSAGE:
            message = message[: _MAX_MESSAGE - 1] + "…"
        return replace(finding, message=message, excerpt=excerpt)

    def text(self, text: str) -> str:
        """Return the text with every credential replaced by its kind."""
        if self._known is not None:
            text = self._known.replaced(text)
        return redact(text, self._scan(text))


def _add(known: dict[str, str], text: str, matches: Sequence[SecretMatch]) -> None:
    """Add the credentials in a text, and the parts a shell would take them apart into."""
    for match in matches:
        kind = match.rule.id
        for part in _with_parts(text[match.start : match.end]):
            known[part] = min(kind, known.get(part, kind))


def _with_parts(secret: str) -> list[str]:
    words = "".join([char if char.isalnum() or char in "-_" else " " for char in secret]).split()
    telling = [word for word in words if len(word) >= _SHORTEST_PART and not word.isalpha()]
    return [secret, *telling]
