"""Does a message end by announcing what its writer does next?

Whoever is in the middle of work closes with the next act ("now let me run the tests:"); whoever
is done closes with what was done.
"""

from __future__ import annotations

import re
from typing import Final

import msgspec

from interlock.policy.stops.closing_text import Closing, Sentence
from interlock.policy.stops.handover import waits_for_a_person
from interlock.policy.stops.phrases import ANNOUNCED, one_of, opening, whole


class Announcement(msgspec.Struct, frozen=True):
    """What a message announces at its end."""

    said: str
    """The sentence, as it was written; empty where it is no sentence."""
    because: str
    is_vague: bool = False
    """Whether it only says that the work goes on, and names no act."""


_ADVERBS: Final = r"(?:(?:now|also|first|next|then|still|just|quickly|again|only|therefore) )*"
_WILL: Final = one_of("""
    let me, let's, let us, lemme, i'll, i will, i shall, i'm going to, i am going to, we'll,
    we will, we're going to
""")
# "Let me" and "I'll" are no act where one of these follows: it is said, left or over already.
_NO_ACT: Final = one_of(r"""
    know\b, summari[sz]e, recap, explain, clarify, conclude, answer\b, discuss\b, present\b,
    share\b, give you, provide you, provide a, provide the, be\b, end\b, stop\b, wait\b, hold\b,
    rest\b, leave\b, not\b, never\b, wrap\b, finish here, finish this, finish the interaction,
    finish the task, finish the conversation, close this, close the conversation, mark this task,
    mark the task, mark this issue, mark the issue, consider this, consider the task, remember\b,
    keep you, keep that, keep this, keep it, keep an eye, need your, need to know, have to ask,
    ask\b, focus on understanding,
    \w+ with (?:a|the|my) (?:\w+ )?(?:summary|recap|overview|report)
""")
_NOT_DOING: Final = one_of("""
    waiting, assuming, hoping, guessing, wondering, thinking, leaving, leaning, holding,
    looking forward, going with, keeping, stopping, finishing, sharing, asking, ending, missing,
    seeing, getting, marking this task, marking the task
""")
_FIRST_PERSON: Final = re.compile(
    rf"\b(?:{_WILL} (?!(?:(?:now|also|just|then|first|briefly|quickly) )*{_NO_ACT})\w+"
    rf"|(?:i'm|i am) {_ADVERBS}(?!{_NOT_DOING})\w+ing"
    rf"|i {_ADVERBS}(?:need|have|want) to"
    r" (?!help|confirm|note|make sure|ensure|be\b|mention|thank)\w+"
    rf"|i should {_ADVERBS}(?!note|mention|be\b|have\b|point)\w+"
    rf"|we {_ADVERBS}(?:need|have) to \w+"
    r"|next steps? (?:is|would be|will be) to \w+"
    r"|i can (?:now \w+|use|proceed|start|begin|call|identify))\b"
)
_ACTS: Final = one_of("""
    add, analyze, analyse, apply, build, call, capture, change, check, clean, clear, close,
    collect, commit, compare, compile, complete, compute, confirm, continue, convert, copy,
    create, debug, delete, deploy, determine, do, double-check, download, draft, edit, enable,
    ensure, examine, execute, explore, extract, fetch, find, fix, format, gather, generate, get,
    grep, handle, identify, implement, import, improve, inspect, install, investigate, invoke,
    launch, lint, list, load, locate, look, make, merge, migrate, modify, move, open, parse,
    patch, post, proceed, process, pull, push, query, read, rebase, rebuild, record, refactor,
    register, remove, rename, replace, reproduce, rerun, re-run, resolve, restart, restore,
    retrieve, retry, revert, review, rewrite, run, save, scan, search, see, send, set, simplify,
    spawn, stage, start, strip, submit, switch, tackle, take, test, trace, track, trigger, try,
    turn, type, uninstall, update, upgrade, upload, use, validate, verify, view, wire, work, write
""")
_NEXT_ACT: Final = opening(
    r"(?:(?:ok|okay|good|great|perfect|right|so|and|alright)[,.!:]? )*"
    r"(?:now|next|next up|first|finally|lastly|also)[,:]? "
    rf"(?:(?:to|the|for|on to|onto|also|just|quickly|we|i) )*{_ACTS}(?! (?:is|are)\b)"
)
_NEED: Final = opening(r"(?:(?:also|still|now|just|so),? )*(?:need to|time to|have to)")
_DOING: Final = opening(
    r"(?:(?:now|next|still|so|ok|okay|great|good)[,:]? )*"
    + one_of("""
    proceeding to, moving on to, continuing, starting, beginning, running, searching, checking,
    reading, looking, fetching, committing, fixing, updating, creating, adding, implementing,
    launching, switching, writing, verifying, testing, building, installing, spawning,
    dispatching, removing, applying, executing, generating, reviewing, analyzing, inspecting,
    investigating, re-running, rerunning, retrying, loading, opening, pushing, pulling,
    deploying, sending, calling, invoking, retrieving, listing, scanning
""")
)
_TITLE: Final = opening(
    r"(?:now )?(?:step|task|phase|fix|part|change|item|issue|comment) #?\d+(?: ?& ?\d+)?"
    r" ?[:\u2014\u2013-] ?\w+"
)
_STATES: Final = whole("is|are|was|were|has|have|had|shows?|takes?|should|will|would")
_VAGUE: Final = re.compile(
    rf"\b(?:{_WILL}|i can(?: now)?|need to|i'm) {_ADVERBS}"
    r"(?:continu|proceed|resum|carry(?:ing)? on|go(?:ing)? on|mov(?:e|ing) on|keep(?:ing)? going"
    r"|press(?:ing)? on)"
)
# What depends on something else first, or is meant for another day, is not the next act.
_LATER: Final = re.compile(
    r"^(?:(?:and|but|then|so|also)[, ]+)?(?:once|when|whenever|if|should|in case|unless|until"
    r"|otherwise)\b"
    r"|\b(?:as soon as|every|future|always|from now on|going forward|next time|i hope)\b"
)
# A closing remark on the act that the sentence before announces.
_REMARK: Final = opening(
    one_of("""
    this, that, these, it, which, there, here, the, they, in particular, specifically, note that,
    for this, please wait, please hold, please stand by, please bear, hold on, one moment,
    just a moment, stand by, give me
""")
)
_PATIENCE: Final = re.compile(r"\b(?:hold on|wait|bear with me|moment)\b.{0,20}\bwhile i\b")


