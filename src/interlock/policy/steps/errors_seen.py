"""What went wrong, in words that stay the same when it goes wrong again.

Numbers, paths and quoted names differ from one time to the next although the mistake is the
same: the signature of an error leaves them out.
"""

from __future__ import annotations

import re
from typing import Final

_LOOKED_AT: Final = 2_000
"""How much of a result is searched for an error."""
_OPENS_WITHIN: Final = 300
_LONGEST: Final = 80

_FAILING: Final = re.compile(
    r"error|exception|traceback|fail|fatal|panic|invalid|illegal|malformed|not found|no such"
    r"|cannot|can't|could not|couldn't|unable to|not exist|doesn't exist|denied|forbidden|refused"
    r"|timed out|timeout|undefined|unrecognized|unexpected|unavailable|unsupported|missing",
    re.IGNORECASE,
)
_OPENING: Final = re.compile(
    r"\W*(?:(?:execution |runtime |syntax |uncaught |unhandled )?(?:error|exception|failure)\b"
    r"|[\w.]*(?:Error|Exception)\b|traceback \(|fatal\b|panic:|malformed |invalid "
    r"|unknown (?:command|option)|[a-z/.][\w./+-]*: (?:[^:\n]{1,120}: )*[^:\n]{0,80}?(?:no such"
    r"|not found|cannot |can't |could not |couldn't |invalid |illegal |unrecognized |unexpected "
    r"|unable to |failed|permission denied|is a directory|not a |syntax error|unknown |missing "
    r"|too many |bad |paths must precede|file exists))",
    re.IGNORECASE,
)
"""How a result begins that is nothing but an error: named as one, or told by a program."""
_NAMED: Final = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)|error|fatal|panic)\b.*", re.MULTILINE)
"""A line that begins with the name of an error, as the last one of a traceback does."""
_HEADING: Final = re.compile(
    r"\W*(?:error|errors|exception|failed|traceback \(.*)\W*$", re.IGNORECASE
)
"""A line that says only that something follows."""
_QUOTED: Final = re.compile(r"'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`")
_PATH: Final = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@+-]+)+/?|\b[A-Za-z]:\\[\w.\\-]+")
_NUMBER: Final = re.compile(r"\b(?:0x)?[0-9a-f]*\d[0-9a-f]*\b|\d+", re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+")


def error_of(result: str, *, failed: bool | None) -> str | None:
    """Return the signature of the error that a result tells of; None where it tells of none.

    `failed` is what the client knows: True makes the result an error whatever it says, and
    otherwise only a result that begins like one is.
    """
    if not failed and _OPENING.match(result[:_OPENS_WITHIN]) is None:
        return None
    return signature(result)


def signature(text: str) -> str:
    """Return the line that names the error, without numbers, paths and quoted names."""
    line = _telling_line(text[:_LOOKED_AT])
    line = _PATH.sub("/", _QUOTED.sub("''", line))
    return _SPACE.sub(" ", _NUMBER.sub("#", line)).strip().lower()[:_LONGEST]


def _telling_line(text: str) -> str:
    """Return the last line that begins with an error's name, or the first that speaks of one."""
    named = _NAMED.findall(text)
    if named:
        return named[-1]
    lines = [line for line in text.splitlines() if line.strip()]
    for place, line in enumerate(lines):
        if _FAILING.search(line) and not _HEADING.match(line):
            return line
        if _HEADING.match(line) and line is not lines[-1] and "traceback" not in line.lower():
            return f"{line} {lines[place + 1]}"
    return lines[-1] if lines else ""
