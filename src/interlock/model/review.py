"""What a review asks of finished work, what is said to it, and where it stands: is it good enough?

The attempt, the reset and the choice are counted in one place, the pending review. What cannot be
so is refused when the value is made.
"""

from __future__ import annotations

import enum
import re
from typing import Annotated, ClassVar, Final, Never

import msgspec

from interlock.errors import InputError
from interlock.model.entrance import Argument, Count
from interlock.model.gate_names import gate_in_our_names
from interlock.model.glance import Glance, Glanced
from interlock.model.verdict import Ranked, Severity, no_truth

MOST_ATTEMPTS: Final = 100
LONGEST_TIMEOUT_S: Final = 600
_MOST_CRITERIA: Final = 50
_LONGEST_TEXT: Final = 2_000
_NAME: Final = re.compile(r"(?=[0-9._/-]*[A-Za-z])[A-Za-z0-9._/-]{1,64}", re.ASCII)
"""A name has a letter: a bare number in a verdict is the place of a gate in its list."""


class ReviewMode(Ranked):
    """What a failing gate does, from mild to strict."""

    INFORMATIONAL = "informational"
    """It is recorded."""
    ADVISORY = "advisory"
    """It is recorded and shown, and the work goes on."""
    BLOCKING = "blocking"
    """The work stays where it is until the gate passes or a person decides."""


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """A command that is run to see for oneself: exit code 0 passes."""

    given_alone: ClassVar = "argv"
    argv: tuple[str, ...]
    timeout_s: int | None = None
    """None is what the settings say."""

    def __post_init__(self) -> None:
        """Refuse what cannot be started or would never end."""
        if not self.argv or not self.argv[0].strip():
            raise InputError("check: `argv` names no program, expected such as `pytest`")
        if any("\0" in word for word in self.argv):
            raise InputError("check: `argv` holds a NUL character: no program takes one")
        if self.timeout_s is not None:
            refuse_number("check", "timeout_s", self.timeout_s, least=1, most=LONGEST_TIMEOUT_S)


class ReviewGate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """One demand on the work.

    `retry_config`, `enforcementMode` and `failureAction` are known by those names as well.
    """

    in_our_names: ClassVar = staticmethod(gate_in_our_names)
    id: str
    criteria: tuple[str, ...] = ()
    severity: Severity | None = None
    mode: ReviewMode | None = None
    """None is what the severity says; where that is None as well the gate blocks."""
    max_attempts: int | None = None
    """None is what the settings say."""
    improvement_hints: bool = True
    """Whether its criteria are shown to whoever tries again."""
    preserve_context: bool = True
    """Whether what was said last is shown to whoever tries again."""
    check: Check | None = None

    def __post_init__(self) -> None:
        """Refuse a gate that asks nothing, or cannot be spoken of."""
        refuse_name("gate", "id", self.id)
        place = f"gate `{self.id}`"
        if self.max_attempts is not None:
            refuse_number(place, "max_attempts", self.max_attempts, least=1, most=MOST_ATTEMPTS)
        if not self.criteria and self.check is None:
            raise InputError(f"{place} has no criteria and no check: it would ask nothing")
        if len(self.criteria) > _MOST_CRITERIA:
            raise InputError(
                f"{place} has {len(self.criteria)} criteria, at most {_MOST_CRITERIA} are kept:"
                " make it two gates"
            )
        for criterion in self.criteria:
            refuse_text(place, "criteria", criterion)


_BY_SEVERITY: Final = {
    Severity.CRITICAL: ReviewMode.BLOCKING,
    Severity.HIGH: ReviewMode.ADVISORY,
    Severity.MEDIUM: ReviewMode.ADVISORY,
    Severity.LOW: ReviewMode.INFORMATIONAL,
}


def mode_of(gate: ReviewGate) -> ReviewMode:
    """Return what a gate says of its mode, or else its severity; said nothing, it blocks."""
    if gate.mode is not None:
        return gate.mode
    return ReviewMode.BLOCKING if gate.severity is None else _BY_SEVERITY[gate.severity]


class LintCounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a linter or a type checker counted."""

    errors: int = 0
    warnings: int = 0


class CheckResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a gate's check."""

    gate: str
    exit_code: int | None = None
    """None where it did not come to its end."""
    timed_out: bool = False
    error: str | None = None
    """Why it did not run."""
    tail: str = ""
    """The end of what it printed."""
    tests: TestCounts | None = None
    lint: LintCounts | None = None

    @property
    def ran(self) -> bool:
        """Whether it says anything about the gate."""
        return self.exit_code is not None or self.timed_out

    @property
    def passed(self) -> bool:
        """Whether it speaks for the gate."""
        return self.exit_code == 0 and not self.timed_out

    def __bool__(self) -> bool:
        """Whether it speaks for the gate."""
        return self.passed


