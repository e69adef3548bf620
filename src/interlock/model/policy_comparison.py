"""What would have been answered by another policy, counted over past runs, both side by side."""

from __future__ import annotations

import enum

import msgspec

from interlock.model.past_run import Unread
from interlock.model.verdict import Ranked


class AnswerKind(enum.StrEnum):
    """What was asked."""

    ACTION = "action"
    """May it do this?"""
    STEP = "step"
    """Should it go on?"""
    STOP = "stop"
    """It ends its turn: is it really done?"""


class TurnAnswer(Ranked):
    """What becomes of a turn that its agent ends, from nobody looking to the one to rest.

    By the keys of the policy, the stricter stop gate sends fewer agents on, and a gate that only
    observes is none. A turn that is let end needs no hold: so `finish` comes last, and a warning
    with it makes no difference.
    """

    UNCHECKED = "finish-unchecked"
    """It ends although work seems to be left: nobody asks, or the gate only observes."""
    CONTINUE = "continue"
    PAUSE = "pause"
    STOP = "stop"
    FINISH = "finish"


class Went(enum.StrEnum):
    """How a run ended."""

    WELL = "well"
    """Its evaluators passed it, or its history says that it succeeded."""
    BADLY = "badly"
    UNKNOWN = "unknown"
    """Nobody has said."""


class AnswerCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often something was answered in one way by one policy, and in one by the other."""

    kind: AnswerKind
    before: str
    after: str
    count: int
    stricter: bool
    """Whether the second is the stricter one; false as well where both are the same."""

    @property
    def is_changed(self) -> bool:
        """Whether the two differ."""
        return self.before != self.after


class RuleCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many changes a rule, a check of the continue gate or a signal of the stop gate made."""

    rule: str
    stricter: int
    looser: int


class ChangedAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer that changes, and where to look at it."""

    kind: AnswerKind
    before: str
    after: str
    rules: tuple[str, ...] = ()
    text: str = ""
    """What was asked, without credentials."""
    run: str
    seq: int | None = None
    """The record, where the ledger has it."""
    path: str | None = None
    line: int | None = None
    """Where it stands in a history."""


class HeldRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one kind that a policy pauses or stops, and what they used after that."""

    went: Went
    runs: int
    tokens: int
    """After the first pause or stop."""
    micro_usd: int
    unpriced_tokens: int
    """Those of the tokens whose price nobody knows."""


class SimulatedSide(msgspec.Struct, frozen=True, kw_only=True):
    """What one policy comes to."""

    policy: str
    """What it is called here."""
    hash: str | None
    """None where it is what was answered then."""
    confirmations: int
    confirmations_per_thousand: float | None
    """Of calls that were asked about; None where there was none."""
    denials: int
    held: tuple[HeldRuns, ...]
    """By how the runs ended."""

    def runs_held(self, went: Went | None = None) -> int:
        """Return how many runs are held, of those that ended so or of all."""
        return sum(each.runs for each in self.held if went in (None, each.went))


class Simulation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Past questions under two policies."""

    runs: int
    """How many had anything to decide again."""
    well: int
    badly: int
    answers: int
    changed: int
    stricter: int
    looser: int
    interrupted: int
    """Runs that went well and are held only by the second policy."""
    released: int
    """Runs that went well and are held only by the first one."""
    before: SimulatedSide
    after: SimulatedSide
    counts: tuple[AnswerCount, ...] = ()
    """Every pair of answers that occurred."""
    rules: tuple[RuleCount, ...] = ()
    """What the changes hang on, the one with the most first."""
    examples: tuple[ChangedAnswer, ...] = ()
    """The first answers that change."""
    unread: tuple[Unread, ...] = ()
    """The first of what could not be read."""
    unread_count: int = 0

    @property
    def unknown(self) -> int:
        """How many runs nobody has said about how they ended."""
        return self.runs - self.well - self.badly

    def of_kind(self, kind: AnswerKind) -> int:
        """Return how many answers of a kind were decided again."""
        return sum(each.count for each in self.counts if each.kind is kind)

    @property
    def changes(self) -> tuple[AnswerCount, ...]:
        """The pairs that differ, the most frequent first."""
        changed = (each for each in self.counts if each.is_changed)
        return tuple(sorted(changed, key=lambda each: -each.count))
