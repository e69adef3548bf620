"""One object of parameters, taken apart: what stands side by side in it belongs together."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast

from msgspec.structs import replace

from interlock.commands.programs.places import MAX_PATH
from interlock.commands.shell.words import argv_line, quoted
from interlock.policy.actions.calls.json_text import object_or_list
from interlock.policy.actions.calls.payload import Payload, is_arrival, path_of
from interlock.policy.actions.calls.tool_vocabulary import Role, Vocabulary, option_of

UNSEEN: Final = frozenset(("data", "content", "old", "reference"))
"""Kinds that are data: nobody looks for calls and patches in them."""
_LISTS: Final = frozenset("glob find finder list ls tree".split())
"""Words in the names of tools that tell of files what they are called."""
_ONLY_FOLDER: Final = frozenset(("folder",))
_DATABASE_ADDRESS: Final = re.compile(r"(?i)^(?:sqlite|duckdb)\w*:(?://)?/?(?=/|~|\.)")
"""What stands before the path where a database is named by an address."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*")
_BEFORE_A_PROGRAM: Final = re.compile(
    r"(?:[\s({!`]|\$\(|(?:if|while|until|then|do|else)\s|[A-Za-z_]\w*=\S*\s)*"
)
_FORK_BOMB: Final = ":(){"
_CODE: Final = re.compile(r"[\s(]")
_SETTING: Final = re.compile(r"[A-Za-z_]\w*=")
_VALUE: Final = frozenset(("value", "val"))
_EVERYTHING: Final = frozenset(("*", "**", "*.*", "**/*", "_all", "%", ".*"))
_NO_FILTER: Final[tuple[object, ...]] = ({}, "{}")
_ELEMENTS: Final = frozenset("element locator ref selector uid xpath".split())
_ELSEWHERE: Final = ("dest", "remote", "target")
_TELLING: Final = frozenset(("command", "operation", "method"))
_END: Final = re.compile(r"END_*")


class Part(NamedTuple):
    """One entry of an object, and what its name says."""

    name: str
    kinds: frozenset[str]
    value: object


def first_text(parts: Sequence[Part], kind: str) -> str | None:
    """Return the first text that stands under a name of a kind."""
    for part in parts:
        if kind in part.kinds and isinstance(part.value, str):
            return part.value
    return None


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


def lines_by_name(
    parts: Sequence[Part],
    heads: Sequence[str],
    words: Sequence[str],
    role: Role,
    known: Container[str],
) -> Iterator[str]:
    """Yield what a tool that is named after a program, and maybe its verb, would run."""
    own = next(
        (
            words
            for words in (role.words, (role.server, *role.words))
            if words and words[0] in known
        ),
        (),
    )
    if heads and heads[0].partition(" ")[0] not in known:
        # `{command: "destroy"}`: its program may stand anywhere in the name.
        others = [each for each in parts if not each.kinds & {"command", "arguments", "folder"}]
        rest = _quoted(text for part in others for text in texts_of(part))
        for program in dict.fromkeys(word for word in role.others if word in known):
            yield " ".join([program, *heads, *words, *rest])
    if not own or (role.runs and not words):
        return
    if heads or words:
        options = _quoted(text for part in parts for text in options_of(part))
        yield " ".join([*own, *heads, *words, *options])
    else:
        has_verb = len(own) > 1
        # What it is done to comes last, and how before that; a folder is where a verb is done.
        parts = [each for each in parts if not (has_verb and "folder" in each.kinds)]
        parts.sort(key=lambda part: "path" in part.kinds)
        yield " ".join([*own, *_quoted(text for part in parts for text in texts_of(part))])
        if has_verb:
            # `mode = "hard"` is `--hard`.
            modes = [f"--{each.value}" for each in parts if "operation" in each.kinds]
            others = [each for each in parts if "operation" not in each.kinds]
            rest = (text for part in others for text in texts_of(part))
            yield " ".join([*own, *_quoted(modes), *_quoted(rest)])


def _quoted(texts: Iterable[str]) -> list[str]:
    return [quoted(text) for text in texts]


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


def begins_with_a_program(text: str, known: Container[str]) -> bool:
    """Whether the first word is the name of a program that is known."""
    if text.startswith(_FORK_BOMB):
        return True
    text = text[:MAX_PATH]
    before = _BEFORE_A_PROGRAM.match(text)
    rest = re.split(r"[\s;&|)`]", text[before.end() if before else 0 :], maxsplit=1)
    name = rest[0].replace("\\", "").strip("'\"").rpartition("/")[2]
    return name in known


def unread(part: Part, role: Role) -> str:
    """Return the language that a tool is named after and nobody reads, where it is given code."""
    is_code = isinstance(part.value, str) and _CODE.search(part.value) is not None
    return role.language if is_code else ""


def settings_of(parts: Sequence[Part]) -> Iterator[str]:
    """Yield the lines that set what a tool sets by name, or under `name` and `value`."""
    pairs = {each.name: each.value for each in parts}
    value = next((pairs[name] for name in pairs if name.lower() in _VALUE), None)
    named = [(text, value) for text in pairs.values() if isinstance(text, str)]
    for name, text in (*pairs.items(), *(named if value is not None else ())):
        if _IDENTIFIER.fullmatch(name) and isinstance(text, str):
            yield f"export {name}={quoted(text)}\n"
        if isinstance(text, str) and _SETTING.match(text):
            yield f"export {quoted(text)}\n"


def told_to_do(
    parts: Sequence[Part], role: Role, vocabulary: Vocabulary
) -> list[tuple[Part, Role]]:
    """Return what a tool that can do several things is told to do, and where."""
    return [
        (part, vocabulary.told(role, part.value))
        for part in parts
        if (not _TELLING.isdisjoint(part.kinds) or part.name.lower() == "type")
        and isinstance(part.value, str)
    ]


def told_by(parts: Sequence[Part], role: Role, to_do: Sequence[tuple[Part, Role]]) -> Role:
    """Return what a tool can do by its name, and by what it is told to do."""
    for _, told in to_do:
        if told.types or told.deletes:
            role = replace(
                role, types=role.types or told.types, deletes=role.deletes or told.deletes
            )
    if role.types and any(each.name.lower() in _ELEMENTS for each in parts):
        # It fills in a form.
        return replace(role, types=False)
    return role


def wiped_by(
    parts: Sequence[Part], role: Role, to_do: Sequence[tuple[Part, Role]], vocabulary: Vocabulary
) -> str:
    """Return what a call deletes, where that is everything or something that holds much."""
    for part in parts if role.deletes else ():
        texts = [] if part.kinds & {"content", "old"} else _listed(part.value)
        if any(text.strip("/") in _EVERYTHING for text in texts):
            return f"everything: `{part.name}` names no one thing"
        if part.value in _NO_FILTER and "filter" in vocabulary.kinds_of(part.name):
            return f"everything: `{part.name}` is empty"
        if "reference" in part.kinds and any(map(vocabulary.is_store, texts)):
            return f"what holds much: `{part.name}` says so"
    acts = [part for part, told in to_do if told.shows_nothing]
    if not acts or role.reads or role.shows_nothing:
        return ""
    is_filtered = any("filter" in each.kinds and each.value for each in parts)
    return "" if is_filtered else f"what does not show: `{acts[0].name}` says so"


def is_sent(name: str, text: str) -> bool:
    """Whether a text that stands in a call that sends files is the path of one."""
    return (
        may_be_path(text)
        and "://" not in path_of(text)
        and not name.lower().startswith(_ELSEWHERE)
        and not is_arrival(name)
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
