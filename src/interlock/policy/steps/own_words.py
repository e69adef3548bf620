"""What a run says of itself: that something did not work, and the same words over and over.

No call need repeat itself while the agent tells, one time after the other, that it has to try
again, or announces the same next step whatever came of the last one. Once is work, and so is twice;
only a person, a check that finds nothing wrong, or less than before, wipes it out.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from interlock.model.progress_meter import Meter, PastMessage
from interlock.policy.steps.stuck_evidence import PAUSES, Evidence, graded, steps_in_words

_SETBACKS: Final = ((2, 0.25), (3, PAUSES))
"""Messages among those remembered that tell of a setback."""
_REFRAIN: Final = ((4, 0.25), (5, 0.5), (6, PAUSES))
"""The same words with the same call, whatever came of it."""
_FEWEST_WORDS: Final = 5
"""A shorter message may well be said often."""

_HINTS: Final = (
    "try", "still", "same", "again", "unable", "n't", " not ", "approach", "way", "strategy",
    "persist", "remain", "keep", "luck", "there was", "there were", "there has",
)  # fmt: skip
"""One of these is in every message that tells of a setback."""
# Written as text: most processes never need it, and to compile it takes milliseconds. What a
# program does not do, in the present, is what is to be mended; what did not work was tried.
_SETBACK: Final = (
    r"\b(?:let me|let's|let us|i'll|i will|we'll|we will) (?:just |now )?(?:re-?try|try)\b"
    r"|\btry(?:ing)? (?:it |this |that )?(?:again|once more|one more time)\b"
    r"|\b(?:another|different|alternative) (?:approach|way|strategy)\b"
    r"|\bstill (?:not|fail\w*|getting|having|have (?:an?|the|this|some) (?:issue|problem|error)"
    r"|can(?:'t|not)|do(?:es)?n't|isn't|aren't|unable|encounter\w*|wrong|missing|broken|there)\b"
    r"|\bsame (?:error|problem|issue|failure|result)\b|\bno luck\b"
    r"|\b(?:error|issue|problem|failure)s? (?:still )?(?:persist|remain)s?\b"
    r"|\bfail(?:s|ed|ing)? again\b|\bkeeps? (?:failing|getting|happening)\b"
    r"|\b(?:i|we) (?:could(?:n't| not)|(?:was|were)(?:n't| not) able|(?:was|were|am|are) unable)\b"
    r"|\bdid(?:n't| not) (?:work|help|fix|solve|resolve|yield|succeed|find|return|change)\b"
    r"(?! (?:an?y? |other |more |further )*(?:error|problem|issue|failure|bug|warning|regression))"
    r"|\b(?:seems|appears|looks like)(?: that)? there (?:was|were|has been|is still|are still)\b"
)


def setbacks(meter: Meter) -> Evidence | None:
    """Return that it tells again and again that something did not work, if so."""
    return _told(
        _once_a_turn(meter, [each for each in meter.said if tells_of_setback(each.text)]),
        name="setbacks",
        grades=_SETBACKS,
        what="by its own words something did not work or has to be tried again",
        remediation="say what each attempt has shown, or ask for what is missing",
    )


def refrain(meter: Meter) -> Evidence | None:
    """Return that it makes the same call with the same words, whatever comes of it, if so."""
    last = meter.said[-1] if meter.said else None
    if last is None or last.step < meter.steps or last.text.count(" ") < _FEWEST_WORDS - 1:
        return None
    same = [each for each in meter.said if each.text == last.text]
    if len(same) < _REFRAIN[0][0]:
        return None
    calls = {each.step: each.call for each in meter.calls}
    return _told(
        _once_a_turn(
            meter, [each for each in same if calls.get(each.step) == calls.get(last.step)]
        ),
        name="refrain",
        grades=_REFRAIN,
        what="it made the same call with the same words",
        remediation="say what the last attempts have changed, or take another way",
    )


@lru_cache(maxsize=1024)
def tells_of_setback(text: str) -> bool:
    """Return whether words say that an attempt failed, or that something is tried again."""
    plain = text.lower().replace("\u2019", "'")
    return any(hint in plain for hint in _HINTS) and re.search(_SETBACK, plain) is not None


def _once_a_turn(meter: Meter, said: list[PastMessage]) -> list[PastMessage]:
    """Return of messages that still count the last of each step: calls side by side share one."""
    if not said:
        return said
    well = max((each.step for each in meter.calls if each.failing == 0), default=0)
    since = max(well, meter.cleared)
    return list({each.turn: each for each in said if each.step > since}.values())


def _told(
    own: list[PastMessage],
    *,
    name: str,
    grades: tuple[tuple[int, float], ...],
    what: str,
    remediation: str,
) -> Evidence | None:
    points = graded(len(own), grades)
    if not points:
        return None
    return Evidence(
        name=name,
        points=points,
        message=f"{what}: {len(own)} times ({steps_in_words(own)}); {grades[-1][0]} pause a run",
        remediation=remediation,
        steps=tuple(each.step for each in own),
    )
