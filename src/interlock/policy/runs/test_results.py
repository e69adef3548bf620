"""What did the test runners count? Read from the lines with which they close.

Only what a runner writes in this very form counts: "5 passed the exam" says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from interlock.model.report import TestCounts
from interlock.policy.runs.closing_lines import last_run, together
from interlock.policy.runs.runners import RUNNERS
from interlock.policy.runs.test_protocols import go_counts, tap_counts

_CLOSING_PART: Final = 64 * 1024
"""How many characters of an output are read: a runner closes at the end."""
_LONGEST_LINE: Final = 400
"""No closing line is longer."""
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
"""Colours and the like (`ESC [ ... m`), titles and links (`ESC ] ... BEL`)."""


def counts_in(output: str) -> TestCounts | None:
    """Return what the test runners in an output counted; None where no runner spoke.

    Of several runs of one runner the last counts. Different runners add up, so that the
    failures of one are not hidden by another that passes behind it.
    """
    lines = _closing_part(output)
    text = "\n".join(lines)
    signed = [[way for way in ways if way.sign in text] for ways in RUNNERS]
    told = [last_run(lines, ways) for ways in signed]
    told.append(go_counts(lines))
    spoken = [counts for counts in told if counts is not None]
    if spoken:
        return together(spoken)
    # Asked last: a runner that counts for itself, such as Node's, prints this below its figures.
    return tap_counts(lines)


def _closing_part(output: str) -> Sequence[str]:
    """Return the last lines that are not blank, without colours."""
    part = output[-_CLOSING_PART:]
    if len(part) < len(output):
        part = part.partition("\n")[2]
    lines = [line.rstrip() for line in _ESCAPES.sub("", part).splitlines()]
    return [line for line in lines if line and len(line) <= _LONGEST_LINE]
