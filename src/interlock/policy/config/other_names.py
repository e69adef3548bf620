"""The names that other definitions have for keys of the policy, brought to ours.

Two names for one thing are no mistake as long as they say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

from interlock.policy.config.complaints import is_table, joined, mistaken, nearest, suggestion

_AUTO_CONTINUE: Final = "auto_continue"
_AUTO_CONTINUE_KEYS: Final = {
    "enabled": "stops.auto-continue",
    "confidence_threshold": "stops.continue-at",
    "max_retries": "stops.max-retries",
    "intent_phrases": "stops.continue-phrases",
    "completion_phrases": "stops.completion-phrases",
}
OTHER_KEYS: Final = {
    "secretPatterns": "secrets.patterns",
    "diffSizeThreshold": "diff-size.threshold",
    **{f"{_AUTO_CONTINUE}.{name}": path for name, path in _AUTO_CONTINUE_KEYS.items()},
}
"""Keys of a policy by another name."""

OWN_PATTERNS: Final = "secrets.patterns"
PATTERN: Final = "pattern"
PATTERN_FIELDS: Final = frozenset((PATTERN, "name"))
"""What a pattern may say that is a table of its own: what it is, and what it is for."""


class Doubt(NamedTuple):
    """Where another name stands that does not say what it should, and the key that it is for."""

    place: str
    problem: str
    key: str | None


def policy_in_our_names(table: Mapping[str, object]) -> tuple[dict[str, object], list[Doubt]]:
    """Return a policy with one name for each key, and what is wrong with the other names."""
    ours: dict[str, object] = {
        name: {**value} if is_table(value) else value for name, value in table.items()
    }
    doubts: list[Doubt] = []
    for other, path in OTHER_KEYS.items():
        outer, _, inner = other.rpartition(".")
        holder = ours.get(outer) if outer else ours
        if not is_table(holder) or inner not in holder:
            continue
        value = holder.pop(inner)
        section, _, name = path.partition(".")
        keys = ours.setdefault(section, {})
        if is_table(keys) and keys.setdefault(name, value) != value:
            doubts.append(Doubt(other, f"`{path}` says something else: keep that one", path))
    doubts += _make_plain(ours)
    rest = ours.get(_AUTO_CONTINUE)
    if is_table(rest):
        del ours[_AUTO_CONTINUE]
        doubts += [
            Doubt(
                joined(_AUTO_CONTINUE, name),
                f"unknown key{suggestion(name, _AUTO_CONTINUE_KEYS)}",
                _AUTO_CONTINUE_KEYS.get(nearest(name, _AUTO_CONTINUE_KEYS) or ""),
            )
            for name in rest
        ]
    return ours, doubts


def _make_plain(ours: Mapping[str, object]) -> list[Doubt]:
    """Put the pattern itself in the place of a table that holds one; return what is wrong there."""
    section, _, name = OWN_PATTERNS.partition(".")
    keys = ours.get(section)
    if not is_table(keys) or not isinstance(patterns := keys.get(name), list):
        return []
    entries = cast("list[object]", patterns)
    doubts = [
        Doubt(place, problem, OWN_PATTERNS)
        for at, entry in enumerate(entries)
        if is_table(entry)
        for place, problem in _pattern_problems(f"{OWN_PATTERNS}[{at}]", entry)
    ]
    keys[name] = [entry[PATTERN] if is_table(entry) else entry for entry in entries if not doubts]
    return doubts


def _pattern_problems(place: str, entry: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield where a pattern that is a table is wrong, and how; the pattern itself is read later."""
    for field, value in entry.items():
        if field not in PATTERN_FIELDS:
            yield joined(place, field), f"unknown key{suggestion(field, PATTERN_FIELDS)}"
        elif field != PATTERN and not isinstance(value, str):
            yield joined(place, field), mistaken(value, "text")
    # Whoever misspelt the key has not forgotten it.
    if PATTERN not in entry and all(nearest(field, PATTERN_FIELDS) != PATTERN for field in entry):
        yield place, f"the key `{PATTERN}` is missing"
