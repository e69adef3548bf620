"""What the policy file says about finished work: each field is a key."""

from typing import Annotated

from interlock.model.review import LONGEST_TIMEOUT_S, MOST_ATTEMPTS, Check, ReviewGate, ReviewMode
from interlock.model.verdict import Severity
from interlock.policy.config.key import (
    Choice,
    Field,
    Flag,
    Key,
    Number,
    OrderedTexts,
    Section,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
    fields_of,
)

_SEVERITIES = tuple(severity.value for severity in Severity)
_ATTEMPTS = Number(1, MOST_ATTEMPTS)
_SECONDS = Number(1, LONGEST_TIMEOUT_S)
_CHECK_ENVIRONMENT = (
    "HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "PATH", "SHELL", "SYSTEMROOT", "TEMP", "TERM",
    "TMP", "TMPDIR", "TZ", "USER", "USERPROFILE", "VIRTUAL_ENV", "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
)  # fmt: skip


class ReviewGateEntry(Section, frozen=True, kw_only=True, omit_defaults=True):
    """One demand on finished work."""

    id: Annotated[
        str,
        Field("The gate's name in verdicts; no other gate may have it.", Text(TextKind.GATE_ID)),
    ]
    criteria: Annotated[
        tuple[str, ...],
        Field(
            "What the work must be like, each in a sentence; the first ones are shown first.",
            OrderedTexts(TextKind.PLAIN),
        ),
    ] = ()
    severity: Annotated[
        Severity | None,
        Field(
            (
                "How bad it is when the gate fails: `critical` blocks, `high` and `medium`"
                " advise, `low` informs."
            ),
            Choice(_SEVERITIES),
        ),
    ] = None
    mode: Annotated[
        ReviewMode | None,
        Field(
            "What a failing gate does, whatever its severity; without either it blocks.",
            Choice(tuple(mode.value for mode in ReviewMode)),
        ),
    ] = None
    max_attempts: Annotated[
        int | None,
        Field(
            "How many attempts there are, in place of `reviews.max-attempts`.",
            _ATTEMPTS,
        ),
    ] = None
    improvement_hints: Annotated[
        bool,
        Field(
            "Whether whoever tries again is shown the criteria; `true` where it is absent.",
            Flag(),
        ),
    ] = True
    preserve_context: Annotated[
        bool,
        Field("Whether whoever tries again is shown what was said last; `true` likewise.", Flag()),
    ] = True
    check: Annotated[
        tuple[str, ...] | None,
        Field(
            "A program and its arguments, given to no shell; exit code 0 passes.",
            OrderedTexts(TextKind.WORD),
        ),
    ] = None
    timeout_seconds: Annotated[
        int | None,
        Field(
            "How long the check may run, in place of `reviews.check-timeout-seconds`.",
            _SECONDS,
            needs=("check",),
        ),
    ] = None

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


class Reviews(Section, frozen=True, kw_only=True):
    """What finished work is held against, and by what limits."""

    max_attempts: Annotated[
        int,
        Key(
            "After how many attempts a review that still fails asks a person.",
            Tighter.SMALLER,
            _ATTEMPTS,
            more="For gates that say nothing else.",
        ),
    ] = 2
    max_resets: Annotated[
        int,
        Key(
            "How often a person may give one review its attempts once more.",
            Tighter.SMALLER,
            Number(0, MOST_ATTEMPTS),
        ),
    ] = 3
    most_hints: Annotated[
        int,
        Key("How many criteria are shown to whoever tries again.", Tighter.SMALLER, Number(0, 50)),
    ] = 3
    check_timeout_seconds: Annotated[
        int,
        Key(
            "How long a check may run that says nothing else.",
            Tighter.SMALLER,
            _SECONDS,
            more="In seconds.",
        ),
    ] = 120
    check_tail_bytes: Annotated[
        int,
        Key(
            "How much of the end of a check's output is kept.",
            Tighter.SMALLER,
            Number(0, 1_048_576),
            more="In bytes.",
        ),
    ] = 8192
    check_environment: Annotated[
        tuple[str, ...],
        Key(
            "The variables of the environment that a check may see.",
            Tighter.FEWER,
            Texts(TextKind.VARIABLE),
            more=(
                "Exact names, or globs where a `*` is written; what is named like a"
                " credential is never shown, whatever stands here."
            ),
        ),
    ] = _CHECK_ENVIRONMENT
    completion: Annotated[
        tuple[str, ...],
        Key(
            "The gates whose checks must pass before a run may finish, by their ids.",
            Tighter.MORE,
            Texts(TextKind.GATE_ID),
            more="Each needs a check and has to block.",
        ),
    ] = ()
    gates: Annotated[
        tuple[ReviewGateEntry, ...],
        Key(
            "What finished work can be held against.",
            Tighter.KEPT,
            Tables(identity="id", fields=fields_of(ReviewGateEntry), most=64),
            more=(
                "A gate has criteria, for whoever reviews the work, or a check that"
                " Interlock runs itself, or both. `severity` says what a failing gate"
                ' does: "critical" blocks, "high" and "medium" advise, "low" informs;'
                " `mode` says it outright."
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
        ),
    ] = ()

    def timeout_s_of(self, check: Check) -> int:
        """Return how long a check may run."""
        return self.check_timeout_seconds if check.timeout_s is None else check.timeout_s
