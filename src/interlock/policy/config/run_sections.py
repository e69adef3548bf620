"""What the policy file says about runs: each field is a key."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from interlock.model.budget import Dimension
from interlock.policy.config.key import (
    SWITCHABLE_OUTCOMES,
    Budget,
    Choice,
    Field,
    Key,
    Money,
    Number,
    Section,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
    fields_of,
)

_COUNT = Number(minimum=0, maximum=1_000_000_000_000_000)
"""Large enough for anything, small enough that no sum of them overflows 64 bits."""

BUDGET_FIELDS = (
    Field(
        name=Dimension.TOKENS.value,
        shape=_COUNT,
        meaning="Tokens that models read and wrote.",
    ),
    Field(name=Dimension.TOOL_CALLS.value, shape=_COUNT, meaning="Calls of tools."),
    Field(name=Dimension.WALL_TIME.value, shape=_COUNT, meaning="Seconds that passed."),
    Field(
        name=Dimension.COST.value,
        shape=Money(maximum=1_000_000_000),
        meaning="What the tokens cost, by the price of their model.",
    ),
    Field(
        name=Dimension.DIFF_LINES.value,
        shape=_COUNT,
        meaning="Lines that edits added or removed.",
    ),
    Field(name=Dimension.STORAGE.value, shape=_COUNT, meaning="Bytes that were stored."),
)

_PERCENT = Number(0, 100)
_MILLISECONDS = Number(0, 3_600_000)
VOLATILE = (
    "*_timestamp", "attempt", "attempts", "call_id", "correlation_id", "idempotency_key",
    "iteration", "nonce", "request_id", "requestid", "retries", "retry", "retry_count", "span_id",
    "timestamp", "tool_call_id", "trace_id",
)  # fmt: skip


class Price(Section, frozen=True, kw_only=True):
    """What a million tokens of a model cost, in millionths of a US dollar."""

    model: Annotated[
        str, Field("The model's name, exactly as it is reported.", Text(TextKind.PLAIN))
    ]
    input_micro_usd: Annotated[
        int, Field("What a million tokens cost that the model reads.", Money(1_000_000))
    ] = msgspec.field(name="input-usd")
    output_micro_usd: Annotated[
        int, Field("What a million tokens cost that the model writes.", Money(1_000_000))
    ] = msgspec.field(name="output-usd")


class Budgets(Section, frozen=True, kw_only=True):
    """What may be spent, by whom.

    The four scopes map the name of a dimension to its limit, which is the last amount that is
    still admitted: seconds under `wall-time-s`, millionths of a US dollar under `cost-usd`. A
    dimension that is absent has no limit.
    """

    lease_seconds: Annotated[
        int,
        Key(
            "How long a reservation is held for an action that nobody reported on.",
            Tighter.LARGER,
            Number(1, 604_800),
            more=(
                "In seconds; what is not settled until then is given back, because"
                " whoever held it is gone."
            ),
        ),
    ] = 900
    unpriced: Annotated[
        str,
        Key(
            (
                "The answer while a cost limit applies and tokens were used whose price is"
                " not known."
            ),
            Tighter.STRONGER,
            Choice(SWITCHABLE_OUTCOMES),
            more='"off" lets them pass as if they cost nothing.',
        ),
    ] = "require-confirmation"
    run: Annotated[
        Mapping[str, int],
        Key(
            "What one run may spend by itself.",
            Tighter.LIMITED,
            Budget(fields=BUDGET_FIELDS),
            more=(
                "A limit is the last amount that still passes; what is not named has no"
                " limit. Money is in US dollars, with six decimal places at most."
            ),
            example="""\
tokens = 2_000_000
tool-calls = 500
wall-time-s = 3600
cost-usd = 2.50
diff-lines = 3000
storage-bytes = 100_000_000
""",
        ),
    ] = {}
    tree: Annotated[
        Mapping[str, int],
        Key(
            "What a run may spend together with all its sub-agents.",
            Tighter.LIMITED,
            Budget(fields=BUDGET_FIELDS),
            more="Written like [budgets.run].",
        ),
    ] = {}
    agent: Annotated[
        Mapping[str, int],
        Key(
            "What an agent, known by its name, may ever spend.",
            Tighter.LIMITED,
            Budget(fields=BUDGET_FIELDS),
            more="Written like [budgets.run].",
        ),
    ] = {}
    project_day: Annotated[
        Mapping[str, int],
        Key(
            "What everything in one project may spend on one day (UTC).",
            Tighter.LIMITED,
            Budget(fields=BUDGET_FIELDS),
            more="Written like [budgets.run].",
        ),
    ] = {}
    prices: Annotated[
        tuple[Price, ...],
        Key(
            "Your own prices of models, which count before the ones that Interlock knows.",
            Tighter.USER_ONLY,
            Tables(identity="model", fields=fields_of(Price)),
            more="In US dollars for a million tokens, and in the user's file only.",
            example="""\
