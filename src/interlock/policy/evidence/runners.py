"""The test runners and the lines with which each of them closes, as a table."""

from __future__ import annotations

import re
from typing import Final

import msgspec

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
    """The line just above, where it tells figures too."""
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
