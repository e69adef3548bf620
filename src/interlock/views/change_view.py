"""What an edit would change, line by line, as somebody reads it who decides about it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Final

import msgspec

from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.policy.config.complaints import is_list, is_table
from interlock.views import units

MOST_LINES: Final = 400
"""So many lines of one file are shown."""
_AROUND: Final = 3
_LARGEST: Final = 200_000
_MOST_COMPARED: Final = 4_000
_PATHS: Final = ("path", "file_path", "filename", "notebook_path")
_OLD: Final = ("old", "old_string", "old_str")
_NEW: Final = ("new", "new_string", "new_str", "content", "file_text", "new_source")


class ChangedLine(msgspec.Struct, frozen=True):
    """One line of a change."""

    kind: str
    """`add`, `del`, empty for what stays, `gap` for what is left out."""
    old: int | None
    new: int | None
    text: str


class FileChangeView(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of one file."""

    path: str
    added: int
    removed: int
    is_whole: bool
    """Whether the old content is not known: then it is written anew, whatever it held."""
    lines: tuple[ChangedLine, ...]
    more: int
    """How many more lines there are than are shown."""
    too_large: str
    """Its size and digest, where it is too large to be shown."""


def changes_of(action: Action) -> tuple[FileChangeView, ...]:
    """Return what an action would change in files, where it says so itself."""
    match action:
        case EditAction(path=path, content=content, old=old):
            return (_change(path, old, content),)
        case ToolAction(params=params):
            return tuple(_of_call(params))
        case CommandAction():
            return ()


def _of_call(params: Mapping[str, object] | str) -> Iterator[FileChangeView]:
    try:
        given: object = msgspec.json.decode(params) if isinstance(params, str) else params
    except (ValueError, RecursionError):
        return
    if not is_table(given):
        return
    edits = given.get("edits")
    for each in edits if is_list(edits) else [given]:
        if not is_table(each):
            continue
        path = _text(each, _PATHS) or _text(given, _PATHS)
        old, new = _text(each, _OLD), _text(each, _NEW)
        if path is not None and new is not None:
            yield _change(path, old, new)


def _text(table: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    return next((found for name in names if isinstance(found := table.get(name), str)), None)


def _change(path: str, old: str | None, new: str) -> FileChangeView:
    before, after = (old or "").splitlines(), new.splitlines()
    is_too_large = len(new) + len(old or "") > _LARGEST or len(before) + len(after) > _MOST_COMPARED
    lines = [] if is_too_large else list(_lines(before, after))
    digest = hashlib.sha256(new.encode("utf-8", "replace")).hexdigest()
    return FileChangeView(
        path=path,
        added=len(after) if is_too_large else sum(each.kind == "add" for each in lines),
        removed=len(before) if is_too_large else sum(each.kind == "del" for each in lines),
        is_whole=old is None,
        lines=tuple(lines[:MOST_LINES]),
        more=max(0, len(lines) - MOST_LINES),
        too_large=f"{units.size(len(new.encode('utf-8', 'replace')))}, SHA-256 {digest}"
        if is_too_large
        else "",
    )


def _lines(before: list[str], after: list[str]) -> Iterator[ChangedLine]:
    groups = SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(_AROUND)
    for number, group in enumerate(groups):
        if number or group[0][1]:
            yield ChangedLine("gap", None, None, "")
        for tag, old, old_end, new, new_end in group:
            if tag == "equal":
                for at in range(old_end - old):
                    yield ChangedLine("", old + at + 1, new + at + 1, before[old + at])
                continue
            for at in range(old, old_end):
                yield ChangedLine("del", at + 1, None, before[at])
            for at in range(new, new_end):
                yield ChangedLine("add", None, at + 1, after[at])
