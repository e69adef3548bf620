"""A review gate as plain values → a gate, with a clear error for anything else."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from interlock.errors import InputError
from interlock.model.review import Check, GateAction, ReviewGate, ReviewMode
from interlock.model.verdict import Severity
from interlock.policy.config.complaints import as_clause, shown, suggestion
from interlock.policy.config.other_names import gate_in_our_names

_Member = TypeVar("_Member", bound=enum.Enum)


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


def gate_from(table: Mapping[str, object], place: str) -> ReviewGate:
    """Return the gate that a table describes; InputError names the place and what is wrong.

    `retry_config`, `enforcementMode` and `failureAction` are known by those names as well.
    """
    try:
        given = msgspec.convert(gate_in_our_names(table), _GateTable)
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
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {_in_words(error)}") from error
    except InputError as error:
        raise InputError(f"{place}: {error}") from error


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
