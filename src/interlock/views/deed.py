"""What an action was, in one line: a verb, which may be empty, and what it is about."""

from __future__ import annotations

from typing import Final, NamedTuple, assert_never

import msgspec

from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.policy.config.complaints import is_list, is_table
from interlock.views.units import json_text

_COMMANDS: Final = ("command", "cmd", "script")
_PATHS: Final = ("file_path", "path", "notebook_path", "filename", "url", "pattern", "query")
_MOST_CHARACTERS: Final = 400


class Deed(NamedTuple):
    """An action in one line."""

    verb: str
    """Empty for a command line, which says itself what it does."""
    text: str


def deed_of(action: Action) -> Deed:
    """Return an action in one line; of a tool call, the parameter that says what it is about."""
    match action:
        case CommandAction(command=command):
            return Deed("", _cut(command))
        case EditAction(path=path):
            return Deed("write", _cut(path))
        case ToolAction(name=name, params=params):
            return _of_call(name, params if isinstance(params, str) else json_text(params))
        case _:
            assert_never(action)


def _of_call(name: str, raw: str) -> Deed:
    try:
        params: object = msgspec.json.decode(raw)
    except (ValueError, RecursionError):
        params = None
    if not is_table(params):
        return Deed(name, _cut(raw))
    for verb, keys in (("", _COMMANDS), (name, _PATHS)):
        said = next((params[key] for key in keys if isinstance(params.get(key), str)), None)
        if said is not None:
            return Deed(verb, _cut(str(said)))
    edits = params.get("edits")
    paths = (
        [str(each["path"]) for each in edits if is_table(each) and "path" in each]
        if is_list(edits)
        else []
    )
    return Deed(name, _cut(", ".join(dict.fromkeys(paths)) or raw))


def _cut(text: str) -> str:
    line = " ".join(text.split("\n")) if "\n" in text else text
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"
