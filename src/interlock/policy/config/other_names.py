"""The names that other definitions have for keys of the policy, brought to ours.

Two names for one thing are no mistake as long as they say the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, cast

from interlock.errors import InputError
from interlock.model.review import ReviewMode
from interlock.policy.config.complaints import is_table, joined, nearest, shown, suggestion

_AUTO_CONTINUE: Final = "auto_continue"
_AUTO_CONTINUE_KEYS: Final = {
    "enabled": "stops.auto-continue",
    "confidence_threshold": "stops.continue-at",
    "max_retries": "stops.max-retries",
    "intent_phrases": "stops.continue-phrases",
    "completion_phrases": "stops.completion-phrases",
}
_OTHERS: Final = {
    "secretPatterns": "secrets.patterns",
    "diffSizeThreshold": "diff-size.threshold",
    **{f"{_AUTO_CONTINUE}.{name}": path for name, path in _AUTO_CONTINUE_KEYS.items()},
}
"""Keys of a policy by another name."""

_RETRIES: Final = ("max_attempts", "improvement_hints", "preserve_context")
_OF_GATES: Final = {
    "enforcementMode": "mode",
    "enforcement_mode": "mode",
    "maxAttempts": "max_attempts",
    "improvementHints": "improvement_hints",
    "preserveContext": "preserve_context",
}
_ON_FAILURE: Final = {
    "stop": ReviewMode.BLOCKING,
    "retry": ReviewMode.BLOCKING,
    "rollback": ReviewMode.BLOCKING,
    "skip": ReviewMode.ADVISORY,
}
"""What a gate does that fails, by the word that other definitions have for it."""


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
    for other, path in _OTHERS.items():
        outer, _, inner = other.rpartition(".")
        holder = ours.get(outer) if outer else ours
        if not is_table(holder) or inner not in holder:
            continue
        value = holder.pop(inner)
        section, _, name = path.partition(".")
        keys = ours.setdefault(section, {})
        if is_table(keys) and keys.setdefault(name, value) != value:
            doubts.append(Doubt(other, f"`{path}` says something else: keep that one", path))
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


def gate_in_our_names(table: Mapping[str, object], *, dash: str = "_") -> dict[str, object]:
    """Return a review gate with one name for each thing; InputError for two that differ.

    `dash` is what our own names have between their words.
    """
    said: dict[str, tuple[str, object]] = {}
    for given, ours, value in _gate_fields(table):
        field = given if ours is None else ours.replace("_", dash)
        name, earlier = said.setdefault(field, (given, value))
        if earlier != value:
            raise InputError(
                f"`{name}` is {shown(earlier)} and `{given}` is {shown(value)}: they say"
                f" the same thing, keep `{field}`"
            )
    return {field: value for field, (_, value) in said.items()}


def _gate_fields(table: Mapping[str, object]) -> Iterator[tuple[str, str | None, object]]:
    """Yield each field as it is named, as we name it if that is another name, and its value."""
    for given, value in table.items():
        if given in ("retry_config", "retryConfig"):
            yield from _retry_fields(given, value)
        elif given in ("failureAction", "failure_action"):
            mode = _ON_FAILURE.get(value) if isinstance(value, str) else None
            if mode is None:
                known = suggestion(str(value), _ON_FAILURE)
                raise InputError(f"`{given}` is {shown(value)}{known}")
            yield given, "mode", mode.value
        else:
            yield given, _OF_GATES.get(given), value


def _retry_fields(place: str, table: object) -> Iterator[tuple[str, str, object]]:
    if not isinstance(table, Mapping):
        raise InputError(f"`{place}` is {shown(table)}, expected a table")
    for given, value in cast("Mapping[str, object]", table).items():
        field = _OF_GATES.get(given, given.replace("-", "_"))
        if field not in _RETRIES:
            raise InputError(f"`{joined(place, given)}`{suggestion(given, _RETRIES)}")
        yield f"{place}.{given}", field, value
