"""The names that other definitions have for keys of the policy, brought to ours.

Two names for one thing are no mistake as long as they say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from interlock.policy.config.complaints import is_list, is_table, joined, nearest, suggestion
from interlock.policy.config.key import INHERITED

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
"""What is a list of tables, but may be one of texts as well."""
_PATTERN: Final = "pattern"


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
    _make_tables(ours)
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


def _make_tables(ours: Mapping[str, object]) -> None:
    """Put a table in the place of each pattern that stands by itself."""
    section, _, name = OWN_PATTERNS.partition(".")
    keys = ours.get(section)
    if is_table(keys) and is_list(entries := keys.get(name)):
        keys[name] = list(_tables(entries))


def _tables(entries: Iterable[object]) -> Iterator[object]:
    # Those of the layers below count in any case.
    said: set[str] = {INHERITED}
    for entry in entries:
        if not isinstance(entry, str):
            yield entry
        elif entry not in said:
            said.add(entry)
            yield {_PATTERN: entry}
