"""One thing that happened, as a person reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from interlock.cli.render import Tone


class Entry(NamedTuple):
    """One thing that happened, for people."""

    mark: str
    tone: Tone
    text: str
    """What it was about; cut where room is short."""
    facts: str = ""
    """What must not be cut."""
    reasons: tuple[str, ...] = ()
    """Why, one line each."""
    rules: str = ""
    """Why, in names only."""
