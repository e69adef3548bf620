"""Does a credential stand in what an agent writes, runs or sends?"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from interlock.model.verdict import Finding
from interlock.policy.config.document import Secrets
from interlock.secrets.redaction import redact
from interlock.secrets.scanner import SecretMatch, SecretScanner

_MOST_FINDINGS = 100
_LONGEST_EXCERPT = 120
_LONGEST_NAMED_VALUE = 512
_LONGEST_PATH = 8
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


def strings_in(params: object) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of every string in parsed JSON, keys included.

    A short value is given with the names it stands under, as `name="value"`: what a value
    means often shows only there.
    """
    waiting: list[tuple[_Path, object]] = [((), params)]
    seen: set[int] = set()
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield _place(path), _with_names(path, value)
            continue
        # Parameters may contain themselves: once is enough.
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Mapping):
            entries = cast("Mapping[object, object]", value)
            yield from _keys_and_pairs(path, entries)
            waiting.extend(
                (_below(path, str(key)), entries[key]) for key in reversed(list(entries))
            )
        elif isinstance(value, Sequence):
            items = cast("Sequence[object]", value)
            waiting.extend(
                (_below(path, f"[{index}]"), items[index]) for index in reversed(range(len(items)))
            )


_Path = tuple[str, ...]


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


def _keys_and_pairs(path: _Path, entries: Mapping[object, object]) -> Iterator[tuple[str, str]]:
    """Yield the keys that no short value is rendered with, and `{name, value}` as one."""
    for key, child in entries.items():
        if not isinstance(child, str) or not _is_short(child):
            yield _place(path), str(key)
    value = entries.get("value")
    name = entries.get("name", entries.get("key"))
    if isinstance(name, str) and isinstance(value, str) and _is_short(value):
        yield _place((*path, "value")), f'{name}="{value}"'


def _with_names(path: _Path, value: str) -> str:
    names = [name for name in path if not name.startswith("[")][-2:]
    return f'{".".join(names)}="{value}"' if names and _is_short(value) else value


def _is_short(value: str) -> bool:
    return len(value) <= _LONGEST_NAMED_VALUE and "\n" not in value


def _below(path: _Path, name: str) -> _Path:
    return (*path[1 - _LONGEST_PATH :], name)


def _place(path: _Path) -> str:
    return ".".join(path).replace(".[", "[")
