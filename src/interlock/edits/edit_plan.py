"""What would become of the files? Everything is found and checked before anything is written.

All edits of a set speak of the files as they are now: positions are found once, in the original
text, and no edit sees what another one does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from interlock.edits.file_text import (
    Differences,
    FileText,
    Match,
    bytes_from_text,
    fitted,
    text_from_bytes,
)
from interlock.edits.text_match import matches
from interlock.edits.workspace_files import check_is_writable, found_file, target_of, workspace_root
from interlock.errors import EditError
from interlock.model.edit import EditPlan, EditSet, Encoding, FileEdit, FilePlan, PlannedChange
from interlock.model.facts import Layer


class Planned(NamedTuple):
    """A plan, with what it takes to carry it out."""

    plan: EditPlan
    contents: Mapping[str, bytes]
    """What each target will hold."""
    differences: Mapping[str, Differences]

    def unified_diff(self) -> str:
        """Return what changes in all files, as `patch` reads it."""
        return "".join(
            self.differences[file.target].unified(file.target, creates=file.before is None)
            for file in self.plan.files
        )

    def changed_lines(self) -> Iterator[PlannedLines]:
        """Yield what is really removed and added, place by place; each file at least once."""
        for file in self.plan.files:
            yield from _planned_lines(file, self.differences[file.target])


class PlannedLines(NamedTuple):
    """Lines of a file that are removed, and those that come in their place."""

    target: str
    removed: str
    added: str
    layer: Layer
    """How the text to be replaced was found; of several, the least sure."""


_Numbered = tuple[int, FileEdit]
"""An edit after its number in the set."""
_Found = tuple[int, Match]
"""A span after the number of the edit that replaces it."""


def plan_edits(edits: EditSet, *, workspace: Path) -> Planned:
    """Return what would become of the files; nothing is written.

    Raises EditError with a line for everything that is wrong: each names the file, the number
    of the edit, the place and what to do.
    """
    root = workspace_root(workspace)
    if not edits.edits:
        raise EditError("there is no edit in the set: give at least one")
    complaints: list[str] = []
    files: list[tuple[FilePlan, bytes, Differences]] = []
    for target, some in _by_target(root, edits, complaints).items():
        with _noting(complaints):
            files.append(_planned_file(root, target, some))
    if complaints:
        raise EditError("\n".join(complaints))
    return Planned(
        plan=EditPlan(workspace=str(root), files=tuple(plan for plan, _, _ in files)),
        contents={plan.target: content for plan, content, _ in files},
        differences={plan.target: differences for plan, _, differences in files},
    )


def _planned_lines(file: FilePlan, differences: Differences) -> list[PlannedLines]:
    layers = [change.layer for change in file.changes]
    surest, least_sure = min(layers), max(layers)
    unsure = [(number, layer) for number, layer in enumerate(layers) if layer is not surest]
    found = [
        PlannedLines(
            file.target,
            lines.removed,
            lines.added,
            max(
                (layer for number, layer in unsure if differences.touches(number, lines)),
                default=surest,
            ),
        )
        for lines in differences.changed_lines()
    ] or [PlannedLines(file.target, "", "", least_sure)]
    if least_sure in [lines.layer for lines in found]:
        return found
    # Lines that are alike can be matched in more than one way: never take it for too sure.
    return [lines._replace(layer=least_sure) for lines in found]


def digest_of(content: bytes) -> str:
    """Return what a file's bytes are known by."""
    return hashlib.sha256(content).hexdigest()


def _by_target(root: Path, edits: EditSet, complaints: list[str]) -> dict[str, list[_Numbered]]:
    """Sort the edits by the file they change, whatever name they have for it."""
    by_target: dict[str, list[_Numbered]] = {}
    for number, edit in enumerate(edits.edits, 1):
        with _noting(complaints), _naming(edit, number):
            target = target_of(root, edit.path)
            by_target.setdefault(target, []).append((number, edit))
    return by_target


