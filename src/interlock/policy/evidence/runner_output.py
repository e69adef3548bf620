"""What did the test runners count? Read from the lines with which they close.

Only what a runner writes in this very form counts: "5 passed the exam" says nothing. Runners that
give each test a line of its own, `go test` and whoever speaks TAP, are counted by those lines.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from interlock.model.report import TestCounts


def counts_in(output: str) -> TestCounts | None:
    """Return what the test runners in an output counted; None where no runner spoke.

    Of several runs of one runner the last counts. Different runners add up, so that the
    failures of one are not hidden by another that passes behind it.
    """
    lines = closing_part(output)
    text = "\n".join(lines)
    signed = [[way for way in ways if way.sign in text] for ways in RUNNERS]
    counted = [last_run(lines, ways) for ways in signed]
    counted.append(go_counts(lines))
    spoken = [counts for counts in counted if counts is not None]
    if spoken:
        return together(spoken)
    # Asked last: a runner that counts for itself, such as Node's, prints this below its figures.
    return tap_counts(lines)


_CLOSING_PART: Final = 64 * 1024
"""How many characters of an output are read: who counts closes at the end."""
_LONGEST_LINE: Final = 400
"""No line that counts is longer."""
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
"""Colours and the like (`ESC [ ... m`), titles and links (`ESC ] ... BEL`)."""


def closing_part(output: str) -> Sequence[str]:
    """Return the last lines that are not blank, without colours."""
    part = output[-_CLOSING_PART:]
    if len(part) < len(output):
        part = part.partition("\n")[2]
    lines = [line.rstrip() for line in _ESCAPES.sub("", part).splitlines()]
    return [line for line in lines if line and len(line) <= _LONGEST_LINE]


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
    # A suite that could not even be loaded reports no failed test, and is one.
    failed = max(failed, figures.get(_FAILED_SUITES, 0))
    return TestCounts(passed=passed, failed=failed, skipped=skipped)


def together(counts: Sequence[TestCounts]) -> TestCounts:
    """Return the sum of several counts."""
    return TestCounts(
        passed=sum(each.passed for each in counts),
        failed=sum(each.failed for each in counts),
        skipped=sum(each.skipped for each in counts),
    )


_N: Final = "[0-9]{1,9}"
_WORDS: Final = "[a-z]+(?: [a-z]+)?"
_SECONDS: Final = r"[0-9.]+ ?s(?:econds)?"
_NEVER: Final = re.compile("(?!)")


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """How a runner closes.

    Each pattern takes a whole line. Its group `list` holds figures with their words, such as
    `3 passed, 1 failed`; any other group but `part` is a figure whose word is the group's name.
    """

    sign: str
    """Text that the closing lines always hold: where it is missing nothing is looked at."""
    line: re.Pattern[str]
    heading: re.Pattern[str] = _NEVER
    """The line just above, where it has figures too."""
    needs_heading: bool = False
    more: re.Pattern[str] = _NEVER
    """Lines just below that go on with the figures."""
    adds_up: bool = False
    """Whether one run closes several times: once per crate, module or assembly."""
    apart: re.Pattern[str] = _NEVER
    """A line that stands between two runs. A `part` that comes again tells them apart as well."""


def _one(pattern: str) -> re.Pattern[str]:
    """Return the pattern of a line, which may be indented."""
    return re.compile(rf"\s*(?:{pattern})")


_PYTEST: Final = Closing(
    sign=" in ",
    line=_one(
        rf"(?:=+ )?(?:tests finished: )?(?:no tests ran|(?P<list>(?:{_N} warnings?, )?"
        rf"{_N} (?:passed|failed|skipped|deselected|xfailed|xpassed|errors?)(?:, {_N} {_WORDS})*))"
        rf",? in {_SECONDS}(?: \([0-9:]+\))?(?: =+)?"
    ),
)
_UNITTEST: Final = Closing(
    sign="Ran ",
    heading=_one(rf"Ran (?P<tests>{_N}) tests? in {_SECONDS}"),
    needs_heading=True,
    line=_one(
        rf"NO TESTS RAN|(?:OK|FAILED)"
        rf"(?: \((?P<list>{_WORDS}={_N}(?:, {_WORDS}={_N})*)\))?"
    ),
)
_JEST: Final = Closing(
    sign="Tests:",
    heading=_one(rf"Test Suites: +(?:(?P<failed_suites>{_N}) failed, )?[0-9a-z, ]* total"),
    line=_one(rf"Tests: +(?P<list>(?:{_N} [a-z]+, )*{_N} total)"),
)
_VITEST: Final = Closing(
    sign="Tests ",
    heading=_one(rf"Test Files +(?:(?P<failed_suites>{_N}) failed)?[0-9a-z| ]* \({_N}\)"),
    line=_one(
        rf"Tests +(?:no tests|(?P<list>{_N} {_WORDS}(?: \| {_N} {_WORDS})*)"
        rf" \({_N}\))"
    ),
)
_CARGO: Final = Closing(
    sign="test result: ",
    line=_one(
        rf"test result: (?:ok|FAILED)\. (?P<list>{_N} passed; {_N} failed; {_N} ignored)(?:;.*)?"
    ),
    adds_up=True,
    apart=_one("Finished .*"),
)
_NEXTEST: Final = Closing(
    sign="Summary [",
    line=_one(
        rf"Summary \[ *[0-9.]+s\] {_N}(?:/{_N})? tests? run:"
        rf" (?P<list>{_N} passed(?: \([^)]*\))?(?:, {_N} {_WORDS}(?: \([^)]*\))?)*)"
    ),
)
_MOCHA: Final = Closing(
    sign=" passing (",
    line=_one(rf"(?P<list>{_N} passing) \([0-9]+(?:ms|s|m|h)\)"),
    more=_one(rf"(?P<list>{_N} (?:pending|failing))"),
)
_RSPEC: Final = Closing(
    sign=" example",
    line=_one(
        rf"(?P<list>{_N} examples?, {_N} failures?(?:, {_N} pending)?"
        rf"(?:, {_N} errors? occurred outside of examples)?)"
    ),
)
_MINITEST: Final = Closing(
    sign=" assertions, ",
    line=_one(
        rf"(?P<list>{_N} (?:runs|tests), {_N} assertions, {_N} failures, {_N} errors"
        rf"(?:, {_N} [a-z]+)*)"
    ),
)
_PHPUNIT: Final = Closing(
    sign="Assertions: ",
    line=_one(rf"(?P<list>Tests: {_N}, Assertions: {_N}(?:, [A-Z][A-Za-z ]*: {_N})*)\.?"),
)
_PHPUNIT_WHEN_GREEN: Final = Closing(
    sign="OK (", line=_one(rf"OK \((?P<list>{_N} tests?)(?:, {_N} assertions?)?\)")
)
_PHPUNIT_WHEN_EMPTY: Final = Closing(sign="No tests executed!", line=_one("No tests executed!"))
_MAVEN: Final = Closing(
    sign="Tests run:",
    line=_one(
        rf"(?:\[(?:INFO|WARNING|ERROR)\] )?(?P<list>Tests run: {_N}, +Failures: {_N}"
        rf"(?:, +(?:Errors|Skipped|Flakes): {_N})*)"
    ),
    adds_up=True,
    apart=_one(r"(?:\[INFO\] )?Scanning for projects.*"),
)
_GRADLE: Final = Closing(
    sign=" completed",
    line=_one(rf"(?P<list>{_N} tests? completed(?:, {_N} failed)?(?:, {_N} skipped)?)"),
    adds_up=True,
    apart=_one("BUILD (?:FAILED|SUCCESSFUL) in .*"),
)
_DOTNET: Final = Closing(
    sign="! ",
    line=_one(
        rf"(?:Passed|Failed|Skipped)! +- (?P<list>Failed: +{_N}, Passed: +{_N}, Skipped: +{_N},"
        rf" Total: +{_N})(?:, Duration: [^-]* - (?P<part>.*))?"
    ),
    adds_up=True,
)
_DOTNET_BUILD: Final = Closing(
    sign="est summary: ",
    line=_one(
        rf"Test summary: (?P<list>total: {_N}, failed: {_N}, succeeded: {_N}, skipped: {_N})"
        r"(?:, duration: .*)?"
    ),
)
_VSTEST: Final = Closing(
    sign="Total tests: ",
    line=_one(rf"(?P<list>Total tests: {_N})"),
    more=_one(rf"(?P<list>(?:Passed|Failed|Skipped) *: {_N})"),
)
_NODE: Final = Closing(
    sign=" tests ",
    line=_one(rf"[#\u2139] tests (?P<tests>{_N})"),
    more=_one(rf"[#\u2139] (?P<list>(?:suites|pass|fail|cancelled|skipped|todo) +{_N})"),
)
_CTEST: Final = Closing(
    sign="% tests passed, ",
    line=_one(rf"[0-9]+% tests passed, (?P<failed>{_N}) tests? failed out of (?P<total>{_N})"),
)
_BATS: Final = Closing(
    sign=" failure",
    line=_one(
        rf"(?P<list>{_N} tests?, {_N} failures?(?:, {_N} (?:skipped|not run|excluded|invalid))*)"
        r"(?: in [0-9]+ seconds)?"
    ),
)

RUNNERS: Final[tuple[tuple[Closing, ...], ...]] = (
    (_PYTEST,),
    (_UNITTEST,),
    (_JEST,),
    (_VITEST,),
    (_CARGO,),
    (_NEXTEST,),
    (_MOCHA,),
    (_RSPEC,),
    (_MINITEST,),
    (_PHPUNIT, _PHPUNIT_WHEN_GREEN, _PHPUNIT_WHEN_EMPTY),
    (_MAVEN,),
    (_GRADLE,),
    (_DOTNET, _DOTNET_BUILD, _VSTEST),
    (_NODE,),
    (_CTEST,),
    (_BATS,),
)
"""Each runner, with all the ways in which it closes."""


_GO_TEST: Final = re.compile(r"\s*--- (PASS|FAIL|SKIP): \S+ \([0-9.]+s\)")
_GO_PACKAGE: Final = re.compile(
    r"(ok|FAIL)\s+(?![0-9]+\s)(\S+)\s+(?:[0-9.]+s|\(cached\)|\[(?:build|setup) failed\])(\s.*)?"
)
_NOTHING_RAN: Final = "[no tests to run]"
_THE_NEXT: Final = ""
"""The package of a test whose package stands on a later line."""

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
    """Return what `go test` says of the packages of its last run; subtests count as tests.

    Without `-v` Go is silent about tests that pass: then a package that passes counts as one.
    """
    outcomes: list[_Outcome] = []
    ended: set[str] = set()
    running: dict[str, list[_Outcome]] = {}
    for each in _go_lines(lines):
        if each.is_test:
            running.setdefault(each.package, []).append(each.outcome)
            continue
        if each.package in ended:
            outcomes, ended = [], set()
        ended.add(each.package)
        tests = [*running.pop(_THE_NEXT, ()), *running.pop(each.package, ())]
        outcomes += tests or [each.outcome]
        if tests and each.outcome == _Outcome.FAILED and _Outcome.FAILED not in tests:
            outcomes.append(_Outcome.FAILED)
    outcomes += [outcome for tests in running.values() for outcome in tests]
    return _tally(outcomes) if outcomes else None


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
"""Events name every test, so that a package that passes adds nothing to them."""


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
    """Return what the lines of TAP, the Test Anything Protocol, say; subtests are left out.

    Only with a plan (`1..5`) are they TAP at all; a first test that comes again is a new run.
    """
    outcomes: list[_Outcome] = []
    planned = False
    for line in lines:
        if test := _TAP_TEST.fullmatch(line):
            if int(test[2]) == 1:
                outcomes = []
            outcomes.append(_of_tap(failed=test[1] is not None, words=test[3] or ""))
        elif _PLAN.fullmatch(line):
            planned = True
    return _tally(outcomes) if planned and outcomes else None


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
