"""What the closing lines of a test runner come to: figures, summaries, runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from interlock.model.report import TestCounts
from interlock.policy.evidence.runners import Closing

_PASSED: Final = frozenset(("passed", "passing", "pass", "succeeded", "xpassed"))
_FAILED: Final = frozenset((
    "failed", "failing", "fail", "failure", "failures", "error", "errors", "exceptions",
    "cancelled", "invalid", "timed out", "subtests failed", "unexpected success",
    "unexpected successes", "error occurred outside of examples",
    "errors occurred outside of examples",
))  # fmt: skip
_SKIPPED: Final = frozenset((
    "skipped", "skips", "pending", "pendings", "todo", "ignored", "incomplete", "omissions",
    "excluded", "not run", "xfailed", "expected fail", "expected failures",
))  # fmt: skip
_TOTAL: Final = frozenset((
    "total", "test", "tests", "example", "examples", "runs", "tests run", "test completed",
    "tests completed", "total tests",
))  # fmt: skip
_FAILED_SUITES: Final = "failed_suites"

_FIGURE: Final = re.compile(r"([0-9]+) ([a-z ]+)|([a-z ]+)[:= ] ?([0-9]+)")
"""`3 passed`; or `failures: 3`, `failures=3`, `pass 3`."""
_SEPARATORS: Final = re.compile("[,;|]")
_ASIDES: Final = re.compile(r"\([^)]*\)")


def last_run(lines: Sequence[str], ways: Sequence[Closing]) -> TestCounts | None:
    """Return what the last run of a runner counted, whichever way it closed."""
    runs = [run for way in ways if (run := _last_run(lines, way)) is not None]
    return max(runs, key=lambda run: run.place).counts if runs else None


class _Run(msgspec.Struct, frozen=True):
    """A run of the tests: the place at which it closed, and what it counted."""

    place: int
    counts: TestCounts


class _Summary(msgspec.Struct, kw_only=True):
    """What a runner says in one place."""

    place: int
    figures: dict[str, int]
    part: str | None
    begins_a_run: bool


def _last_run(lines: Sequence[str], way: Closing) -> _Run | None:
    run: list[_Summary] = []
    parts: set[str | None] = set()
    for summary in _summaries(lines, way):
        if not way.adds_up or summary.begins_a_run or summary.part in parts:
            run, parts = [], set()
        run.append(summary)
        if summary.part is not None:
            parts.add(summary.part)
    return _Run(run[-1].place, together([_counted(each.figures) for each in run])) if run else None


def _summaries(lines: Sequence[str], way: Closing) -> list[_Summary]:
    """Return each place where the runner closes, with the figures just above and below it."""
    found: list[_Summary] = []
    open_figures: dict[str, int] | None = None
    above: dict[str, int] | None = None
    apart = False
    for place, line in enumerate(lines):
        if open_figures is not None and (more := way.more.fullmatch(line)):
            open_figures.update(_figures(more))
            continue
        closing = way.line.fullmatch(line)
        if closing and (above is not None or not way.needs_heading):
            open_figures = {**(above or {}), **_figures(closing)}
            part = closing.groupdict().get("part")
            found.append(_Summary(place=place, figures=open_figures, part=part, begins_a_run=apart))
            apart = False
        else:
            open_figures = None
        heading = way.heading.fullmatch(line)
        above = _figures(heading) if heading else None
        apart = apart or way.apart.fullmatch(line) is not None
    return found


def _figures(match: re.Match[str]) -> dict[str, int]:
    """Return the figures of a line by their words."""
    groups = match.groupdict()
    listed, _ = groups.pop("list", None), groups.pop("part", None)
    figures = {word: int(figure) for word, figure in groups.items() if figure is not None}
    for item in _SEPARATORS.split(_ASIDES.sub("", listed or "").lower()):
        figure = _FIGURE.fullmatch(" ".join(item.split()))
        if figure:
            before, word, label, behind = figure.groups()
            figures[(word or label).strip()] = int(before or behind)
    return figures


def _counted(figures: Mapping[str, int]) -> TestCounts:
    """Sort the figures into passed, failed and skipped by their words."""
    passed, failed, skipped, total = (
        sum(figure for word, figure in figures.items() if word in words)
        for words in (_PASSED, _FAILED, _SKIPPED, _TOTAL)
    )
    if _PASSED.isdisjoint(figures):
        passed = max(total - failed - skipped, 0)
    # A suite that could not even be loaded tells no failed test, and is one.
    failed = max(failed, figures.get(_FAILED_SUITES, 0))
    return TestCounts(passed=passed, failed=failed, skipped=skipped)


def together(counts: Sequence[TestCounts]) -> TestCounts:
    """Return the sum of several counts."""
    return TestCounts(
        passed=sum(each.passed for each in counts),
        failed=sum(each.failed for each in counts),
        skipped=sum(each.skipped for each in counts),
    )
