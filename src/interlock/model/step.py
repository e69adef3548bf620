"""What is known, believed and saved before a step, and what is answered: should the run go on?

A signal that nobody knows is None, which is neither zero nor one. What cannot be a number of its
kind is refused when the value is made, so that whoever decides never meets it.
"""

from __future__ import annotations

import enum
from typing import Annotated, Final, Never

import msgspec

from interlock.errors import InputError
from interlock.model.budget import Dimension
from interlock.model.budget_words import UsedUp
from interlock.model.entrance import Argument, Count, Share
from interlock.model.glance import Glance, Glanced
from interlock.model.verdict import Ranked, no_truth

SLOPE_STEPS: Final = 10
"""So many steps are looked at to see whether spending grows."""
COHERENCE_ACTIONS: Final = 20
"""So many actions are looked at to see whether a run is still coherent."""
_MOST_WEIGHT: Final = 1000
_Together = Annotated[float, msgspec.Meta(ge=0, le=10**12)]
"""The weight of all evidence: more than anybody reports, and every share of it is a number."""


class StepDecision(Ranked):
    """What happens before the next step, from free to final."""

    CONTINUE = "continue"
    CHECKPOINT = "checkpoint"
    THROTTLE = "throttle"
    PAUSE = "pause"
    STOP = "stop"


class StepCode(enum.StrEnum):
    """What the continue gate itself checks; a sign gives its own name in place of these."""

    COHERENCE = "coherence"
    STEP_LIMIT = "step-limit"
    TOTAL_STEP_LIMIT = "total-step-limit"
    BUDGET = "budget"
    REWORK = "rework"
    UNCERTAINTY = "uncertainty"
    SLOPE = "slope"
    CHECKPOINT = "checkpoint"


