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
_DONE_AGAIN: Final = 0.35
"""One that tells what went wrong, and then the very same call with the very same result."""
_AT_ONCE: Final = (0, 1)
"""The call is made with the words, or right after them."""
_REFRAIN: Final = ((4, 0.25), (5, 0.5), (6, PAUSES))
"""The same words with the same call, whatever came of it."""
_FEWEST_WORDS: Final = 5
"""A shorter message may well be said often."""

_HINTS: Final = (
    "try", "still ", "same ", "again", "attempt", "another ", "different ", "alternative ", "luck",
    "persist", "remain", "keep", "could", "unable", "t able", "did", "there ", "encounter",
    "experienc", "into ", "troubl", "difficult", "continued ", "repeated ", "wasn't ", "weren't ",
    "was not ", "were not ", "apolog", "sorry",
)  # fmt: skip
"""One of these is in every message that tells of a setback; most messages hold none."""
_SORRY: Final = ("apolog", "sorry", "my mistake")
"""Courtesy by itself, but not with the very same call."""
_BAD: Final = "(?:error|problem|issue|failure)"
# Written as text: most processes never need them, and to compile them takes milliseconds.
_RETRY: Final = (
    r"(?:let me|let's|let us|i'll|i will|we'll|we will) (?:just |now )?(?:re-?)?try\b"
    r"|try(?:ing)? (?:it |this |that )?(?:again|once more|one more time)\b"
    r"|one more (?:attempt|try)\b"
)
"""Whoever only says so and makes the same call does what was said."""
# What a program does not do, in the present, is what is to be mended; what did not work was tried.
# An apology is courtesy, but one that says what is not so owns that the attempt rested on it.
_WRONG: Final = (
    r"(?:another|different|alternative) (?:approach|way|strategy|attempt|try)\b"
    r"|no luck\b|fail(?:s|ed|ing)? again\b"
    rf"|still (?:not|fail\w*|getting|having|have (?:an?|the|this|some) {_BAD}|can(?:'t|not)"
    r"|do(?:es)?n't|isn't|aren't|unable|encounter\w*|wrong|missing|broken|there)\b"
    rf"|same (?:{_BAD}|result)\b|{_BAD}s? (?:still )?(?:persist|remain)s?\b"
    r"|keeps? (?:failing|getting|happening)\b"
    r"|(?:i|we) (?:could(?:n't| not)|(?:was|were)(?:n't| not) able|(?:was|were|am|are) unable)\b"
    r"|did(?:n't| not) (?:work|help|fix|solve|resolve|yield|succeed|find|return|change|contain"
    r"|include|reveal|provide|match|locate|identify)\b"
    rf"(?! (?:an?y? |other |more |further )*(?:{_BAD}|bug|warning|regression))"
    r"|(?:was|were)(?:n't| not) (?:\w+ )?(?:installed|available|accessible|defined|found"
    r"|recogni[sz]ed|supported|accepted|applied)\b"
    r"|(?:seems|appears|looks like)(?: that)? there (?:was|were|has been|(?:is|are) (?:still|no))\b"
    r"|(?:(?:seems|appears)(?: that)? there is|there (?:seems|appears) to be|r[au]n(?:ning)? into"
    r"|(?<!user is )(?<!users are )(?:encounter(?:ed|ing)|experienc(?:ed|ing)))"
    rf" (?:an? |some )?(?:\w+ )?{_BAD}s?\b"
    r"|(?:i'm|i am|we're|we are) (?:still )?having (?:some )?(?:trouble|difficult(?:y|ies))\b"
    rf"|(?:continued|repeated|persistent) (?:confusion|mistakes?|{_BAD}s?)\b"
    r"|(?:apologi[sz]e|apologies|sorry) for (?:the|any|my|this) (?:\w+ )?"
    rf"(?:confusion|misunderstanding|oversight|mistakes?|{_BAD}s?)\b"
    r"[^\n]{0,120}?(?:\bnot\b|n't\b|\bcannot\b|\bno (?:longer|such)\b)"
)
_NOTHING: Final = (
    rf"(?:no (?!(?:\w+ )?(?:{_BAD}|bug|warning)s?\b)(?:\w+ ){{1,3}}|nothing )(?:was|were)"
    r" (?:found|returned|printed)\b|an? empty (?:result|list|response|output|answer)\b"
)
"""What came back is nothing: no failure, but no reason to ask for it once more."""
_WENT_WRONG: Final = rf"\b(?:{_WRONG}|{_NOTHING})"
_SETBACK: Final = rf"\b(?:{_RETRY}|{_WRONG})"


def setbacks(meter: Meter) -> Evidence | None:
    """Return that it tells once more that something did not work, if so."""
    if not meter.said or not tells_of_setback(meter.said[-1].text):
        return None
    return _told(
        _once_a_turn(meter, [each for each in meter.said if tells_of_setback(each.text)]),
        name="setbacks",
        grades=_SETBACKS,
        what="by its own words something did not work or has to be tried again",
        remediation="say what each attempt has shown, or ask for what is missing",
    )


def done_again(meter: Meter) -> Evidence | None:
    """Return that it tells of something that went wrong and makes the very same call, if so.

    A trouble that passes by itself is rightly met with patience.
    """
    last = meter.calls[-1] if meter.calls else None
    words = meter.said[-1] if meter.said else None
    if last is None or words is None or not last.rework or last.place:
        return None
    is_at_once = words.step > meter.cleared and last.step - words.step in _AT_ONCE
    if not is_at_once or (last.error and last.silent) or not owns_up(words.text):
        return None
    return Evidence(
        name="done-again",
        points=_DONE_AGAIN,
        message=(
            "by its own words something went wrong, and it made the very same call again, with the"
            f" same result ({steps_in_words((words, last))})"
        ),
        remediation="change what went wrong before you call it again",
        steps=(words.step, last.step),
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
    return any(map(plain.__contains__, _HINTS)) and re.search(_SETBACK, plain) is not None


@lru_cache(maxsize=1024)
def owns_up(text: str) -> bool:
    """Return whether words tell of what went wrong or came to nothing, or apologise for it."""
    plain = text.lower().replace("\u2019", "'")
    return any(map(plain.__contains__, _SORRY)) or re.search(_WENT_WRONG, plain) is not None


def _once_a_turn(meter: Meter, said: list[PastMessage]) -> list[PastMessage]:
    """Return of messages that still count the last of each step: calls side by side share one."""
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
