"""What the policy file says about runs, and about finished work: each field is a key."""

from collections.abc import Mapping
from typing import Literal

from interlock.model.budget import Dimension
from interlock.model.review import LONGEST_TIMEOUT_S, MOST_ATTEMPTS, Check, ReviewGate, ReviewMode
from interlock.model.verdict import Severity
from interlock.policy.config.key import (
    MODES,
    SWITCHABLE_OUTCOMES,
    Budget,
    Choice,
    Flag,
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


_SEVERITIES = tuple(severity.value for severity in Severity)
_ATTEMPTS = Number(1, MOST_ATTEMPTS)
_SECONDS = Number(1, LONGEST_TIMEOUT_S)
_CHECK_ENVIRONMENT = (
    "HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TEMP", "TERM",
    "TMP", "TMPDIR", "TZ", "USER", "USERPROFILE", "VIRTUAL_ENV", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
)  # fmt: skip


class _Share:
    """A key in percent, as a share."""

    def __init__(self, field: str) -> None:
        self._field = field

    def __get__(self, section: Section, _: type) -> float:
        # One division gives the float nearest to the share: 40 percent are 0.4 and nothing else.
        return getattr(section, self._field) / 100


class Price(Section):
    """What a million tokens of a model cost, in millionths of a US dollar."""

    model: str = key("The model's name, exactly as it is reported.", Text(TextKind.PLAIN))
    input_micro_usd: int = key(
        "What a million tokens cost that the model reads.", Money(1_000_000), name="input-usd"
    )
    output_micro_usd: int = key(
        "What a million tokens cost that the model writes.", Money(1_000_000), name="output-usd"
    )


class Budgets(Section, title="What may be spent"):
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
        absent="as the preset says",
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


class Approvals(Section, title="Questions to people"):
    """How people are asked."""

    expires_seconds: int = key(
        "How long a question waits for a person; unanswered, it expires and nothing is allowed.",
        Number(1, 2_592_000, tighter=Tighter.SMALLER),
        default=3600,
        more="In seconds.",
    )


class Notifications(Section, title="How people are notified of questions"):
    """Whom a server tells that a question waits for a person."""

    webhook_url: str | None = key(
        "Where a signed webhook is posted for every question.",
        Text(TextKind.PLAIN, tighter=Tighter.USER_ONLY),
        default=None,
        absent="nowhere",
        example='webhook-url = "https://hooks.example.com/interlock"',
        more="In the user's file only; plain `http` reaches this computer only.",
    )
    webhook_secret_variable: str = key(
        "The environment variable that holds the secret which webhooks are signed with.",
        Text(TextKind.PLAIN, tighter=Tighter.USER_ONLY),
        default="INTERLOCK_WEBHOOK_SECRET",
        more="In the user's file only.",
    )
    command: tuple[str, ...] = key(
        "A program and its arguments that is run for every question.",
        Texts(TextKind.WORD, is_ordered=True, tighter=Tighter.USER_ONLY),
        default=(),
        more=(
            "It gets the link to the question as its last argument and the question as JSON on"
            " its standard input; it is not run through a shell. In the user's file only."
        ),
    )
    timeout_seconds: int = key(
        "How long one notification may take before it counts as failed.",
        Number(1, 300, tighter=Tighter.USER_ONLY),
        default=10,
        more="In seconds; in the user's file only.",
    )
    console_url: str | None = key(
        "The address of the console, as people reach it.",
        Text(TextKind.PLAIN, tighter=Tighter.USER_ONLY),
        default=None,
        absent="the server's own",
        example='console-url = "https://interlock.example.com"',
        more="Links begin with it; in the user's file only.",
    )


class Steps(Section, title="When a run is stopped, paused, slowed down and saved"):
    """When a run is stopped, paused, slowed down and saved."""

    mode: Literal["observe", "enforce"] = key(
        "Whether a run is stopped, paused and slowed down (`enforce`), or that is only recorded.",
        Choice(MODES),
        default="enforce",
        more="Checkpoints are taken in both; what a person has stopped stays stopped.",
    )
    max_consecutive: int = key(
        "A run is stopped after this many steps without a person, if a checkpoint is overdue.",
        Number(1, 1_000_000, tighter=Tighter.SMALLER),
        default=100,
        more="While checkpoints are taken on time, it continues.",
    )
    max_total: int | None = key(
        "A run is stopped after this many steps in all.",
        Number(1, 1_000_000_000, tighter=Tighter.LIMITED),
        default=None,
        more="There is no limit until you set one.",
        example="max-total = 1000",
        absent="no limit",
    )
    checkpoint_interval: int = key(
        "A checkpoint (a saved state of the files) is taken after every so many steps.",
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
        "A run whose coherence is below this is stopped.",
        Number(0, 100, tighter=Tighter.LARGER),
        default=40,
        more=(
            "In percent. Coherence is a score over the latest 20 actions: 0.4 times the share that"
            " broke no rule, 0.3 times the share that was no rework, 0.3 times the"
            " share that made progress."
        ),
    )
    read_only_below_percent: int = key(
        "A run whose coherence is below this may only read.",
        Number(0, 100, tighter=Tighter.LARGER),
        default=50,
        more="In percent; not less than `min-coherence-percent`.",
        at_least="min_coherence_percent",
    )
    restricted_below_percent: int = key(
        (
            "A run whose coherence is below this must ask a person before it deletes"
            " anything or uses the network."
        ),
        Number(0, 100, tighter=Tighter.LARGER),
        default=70,
        more="In percent; not less than `read-only-below-percent`.",
        at_least="read_only_below_percent",
    )
    max_rework_percent: int = key(
        "A run is paused when more of its steps than this are rework: changes to its own work.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=30,
        more="In percent of its steps.",
    )
    max_uncertainty_percent: int = key(
        "A run is paused when its uncertainty is above this.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=80,
        more="In percent; 100 is a run that can rely on nothing it believes.",
    )
    max_slope_percent: int = key(
        "A run is slowed down when its tokens per step grow by more than this from step to step.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=2,
        more="In percent of their average.",
    )
    delay_ms: int = key(
        "How long a run that is slowed down waits before its next step.",
        Number(0, 3_600_000, tighter=Tighter.LARGER),
        default=5000,
        more="In milliseconds; twice as long each time in a row.",
    )
    max_delay_ms: int = key(
        "The longest such wait, however often in a row.",
        Number(0, 3_600_000, tighter=Tighter.LARGER),
        default=60_000,
        more="In milliseconds.",
        at_least="delay_ms",
    )
    cooldown_ms: int = key(
        "For how long after a full check of a step only the hard limits are checked.",
        Number(0, 3_600_000, tighter=Tighter.SMALLER),
        default=5000,
        more="In milliseconds.",
    )

    min_coherence = _Share("min_coherence_percent")
    read_only_below = _Share("read_only_below_percent")
    restricted_below = _Share("restricted_below_percent")
    max_rework = _Share("max_rework_percent")
    max_uncertainty = _Share("max_uncertainty_percent")
    max_slope = _Share("max_slope_percent")


class Loops(Section, title="When a run repeats itself"):
    """When a run repeats itself."""

    volatile_arguments: tuple[str, ...] = key(
        "Arguments that differ in every call, such as times and ids: not compared.",
        Texts(TextKind.GLOB, tighter=Tighter.MORE),
        default=VOLATILE,
        more="Names in lower case, or globs where a `*` is written.",
    )
    polling_tools: tuple[str, ...] = key(
        "Tools that poll for progress; repeated calls of them are not a loop.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
        default=(),
        more=(
            "Exact names, or globs where a `*` is written. Many are recognised"
            " without being listed."
        ),
    )
    pause_repeats: int = key(
        "A run is paused when it makes the same calls with the same results this many times.",
        Number(2, 1000, tighter=Tighter.SMALLER),
        default=3,
        more="The agent is warned before.",
    )
    stop_repeats: int = key(
        "A run is stopped when it makes the same calls with the same results this many times.",
        Number(2, 1000, tighter=Tighter.SMALLER),
        default=5,
        more="Not less than `pause-repeats`.",
        at_least="pause_repeats",
    )
    patience: int = key(
        "How many times a run may poll something that does not change.",
        Number(1, 1_000_000, tighter=Tighter.SMALLER),
        default=30,
    )
    pause_score_percent: int = key(
        "A run is paused when the evidence that it is stuck reaches this.",
        Number(1, 1000, tighter=Tighter.SMALLER),
        default=100,
        more="In percent; one clear sign counts 100.",
    )

    pause_score = _Share("pause_score_percent")


class Evaluators(Section, title="What a finished run is measured by"):
    """What a finished run must not have done."""

    max_violations: int = key(
        "How many rule violations a run may have and still pass.",
        Number(0, 1_000_000, tighter=Tighter.SMALLER),
        default=0,
    )
    max_rework_percent: int = key(
        "The share of its changed lines that a run may change again and still pass.",
        Number(0, 100, tighter=Tighter.SMALLER),
        default=30,
        more="In percent of the changed lines.",
    )
    max_changed_lines: int | None = key(
        "How many lines a run may change in all and still pass.",
        Number(1, 1_000_000_000, tighter=Tighter.LIMITED),
        default=None,
        absent="no limit",
        example="max-changed-lines = 2000",
        more="In lines added plus removed; setting it adds the evaluator `diff-size`.",
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


class ReviewGateEntry(Section, omit_defaults=True):
    """One demand on finished work."""

    id: str = key("The gate's name in verdicts; no other gate may have it.", Text(TextKind.GATE_ID))
    criteria: tuple[str, ...] = key(
        "What the work must fulfil, one sentence each; the first ones are shown first.",
        Texts(TextKind.PLAIN, is_ordered=True),
        default=(),
    )
    severity: Severity | None = key(
        (
            "How bad it is when the gate fails: `critical` blocks, `high` and `medium`"
            " advise, `low` informs."
        ),
        Choice(_SEVERITIES),
        default=None,
    )
    mode: ReviewMode | None = key(
        "What a failing gate does, whatever its severity; without either it blocks.",
        Choice(tuple(mode.value for mode in ReviewMode)),
        default=None,
    )
    max_attempts: int | None = key(
        "How many attempts there are, instead of `reviews.max-attempts`.", _ATTEMPTS, default=None
    )
    improvement_hints: bool = key(
        "Whether the next attempt is shown the criteria; `true` by default.",
        Flag(),
        default=True,
    )
    preserve_context: bool = key(
        "Whether the next attempt is shown the last verdict; `true` by default.",
        Flag(),
        default=True,
    )
    check: tuple[str, ...] | None = key(
        "A program and its arguments, run without a shell; exit code 0 passes.",
        Texts(TextKind.WORD, is_ordered=True),
        default=None,
    )
    timeout_seconds: int | None = key(
        "How many seconds the check may run, instead of `reviews.check-timeout-seconds`.",
        _SECONDS,
        default=None,
        needs=("check",),
    )

    @property
    def gate(self) -> ReviewGate:
        """The gate that it describes; InputError for one that asks nothing, or cannot be asked."""
        argv, timeout_s = self.check, self.timeout_seconds
        return ReviewGate(
            id=self.id,
            criteria=self.criteria,
            severity=self.severity,
            mode=self.mode,
            max_attempts=self.max_attempts,
            improvement_hints=self.improvement_hints,
            preserve_context=self.preserve_context,
            check=None if argv is None else Check(argv=argv, timeout_s=timeout_s),
        )


class Reviews(Section, title="Whether finished work is good enough"):
    """What finished work is held against, and by what limits."""

    mode: Literal["observe", "enforce"] = key(
        "Whether a failing review stops the work (`enforce`), or is only recorded.",
        Choice(MODES),
        default="enforce",
        more="Checks are run in both.",
    )
    max_attempts: int = key(
        "A review that still fails after this many attempts asks a person.",
        Number(1, MOST_ATTEMPTS, tighter=Tighter.SMALLER),
        default=2,
        more="For gates without a number of their own.",
    )
    max_resets: int = key(
        "How many times a person may give one review a fresh set of attempts.",
        Number(0, MOST_ATTEMPTS, tighter=Tighter.SMALLER),
        default=3,
    )
    most_hints: int = key(
        "How many criteria are shown to the next attempt.",
        Number(0, 50, tighter=Tighter.SMALLER),
        default=3,
    )
    check_timeout_seconds: int = key(
        "How long a check without a limit of its own may run.",
        Number(1, LONGEST_TIMEOUT_S, tighter=Tighter.SMALLER),
        default=120,
        more="In seconds.",
    )
    check_tail_bytes: int = key(
        "How much of the end of a check's output is kept.",
        Number(0, 1_048_576, tighter=Tighter.SMALLER),
        default=8192,
        more="In bytes.",
    )
    check_environment: tuple[str, ...] = key(
        "The environment variables that a check gets.",
        Texts(TextKind.VARIABLE, tighter=Tighter.FEWER),
        default=_CHECK_ENVIRONMENT,
        more=(
            "Exact names, or globs where a `*` is written; what is named like a"
            " credential is never shown, whatever stands here."
        ),
    )
    completion: tuple[str, ...] = key(
        "The gates whose checks must pass before a run may finish, by their ids.",
        Texts(TextKind.GATE_ID, tighter=Tighter.MORE),
        default=(),
        more="Each needs a check and has to block.",
    )
    gates: tuple[ReviewGateEntry, ...] = key(
        "The review gates: what finished work is checked against.",
        Tables(ReviewGateEntry, identity="id", most=64),
        default=(),
        more=(
            "A gate has criteria, for the reviewer, or a check that Interlock runs"
            ' itself, or both. `severity` says what a failing gate does: "critical" blocks, "high"'
            ' and "medium" advise, "low" informs; `mode` says it outright.'
        ),
        example="""\
[[reviews.gates]]
id = "tests"
criteria = ["every test passes", "what was changed is tested"]
severity = "critical"
max-attempts = 3
check = ["pytest", "-q"]
timeout-seconds = 300
""",
    )

    def timeout_s_of(self, check: Check) -> int:
        """Return how long a check may run."""
        return self.check_timeout_seconds if check.timeout_s is None else check.timeout_s
