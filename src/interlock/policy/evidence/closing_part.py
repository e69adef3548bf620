"""Where a program says what it counted: the end of its output, as plain lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

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
