"""A verdict, and how it came about: which rules matched, why, and what to do instead."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

from interlock.cli.text.render import (
    Line,
    Span,
    Tone,
    badge_line,
    heading_lines,
    labelled_rows,
    wrapped_lines,
)
from interlock.model.verdict import Decision, Explanation, Finding, Verdict

BADGES: Final = {
    Decision.ALLOW: (Tone.ALLOW, "no rule matched"),
    Decision.WARN: (Tone.WARN, "allowed, with a warning to the agent"),
    Decision.REQUIRE_CONFIRMATION: (Tone.CONFIRM, "a person must approve first"),
    Decision.BLOCK: (Tone.BLOCK, "must not happen"),
}
_HEADINGS: Final = {
    "parse": "Parsed commands",
    "effect": "Effects",
    "rule": "Matched rules",
    "suppressed": "Suppressed rules",
    "gate": "Gates",
}
_DEEPEST: Final = 8


def verdict_lines(verdict: Verdict, *, width: int) -> Iterator[Line]:
    """Yield the badge, then each finding: what, where, why, and what to do instead."""
    tone, meaning = BADGES[verdict.decision]
    yield badge_line(verdict.decision.short.upper(), tone, meaning)
    for finding in verdict.findings:
        yield ()
        yield from _finding_lines(finding, width)


def explanation_lines(explanation: Explanation, *, width: int) -> Iterator[Line]:
    """Yield the verdict, then how it came about, under one heading per stage."""
    yield from verdict_lines(explanation.verdict, width=width)
    for stage, steps in groupby(explanation.steps, key=lambda step: step.stage):
        yield from heading_lines(_HEADINGS[stage])
        for step in steps:
            head = (Span("  " * (1 + min(step.depth, _DEEPEST))),)
            yield from wrapped_lines(head, step.text, width=width, hangs_by="    ")


def _finding_lines(finding: Finding, width: int) -> Iterator[Line]:
    yield from wrapped_lines((Span("  "),), finding.message, Tone.STRONG, width=width)
    yield from labelled_rows(
        ("where", finding.excerpt or "", Tone.CODE),
        ("why", f"{finding.rule} ({finding.gate}, {finding.severity.value})"),
        ("instead", finding.remediation),
        width=width,
        indent="    ",
    )
