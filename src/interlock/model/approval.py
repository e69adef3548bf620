"""A question to a person, and what became of it."""

from __future__ import annotations

import enum
from typing import Final, Never

import msgspec
from msgspec.structs import force_setattr

from interlock.model.glance import Glance, Glanced
from interlock.model.short_code import code_of
from interlock.model.verdict import Finding, no_truth

OVER_BUDGET: Final = "continue.budget"
"""The rule that stops a run whose budget is used up."""


class Subject(enum.StrEnum):
    """What the question is about."""

    ACTION = "action"
    """May this one action happen?"""
    RESUME = "resume"
    """May this run go on?"""
    REVIEW = "review"
    """How does a review go on whose attempts are used up?"""
    LOOP = "loop"
    """May the loop do this?"""
    PRICE = "price"
    """May this run go on although nobody knows what its model costs?"""


class ApprovalState(enum.StrEnum):
    """Where an approval stands; only `pending` ever changes, and only once."""

    PENDING = "pending"
    GRANTED = "granted"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


class Approval(Glanced, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question to a person, bound to the digest of exactly what was asked."""

    id: str
    run_id: str
    subject: Subject
    digest: str
    summary: str
    findings: tuple[Finding, ...]
    policy_hash: str
    opened_at: int
    expires_at: int
    uses_left: int
    state: ApprovalState = ApprovalState.PENDING
    decided_at: int | None = None
    decided_by: str | None = None
    note: str | None = None
    always: bool = False
    """Whoever granted it asked for a rule, which a person still has to apply."""
    code: str = ""
    """What people type for its id; it follows from that."""

    def __post_init__(self) -> None:
        """Work out the code, whatever was given."""
        force_setattr(self, "code", code_of(self.id))

    @property
    def way_to_grant(self) -> str:
        """What an operator types to let it happen; a review has two other ways on."""
        if self.subject is Subject.REVIEW:
            return f"interlock review resolve {self.code} retry"
        # Who lets a stopped run go on has to say why.
        why = " --reason TEXT" if self.subject is Subject.RESUME else ""
        return f"interlock approve {self.code}{why}"

    @property
    def is_about_budget(self) -> bool:
        """Whether a run asks to go on that was stopped because a budget was used up."""
        return any(each.rule == OVER_BUDGET for each in self.findings)

    def is_open_at(self, now: int) -> bool:
        """Whether somebody may still decide."""
        return self.state is ApprovalState.PENDING and now < self.expires_at

    def is_usable_at(self, now: int) -> bool:
        """Whether it lets its one action through."""
        return self.state is ApprovalState.GRANTED and self.uses_left > 0 and now < self.expires_at

    def __bool__(self) -> Never:
        """Refuse to say: what was granted may be used up or too old by now."""
        raise no_truth("a question to a person", "`state`")

    def _glance(self) -> Glance:
        return Glance(
            f"{self.id} {self.state.value}: {self.summary}",
            (
                ("question", self.summary),
                *((each.rule, each.message) for each in self.findings),
                ("state", self.state.value),
                ("by", self.decided_by),
                ("reason", self.note),
                ("run", self.run_id),
            ),
        )


class ApprovalPage(msgspec.Struct, frozen=True, kw_only=True):
    """A few questions to people, the oldest first."""

    approvals: tuple[Approval, ...]
    cursor: str | None
    """Where the next page begins; None where this is the last one."""
