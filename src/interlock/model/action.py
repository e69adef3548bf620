"""What an agent is about to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

import msgspec

from interlock.errors import InputError
from interlock.model.entrance import Argument, Count


class CommandAction(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    tag="command",
    metaclass=Argument,
):
    """A shell command line and the folder it would run in."""

    command: str
    cwd: str | None = None


class ToolAction(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    tag="tool",
    metaclass=Argument,
):
    """A tool call: parameters as parsed JSON, or as the raw text a model wrote."""

    name: str
    params: Mapping[str, object] | str


class EditAction(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    tag="edit",
    metaclass=Argument,
):
    """A file about to be written.

    `old` is the text that `content` replaces where it is known; then the size of the
    change is computed and `diff_lines`, the caller's own figure, is not trusted.
    """

    path: str
    content: str
    old: str | None = None
    diff_lines: Count | None = None


Action = CommandAction | ToolAction | EditAction


_SHAPES: Final = (
    "`command` (with `cwd`), `tool` with `params`, or `path` with `content` (and `old`)"
)
_SHELLS_OWN: Final = frozenset(("cwd", "interactive"))
"""What a shell is told besides the line, which a person need not read."""
_FIELDS: Final = {
    "command": frozenset(("id", "command", "cwd")),
    "tool": frozenset(("id", "tool", "params")),
    "path": frozenset(("id", "path", "content", "old", "diff_lines")),
}


def command_line(line: str | Sequence[str]) -> str:
    """Return a line as it is, and a list of words as a shell would read it back."""
    if isinstance(line, str):
        return line
    import shlex  # noqa: PLC0415 - most lines are texts

    return shlex.join(line)


def line_of(call: ToolAction) -> str | None:
    """Return the command line that a call runs, where it is a call that runs one."""
    match _known(call.params):
        case {"command": str(line)} | {"cmd": str(line)}:
            return line
        case _:
            return None


def summary_of(action: Action) -> str:
    """Return an action in one line, for people."""
    match action:
        case CommandAction(command=command):
            return command
        case EditAction(path=path):
            return f"write {path}"
        case call:
            return call_text(call)


def call_text(call: ToolAction) -> str:
    """Return a call of a tool in one line; one that only runs a command line, as that line."""
    match _known(call.params):
        case {"command": str(line), **rest} if not set(rest) - _SHELLS_OWN:
            folder = rest.get("cwd")
            return f"{call.name}: {line}" + (f" (in {folder})" if folder else "")
        case str() as raw:
            return f"{call.name} {raw}"
        case params:
            return f"{call.name} {msgspec.json.encode(params).decode()}"


def _known(params: Mapping[str, object] | str) -> Mapping[str, object] | str:
    """Return parameters as a table, where the text that they are recorded as is one."""
    if isinstance(params, str):
        try:
            return msgspec.json.decode(params, type=dict[str, object])
        except (ValueError, RecursionError):
            return params
    return params


def action_given(given: Action | Mapping[str, object]) -> Action:
    """Return an action that is one, or that a table describes."""
    return action_from_request(given) if isinstance(given, Mapping) else given


def action_from_request(request: Mapping[str, object]) -> Action:
    """Return the action that a request describes; raise InputError if it describes none."""
    kinds = [kind for kind in _FIELDS if kind in request]
    if len(kinds) != 1:
        given = ", ".join(f"`{key}`" for key in request) or "nothing"
        raise InputError(f"expected {_SHAPES}; got {given}")
    kind = kinds[0]
    unknown = sorted(set(request) - _FIELDS[kind])
    if unknown:
        raise InputError(f"`{unknown[0]}` does not go with `{kind}`: expected {_SHAPES}")
    if kind == "command":
        return CommandAction(command=_text(request, "command"), cwd=_optional_text(request, "cwd"))
    if kind == "tool":
        return ToolAction(name=_text(request, "tool"), params=_params(request.get("params", {})))
    return EditAction(
        path=_text(request, "path"),
        content=_text(request, "content"),
        old=_optional_text(request, "old"),
        diff_lines=_optional_count(request, "diff_lines"),
    )


def request_from_action(action: Action) -> dict[str, object]:
    """Return the table that describes an action."""
    if isinstance(action, CommandAction):
        return {"command": action.command, "cwd": action.cwd}
    if isinstance(action, ToolAction):
        return {"tool": action.name, "params": action.params}
    names = ("path", "content", "old", "diff_lines")
    return {name: getattr(action, name) for name in names}


def _text(request: Mapping[str, object], field: str) -> str:
    value = request.get(field)
    if not isinstance(value, str):
        raise InputError(f"`{field}` is {_kind(value)}, expected a string")
    return value


def _optional_text(request: Mapping[str, object], field: str) -> str | None:
    return None if request.get(field) is None else _text(request, field)


def _optional_count(request: Mapping[str, object], field: str) -> int | None:
    value = request.get(field)
    if value is None:
        return None
    if type(value) is not int or value < 0:
        raise InputError(f"`{field}` is {_kind(value)}, expected a count of lines")
    return value


def _params(value: object) -> Mapping[str, object] | str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value)
    raise InputError(f"`params` is {_kind(value)}, expected an object or its JSON text")


def _kind(value: object) -> str:
    names: dict[type, str] = {
        type(None): "missing",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "something else")
