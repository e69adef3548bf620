"""Did a call fail, and at what? Read from what came back, flagged as an error or not.

Numbers, paths and quoted names differ from one time to the next although the mistake is the same:
the signature of an error leaves them out. Its complaint keeps the figures, all but times and lines:
where it comes again word for word, nothing has moved. An edit that was refused is an error in any
words, and a search that finds nothing is none.
"""

from __future__ import annotations

import re
from typing import Final

from interlock.policy.steps.failure_report import (
    OPENS_WITHIN,
    ends_as_failure,
    fails_within,
    opens_as_failure,
    refuses_edit,
    view_fails,
)

_LOOKED_AT: Final = 2_000
"""So much of a text is looked at."""

_LONGEST: Final = 80
_LONGEST_COMPLAINT: Final = 160

_FAILING: Final = re.compile(
    r"error|exception|traceback|fail|fatal|panic|invalid|illegal|malformed|not found|no such"
    r"|cannot|can't|could not|couldn't|unable to|not exist|doesn't exist|denied|forbidden|refused"
    r"|timed out|timeout|undefined|unrecognized|unexpected|unavailable|unsupported|missing",
    re.IGNORECASE,
)
_NAMED: Final = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)|error|fatal|panic)\b.*", re.MULTILINE)
"""A line that begins with the name of an error, as the last one of a traceback does."""
_TRACEBACK: Final = "Traceback (most recent"
_HEADING: Final = re.compile(
    r"\W*(?:errors?|exceptions?|failed|failures?|test session starts|short test summary info"
    r"|traceback \(.*)\W*$",
    re.IGNORECASE,
)
"""A line that says only that something follows."""
_QUOTED: Final = re.compile(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`")
_PATH: Final = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@+-]+)+/?|\b[A-Za-z]:\\[\w.\\-]+")
_NUMBER_OR_HEX: Final = re.compile(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f]*\b|\d+", re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+")


_SEARCHES: Final = (
    r"(?:^|[\W_])(?:e|f|z|rip)?(?:grep|glob|search|find|rg|ag|ack|fd|locate|lookup|query|list|ls|which"
    r"|diff|cmp|test)(?:$|[\W_])"
)
_NOTHING_FOUND: Final = (
    r"(?i)\W*(?:(?:process |command )?exit(?:ed)?(?: with)?(?: code| status)?:? 1\W*)?"
    r"(?:no (?:\w+ ){0,2}(?:found|match(?:es|ed)?|results?)\b[^\n]{0,160}"
    r"|(?:found )?(?:0|no) (?:matches|results|files|hits)\b[^\n]{0,80}|nothing found)?\W*"
)
_NEVER_RAN: Final = r"(?i)(?:sibling|parallel) tool calls? "
"""A call that was taken back because one beside it failed has not failed itself."""


def error_of(
    result: str | None,
    *,
    failed: bool | None,
    tool: str = "",
    arguments: str = "",
    edits: bool = False,
    runs: bool = False,
    shows: bool = False,
    views: bool = False,
) -> str | None:
    """Return the signature of the error that a result reports; None where it reports none.

    `failed` is what the client knows: True makes the result an error whatever it says, otherwise
    only what reads like one is: more does where something was to be edited or was run, and
    less where it was only shown, least where a command `views` it. A search that found nothing and
    a call that was never run are none.
    """
    if result is None:
        return "failed" if failed else None
    if not failed and views and not view_fails(result, arguments):
        return None
    if (
        not failed
        and not views
        and not opens_as_failure(result, shows=shows)
        and not (edits and refuses_edit(result))
        and not ends_as_failure(result, shows=shows)
        and not (runs and fails_within(result, arguments))
    ):
        return None
    is_none = _found_nothing(tool, arguments, result) or _was_never_run(result)
    return None if is_none else signature(result)


def _was_never_run(result: str) -> bool:
    return re.search(_NEVER_RAN, result[:_LONGEST]) is not None


def _found_nothing(tool: str, arguments: str, result: str) -> bool:
    """Return whether it is a search, and what came back says no more than that nothing is there."""
    if len(result) > OPENS_WITHIN or re.fullmatch(_NOTHING_FOUND, result) is None:
        return False
    return re.search(_SEARCHES, f"{tool} {arguments[:OPENS_WITHIN]}".lower()) is not None


def signature(text: str) -> str:
    """Return the line that names the error, without numbers, paths and quoted names."""
    line = _telling_line(text[:_LOOKED_AT])
    line = _PATH.sub("/", _QUOTED.sub("''", line))
    return _SPACE.sub(" ", _NUMBER_OR_HEX.sub("#", line)).strip().lower()[:_LONGEST]


_PLACES: Final = (
    r"(?<=\w):\d+(?::\d+)?(?=[:\s]|$)|(?<=\w)\(\d+,\d+\)|\bline \d+(?:, col(?:umn)? \d+)?"
)
"""Where in a file: that moves with every line that is put in above."""
_TIMES: Final = r"\b\d+(?:\.\d+)? ?(?:m?s|seconds?|minutes?)\b|\d\d?:\d\d(?::\d\d)?|0x\w+"
_TELLING_WORD: Final = r"[^\W\d_]{3,}"
_FEWEST_WORDS: Final = 3


def complaint_of(text: str) -> str:
    """Return the line that names the error with its figures, but for times and places.

    Empty where it has so few words that it may say so of anything.
    """
    line = _SPACE.sub(
        " ", re.sub(f"{_PLACES}|{_TIMES}", "", _telling_line(text[:_LOOKED_AT]))
    ).strip()
    if len(re.findall(_TELLING_WORD, line[:_LONGEST_COMPLAINT])) < _FEWEST_WORDS:
        return ""
    return line[:_LONGEST_COMPLAINT]


def _telling_line(text: str) -> str:
    """Return the line that begins with an error's name, or the first that speaks of one.

    A traceback ends with it; elsewhere the first is the cause and the last only sums up.
    """
    named = _NAMED.findall(text)
    if named:
        return named[-1 if _TRACEBACK in text else 0]
    lines = [line for line in text.splitlines() if line.strip()]
    for place, line in enumerate(lines):
        if _FAILING.search(line) and not _HEADING.match(line):
            return line
        if _HEADING.match(line) and line is not lines[-1] and "traceback" not in line.lower():
            return f"{line} {lines[place + 1]}"
    return lines[-1] if lines else ""
