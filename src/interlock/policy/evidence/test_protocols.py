"""Runners that tell each test on a line of its own: `go test`, and whoever speaks TAP."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from interlock.model.report import TestCounts

_GO_TEST: Final = re.compile(r"\s*--- (PASS|FAIL|SKIP): \S+ \([0-9.]+s\)")
_GO_PACKAGE: Final = re.compile(
    r"(ok|FAIL)\s+(?![0-9]+\s)(\S+)\s+(?:[0-9.]+s|\(cached\)|\[(?:build|setup) failed\])(\s.*)?"
)
_NOTHING_RAN: Final = "[no tests to run]"
_THE_NEXT: Final = ""
"""The package of a test whose package is told on a later line."""

_PLAN: Final = re.compile(r"1\.\.[0-9]{1,9}(?:\s.*)?")
_TAP_TEST: Final = re.compile(r"(not )?ok ([0-9]{1,9})(?:\s(.*))?")
_DIRECTIVES: Final = ("# SKIP", "# TODO")


class _Outcome(enum.Enum):
    """What became of a test."""

    PASSED = "PASS"
    FAILED = "FAIL"
    SKIPPED = "SKIP"
    NOTHING = ""
    """No test ran."""


def go_counts(lines: Sequence[str]) -> TestCounts | None:
    """Return what `go test` tells of the packages of its last run; subtests count as tests.

    Without `-v` Go is silent about tests that pass: then a package that passes counts as one.
    """
    told: list[_Outcome] = []
    ended: set[str] = set()
    running: dict[str, list[_Outcome]] = {}
    for each in _go_lines(lines):
        if each.is_test:
            running.setdefault(each.package, []).append(each.outcome)
            continue
        if each.package in ended:
            told, ended = [], set()
        ended.add(each.package)
        tests = [*running.pop(_THE_NEXT, ()), *running.pop(each.package, ())]
        told += tests or [each.outcome]
        if tests and each.outcome == _Outcome.FAILED and _Outcome.FAILED not in tests:
            told.append(_Outcome.FAILED)
    told += [outcome for tests in running.values() for outcome in tests]
    return _tally(told) if told else None


class _GoLine(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a test, or of a package as a whole."""

    outcome: _Outcome
    package: str
    is_test: bool


class _GoEvent(msgspec.Struct, frozen=True, rename="pascal"):
    """A line of `go test -json`; without a test it is about the package."""

    action: str
    package: str
    test: str | None = None


_EVENTS: Final = msgspec.json.Decoder(_GoEvent)
_OF_TESTS: Final = {"pass": _Outcome.PASSED, "fail": _Outcome.FAILED, "skip": _Outcome.SKIPPED}
_OF_PACKAGES: Final = {"pass": _Outcome.NOTHING, "fail": _Outcome.FAILED, "skip": _Outcome.NOTHING}
"""Events tell every test, so that a package that passes adds nothing to them."""


def _go_lines(lines: Sequence[str]) -> Iterator[_GoLine]:
    for line in lines:
        if test := _GO_TEST.fullmatch(line):
            yield _GoLine(outcome=_Outcome(test[1]), package=_THE_NEXT, is_test=True)
        elif package := _GO_PACKAGE.fullmatch(line):
            yield _GoLine(outcome=_of_package(package), package=package[2], is_test=False)
        elif line.startswith("{") and '"Action":' in line:
            yield from _go_event(line)


def _of_package(line: re.Match[str]) -> _Outcome:
    if line[1] == "ok":
        return _Outcome.NOTHING if _NOTHING_RAN in (line[3] or "") else _Outcome.PASSED
    return _Outcome.FAILED


def _go_event(line: str) -> Iterator[_GoLine]:
    try:
        event = _EVENTS.decode(line.encode("utf-8", "replace"))
    except msgspec.DecodeError:
        return
    outcome = (_OF_PACKAGES if event.test is None else _OF_TESTS).get(event.action)
    if outcome is not None:
        yield _GoLine(outcome=outcome, package=event.package, is_test=event.test is not None)


def tap_counts(lines: Sequence[str]) -> TestCounts | None:
    """Return what the lines of TAP, the Test Anything Protocol, tell; subtests are left out.

    Only with a plan (`1..5`) are they TAP at all; a first test that comes again is a new run.
    """
    told: list[_Outcome] = []
    planned = False
    for line in lines:
        if test := _TAP_TEST.fullmatch(line):
            if int(test[2]) == 1:
                told = []
            told.append(_of_tap(failed=test[1] is not None, words=test[3] or ""))
        elif _PLAN.fullmatch(line):
            planned = True
    return _tally(told) if planned and told else None


def _of_tap(*, failed: bool, words: str) -> _Outcome:
    if any(directive in words.upper() for directive in _DIRECTIVES):
        return _Outcome.SKIPPED
    return _Outcome.FAILED if failed else _Outcome.PASSED


def _tally(outcomes: Sequence[_Outcome]) -> TestCounts:
    return TestCounts(
        passed=outcomes.count(_Outcome.PASSED),
        failed=outcomes.count(_Outcome.FAILED),
        skipped=outcomes.count(_Outcome.SKIPPED),
    )