[[budgets.prices]]
model = "my-model"
input-usd = 0.5
output-usd = 1.5
""",
        ),
    ] = ()


class Approvals(Section, frozen=True, kw_only=True):
    """How people are asked."""

    expires_seconds: Annotated[
        int,
        Key(
            "How long a question to a person stands; silence until then is a refusal.",
            Tighter.SMALLER,
            Number(1, 2_592_000),
            more="In seconds.",
        ),
    ] = 3600


class Steps(Section, frozen=True, kw_only=True):
    """When a run is stopped, paused, slowed down and saved."""

    max_consecutive: Annotated[
        int,
        Key(
            "How many steps without a person stop a run whose checkpoint is overdue.",
            Tighter.SMALLER,
            Number(1, 1_000_000),
            more="As long as checkpoints are really taken, it may go on.",
        ),
    ] = 100
    max_total: Annotated[
        int | None,
        Key(
            "How many steps stop a run, whatever happened in between.",
            Tighter.LIMITED,
            Number(1, 1_000_000_000),
            more="There is no limit until you set one.",
            example="max-total = 1000",
            absent="no limit",
        ),
    ] = None
    checkpoint_interval: Annotated[
        int, Key("After how many steps a checkpoint is due.", Tighter.SMALLER, Number(1, 1_000_000))
    ] = 25
    checkpoint_command: Annotated[
        str,
        Key(
            "How the work is saved when a checkpoint is due.",
            Tighter.USER_ONLY,
            Text(TextKind.COMMAND),
            more=(
                '"git" keeps all files of the workspace in a commit that stands on no'
                ' branch, where there is a repository; "none" saves nothing; anything else'
                " is a command line of your own, which is split into words and given to no"
                " shell. In the user's file only."
            ),
        ),
    ] = "git"
    min_coherence_percent: Annotated[
        int,
        Key(
            "A run whose coherence is below this stops.",
            Tighter.LARGER,
            _PERCENT,
            more=(
                "Coherence is made of the latest 20 actions: 0.4 times the share that"
                " broke no rule, 0.3 times the share that was no rework, 0.3 times the"
                " share that brought progress. In percent."
            ),
        ),
    ] = 40
    read_only_below_percent: Annotated[
        int,
        Key(
            "A run whose coherence is below this may only read.",
            Tighter.LARGER,
            _PERCENT,
            more="Not less than `min-coherence-percent`.",
            at_least="steps.min-coherence-percent",
        ),
    ] = 50
    restricted_below_percent: Annotated[
        int,
        Key(
            (
                "A run whose coherence is below this asks a person before it destroys"
                " anything or uses the network."
            ),
            Tighter.LARGER,
            _PERCENT,
            more="Not less than `read-only-below-percent`.",
            at_least="steps.read-only-below-percent",
        ),
    ] = 70
    max_rework_percent: Annotated[
        int,
        Key(
            "How much of its work a run may do over again before it is paused.",
            Tighter.SMALLER,
            _PERCENT,
            more="In percent of its steps.",
        ),
    ] = 30
    max_uncertainty_percent: Annotated[
        int,
        Key(
            "How uncertain a run may be before it is paused.",
            Tighter.SMALLER,
            _PERCENT,
            more="In percent.",
        ),
    ] = 80
    max_slope_percent: Annotated[
        int,
        Key(
            "How much the tokens per step may grow with each step before a run is slowed down.",
            Tighter.SMALLER,
            _PERCENT,
            more="In percent of their average.",
        ),
    ] = 2
    delay_ms: Annotated[
        int,
        Key(
            "How long a run waits that is slowed down.",
            Tighter.LARGER,
            _MILLISECONDS,
            more="In milliseconds; twice as long each time in a row.",
        ),
    ] = 5000
    max_delay_ms: Annotated[
        int,
        Key(
            "How long it waits at most, however often in a row.",
            Tighter.LARGER,
            _MILLISECONDS,
            more="In milliseconds.",
            at_least="steps.delay-ms",
        ),
    ] = 60_000
    cooldown_ms: Annotated[
        int,
        Key(
            "For how long after a full answer only the hard checks are made.",
            Tighter.SMALLER,
            _MILLISECONDS,
            more="In milliseconds.",
        ),
    ] = 5000

    @property
    def min_coherence(self) -> float:
        """`min-coherence-percent` as a share."""
        return _share(self.min_coherence_percent)

    @property
    def read_only_below(self) -> float:
        """`read-only-below-percent` as a share."""
        return _share(self.read_only_below_percent)

    @property
    def restricted_below(self) -> float:
        """`restricted-below-percent` as a share."""
        return _share(self.restricted_below_percent)

    @property
    def max_rework(self) -> float:
        """`max-rework-percent` as a share."""
        return _share(self.max_rework_percent)

    @property
    def max_uncertainty(self) -> float:
        """`max-uncertainty-percent` as a share."""
        return _share(self.max_uncertainty_percent)

    @property
    def max_slope(self) -> float:
        """`max-slope-percent` as a share."""
        return _share(self.max_slope_percent)


class Loops(Section, frozen=True, kw_only=True):
    """When a run goes round in circles."""

    volatile_arguments: Annotated[
        tuple[str, ...],
        Key(
            "Arguments that differ each time by their nature and make no other call of a call.",
            Tighter.MORE,
            Texts(TextKind.GLOB),
            more="Names in lower case, or globs where a `*` is written.",
        ),
    ] = VOLATILE
    polling_tools: Annotated[
        tuple[str, ...],
        Key(
            "Tools that look how far something is, and may look again.",
            Tighter.FEWER,
            Texts(TextKind.GLOB),
            more=(
                "Exact names, or globs where a `*` is written. Many are recognised"
                " without being listed."
            ),
        ),
    ] = ()
    pause_repeats: Annotated[
        int,
        Key(
            "How often the same calls with the same results pause a run.",
            Tighter.SMALLER,
            Number(2, 1000),
            more="The agent is warned before.",
        ),
    ] = 3
    stop_repeats: Annotated[
        int,
        Key(
            "How often the same calls with the same results stop a run.",
            Tighter.SMALLER,
            Number(2, 1000),
            more="Not less than `pause-repeats`.",
            at_least="loops.pause-repeats",
        ),
    ] = 5
    patience: Annotated[
        int,
        Key(
            "How often a run may look at something outside that does not change.",
            Tighter.SMALLER,
            Number(1, 1_000_000),
        ),
    ] = 30
    pause_score_percent: Annotated[
        int,
        Key(
            "How much evidence of being stuck pauses a run.",
            Tighter.SMALLER,
            Number(1, 1000),
            more="In percent: one clear sign is 100.",
        ),
    ] = 100

    @property
    def pause_score(self) -> float:
        """`pause-score-percent` as a share."""
        return _share(self.pause_score_percent)


class Evaluators(Section, frozen=True, kw_only=True):
    """What a finished run must not have done."""

    max_violations: Annotated[
        int,
        Key(
            "How many violations a run may have and still pass.",
            Tighter.SMALLER,
            Number(0, 1_000_000),
        ),
    ] = 0
    max_rework_percent: Annotated[
        int,
        Key(
            "How much of what a run changed it may have changed again, and still pass.",
            Tighter.SMALLER,
            _PERCENT,
            more="In percent of the changed lines.",
        ),
    ] = 30
    forbidden_commands: Annotated[
        tuple[str, ...],
        Key(
            "Patterns (RE2) of commands that must not have run.",
            Tighter.MORE,
            Texts(TextKind.PATTERN),
            more="A pattern is looked for anywhere in a command.",
        ),
    ] = ()
    forbidden_dependencies: Annotated[
        tuple[str, ...],
        Key(
            "Packages that a run must not have added to a manifest.",
            Tighter.MORE,
            Texts(TextKind.GLOB),
            more="Exact names, or globs where a `*` is written.",
        ),
    ] = ()


def _share(percent: int) -> float:
    # One division gives the float nearest to the share: 40 percent are 0.4 and nothing else.
    return percent / 100
