"""What one key of the policy file is."""

from __future__ import annotations

import enum

import msgspec

from interlock.policy.config.shapes import Shape


class Tighter(enum.Enum):
    """Which of two values is the stricter one, in the words of the reference."""

    TRUE = "`true` is tighter"
    SMALLER = "a smaller number is tighter"
    LARGER = "a larger number is tighter"
    LIMITED = "a smaller limit is tighter, and one where none stood"
    STRONGER = "a stronger decision is tighter"
    FEWER = "fewer entries are tighter"
    MORE = "more entries are tighter"
    KEPT = "a project may add entries, not change the ones below"
    FIXED = "has one value only"
    USER_ONLY = "stands in the user's file only"


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key: where it stands, what it takes, what it means and when it is stricter."""

    path: str
    shape: Shape
    meaning: str
    tighter: Tighter
    switch: str | None = None
    """The flag that must be on for this key to matter at all."""
    at_least: str | None = None
    """The key whose value this one must not go below."""
    absent: str | None = None
    """What holds where no file sets the key, in words; None where the defaults set it."""

    @property
    def section(self) -> str:
        """The table that the key stands in, empty for the top of the file."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The key as it is written inside its table."""
        return self.path.rpartition(".")[2]
