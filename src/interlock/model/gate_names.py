"""The names that other definitions have for what a review gate says, brought to ours.

Two names for one thing are no mistake as long as they say the same.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final, cast

from interlock.errors import InputError
from interlock.model.entrance import checked, unexpected_name

RETRY_CONFIG: Final = ("retry_config", "retryConfig")
RETRIES: Final = ("max_attempts", "improvement_hints", "preserve_context")
"""What `retry_config` holds."""
OTHER_FIELDS: Final = {
    "enforcementMode": "mode",
    "enforcement_mode": "mode",
    "maxAttempts": "max_attempts",
    "improvementHints": "improvement_hints",
    "preserveContext": "preserve_context",
}
FAILURE_ACTION: Final = ("failureAction", "failure_action")


class FailureAction(enum.StrEnum):
    """What a gate does that fails, in the words of other definitions."""

    STOP = "stop"
    ABORT = "abort"
    RETRY = "retry"
    ROLLBACK = "rollback"
    SKIP = "skip"

    @property
    def mode(self) -> str:
        """The mode that comes to the same."""
        return "advisory" if self is FailureAction.SKIP else "blocking"


def gate_in_our_names(table: Mapping[str, object], *, dash: str = "_") -> dict[str, object]:
    """Return a review gate with one name for each thing; InputError for two that differ.

    `dash` is what our own names have between their words.
    """
    said: dict[str, tuple[str, object]] = {}
    for given, ours, value in _gate_fields(table):
        field = given if ours is None else ours.replace("_", dash)
        name, earlier = said.setdefault(field, (given, value))
        if name != given and earlier != value:
            raise InputError(
                f"`{name}` and `{given}` say two things of `{field}`: keep `{field}` alone"
            )
    return {field: value for field, (_, value) in said.items()}


def _gate_fields(table: Mapping[str, object]) -> Iterator[tuple[str, str | None, object]]:
    """Yield each field as it is named, as we name it if that is another name, and its value."""
    for given, value in table.items():
        if given in RETRY_CONFIG:
            yield from _retry_fields(given, checked(value, Mapping[str, object], given))
        elif given in FAILURE_ACTION:
            action = cast("FailureAction", checked(value, FailureAction, given))
            yield given, "mode", action.mode
        else:
            yield given, OTHER_FIELDS.get(given), value


def _retry_fields(
    place: str, table: Mapping[str, object]
) -> Iterator[tuple[str, str | None, object]]:
    for given, value in table.items():
        field = OTHER_FIELDS.get(given, str(given).replace("-", "_"))
        if field not in RETRIES:
            raise unexpected_name(str(given), RETRIES, f"`{place}`")
        yield f"{place}.{given}", field, value
