"""What did the test runners count? Read from the lines with which they close.

Only what a runner writes in this very form counts: "5 passed the exam" says nothing.
"""

from __future__ import annotations

from interlock.model.report import TestCounts
from interlock.policy.evidence.closing_lines import last_run, together
from interlock.policy.evidence.closing_part import closing_part
from interlock.policy.evidence.runners import RUNNERS
from interlock.policy.evidence.test_protocols import go_counts, tap_counts


def counts_in(output: str) -> TestCounts | None:
    """Return what the test runners in an output counted; None where no runner spoke.

    Of several runs of one runner the last counts. Different runners add up, so that the
    failures of one are not hidden by another that passes behind it.
    """
    lines = closing_part(output)
    text = "\n".join(lines)
    signed = [[way for way in ways if way.sign in text] for ways in RUNNERS]
    told = [last_run(lines, ways) for ways in signed]
    told.append(go_counts(lines))
    spoken = [counts for counts in told if counts is not None]
    if spoken:
        return together(spoken)
    # Asked last: a runner that counts for itself, such as Node's, prints this below its figures.
    return tap_counts(lines)
