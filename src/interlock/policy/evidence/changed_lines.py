"""Which lines an action adds and removes, and which of those the run had written itself."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from interlock.model.action import EditAction
from interlock.model.events import FileChange
from interlock.model.unchanged_lines import lines_of
from interlock.policy.actions.calls.json_text import Unreadable
from interlock.policy.actions.calls.payload import Payload
from interlock.policy.actions.inspection import Inspection

_MOST_LINES: Final = 2000
"""Of a larger change only so many lines are known again."""
_SHORTEST: Final = 3
"""Shorter lines, such as a closing brace, say nothing about who wrote them."""
_NO_LINES: Final = frozenset[int]()
_WORDS_OF_PARTS: Final = ("append", "insert", "move", "rename")
_PARAMETERS_OF_PARTS: Final = frozenset(
    "cell_id cell_idx cell_number code_edit diff insert_line insert_text newCode newString"
    " new_source new_str new_string new_text replacement ReplacementContent".split()
)


def edits_of(inspection: Inspection) -> Iterator[Payload]:
    """Yield every edit that an action makes."""
    action, call = inspection.action, inspection.call
    if isinstance(action, EditAction):
        given = action.diff_lines if action.old is None else None
        changed = _size(action.old, action.content) if given is None else given
        yield Payload(path=action.path, content=action.content, old=action.old, changed=changed)
    elif call is not None and not isinstance(call.params, Unreadable):
        partial = _is_partial(call.name, call.params)
        edits = [each for each in call.payloads if each.command is None]
        yield from (_as_part(each, partial=partial) for each in edits)


def _is_partial(tool: str, params: Mapping[str, object]) -> bool:
    """Whether a call leaves the rest of its file as it is, whatever it says of the old text."""
    words = f"{tool} {params.get('command', '')}".lower().replace("remove", "")
    if any(word in words for word in _WORDS_OF_PARTS):
        return True
    return not _PARAMETERS_OF_PARTS.isdisjoint(params)


def _as_part(edit: Payload, *, partial: bool) -> Payload:
    """Say of a part that it replaces nothing known: without old text a file is written anew."""
    return replace(edit, old="") if partial and edit.old is None else edit


def file_changes(
    edits: Sequence[Payload], written: Mapping[str, frozenset[int]]
) -> tuple[FileChange, ...]:
    """Return what each edit does to its file, given the lines that the run wrote before."""
    return tuple(_change(edit, written.get(edit.path or "", _NO_LINES)) for edit in edits)


def _change(edit: Payload, own: frozenset[int]) -> FileChange:
    before, after = _lines(edit.old or ""), _lines(edit.content)
    added, removed = after - before, (before - after).total()
    rework, gone = 0, _NO_LINES
    if own:
        # Compared by fingerprint, so that a line that only moved to the right was not rewritten.
        left = _counted(after)
        lost = _counted(before) - left
        rework = sum(count for line, count in lost.items() if line in own)
        gone = own & lost.keys() - left.keys()
        if edit.old is None:
            # The file is written anew: what the run had put there stays, or was rewritten.
            gone = own - left.keys()
            rework = removed = len(gone)
            added = Counter({line: n for line, n in added.items() if fingerprint(line) not in own})
    return FileChange(
        path=edit.path or "",
        added=added.total(),
        removed=removed,
        rework=rework,
        wrote=_fingerprints(added),
        gone=tuple(sorted(gone)),
    )


def fingerprint(line: str) -> int:
    """Return a number by which a line is known again, whatever its indentation."""
    return zlib.crc32(line.strip().encode("utf-8", "replace"))


def _counted(lines: Counter[str]) -> Counter[int]:
    counts = Counter[int]()
    for line, count in lines.items():
        counts[fingerprint(line)] += count
    return counts


def _fingerprints(lines: Counter[str]) -> tuple[int, ...]:
    telling = {fingerprint(line) for line in lines if len(line.strip()) >= _SHORTEST}
    return tuple(sorted(telling)[:_MOST_LINES])


def _lines(text: str) -> Counter[str]:
    return Counter(lines_of(text))


def _size(old: str | None, new: str) -> int:
    before, after = _lines(old or ""), _lines(new)
    return (after - before).total() + (before - after).total()