class Sign(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """What a detector concluded from the run so far; `continue` means that it only warns."""

    name: str
    decision: StepDecision
    message: str
    remediation: str
    value: float | None = None
    """The figure behind it, where there is one."""

    def __post_init__(self) -> None:
        """Refuse a refusal that does not say what to do."""
        if self.decision is not StepDecision.CONTINUE and not self.remediation:
            raise InputError(
                f"sign `{self.name}`: it says `{self.decision.value}` and not what to do about it:"
                " give it a `remediation`"
            )


class Remaining(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """What is left of each budget: 0 or less is used up, None is not limited or not known."""

    tokens: int | None = None
    tool_calls: int | None = None
    time_ms: int | None = None
    cost_micros: int | None = None
    """Millionths of a US dollar."""
    diff_lines: int | None = None
    storage_bytes: int | None = None

    def of(self, dimension: Dimension) -> int | None:
        """Return what is left of one dimension."""
        return getattr(self, remaining_field(dimension))


def remaining_field(dimension: Dimension) -> str:
    """Return the field of `Remaining` that tells what is left of a dimension."""
    return "time_ms" if dimension is Dimension.WALL_TIME else dimension.field


class StepContext(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    metaclass=Argument,
):
    """What is known of a run before its next step."""

    step_number: Count | None = None
    """How many steps were taken."""
    total_tokens_used: Count | None = None
    total_tool_calls: Count | None = None
    rework_count: Count | None = None
    """How many of all steps did work over again."""
    rework_ratio: Share | None = None
    """The same as a share of the latest steps; where both are known, the larger counts."""
    rework_of: Count | None = None
    """Of how many actions it is the share; None where nobody says."""
    coherence_score: Share | None = None
    uncertainty_score: Share | None = None
    budget_remaining: Remaining | None = None
    used_up: tuple[UsedUp, ...] = ()
    """The limits on record of which nothing is left."""
    last_checkpoint_step: Count | None = None
    """The step that the last checkpoint was taken at; 0 where there was none yet."""
    last_saved_step: Count | None = None
    """The step of the last one that saved something; None where every one did."""
    steps_since_person: Count | None = None
    """Steps since a person last touched the run; None counts from its start."""
    elapsed_ms: Count | None = None
    steps_tokens: tuple[Count, ...] = ()
    """Tokens used by each of the latest steps, the oldest first."""
    signs: tuple[Sign, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a checkpoint in the future."""
        for name in ("last_checkpoint_step", "last_saved_step"):
            _check_checkpoint(name, getattr(self, name), self.step_number)


def _check_checkpoint(name: str, checkpoint: int | None, step: int | None) -> None:
    if checkpoint is not None and step is not None and checkpoint > step:
        raise InputError(
            f"`{name}` is {checkpoint} and `step_number` is {step}:"
            " a checkpoint cannot lie ahead, count both from the start of the run"
        )


class StepReason(msgspec.Struct, frozen=True, kw_only=True):
    """One check or sign that spoke against simply going on, with what to do about it."""

    code: str
    """A `StepCode`, or the name of the sign."""
    decision: StepDecision
    message: str
    remediation: str


class StepMetrics(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The figures behind a decision; None where they are not known."""

    budget_slope: float | None = None
    """How much the tokens per step grow with each step, as a share of their average."""
    tokens_per_step: float | None = None
    """The average of the latest steps."""
    rework_ratio: float | None = None
    rework_at_least: float | None = None
    """With 99 % confidence, by how many actions the share is of."""
    rework_at_most: float | None = None
    """The same."""
    steps_until_checkpoint: int | None = None
    coherence: float | None = None
    coherence_level: str | None = None
    uncertainty: float | None = None
    uncertainty_level: str | None = None
    unknown: tuple[str, ...] = ()
    """The checks that could not be made for want of a signal, by their code."""


class ContinueDecision(Glanced, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The answer before a step: the decision and everything that spoke for it."""

    decision: StepDecision
    reasons: tuple[StepReason, ...] = ()
    """All of them, the most severe first."""
    warnings: tuple[Sign, ...] = ()
    """What the agent should hear although the run goes on."""
    metrics: StepMetrics = StepMetrics()
    checkpoint_due: bool = False
    """Whether a checkpoint is to be taken, even if something more severe won."""
    delay_ms: int | None = None
    """How long to wait before the step; only a throttle has it."""
    short: bool = False
    """Whether only the hard checks were made, because the last full answer was just given."""
    would_have: StepDecision | None = None
    """What it would have been, where the policy only observes."""

    def __bool__(self) -> Never:
        """Refuse to say: a throttle is neither yes nor no."""
        raise no_truth("a decision on a step", "`decision`")

    def _glance(self) -> Glance:
        first, *more = self.reasons or (None,)
        why = "" if first is None else f": {first.message} ({first.code})"
        others = f" and {len(more)} more" if more else ""
        return Glance(
            f"{self.decision.value}{why}{others}",
            (
                *((each.code, f"{each.message}; {each.remediation}") for each in self.reasons),
                *(("warning", f"{each.message}; {each.remediation}") for each in self.warnings),
                ("delay", None if self.delay_ms is None else f"{self.delay_ms:,} ms"),
            ),
        )


class Evidence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """One thing that was seen, which speaks for a belief or against it."""

    supports: bool
    weight: Annotated[float, msgspec.Meta(gt=0, le=_MOST_WEIGHT)] = 1.0
    """How much it says: 1 is an ordinary observation."""


class Belief(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """One belief with the weights of all its evidence, added up."""

    name: str
    supporting: _Together = 0.0
    opposing: _Together = 0.0

    def with_evidence(self, evidence: Evidence) -> Belief:
        """Return the belief after one more thing was seen."""
        if evidence.supports:
            return msgspec.structs.replace(self, supporting=self.supporting + evidence.weight)
        return msgspec.structs.replace(self, opposing=self.opposing + evidence.weight)


class CheckpointKind(enum.StrEnum):
    """How a checkpoint was taken."""

    GIT = "git"
    """As a commit on a hidden ref: Interlock can restore it."""
    COMMAND = "command"
    """By a command of the user's own, who knows how to restore it."""
    NONE = "none"
    """Not at all: only the step is on record."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One checkpoint, or the attempt at one."""

    id: str
    step: int
    kind: CheckpointKind
    workspace: str
    commit: str | None = None
    ref: str | None = None
    tree: str | None = None
    exit_code: int | None = None
    """What the user's own command ended with; None where it did not run to its end."""
    error: str | None = None
    """Why there is nothing to come back to; None where there is."""
    output: str = ""
    """The end of what the user's own command printed."""

    @property
    def is_saved(self) -> bool:
        """Whether there is something to come back to."""
        return self.kind is not CheckpointKind.NONE and self.error is None

    @property
    def is_restorable(self) -> bool:
        """Whether Interlock itself can bring the workspace back to it."""
        return self.kind is CheckpointKind.GIT and self.commit is not None and self.error is None
