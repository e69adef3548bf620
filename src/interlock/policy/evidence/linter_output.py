"""What did linters and type checkers count? Read from their closing lines.

A checker that closes without a figure, or was asked to, is counted by its complaints.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.model.review import LintCounts
from interlock.policy.evidence.runner_output import closing_part

_N: Final = "[0-9]{1,9}"
_WARNING: Final = "warning"


class _Checker(msgspec.Struct, frozen=True, kw_only=True):
    """How a checker reports what it found. Each pattern takes a whole line.

    Of a closing line the groups `errors` and `warnings` are its figures, and a group that is not
    there is none. Of a complaint the group `grade` says whether it is a warning.
    """

    closings: tuple[re.Pattern[str], ...]
    complaint: re.Pattern[str]


def _line(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\s*(?:{pattern})")


_RUFF: Final = _Checker(
    closings=(
        _line(rf"Found {_N} errors? \({_N} fixed, (?P<errors>{_N}) remaining\)\."),
        _line(rf"Found (?P<errors>{_N}) errors?\."),
        _line("All checks passed!"),
    ),
    # The place stands in front in one of its formats, and on the line below in the other.
    complaint=re.compile(
        r"\S.*:[0-9]+:[0-9]+: (?:[A-Z]{1,7}[0-9]{3,4}|invalid-syntax:|SyntaxError:) ?\S.*"
        r"|\s*--> \S.*\.(?:pyi?|ipynb)(?::cell [0-9]+)?:[0-9]+:[0-9]+"
    ),
)
_ESLINT: Final = _Checker(
    closings=(
        _line(
            rf"[\u2716\u00d7x] {_N} problems? \((?P<errors>{_N}) errors?,"
            rf" (?P<warnings>{_N}) warnings?\)"
        ),
    ),
    complaint=re.compile(
        r"\s+[0-9]+:[0-9]+\s+(?P<grade>error|warning)\s+\S.*"
        r"|\S.*: line [0-9]+, col [0-9]+, (?P<grade_of_compact>Error|Warning) - .*"
        r"|\S.*:[0-9]+:[0-9]+: .* \[(?P<grade_of_unix>Error|Warning)/[^\]]*\]"
    ),
)
_MYPY: Final = _Checker(
    closings=(
        _line(rf"Found (?P<errors>{_N}) errors? in {_N} files? \([a-z0-9 ]+\)"),
        _line(rf"Success: no issues found in {_N} source files?"),
    ),
    complaint=re.compile(r"\S.*\.pyi?:[0-9]+(?::[0-9]+){0,3}: (?P<grade>error|warning): \S.*"),
)
_TSC: Final = _Checker(
    closings=(
        _line(
            rf"Found (?P<errors>{_N}) errors?"
            rf" in (?:{_N} files\.|the same file, starting at: \S.*|\S.*:[0-9]+)"
        ),
        _line(
            rf"(?:\[[^\]]*\] |[0-9:. APM]+ - )?Found (?P<errors>{_N}) errors?\."
            r" Watching for file changes\."
        ),
    ),
    complaint=re.compile(
        r"(?:\S.*\([0-9]+,[0-9]+\): |\S.*:[0-9]+:[0-9]+ - )?(?P<grade>error|warning) TS[0-9]+: .*"
    ),
)
_PYRIGHT: Final = _Checker(
    closings=(
        _line(
            rf"(?P<errors>{_N}) errors?, (?P<warnings>{_N}) warnings?,"
            rf" {_N} (?:information|note)s?"
        ),
    ),
    complaint=re.compile(r"\s+\S.*:[0-9]+:[0-9]+ - (?P<grade>error|warning): \S.*"),
)

_CHECKERS: Final = (_RUFF, _ESLINT, _MYPY, _TSC, _PYRIGHT)


def lint_counts_in(output: str) -> LintCounts | None:
    """Return what the checkers in an output found; None where none spoke.

    Of several runs of one checker the last counts; different checkers add up, so that the errors
    of one are not hidden by another that is content.
    """
    lines = closing_part(output)
    found = [counts for checker in _CHECKERS if (counts := _counted_by(checker, lines)) is not None]
    return _together(found) if found else None


def _counted_by(checker: _Checker, lines: Sequence[str]) -> LintCounts | None:
    closings = (each.fullmatch(line) for line in reversed(lines) for each in checker.closings)
    closing = next((found for found in closings if found is not None), None)
    if closing is not None:
        figures = closing.groupdict()
        errors, warnings = figures.get("errors"), figures.get("warnings")
        return LintCounts(errors=int(errors or 0), warnings=int(warnings or 0))
    # A run that is repeated complains in the same words: each complaint counts once.
    found = [checker.complaint.fullmatch(line) for line in set(lines)]
    grades = [_grade(complaint) for complaint in found if complaint is not None]
    if not grades:
        return None
    warnings = grades.count(_WARNING)
    return LintCounts(errors=len(grades) - warnings, warnings=warnings)


def _grade(complaint: re.Match[str]) -> str:
    grades = complaint.groupdict().values()
    return next((grade.lower() for grade in grades if grade), "error")


def _together(counts: Sequence[LintCounts]) -> LintCounts:
    return LintCounts(
        errors=sum(each.errors for each in counts),
        warnings=sum(each.warnings for each in counts),
    )
