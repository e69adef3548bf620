"""Edits of files: what is asked for, what would come of it, and what was done."""

from __future__ import annotations

import enum

import msgspec

from interlock.model.entrance import Argument
from interlock.model.facts import Layer


class FileEdit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """One text to be put in the place of another.

    An empty `old` makes a new file, or fills an empty one.
    """

    path: str
    old: str
    new: str
    replace_all: bool = False


class EditSet(msgspec.Struct, frozen=True, kw_only=True, metaclass=Argument):
    """Edits that are made together or not at all; all of them speak of the files as they are."""

    edits: tuple[FileEdit, ...]


class Encoding(enum.StrEnum):
    """How the text of a file is written down."""

    UTF_8 = "utf-8"
    UTF_8_BOM = "utf-8-bom"
    UTF_16_LE = "utf-16-le"
    UTF_16_BE = "utf-16-be"


class PlannedChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One span of a file's text that gets another text.

    `start` and `end` count the characters of the text as it is in the file, without its mark of
    the encoding.
    """

    edit: int
    """The number of the edit in its set, from 1."""
    start: int
    end: int
    line: int
    column: int
    layer: Layer
    similarity: float = 1.0
    """How much of the text is the same; less than 1 only where the match is fuzzy."""

    @property
    def place(self) -> str:
        """Where it begins, as `line:column`."""
        return f"{self.line}:{self.column}"


class FilePlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What would become of one file."""

    path: str
    """As it was asked for."""
    target: str
    """The file itself, seen from the workspace: no link is on the way to it."""
    before: str | None
    """The digest of its bytes; None where it does not exist."""
    after: str
    added: int
    """How many lines are added; a line that changes is removed and added."""
    removed: int
    changes: tuple[PlannedChange, ...]
    """In the order of the file."""
    encoding: Encoding
    mode: int | None
    """Its permissions, which stay; None where the file is new."""

    @property
    def changed_lines(self) -> int:
        """How large the change is."""
        return self.added + self.removed


class EditPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What would become of every file of a set; nothing has been written."""

    workspace: str
    files: tuple[FilePlan, ...]

    @property
    def added(self) -> int:
        """How many lines are added in all files together."""
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        """How many lines are removed in all files together."""
        return sum(file.removed for file in self.files)

    @property
    def changed_lines(self) -> int:
        """How large the change is in all files together."""
        return self.added + self.removed

    @property
    def layers(self) -> frozenset[Layer]:
        """How the texts were found."""
        return frozenset(change.layer for file in self.files for change in file.changes)


class AppliedFile(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one file: the digests of its bytes, None where there is no file."""

    path: str
    target: str
    before: str | None
    after: str | None


class Applied(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A set that was applied and is stored, so that it can be put back."""

    id: str
    workspace: str
    files: tuple[AppliedFile, ...]
    undoes: str | None = None
    """The set that was put back by this one."""


class Outcome(enum.StrEnum):
    """What became of a set that was not finished."""

    COMPLETED = "completed"
    """Every file is new."""
    PUT_BACK = "put-back"
    """Every file is as it was."""


class Recovered(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A set that was not finished, and is now."""

    id: str
    outcome: Outcome
    left_alone: tuple[str, ...] = ()
    """Files that somebody else has changed since, which nobody touched."""
