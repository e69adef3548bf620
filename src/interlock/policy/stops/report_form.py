"""How much does the end of a message look like a report to somebody?

Notes in the middle of work are short and plain; reports are long, set in lists and headings, and
speak to their reader. None of this decides by itself: it makes the score a matter of degree.
"""

from __future__ import annotations

import re
from bisect import bisect
from typing import Final

from interlock.policy.stops.closing_text import Closing

_READ: Final = 1_500
_LONG: Final = (600, 1_200, 2_400)
_SET: Final = re.compile(r"\n *(?:[-*+\u2022|#]|\d{1,3}[.)])")
_MOST_SET: Final = 6
_REPORTED: Final = frozenset(
    """
    done complete completed fixed passed pass passes ready resolved updated added removed created
    implemented committed pushed successfully works verified merged been erledigt fertig terminé
    corrigé listo hecho corregido pronto feito corrigido fatto corretto klaar opgelost готово
    исправлено
    """.split()
)
_TO_THE_READER: Final = frozenset(("you", "your", "du", "vous", "usted", "você"))
_SIGNS: Final = ("\u2705", "\u2714", "\u5df2", "\u5b8c\u4e86", "\u307e\u3057\u305f", "\uc644\ub8cc")
_PARTS: Final = 14


def report_share(text: str | None, closing: Closing) -> float:
    """Return how much of a report it is, from 0 to 1; each part of it only adds."""
    end = "\n".join([sentence.plain for sentence in closing.sentences[-2:]])
    words = end.replace(".", " ").replace(",", " ").replace("'", " ").replace("!", " ").split()
    length = len(text or "")
    parts = (
        bisect(_LONG, length)
        + min(_MOST_SET, _set_lines((text or "")[-_READ:]))
        + 2 * (not _REPORTED.isdisjoint(words) or _is_signed(end))
        + 2 * (not _TO_THE_READER.isdisjoint(words))
        + end.endswith(("!", "\uff01"))
    )
    return parts / _PARTS


def _set_lines(end: str) -> int:
    return len(_SET.findall(end)) if "\n" in end else 0


def _is_signed(end: str) -> bool:
    return not end.isascii() and any(sign in end for sign in _SIGNS)
