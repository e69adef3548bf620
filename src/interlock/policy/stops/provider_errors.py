"""Is a message no answer at all, but the error of a model's provider, written as text?

A passing one is tried again after a while. One that stays, such as an expired key or an empty
account, is a person's to settle.
"""

from __future__ import annotations

import re
from itertools import starmap
from typing import Final

import msgspec

from interlock.policy.stops.phrases import Late

_LONGEST: Final = 800
"""A longer message speaks about an error, and is none."""
_FIRST_MS: Final = 15_000
_LONGEST_MS: Final = 3_600_000
"""Also the wait for a limit that is lifted at an hour of the day: there is no clock here."""
_LONGEST_ASKED_MS: Final = 7 * 86_400_000
_MOST_DOUBLED: Final = 8

# An error is its first words, and it is not told by somebody: "the API returned 529" is.
_BEGINS: Final = Late(
    r"[\W_]*(?:please run /login\b"
    r"|(?:(?:fatal|unexpected|unhandled|provider|model|llm|api|http|request|server|network"
    r"|connection|internal|stream|gateway|rate|limit|overloaded|authentication|permission|billing"
    r"|anthropic|openai|azure|bedrock|gemini|claude)[ _-]*)*"
    r"(?:error(?: code)?|exception|failed|failure|timeout|timed out)"
    r"(?:[.!]?\s*$|\s*[:(\[{\u00b7-]|\s*\d{3}\b|[.,] (?:please )?(?:try|retry))"
    r"|(?:[a-z_]\w*\.)+\w*(?:error|exception)(?:\s*[:(\[{-]|\s*$)"
    r"|stream (?:disconnected|closed|ended|interrupted)\b"
    r"|upstream (?:connect|request) (?:error|timeout)"
    r"|(?:api |request )?rate[ _-]limit(?:ed|s)?(?:[_ ](?:error|reached|exceeded|hit))"
    r"|(?:status |http )?(?:4\d\d|5\d\d)[: ,.({\"-]+(?:too many|service|internal|bad|gateway"
    r"|unauthori|forbidden|payment|overloaded|error|rate|request|server|time|type)"
    r"|overloaded(?:[_ ]error)?\W*$|too many requests|service unavailable|bad gateway"
    r"|gateway time-?out|invalid (?:api key|x-api-key|bearer)|incorrect api key"
    r"|unauthori[sz]ed\W*$|(?:your )?credit balance (?:is )?too"
    r"|insufficient (?:credits?|quota|balance|funds)"
    r"|quota exceeded|(?:you've|you have) (?:hit|reached|exceeded) (?:your|the)[\w -]{0,30} limit"
    r"|(?:claude|5-hour|daily|weekly|monthly|session|usage|your)[\w -]{0,20} limit "
    r"(?:reached|exceeded|has been reached)"
    r"|(?:your |the )?(?:api |oauth |access |auth )?(?:key|token|credentials?|session|login)s? "
    r"(?:has |have |is |are )?(?:been )?(?:expired|revoked|invalid)\b"
    r"|econn(?:reset|refused|aborted)|etimedout|socket hang up|fetch failed"
    r"|connection (?:was )?(?:reset|refused|closed|aborted|lost|dropped)"
    r"|there's an issue with the selected model\b|unexpected status [45]\d\d\b"
    r"|exceeded retry limit\b"
    r"|the (?:server|model|service|api) is (?:currently |temporarily )?(?:overloaded|unavailable"
    r"|at capacity)|you exceeded your current quota|\{\"(?:type|error)\" ?: ?[\"{])",
    re.IGNORECASE,
)
# What a client adds when its provider fails in the middle of an answer.
_CUTS_OFF: Final = re.compile(
    r"(?:^|\n)[^\w\n/*-]*((?:api error: "
    r"|(?:you've|you have) (?:hit|reached) your[\w -]{0,30} limit\b"
    r"|(?:claude|5-hour|daily|weekly|session|usage)[\w -]{0,20} limit reached\b[^\n]{0,60}\breset"
    r"|[\w ]{0,30} hit an? (?:\w+ )?rate limit[.;,] (?:please |wait|retry|try)"
    r"|there's an issue with the selected model\b)"
    r"[^\n]{0,300}(?:\n[^\n]{0,100})?)$",
    re.IGNORECASE,
)
_STAYS: Final = re.compile(
    r"\b40[13]\b|/login\b|/model\b|invalid[ _](?:api[ _]key|x-api-key|bearer|credentials?|token)"
    r"|incorrect api key|unauthori[sz]ed|authentication[_ ](?:error|failed)"
    r"|permission[_ ](?:error|denied)|\b(?:key|token|credentials?|session|login)\b[\w ]{0,20}"
    r"\b(?:expired|revoked|invalid)|expired (?:key|token|credentials?|session)"
    r"|credit balance|insufficient[_ ](?:credits?|quota|balance|funds)|current quota"
    r"|billing|payment required|\b402\b|out of credits|no credits?\b|account (?:is )?(?:disabled"
    r"|suspended)|api key not (?:found|valid)",
    re.IGNORECASE,
)
_TOLD: Final = re.compile(
    r"\b(?:I|I've|I'll|Done|That's|That is|comes? from|users|that means|that is)\b|\u2192"
)
"""Words of somebody who tells of an error; a provider speaks of nobody but `you`."""
_RESETS: Final = re.compile(r"limit (?:reached|exceeded)\b.{0,40}\breset", re.IGNORECASE)
"""What says when it is lifted passes, whatever its number says."""
_PASSES: Final = re.compile(
    r"\b(?:408|409|425|429|5\d\d)\b|rate[ _-]?limit|overloaded|too many requests|time[d -]*out"
    r"|econn\w+|socket|connection|network|unavailable|internal server error|api_error|capacity"
    r"|fetch failed|bad gateway|temporar|try again|server error|limit (?:reached|exceeded)"
    r"|hit your[\w ]*limit|stream (?:error|closed|ended|disconnected|interrupted)|usage limit",
    re.IGNORECASE,
)
_SPAN: Final = re.compile(
    r"(\d{1,6}(?:\.\d+)?) ?(ms|milliseconds?|s|sec\w*|m|min\w*|h|hr?s?|hours?|d|days?)(?![a-z])",
    re.IGNORECASE,
)
_WAITS: Final = re.compile(
    r"\b(?:try again|retry|retry-after|wait|resets?)\b[^\d\n]{0,24}?"
    rf"((?:{_SPAN.pattern},? ?(?:and )?)+)",
    re.IGNORECASE,
)
_AT_A_TIME: Final = re.compile(
    r"\b(?:resets?|try again)\b[^\d\n]{0,24}\d{1,2}(?::\d\d\b| ?[ap]m\b)", re.IGNORECASE
)
_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class ProviderError(msgspec.Struct, frozen=True):
    """An error that stands where an answer should."""

    said: str
    delay_ms: int | None
    """After how long it is tried again; None where only a person can settle it."""


