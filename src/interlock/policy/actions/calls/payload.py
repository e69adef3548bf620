"""A tool call → the command or the edits that it carries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final, cast

import msgspec
from msgspec.structs import replace

from interlock.commands.shell.words import argv_line
from interlock.model.unchanged_lines import changed_lines
from interlock.model.verdict import Decision
from interlock.policy.config.action_sections import Carrier

_PATCH_HEADS: Final = (
    "*** Update File: ",
    "*** Add File: ",
    "*** Delete File: ",
    "*** Move to: ",
    "+++ ",
    "rename from ",
    "rename to ",
    "copy to ",
    "diff --git ",
)
_TYPED_TO: Final = "interactive"
"""The parameter that says so where more can be typed into what a shell's call starts."""
_CHARACTERS: Final = 0x110000
_NO_FILE: Final = "/dev/null"
_FILE_ADDRESS: Final = re.compile(
    r"(?i)(?:[a-z-]{1,20}:){0,3}file:(?://(?:localhost|127\.0\.0\.1)?(?=/))?"
)
_QUOTED_NAME: Final = re.compile(r'"((?:[^"\\]|\\.)*)"$')
_C_ESCAPE: Final = re.compile(rb"\\([0-7]{1,3}|.)")
_ESCAPE: Final = re.compile(r"%([0-7][0-9A-Fa-f])")
_ARRIVALS: Final = frozenset("dest destination dst newname newpath output target to".split())
_PATCH_BEGINS: Final = (
    r"(?m)^(?:\*\*\* (?:Begin Patch|(?:Update|Add|Delete) File: )|--- [^\n]+\n\+\+\+ |diff --git "
    r"|\*\*\* [^\n]+\n--- [^\n]+\n\*{15}|[<-]{5,9} SEARCH\b)"
)
_BLOCK_BEGINS: Final = re.compile(r"\s*[<-]{5,9} SEARCH\b(.*)")
_BLOCK_TURNS: Final = re.compile(r"\s*={5,9}\s*")
_BLOCK_ENDS: Final = re.compile(r"\s*[>+]{5,9} REPLACE\b.*")
_NO_NAME: Final = ("```", "~~~")
_OLD_NAMES: Final = tuple(
    "old_string old_str oldText old_text oldString old search find TargetContent".split()
)
_NEW_NAMES: Final = tuple(
    "new_string new_str newText new_text newString new replace content ReplacementContent".split()
)


