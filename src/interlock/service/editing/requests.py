"""Edits as plain JSON → a set, with an error that names the place for anything else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

import msgspec

from interlock.errors import InputError
from interlock.model.edit import EditSet, FileEdit

_SHAPE: Final = '`{"edits": [{"path": "...", "old": "...", "new": "..."}]}`'
_TEXTS: Final = ("path", "old", "new")
_FIELDS: Final = (*_TEXTS, "replace_all")
_LONGEST_SHOWN: Final = 60


def edits_from_json(raw: bytes) -> EditSet:
    """Return the edits that a text asks for: a table with `edits`, or the bare list."""
    try:
        read: object = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"the edits are no JSON: {error}: send {_SHAPE}") from error
    edits = enumerate(_list(read))
    return EditSet(edits=tuple(_edit(value, f"edits[{number}]") for number, value in edits))


def _list(read: object) -> list[object]:
    if isinstance(read, list):
        return cast("list[object]", read)
    if not isinstance(read, dict):
        raise InputError(f"the edits are {_shown(read)}, expected {_SHAPE}")
    table = cast("dict[str, object]", read)
    unknown = sorted(table.keys() - {"edits"})
    if unknown:
        raise InputError(f"`{unknown[0][:_LONGEST_SHOWN]}` is not known here: send {_SHAPE}")
    edits = table.get("edits")
    if not isinstance(edits, list):
        raise InputError(f"`edits` is {_told(table, 'edits')}, expected a list: send {_SHAPE}")
    return cast("list[object]", edits)


def _edit(value: object, place: str) -> FileEdit:
    if not isinstance(value, dict):
        raise InputError(
            f"`{place}` is {_shown(value)}, expected a table with `path`, `old`, `new`"
        )
    fields = cast("dict[str, object]", value)
    unknown = sorted(fields.keys() - set(_FIELDS))
    if unknown:
        known = ", ".join(f"`{name}`" for name in _FIELDS)
        raise InputError(f"`{place}.{unknown[0][:_LONGEST_SHOWN]}` is not known: expected {known}")
    path, old, new = (_text(fields, name, place) for name in _TEXTS)
    replace_all = fields.get("replace_all", False)
    if not isinstance(replace_all, bool):
        raise InputError(f"`{place}.replace_all` is {_shown(replace_all)}, expected true or false")
    return FileEdit(path=path, old=old, new=new, replace_all=replace_all)


def _text(fields: Mapping[str, object], name: str, place: str) -> str:
    value = fields.get(name)
    if isinstance(value, str):
        return value
    hint = ": an empty one makes a new file" if name == "old" else ""
    raise InputError(f"`{place}.{name}` is {_told(fields, name)}, expected a text{hint}")


def _told(fields: Mapping[str, object], name: str) -> str:
    return _shown(fields[name]) if name in fields else "missing"


def _shown(value: object) -> str:
    text = msgspec.json.encode(value).decode()
    return f"`{text}`" if len(text) <= _LONGEST_SHOWN else f"`{text[:_LONGEST_SHOWN]}…`"
