"""What the gates answer: findings, the decision that follows from them, and how it came about."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

import msgspec

from interlock.model.entrance import entrance
from interlock.model.glance import Glance, Glanced


class Ranked(enum.StrEnum):
    """A closed set whose members are in order, and equal to their texts."""

    rank: int
    """The place of a member: 0 for the first."""

    def __init__(self, _value: str) -> None:
        """Number the members as they stand."""
        self.rank = len(type(self).__members__)

    # A text would be ordered by its letters, so that each comparison is told apart.

    def __lt__(self, other: str) -> bool:
        """Whether it comes before the other."""
        return self.rank < type(self)(other).rank

    def __le__(self, other: str) -> bool:
        """Whether it comes before the other, or is it."""
        return self.rank <= type(self)(other).rank

    def __gt__(self, other: str) -> bool:
        """Whether it comes behind the other."""
        return self.rank > type(self)(other).rank

    def __ge__(self, other: str) -> bool:
        """Whether it comes behind the other, or is it."""
        return self.rank >= type(self)(other).rank


class Decision(Ranked):
    """What may happen to an action, from free to forbidden."""

    ALLOW = "allow"
    WARN = "warn"
    REQUIRE_CONFIRMATION = "require-confirmation"
    BLOCK = "block"

    # A short form is no text of it, and `== "deny"` would quietly be false where it is denied.

    def __eq__(self, other: object) -> bool:
        """Whether it is the same, or its text; a short form is refused."""
        if isinstance(other, str) and str(other) in _BY_SHORT_FORM:
            member = _BY_SHORT_FORM[str(other)]
            raise ValueError(
                f"a decision is never equal to `{other}`: compare it with `{member.value}`,"
                f" or its `short` with `{other}`"
            )
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        """Whether it is another one; a short form is refused."""
        return not self == other

    __hash__ = str.__hash__

    @property
    def short(self) -> str:
        """The word that people say for it: `ask` and `deny` are short forms."""
        return _SHORT_FORMS.get(self, self.value)

    @classmethod
    def _missing_(cls, value: object) -> Decision | None:
        """Read a short form as the decision that it stands for."""
        return _BY_SHORT_FORM.get(value) if isinstance(value, str) else None


_SHORT_FORMS: Final = {Decision.REQUIRE_CONFIRMATION: "ask", Decision.BLOCK: "deny"}
_BY_SHORT_FORM: Final = {short: each for each, short in _SHORT_FORMS.items()}
_WOULD_HAVE: Final = {
    Decision.REQUIRE_CONFIRMATION: "would have asked",
    Decision.BLOCK: "would have denied",
}


class Severity(enum.StrEnum):
    """How bad it is when the finding is right and the action happens anyway."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


DESTRUCTIVE_OPS: Final = "destructive-ops"
USER_RULES: Final = "rules"
"""Gates whose findings others look for, by their names."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One reason that a gate gives, with what to do about it."""

    gate: str
    rule: str
    decision: Decision
    severity: Severity
    message: str
    remediation: str
    excerpt: str | None = None
    """The part of the input that spoke, redacted."""
    would_have: Decision | msgspec.UnsetType = msgspec.UNSET
    """What it would have led to, where it is only observed: it counts as a warning then."""

    @property
    def observed(self) -> Finding:
        """The same, told and not enforced: it stops nothing, and says what it would have done."""
        if self.decision <= Decision.WARN:
            return self
        return msgspec.structs.replace(
            self,
            decision=Decision.WARN,
            message=f"{_WOULD_HAVE[self.decision]}: {self.message}",
            would_have=self.decision,
        )

    @property
    def enforced(self) -> Finding:
        """The same as it is where it is not only observed."""
        if self.would_have is msgspec.UNSET:
            return self
        return msgspec.structs.replace(
            self,
            decision=self.would_have,
            message=self.message.removeprefix(f"{_WOULD_HAVE[self.would_have]}: "),
            would_have=msgspec.UNSET,
        )


class Verdict(Glanced, msgspec.Struct, frozen=True, kw_only=True):
    """The answer: the decision and every finding behind it."""

    decision: Decision
    findings: tuple[Finding, ...]
    policy_hash: str

    @property
    def allowed(self) -> bool:
        """Whether the action may happen."""
        return self.decision in (Decision.ALLOW, Decision.WARN)

    @property
    def would_have(self) -> Decision | None:
        """The decision if nothing were only observed; None where that changes nothing."""
        given = (each.would_have for each in self.findings)
        observed = [each for each in given if each is not msgspec.UNSET]
        strictest_of_them = max(observed, default=Decision.ALLOW)
        return strictest_of_them if strictest_of_them > self.decision else None

    def __bool__(self) -> bool:
        """Whether the action may happen."""
        return self.allowed

    def _glance(self) -> Glance:
        return decision_glance(self.decision, self.findings)


def decision_glance(decision: Decision, findings: Sequence[Finding]) -> Glance:
    """Return what a decision and what is behind it tell at a glance, the strictest first."""
    ordered = sorted(findings, key=attrgetter("decision"), reverse=True)
    why = f"{ordered[0].message} ({ordered[0].rule})" if ordered else "no rule matched"
    others = f" and {len(ordered) - 1} more" if len(ordered) > 1 else ""
    return Glance(
        f"{decision.short}: {why}{others}",
        [
            row
            for each in ordered
            for row in (
                (each.decision.short, f"{each.message} ({each.rule})"),
                ("where", each.excerpt),
                ("instead", each.remediation),
            )
        ],
    )


@entrance
def aggregate(findings: Iterable[Finding]) -> Decision:
    """Return the most restrictive decision among the findings; none means allow."""
    return strictest(findings)


def strictest(findings: Iterable[Finding]) -> Decision:
    """Return the same of findings that are known to be some."""
    return max(map(attrgetter("decision"), findings), default=Decision.ALLOW)


def no_truth(what: str, ask: str) -> TypeError:
    """Return the error for an answer that is neither a yes nor a no."""
    return TypeError(f"{what} is neither true nor false: look at {ask}")


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One line of it: `stage` is `parse`, `effect`, `rule`, `suppressed` or `gate`."""

    stage: str
    text: str
    depth: int = 0
    """How deep the command stands inside others: `bash -c` and `$(...)` add one."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict together with how it came about."""

    verdict: Verdict
    steps: tuple[Step, ...]