def _planned_file(
    root: Path, target: str, edits: Sequence[_Numbered]
) -> tuple[FilePlan, bytes, Differences]:
    number, edit = edits[0]
    with _naming(edit, number):
        before = found_file(root, target)
        check_is_writable(root, target)
        text = FileText("", Encoding.UTF_8) if before is None else text_from_bytes(before.content)
    found = _found(text, edits, exists=before is not None)
    _check_all_change_something(text, found, edits)
    differences = Differences(text, [match for _, match in found])
    with _naming(edit, number):
        content = bytes_from_text(differences.changed_text(), text.encoding)
    plan = FilePlan(
        path=edit.path,
        target=target,
        before=None if before is None else digest_of(before.content),
        after=digest_of(content),
        added=differences.added,
        removed=differences.removed,
        changes=tuple(_changes(text, found)),
        encoding=text.encoding,
        mode=None if before is None else before.mode,
    )
    return plan, content, differences


@contextmanager
def _noting(complaints: list[str]) -> Generator[None]:
    """Note what is wrong and go on: everything is to be said at once."""
    try:
        yield
    except EditError as error:
        complaints.append(str(error))


@contextmanager
def _naming(edit: FileEdit, number: int) -> Generator[None]:
    """Put the file and the number of the edit in front of what is wrong."""
    try:
        yield
    except EditError as error:
        raise EditError(f"`{edit.path}`: edit {number}: {error}") from error


def _found(text: FileText, edits: Sequence[_Numbered], *, exists: bool) -> list[_Found]:
    """Return every span that is replaced, in the order of the file; no two overlap."""
    complaints: list[str] = []
    found: list[_Found] = []
    for number, edit in edits:
        with _noting(complaints), _naming(edit, number):
            some = _matches(text, edit, exists=exists)
            found += [(number, fitted(each, text)) for each in some]
    found.sort(key=lambda each: (each[1].start, each[1].end))
    complaints += _overlaps(text, found, edits[0][1].path)
    if complaints:
        raise EditError("\n".join(complaints))
    return found


def _matches(text: FileText, edit: FileEdit, *, exists: bool) -> list[Match]:
    if not edit.old and text.plain:
        raise EditError(
            "`old` is empty, but the file has text already: give the text that is to be replaced"
        )
    if not edit.old:
        return [Match(0, 0, edit.new, Layer.CREATED)]
    if not exists:
        raise EditError("does not exist: correct the path, or give an empty `old` to make it")
    return matches(text, edit)


def _overlaps(text: FileText, found: Sequence[_Found], path: str) -> Iterator[str]:
    for (first, one), (second, other) in pairwise(found):
        if one.layer is Layer.CREATED:
            yield (
                f"`{path}`: edit {first} and edit {second} both make the file:"
                " give its whole text in one edit"
            )
        elif other.start < one.end:
            yield (
                f"`{path}`: edit {first} at {_span(text, one)} and edit {second}"
                f" at {_span(text, other)} overlap: make one edit of them"
            )


def _span(text: FileText, match: Match) -> str:
    return f"{text.place(match.start)} to {text.place(match.end)}"


def _check_all_change_something(
    text: FileText, found: Sequence[_Found], edits: Sequence[_Numbered]
) -> None:
    """Refuse an edit after which everything is as before."""
    useful = {
        number
        for number, match in found
        if match.new != text.text[text.origin(match.start) : text.origin(match.end)]
    }
    idle = [(number, edit) for number, edit in edits if number not in useful and edit.old]
    if idle:
        raise EditError(
            "\n".join(
                f"`{edit.path}`: edit {number}: `new` is what stands there already: leave the edit"
                " out; line endings stay as they are in the file"
                for number, edit in idle
            )
        )


def _changes(text: FileText, found: Sequence[_Found]) -> Iterator[PlannedChange]:
    for number, match in found:
        yield PlannedChange(
            edit=number,
            start=text.origin(match.start),
            end=text.origin(match.end),
            line=text.line_at(match.start) + 1,
            column=text.column_at(match.start),
            layer=match.layer,
            similarity=match.similarity,
        )