def provider_error(text: str | None, retries: int) -> ProviderError | None:
    """Return the error that a message is, or is cut off by; each retry waits for longer."""
    said = (text or "").strip()
    if len(said) > _LONGEST or not _BEGINS.match(said):
        cut_off = _CUTS_OFF.search(said[-_LONGEST:]) if _mentions_an_end(said) else None
        if cut_off is None:
            return None
        said = cut_off[1]
    if _TOLD.search(said):
        return None
    if _STAYS.search(said) and not _RESETS.search(said):
        return ProviderError(said, None)
    if _PASSES.search(said):
        return ProviderError(said, _delay_ms(said, retries))
    return None


def _mentions_an_end(said: str) -> bool:
    """Tell at little cost whether a longer look is worth it."""
    end = said[-_LONGEST:].lower()
    return " limit" in end or "api error" in end or "selected model" in end


def _delay_ms(said: str, retries: int) -> int:
    """Return how long to wait: as long as it says, or twice as long each time."""
    asked = _WAITS.search(said)
    if asked is not None:
        spans = _SPAN.findall(asked[1])
        return max(1_000, min(_LONGEST_ASKED_MS, sum(starmap(_span_ms, spans))))
    if _AT_A_TIME.search(said):
        return _LONGEST_MS
    return min(_LONGEST_MS, _FIRST_MS << min(retries, _MOST_DOUBLED))


def _span_ms(number: str, unit: str) -> int:
    unit = unit.lower()
    factor = 1 if unit.startswith(("ms", "milli")) else _UNITS_MS[unit[0]]
    return round(float(number) * factor)
