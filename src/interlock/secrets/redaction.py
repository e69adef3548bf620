"""What is shown instead of a credential: its kind, and a keyed fingerprint where there is a key."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping

from interlock.secrets.scanner import SecretMatch

_FINGERPRINT_DIGITS = 8
_LONGEST_HEAD = 16
_FEW_HEADS = 16


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
    import hmac  # noqa: PLC0415 - loads OpenSSL, and most processes find no credential

    message = secret.encode("utf-8", "surrogatepass")
    digest = hmac.new(key.encode("utf-8", "surrogatepass"), message, "sha256")
    return digest.hexdigest()[:_FINGERPRINT_DIGITS]


def _label(match: SecretMatch, secret: str, key: str) -> str:
    return f"[{match.rule.id} #{fingerprint(secret, key)}]" if key else f"[{match.rule.id}]"


class KnownSecrets:
    """Finds known credentials wherever they stand, in one pass over a text, however many there are.

    A place is looked at only if the head of some credential stands there, and then by bisection:
    what begins there is sorted right before the text that follows, or is what that begins with.
    """

    __slots__ = ("_head_size", "_heads", "_kinds", "_longest", "_shorter", "_sorted")

    def __init__(self, kinds: Mapping[str, str]) -> None:
        """Take the credentials, with their kinds."""
        self._kinds = kinds
        self._sorted = sorted(kinds)
        self._longest = max(map(len, self._sorted), default=0)
        self._head_size = min(map(len, self._sorted), default=0)
        self._head_size = min(self._head_size, _LONGEST_HEAD)
        self._heads = {secret[: self._head_size] for secret in self._sorted}
        self._shorter = _shorter_ones(self._sorted)

    def replaced(self, text: str) -> str:
        """Return the text with each replaced by its kind; of several, the first and longest."""
        parts: list[str] = []
        done = 0
        for at in self._places(text):
            index = self._longest_at(text, at) if at >= done else -1
            if index >= 0:
                secret = self._sorted[index]
                parts += (text[done:at], f"[{self._kinds[secret]}]")
                done = at + len(secret)
        return "".join([*parts, text[done:]]) if parts else text

    def those_in(self, texts: Iterable[str]) -> set[str]:
        """Return those that stand in any of the texts."""
        found: set[int] = set()
        for text in texts:
            for at in self._places(text):
                index = self._longest_at(text, at)
                while index >= 0 and index not in found:
                    found.add(index)
                    index = self._shorter[index]
        return {self._sorted[index] for index in found}

    def _places(self, text: str) -> Iterable[int]:
        """Return where one of them may begin, in ascending order."""
        heads, size = self._heads, self._head_size
        if len(heads) <= _FEW_HEADS:
            return sorted(at for head in heads for at in _places_of(head, text))
        return [at for at in range(len(text) - size + 1) if text[at : at + size] in heads]

    def _longest_at(self, text: str, at: int) -> int:
        """Return the index of the longest one that begins at a place; -1 if none does."""
        following = text[at : at + self._longest]
        index = bisect_right(self._sorted, following) - 1
        while index >= 0 and not following.startswith(self._sorted[index]):
            index = self._shorter[index]
        return index


def _shorter_ones(ordered: list[str]) -> list[int]:
    """Return, for each of sorted texts, the index of the longest other one that it begins with."""
    shorter: list[int] = []
    around: list[int] = []
    for index, text in enumerate(ordered):
        while around and not text.startswith(ordered[around[-1]]):
            around.pop()
        shorter.append(around[-1] if around else -1)
        around.append(index)
    return shorter


def _places_of(part: str, text: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)
