"""What is known of a run and of its files when an action is judged."""

from __future__ import annotations

import enum

import msgspec

from interlock.model.budget import NOTHING, Amounts, BudgetBalance
from interlock.model.verdict import Finding, Ranked


class HoldKind(Ranked):
    """Who holds a run, from mild to strict: none is ever replaced by a milder one."""

    PAUSE = "pause"
    """Waits for a person's word; without one in time it becomes a stop."""
    STOP = "stop"
    """Stopped by the continue gate: absorbing, only a person's resume lifts it."""
    PERSON_STOP = "person-stop"
    """Stopped by a person."""


class Hold(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run that may not go on, and why."""

    kind: HoldKind
    reason: str
    step: int
    """How many steps the run had taken."""
    since: int
    approval: str | None = None
    """The question to a person whose answer lifts it."""


def stricter(current: Hold | None, new: Hold) -> Hold:
    """Return the hold that counts: soft never replaces hard."""
    if current is not None and current.kind.rank >= new.kind.rank:
        return current
    return new


class Denial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A person was asked about exactly this action and said no."""

    approval: str
    note: str | None = None


class Band(enum.StrEnum):
    """What a run may still do, from everything to nothing."""

    FULL = "full"
    RESTRICTED = "restricted"
    """Destructive actions and the network need a person's word."""
    READ_ONLY = "read-only"
    STOP = "stop"


class Privilege(msgspec.Struct, frozen=True, kw_only=True):
    """How much a run may still do by itself, and what kind of action it wants to do."""

    band: str
    """A `Band`."""
    coherence: float
    risk_class: str = msgspec.field(name="nature")


class Withheld(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of an answer hangs on text that is not recorded, because it held a secret.

    The recorded input gives the findings `instead`; the whole input gave the recorded verdict.
    """

    instead: tuple[Finding, ...] = ()


class UndoSnapshot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Files and folders that were copied away before something happens to them."""

    id: str
    workspace: str
    paths: tuple[str, ...]
    entries: int
    """How many files, links and folders there are in them, with themselves."""
    size_bytes: int
    digest: str | None = None
    """What its manifest is known by, and through that every copy."""


class Undoable(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether what an action will touch was copied away first, so that it can be put back."""

    snapshot: UndoSnapshot | None = msgspec.field(default=None, name="kept")
    refused: str | None = None
    """Why it was not."""


class Facts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was known of the run when an action was judged."""

    balances: tuple[BudgetBalance, ...] = msgspec.field(default=(), name="standings")
    """The accounts that have a limit."""
    asked: Amounts = NOTHING
    granted: str | None = None
    """A granted approval for exactly this action."""
    denied: Denial | None = None
    withheld: Withheld | None = None
    hold: Hold | None = None
    """What keeps the run, or one above it, from going on."""
    privilege: Privilege | None = None
    """None while nothing is taken from the run."""
    unpriced_accepted: bool | None = None
    """What a person said to going on at an unknown cost; None where nobody has said anything."""
    undo: Undoable | None = None
    """None where no rule lets an action through because it can be put back."""


class Layer(Ranked):
    """How the text to be replaced was found, from sure to likely."""

    CREATED = "created"
    """Not at all: the file is new, or was empty."""
    EXACT = "exact"
    """Character by character; only line endings may differ."""
    WHITESPACE = "whitespace"
    """Whole lines that differ in blanks alone."""
    FUZZY = "fuzzy"
    """The whole lines that are most like it."""
