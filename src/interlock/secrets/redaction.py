"""What is shown instead of a credential: its kind, and a keyed fingerprint where there is a key."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable

from interlock.secrets.scanner import SecretMatch

_FINGERPRINT_DIGITS = 8


def redact(text: str, matches: Iterable[SecretMatch], *, fingerprint_key: str = "") -> str:
    """Replace every match by its kind; nothing of the credential itself remains."""
    parts: list[str] = []
    done = 0
    for match in sorted(matches, key=lambda match: (match.start, match.end)):
        parts.append(text[done : match.start])
        if match.end > done:
            parts.append(_label(match, text[match.start : match.end], fingerprint_key))
            done = match.end
    parts.append(text[done:])
    return "".join(parts)


def fingerprint(secret: str, key: str) -> str:
    """Return digits that tell one credential from another and can be computed only with the key."""
    message = secret.encode("utf-8", "surrogatepass")
    digest = hmac.new(key.encode("utf-8", "surrogatepass"), message, hashlib.sha256)
    return digest.hexdigest()[:_FINGERPRINT_DIGITS]


def _label(match: SecretMatch, secret: str, key: str) -> str:
    return f"[{match.rule.id} #{fingerprint(secret, key)}]" if key else f"[{match.rule.id}]"
