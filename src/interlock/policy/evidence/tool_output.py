"""What did test runners, linters and type checkers count? Read from the lines they close with.

Only what a tool writes in this very form counts: "5 passed the exam" says nothing. Runners that
give each test a line of its own, `go test` and whoever speaks TAP, are counted by those lines; a
checker that closes without a figure, or was asked to, is counted by its complaints.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

import msgspec

from interlock.model.review import LintCounts, TestCounts
from interlock.secrets.scanner import LiteralSet


def counts_in(output: str) -> TestCounts | None:
    """Return what the test runners in an output counted; None where no runner spoke.

    Of several runs of one runner the last counts. Different runners add up, so that the
    failures of one are not hidden by another that passes behind it.
    """
    part = _closing_part(output)
    signs = _SIGNS_OF_RUNNERS.present(part.encode("utf-8", "replace"))
    if not signs:
        return None
    lines = _lines_of(part)
    runs = _last_runs(lines, [_RUNNERS[each] for each in signs if each < len(_RUNNERS)])
    counted = [_counted(figures) for run in runs.values() for figures in run]
    counted.extend(_go_counts(lines))
    # Asked last: a runner that counts for itself, such as Node's, prints this below its figures.
    return _together(counted) if counted else _tap_counts(lines)


def lint_counts_in(output: str) -> LintCounts | None:
    """Return what the checkers in an output found; None where none spoke.

    Of several runs of one checker the last counts; different checkers add up, so that the errors
    of one are not hidden by another that is content.
    """
    part = _closing_part(output)
    lines = _lines_of(part)
    signs = _SIGNS_OF_CHECKERS.present(part.encode("utf-8", "replace"))
    runs = _last_runs(lines, [_CHECKERS[each] for each in signs])
    found = [figures for run in runs.values() for figures in run]
    found.extend(_complaints(lines, closed=runs.keys()))
    if not found:
        return None
    return LintCounts(
        errors=sum(figures.get("errors", 0) for figures in found),
        warnings=sum(figures.get("warnings", 0) for figures in found),
    )


_CLOSING_PART: Final = 64 * 1024
"""How many characters of an output are read: who counts closes at the end."""
_LONGEST_LINE: Final = 400
"""No line that counts is longer."""
_ESCAPE: Final = "\x1b"
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
"""Colours and the like (`ESC [ ... m`), titles and links (`ESC ] ... BEL`)."""


def _closing_part(output: str) -> str:
    """Return the last lines, without colours."""
    part = output[-_CLOSING_PART:]
    if len(part) < len(output):
        part = part.partition("\n")[2]
    return _ESCAPES.sub("", part) if _ESCAPE in part else part


def _lines_of(part: str) -> list[str]:
    """Return the lines that may count: no blank ones."""
    lines = [line.rstrip() for line in part.splitlines()]
    return [line for line in lines if 0 < len(line) <= _LONGEST_LINE]


_Figures = dict[str, int]
_NEVER: Final = "(?!)"


class _Closing(msgspec.Struct, frozen=True):
    """A way in which a tool closes; some have several.

    Each pattern takes a whole line, which may be indented. Its group `list` holds figures with
    their words, such as `3 passed, 1 failed`; any other group but `part` is a figure whose word is
    the group's name.
    """

    tool: str
    sign: str
    """Text that the closing line always holds: lines without it are not looked at."""
    line: str
    heading: str = _NEVER
    """The line just above, where it has figures too."""
    needs_heading: bool = False
    more: str = _NEVER
    """Lines just below that go on with the figures."""
    adds_up: bool = False
    """Whether one run closes several times: once per crate, module or assembly."""
    apart: str = _NEVER
    """A line that stands between two runs. A `part` that comes again tells them apart as well."""


class _Summary(NamedTuple):
    """What a tool says in one place."""

    place: int
    figures: _Figures
    part: str | None
    begins_a_run: bool


def _last_runs(lines: Sequence[str], ways: Iterable[_Closing]) -> dict[str, Sequence[_Figures]]:
    """Return the figures of the last run of each tool that closed, whichever way it did."""
    runs: dict[str, Sequence[_Summary]] = {}
    for way in ways:
        run = _last_run(lines, way)
        earlier = runs.get(way.tool)
        if run and (earlier is None or earlier[-1].place < run[-1].place):
            runs[way.tool] = run
    return {tool: [summary.figures for summary in run] for tool, run in runs.items()}


def _last_run(lines: Sequence[str], way: _Closing) -> Sequence[_Summary]:
    run: list[_Summary] = []
    parts: set[str | None] = set()
    for summary in _summaries(lines, way):
        if not way.adds_up or summary.begins_a_run or summary.part in parts:
            run, parts = [], set()
        run.append(summary)
        if summary.part is not None:
            parts.add(summary.part)
    return run


@cache
def _patterns_of(way: _Closing) -> Sequence[re.Pattern[str]]:
    """Compiled when a tool is met that closes so: most never are."""
    patterns = (way.line, way.heading, way.more, way.apart)
    return [re.compile(rf"\s*(?:{each})") for each in patterns]


def _summaries(lines: Sequence[str], way: _Closing) -> Iterator[_Summary]:
    """Yield each place where the tool closes, with the figures just above and below it."""
    line_of, heading_of, more_of, apart_of = _patterns_of(way)
    before = 0
    for place, line in enumerate(lines):
        if way.sign not in line:
            continue
        closing = line_of.fullmatch(line)
        heading = heading_of.fullmatch(lines[place - 1]) if closing and place else None
        if closing is None or (way.needs_heading and heading is None):
            continue
        figures = {**(_figures(heading) if heading else {}), **_figures(closing)}
        below = place + 1
        while below < len(lines) and (more := more_of.fullmatch(lines[below])):
            figures.update(_figures(more))
            below += 1
        begins_a_run = any(map(apart_of.fullmatch, lines[before:place]))
        yield _Summary(place, figures, closing.groupdict().get("part"), begins_a_run)
        before = place


_FIGURE: Final = re.compile(r"([0-9]+) ([a-z ]+)|([a-z ]+)[:= ] ?([0-9]+)")
"""`3 passed`; or `failures: 3`, `failures=3`, `pass 3`."""
_SEPARATORS: Final = re.compile("[,;|]")
_ASIDES: Final = re.compile(r"\([^)]*\)")


def _figures(match: re.Match[str]) -> _Figures:
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


def _counted(figures: Mapping[str, int]) -> TestCounts:
    """Sort the figures into passed, failed and skipped by their words."""
    passed, failed, skipped, total = (
        sum(figure for word, figure in figures.items() if word in words)
        for words in (_PASSED, _FAILED, _SKIPPED, _TOTAL)
    )
    if _PASSED.isdisjoint(figures):
        passed = max(total - failed - skipped, 0)
    # A suite that could not even be loaded reports no failed test, and is one.
    failed = max(failed, figures.get("failed_suites", 0))
    return TestCounts(passed=passed, failed=failed, skipped=skipped)


def _together(counts: Sequence[TestCounts]) -> TestCounts:
    return TestCounts(
        passed=sum(each.passed for each in counts),
        failed=sum(each.failed for each in counts),
        skipped=sum(each.skipped for each in counts),
    )


_N: Final = "[0-9]{1,9}"
_WORDS: Final = "[a-z]+(?: [a-z]+)?"
_SECONDS: Final = r"[0-9.]+ ?s(?:econds)?"

_RUNNERS: Final = (
    _Closing(
        "pytest",
        " in ",
        "(?:=+ )?(?:tests finished: )?"
        rf"(?:no tests ran|(?P<list>(?:{_N} warnings?, )?"
        rf"{_N} (?:passed|failed|skipped|deselected|xfailed|xpassed|errors?)"
        rf"(?:, {_N} {_WORDS})*)),? in {_SECONDS}(?: \([0-9:]+\))?(?: =+)?",
    ),
    *(
        _Closing(
            "unittest",
            sign,
            rf"{sign}(?: \((?P<list>{_WORDS}={_N}(?:, {_WORDS}={_N})*)\))?",
            heading=rf"Ran (?P<tests>{_N}) tests? in {_SECONDS}",
            needs_heading=True,
        )
        for sign in ("OK", "FAILED", "NO TESTS RAN")
    ),
    _Closing(
        "Jest",
        "Tests:",
        rf"Tests: +(?P<list>(?:{_N} [a-z]+, )*{_N} total)",
        heading=rf"Test Suites: +(?:(?P<failed_suites>{_N}) failed, )?[0-9a-z, ]* total",
    ),
    _Closing(
        "Vitest",
        "Tests ",
        rf"Tests +(?:no tests|(?P<list>{_N} {_WORDS}(?: \| {_N} {_WORDS})*) \({_N}\))",
        heading=rf"Test Files +(?:(?P<failed_suites>{_N}) failed)?[0-9a-z| ]* \({_N}\)",
    ),
    _Closing(
        "Cargo",
        "test result: ",
        r"test result: (?:ok|FAILED)\. "
        rf"(?P<list>{_N} passed; {_N} failed; {_N} ignored)(?:;.*)?",
        adds_up=True,
        apart="Finished .*",
    ),
    _Closing(
        "cargo-nextest",
        "Summary [",
        rf"Summary \[ *[0-9.]+s\] {_N}(?:/{_N})? tests? run:"
        rf" (?P<list>{_N} passed(?: \([^)]*\))?(?:, {_N} {_WORDS}(?: \([^)]*\))?)*)",
    ),
    _Closing(
        "Mocha",
        " passing (",
        rf"(?P<list>{_N} passing) \([0-9]+(?:ms|s|m|h)\)",
        more=rf"(?P<list>{_N} (?:pending|failing))",
    ),
    _Closing(
        "RSpec",
        " example",
        rf"(?P<list>{_N} examples?, {_N} failures?(?:, {_N} pending)?"
        rf"(?:, {_N} errors? occurred outside of examples)?)",
    ),
    _Closing(
        "Minitest",
        " assertions, ",
        rf"(?P<list>{_N} (?:runs|tests), {_N} assertions, {_N} failures, {_N} errors"
        rf"(?:, {_N} [a-z]+)*)",
    ),
    _Closing(
        "PHPUnit",
        "Assertions: ",
        rf"(?P<list>Tests: {_N}, Assertions: {_N}(?:, [A-Z][A-Za-z ]*: {_N})*)\.?",
    ),
    _Closing("PHPUnit", "OK (", rf"OK \((?P<list>{_N} tests?)(?:, {_N} assertions?)?\)"),
    _Closing("PHPUnit", "No tests executed!", "No tests executed!"),
    _Closing(
        "Maven",
        "Tests run:",
        rf"(?:\[(?:INFO|WARNING|ERROR)\] )?(?P<list>Tests run: {_N}, +Failures: {_N}"
        rf"(?:, +(?:Errors|Skipped|Flakes): {_N})*)",
        adds_up=True,
        apart=r"(?:\[INFO\] )?Scanning for projects.*",
    ),
    _Closing(
        "Gradle",
        " completed",
        rf"(?P<list>{_N} tests? completed(?:, {_N} failed)?(?:, {_N} skipped)?)",
        adds_up=True,
        apart="BUILD (?:FAILED|SUCCESSFUL) in .*",
    ),
    _Closing(
        ".NET",
        "! ",
        rf"(?:Passed|Failed|Skipped)! +- (?P<list>Failed: +{_N}, Passed: +{_N}, Skipped: +{_N},"
        rf" Total: +{_N})(?:, Duration: [^-]* - (?P<part>.*))?",
        adds_up=True,
    ),
    _Closing(
        ".NET",
        "est summary: ",
        rf"Test summary: (?P<list>total: {_N}, failed: {_N}, succeeded: {_N}, skipped: {_N})"
        r"(?:, duration: .*)?",
    ),
    _Closing(
        ".NET",
        "Total tests: ",
        rf"(?P<list>Total tests: {_N})",
        more=rf"(?P<list>(?:Passed|Failed|Skipped) *: {_N})",
    ),
    _Closing(
        "Node",
        " tests ",
        rf"[#\u2139] tests (?P<tests>{_N})",
        more=rf"[#\u2139] (?P<list>(?:suites|pass|fail|cancelled|skipped|todo) +{_N})",
    ),
    _Closing(
        "CTest",
        "% tests passed, ",
        rf"[0-9]+% tests passed, (?P<failed>{_N}) tests? failed out of (?P<total>{_N})",
    ),
    _Closing(
        "Bats",
        " failure",
        rf"(?P<list>{_N} tests?, {_N} failures?"
        rf"(?:, {_N} (?:skipped|not run|excluded|invalid))*)(?: in [0-9]+ seconds)?",
    ),
)
_OTHER_SIGNS: Final = ("ok ", "ok\t", "FAIL", "--- ", '"Action":', "1..")
"""What stands in an output of `go test`, and in TAP."""
_SIGNS_OF_RUNNERS: Final = LiteralSet([*(way.sign for way in _RUNNERS), *_OTHER_SIGNS])


_PASS, _FAIL, _SKIP, _NOTHING = "pass", "fail", "skip", ""
_GO_TEST: Final = re.compile(r"\s*--- (PASS|FAIL|SKIP): (\S+) \([0-9.]+s\)")
_GO_PACKAGE: Final = re.compile(
    r"(ok|FAIL)[ \t]+(?![0-9]+\s)(\S+)\s+(?:[0-9.]+s|\(cached\)|\[(?:build|setup) failed\])(\s.*)?"
)
_NO_TESTS: Final = "[no tests to run]"
_THE_NEXT: Final = ""
"""The package of a test whose package stands on a later line."""
_OF_PACKAGES: Final = {"ok": _PASS, _FAIL: _FAIL}
"""Events name every test, so that a package that passes adds nothing to them."""


class _GoEvent(msgspec.Struct, frozen=True, rename="pascal"):
    """A line of `go test -json`; without a test it is about the package."""

    action: str
    package: str
    test: str | None = None


_GO_EVENTS: Final = msgspec.json.Decoder(_GoEvent)


def _go_counts(lines: Sequence[str]) -> Iterator[TestCounts]:
    """Yield what `go test` says of the packages of its last run; subtests count as tests.

    Without `-v` Go is silent about tests that pass: then a package that passes counts as one.
    """
    outcomes: list[str] = []
    ended: set[str] = set()
    running: dict[str, list[str]] = {}
    for each in _go_events(lines):
        if each.test is not None:
            running.setdefault(each.package, []).append(each.action)
            continue
        if each.package in ended:
            outcomes, ended = [], set()
        ended.add(each.package)
        tests = [*running.pop(_THE_NEXT, ()), *running.pop(each.package, ())]
        outcomes += tests or [_OF_PACKAGES.get(each.action, _NOTHING)]
        if tests and each.action == _FAIL and _FAIL not in tests:
            outcomes.append(_FAIL)
    outcomes += [outcome for tests in running.values() for outcome in tests]
    if outcomes:
        yield _tally(outcomes)


def _go_events(lines: Sequence[str]) -> Iterator[_GoEvent]:
    """Yield how tests and packages ended, whichever way Go was asked to tell it."""
    for line in lines:
        if "--- " in line and (test := _GO_TEST.fullmatch(line)):
            yield _GoEvent(test[1].lower(), _THE_NEXT, test[2])
        elif line.startswith(("ok", "FAIL")) and (package := _GO_PACKAGE.fullmatch(line)):
            is_empty = package[1] == "ok" and _NO_TESTS in (package[3] or "")
            yield _GoEvent(_SKIP if is_empty else package[1].lower(), package[2])
        elif line.startswith("{") and '"Action":' in line:
            try:
                event = _GO_EVENTS.decode(line.encode("utf-8", "replace"))
            except msgspec.DecodeError:
                continue
            if event.action in (_PASS, _FAIL, _SKIP):
                yield event


_PLAN: Final = re.compile(r"1\.\.[0-9]{1,9}(?:\s.*)?")
_TAP_TEST: Final = re.compile(r"(not )?ok ([0-9]{1,9})(?:\s(.*))?")
_DIRECTIVES: Final = ("# SKIP", "# TODO")


def _tap_counts(lines: Sequence[str]) -> TestCounts | None:
    """Return what the lines of TAP, the Test Anything Protocol, say; subtests are left out.

    Only with a plan (`1..5`) are they TAP at all; a first test that comes again is a new run.
    """
    if not any(line.startswith("1..") and _PLAN.fullmatch(line) for line in lines):
        return None
    outcomes: list[str] = []
    for test in filter(None, map(_TAP_TEST.fullmatch, lines)):
        if int(test[2]) == 1:
            outcomes = []
        skipped = any(directive in (test[3] or "").upper() for directive in _DIRECTIVES)
        outcomes.append(_SKIP if skipped else _FAIL if test[1] else _PASS)
    return _tally(outcomes) if outcomes else None


def _tally(outcomes: Sequence[str]) -> TestCounts:
    return TestCounts(
        passed=outcomes.count(_PASS), failed=outcomes.count(_FAIL), skipped=outcomes.count(_SKIP)
    )


_CHECKERS: Final = (
    _Closing(
        "Ruff", " remaining)", rf"Found {_N} errors? \({_N} fixed, (?P<errors>{_N}) remaining\)\."
    ),
    _Closing("Ruff", "Found ", rf"Found (?P<errors>{_N}) errors?\."),
    _Closing("Ruff", "All checks passed!", "All checks passed!"),
    _Closing(
        "ESLint",
        " problem",
        rf"[\u2716\u00d7x] {_N} problems? \((?P<errors>{_N}) errors?,"
        rf" (?P<warnings>{_N}) warnings?\)",
    ),
    _Closing("mypy", "Found ", rf"Found (?P<errors>{_N}) errors? in {_N} files? \([a-z0-9 ]+\)"),
    _Closing("mypy", "Success: ", rf"Success: no issues found in {_N} source files?"),
    _Closing(
        "tsc",
        "Found ",
        rf"Found (?P<errors>{_N}) errors?"
        rf" in (?:{_N} files\.|the same file, starting at: \S.*|\S.*:[0-9]+)",
    ),
    _Closing(
        "tsc",
        " Watching for file changes.",
        rf"(?:\[[^\]]*\] |[0-9:. APM]+ - )?Found (?P<errors>{_N}) errors?\."
        r" Watching for file changes\.",
    ),
    _Closing(
        "Pyright",
        " warning",
        rf"(?P<errors>{_N}) errors?, (?P<warnings>{_N}) warnings?,"
        rf" {_N} (?:information|note)s?",
    ),
)
_SIGNS_OF_CHECKERS: Final = LiteralSet([way.sign for way in _CHECKERS])


class _Complaint(NamedTuple):
    """A form in which a checker complains; the group `warning` says that it only warns."""

    tool: str
    signs: tuple[str, ...]
    """Texts of which such a line holds one: where all are missing nothing is looked at."""
    line: str


_GRADE: Final = "(?:error|(?P<warning>warning))"
_CAPITAL_GRADE: Final = "(?:Error|(?P<warning>Warning))"

_COMPLAINTS: Final = (
    # The place stands in front in one of its formats, and on the line below in the other.
    _Complaint(
        "Ruff",
        (": ",),
        r"\S.*:[0-9]+:[0-9]+: (?:[A-Z]{1,7}[0-9]{3,4}|invalid-syntax:|SyntaxError:) ?\S.*",
    ),
    _Complaint("Ruff", ("--> ",), r"\s*--> \S.*\.(?:pyi?|ipynb)(?::cell [0-9]+)?:[0-9]+:[0-9]+"),
    _Complaint("ESLint", ("error", "warning"), rf"\s+[0-9]+:[0-9]+\s+{_GRADE}\s+\S.*"),
    _Complaint("ESLint", (", col ",), rf"\S.*: line [0-9]+, col [0-9]+, {_CAPITAL_GRADE} - .*"),
    _Complaint(
        "ESLint",
        (" [Error/", " [Warning/"),
        rf"(?>\S.*?:[0-9]+:[0-9]+: ).* \[{_CAPITAL_GRADE}/[^\]]*\]",
    ),
    _Complaint(
        "mypy",
        (": error: ", ": warning: "),
        rf"\S.*\.pyi?:[0-9]+(?::[0-9]+){{0,3}}: {_GRADE}: \S.*",
    ),
    _Complaint(
        "tsc",
        ("error TS", "warning TS"),
        rf"(?:\S.*\([0-9]+,[0-9]+\): |\S.*:[0-9]+:[0-9]+ - )?{_GRADE} TS[0-9]+: .*",
    ),
    _Complaint(
        "Pyright", (" - error: ", " - warning: "), rf"\s+\S.*:[0-9]+:[0-9]+ - {_GRADE}: \S.*"
    ),
)


def _complaints(lines: Sequence[str], closed: Collection[str]) -> Iterator[_Figures]:
    """Yield how much the checkers complained about that did not close, if they did."""
    # A run that is repeated complains in the same words: each complaint counts once.
    text, distinct = "\n".join(lines), set(lines)
    found: dict[tuple[str, str], re.Match[str]] = {}
    for tool, signs, form in _COMPLAINTS:
        if tool not in closed and any(sign in text for sign in signs):
            matches = filter(None, map(re.compile(form).fullmatch, distinct))
            found.update({(tool, match.string): match for match in matches})
    if found:
        warnings = sum(match.lastgroup == "warning" for match in found.values())
        yield {"errors": len(found) - warnings, "warnings": warnings}
