"""Does a message end by asking the person something, or by handing over?

A question mark counts in every script. The end decides: a question that its writer goes on to
answer is none to the person.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from interlock.policy.stops.closing_text import Closing, Sentence, holds_one
from interlock.policy.stops.languages import (
    awaits_the_person,
    hands_over,
    is_bound,
    requests,
    runs_by_itself,
)
from interlock.policy.stops.phrases import Late, Signs, one_of

_SIGNS: Final = Signs()

_QUESTION_MARKS: Final = frozenset("?\u061f\uff1f\ufe56\u1367\u2047\u2048\u2049\u203d\u2753\u2754")
_MARK_WITHIN_A_WORD: Final = "\u055e"
_GREEK: Final = re.compile(r"[\u0370-\u03ff]")
_GREEK_MARKS: Final = (";", "\u037e")
# What may stand behind the mark: closing signs, and emoji.
_CLOSING: Final = " \t\"')]}*_~\u201d\u00bb\ufe0f"
_EMOJI: Final = re.compile(r"[\s\u200d\ufe0f\u2600-\u2752\u2755-\u27bf\U0001f000-\U0001faff]+$")
_NEAR_END: Final = 4

# A question for leave to act stays open even if something is said after it.
_FOR_LEAVE: Final = _SIGNS.whole(
    one_of("""
    should i, should we, shall i, shall we, may i, can i, want me, would you like,
    would you prefer, would you rather, do you want, do you prefer, do you agree, could you,
    can you, will you, okay to, ok to, okay if, ok if, okay with you, ok with you,
    is (?:that|this|it) (?:ok|okay|correct|right|fine), sounds? good, makes? sense, which one,
    which of, which option, which approach, which would, which way, approve
