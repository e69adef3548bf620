"""What whoever asks is told."""

from __future__ import annotations

import msgspec

from interlock.model.budget import Alert
from interlock.model.verdict import Decision, Verdict


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to "may it do this?", on the record."""

    run_id: str
    action_id: str
    """Names the action when its outcome is reported."""
    decision: Decision
    verdict: Verdict
    approval_id: str | None = None
    """The question to a person that this answer waits for or was given by."""
    alerts: tuple[Alert, ...] = ()
    repeated: bool = False
    """The same request had been answered before: nothing was evaluated or charged again."""

    @property
    def allowed(self) -> bool:
        """Whether the action may happen now."""
        return self.decision in (Decision.ALLOW, Decision.WARN)

    @property
    def waits_for_person(self) -> bool:
        """Whether a person has to decide first."""
        return self.decision is Decision.REQUIRE_CONFIRMATION

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, in words that an agent can act on."""
        return tuple(
            f"{each.message}; {each.remediation}" if each.remediation else each.message
            for each in self.verdict.findings
        )


def action_id(run_id: str, seq: int) -> str:
    """Return the id of the action that a record judged."""
    return f"{run_id}:{seq}"