class Witness(enum.StrEnum):
    """What speaks for or against a gate."""

    CHECK = "check"
    """Its check was run and passed."""
    AGAINST = "against"
    """Its check was run and failed."""
    NOTHING = "nothing"
    """Its check did not run: nobody knows."""
    VERDICT = "verdict"
    """It has no check: only what was said."""


class GateCoverage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of one gate besides what was said of it."""

    gate: str
    mode: ReviewMode
    witness: Witness
    result: str = ""
    """What the check came to, in words."""


class Overall(enum.StrEnum):
    """What a verdict says of the work as a whole."""

    PASS = "PASS"  # noqa: S105 - the word of a verdict, not a password
    FAIL = "FAIL"


class GateVerdict(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    metaclass=Argument,
):
    """What a verdict says of one gate."""

    gate: str
    """Its id, its title, or its place in the list of the review: `1` for the first."""
    passed: bool
    rationale: str
    only_if_named: bool = False
    """Whether it counts only where a gate of the review is called so: it may be mere prose."""

    def __post_init__(self) -> None:
        """Refuse a judgement without a reason."""
        refuse_text(f"verdict on gate `{self.gate}`", "rationale", self.rationale)

    def __bool__(self) -> bool:
        """Whether the gate passes."""
        return self.passed


class ReviewVerdict(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    metaclass=Argument,
):
    """What whoever reviewed the work says."""

    overall: Overall
    rationale: str
    per_gate: tuple[GateVerdict, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a judgement without a reason."""
        refuse_text("verdict", "rationale", self.rationale)

    def __bool__(self) -> Never:
        """Refuse to say: gates may fail where the whole passes."""
        raise no_truth("a verdict", "`overall` and `per_gate`")


