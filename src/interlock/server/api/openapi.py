"""Everything that can be asked over HTTP as OpenAPI 3.1, made from the table and its types.

What a body may say is read from the signature of the word that takes it, as that word's own
checks read it; what comes back, from the types of the answers.
"""

from __future__ import annotations

import enum
import inspect
import re
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from importlib.metadata import version
from typing import Annotated, Any, Final, cast

import msgspec

from interlock.model.action import CommandAction
from interlock.model.entrance import MOST, Argument, PathLike
from interlock.server.desk.endpoint import NO_CONTENT, Endpoint, Word
from interlock.server.wire.http_message import LARGEST_BODY
from interlock.server.wire.problem import Problem

Schema = dict[str, Any]

_REF: Final = "#/components/schemas/{name}"
_PARAM: Final = re.compile(r"\{(\w+)(?::path)?\}")
_NAMED: Final = {"type": "string", "minLength": 1, "maxLength": 200}
_KEY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Sent again under the same key, a request is carried out once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 512, "pattern": "^[!-~]+$"},
}
_PROBLEMS: Final = {
    "default": {
        "description": "What went wrong (RFC 9457)",
        "content": {"application/problem+json": {"schema": {"$ref": _REF.format(name="Problem")}}},
    }
}
_ACTION: Final[Schema] = {
    "description": "What the agent is about to do: a command, the call of a tool, or an edit.",
    "oneOf": [
        {
            "type": "object",
            "properties": {"command": {"type": "string"}, "cwd": {"type": ["string", "null"]}},
            "required": ["command"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {"tool": {"type": "string"}, "params": {"type": ["object", "string"]}},
            "required": ["tool"],
            "additionalProperties": False,
        },
        {
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "content": {"type": "string"},
                "old": {"type": ["string", "null"]},
                "diff_lines": {"type": ["integer", "null"], "minimum": 0, "maximum": MOST},
            },
            "required": ["path", "content"],
            "additionalProperties": False,
        },
    ],
}


def openapi_of(endpoints: Sequence[Endpoint]) -> Schema:
    """Return what can be asked, for programs that read such descriptions."""
    answers = [each.answer for each in endpoints if each.answer is not None]
    schemas, components = msgspec.json.schema_components(
        [*answers, Problem], schema_hook=_anything, ref_template=_REF
    )
    by_place = iter(schemas)
    paths: dict[str, Schema] = {}
    for each in endpoints:
        answer = None if each.answer is None else next(by_place)
        operation = _operation(each, answer)
        paths.setdefault(_plain(each.path), {})[each.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Interlock",
            "version": version("interlock"),
            "description": "Times are microseconds since 1970, UTC.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _anything(_kind: type) -> Schema:
    """Say of what is not known before that it may be anything."""
    return {"description": "Anything."}


def _operation(endpoint: Endpoint, answer: Schema | None) -> Schema:
    found: Schema = {
        "operationId": _operation_id(endpoint),
        "summary": endpoint.summary,
        "tags": [endpoint.path.split("/")[2] if endpoint.path.startswith("/v1/") else "system"],
        "parameters": [*_parameters(endpoint)],
        "responses": {**_answered(endpoint, answer), **_PROBLEMS},
        "security": [] if endpoint.scope is None else [{"token": []}],
    }
    if endpoint.scope is not None:
        agents = " or an agent in its own runs" if endpoint.agents else ""
        found["description"] = f"For the scope `{endpoint.scope.value}`{agents}."
    if endpoint.body is not None:
        schema = body_schema(endpoint.body, endpoint.given)
        found["requestBody"] = {
            "description": f"At most {LARGEST_BODY:,} bytes.",
            "required": bool(schema["required"]),
            "content": {"application/json": {"schema": schema}},
        }
    return found


def _answered(endpoint: Endpoint, answer: Schema | None) -> Schema:
    if answer is None:
        return {str(NO_CONTENT): {"description": "It is done"}}
    content = {endpoint.kind: {"schema": answer}}
    return {str(endpoint.status): {"description": endpoint.summary, "content": content}}


def _parameters(endpoint: Endpoint) -> Iterable[Schema]:
    for name in _PARAM.findall(endpoint.path):
        yield {"name": name, "in": "path", "required": True, "schema": _NAMED}
    for name, kind in endpoint.query.items():
        schema = msgspec.json.schema(kind)
        needed = name in endpoint.needs
        yield {"name": name, "in": "query", "required": needed, "schema": schema}
    if endpoint.method == "POST":
        yield _KEY


def _operation_id(endpoint: Endpoint) -> str:
    words = [*_PARAM.sub("", endpoint.path).removeprefix("/v1").split("/"), *_last(endpoint)]
    return "_".join(filter(None, [endpoint.method.lower(), *words])).replace(".", "_")


def _last(endpoint: Endpoint) -> Sequence[str]:
    """Return what tells one thing from the list that it stands in."""
    return ("one",) if endpoint.path.endswith("}") else ()


def _plain(path: str) -> str:
    return _PARAM.sub(r"{\1}", path)


def body_schema(word: Word, given: Sequence[str]) -> Schema:
    """Return what the arguments of a word are in JSON, but for those that something else gives."""
    behind = inspect.unwrap(word)
    hints = typing.get_type_hints(behind, include_extras=True)
    fields: dict[str, object] = {}
    needed: list[str] = []
    for name, parameter in inspect.signature(behind).parameters.items():
        if name in ("self", "cls", *given):
            continue
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            more = typing.get_args(hints[name])[0]
            fields |= typing.get_type_hints(more, include_extras=True)
            continue
        fields[name] = hints[name]
        if parameter.default is inspect.Parameter.empty:
            needed.append(name)
    known = ((name, schema_of(kind)) for name, kind in fields.items() if name not in given)
    properties = {name: schema for name, schema in known if schema is not None}
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in needed if name in properties],
        "additionalProperties": False,
    }


