"""What a finished run teaches: a retrospective, and what the policy should say instead."""

from __future__ import annotations

import enum

import msgspec

from interlock.model.verdict import Severity


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A record that something rests on."""

    run: str
    seq: int


class RetrospectiveEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened again and again in a run."""

    kind: str
    """`blocked`, `confirmed`, `denied`, `failed`, `throttled`, `rework`, `violation`."""
    name: str
    """The rule, the tool or the file."""
    count: int
    of: int
    """Out of how many."""
    evidence: tuple[Evidence, ...] = ()
    """The first records that show it."""


class Retrospective(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a run, from its records."""

    run: str
    project: str
    outcome: str
    went_well: bool
    """Whether everything passed that judges a finished run."""
    actions: int
    steps: int
    cost_micros: int
    tokens: int
    entries: tuple[RetrospectiveEntry, ...] = ()


class PatchOperation(msgspec.Struct, frozen=True, kw_only=True):
    """One key of the policy that gets another value."""

    path: tuple[str, ...]
    """The tables and the key, as they are written in the file."""
    value: str
    """The new value, as TOML."""
    before: str | None = None
    """What it is now, as TOML; None where only the default says so."""


class SimulatedEffect(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What would have been different in past runs."""

    runs: int
    answers: int
    """How many recorded answers were decided again."""
    changed: int
    confirmations_spared: int
    blocks_lost: int
    examples: tuple[Evidence, ...] = ()
    """The first answers that change."""


class RecommendationState(enum.StrEnum):
    """What became of a recommendation."""

    PENDING = "pending"
    APPLIED = "applied"
    DISMISSED = "dismissed"
    UNDONE = "undone"


class Recommendation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change of the policy that past runs speak for."""

    id: str
    """Follows from what it recommends: the same is never recommended twice."""
    kind: str
    title: str
    """Such as "asked 14 times, approved 14 times: allow it"."""
    reason: str
    count: int
    of: int
    severity: Severity = Severity.LOW
    """Of the rule that it would loosen."""
    patch: tuple[PatchOperation, ...] = ()
    """Empty where people have to see to it themselves."""
    evidence: tuple[Evidence, ...] = ()
    effect: SimulatedEffect | None = None
    state: RecommendationState = RecommendationState.PENDING