class Unreadable(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict that says nothing, and why; it counts as an attempt all the same."""

    reason: str

    def __bool__(self) -> bool:
        """What cannot be read is never a yes."""
        return False


class FaultKind(enum.StrEnum):
    """What is wrong with a gate."""

    FAILED = "failed"
    """The verdict says so, or its check where no verdict could be read."""
    CONTRADICTED = "contradicted"
    """The verdict passes it and its check does not."""
    UNVERIFIED = "unverified"
    """Its check did not run."""


class GateFault(msgspec.Struct, frozen=True, kw_only=True):
    """A gate that does not pass, and why."""

    gate: str
    mode: ReviewMode
    kind: FaultKind
    why: str


class EntryKind(enum.StrEnum):
    """What happened to a review."""

    PASSED = "passed"
    FAILED = "failed"
    UNREADABLE = "unreadable"
    CONTRADICTED = "contradicted"
    UNVERIFIED = "unverified"
    RESET = "reset"
    """A person gave it its attempts once more."""
    SKIPPED = "skipped"
    """A person let the work go on without it: it did not pass."""
    ABORTED = "aborted"


class ReviewEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of a review's history."""

    kind: EntryKind
    attempt: int
    """How many attempts were counted when it was written."""
    reason: str
    gates: tuple[str, ...] = ()
    """The gates that it is about."""
    at: int | None = None
    """When it was recorded, in microseconds since 1970; None before it is."""


class PendingGateReview(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A review that work waits for."""

    id: str
    gate_ids: tuple[str, ...]
    """In the order in which a verdict may number them."""
    mode: ReviewMode
    max_attempts: int
    attempt_count: int = 0
    """Since a person last gave it its attempts once more."""
    resets: int = 0
    history: tuple[ReviewEntry, ...] = ()
    feedback: str | None = None
    """Why the last attempt did not do."""
    instructions: str | None = None
    """What the person said who last reset it."""

    def __post_init__(self) -> None:
        """Refuse a review of nothing, and counts that nobody can have counted."""
        place = f"review `{self.id}`"
        if not self.gate_ids:
            raise InputError(f"{place} has no gates: name at least one")
        for gate_id in self.gate_ids:
            refuse_name(place, "gate_ids", gate_id)
            if self.gate_ids.count(gate_id) > 1:
                raise InputError(f"{place} names gate `{gate_id}` twice: name it once")
        refuse_number(place, "max_attempts", self.max_attempts, least=1, most=MOST_ATTEMPTS)
        refuse_number(place, "attempt_count", self.attempt_count, least=0, most=self.max_attempts)
        refuse_number(place, "resets", self.resets, least=0, most=MOST_ATTEMPTS)

    @property
    def awaiting_choice(self) -> bool:
        """Whether its attempts are used up, so that only a person's choice moves it."""
        return self.attempt_count >= self.max_attempts


class ReviewPurpose(enum.StrEnum):
    """What a review is for."""

    WORK = "work"
    """Somebody asked for it."""
    COMPLETION = "completion"
    """The policy asks for it before a run may finish."""


class GateAction(enum.StrEnum):
    """What a person may choose once the attempts are used up."""

    RETRY = "retry"
    SKIP = "skip"
    ABORT = "abort"


class ReviewOutcome(enum.StrEnum):
    """What happens to the work."""

    ADVANCE = "advance"
    """It goes on: no review is pending any more."""
    RETRY = "retry"
    """It stays; whoever does it is given guidance and tries again."""
    ASK = "ask"
    """It stays, and waits for a person's choice."""
    STOPPED = "stopped"
    """A person aborted: the run ends."""
    REFUSED = "refused"
    """What was said does not fit where the review stands: nothing is counted or changed."""


class ReviewDecision(Glanced, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a verdict or of a choice, and everything behind it."""

    outcome: ReviewOutcome
    reason: str
    review: PendingGateReview | None = None
    """What is pending from here on; None where nothing is."""
    entry: ReviewEntry | None = None
    """The line of history that this is; None where nothing is counted or changed."""
    faults: tuple[GateFault, ...] = ()
    """Every gate that does not pass, whatever its mode."""
    warnings: tuple[str, ...] = ()
    """What the footer of the answer says."""
    guidance: str | None = None
    """What is said to whoever tries again, or asked of a person."""
    retry_limit_exceeded: bool = False
    exhausted_gate_ids: tuple[str, ...] = ()
    choices: tuple[GateAction, ...] = ()
    """What a person may choose."""
    would_have: ReviewOutcome | None = None
    """What it would have been, where the policy only observes."""

    @property
    def contradicted(self) -> tuple[str, ...]:
        """The gates whose PASS is refused because their checks fail."""
        return _gates_of(self.faults, FaultKind.CONTRADICTED)

    @property
    def unverified(self) -> tuple[str, ...]:
        """The gates whose checks did not run."""
        return _gates_of(self.faults, FaultKind.UNVERIFIED)

    def __bool__(self) -> Never:
        """Refuse to say: there are five outcomes."""
        raise no_truth("a decision on a review", "`outcome`")

    def _glance(self) -> Glance:
        return Glance(
            f"{self.outcome.value}: {self.reason}",
            (
                *((each.gate, f"{each.kind.value}: {each.why}") for each in self.faults),
                ("guidance", self.guidance),
                ("choices", ", ".join(each.value for each in self.choices)),
            ),
        )


def refuse_name(place: str, field: str, name: str) -> None:
    """Raise InputError for a name by which a verdict could not speak of a gate."""
    if _NAME.fullmatch(name) is None:
        raise InputError(
            f"{place}: `{field}` is `{name[:80]}`, expected 1 to 64 of letters, digits and `._/-`,"
            " with a letter among them"
        )


def refuse_number(place: str, field: str, number: int, *, least: int, most: int) -> None:
    """Raise InputError for a number outside of its bounds."""
    if type(number) is not int or not least <= number <= most:
        raise InputError(
            f"{place}: `{field}` is `{number}`, expected a whole number from {least} to {most}"
        )


def refuse_text(place: str, field: str, text: str) -> None:
    """Raise InputError for a text without a word in it, or one that nobody would read."""
    if not any(character.isalnum() for character in text):
        raise InputError(f"{place}: `{field}` is `{text[:80]}`, expected words")
    if len(text) > _LONGEST_TEXT:
        raise InputError(
            f"{place}: `{field}` has {len(text)} characters, expected at most {_LONGEST_TEXT}"
        )


def _gates_of(faults: tuple[GateFault, ...], kind: FaultKind) -> tuple[str, ...]:
    return tuple(fault.gate for fault in faults if fault.kind is kind)


class Evaluation(msgspec.Struct, frozen=True, kw_only=True, metaclass=Argument):
    """One evaluator's judgement."""

    evaluator: str
    passed: bool
    score: Annotated[int, msgspec.Meta(ge=0, le=1000)]
    """From 0 to 1000."""
    evidence: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether it passes."""
        return self.passed


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Every evaluator's judgement on one run."""

    evaluations: tuple[Evaluation, ...]

    @property
    def passed(self) -> bool:
        """Whether nobody objects."""
        return all(each.passed for each in self.evaluations)

    def __bool__(self) -> bool:
        """Whether nobody objects."""
        return self.passed


class TestCounts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """What a test runner counted."""

    __test__ = False
    """Pytest must not take it for a test."""

    passed: Count = 0
    failed: Count = 0
    skipped: Count = 0

    @property
    def executed(self) -> int:
        """How many tests really ran."""
        return self.passed + self.failed
