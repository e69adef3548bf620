"""What a finished run teaches: a retrospective, and what the policy should say instead."""

from __future__ import annotations

import enum

import msgspec

from interlock.model.verdict import Severity


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """A record that something rests on."""

    run: str
    seq: int


class RetrospectiveKind(enum.StrEnum):
    """What happened, and with that what a count is out of."""

    BLOCKED = "blocked"
    """A rule blocked actions, out of all that were asked about."""
    CONFIRMED = "confirmed"
    """A person said yes, out of all questions that a rule led to; also where nobody ever did."""
    DENIED = "denied"
    """A person said no, out of the same."""
    FAILED = "failed"
    """A tool failed, out of all its calls; with `after`, out of those right behind that tool."""
    THROTTLED = "throttled"
    """The continue gate slowed the run down, out of all answers before steps."""
    PAUSED = "paused"
    """It paused the run, out of the same."""
    STOPPED = "stopped"
    """It stopped the run, out of the same."""
    LIFTED = "lifted"
    """A person let the run go on, out of all pauses for that reason; also where nobody ever did."""
    REWORK = "rework"
    """Lines that the run had written itself were changed again, out of all lines of the file."""
    VIOLATION = "violation"
    """A rule was broken, out of all violations."""


class RetrospectiveEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened again and again in a run."""

    kind: RetrospectiveKind
    name: str
    """The rule, the tool, the file, or the code of the continue gate's reason."""
    gate: str = ""
    """Whose rule it is."""
    after: str = ""
    """The tool that ran right before."""
    count: int
    of: int
    """Out of how many."""
    percent: int | None = None
    """The lowest limit that would never have been exceeded, where a figure decided."""
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


class RecommendationKind(enum.StrEnum):
    """What is recommended."""

    ALLOW = "allow"
    """People always say yes: do not ask them any more."""
    BLOCK = "block"
    """People always say no: do not ask them any more."""
    RAISE_SLOPE = "raise-slope"
    """Runs that go well are slowed down."""
    RAISE_REWORK = "raise-rework"
    """Runs are paused that people always let go on."""
    FAILING_TOOL = "failing-tool"
    """A tool mostly fails."""


class Recommendation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A change of the policy that past runs speak for."""

    id: str
    """Follows from what it recommends: the same is never recommended twice."""
    kind: RecommendationKind
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
