"""What the policy file says about finished work: each field is a key."""

from interlock.model.review import LONGEST_TIMEOUT_S, MOST_ATTEMPTS, Check, ReviewGate, ReviewMode
from interlock.model.verdict import Severity
from interlock.policy.config.key import (
    Choice,
    Flag,
    Number,
    Section,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
    key,
)

_SEVERITIES = tuple(severity.value for severity in Severity)
_ATTEMPTS = Number(1, MOST_ATTEMPTS)
_SECONDS = Number(1, LONGEST_TIMEOUT_S)
_CHECK_ENVIRONMENT = (
    "HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TEMP", "TERM",
    "TMP", "TMPDIR", "TZ", "USER", "USERPROFILE", "VIRTUAL_ENV", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
)  # fmt: skip


class ReviewGateEntry(Section, omit_defaults=True):
    """One demand on finished work."""

    id: str = key("The gate's name in verdicts; no other gate may have it.", Text(TextKind.GATE_ID))
    criteria: tuple[str, ...] = key(
        "What the work must be like, each in a sentence; the first ones are shown first.",
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
        "How many attempts there are, in place of `reviews.max-attempts`.", _ATTEMPTS, default=None
    )
    improvement_hints: bool = key(
        "Whether whoever tries again is shown the criteria; `true` where it is absent.",
        Flag(),
        default=True,
    )
    preserve_context: bool = key(
        "Whether whoever tries again is shown what was said last; `true` likewise.",
        Flag(),
        default=True,
    )
    check: tuple[str, ...] | None = key(
        "A program and its arguments, given to no shell; exit code 0 passes.",
        Texts(TextKind.WORD, is_ordered=True),
        default=None,
    )
    timeout_seconds: int | None = key(
        "How long the check may run, in place of `reviews.check-timeout-seconds`.",
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


class Reviews(Section):
    """What finished work is held against, and by what limits."""

    max_attempts: int = key(
        "After how many attempts a review that still fails asks a person.",
        Number(1, MOST_ATTEMPTS, tighter=Tighter.SMALLER),
        default=2,
        more="For gates that say nothing else.",
    )
    max_resets: int = key(
        "How often a person may give one review its attempts once more.",
        Number(0, MOST_ATTEMPTS, tighter=Tighter.SMALLER),
        default=3,
    )
    most_hints: int = key(
        "How many criteria are shown to whoever tries again.",
        Number(0, 50, tighter=Tighter.SMALLER),
        default=3,
    )
    check_timeout_seconds: int = key(
        "How long a check may run that says nothing else.",
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
        "The variables of the environment that a check may see.",
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
        "What finished work can be held against.",
        Tables(ReviewGateEntry, identity="id", most=64),
        default=(),
        more=(
            "A gate has criteria, for whoever reviews the work, or a check that Interlock runs"
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
