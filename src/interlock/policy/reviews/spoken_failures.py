"""Which words of a verdict read like a FAIL? However they are written, none of them is dropped.

FAIL in capitals, or as a cross, is a verdict wherever it stands; in small letters it is one where
a verdict would stand: behind the number, the name or the title of a gate, or at the beginning. Only
what is denied (`no failures`, `0 failed`), merely possible (`would FAIL without it`) or a mention
of both words (`PASS or FAIL`) is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple


class SpokenFailure(NamedTuple):
    """Words that say, or may say, that something does not pass."""

    subject: str
    """What they are said of; empty where nothing is named."""
    why: str
    line: str
    sure: bool
    """Whether they are a verdict whatever they are said of; else only where that is a gate."""
    placed: bool = False
    """Whether nothing is named but a number, or a name in brackets."""


class NamedGate(NamedTuple):
    """What a gate may be called, besides its place in the list."""

    id: str
    titles: tuple[str, ...] = ()


_LONGEST_SUBJECT: Final = 160

# What looks like Latin letters, for those that `PASS` and `FAIL` are written with.
_LOOK_ALIKES: Final = str.maketrans(
    "\u0410\u0430\u0391\u0406\u0456\u0399\u03b9\u04c0\u0131\u0405\u0420\u0440\u03a1\u2113",
    "AaAIiIiIiSPpPl",
) | {0x2019: "'", 0x2212: "-"}
_SHOWN_AS: Final = {"Mn": "", "Me": "", "Cf": "", "Pd": "-"}
"""Marks upon letters and signs without a width are not seen; a dash is a dash."""
_CROSSES: Final = "\u2717\u2718\u274c\u2716\u26d4\U0001f6ab\u2612\u274e\U0001f44e\U0001f534\u2715"
_TICKS: Final = "\u2713\u2714\u2705\u2611\U0001f44d\U0001f7e2"
_DRAWN: Final = str.maketrans(dict.fromkeys(_CROSSES, " FAIL ") | dict.fromkeys(_TICKS, " PASS "))
_SHORT_CODES: Final = re.compile(r":(?:x|no_entry|no_entry_sign|cross_mark|thumbsdown|-1):")
_TAGS: Final = re.compile(r"</?(?!fail)[a-z][^<>]{0,40}>", re.IGNORECASE)
_EMPHASIS: Final = re.compile(r"[*~`\"\u201c\u201d\u00ab\u00bb]|\b_+|_+\b")
_ARROWS: Final = re.compile(r"[|=\u2192\u21d2\u27a1]+>?|-+>")
_SENTENCE_END: Final = re.compile(r";|(?<=[^\W\d])[.!?](?=\s)")

_FAIL: Final = r"fail(?:s|ed|ing|ures?)?"
_DENIED: Final = r"(?:\b(?:not|never|no|cannot)|\b[a-z]+n't)"
_STRONG: Final = (
    rf"{_FAIL}|{_DENIED}\s+(?:(?:yet|fully|quite|really|been|a)\s+){{0,2}}pass(?:es|ed|ing)?"
    r"|(?:pass(?:ed|es)?|ok|approved|accepted|met|satisfied|success(?:ful)?)\s*:\s*"
    r"(?:false|no|0)(?=\s*(?:$|[^\w\s]))"
)
_WEAK: Final = (
    rf"{_DENIED}\s+(?:(?:yet|fully|quite|really|been)\s+){{0,2}}"
    r"(?:ok(?:ay)?|met|satisfied|approved|accepted|acceptable|fulfilled|good\s+enough)"
    r"|no[\s-]go|nok|reject(?:s|ed)?|unmet|unsatisfied|unacceptable|disapproved|insufficient"
    r"|needs?\s+(?:work|changes)|changes?\s+requested"
)
_FAILING: Final = rf"(?:{_STRONG}|{_WEAK})"
_POSSIBLE: Final = (
    r"(?:\b(?:would|could|might|may|can|cannot|never|not|no\s+longer|(?:used|known|expected"
    r"|supposed|allowed|likely)\s+to)|n't)"
)
_ADVERBS: Final = r"(?:(?:[a-z]{2,20}ly|ever|always|also|still|then|otherwise|have|be|not)\s+)"
_NONE: Final = r"\b(?:0|zero|no|none|nothing|nobody|neither|without(?:\s+an?y?)?)"
_OF_THEM: Final = r"(?:\s+of(?:\s+(?:the|these|those|our|all|its))?(?:\s+\d+)?)?(?:\s+[a-z]+){0,2}"
_SIGNS: Final = re.compile(
    rf"""
    (?P<none>{_NONE}{_OF_THEM}\s+(?P<word>{_FAIL})\b(?!-))
    |(?P<harmless>{_POSSIBLE}\s+{_ADVERBS}{{0,2}}{_FAILING}\b(?!-)
      | \b(?:failed|failures?|failing)(?:\s+\w+)?\s*[:\s]\s*(?:0|none|nil|false)
        (?=\s*(?:$|[^\w\s]))
      | \bfail\s*[:\s]\s*(?:0|none|nil|false)(?=[\s:]*(?:$|[\])}}])))
    |(?P<pair>(?<!\w)(?:pass(?:ed|es)?\s*(?:/|\sor\s)\s*{_FAIL}|{_FAIL}\s*(?:/|\sor\s)\s*pass(?:ed|es)?)(?!\w))
    |(?P<strong>(?<!\w)(?:{_STRONG})(?!\w))
    |(?P<weak>(?<!\w)(?:{_WEAK})(?!\w))
    |(?P<passing>(?<!\w)(?:pass(?:es|ed|ing)?|approved|accepted|ok|lgtm)(?!\w))
    """,
    re.IGNORECASE | re.VERBOSE,
)

_PLACE: Final = re.compile(
    r"[\s>+:#\u2022\u00b7-]*(?:\[[x ]\]\s*)?"
    r"(?:(?:gate|criterion|check|item|requirement|rule|number|no\.?)\s*#?)?"
    r"(?:\[\s*(?P<name>[^\[\]]{1,80}?)\s*\]|\(?#?(?P<number>\d{1,4})(?!\w))[\].):]*",
    re.IGNORECASE,
)
_OPEN_BOX: Final = re.compile(r"[\s>+*-]*\[ ?\]\s+(?P<subject>[^:(,;]{1,160}?)\s*(?:$|[:(,;]|\s-)")
_SEPARATED: Final = re.compile(
    r"[:-]\s*(?:(?:is|a|the|verdict|result|status)\s+){0,2}$", re.IGNORECASE
)
_ENDS: Final = re.compile(r"\s*(?:$|[^\w\s])")
_GOES_ON: Final = re.compile(
    r"\s+(?:because|due|since|as|on|in|at|for|to|with|by|the|an?|its?|this|that|no|not|again"
    r"|still|when|if|here|badly)\b",
    re.IGNORECASE,
)
_JOINED: Final = re.compile(r"-\w")
_LINKS: Final = frozenset(
    "a again also although am an and are as at be been but case check considered conclusion"
    " criteria criterion decision deemed did do does final for gate gates had has have however i is"
    " it item its judged marked"
    " my now number of on outcome overall rated re regarding requirement result results review rule"
    " say status still the them this though verdict verdicts was we were whereas while yet".split()
)
_PAST: Final = frozenset(
    "before earlier formerly historically initially old once original originally past previous"
    " previously that used where which who".split()
)


def failures_in(text: str) -> Iterator[SpokenFailure]:
    """Yield what reads like a FAIL, line by line."""
    for line in text.splitlines():
        plain = plain_line(line)
        if box := _OPEN_BOX.match(plain):
            yield SpokenFailure(box["subject"], "its box is not ticked", plain, sure=False)
        for sentence in _SENTENCE_END.split(plain):
            yield from _of_sentence(sentence)


def plain_line(line: str) -> str:
    """Return a line without emphasis and decoration, in plain letters, signs as words."""
    plain = line if line.isascii() else _in_plain_letters(line)
    plain = _TAGS.sub(" ", _SHORT_CODES.sub(" FAIL ", plain))
    return _ARROWS.sub(" : ", _EMPHASIS.sub("", plain)).strip().rstrip(":").rstrip()


def _in_plain_letters(line: str) -> str:
    spelled = unicodedata.normalize("NFKD", line.translate(_DRAWN))
    shown = "".join([_SHOWN_AS.get(unicodedata.category(each), each) for each in spelled])
    return shown.translate(_LOOK_ALIKES)


def gates_named(subject: str, gates: Sequence[NamedGate], *, exactly: bool) -> list[str]:
    """Return the gates that words speak of: by place, id or title, in any spelling.

    `exactly` means that nothing else may be said in them.
    """
    if subject in [gate.id for gate in gates]:
        return [subject]
    words = _words(subject)
    called = [(gate.id, _words(name)) for gate in gates for name in (gate.id, *gate.titles)]
    same = [gate_id for gate_id, name in called if _is_same(words, name)]
    if same:
        return same
    held = [(gate_id, name) for gate_id, name in called if _holds(words, name)]
    held += [(gate.id, [str(place)]) for place, gate in enumerate(gates, 1) if str(place) in words]
    # `unit-tests` speaks of the gate of that name, not of `tests` as well.
    longest = [
        (gate_id, name)
        for gate_id, name in held
        if not any(name != other and _holds(other, name) for _, other in held)
    ]
    known = {word for _, name in longest for word in name}
    if exactly and not known.issuperset(_essential(words)):
        return []
    return list(dict.fromkeys(gate_id for gate_id, _ in longest))


def _of_sentence(sentence: str) -> Iterator[SpokenFailure]:
    start = 0
    for found in _SIGNS.finditer(sentence):
        sign = _denied(found) if found["none"] else found
        if sign is None or sign.lastgroup == "harmless":
            continue
        if sign.lastgroup != "passing":
            failure = _failure(sentence[start : sign.start()], sign, sentence[sign.end() :])
            if failure is not None:
                yield failure
        start = sign.end()


def _denied(found: re.Match[str]) -> re.Match[str] | None:
    """Return None where a failure is denied, and else the word: `no injection FAIL` is one."""
    said = found[0].split()
    denies = said[0] == "0" or len(said) == len(("no", "failures")) or "of" in said
    is_aside = not found["word"].isupper() and said[0].lower() != "without"
    is_article = len(said) == len(("without", "any", "failure")) and said[1] in ("a", "an", "any")
    if denies or is_aside or is_article:
        return None
    return _SIGNS.match(found.string, found.start("word"))


def _failure(before: str, sign: re.Match[str], after: str) -> SpokenFailure | None:
    """Return what a word of failure says, given what stands around it; None for mere prose."""
    place = _PLACE.match(before)
    sure = _is_verdict(sign, place, before, after)
    if sure is None:
        return None
    said, subject = _essential(_words(before)), before.strip(" \t:,>+-")[-_LONGEST_SUBJECT:]
    placed = place is not None and not _essential(_words(before[place.end() :]))
    if placed and place is not None:
        subject = place["name"] or place["number"]
    # `3 failed` counts something: it is not about the third gate.
    is_count = before.strip().isdigit() and not _is_loud(sign)
    line = f"{before}{sign[0]}{after}".strip()
    why = after.strip(" \t:-,.")
    return SpokenFailure(subject if said and not is_count else "", why, line, sure, placed)


def _is_verdict(
    sign: re.Match[str], place: re.Match[str] | None, before: str, after: str
) -> bool | None:
    """Return whether a word of failure is a verdict in any case (True), for a gate, or not."""
    is_bracketed = place is not None and place["name"] is not None
    is_placed = place is not None and not _essential(_words(before[place.end() :]))
    if sign.lastgroup == "pair":
        return True if is_bracketed or is_placed else None
    loud = _is_loud(sign)
    if _JOINED.match(after):
        return True if loud and (is_bracketed or is_placed) else None
    if loud or is_bracketed:
        return True
    return _is_quiet_verdict(sign, before, after, is_placed=is_placed)


def _is_loud(sign: re.Match[str]) -> bool:
    """Whether it is in capitals, or a value that somebody has set: `"passed": false`."""
    return ":" in sign[0] or any(len(word) > 1 and word.isupper() for word in sign[0].split())


def _is_quiet_verdict(
    sign: re.Match[str], before: str, after: str, *, is_placed: bool
) -> bool | None:
    """Return the same for a word in small letters, which prose has as well."""
    said, ends = _essential(_words(before)), _ENDS.match(after) is not None
    goes_on = ends or _GOES_ON.match(after) is not None
    is_noun = sign[0].lower().startswith("failure")
    if not said or is_placed or said[0].isdigit():
        # `Failed logins are limited` is about logins.
        is_verb = is_placed and sign[0].lower() == "fails"
        return True if ends or is_verb or (goes_on and not is_noun) else None
    if _PAST.intersection(said) or before.endswith("-"):
        return None
    return ends and sign.lastgroup == "strong" and _SEPARATED.search(before) is not None


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.casefold())


def _essential(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in _LINKS]


def _is_same(words: Sequence[str], name: Sequence[str]) -> bool:
    said = _essential(words)
    return words == name or (bool(said) and said == _essential(name))


def _holds(words: Sequence[str], name: Sequence[str]) -> bool:
    """Whether the words of a name stand together among others."""
    length = len(name)
    return any(words[at : at + length] == name for at in range(len(words) - length + 1))
