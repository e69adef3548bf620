"""A recommendation in a policy file: keys get other values, and everything else stays as it is.

Comments, blank lines, order and notation are a person's, who will look for them again.
INVARIANT: what comes out says exactly what went in, but for the keys of the patch.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import Any, Final, cast

from msgspec.structs import replace

from interlock.errors import InputError, PolicyError
from interlock.model.recommendation import PatchOperation
from interlock.policy.config.complaints import as_clause, is_list, is_table, joined, shown
from interlock.policy.config.toml_values import parsed_table

_NAME: Final = "policy"
_Path = tuple[str, ...]
_Change = tuple[_Path, str | None]
"""A key, and what it is set to; None takes it away."""


def patched(text: str, patch: Sequence[PatchOperation], *, name: str = _NAME) -> str:
    """Return a policy file with other values under the keys of a patch.

    Raises PolicyError for what is no TOML, InputError where a key cannot stand there.
    """
    return _edited(text, [(each.path, each.value) for each in patch], name)


def unpatched(text: str, patch: Sequence[PatchOperation], *, name: str = _NAME) -> str:
    """Return a policy file with what was there before a patch, as `located` told.

    Raises InputError where somebody has changed one of the keys since.
    """
    table = _parsed(text, name)
    for each in patch:
        now = _found(table, each.path)
        if repr(now) != repr(_read(each.value, each.path, name)):
            became = "is gone" if now is None else "was changed"
            raise InputError(
                f"{name}: `{_place(each.path)}` {became} since it was set to {each.value}:"
                " put it back by hand"
            )
    return _edited(text, [(each.path, each.before) for each in patch], name)


def located(
    text: str, patch: Sequence[PatchOperation], *, name: str = _NAME
) -> tuple[PatchOperation, ...]:
    """Return a patch with what this file says under its keys now, for `unpatched`."""
    table, file = _parsed(text, name), _File(text)
    return tuple(replace(each, before=_notation(table, file, each.path, name)) for each in patch)


def _edited(text: str, changes: Sequence[_Change], name: str) -> str:
    expected, file = _parsed(text, name), _File(text)
    for path, value in changes:
        if value is None:
            *above, last = file.remove(path)
            del cast("dict[str, object]", _found(expected, tuple(above)))[last]
        else:
            _put(expected, path, _read(value, path, name), name)
            file.set(path, value)
    result = file.text()
    try:
        is_right = _comparable(result) == expected
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        places = " and ".join(f"`{_place(path)}`" for path, _ in changes)
        raise InputError(
            f"{name}: {places} cannot be changed without changing anything else: do it by hand"
        )
    return result


class _File:
    """A TOML file that keeps what a person wrote around its values."""

    def __init__(self, text: str) -> None:
        import tomlkit  # noqa: PLC0415 - only those who change a policy need it

        # The library ends the lines that it adds in one way only, and needs a last one that ends.
        self._is_dos = "\r\n" in text and text.count("\r\n") == text.count("\n")
        self._is_open = bool(text) and not text.endswith("\n")
        plain = text.replace("\r\n", "\n") if self._is_dos else text
        self._lost_table = False
        self._document = tomlkit.parse(f"{plain}\n" if self._is_open else plain)

    def text(self) -> str:
        """Return the whole file."""
        text = self._document.as_string()
        if self._lost_table:
            # The blank line in front of it came with it.
            text = f"{text.rstrip()}\n"
        text = text.removesuffix("\n") if self._is_open else text
        return text.replace("\n", "\r\n") if self._is_dos else text

    def written(self, path: _Path) -> str:
        """Return what stands under a key, as it is written."""
        *_, table = self._tables(path)
        value = table[path[-1]]
        return str(value).lower() if isinstance(value, bool) else value.as_string()

    def set(self, path: _Path, value: str) -> None:
        """Set a key; the tables above it are made where they are missing."""
        import tomlkit  # noqa: PLC0415 - the same
        from tomlkit.items import InlineTable  # noqa: PLC0415 - the same

        table: Any = self._document
        for at, part in enumerate(path[:-1], start=1):
            if part not in table:
                is_inline = isinstance(table, InlineTable)
                is_last = at == len(path) - 1
                table[part] = (
                    tomlkit.inline_table()
                    if is_inline
                    else tomlkit.table(is_super_table=not is_last)
                )
            table = table[part]
        table[path[-1]] = tomlkit.value(value)

    def remove(self, path: _Path) -> _Path:
        """Take a key away, and with it the tables in which nothing else stands; return which."""
        tables = list(self._tables(path))
        for at in range(len(path), 0, -1):
            del tables[at - 1][path[at - 1]]
            if at == 1 or tables[at - 1] or "#" in tables[at - 1].as_string():
                return path[:at]
            self._lost_table = True
        return path

    def _tables(self, path: _Path) -> Iterator[Any]:
        table: Any = self._document
        yield table
        for part in path[:-1]:
            table = table[part]
            yield table


def _parsed(text: str, name: str) -> dict[str, object]:
    """Return what a file says; raise PolicyError where it is none that is read."""
    found = parsed_table(text)
    if isinstance(found, tuple):
        place, problem = found
        raise PolicyError([f"{name}: {place}: {problem}"])
    return _comparable(text)


def _comparable(text: str) -> dict[str, object]:
    """Return what a text says; numbers with a fraction as they are written: some equal nothing."""
    return tomllib.loads(text, parse_float=lambda written: ("fraction", written))


def _read(value: str, path: _Path, name: str) -> object:
    try:
        table = _comparable(f"value = {value}")
        if table.keys() == {"value"}:
            return table["value"]
        problem = "more than one value"
    except tomllib.TOMLDecodeError as error:
        problem = as_clause(str(error))
    raise InputError(f"{name}: `{_place(path)}`: {shown(value)} is no value of TOML: {problem}")


def _found(table: Mapping[str, object], path: _Path) -> object | None:
    value: object = table
    for part in path:
        if not is_table(value) or part not in value:
            return None
        value = value[part]
    return value


def _notation(table: Mapping[str, object], file: _File, path: _Path, name: str) -> str | None:
    found = _found(table, path)
    if found is None:
        return None
    _refuse_tables(found, path, name)
    return file.written(path)


def _put(table: MutableMapping[str, object], path: _Path, value: object, name: str) -> None:
    for at, part in enumerate(path[:-1], start=1):
        inner = table.setdefault(part, {})
        if not is_table(inner):
            above = _place(path[:at])
            raise InputError(f"{name}: `{_place(path)}` cannot be set: `{above}` is no table")
        table = inner
    _refuse_tables(table.get(path[-1]), path, name)
    table[path[-1]] = value


def _refuse_tables(value: object, path: _Path, name: str) -> None:
    """Refuse to replace what more stands in than one value: comments would go with it."""
    if is_table(value) or (is_list(value) and any(map(is_table, value))):
        raise InputError(f"{name}: `{_place(path)}` holds tables: name one of their keys")


def _place(path: _Path) -> str:
    place = ""
    for part in path:
        place = joined(place, part)
    return place
