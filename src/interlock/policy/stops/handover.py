"""Does a message end by asking the person something, or by handing over?

A question mark counts in every script. The end decides: a question that its writer goes on to
answer is none to the person.
"""

from __future__ import annotations

import re
from typing import Final

import re2

from interlock.policy.stops.closing_text import Closing, Sentence
from interlock.policy.stops.phrases import HANDED_OVER, one_of, whole

_QUESTION_MARKS: Final = frozenset("?\u061f\uff1f\ufe56\u1367\u2047\u2048\u2049\u203d\u2753\u2754")
_MARK_WITHIN_A_WORD: Final = "\u055e"
_GREEK: Final = re.compile(r"[\u0370-\u03ff]")
_GREEK_MARKS: Final = (";", "\u037e")
# What may stand behind the mark: closing signs, and emoji.
_SIGNS: Final = " \t\"')]}*_~\u201d\u00bb\ufe0f"
_EMOJI: Final = re.compile(r"[\s\u200d\ufe0f\u2600-\u2752\u2755-\u27bf\U0001f000-\U0001faff]+$")
_NEAR_END: Final = 4

# A question for leave to act stays open even if something is said after it.
_FOR_LEAVE: Final = whole(
    one_of("""
    should i, should we, shall i, shall we, may i, can i, want me, would you like,
    would you prefer, would you rather, do you want, do you prefer, do you agree, could you,
    can you, will you, okay to, ok to, okay if, ok if, okay with you, ok with you,
    is (?:that|this|it) (?:ok|okay|correct|right|fine), sounds? good, makes? sense, which one,
    which of, which option, which approach, which would, which way
""")
)
_ABOUT_THE_PERSON: Final = whole("you|your|you're|you'd")
_TAKES_OVER: Final = whole("let me|let's|i'll|i will|i'm")

_HAND_OVERS: Final = one_of("""
    let me know, let us know, tell me, ping me, remind me, message me, feel free, up to you,
    your call, your move, your turn, your choice, your decision, over to you, in your court,
    step is yours, move is yours, decision is yours, choice is yours, rest is yours,
    say the word, next steps? for you, steps? for you, actions? for you, ready for you,
    ready when you, when you're ready, when you are ready, whenever you're ready,
    which would you, which do you, would you like, do you want, want me to, should i, shall i,
    reply with, reply yes, reply no, reply quote, respond with, is there anything else,
    a?wait(?:ing)? (?:for |on |upon )?(?:you|your|confirmation|approval|(?:further )?instructions)
""")
_HANDING_OVER: Final = whole(_HAND_OVERS)
_NEEDED: Final = one_of("""
    you, your, the following, to know, more information, more details, some information,
    some details, some more information, some more details, a few details, a few more details,
    additional details, additional information, the reason, the name, the order, the user,
    the date, the email, the account, the phone, the passenger, the payment, the reservation,
    the exact
""")
_GIVEN_BY_A_PERSON: Final = one_of("""
    confirmation, approval, review, input, feedback, answer, reply, decision, consent, go-ahead,
    response, selection
""")
# These hand over only as the last words: before them, they may be courtesy.
_LAST_WORDS: Final = (
    rf"(?:i|we|i'll|we'll|i will|we will) (?:(?:also|then|just|still|first) )*need {_NEEDED}"
    r"|(?:for|needs?|required?|requires|pending|with|upon|before|after|until) your"
    rf" (?:explicit |final )?{_GIVEN_BY_A_PERSON}"
    r"|anything else (?:i|you)|answer with"
    r"|have a (?:great|nice|good|lovely) (?:day|one|time|weekend|evening|trip|rest)"
    r"|happy to (?:help|assist|make|add|do|adjust|walk)"
    r"|can(?:'t| ?not) (?:go on|continue|proceed) (?:until|unless|without)"
)
_ENDING: Final = re2.compile(
    f"{whole(f'{_HAND_OVERS}|{_LAST_WORDS}').pattern}|{HANDED_OVER.pattern}"
)
# A request, unless it only asks to be patient.
_PLEASE: Final = re.compile(
    r"(?<![\w-])(?:please|kindly)\b(?!-|,? (?:wait|hold|stand by|bear with|be patient|give me|allow"
    r"|one moment|stay)\b)"
)
_ON_THE_PERSON: Final = re.compile(
    r"\b(?:once|after|when|whenever|if|as soon as|until|unless|before|upon|with) (?:\w+ ){0,2}?"
    r"(?:(?:you|you'd|you've|your)\b(?! are\b)|confirmed|approved)\b"
    r"|\b(?:once|after|as soon as|when) (?:i|we) (?:have|get|receive|know|gather|can|hear"
    r"|(?:find|identify|verify) the)\b"
)
_THE_WRITER_ACTS: Final = whole("i|i'll|i'd|i'm|we|we'll|we'd|me")


def asked(closing: Closing) -> str | None:
    """Return the sentence with which a message asks the person or hands over, if it does."""
    sentences = closing.sentences
    if not sentences:
        return None
    last = sentences[-1]
    if _asks(last):
        return last.said
    head = _head_of_list(sentences)
    if head is not None and _asks(head):
        return head.said
    before = sentences[-_NEAR_END:-1]
    if before and _is_left_open(before[-1], last):
        return before[-1].said
    return _asked_before(before)


def waits_for_a_person(sentence: Sentence) -> bool:
    """Tell whether what a sentence announces depends on the person."""
    return _ON_THE_PERSON.search(sentence.plain) is not None


def _head_of_list(sentences: tuple[Sentence, ...]) -> Sentence | None:
    """Return the sentence that introduces a list at the very end: choices to be made."""
    if not sentences[-1].is_item:
        return None
    return next((each for each in reversed(sentences) if not each.is_item), None)


def _asks(sentence: Sentence) -> bool:
    return _is_question(sentence) or _hands_over(sentence)


def _is_question(sentence: Sentence) -> bool:
    """Tell whether a sentence ends with a question mark of its script."""
    end = sentence.plain.rstrip(_SIGNS)
    if not end.isascii():
        end = _EMOJI.sub("", end).rstrip(_SIGNS)
    if end.endswith(_GREEK_MARKS) and _GREEK.search(end):
        return True
    return end[-1:] in _QUESTION_MARKS or _MARK_WITHIN_A_WORD in end


def _hands_over(sentence: Sentence) -> bool:
    plain = sentence.plain
    return (
        _ENDING.search(plain) is not None
        or _is_request(plain)
        or (waits_for_a_person(sentence) and _THE_WRITER_ACTS.search(plain) is not None)
    )


def _is_left_open(question: Sentence, last: Sentence) -> bool:
    """Tell whether a question to the person is not taken up by its own writer."""
    return (
        _is_question(question)
        and _ABOUT_THE_PERSON.search(question.plain) is not None
        and _TAKES_OVER.search(last.plain) is None
    )


def _asked_before(sentences: tuple[Sentence, ...]) -> str | None:
    """Return the sentence shortly before the end that leaves the next move to the person."""
    for sentence in sentences:
        if _is_question(sentence) and _FOR_LEAVE.search(sentence.plain):
            return sentence.said
    # One look at all of them tells that most messages hand nothing over.
    if not _leaves_the_next_move("\n".join([each.plain for each in sentences])):
        return None
    return next((each.said for each in sentences if _leaves_the_next_move(each.plain)), None)


def _leaves_the_next_move(plain: str) -> bool:
    return _HANDING_OVER.search(plain) is not None or _is_request(plain)


def _is_request(plain: str) -> bool:
    return ("please" in plain or "kindly" in plain) and _PLEASE.search(plain) is not None
