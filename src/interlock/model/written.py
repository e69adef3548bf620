"""What a run has written: its files, and fingerprints of its lines, to know them again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from interlock.model.events import FileChange

_MOST_LINES: Final = 20_000


def with_files(files: frozenset[str], changes: tuple[FileChange, ...]) -> frozenset[str]:
    """Return the files with those that were changed."""
    new = {change.path for change in changes} - files
    return files | new if new else files


def with_lines(
    written: Mapping[str, frozenset[int]], changes: tuple[FileChange, ...]
) -> Mapping[str, frozenset[int]]:
    """Return the lines by file after some were written and others went."""
    if not any(change.wrote or change.gone for change in changes):
        return written
    lines = dict(written)
    for change in changes:
        # Taken out and put back, so that the file counts as the latest one.
        kept = lines.pop(change.path, frozenset()) - set(change.gone)
        lines[change.path] = kept | set(change.wrote)
    while sum(map(len, lines.values())) > _MOST_LINES and len(lines) > 1:
        del lines[next(iter(lines))]
    return lines
