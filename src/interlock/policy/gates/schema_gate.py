"""Are a tool's parameters what the tool expects?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final, cast

import msgspec

from interlock.model.action import Action, ToolAction
from interlock.model.verdict import Decision, Finding, Severity
from interlock.policy.actions.calls.json_text import Unreadable
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import Call
from interlock.policy.actions.parameters import ToolSchema, kind_of
from interlock.policy.gates.contract import Gate

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

    from interlock.policy.gates.schema_work import SchemaWork

_MAX_FINDINGS: Final = 20
_REMEMBERED: Final = 128
_MAX_EXPECTED: Final = 120
_FITTING: Final = "call the tool again with parameters that fit its schema"
_ONE_OBJECT: Final = "call the tool again with one complete JSON object that names each key once"


def _of_call(call: Call, policy: CompiledPolicy) -> Iterator[Finding]:
    if isinstance(call.params, Unreadable):
        yield _finding(call.params.rule, call.params.message, _ONE_OBJECT)
    else:
        yield from schema_gate(call.params, policy.schemas.get(call.name))


def schema_gate(params: Mapping[str, object], schema: ToolSchema | None) -> Iterator[Finding]:
    """Block parameters that break the tool's schema, naming every place but no value."""
    if schema is None:
        return
    from interlock.policy.gates.schema_work import FEW, MOST  # noqa: PLC0415 - most tools have no schema

    work = _work_of(schema).of(params)
    if work > MOST:
        yield _too_complex()
        return
    try:
        # Each place that is named takes as long as hundreds that are looked at.
        errors = schema.errors(params) if work <= FEW else schema.first_error(params)
    except ValueError:
        reason = "nested too deeply, or no valid text"
        yield _finding("unreadable", f"the parameters cannot be checked: {reason}")
        return
    for error in errors[:_MAX_FINDINGS]:
        place = "".join(
            [f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path]
        )
        where = f"parameter `{place.removeprefix('.')}`" if place else "the parameters"
        yield _finding("mismatch", f"{where}: {_expectation(error)}")


def _expectation(error: ValidationError) -> str:
    keyword = error.kind.name
    expected: object = getattr(error.kind, "value", None)
    if keyword == "required":
        return f"`{expected}` is missing"
    if keyword == "additionalProperties" and isinstance(expected, list):
        unknown = ", ".join(f"`{name}`" for name in cast("list[object]", expected))
        return f"{unknown} is not a parameter of this tool"
    return f"{kind_of(error.instance)}, expected `{keyword}` {_shown(expected)}".rstrip()


def _shown(expected: object) -> str:
    """Return what a keyword asks for, where that can be written down."""
    try:
        return (
            msgspec.json.encode(expected).decode()[:_MAX_EXPECTED] if expected is not None else ""
        )
    except (TypeError, ValueError):
        return ""


def _finding(rule: str, message: str, remediation: str = _FITTING) -> Finding:
    return Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.{rule}",
        decision=Decision.BLOCK,
        severity=Severity.MEDIUM,
        message=message,
        remediation=remediation,
    )


@lru_cache(_REMEMBERED)
def _work_of(schema: ToolSchema) -> SchemaWork:
    from interlock.policy.gates.schema_work import SchemaWork  # noqa: PLC0415 - the same

    return SchemaWork(schema.document)


def _too_complex() -> Finding:
    return Finding(
        gate=GATE.name,
        rule=f"{GATE.name}.too-complex",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.MEDIUM,
        message="too complex: to hold the parameters against the tool's schema would take too long",
        remediation=(
            "send smaller or flatter parameters, or name each definition of the schema in"
            " `tools.schemas` once"
        ),
    )


def _idle(action: Action, policy: CompiledPolicy) -> str:
    has_schema = isinstance(action, ToolAction) and action.name in policy.schemas
    return "" if has_schema else "none for this tool"


GATE = Gate(name="schema", call=_of_call, idle=_idle)
