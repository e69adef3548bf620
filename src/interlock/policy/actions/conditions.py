"""Conditions that users write in their policy: compiled once, asked many times.

The language is CEL: no loops without end, no side effects, errors as values. It comes with
the extra `cel`; without it a policy that has conditions does not load.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, cast

import msgspec

from interlock.errors import MissingExtraError
from interlock.policy.config.complaints import (
    as_clause,
    did_you_mean,
    nearest,
    one_line,
    shortened,
)

if TYPE_CHECKING:
    from cel_expr_python import cel

_MAX_INT: Final = 2**63
_MAX_DEPTH: Final = 24

NO_FACTS: Final[Mapping[str, object]] = {
    "kind": "",
    "command": "",
    "cwd": "",
    "tool": "",
    "params": {},
    "path": "",
    "content": "",
    "diff_lines": 0,
    "commands": [],
    "effects": [],
}
"""What a condition can ask about: one flat set of names for every kind of action."""


FIELDS: Final = frozenset(
    "program subcommand args flags operands line cwd via kind target recursive".split()
)
"""What each of the commands and effects has."""
_MISSING: Final = 'key not found in map: "'


class Answer(msgspec.Struct, frozen=True):
    """Whether a condition holds; an error counts as holding and says so."""

    holds: bool
    error: str = ""


class Condition:
    """A compiled condition."""

    __slots__ = ("_environment", "_expression", "_source")

    def __init__(self, environment: cel.Env, expression: cel.Expression, source: str) -> None:
        self._environment = environment
        self._expression = expression
        self._source = source

    def ask(self, facts: Mapping[str, object]) -> Answer:
        """Evaluate over the facts; whatever goes wrong, the condition holds."""
        try:
            value = self._expression.eval(self._environment.Activation(dict(facts)))
            plain = value.value()
        except Exception as error:  # noqa: BLE001 - a condition that breaks must not let anything through
            return Answer(holds=True, error=_first_line(str(error)))
        if plain is True or plain is False:
            return Answer(holds=plain)
        kind = value.type().name()
        if kind == "ERROR":
            return Answer(
                holds=True, error=self._with_hint(_evaluation_message(str(plain), self._source))
            )
        return Answer(holds=True, error=f"it gives {kind.lower()}, not true or false")

    def _with_hint(self, message: str) -> str:
        """Add which field was likely meant; parameters have names of their own."""
        name = message.removeprefix(_MISSING).removesuffix('"')
        is_field = name != message and f"params.{name}" not in self._source
        return f"{message}{did_you_mean(nearest(name, FIELDS))}" if is_field else message


def compile_condition(source: str) -> Condition:
    """Compile a condition; raise ValueError with what is wrong and where."""
    environment = _environment()
    try:
        expression = environment.compile(source)
    except RuntimeError as error:
        raise ValueError(_compiler_message(str(error))) from error
    kind = expression.return_type().name()
    if kind.upper() not in {"BOOL", "DYN"}:
        raise ValueError(f"gives {kind.lower()}, expected true or false")
    return Condition(environment, expression, source)


def complaint_about(source: str) -> str | None:
    """Return what is wrong with a condition, or None."""
    try:
        compile_condition(source)
    except ImportError as error:
        return str(error)
    except ValueError as error:
        return f"`{shortened(one_line(source))}` is not a CEL condition: {error}"
    return None


def plain_facts(value: object, depth: int = 0) -> object:
    """Return a value that CEL can hold: no lone surrogates, no huge numbers, no deep nests."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if -_MAX_INT <= value < _MAX_INT else str(value)
    if depth >= _MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        entries = cast("Mapping[object, object]", value)
        return {
            str(plain_facts(str(key))): plain_facts(item, depth + 1)
            for key, item in entries.items()
        }
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[object]", value)
        return [plain_facts(item, depth + 1) for item in items]
    return str(value)


@cache
def _environment() -> cel.Env:
    try:
        from cel_expr_python import cel  # noqa: PLC0415 - an extra: only policies with conditions need it
    except ImportError as error:
        raise MissingExtraError("a condition", "cel") from error
    kinds = {
        str: cel.Type.STRING,
        int: cel.Type.INT,
        list: cel.Type.List(cel.Type.DYN),
        dict: cel.Type.DYN,
    }
    return cel.NewEnv(variables={name: kinds[type(fact)] for name, fact in NO_FACTS.items()})


def _evaluation_message(raw: str, source: str) -> str:
    """`NOT_FOUND: Key not found in map : "url"` → `key not found in map: "url"`.

    What is told of a value may be a secret of the action: only the condition's own words are.
    """
    code, _, rest = _first_line(raw).partition(": ")
    said = as_clause(rest if code.isupper() else f"{code}: {rest}")
    kind, _, value = said.partition(":")
    told = value.strip()
    return f"{kind.strip()}: {told}" if told and told.strip('"') in source else _plain(kind)


def _plain(text: str) -> str:
    return re.split("[\"'`<{(]", text, maxsplit=1)[0].strip()


def _compiler_message(raw: str) -> str:
    """`... ERROR: <input>:1:10: Syntax error: ...` → `at line 1, column 10: syntax error: ...`."""
    line = _first_line(raw).removeprefix("INVALID_ARGUMENT: ").removeprefix("ERROR: ")
    line = line.replace(" (in container '')", "")
    if line.startswith("<input>:"):
        row, column, message = line.removeprefix("<input>:").split(":", 2)
        return f"at line {row}, column {column}: {as_clause(_in_plain_words(message.strip()))}"
    return line


def _in_plain_words(message: str) -> str:
    """Return what the compiler says without the words of its grammar."""
    said = message.partition(" expecting {")[0].replace("'<EOF>'", "the end")
    said = said.replace("token recognition error at:", "cannot read")
    said = said.replace("mismatched input", "unexpected").replace("extraneous input", "unexpected")
    if said.startswith("undeclared reference to '"):
        return f"{said}; it may ask about {', '.join(NO_FACTS)}"
    return said


def _first_line(text: str) -> str:
    return text.partition("\n")[0][:200]
