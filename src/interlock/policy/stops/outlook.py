"""Does the form of a sentence look ahead, or a count leave something over, whatever its words are?

Whoever is in the middle of work often leaves out who acts ("will check the parser first") or says
it in other words than "I will" ("might as well fix the parser"). Such a sentence is known by its
build: what is meant, expected, planned or needed, and an act that has not been done.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from interlock.policy.stops.closing_text import Sentence, holds_one
from interlock.policy.stops.phrases import Late, Sign, Signs, one_of

_LONGEST: Final = 220

_SIGNS: Final = Signs()

_LOOK: Final = one_of("""
    check, look, read, inspect, verify, confirm, trace, search, find, locate, examine, investigate,
    explore, reproduce, debug, grep, compare, understand, figure out, dig, double-check
""")
_DO: Final = one_of("""
    add, adjust, apply, begin, build, bump, change, clean, commit, convert, create, delete, deploy,
    do, edit, extract, fix, get, give, go, handle, implement, import, install, make, merge, migrate,
    mock, modify, move, open, patch, port, pull, push, re-run, generate, send, fetch, load,
    call, format, lint, drop, trim, strip, swap, wrap, simplify, validate, document, list, query,
    download, upload, put, bring, tweak, tune, tighten, inline, sort, parse, cover, squash, tag,
    copy, rework, repeat, rebase, rebuild, refactor, regenerate,
    remove, rename, replace, rerun, resolve, restore, retry, revert, rewrite, run, split, stage,
    start, switch, tackle, take, teach, test, touch, try, undo, update, upgrade, use, wire, write
""")
_ACT: Final = f"(?:{_LOOK}|{_DO})"
_DET: Final = "(?:the|my|our|its|their|this|that|these|those|both|all|an?|another|each|every)"
_WORD: Final = r"[\w'/.\x{2013}-]*[\w']"
_NAMED: Final = rf"(?:the|my|our|its|these|those|both|all|code)(?: {_WORD}){{0,4}}"
_SOON: Final = "(?:now|next|first|too|then|also|again|instead|before|as well)"
_STOP: Final = r"[.!:\x{2026}]*$"
_MADE: Final = one_of("""
    written, implemented, converted, migrated, ported, translated, done, started, wired(?: up| in)?,
    covered, updated, added, finished, fixed, moved, renamed, replaced, removed, created, built,
    filled in, hooked up, connected, handled, refactored, rewritten, split, extracted, addressed
