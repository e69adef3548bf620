"""What a command said, from the bytes that it printed: the text that its meter compares.

What is drawn (a progress bar, a screen that is painted anew) is not said: it looks alike each
time, however well the work gets on.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

_LONGEST: Final = 160
"""So much of a message the meter remembers."""
_GAP: Final = " … "
_REPEATS: Final = 3
"""From so many times each line on, they are printed over and over."""
_CUT: Final = 2
"""The first and the last line may be parts of lines."""
_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*m")
_TITLES: Final = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_DRAWN: Final = re.compile(r"\x1b\[[0-9;?]*[A-HJSTfhlsu]|\x1b[78M]")
_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;:?<=>]*[ -/]*[@-~]|.)?")
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def said_in(printed: bytes) -> str | None:
    """Return what a command said; None where it said nothing, or painted its screen."""
    text = _TITLES.sub("", _COLOURS.sub("", printed.decode("utf-8", "replace")))
    if _DRAWN.search(text):
        return None
    text = _ESCAPES.sub("", text).replace("\r\n", "\n")
    # A line that was written over is a bar or a wheel.
    whole = [_CONTROLS.sub("", line).strip() for line in text.split("\n") if "\r" not in line]
    lines = [line for line in whole if line]
    return _shortened("\n".join(_once(lines))) or None


def _once(lines: list[str]) -> list[str]:
    """Return lines that are printed over and over once, beginning at the same one each time."""
    times = Counter(lines)
    different = [line for line in times if times[line] > 1]
    is_over_and_over = times.total() - len(times) >= (_REPEATS - 1) * len(different) > 0
    if not is_over_and_over or len(times) - len(different) > _CUT:
        return lines
    first = different.index(min(different))
    return different[first:] + different[:first]


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    half = (_LONGEST - len(_GAP)) // 2
    return f"{text[:half]}{_GAP}{text[-half:]}"
