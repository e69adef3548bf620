"""Long here-documents are data: they are set aside before a line is parsed.

Agents write whole files that way. What the parser then sees stays short, which keeps the
time it may take on hostile input bounded.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

_SHORTEST: Final = 256


class Skeleton(NamedTuple):
    """A line without its long quoted here-documents."""

    text: str
    bodies: dict[str, str]
    """What stands in the place of each body, to the body itself."""


def skeleton_of(line: str) -> Skeleton:
    """Set aside every long body whose delimiter is quoted: no shell looks into those.

    The reader of the tree has to check that each stand-in really is a body there; only the
    grammar knows what is quoted.
    """
    bodies: dict[str, str] = {}
    kept: list[str] = []
    position = 0
    for found in _opening().finditer(line):
        if found.start() < position:
            continue
        start = line.find("\n", found.end()) + 1
        end = _end_of_body(line, start, found["single"] or found["double"] or found["escaped"])
        if not start or end - start < _SHORTEST:
            continue
        name = f"interlock-body-{len(bodies)}\n"
        bodies[name] = line[start:end]
        kept += [line[position:start], name]
        position = end
    kept.append(line[position:])
    return Skeleton("".join(kept), bodies)


def _end_of_body(line: str, start: int, delimiter: str) -> int:
    """Return where the delimiter's own line begins; before `start` if it never comes."""
    position = start
    while 0 < position <= len(line):
        stop = line.find("\n", position)
        if line[position : stop if stop >= 0 else None].lstrip("\t") == delimiter:
            return position
        position = stop + 1
    return 0


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(
        r"<<-?[ \t]{0,4}"
        r"(?:'(?P<single>\w{1,64})'|\"(?P<double>\w{1,64})\"|\\(?P<escaped>\w{1,64}))"
    )
