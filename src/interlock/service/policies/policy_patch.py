"""A recommendation in a policy file: keys get other values, and everything else stays as it is.

Comments, blank lines, order and notation are a person's, who will look for them again.
INVARIANT: what comes out says exactly what went in, but for the keys of the patch.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple, cast

from msgspec.structs import replace

from interlock.errors import InputError, PolicyError
from interlock.model.recommendation import PatchOperation
from interlock.policy.config.complaints import as_clause, is_list, is_table, joined, shown
from interlock.policy.config.toml_values import parsed_table

_NAME: Final = "policy"
_Path = tuple[str, ...]


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
    table = _parsed(text, name)
    return tuple(replace(each, before=_written(text, table, each.path, name)) for each in patch)


def _edited(text: str, changes: Sequence[tuple[_Path, str | None]], name: str) -> str:
    """Return the file with each key set, or taken away where there is nothing to set it to."""
    _parsed(text, name)
    # The library ends the lines that it adds in one way only, and needs a last one that ends.
    is_dos = "\r\n" in text and text.count("\r\n") == text.count("\n")
    is_open = bool(text) and not text.endswith("\n")
    text = text.replace("\r\n", "\n") if is_dos else text
    text = f"{text}\n" if is_open else text
    for path, value in changes:
        text = _without(text, path, name) if value is None else _with(text, path, value, name)
    text = text.removesuffix("\n") if is_open else text
    return text.replace("\n", "\r\n") if is_dos else text


def _with(text: str, path: _Path, value: str, name: str) -> str:
    """Return the file with a key set; in front of everything else where it fits nowhere else."""
    expected = _comparable(text)
    is_new = _found(expected, path) is None
    _put(expected, path, _read(value, path, name), name)
    within = [partial(_with_value, cut, path, value) for cut in _cuts(text, path)]
    if not is_new:
        return _first_right(within, expected, path, name)
    *above, last = path
    header = f"[{_place(above)}]\n" if above else ""
    gap = "\n" if header and text else ""
    behind = f"{text}{gap}{header}{joined('', last)} = {value}\n"
    before = f"{_place(path)} = {value}\n{text}"
    return _first_right([lambda: behind, *within, lambda: before], expected, path, name)


def _without(text: str, path: _Path, name: str) -> str:
    """Return the file with a key taken away, and the tables in which nothing else stands."""
    expected = _comparable(text)
    above = cast("dict[str, object]", _found(expected, path[:-1]))
    del above[path[-1]]
    ways = [partial(_without_value, cut, path) for cut in _cuts(text, path)]
    return _first_right(ways, expected, path, name, says=_without_empty)


def _first_right(
    ways: Sequence[Callable[[], str]],
    expected: dict[str, object],
    path: _Path,
    name: str,
    says: Callable[[dict[str, object]], dict[str, object]] = lambda table: table,
) -> str:
    """Return what the first way leads to that does what it should and nothing else."""
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415 - only a change needs it

    for way in ways:
        with suppress(ValueError, TOMLKitError):
            text = way()
            if says(_comparable(text)) == says(expected):
                return text
    raise _by_hand(path, name)


class _Cut(NamedTuple):
    """A table of a file, with the text around it."""

    before: str
    table: str
    behind: str


def _with_value(cut: _Cut, path: _Path, value: str) -> str:
    """Return the file with a key set in the table that it belongs to, as far as there is one."""
    import tomlkit  # noqa: PLC0415 - only a change needs it
    from tomlkit.items import InlineTable  # noqa: PLC0415 - the same

    document = tomlkit.parse(cut.table)
    table: Any = document
    rest = list(path)
    while len(rest) > 1 and rest[0] in table:
        table = table[rest.pop(0)]
    if len(rest) > 1 and not isinstance(table, InlineTable):
        table.append(tomlkit.key(rest), tomlkit.value(value))
    else:
        for part in reversed(rest[1:]):
            value = f"{{ {joined('', part)} = {value} }}"
        table[rest[0]] = tomlkit.value(value)
    return f"{cut.before}{document.as_string()}{cut.behind}"


def _without_value(cut: _Cut, path: _Path) -> str:
    import tomlkit  # noqa: PLC0415 - only a change needs it

    before, part, behind = cut
    document = tomlkit.parse(part)
    table: Any = document
    for name in path[:-1]:
        table = table[name]
    del table[path[-1]]
    rest = document.as_string()
    if part.startswith("[") and "#" not in rest and not _without_empty(_comparable(rest)):
        # Nothing is left but the head of a table; the blank line in front of it came with it.
        rest, before = "", before[:-1] if before.endswith("\n\n") else before
    return f"{before}{rest}{behind}"


def _cuts(text: str, path: _Path) -> list[_Cut]:
    """Return where a key is, or comes nearest to be.

    The library is given no more than one table: it cannot keep the order of tables that belong
    together and stand apart.
    """
    parts = _parts(text)
    depths = [_depth(_comparable(part), path) for part in parts]
    return [
        _Cut("".join(parts[:at]), parts[at], "".join(parts[at + 1 :]))
        for at, depth in enumerate(depths)
        if depth == max(depths)
    ]


def _parts(text: str) -> list[str]:
    """Return a file cut before the heads of its tables."""
    parts = [""]
    for line in text.split("\n"):
        if line.lstrip().startswith("[") and _is_whole(parts[-1]):
            parts.append("")
        parts[-1] += f"{line}\n"
    parts[-1] = parts[-1].removesuffix("\n")
    return [each for each in parts if each] or [""]


def _is_whole(part: str) -> bool:
    """Whether a part ends here, and not within a list or a text of several lines."""
    try:
        _comparable(part)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _depth(table: Mapping[str, object], path: _Path) -> int:
    return sum(_found(table, path[:at]) is not None for at in range(1, len(path) + 1))


def _written(text: str, table: Mapping[str, object], path: _Path, name: str) -> str | None:
    """Return what stands under a key, as it is written."""
    import tomlkit  # noqa: PLC0415 - only a change needs it

    found = _found(table, path)
    if found is None:
        return None
    _refuse_tables(found, path, name)
    item: Any = tomlkit.parse(_cuts(text, path)[0].table)
    for part in path:
        item = item[part]
    written: str = str(item).lower() if isinstance(item, bool) else item.as_string()
    return written.replace("\r\n", "\n")


def _by_hand(path: _Path, name: str) -> InputError:
    return InputError(
        f"{name}: `{_place(path)}` cannot be changed without changing anything else: do it by hand"
    )


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


def _without_empty(table: dict[str, object]) -> dict[str, object]:
    """Return a table without the tables in which nothing stands: they say nothing."""
    inner = {
        name: _without_empty(value) if is_table(value) else value for name, value in table.items()
    }
    return {name: value for name, value in inner.items() if value != {}}


def _read(value: str, path: _Path, name: str) -> object:
    try:
        table = _comparable(f"value = {value}")
        if table.keys() == {"value"}:
            return table["value"]
        problem = "more than one value"
    except tomllib.TOMLDecodeError as error:
        problem = as_clause(str(error))
    raise InputError(f"{name}: `{_place(path)}`: {shown(value)} is no value of TOML: {problem}")


def _found(table: Mapping[str, object], path: Sequence[str]) -> object | None:
    value: object = table
    for part in path:
        if not is_table(value) or part not in value:
            return None
        value = value[part]
    return value


def _put(table: dict[str, object], path: _Path, value: object, name: str) -> None:
    for at, part in enumerate(path[:-1], start=1):
        inner = table.setdefault(part, {})
        if not is_table(inner):
            above = _place(path[:at])
            raise InputError(f"{name}: `{_place(path)}` cannot be set: `{above}` is no table")
        table = inner
    for each in (table.get(path[-1]), value):
        _refuse_tables(each, path, name)
    table[path[-1]] = value


def _refuse_tables(value: object, path: _Path, name: str) -> None:
    """Refuse to replace what more stands in than one value: comments would go with it."""
    if is_table(value) or (is_list(value) and any(map(is_table, value))):
        raise InputError(f"{name}: `{_place(path)}` holds tables: name one of their keys")


def _place(path: Sequence[str]) -> str:
    place = ""
    for part in path:
        place = joined(place, part)
    return place
