"""Keeps secrets out of everything that gates say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from interlock.commands.code.code_values import excerpt_of
from interlock.model.verdict import Finding
from interlock.secrets.redaction import redact
from interlock.secrets.scanner import SecretScanner

_MAX_MESSAGE: Final = 400
_SHORTEST_PART: Final = 6


class Redactor:
    """Replaces every credential of one input, whole, before anything is cut short."""

    __slots__ = ("_known", "_scanner", "_taken_apart")

    def __init__(self, scanner: SecretScanner, texts: Sequence[str], joined: str = "") -> None:
        """Take the input's texts, and what a shell would make of them once quotes are off."""
        self._scanner = scanner
        known = {pair for text in (*texts, joined) for pair in _credentials(scanner, text)}
        self._known = sorted(known, key=lambda pair: (-len(pair[0]), pair))
        self._taken_apart = any(
            not any(secret in text for text in texts) for secret, _ in self._known
        )

    @property
    def is_taken_apart(self) -> bool:
        """Whether a credential shows only once the input is put together, as a shell would."""
        return self._taken_apart

    def finding(self, finding: Finding) -> Finding:
        """Return the finding without a character of any credential."""
        excerpt = finding.excerpt
        if self._taken_apart:
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
        for secret, kind in self._known:
            if secret in text:
                text = text.replace(secret, f"[{kind}]")
        return redact(text, self._scanner.scan(text))


def _credentials(scanner: SecretScanner, text: str) -> list[tuple[str, str]]:
    """Return the credentials in a text, and the parts a shell would take them apart into."""
    return [
        (part, match.rule.id)
        for match in scanner.scan(text)
        for part in _with_parts(text[match.start : match.end])
    ]


def _with_parts(secret: str) -> list[str]:
    words = "".join([char if char.isalnum() or char in "-_" else " " for char in secret]).split()
    telling = [word for word in words if len(word) >= _SHORTEST_PART and not word.isalpha()]
    return [secret, *telling]
