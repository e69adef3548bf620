"""Does the form of a sentence look ahead, whatever its words are?

Whoever is in the middle of work often leaves out who acts ("will check the parser first"), the act
("parser next"), or names only what is left ("that leaves the parser"). Such a sentence is known by
its build: no verb that tells, a word of order, a thing without anything said of it.
"""

from __future__ import annotations

import re
from typing import Final

from interlock.policy.stops.phrases import Sign, Signs, one_of

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
_THING: Final = rf"{_NAMED}(?:(?:,| and|, and|, then|,? plus|,? then) {_WORD}(?: {_WORD}){{0,4}})?"
_FEW: Final = rf"{_WORD}(?: {_WORD}){{0,5}}"
_SOON: Final = "(?:now|next|first|too|then|also|again|instead|before|as well)"
_STOP: Final = r"[.!:\x{2026}]*$"
_PIECE: Final = one_of("""
    stop, thing, things? first, up, one, item, task, target, point, piece, part, bit, move, job,
    step, topic, candidate, file, test, case, bug, problem, issue, failure, error, in line,
    in the list, on (?:the|my|our) list
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
        # What others got is missing here.
        rf"\bneeds? (?:the same|that|this) (?:\w+ )?{_SORT_OF_ACT}\b",
        r"\bneeds? (?:\w+ing|an? (?:\w+ )?(?:fix|line|test|update|entry|tweak|look))"
        rf"(?: \w+){{0,3}} (?:too|as well|also|still|next|first){_STOP}",
    ),
)
# What is next or left is named, and nothing is said of it.
_ELLIPTIC: Final = _one_of_forms(
    at_first=(
        rf"(?:first|then|now|next|and now|now then|finally|lastly|last),? {_THING}{_STOP}",
        r"(?:then |now )?(?:on ?to|on with|off to|onwards? to|over to|to|for|back to|straight to"
        rf"|straight on to) {_THING}{_STOP}",
        rf"(?:next|last|first) {_PIECE}(?::|,) {_FEW}{_STOP}|next: {_FEW}{_STOP}",
        r"(?:(?:with|after|once) (?:that|this|those)\b[\w' ]{0,24}|(?:that|this) done"
        rf"|that out of the way), {_THING}{_STOP}",
        rf"(?:just |only )?(?:{_DET} )?{_FEW} (?:next|first|left(?: now)?){_STOP}",
        rf"(?:just |only )?(?:the|code)(?: {_WORD}){{0,3}} (?:now|then|again){_STOP}",
        r"(?:\d+|one|two|three|four|five|a few|several|some)(?: more)?(?: left)?"
        rf"(?: {_WORD})? to {_ACT}{_STOP}",
        r"(?:one|two|another) more: \w.*",
        rf"{_ACT}, {_ACT},? .*",
        r"(?:remaining|left to do|still to do|yet to do|to do|todo|left)(?: now)?: \w.*",
        r"(?:(?:a |another |one more )?(?:second|third|next|new|closer|quick|last|final|fresh)"
        r"|another|one more) (?:attempt|try|round|pass|look|iteration)\b.*",
        r"(?:once more|again|one more time),? (?:with|but|using|without|from)\b.*",
        rf"same {_SORT_OF_ACT} (?:for|in|to) {_THING}{_STOP}",
    ),
    anywhere=(rf"\b(?:incoming|coming up){_STOP}",),
)
# The same with a verb that says no more than that.
_COPULA: Final = _one_of_forms(
    at_first=(
        rf"(?:just |only )(?:{_DET} )?{_FEW} (?:is|are) left(?: now)?{_STOP}",
        rf"{_NAMED} (?:is|are) the (?:last|next|final|only) (?:one|ones|piece|bit|thing)"
        rf"(?: left| missing)?{_STOP}",
        r"(?:all |all that |what |what's |all that's |what is |all that is |that )"
        rf"(?:left|remains|remaining|missing|to do)(?: now)? (?:is|are) (?:to {_ACT} .*|{_THING})"
        rf"{_STOP}",
        rf"the (?:only |last |next |final )+{_PIECE}(?: left| remaining| missing)? is {_THING}"
        rf"{_STOP}",
        rf"(?:next|last|first) {_PIECE} is {_THING}{_STOP}",
        r"(?:that|this|which) (?:just |only )?leaves (?:me with |us with )?(?:only |just )?"
        rf"{_THING}{_STOP}",
        rf"(?:that )?brings (?:me|us) to {_THING}{_STOP}|now comes {_THING}{_STOP}",
        rf"that's next{_STOP}|(?:now )?it's (?:the|code)(?:'s| {_WORD}){{0,3}} turn{_STOP}",
        r"(?:now )?it's time (?:for|to) .*",
        rf"{_FEW} (?:to )?follows?(?: now| next| shortly)?{_STOP}",
    )
)
# It tells how something is, or was: a verb, a participle, a state.
_TELLS: Final = _SIGNS.whole(
    r"\w+ed|was|were|has|have|had|pass|passes|works?|fails?|runs?|shows?|showed|confirms?|makes?"
    r"|takes?|took|made|does|did|will|would|can|could|should|must|may|might|gets?|got|went|goes"
    r"|keeps?|says?|said|stays?|means?|needs?|accepts?|supports?|uses?|handles?|holds?|known|gone"
    r"|green|clean|fine|ok|okay|live|ready|available|faster|slower|better|intact|alone|unchanged"
    r"|untouched|open|empty|done|correct|complete|normal|good|safe|as is|as it|as before"
    r"|state|\d+ ?(?:%|ms|s|kb|mb|gb|x)|thanks|history|published|sent|built|due|broke|came|fell"
    r"|froze|hung|lost|won|ran|grew|rose"
    r"|(?:fast|slow|small|larg|bigg|lat|simpl|clean|new|old|short|long|cheap)est"
)
# The third person of a verb behind a thing, at the end; other endings are those of nouns. A word
# in -s with another one behind it is a verb, or has one there: "the page renders twice".
_HAS_A_VERB: Final = re.compile(
    r"\b(?:is|are|it's|that's|there's|here's|he's|see|what|who|where)\b"
    r"|\b(?:the|at) (?:first|next)\W*$"
    r"|\b(?:the|code|its|our|my) (?:[\w-]+ )+"
    r"(?!\w*(?:ings|ions|ments|ies|ers|ors|ests|ocs|iles|alls|outes|iews|ypes|oints|ures|ks|des"
    r"|ages|ules|ses|ffs|igs|ets|ags|ips)\b)\w+[^s\W]s"
    r"(?: (?:now|then|again|next|first))?[.!:\u2026]*$"
    r"|\b(?:the|code|its|our|my|these|those|both|all) (?:[\w-]+ )*?\w{2,}[^s\W]s "
    r"(?!(?:and|of|in|for|to|from|with|on|at|under|next|first|now|again|then|left|around|plus)\b)\w"
)
_PATIENCE: Final = _SIGNS.add(
    r"^(?:please |just |so |ok(?:ay)?,? )*"
    r"(?:(?:give|bear|grant|allow) (?:with )?me\b.{0,24}|hang on|hold on|here goes|here we go"
    r"|(?:one|a|just a|half a) (?:sec|second|moment|minute|tick|mo)\b.{0,12}|will do|going in"
    rf"|be right back|back in a (?:sec|second|moment|minute))(?:,? please)?{_STOP}"
)
_CLAUSE: Final = re.compile("; | \u2014 | \u2013 | - ")
_ASIDE: Final = re.compile(r" \([^()]*\)")


def looks_ahead(plain: str) -> bool:
    """Tell whether a sentence in lower case says by its build that something is still to come."""
    if "(" in plain:
        plain = _ASIDE.sub("", plain)
    if len(plain) > _LONGEST or _OF_OTHERS.is_in(plain):
        return False
    if _MEANT.is_in(plain):
        return True
    clause = _CLAUSE.split(plain)[-1]
    if _TELLS.is_in(clause):
        return False
    return _COPULA.is_in(clause) or (_ELLIPTIC.is_in(clause) and not _HAS_A_VERB.search(clause))


def asks_for_patience(plain: str) -> bool:
    """Tell whether a sentence only asks to wait for a moment."""
    return _PATIENCE.is_in(plain)
