"""A review gate as plain values → a gate, with a clear error for anything else."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Final, TypeVar, cast

import msgspec

from interlock.errors import InputError
from interlock.model.review import Check, GateAction, ReviewGate, ReviewMode
from interlock.model.verdict import Severity
from interlock.policy.config.complaints import as_clause, shown, suggestion

_Member = TypeVar("_Member", bound=enum.Enum)

_RETRIES: Final = ("max_attempts", "improvement_hints", "preserve_context")


class _CheckTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    argv: tuple[str, ...]
    timeout_s: int | None = None


class _GateTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    criteria: tuple[str, ...] = ()
    severity: str | None = None
    mode: str | None = None
    max_attempts: int | None = None
    improvement_hints: bool = True
    preserve_context: bool = True
    check: _CheckTable | None = None


_OTHER_NAMES: Final = {
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


def gate_from(table: Mapping[str, object], place: str) -> ReviewGate:
    """Return the gate that a table describes; InputError names the place and what is wrong.

    `retry_config`, `enforcementMode` and `failureAction` are known by those names as well.
    """
    try:
        given = msgspec.convert(_in_our_names(table, place), _GateTable)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {_in_words(error)}") from error
    try:
        return ReviewGate(
            id=given.id,
            criteria=given.criteria,
            severity=_named(Severity, "severity", given.severity),
            mode=_named(ReviewMode, "mode", given.mode),
            max_attempts=given.max_attempts,
            improvement_hints=given.improvement_hints,
            preserve_context=given.preserve_context,
            check=given.check and Check(argv=given.check.argv, timeout_s=given.check.timeout_s),
        )
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


def _in_our_names(table: Mapping[str, object], place: str) -> dict[str, object]:
    """Return a table with one name for each thing; InputError for two that say different things."""
    said: dict[str, tuple[str, object]] = {}
    for given, field, value in _named_fields(table, place):
        name, earlier = said.setdefault(field, (given, value))
        if earlier != value:
            raise InputError(
                f"{place}: `{name}` is {shown(earlier)} and `{given}` is {shown(value)}: they say"
                f" the same thing, keep `{field}`"
            )
    return {field: value for field, (_, value) in said.items()}


def _named_fields(table: Mapping[str, object], place: str) -> Iterator[tuple[str, str, object]]:
    for given, value in table.items():
        if given in ("retry_config", "retryConfig"):
            if not isinstance(value, Mapping):
                raise InputError(f"{place}: `{given}` is {shown(value)}, expected a table")
            for inner, own in cast("Mapping[str, object]", value).items():
                field = _OTHER_NAMES.get(inner, inner)
                if field not in _RETRIES:
                    raise InputError(f"{place}: `{given}.{inner}`{suggestion(inner, _RETRIES)}")
                yield f"{given}.{inner}", field, own
        elif given in ("failureAction", "failure_action"):
            mode = _ON_FAILURE.get(value) if isinstance(value, str) else None
            if mode is None:
                known = suggestion(str(value), _ON_FAILURE)
                raise InputError(f"{place}: `{given}` is {shown(value)}{known}")
            yield given, "mode", mode.value
        else:
            yield given, _OTHER_NAMES.get(given, given), value


def action_from(name: str) -> GateAction:
    """Return the choice of that name; InputError for any other."""
    return _member(GateAction, "gate_action", name)


def _named(kind: type[_Member], field: str, name: str | None) -> _Member | None:
    return None if name is None else _member(kind, field, name)


def _member(kind: type[_Member], field: str, name: str) -> _Member:
    known = {member.value: member for member in kind}
    member = known.get(name.strip().lower())
    if member is None:
        raise InputError(f"`{field}` is {shown(name)}{suggestion(name, known)}")
    return member


def _in_words(error: msgspec.ValidationError) -> str:
    problem, _, where = str(error).partition(" - at ")
    field = where.strip("`").removeprefix("$.")
    return f"`{field}`: {as_clause(problem)}" if field else as_clause(problem)
