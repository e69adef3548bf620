"""What the policy file says about runs: each field is a key."""

from collections.abc import Mapping

from interlock.model.budget import Dimension
from interlock.policy.config.key import (
    SWITCHABLE_OUTCOMES,
    Budget,
    Choice,
    Key,
    Money,
    Number,
    Section,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
    key,
)

_COUNT = Number(0, 1_000_000_000_000_000)
"""Large enough for anything, small enough that no sum of them overflows 64 bits."""

BUDGET_KEYS = tuple(
    Key(meaning, shape, default=None, name=dimension.value)
    for dimension, shape, meaning in (
        (Dimension.TOKENS, _COUNT, "Tokens that models read and wrote."),
        (Dimension.TOOL_CALLS, _COUNT, "Calls of tools."),
        (Dimension.WALL_TIME, _COUNT, "Seconds that passed."),
        (
            Dimension.COST,
            Money(1_000_000_000),
            "What the tokens cost, by the price of their model.",
        ),
        (Dimension.DIFF_LINES, _COUNT, "Lines that edits added or removed."),
        (Dimension.STORAGE, _COUNT, "Bytes that were stored."),
    )
)
_BUDGET = Budget(BUDGET_KEYS)
VOLATILE = (
    "*_timestamp", "attempt", "attempts", "call_id", "correlation_id", "idempotency_key",
    "iteration", "nonce", "request_id", "requestid", "retries", "retry", "retry_count", "span_id",
    "timestamp", "tool_call_id", "trace_id",
)  # fmt: skip


class Price(Section):
    """What a million tokens of a model cost, in millionths of a US dollar."""

    model: str = key("The model's name, exactly as it is reported.", Text(TextKind.PLAIN))
    input_micro_usd: int = key(
        "What a million tokens cost that the model reads.", Money(1_000_000), name="input-usd"
    )
    output_micro_usd: int = key(
        "What a million tokens cost that the model writes.", Money(1_000_000), name="output-usd"
    )


class Budgets(Section):
    """What may be spent, by whom.

    The four scopes map the name of a dimension to its limit, which is the last amount that is
    still admitted: seconds under `wall-time-s`, millionths of a US dollar under `cost-usd`. A
    dimension that is absent has no limit.
    """

    lease_seconds: int = key(
        "How long a reservation is held for an action that nobody reported on.",
        Number(1, 604_800, tighter=Tighter.LARGER),
        default=900,
        more=(
            "In seconds; what is not settled until then is given back, because"
            " whoever held it is gone."
        ),
    )
    unpriced: str = key(
        "The answer while a cost limit applies and tokens were used whose price is not known.",
        Choice(SWITCHABLE_OUTCOMES),
        default="require-confirmation",
        more='"off" lets them pass as if they cost nothing.',
    )
    run: Mapping[str, int] = key(
        "What one run may spend by itself.",
        _BUDGET,
        default={},
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
    )
    tree: Mapping[str, int] = key(
        "What a run may spend together with all its sub-agents.",
        _BUDGET,
        default={},
        more="Written like [budgets.run].",
    )
    agent: Mapping[str, int] = key(
        "What an agent, known by its name, may ever spend.",
        _BUDGET,
        default={},
        more="Written like [budgets.run].",
    )
    project_day: Mapping[str, int] = key(
        "What everything in one project may spend on one day (UTC).",
        _BUDGET,
        default={},
        more="Written like [budgets.run].",
    )
    prices: tuple[Price, ...] = key(
        "Your own prices of models, which count before the ones that Interlock knows.",
        Tables(Price, identity="model", tighter=Tighter.USER_ONLY),
        default=(),
        more="In US dollars for a million tokens, and in the user's file only.",
        example="""\
[[budgets.prices]]
model = "my-model"
input-usd = 0.5
output-usd = 1.5
""",
    )


class Approvals(Section):
    """How people are asked."""

    expires_seconds: int = key(
        "How long a question to a person stands; silence until then is a refusal.",
        Number(1, 2_592_000, tighter=Tighter.SMALLER),
        default=3600,
        more="In seconds.",
    )