def announced(closing: Closing) -> Announcement | None:
    """Return what a message announces at its end, if it does."""
    if closing.calls:
        return Announcement("", "it ends with a tool call written as text")
    if closing.only_thinks:
        return Announcement("", "it ends with its thoughts, nothing came of them")
    if closing.shows or not closing.sentences:
        return None
    last = closing.sentences[-1]
    if closing.is_open:
        return Announcement(last.said, "it breaks off where something must follow")
    return _from_last(last) or _from_before(closing.sentences)


def _from_last(last: Sentence) -> Announcement | None:
    """Return what the last sentence announces."""
    acts = _names_an_act(last) or (not last.is_item and _begins_an_act(last))
    return _announcement(last) if acts and not _is_put_off(last) else None


def _from_before(sentences: tuple[Sentence, ...]) -> Announcement | None:
    """Return what the sentence before announces, where the last one only remarks on it."""
    if len(sentences) < 2:
        return None
    before, last = sentences[-2:]
    is_remark = not last.begins_line and _REMARK.match(last.plain) is not None
    acts = is_remark and _names_an_act(before)
    return _announcement(before) if acts and not _is_put_off(before) else None


def _is_put_off(sentence: Sentence) -> bool:
    return waits_for_a_person(sentence) or _LATER.search(sentence.plain) is not None


def _names_an_act(sentence: Sentence) -> bool:
    plain = sentence.plain
    return (
        _FIRST_PERSON.search(plain) is not None
        or ("while i" in plain and _PATIENCE.search(plain) is not None)
        or ANNOUNCED.search(plain) is not None
    )


def _begins_an_act(sentence: Sentence) -> bool:
    plain = sentence.plain
    if _NEXT_ACT.match(plain) or _NEED.match(plain) or _TITLE.match(plain):
        return True
    is_statement = plain.endswith((".", "!", "\u2026"))
    return is_statement and _DOING.match(plain) is not None and _STATES.search(plain) is None


def _announcement(sentence: Sentence) -> Announcement:
    if _VAGUE.search(sentence.plain):
        return Announcement(sentence.said, "it says that it goes on", is_vague=True)
    return Announcement(sentence.said, "its end announces the next act")
