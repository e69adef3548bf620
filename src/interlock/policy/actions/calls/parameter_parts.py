"""One object of parameters, taken apart: what stands side by side in it belongs together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from interlock.commands.programs.places import MAX_PATH
from interlock.commands.shell.words import argv_line, quoted
from interlock.policy.actions.calls.json_text import object_or_list
from interlock.policy.actions.calls.payload import Payload, path_of
from interlock.policy.actions.calls.tool_vocabulary import Role, option_of

UNSEEN: Final = frozenset(("data", "content", "old", "reference"))
"""Kinds that are data: nobody looks for calls and patches in them."""
_LISTS: Final = frozenset("glob find finder list ls tree".split())
"""Words in the names of tools that tell of files what they are called."""
_ONLY_FOLDER: Final = frozenset(("folder",))
_DATABASE_ADDRESS: Final = re.compile(r"(?i)^(?:sqlite|duckdb)\w*:(?://)?/?(?=/|~|\.)")
"""What stands before the path where a database is named by an address."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")
_END: Final = re.compile(r"END_*")


class Part(NamedTuple):
    """One entry of an object, and what its name says."""

    name: str
    kinds: frozenset[str]
    value: object


def first_text(parts: Sequence[Part], kind: str) -> str | None:
    """Return the first text that stands under a name of a kind."""
    texts = (each.value for each in parts if kind in each.kinds and isinstance(each.value, str))
    return next(texts, None)


def as_words(item: object) -> list[str]:
    """Return the words of one line, which may be a list."""
    if isinstance(item, list | tuple):
        return [said(each) for each in cast("Sequence[object]", item)]
    return [said(item)]


def said(value: object) -> str:
    """Return a value as a word."""
    return value if isinstance(value, str) else str(value)


def words_of(part: Part) -> Iterator[str]:
    """Yield the arguments that stand beside a program."""
    value = part.value
    if "arguments" not in part.kinds:
        return
    if isinstance(value, str):
        if object_or_list(value) is None:
            yield value
    elif isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        yield from (quoted(said(item)) for item in items if not isinstance(item, Mapping | list))


def options_of(part: Part) -> Iterator[str]:
    """`recursive = true` is an option by its name."""
    value = part.value
    if value is True or (isinstance(value, str) and value.lower() == "true"):
        yield option_of(part.name)


def texts_of(part: Part) -> Iterator[str]:
    """Yield what a program is given under a name of its own."""
    if part.kinds & UNSEEN or part.kinds == _ONLY_FOLDER:
        return
    options = list(options_of(part))
    yield from options
    if isinstance(part.value, int) and "operation" in part.kinds and not options:
        # `mode = 777`
        yield str(part.value)
    if not options:
        yield from _listed(part.value)


def _listed(value: object) -> list[str]:
    """Return a text, or the texts of a list, which may be written as JSON."""
    if isinstance(value, str):
        listed = object_or_list(value)
        value = cast("list[object]", listed) if isinstance(listed, list) else [value]
    items = cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()
    return [item for item in items if isinstance(item, str)]


def exports(parts: Sequence[Part]) -> str:
    """Return the lines that set the environment which stands beside a command."""
    tables = [each.value for each in parts if "environment" in each.kinds]
    return "".join(
        f"export {name}={quoted(text)}\n"
        for table in tables
        if isinstance(table, Mapping)
        for name, text in cast("Mapping[str, object]", table).items()
        if isinstance(text, str) and _IDENTIFIER.fullmatch(str(name))
    )


def fed(program: str, text: str) -> str:
    """Return the line by which a shell gives a text to a program."""
    longest = max((len(found) for found in _END.findall(text)), default=0)
    end = "END".ljust(longest + 1, "_") if longest else "END"
    return f"{program} <<'{end}'\n{text}\n{end}\n"


def joined_texts(parts: Sequence[Part], kind: str) -> str | None:
    """Return the first text of a kind; a list of texts is their lines."""
    for part in parts:
        if kind in part.kinds:
            value = part.value
            if isinstance(value, str):
                return value
            if isinstance(value, list | tuple) and value:
                items = cast("Sequence[object]", value)
                if all(isinstance(item, str) for item in items):
                    return "\n".join(cast("Sequence[str]", items))
    return None


def paths_of(parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    """Yield each path with the name that it stands under."""
    for part in parts:
        if "path" in part.kinds:
            yield from ((part.name, text) for text in _listed(part.value) if _may_be_name(text))


def files_by_name(parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    """`files = { "a.py" = "text" }` writes each of them."""
    for part in parts:
        if "path" in part.kinds and isinstance(part.value, Mapping):
            for name, text in cast("Mapping[str, object]", part.value).items():
                if isinstance(text, str) and may_be_path(str(name)):
                    yield str(name), text


def database_in(parts: Sequence[Part], role: Role) -> str:
    """Return the file that a database is kept in, where one is named."""
    named = first_text(parts, "database") or ""
    if not named and role.queries:
        named = first_text(parts, "path") or ""
    file = _DATABASE_ADDRESS.sub("", path_of(named))
    return file if may_be_path(file) and "://" not in file else ""


def searches_of(parts: Sequence[Part], role: Role, cwd: str | None) -> Iterator[Payload]:
    """Yield the commands that search each folder for what stands beside it.

    Only folders far up count: what lies in a project is searched all the time.
    """
    globs, sought = _texts(parts, "glob"), _texts(parts, "sought")
    if not globs and not sought:
        return
    # A pattern is what a file is called, or what stands in it.
    is_listed = not _LISTS.isdisjoint(role.words)
    texts = [] if is_listed else [text for text in sought if text[:1] != "*"]
    names = [text for text in globs if is_listed or text not in texts or "/" in text]
    words = [word for text in texts for word in ("-e", text)] or ["--files"]
    words += [word for text in names for word in ("-g", text)]
    for path in _texts(parts, "path") or _texts(parts, "folder"):
        place = path if cwd is None or _is_far_up(path) else f"{cwd}/{path}"
        if _is_far_up(place):
            yield Payload(command=argv_line(["rg", *words, "--", place]), path=place)


def _texts(parts: Sequence[Part], kind: str) -> list[str]:
    return [text for part in parts if kind in part.kinds for text in _listed(part.value)]


def _is_far_up(path: str) -> bool:
    return path[:1] in {"~", "/", "$"}


def _may_be_name(text: str) -> bool:
    return 0 < len(text) <= MAX_PATH and "\n" not in text


def may_be_path(text: str) -> bool:
    """Whether a text that stands anywhere could be the path of a file."""
    return (
        _may_be_name(text) and (" " not in text.strip()) and any(char in text for char in "/.~\\")
    )