def schema_of(kind: Any) -> Schema | None:  # noqa: ANN401 - an annotation can be anything
    """Return what an annotation asks for in JSON; None where JSON cannot say it."""
    origin, of = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        note = of[1]
        if isinstance(note, msgspec.Meta):
            return _bounded(of[0], note)
        # A value or a table of its fields, which is the same in JSON.
        return schema_of(typing.get_args(of[0])[0])
    if origin in (typing.Union, types.UnionType):
        return _any_of(of)
    if origin in (typing.Required, typing.NotRequired):
        return schema_of(of[0])
    if origin is not None:
        return _generic(origin, of)
    return _PLAIN[kind] if kind in _PLAIN else _class(kind)


_PLAIN: Final[Mapping[object, Schema | None]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
    int: {"type": "integer", "minimum": -MOST, "maximum": MOST},
    float: {"type": "number", "minimum": -MOST, "maximum": MOST},
    object: {},
    # A text or a number says the same.
    Decimal: None,
    PathLike: None,
}


def _bounded(base: type, note: msgspec.Meta) -> Schema:
    schema: Schema = {"type": "integer" if base is int else "number"}
    bounds = {"minimum": note.ge, "exclusiveMinimum": note.gt, "maximum": note.le}
    return schema | {name: bound for name, bound in bounds.items() if bound is not None}


def _any_of(members: Sequence[Any]) -> Schema | None:
    if CommandAction in members:
        return _ACTION
    if any(isinstance(each, type) and issubclass(each, enum.Enum) for each in members):
        # A text beside a closed set has to name one of it.
        members = [each for each in members if each is not str]
    found: list[Schema] = []
    for each in members:
        schema = schema_of(each)
        if schema is not None:
            found.extend(schema.get("anyOf", [schema]))
    if {} in found:
        return {}
    told = list({repr(each): each for each in found}.values())
    return told[0] if len(told) == 1 else {"anyOf": told} if told else None


def _generic(origin: Any, of: Sequence[Any]) -> Schema | None:  # noqa: ANN401 - an annotation can be anything
    if not isinstance(origin, type) or not issubclass(origin, Iterable):
        return None
    within = schema_of(of[1] if issubclass(origin, Mapping) else of[0])
    if within is None:
        return None
    if issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": within or True}
    return {"type": "array", "items": within}


def _class(kind: type) -> Schema | None:
    if issubclass(kind, enum.Enum):
        return {"type": "string", "enum": [each.value for each in kind]}
    if not isinstance(kind, Argument):
        return None
    struct = cast("type[msgspec.Struct]", kind)
    hints = typing.get_type_hints(struct, include_extras=True)
    fields = msgspec.structs.fields(struct)
    told = {each.name: schema_of(hints[each.name]) for each in fields}
    table: Schema = {
        "type": "object",
        "properties": {name: schema for name, schema in told.items() if schema is not None},
        "required": [each.name for each in fields if each.required],
        # Some are taken by the names that others have for them, too.
        "additionalProperties": hasattr(struct, "in_our_names"),
    }
    alone = getattr(struct, "given_alone", None)
    if alone is None:
        return table
    return {"anyOf": [table, told[alone]]}
