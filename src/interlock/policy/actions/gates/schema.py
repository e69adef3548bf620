"""Are a tool's parameters what the tool expects?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, cast

import msgspec

from interlock.model.verdict import Decision, Finding, Severity

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_MAX_FINDINGS: Final = 20
_MAX_EXPECTED: Final = 120
_KINDS: Final[dict[type, str]] = {
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}


class ToolSchema:
    """A tool's JSON Schema, compiled when it is first asked for."""

    __slots__ = ("_schema", "_validator")

    def __init__(self, schema: Mapping[str, object]) -> None:
        import jsonschema_rs  # noqa: PLC0415 - heavy, and only policies with schemas need it

        # Neither the network nor files are touched for a `$ref`, and patterns stay linear.
        self._validator = jsonschema_rs.validator_for(
            dict(schema), offline=True, pattern_options=jsonschema_rs.RegexOptions()
        )

    def errors(self, params: Mapping[str, object]) -> list[ValidationError]:
        """Return every place where the parameters break the schema."""
        return list(self._validator.iter_errors(dict(params)))


def schema_gate(params: Mapping[str, object], schema: ToolSchema | None) -> Iterator[Finding]:
    """Block parameters that break the tool's schema, naming every place but no value."""
    if schema is None:
        return
    try:
        errors = schema.errors(params)
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


def params_from_text(raw: str) -> Mapping[str, object] | Finding:
    """Read the JSON text that a model wrote; empty text counts as `{}`."""
    if not raw.strip():
        return {}
    try:
        value: object = msgspec.json.decode(raw.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError) as error:
        reason = str(error)
        if reason[1:2].islower():
            reason = reason[:1].lower() + reason[1:]
        return _finding("not-json", f"the parameters are not JSON: {reason}")
    if not isinstance(value, dict):
        return _finding("not-an-object", f"the parameters are {kind_of(value)}, expected an object")
    return cast("Mapping[str, object]", value)


def kind_of(value: object) -> str:
    """Return the JSON kind of a value, for people."""
    return "null" if value is None else _KINDS.get(type(value), "a value")


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


def _finding(rule: str, message: str) -> Finding:
    return Finding(
        gate="schema",
        rule=f"schema.{rule}",
        decision=Decision.BLOCK,
        severity=Severity.MEDIUM,
        message=message,
        remediation="call the tool again with parameters that fit its schema",
    )
