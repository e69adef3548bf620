"""Validate the built-in TOML files; an error names the file, the rule and the field."""

from __future__ import annotations

import enum
import re
import types
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeVar, Union, cast, get_args, get_origin

import msgspec

from interlock.commands.programs import places
from interlock.errors import RulesError
from interlock.model.verdict import Decision
from interlock.policy.actions.rule_packs import Pack, rule_problems
from interlock.policy.config.complaints import (
    as_clause,
    is_list,
    is_table,
    mistaken,
    nearest,
    shown,
    suggestion,
)
from interlock.policy.config.document import KEYS, Policy
from interlock.policy.config.key import Budget
from interlock.policy.config.layers import SECTIONS
from interlock.secrets.credential_rules import CredentialPack
from interlock.service.policies.rule_compiler import Document, document_from_toml

T = TypeVar("T")

_TOML_WORDS: Final = {
    "array": "a list",
    "bool": "a truth value",
    "float": "a number",
    "int": "a whole number",
    "object": "a table",
    "str": "text",
}
"""Names of TOML values, by their names in msgspec."""


def pack_from_toml(file: str, text: bytes) -> Pack:
    """Read a pack of command rules and their examples."""
    return pack_from_document(file, document_from_toml(file, text))


def pack_from_document(file: str, document: Document) -> Pack:
    """Return the same from a parsed file."""
    pack = convert_document(file, document, Pack)
    _raise_if_any(file, [*_duplicates(rule.id for rule in pack.rules), *rule_problems(pack.rules)])
    return pack


def credentials_from_document(file: str, document: Document) -> CredentialPack:
    """Return a pack of credential rules and their examples from a parsed file."""
    pack = convert_document(file, document, CredentialPack)
    _raise_if_any(file, _duplicates(rule.id for rule in pack.rule))
    return pack


def places_from_document(file: str, document: Document) -> dict[str, places.PlaceList]:
    """Return the paths of each kind of place."""
    lists = convert_document(file, document, dict[str, places.PlaceList])
    unknown = [name for name in lists if name not in places.NAMES]
    _raise_if_any(file, [_unknown("place", name, places.NAMES) for name in unknown])
    return lists


def check_defaults(file: str, defaults: Document) -> None:
    """Raise RulesError for a default that is not a policy key or has the wrong type."""
    convert_document(file, _policy_with(defaults), Policy)


def check_presets(file: str, presets: Document, defaults: Document) -> None:
    """Raise RulesError for a preset that sets an unknown policy key or a wrong type."""
    tables = convert_document(file, presets, dict[str, dict[str, object]])
    for name, preset in tables.items():
        place = f"{file}: `{name}`"
        convert_document(place, _policy_with(defaults, preset), Policy)
        _raise_if_any(place, [*_unknown_limits(preset)])


def _unknown_limits(preset: Document) -> Iterator[str]:
    for key in KEYS:
        section = preset.get(key.section)
        limits = section.get(key.name) if is_table(section) else None
        if isinstance(key.shape, Budget) and is_table(limits):
            known = [each.name for each in key.shape.keys]
            unknown = [name for name in limits if name not in known]
            yield from (f"`{key.path}`: {_unknown('limit', name, known)}" for name in unknown)


def _policy_with(*layers: Document) -> dict[str, object]:
    """Return a policy document; later layers add to the tables of earlier ones."""
    policy: dict[str, object] = {"rules": [], **{section: {} for section in SECTIONS}}
    for layer in layers:
        for name, value in layer.items():
            known = policy.get(name)
            policy[name] = {**known, **value} if is_table(known) and is_table(value) else value
    return policy


def convert_document(file: str, document: object, kind: type[T]) -> T:
    """Convert a document to a type; raise RulesError with every mistake in it."""
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise RulesError([f"{file}: {each}" for each in _mistakes(document, kind)]) from error


def _raise_if_any(file: str, problems: list[str]) -> None:
    if problems:
        raise RulesError([f"{file}: {problem}" for problem in problems])


def _duplicates(ids: Iterable[str]) -> list[str]:
    twice = [name for name, count in Counter(ids).items() if count > 1]
    return [f"rule `{name}`: defined twice; rename or remove one of them" for name in twice]


def _mistakes(value: object, annotation: Any, entry: str = "", field: str = "") -> Iterator[str]:  # noqa: ANN401 - an annotation can be anything
    """Yield each mistake in a value, prefixed with its entry and field."""
    kind = _without_none(annotation)
    origin, items = get_origin(kind), get_args(kind)
    if isinstance(kind, msgspec.StructMeta) and is_table(value):
        yield from _field_mistakes(value, cast("type[msgspec.Struct]", kind), entry, field)
    elif origin in (dict, Mapping) and is_table(value):
        for name, item in value.items():
            at = (entry, f"{field}.{name}") if entry or field else (f"`{name}`: ", "")
            yield from _mistakes(item, items[1], *at)
    elif (origin is frozenset or items[-1:] == (...,)) and is_list(value):
        for index, item in enumerate(value):
            name = f"`{item['id']}`" if is_table(item) and "id" in item else f"{index + 1}"
            at = (f"{field} {name}: ", "") if is_table(item) else (entry, f"{field}[{index}]")
            yield from _mistakes(item, items[0], *at)
    else:
        yield from _value_mistakes(value, annotation, f"{entry}`{field}`: " if field else entry)


def _field_mistakes(
    table: Mapping[str, object], kind: type[msgspec.Struct], entry: str, field: str
) -> Iterator[str]:
    fields = {each.encode_name: each for each in msgspec.structs.fields(kind)}
    place = f"{entry}`{field}`: " if field else entry
    for name, value in table.items():
        if name in fields:
            inner = f"{field}.{name}" if field else name
            yield from _mistakes(value, fields[name].type, entry, inner)
        else:
            yield f"{place}{_unknown('field', name, fields)}"
    for name, each in fields.items():
        if each.required and name not in table:
            yield f"{place}the field `{name}` is missing: add it"


def _unknown(what: str, name: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    remedy = f"did you mean `{near}`?" if near else "remove it;"
    every = ", ".join(f"`{each}`" for each in known)
    return f"unknown {what} `{name}`: {remedy} known {what}s: {every}"


def _value_mistakes(value: object, annotation: Any, place: str) -> Iterator[str]:  # noqa: ANN401 - an annotation can be anything
    try:
        msgspec.convert(value, annotation)
    except msgspec.ValidationError as error:
        problem = str(error).partition(" - at `")[0]
        expected = re.match(r"Expected `([^`]+)`, got", problem)
        if expected:
            words = [_TOML_WORDS.get(each, each) for each in expected[1].split(" | ")]
            yield f"{place}{mistaken(value, ' or '.join(words))}"
        elif choices := _choices(_without_none(annotation)):
            yield f"{place}{shown(value)} is unknown{suggestion(str(value), choices)}"
        else:
            yield f"{place}{as_clause(problem)}"


def _choices(kind: Any) -> list[str]:  # noqa: ANN401 - an annotation can be anything
    if kind is Decision:
        return [decision.short for decision in Decision]
    if isinstance(kind, enum.EnumMeta):
        return [str(cast("enum.Enum", member).value) for member in kind]
    return list(get_args(kind)) if get_origin(kind) is Literal else []


def _without_none(annotation: Any) -> Any:  # noqa: ANN401 - an annotation can be anything
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation
    kinds = [each for each in get_args(annotation) if each is not types.NoneType]
    return kinds[0] if len(kinds) == 1 else annotation
