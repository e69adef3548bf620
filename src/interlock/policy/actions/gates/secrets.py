"""Does a credential stand in what an agent writes, runs or sends?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from interlock.model.verdict import Finding
from interlock.policy.config.action_sections import Secrets
from interlock.secrets.redaction import redact
from interlock.secrets.scanner import SecretMatch, SecretScanner

_MOST_FINDINGS = 100
_LONGEST_EXCERPT = 120
_CUT = "…"
_REMEDIATION = (
    "leave the value out: read it from an environment variable or a secret store at run time"
    ' (`${NAME}`, `process.env.NAME`, `os.environ["NAME"]`), and rotate it if it was ever real'
)


def secrets_gate(
    text: str, *, place: str, scanner: SecretScanner, settings: Secrets
) -> Iterator[Finding]:
    """Yield one finding per credential, up to a hundred, without a character of any of them."""
    if not settings.enabled:
        return
    matches = scanner.scan(text)
    if not matches:
        return
    shown_place = redact(place, scanner.scan(place))
    every = _with_copies(text, matches)
    for match in matches[:_MOST_FINDINGS]:
        yield Finding(
            gate="secrets",
            rule=f"secrets.{match.rule.name}",
            decision=settings.decision,
            severity=match.rule.severity,
            message=f"{match.rule.title} stands in {shown_place}",
            remediation=match.rule.remediation or _REMEDIATION,
            excerpt=_excerpt(text, match, every, settings.fingerprint_key),
        )


def _with_copies(text: str, matches: Sequence[SecretMatch]) -> Sequence[SecretMatch]:
    """Return the matches and, in their order, whatever repeats one of them inside another word.

    A credential that sticks to a letter is not taken for one, but an excerpt must not show it.
    """
    rules = {text[match.start : match.end]: match.rule for match in matches[:_MOST_FINDINGS]}
    taken = {match.start for match in matches}
    copies = [
        SecretMatch(rule, start, start + len(secret))
        for secret, rule in rules.items()
        for start in _places_of(secret, text)
        if start not in taken
    ]
    return (
        sorted([*matches, *copies], key=lambda each: (each.start, each.end)) if copies else matches
    )


def _places_of(secret: str, text: str) -> Iterator[int]:
    at = text.find(secret)
    while at >= 0:
        yield at
        at = text.find(secret, at + len(secret))


def _excerpt(
    text: str, match: SecretMatch, matches: Sequence[SecretMatch], fingerprint_key: str
) -> str:
    """Return what stands around a credential on its line, every credential in it redacted."""
    line_start = text.rfind("\n", 0, match.start) + 1
    line_end = text.find("\n", match.end)
    first = max(line_start, match.start - _LONGEST_EXCERPT)
    last = min(len(text) if line_end < 0 else line_end, match.end + _LONGEST_EXCERPT)
    before = _shown(text, first, match.start, matches, fingerprint_key)
    label = _shown(text, match.start, match.end, matches, fingerprint_key)
    after = _shown(text, match.end, last, matches, fingerprint_key)
    return _cut_around(before.lstrip(), label, after.rstrip())


def _shown(
    text: str, first: int, last: int, matches: Sequence[SecretMatch], fingerprint_key: str
) -> str:
    """Return text[first:last] redacted, widened to the credentials that its ends would cut."""
    after = bisect_right(matches, first, key=lambda match: match.end)
    before = bisect_left(matches, last, key=lambda match: match.start)
    near = matches[after:before]
    if near:
        first, last = min(first, near[0].start), max(last, near[-1].end)
    moved = [SecretMatch(match.rule, match.start - first, match.end - first) for match in near]
    return redact(text[first:last], moved, fingerprint_key=fingerprint_key)


def _cut_around(before: str, label: str, after: str) -> str:
    """Shorten both sides alike; a side that needs less leaves its room to the other."""
    room = max(0, _LONGEST_EXCERPT - len(label))
    left = min(len(before), max(room // 2, room - len(after)))
    right = min(len(after), room - left)
    shown_before = before if left == len(before) else _CUT + before[len(before) - left + 1 :]
    shown_after = after if right == len(after) else after[: right - 1] + _CUT
    return shown_before + label + shown_after