class Payload(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool call would really do: run `command`, or write `content` to `path`."""

    command: str | None = None
    cwd: str | None = None
    is_typed_to: bool = False
    """Whether more can be typed into what the command starts, which nobody is asked about."""
    path: str | None = None
    content: str = ""
    old: str | None = None
    """The text that `content` replaces, where it is known."""
    changed: int = 0
    removes: bool = False
    """Whether `path` is taken away, with everything in it."""
    arrival: str | None = None
    """Where it arrives, if it is moved."""
    least: Decision = Decision.ALLOW
    """The mildest finding about it that counts: what is only likely must be grave."""


def carriers_of(carriers: Iterable[Carrier], tool: str) -> tuple[Carrier, ...]:
    """Return what a policy says of a tool."""
    return tuple([each for each in carriers if listing(tool, each.tools) is not None])


def payloads_of(params: Mapping[str, object], carriers: Iterable[Carrier]) -> Iterator[Payload]:
    """Yield every command and edit that the parameters carry, by what the policy says of a tool."""
    for carrier in carriers:
        cwd = _text(_first(params, carrier.cwd))
        for line in _commands(params, carrier.command):
            yield Payload(command=line, cwd=cwd, is_typed_to=params.get(_TYPED_TO) is True)
        if carrier.path or carrier.edits or carrier.patch:
            yield from (replace(each, cwd=cwd) for each in _edits(params, carrier))


def is_unwritten(params: Mapping[str, object], carriers: Iterable[Carrier]) -> bool:
    """Whether a number or a flag stands where the policy says that a command does."""
    names = [name for carrier in carriers for name in carrier.command]
    return any(isinstance(params.get(name), int | float) for name in names)


def listing(name: str, patterns: Sequence[str]) -> str | None:
    """Return the entry that names it: exactly, or by a `*` that is written."""
    for pattern in patterns:
        if pattern == name or ("*" in pattern and fnmatchcase(name, pattern)):
            return pattern
    return None


def _edits(params: Mapping[str, object], carrier: Carrier) -> Iterator[Payload]:
    path = _text(_first(params, carrier.path))
    content = _text(_first(params, carrier.content))
    old = _text(_first(params, carrier.old))
    only_a_path = not (carrier.content or carrier.old or carrier.edits or carrier.patch)
    if path is not None and (content is not None or old is not None or only_a_path):
        new = content or ""
        changed = changed_lines(old or "", new)
        arrives = all(is_arrival(name) for name in carrier.path if name in params)
        yield Payload(
            path=path,
            content=new,
            old=old,
            changed=changed,
            removes=only_a_path and not arrives,
            arrival=next((_text(params[name]) for name in params if is_arrival(str(name))), None),
        )
    pairs = _first(params, carrier.edits)
    if isinstance(pairs, list):
        yield from _pairs(path, cast("list[object]", pairs))
    patch = _text(_first(params, carrier.patch))
    if patch is not None:
        yield from files_in_patch(patch, path)


def _pairs(path: str | None, pairs: list[object]) -> Iterator[Payload]:
    """Edits of one file count together; an edit that names its own file counts for that one."""
    edits: list[tuple[str, str, str]] = []
    for pair in pairs:
        if isinstance(pair, Mapping):
            fields = cast("Mapping[str, object]", pair)
            target = _text(_first(fields, ("file_path", "path", "filePath"))) or path or ""
            old = _text(_first(fields, _OLD_NAMES)) or ""
            new = _text(_first(fields, _NEW_NAMES)) or ""
            edits.append((target, old, new))
    return _by_file(edits)


def _by_file(edits: Iterable[tuple[str, str, str]]) -> Iterator[Payload]:
    """Yield each file with all that is replaced in it."""
    files: dict[str, list[tuple[str, str]]] = {}
    for target, old, new in edits:
        files.setdefault(target, []).append((old, new))
    for target, parts in files.items():
        yield Payload(
            path=target,
            content="\n".join([new for _, new in parts]),
            old="\n".join([old for old, _ in parts]),
            changed=sum(changed_lines(old, new) for old, new in parts),
        )


def path_of(text: str) -> str:
    """Return the path that a text names: a `file:` address names one as well."""
    address = _FILE_ADDRESS.match(text)
    if address is not None:
        text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text[address.end() :])
    return text.replace("\\", "/")


def is_arrival(name: str) -> bool:
    """Whether a parameter names where something arrives, not what is taken away."""
    return name.lower().replace("_", "").replace("-", "") in _ARRIVALS


def is_patch(text: str, *, whole: bool = False) -> bool:
    """Whether a text holds a patch, or is one from its beginning."""
    if not ("---" in text or "***" in text or "diff --git " in text or " SEARCH" in text):
        return False
    find = re.match if whole else re.search
    return find(_PATCH_BEGINS, text.lstrip()) is not None


def files_in_patch(patch: str, beside: str | None = None) -> Iterator[Payload]:
    """Yield each file of a patch with the lines it gains and loses.

    What names no file itself changes the one that is named `beside` it.
    """
    if " SEARCH" in patch:
        yield from _by_file(_blocks_in(patch, beside))
    path: str | None = None
    before = ""
    added: list[str] = []
    removed: list[str] = []
    lines = patch.splitlines()
    for line, above in zip(lines, ["", *lines], strict=False):
        if (head := _head_of(line, above)) is not None:
            named = _patched_path(line[len(head) :])
            # A file that goes away is named by its old name only.
            named = before if named == _NO_FILE else named
            if path is not None and (path != named or added or removed):
                yield _patched(path, added, removed)
            path, added, removed = named, [], []
        elif line.startswith(("--- ", "*** ")):
            before = _patched_path(line[len("--- ") :])
        elif line.startswith(("+", "! ")):
            added.append(line[1:])
        elif line.startswith("-"):
            removed.append(line[1:])
    if path is not None:
        yield _patched(path, added, removed)


def _blocks_in(text: str, beside: str | None) -> Iterator[tuple[str, str, str]]:
    """Yield the file, the old text and the new one of each block of SEARCH and REPLACE.

    Where a file is named above a block and another one beside all of them, both count.
    """
    path, above = beside, ""
    old: list[str] = []
    new: list[str] = []
    lines: list[str] | None = None
    for line in text.splitlines():
        if lines is None:
            if (begins := _BLOCK_BEGINS.fullmatch(line)) is not None:
                path = _name_in(begins[1]) or _name_in(above) or path
                lines = old = []
            elif line.strip() and not line.lstrip().startswith(_NO_NAME):
                above = line
        elif lines is old and _BLOCK_TURNS.fullmatch(line):
            lines = new = []
        elif lines is new and _BLOCK_ENDS.fullmatch(line):
            for each in filter(None, {path: None, beside: None}):
                yield each, "\n".join(old), "\n".join(new)
            lines, above = None, ""
        else:
            lines.append(line)


def _name_in(line: str) -> str | None:
    """Return the file that a line above a block names, if it does: at its end, or as all of it."""
    words = line.split()
    name = words[-1].lstrip("`*#:\"'(>").rstrip("`*:,.\"')") if words else ""
    return name if name and (len(words) == 1 or any(char in name for char in "/.")) else None


def _head_of(line: str, above: str) -> str | None:
    """Return what stands before the name of a file that is patched."""
    if line.startswith("--- ") and above.startswith("*** ") and not above.endswith("****"):
        # A context diff, which names the file as it was first.
        return "--- "
    return next((head for head in _PATCH_HEADS if line.startswith(head)), None)


def _patched(path: str, added: Sequence[str], removed: Sequence[str]) -> Payload:
    changed = len(added) + len(removed)
    return Payload(path=path, content="\n".join(added), old="\n".join(removed), changed=changed)


def _patched_path(text: str) -> str:
    text = text.partition("\t")[0].strip()
    found = _QUOTED_NAME.search(text)
    # `diff --git a/x b/x` names a file twice.
    path = text.rpartition(" b/")[2] if found is None else _without_escapes(found[1])
    return path[2:] if path.startswith(("a/", "b/")) else path


def _without_escapes(name: str) -> str:
    """Return the name of a file as git means it between quotes, where octal numbers are bytes."""
    read = _C_ESCAPE.sub(_unescaped, name.encode("utf-8", "replace"))
    return read.decode("utf-8", "replace")


def _unescaped(found: re.Match[bytes]) -> bytes:
    text = found[1]
    return bytes([int(text, 8) % 256]) if text.isdigit() else text


def _commands(params: Mapping[str, object], names: Sequence[str]) -> list[str]:
    """Return each command that the parameters hold, and all of them as one line.

    A program and its arguments may stand apart, and a second name must not hide behind a
    first: whichever the tool reads, it is judged.
    """
    lines = [line for name in names if (line := _command(params.get(name))) is not None]
    return [*lines, " ".join(lines)] if len(lines) > 1 else lines


def _command(value: object) -> str | None:
    """A command is a line, or a list of words."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        words = cast("list[object]", value)
        return spelt(words) or argv_line(map(str, words))
    return None


def spelt(items: Sequence[object]) -> str:
    """Return the text that numbers of characters spell, if they are nothing else."""
    numbers = [each for each in items if type(each) is int and 0 < each < _CHARACTERS]
    return "".join(map(chr, numbers)) if len(numbers) == len(items) > 1 else ""


def _first(params: Mapping[str, object], names: Sequence[str]) -> object:
    return next((params[name] for name in names if name in params), None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
