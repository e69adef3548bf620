"""One thing that happened, as a person reads it."""

from __future__ import annotations

import enum
from typing import Final

import msgspec


class Accent(enum.StrEnum):
    """What an entry means for the run, which decides how it looks."""

    STRONG = "strong"
    FAINT = "faint"
    GOOD = "good"
    CAREFUL = "careful"
    ASKING = "asking"
    """A person is concerned."""
    BAD = "bad"

    @property
    def tone(self) -> str:
        """The colour that the console has for it: those of decisions, or none."""
        return _TONES[self]


_TONES: Final = {
    Accent.STRONG: "none",
    Accent.FAINT: "none",
    Accent.GOOD: "allow",
    Accent.CAREFUL: "warn",
    Accent.ASKING: "ask",
    Accent.BAD: "block",
}


class Entry(msgspec.Struct, frozen=True):
    """One thing that happened, for people."""

    mark: str
    accent: Accent
    text: str
    """What it was about; cut where room is short."""
    facts: str = ""
    """What must not be cut."""
    reasons: tuple[str, ...] = ()
    """Why, one line each."""
    rules: str = ""
    """Why, in names only."""
