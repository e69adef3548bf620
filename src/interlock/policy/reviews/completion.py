"""May it finish? The checks that must pass before a run may say that it is done."""

from __future__ import annotations

from typing import Final

from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.review import Overall, ReviewVerdict
from interlock.model.stop import StopDecision, StopVeto

COMPLETION: Final = "completion"
"""The name of the review that the policy itself asks for."""

_UNSUCCESSFUL: Final = frozenset(
    "abandoned aborted blocked canceled cancelled crashed error exhausted failed failure halted"
    " incomplete interrupted killed partial stopped terminated timed-out timeout unfinished"
    " unsuccessful".split()
)
_NOT_A_CLAIM: Final = (StopVeto.AWAITING_USER, StopVeto.REFUSED, StopVeto.HARD_STOP)
_ENDING: Final = (Authority.STOP, Authority.CREDIT)


def claims_success(outcome: str) -> bool:
    """Whether a run that ends so says that its work is done; any word that nobody knows does."""
    return outcome.strip().lower().replace(" ", "-").replace("_", "-") not in _UNSUCCESSFUL


def is_claim(ruled: Ruling, stop: StopDecision) -> bool:
    """Whether a turn that ends so leaves the work as done: not where it asks, or was refused."""
    ends = ruled.course is Course.FINISH and ruled.by in _ENDING
    return ends and stop.veto not in _NOT_A_CLAIM


def claim(outcome: str | None = None) -> ReviewVerdict:
    """Return the verdict that whoever ends the work gives by ending it."""
    how = "ended its turn" if outcome is None else f"finished as `{outcome}`"
    return ReviewVerdict(overall=Overall.PASS, rationale=f"the agent {how}")