class Steps(Section):
    """When a run is stopped, paused, slowed down and saved."""

    max_consecutive: int = key(
        "How many steps without a person stop a run whose checkpoint is overdue.",
        Number(1, 1_000_000, tighter=Tighter.SMALLER),
        default=100,
        more="As long as checkpoints are really taken, it may go on.",
    )
    max_total: int | None = key(
        "How many steps stop a run, whatever happened in between.",
        Number(1, 1_000_000_000, tighter=Tighter.LIMITED),
        default=None,
        more="There is no limit until you set one.",
        example="max-total = 1000",
        absent="no limit",
    )
    checkpoint_interval: int = key(
        "After how many steps a checkpoint is due.",
        Number(1, 1_000_000, tighter=Tighter.SMALLER),
        default=25,
    )
    checkpoint_command: str = key(
        "How the work is saved when a checkpoint is due.",
        Text(TextKind.COMMAND, tighter=Tighter.USER_ONLY),
        default="git",
        more=(
            '"git" keeps all files of the workspace in a commit that stands on no branch, where'
            ' there is a repository; "none" saves nothing; anything else is a command line of your'
            " own, which is split into words and given to no shell. In the user's file only."
        ),
    )
    min_coherence_percent: int = key(
        "A run whose coherence is below this stops.",
        Number(0, 100, tighter=Tighter.LARGER),
        default=40,
        more=(
            "Coherence is made of the latest 20 actions: 0.4 times the share that"
            " broke no rule, 0.3 times the share that was no rework, 0.3 times the"
            " share that brought progress. In percent."
        ),
    )
    read_only_below_percent: int = key(
        "A run whose coherence is below this may only read.",
        Number(0, 100, tighter=Tighter.LARGER),
        default=50,
        more="Not less than `min-coherence-percent`.",
        at_least="min_coherence_percent",
    )
    restricted_below_percent: int = key(
        (
            "A run whose coherence is below this asks a person before it destroys"
            " anything or uses the network."
        ),
        Number(0, 100, tighter=Tighter.LARGER),
        default=70,
        more="Not less than `read-only-below-percent`.",
        at_least="read_only_below_percent",
    )
    max_rework_percent: int = key(
        "How much of its work a run may do over again before it is paused.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=30,
        more="In percent of its steps.",
    )
    max_uncertainty_percent: int = key(
        "How uncertain a run may be before it is paused.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=80,
        more="In percent.",
    )
    max_slope_percent: int = key(
        "How much the tokens per step may grow with each step before a run is slowed down.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=2,
        more="In percent of their average.",
    )
    delay_ms: int = key(
        "How long a run waits that is slowed down.",
        Number(0, 3_600_000, tighter=Tighter.LARGER),
        default=5000,
        more="In milliseconds; twice as long each time in a row.",
    )
    max_delay_ms: int = key(
        "How long it waits at most, however often in a row.",
        Number(0, 3_600_000, tighter=Tighter.LARGER),
        default=60_000,
        more="In milliseconds.",
        at_least="delay_ms",
    )
    cooldown_ms: int = key(
        "For how long after a full answer only the hard checks are made.",
        Number(0, 3_600_000, tighter=Tighter.SMALLER),
        default=5000,
        more="In milliseconds.",
    )

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


class Loops(Section):
    """When a run goes round in circles."""

    volatile_arguments: tuple[str, ...] = key(
        "Arguments that differ each time by their nature and make no other call of a call.",
        Texts(TextKind.GLOB, tighter=Tighter.MORE),
        default=VOLATILE,
        more="Names in lower case, or globs where a `*` is written.",
    )
    polling_tools: tuple[str, ...] = key(
        "Tools that look how far something is, and may look again.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
        default=(),
        more=(
            "Exact names, or globs where a `*` is written. Many are recognised"
            " without being listed."
        ),
    )
    pause_repeats: int = key(
        "How often the same calls with the same results pause a run.",
        Number(2, 1000, tighter=Tighter.SMALLER),
        default=3,
        more="The agent is warned before.",
    )
    stop_repeats: int = key(
        "How often the same calls with the same results stop a run.",
        Number(2, 1000, tighter=Tighter.SMALLER),
        default=5,
        more="Not less than `pause-repeats`.",
        at_least="pause_repeats",
    )
    patience: int = key(
        "How often a run may look at something outside that does not change.",
        Number(1, 1_000_000, tighter=Tighter.SMALLER),
        default=30,
    )
    pause_score_percent: int = key(
        "How much evidence of being stuck pauses a run.",
        Number(1, 1000, tighter=Tighter.SMALLER),
        default=100,
        more="In percent: one clear sign is 100.",
    )

    @property
    def pause_score(self) -> float:
        """`pause-score-percent` as a share."""
        return _share(self.pause_score_percent)


class Evaluators(Section):
    """What a finished run must not have done."""

    max_violations: int = key(
        "How many violations a run may have and still pass.",
        Number(0, 1_000_000, tighter=Tighter.SMALLER),
        default=0,
    )
    max_rework_percent: int = key(
        "How much of what a run changed it may have changed again, and still pass.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=30,
        more="In percent of the changed lines.",
    )
    forbidden_commands: tuple[str, ...] = key(
        "Patterns (RE2) of commands that must not have run.",
        Texts(TextKind.PATTERN, tighter=Tighter.MORE),
        default=(),
        more="A pattern is looked for anywhere in a command.",
    )
    forbidden_dependencies: tuple[str, ...] = key(
        "Packages that a run must not have added to a manifest.",
        Texts(TextKind.GLOB, tighter=Tighter.MORE),
        default=(),
        more="Exact names, or globs where a `*` is written.",
    )


def _share(percent: int) -> float:
    # One division gives the float nearest to the share: 40 percent are 0.4 and nothing else.
    return percent / 100