""")
)
_ABOUT_THE_PERSON: Final = _SIGNS.whole("you|your|you're|you'd")
# What is said of a question that nobody has answered yet.
_HANGS_ON_IT: Final = re.compile(
    r"(?:it|this|that|the answer|your answer) (?:will |would )?(?:also )?(?:decides?|determines?"
    r"|affects?|influences?|changes? (?:how|what|which|whether)|tells? me|matters)\b"
)
_TAKES_OVER: Final = _SIGNS.whole("let me|let's|i'll|i will|i'm")

_HAND_OVERS: Final = one_of("""
    let me know, let us know, tell me, ping me, remind me, message me, feel free, up to you,
    your call, your move, your turn, your choice, your decision, over to you, in your court,
    step is yours, move is yours, decision is yours, choice is yours, rest is yours,
    say the word, next steps? for you, steps? for you, actions? for you, ready for you,
    ready when you, when you're ready, when you are ready, whenever you're ready,
    which would you, which do you, would you like, do you want, want me to, should i, shall i,
    (?:fine|ok|okay|alright|good|all right) (?:with|by|for) you, help to know,
    (?:i'd like|i would like|i need|i want) you to,
    reply with, reply yes, reply no, reply quote, respond with, is there anything else,
    a?wait(?:ing)? (?:for |on |upon )?(?:you|your|confirmation|approval|(?:further )?instructions)
""")
_HANDING_OVER: Final = _SIGNS.whole(_HAND_OVERS)
_NEEDED: Final = one_of("""
    you, your, the following, to know, more information, more details, some information,
    some details, some more information, some more details, a few details, a few more details,
    additional details, additional information, the reason, the name, the order, the user,
    the date, the email, the account, the phone, the passenger, the payment, the reservation,
    the exact
""")
_GIVEN_BY_A_PERSON: Final = one_of("""
    confirmation, approval, review, input, feedback, answer, reply, decision, consent, go-ahead,
    response, selection, permission, ok, okay, word, sign-off, choice, help
""")
_SOMETHING: Final = "(?:the|an?|access|your|some|more|both|one|two|that|this)"
# These hand over only as the last words: before them, they may be courtesy.
_LAST_WORDS: Final = (
    rf"(?:i|we|i'll|we'll|i will|we will) (?:(?:also|then|just|still|first) )*need {_NEEDED}"
    r"|(?:for|needs?|required?|requires|pending|with|upon|before|after|until) your"
    rf" (?:explicit |final )?{_GIVEN_BY_A_PERSON}"
    r"|anything else (?:i|you)|answer with|interrupted by (?:the )?user"
    r"|tell \w+ what to do differently"
    rf"|(?:let me|i'd like to|i want to) get your (?:thoughts|{_GIVEN_BY_A_PERSON})"
    r"|have a (?:great|nice|good|lovely) (?:day|one|time|weekend|evening|trip|rest)"
    r"|happy to (?:help|assist|make|add|do|adjust|walk)"
    r"|can(?:'t| ?not) (?:go on|continue|proceed) (?:until|unless|without)"
    r"|(?:i|we|i'd|i'll) (?:need|have|want|like|would like) to (?:know|ask|hear) (?:whether|if"
    r"|which|what|how|when|where|who|your?)"
    r"|to (?:continue|proceed|go on|go further|finish|start|do (?:this|that|so)),?"
    rf" (?:i|we|i'll|we'll) (?:(?:also|will|still|first|just) )*need {_SOMETHING}"
    rf"|(?:i|we|i'll|we'll) (?:(?:also|will|still|first|just) )*need {_SOMETHING}"
    r"(?: [\w'`-]+){1,6} (?:to|before i can) (?:continue|proceed|go on|go further|finish|start)"
    r"|(?:type|enter|press|say|reply|write|hit|send)(?: [\w'`-]+){1,4} to (?:go on|continue|proceed"
    r"|confirm|approve|cancel|abort|start)"
)
_ENDING: Final = _SIGNS.whole(f"{_HAND_OVERS}|{_LAST_WORDS}")
# Whoever waits, and does not say for what, waits for the person.
_AWAITING: Final = _SIGNS.whole(
    r"(?:i'll|i will|i'm|i am|we'll|we will|we are|we're) (?:(?:now|just|then|also|happily) )*"
    r"(?:wait(?:ing)?|stand(?:ing)? by|hold(?:ing)? (?:here|off|on|for now)|pause here|pausing here"
    r"|be here|stop here and wait)|standing by|awaiting further"
    rf"|(?:pausing|paused|pause|stopping|holding)(?: here)? for (?:your |the )?{_GIVEN_BY_A_PERSON}"
)
# What goes on by itself: its end is waited for, and nobody is asked.
_WORKER: Final = one_of("""
    it, this, that, they, these, both, all, everything, build, builds, tests, test, suite, suites,
    job, jobs, command, script, deploy, deployment, process, task, tasks, agent, agents, worker,
    workers, training, download, install, installation, migration, pipeline, workflow, check,
    checks, run, runs, benchmark, benchmarks, compile, compilation, crawl, export, import,
    backup, sync, scan, upload, query, server, review, typecheck, lint, ci, subagent, subagents
""")
_RUNNING: Final = one_of("""
    running, building, compiling, executing, downloading, uploading, installing, training,
    deploying, working, going, processing, in progress, under way, underway, in flight, queued
""")
_AT_ITS_END: Final = (
    rf"(?:once|when|after|as soon as) (?:the |all |both |these )?(?:[\w-]+ )?{_WORKER} "
    r"(?:has |have |is |are )*"
    r"(?:finish(?:es|ed)?|complete[sd]?|done|report(?:s|ed)?|return(?:s|ed)?|ends|ended|through)"
    r"|(?:once|when|after|as soon as) (?:it's|it is|they're|they are|that's|(?:all|both) are)"
    r" (?:done|finished|complete|through|ready|up|back)"
)
_RUNS: Final = _SIGNS.whole(
    rf"(?:is|are|'s|'re|was|were) (?:(?:now|currently|also|all|both|already) )*still {_RUNNING}"
    rf"|still {_RUNNING}"
    rf"|{_WORKER} (?:(?:is|are|now|currently|still|also|will|keeps?|continues? to|should) )*"
    rf"(?:{_RUNNING}|runs?|runs on|started|launched|kicked off|continues?) in (?:the )?background"
    r"|(?:started|launched|kicked off|running|spawned|moved|put) (?:[\w`'-]+ ){0,5}(?:in|to|into)"
    r" (?:the )?background"
    r"|(?:wait|waiting) (?:a (?:bit|little|moment) (?:longer )?)?(?:for|until|on|till) "
    r"(?:(?:the|all|both|these|those|its|their|this|that|each|every) )*"
    rf"(?:[\w`'-]+ ){{0,4}}?(?:{_WORKER}|results?|completion|output|finish)\b"
    r"|(?:wait|waiting) for (?:the|all|both|these|its|this|that|code)(?: [\w-]+)? [\w-]+"
    r" to (?:become|finish|complete|come|start|be|pass|appear|end|settle|propagate|return|report"
    r"|roll|load)"
    rf"|(?:i'll|i will) [^.;]* {_AT_ITS_END}"
    rf"|{_AT_ITS_END},? (?:i'll|i will)"
    r"|(?:i'll|i will) [^.;]* again (?:after that|afterwards|later|then|in an?"
    r"|in \d+|in some)"
    r"|(?:i'll|i will) (?:be (?:notified|told|pinged)|get (?:notified|a notification)"
    r"|check (?:back|again|in)|look again|report back) (?:when|once|after|as soon as|in|shortly"
    r"|later|then)"
)
# What is announced beside something that is under way, and happens only when that has ended. They
# are a set of their own: few sentences are asked for them.
_SIGNS_OF_AN_END: Final = Signs()
_UNDER_WAY: Final = _SIGNS_OF_AN_END.whole(
    r"(?:is|are|been|it's|they're|keeps?|continues?) (?:(?:now|currently|still|also|already|to) )*"
    rf"(?:{_RUNNING}|at work|watching|copying|polling|scanning|crawling|syncing|indexing|converting"
    r"|importing|exporting|fuzzing|rendering|encoding|transferring|monitoring|counting)"
    r"|(?:in|into|to) the background"
)
_BOUND: Final = _SIGNS_OF_AN_END.whole(
    r"(?:when|once|as soon as|the moment|after|until) (?:the|it|its|it's|they|they're|that|this|all"
    r"|both|everything|each|code|quote|an?)|(?:upon|after) (?:its |their )?(?:completion|success"
    r"|exit)|at \d{1,2}:\d\d|then[.]$"
)
_SIGNS_OF_A_BOND: Final = ("when ", "once ", "soon ", "moment ", "after ", "until ", "pon ", ":")
_SERVES: Final = re.compile(
    r"\b(?:running|listening|up) (?:on|at) (?:http|port|localhost|:?\d)"
    r"|\b(?:server|сервер|서버)(?!.*\b(?:build|tests?|deploy|migration)\b)"
)
# Nothing but the wait: for what, the sentence before says.
_ONLY_WAITS: Final = _SIGNS.add(
    r"^(?:(?:so|and|ok|okay|for now|until then),? )?(?:i'll|i will|i'm|i am) (?:(?:now|just) )*"
    r"(?:wait(?:ing)?|stand(?:ing)? by|hold(?:ing)?)"
    r"(?: here| for now| until then| for (?:it|them))?[.!]*$"
)
_AT_WORK: Final = _SIGNS.whole(rf"{_WORKER} (?:is|are) (?:\w+ )?\w+ing")
# What the person is asked to send, press or say, so that the writer goes on.
_ASKED_TO: Final = Late(
    r"(?:.*?[;:\u2014\u2013] )?(?:just |simply |or |then )?"
    + one_of("""
    share, send, give, paste, provide, pick, choose, drop, tell, say, point, upload, attach, run,
    restart, open, try, connect, log in, sign in, approve, confirm, merge, push, set, add, install,
    reply, type, press, click, hit, answer, name, list, describe, grant, enable, export, rerun,
    reload, hard reload, refresh, hard refresh, test, check, review, decide, go ahead and
""")
    + r"\b.*?(?:[;:] |[,;:]? (?:and|then|so|;|-|\u2014|\u2013) )(?:then )?"
    r"(?:i'll|i will|i can|we'll|we can)\b"
)
# A request, unless it only asks to be patient.
_PLEASE: Final = _SIGNS.add(
    r"please|kindly",
    exactly=r"(?<![\w-])(?<!moment )(?<!moment, )(?<!second )(?<!second, )(?<!minute )(?<!minute, )"
    r"(?<!wait )(?<!wait, )(?<!hold on )(?<!hold on, )(?:please|kindly)\b"
    r"(?!-|,? (?:wait|hold|stand by|bear with|be patient"
    r"|give me|allow|one moment|stay)\b)",
)
_IF: Final = r"(?<!see )(?<!check )(?<!verify )(?<!determine )(?<!out )(?<!confirm )if"
_ON_THE_PERSON: Final = _SIGNS.add(
    r"\b(?:once|after|when|whenever|if|as soon as|until|unless|before|upon|with|pending|the moment"
    r"|the minute) (?:\w+ ){0,2}?(?:you|confirmed|approved|have|get|receive|know|gather|can|hear"
    r"|find|identify|verify)",
    # The person does something first, or gives it; "to see if you have one" asks nobody.
    exactly=rf"\b(?:once|after|when|whenever|{_IF}|as soon as|until|unless|before|the moment"
    r"|the minute) "
    r"(?:(?:(?!i |we |i'll )\w+ ){0,2}?(?:you|you'd|you've)\b(?! are\b)|confirmed\b|approved\b)"
    rf"|\b(?:once|when|whenever|{_IF}|as soon as|until|unless|the moment|the minute) your\b"
    r"|\bwith (?:the|any|that|those) (?:\w+ )?you (?:provide|send|give|share|choose|pick|want)\b"
    r"|\b(?:with|upon|after|before|pending|until|without) (?:\w+ ){0,2}?"
    rf"(?:your (?:\w+ )?{_GIVEN_BY_A_PERSON}|confirmed|approved)\b"
    r"|\b(?:once|after|as soon as|when|until) (?:i|we) (?:have|get|receive|know|gather|can|hear"
    r"|(?:find|identify|verify) the)\b",
)
_REFUSAL: Final = _SIGNS.whole(
    r"(?:i|we|i'm|i am|we are) (?:can't|cannot|can not|won't|will not|unable to|not able to)"
    r" (?:help|assist|comply|do (?:that|this)|fulfill?|engage in|take part|provide (?:that|this))"
    r"|i (?:must|have to) (?:decline|refuse)"
)
_THE_WRITER_ACTS: Final = _SIGNS.whole("i|i'll|i'd|i'm|we|we'll|we'd|me")


def asked(closing: Closing) -> str | None:
    """Return the sentence with which a message asks the person or hands over, if it does."""
    sentences = closing.sentences
    if not sentences:
        return None
    last = sentences[-1]
    if _asks(last) and not _waits_for_a_worker(sentences):
        return last.said
    head = head_of_list(sentences)
    if head is not None and _asks(head):
        return head.said
    before = sentences[-_NEAR_END:-1]
    questions = [each for each in before if _is_question(each)]
    return _left_open(questions, before, last) or _asked_before(questions, before)


def waits_for_a_person(sentence: Sentence) -> bool:
    """Tell whether what a sentence announces depends on the person."""
    return _ON_THE_PERSON.is_in(sentence.plain)


def refuses(sentence: Sentence) -> bool:
    """Tell whether a sentence refuses to do what was asked for."""
    return _REFUSAL.is_in(sentence.plain)


def head_of_list(sentences: tuple[Sentence, ...]) -> Sentence | None:
    """Return the sentence that introduces a list at the very end: choices to be made."""
    if not sentences[-1].is_item:
        return None
    return next((each for each in reversed(sentences) if not each.is_item), None)


def _asks(sentence: Sentence) -> bool:
    return _is_question(sentence) or _hands_over(sentence)


def _is_question(sentence: Sentence) -> bool:
    """Tell whether a sentence ends with a question mark of its script."""
    end = sentence.plain.rstrip(_CLOSING)
    if end.isascii():
        return end.endswith("?")
    end = _EMOJI.sub("", end).rstrip(_CLOSING)
    if end.endswith(_GREEK_MARKS) and _GREEK.search(end):
        return True
    return end[-1:] in _QUESTION_MARKS or _MARK_WITHIN_A_WORD in end


def _hands_over(sentence: Sentence) -> bool:
    plain = sentence.plain
    return (
        _ENDING.is_in(plain)
        or _PLEASE.is_in(plain)
        or hands_over(plain)
        or (waits_for_a_person(sentence) and _THE_WRITER_ACTS.is_in(plain))
        or (_THE_WRITER_ACTS.is_in(plain) and _ASKED_TO.match(plain) is not None)
        or _waits_for_somebody(plain)
    )


def _waits_for_somebody(plain: str) -> bool:
    """Tell whether it waits, and for nothing that ends by itself."""
    return (_AWAITING.is_in(plain) or awaits_the_person(plain)) and not _runs(plain)


def _waits_for_a_worker(sentences: Sequence[Sentence]) -> bool:
    """Tell whether it only waits, and the sentence before says what is at work."""
    if not _ONLY_WAITS.is_in(sentences[-1].plain) or len(sentences) == 1:
        return False
    return _AT_WORK.is_in(sentences[-2].plain)


def _runs(plain: str) -> bool:
    """Tell whether something goes on by itself and comes to an end: what serves does not."""
    return (_RUNS.is_in(plain) or runs_by_itself(plain)) and _SERVES.search(plain) is None


def _acts_at_an_end(plain: str) -> bool:
    """Tell whether the writer acts when something else has ended."""
    may_be = plain.endswith("then.") or holds_one(plain, _SIGNS_OF_A_BOND)
    if may_be and _BOUND.is_in(plain):
        return _THE_WRITER_ACTS.is_in(plain) or plain.startswith("will ")
    return is_bound(plain)


def _is_under_way(plain: str) -> bool:
    """Tell the same with fewer words: an act that is bound to its end says the rest."""
    return _runs(plain) or (_UNDER_WAY.is_in(plain) and _SERVES.search(plain) is None)


def waits_for_an_end(closing: Closing) -> str | None:
    """Return the sentence that says that something still runs, and nothing is to be done now."""
    if not closing.sentences:
        return None
    *before, last = closing.sentences[-_NEAR_END:]
    if _runs(last.plain) or _waits_for_a_worker(closing.sentences):
        return last.said
    if _acts_at_an_end(last.plain) and any(_is_under_way(each.plain) for each in (*before, last)):
        return last.said
    # One look at all of them tells that most run nothing; whether one asks takes the same look.
    if not before or not (_RUNS.is_in(_together(before)) or runs_by_itself(before[-1].plain)):
        return None
    return before[-1].said if _runs(before[-1].plain) else None


def _left_open(
    questions: Sequence[Sentence], before: Sequence[Sentence], last: Sentence
) -> str | None:
    """Return the question to the person that is not taken up by its own writer.

    A choice of a list stays open whatever is said of it; any other question is the last one.
    """
    for question in reversed(questions):
        is_last = question is before[-1]
        about_them = is_last and _ABOUT_THE_PERSON.is_in(question.plain)
        if (question.is_item or about_them) and not _TAKES_OVER.is_in(last.plain):
            return question.said
        if is_last and _HANGS_ON_IT.match(last.plain):
            return question.said
    return None


def _asked_before(questions: Sequence[Sentence], before: Sequence[Sentence]) -> str | None:
    """Return the sentence shortly before the end that leaves the next move to the person."""
    for sentence in questions:
        if _FOR_LEAVE.is_in(sentence.plain):
            return sentence.said
    # One look at all of them tells that most messages hand nothing over.
    if not _leaves_the_next_move(_together(before)):
        return None
    return next((each.said for each in before if _leaves_the_next_move(each.plain)), None)


def _together(sentences: Sequence[Sentence]) -> str:
    return "\n".join([each.plain for each in sentences])


def _leaves_the_next_move(plain: str) -> bool:
    return _HANDING_OVER.is_in(plain) or _PLEASE.is_in(plain) or requests(plain)
