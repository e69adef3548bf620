"""Keeps secrets out of everything that gates say."""

from __future__ import annotations

from interlock.model.verdict import Finding
from interlock.policy.actions.secrets.redaction import redact
from interlock.policy.actions.secrets.scanner import SecretScanner
from interlock.policy.actions.shell.commands import excerpt_of

_MAX_MESSAGE = 400


class Redactor:
    """Replaces every credential of one input, whole, before anything is cut short."""

    __slots__ = ("_known", "_scanner")

    def __init__(self, scanner: SecretScanner, texts: list[str]) -> None:
        self._scanner = scanner
        self._known = sorted(
            {
                (text[match.start : match.end], match.rule.id)
                for text in texts
                for match in scanner.scan(text)
            },
            key=lambda known: (-len(known[0]), known),
        )

    def finding(self, finding: Finding) -> Finding:
        """Return the finding without a character of any credential."""
        excerpt = None if finding.excerpt is None else excerpt_of(self.text(finding.excerpt))
        message = self.text(finding.message)
        if (
            excerpt == finding.excerpt
            and message == finding.message
            and len(message) <= _MAX_MESSAGE
        ):
            return finding
        return Finding(
            gate=finding.gate,
            rule=finding.rule,
            decision=finding.decision,
            severity=finding.severity,
            message=message if len(message) <= _MAX_MESSAGE else message[: _MAX_MESSAGE - 1] + "…",
            remediation=finding.remediation,
            excerpt=excerpt,
        )

    def text(self, text: str) -> str:
        """Return the text with every credential replaced by its kind."""
        for secret, kind in self._known:
            if secret in text:
                text = text.replace(secret, f"[{kind}]")
        return redact(text, self._scanner.scan(text))