""")
_SORT_OF_ACT: Final = "(?:fix|change|treatment|edit|patch|update|procedure|check|guard|call)"


def _one_of_forms(*, at_first: tuple[str, ...], anywhere: tuple[str, ...] = ()) -> Sign:
    """Return a sign for forms that begin a sentence, whatever opens it, and for others."""
    return _SIGNS.add("|".join((f"{_OPENERS}(?:{'|'.join(at_first)})", *anywhere)))


_OPENERS: Final = (
    r"^(?:(?:ok|okay|good|great|perfect|right|so|and|alright|hm+|well|yes|sure|fine|cool|nice"
    r"|got it|but)[,.!:]? )*"
)

# It says what somebody else does, that there is nothing, or why it is left.
_OF_OTHERS: Final = _SIGNS.whole(
    r"you|your|yours|you're|you'll|you'd|yourself|team|upstream|users?|they|somebody|nothing|none"
    r"|no|nobody|never|neither|not (?:be|to|have|need)|optional(?:ly)?|eventually|some day|someday"
    r"|later|follow-up|, which|, because|, as|if"
)
# Its writer means to do something, or leaves out who does.
_MEANT: Final = _one_of_forms(
    at_first=(
        r"(?:i|we)(?:'ve|'d| have| had)? (?:might as well|may as well|ought to|gotta|got to|yet to"
        rf"|have yet to|rather|better|mean to|aim to) {_ACT}\b",
        r"(?:now that|with (?:that|this|the|code)) .*,? (?:i|we) can "
        rf"(?:{_SOON} )*(?:go ahead and )?{_ACT}\b",
        r"(?:i'm|i am|we're) (?:now |still |currently )*(?:halfway|midway|partway|in the middle of"
        rf"|(?:down to|left with) {_NAMED}|(?:at|in|on) {_NAMED} (?:now|next){_STOP})",
        r"i (?:see|know) (?:what|where|how) to (?:do|look|change|fix|start|go)\b",
        r"(?:not (?:quite )?(?:there|done|finished) yet"
        rf"|(?:almost|nearly|halfway|getting|not quite) (?:there|done|finished))(?::.*|{_STOP})",
        r"(?:done|finished|through|progress|so far)\b.* \d+ ?(?:of|out of|/) ?\d+\b",
        r"(?:not yet|yet to be) \w+(?: \w+)?: \w",
        r"\d+ (?:of|out of) (?:the |all )?\d+ .*\b(?:so far|by now|as of now)\b",
        rf"next: {_ACT}\b",
        rf"(?:step|task|part|phase) #?\d+ ?(?:/|of) ?\d+: {_ACT}\b",
        r"(?:all )?(?:what|that)(?:'s| is) (?:still )?left (?:to do )?is (?:to \w+|\w+ing)\b",
        # Nobody is named.
        rf"will (?:{_SOON} )*(?:{_LOOK}|{_ACT} .*\b{_SOON}{_STOP}|do{_STOP})",
        rf"will (?:now|first|then|next) {_ACT}\b",
        rf"(?:must|gotta|got to|have to|need to|better|had better|might as well) (?:{_SOON} )*"
        rf"{_ACT} \w",
        rf"(?:could|might|can) (?:{_SOON} )*{_LOOK} \w",
        rf"(?:about|off) to {_ACT}\b",
        r"(?:simplest|easiest|cleanest|quickest|safest|best|better|cheapest)"
        r"(?: thing| bet| option| move| way| fix)?(?: here| now)?(?: is| would be|,)? to "
        rf"{_ACT} (?:{_DET}|code|theirs|ours|it|them|with|at|from|by)\b",
        r"(?:it |it's )?(?:(?:makes|would make) sense|(?:would|will|might|may) help"
        r"|(?:might be |may be |is |seems |probably )?(?:worth|wise|best|better))"
        rf" (?:to )?\w+ .*\b(?:first{_STOP}|before (?:\w+ing|i|we)\b)",
        # What an act is expected to bring has not been done.
        r"(?:\w+ing|an? (?:\w+ )?(?:look|check|run|rerun|test|search|grep|diff)) .*\bshould "
        r"(?:do|fix|help|resolve|clear|tell|show|work|suffice|be enough|reveal|confirm)\b",
        # Plans.
        r"(?:my|the|our|new) (?:plan|idea|goal|aim|next approach)(?: now| here)? is "
        rf"(?:now )?to {_ACT}\b",
        r"(?:my|our|new|a new|different|a different|alternative|another) "
        r"(?:plan|idea|approach|strategy|tack|angle|attempt|try)(?: \w+)?: \w",
        rf"plan [b-z]: \w|(?:attempt|try|take) #?\d+: {_ACT}\b",
        rf"(?:goal|focus|target|task|aim)(?: now)?: (?:{_DET}|code|{_ACT})\b",
        r"needs (?:\w+ing|a fix)\b|needs? (?:another|the same|a closer|a second|one more)\b",
        # Several acts in a row, said to nobody.
        rf"(?:then )?{_ACT}(?: (?:it|them|that|this|again))?(?:(?:,|,? and|,? then|, and then) "
        rf"{_ACT}(?: (?:it|them|that|this|again|code))?)+{_STOP}",
    ),
    anywhere=(
        rf"\b(?:i|we) (?:should|must|need to|have to) (?:{_SOON} )*{_LOOK}\b",
        rf"\b(?:i|we) (?:should|must) (?:{_SOON} )*{_ACT} .*\b{_SOON}{_STOP}",
        rf"\b(?:i|we) can (?:now |then )?go ahead and {_ACT}\b",
        rf"\b(?:i'll|i will|we'll) be (?:back with|\w+ing .*\b(?:next|now|first){_STOP})",
        r"\b(?:i'll|i will|we'll) (?:\w+ )?have an? (?:\w+ )?(?:look|go|try|crack|read|peek)\b",
        r"\b(?:i|we) (?:still )?need (?:an?|another|one more) (?:\w+ )?(?:look|try|run|pass)\b",
        r"\b(?:i'll|i will|we'll|i'm going to) (?:leave|keep|skip) [^.;]*(?:,|\band\b|\bbut\b) "
        rf"(?:(?:only|just|then|now|instead|simply|and) )*{_ACT} \w",
        rf"\b(?:i'm|we're|is) not (?:done|finished|there)(?: yet)?{_STOP}",
        rf"\b(?:i'm|we're|i am) (?:now )?ready to {_ACT} (?:{_DET}|code)\b",
        r"\bnow (?:i|we) know (?:where|what|how) to \w+",
        r"\b(?:that|this) gives me (?:enough|all|everything|what) .*to \w+",
        rf"\bbefore i {_ACT}\b",
        r"\b(?:finished|completed|done|converted|migrated|ported) (?:with )?the first \w+ of\b",
        r"\b(?:my|the|our) next \w+ (?:is|will be) (?:to \w+|\w+ing\b)",
        # A part of the work is said to be missing.
        rf"\b(?:remains?|still (?:has|have|needs?|waits?)|(?:is|are) (?:still|yet)|left) to be "
        rf"{_MADE}\b",
        rf"\b(?:is|are) (?:all )?still (?:missing|to come|to do|to be done){_STOP}",
        rf"\b(?:is|are|has|have)(?: not|n't)(?: been)? (?:{_MADE}|there|in place) yet{_STOP}",
        rf"\b(?:not yet {_MADE}|not {_MADE} yet){_STOP}",
        # What others got is missing here.
        rf"\bneeds? (?:the same|that|this) (?:\w+ )?{_SORT_OF_ACT}\b",
        r"\bneeds? (?:\w+ing|an? (?:\w+ )?(?:fix|line|test|update|entry|tweak|look))"
        rf"(?: \w+){{0,3}} (?:too|as well|also|still|next|first){_STOP}",
    ),
)
_PATIENCE: Final = _SIGNS.add(
    r"^(?:please |just |so |ok(?:ay)?,? )*"
    r"(?:(?:give|bear|grant|allow) (?:with )?me\b.{0,24}|hang on|hold on|here goes|here we go"
    r"|(?:one|a|just a|half a) (?:sec|second|moment|minute|tick|mo)\b.{0,12}|will do|going in"
    rf"|be right back|back in a (?:sec|second|moment|minute))(?:,? please)?{_STOP}"
)
# A count and what it leaves over: "3 of the 7 files are converted" is a report; with "the remaining
# four follow" beside it, it is not. A set of their own: few sentences are asked for them.
_SIGNS_OF_A_COUNT: Final = Signs()
_SIGNS_OF_A_REST: Final = ("remain", " other ", "rest ", " left", " to go", " pending", " open")
_REST: Final = _SIGNS_OF_A_COUNT.whole(
    r"(?:remaining|other|rest) (?:[^.;]* )?(?:follow|to go|to do|pending|open|still|next|the same)"
    r"|(?:are|is|still) (?:still )?(?:left|to do|pending|open)|remain|to go"
)
# It says that the rest stays, why, or that it is somebody else's.
_STAYS: Final = _SIGNS_OF_A_COUNT.whole(
    r"\w+n't|not|no|none|nothing|never|fail\w*|skip\w*|pass\w*|errors?|warnings?|tests|unchanged"
    r"|already|separate|scope|blocked|because|since|so|as|only|intentionally|deliberately|known"
    r"|harmless|you|your|team|upstream|users?|they|optional(?:ly)?|later|if|which"
)
_COUNTS: Final = {
    word: count
    for count, words in enumerate(
        (
            "one ein eine un une uno um uma una een",
            "two zwei deux dos dois duas due twee",
            "three drei trois tres três tre drie",
            "four vier quatre cuatro quatro quattro",
            "five fünf cinq cinco cinque vijf",
            "six sechs seis sei zes",
            "seven sieben sept siete sete sette zeven",
            "eight acht huit ocho oito otto",
            "nine neun neuf nueve nove negen",
            "ten zehn dix diez dez dieci tien",
            "eleven elf onze undici",
            "twelve zwölf douze doce doze dodici twaalf",
        ),
        start=1,
    )
    for word in words.split()
}
_NUMBER: Final = rf"(\d{{1,6}}|{'|'.join(_COUNTS)})"
_PART_OF_ALL: Final = Late(
    rf"\b{_NUMBER}(?: ?/ ?|(?: [^ ,.;:]+){{0,2}} (?:of|out of|von|der|sur|de|di|su|van|z|з|із|из"
    rf"|trong|dari|من أصل|من)(?: (?:the|all|den|les|los|las|os|as|de|total))? ){_NUMBER}\b"
)
_ALL_WITH_A_PART: Final = Late(
    r"(\d{1,6})(?:[^\d.\u3002]{0,8}?(?:중|のうち|中|में से)|[^\d.,]{1,24}[dt][ae]n)"
    r"[^\d.\u3002]{0,12}?(\d{1,6})"
)
_ASIDE: Final = re.compile(r" \([^()]*\)")


def looks_ahead(plain: str) -> bool:
    """Tell whether a sentence in lower case says by its build that something is still to come."""
    if "(" in plain:
        plain = _ASIDE.sub("", plain)
    return len(plain) <= _LONGEST and not _OF_OTHERS.is_in(plain) and _MEANT.is_in(plain)


def asks_for_patience(plain: str) -> bool:
    """Tell whether a sentence only asks to wait for a moment."""
    return _PATIENCE.is_in(plain)


def counts_a_rest(sentences: Sequence[Sentence], *, is_left: bool) -> bool:
    """Tell whether a count leaves something over and the last sentence names that.

    `is_left` is whether that sentence is known to say what is left.
    """
    return (is_left or _names_a_rest(sentences[-1])) and any(
        _counts_a_part(each.plain) for each in sentences
    )


def _names_a_rest(sentence: Sentence) -> bool:
    plain = sentence.plain
    if sentence.is_item or not holds_one(plain, _SIGNS_OF_A_REST):
        return False
    return _REST.is_in(plain) and not _STAYS.is_in(plain)


def _counts_a_part(plain: str) -> bool:
    part, whole = _PART_OF_ALL.search(plain), _ALL_WITH_A_PART.search(plain)
    return (part is not None and _count(part[1]) < _count(part[2])) or (
        whole is not None and _count(whole[2]) < _count(whole[1])
    )


def _count(number: str) -> int:
    return _COUNTS.get(number) or int(number)
