"""Does a message end by announcing what its writer does next?

Whoever is in the middle of work closes with the next act ("now let me run the tests:"); whoever
is done closes with what was done.
"""

from __future__ import annotations

import enum
import re
from typing import Final

import msgspec

from interlock.policy.stops.closing_text import Closing, Sentence
from interlock.policy.stops.handover import head_of_list, waits_for_a_person
from interlock.policy.stops.languages import (
    announces_an_act,
    announces_its_end,
    has_other_letters,
    leaves_work,
    remarks_on_it,
    wants_patience,
)
from interlock.policy.stops.outlook import asks_for_patience, counts_a_rest, looks_ahead
from interlock.policy.stops.phrases import Late, Signs, one_of, opening


class Intent(enum.Enum):
    """How surely an end says that its writer goes on."""

    ACT = enum.auto()
    """It names the writer's own next act."""
    OPEN_END = enum.auto()
    """It breaks off where something must follow."""
    SILENCE = enum.auto()
    """It is no word at all: nothing but a tool's output, or nothing."""
    SHARED = enum.auto()
    """It says what has to be done next, and not who does it."""
    VAGUE = enum.auto()
    """It only says that the work goes on, and names no act."""


class Announcement(msgspec.Struct, frozen=True):
    """What a message announces at its end."""

    said: str
    """The sentence, as it was written; empty where it is no sentence."""
    because: str
    kind: Intent


_SIGNS: Final = Signs()

_ADVERBS: Final = r"(?:(?:now|also|first|next|then|still|just|quickly|again|only|therefore) )*"
_WILL: Final = one_of(rf"""
    let me, let's, let us, lemme, i'll, i will, i shall, we'll, we will, we're going to,
    (?:i'm|i am) {_ADVERBS}(?:going|about) to, (?:^|i'm |i am )gonna
""")
# "Let me" and "I'll" are no act where one of these follows: it is said, left or over already.
_NO_ACT: Final = one_of(r"""
    know\b, summari[sz]e, recap, explain, clarify, conclude, answer\b, discuss\b, present\b,
    share\b, give you, provide you, provide a, provide the, be\b, end\b, stop\b, wait\b, hold\b,
    rest\b, leave\b, not\b, wrap (?:\w+ )?up\b, finish here, finish this, finish the interaction,
    finish the task, finish the conversation, close this, close the conversation, mark this task,
    mark the task, mark this issue, mark the issue, consider this, consider the task, remember\b,
    keep (?!\w+ing\b), need (?!to\b), need to know, have to ask, call it\b,
    spare\b, admit\b, assure\b, add that\b,
    ask\b, focus on understanding, hand over, stand by, pause here, say\b, note\b, mention\b,
    need to wait, be waiting, follow the, follow your, keep in mind, bear that,
    break (?:\w+ )?(?:\w+ )?down,
    consider\b, suppose\b, imagine\b, assume\b, walk\b, cover\b, see (?:in|you|how it goes)\b,
    have (?!to\b), talk\b, describe\b, outline\b, tell\b, show you, emphasi[sz]e, stress\b,
    hope\b, wish\b, thank\b, get your\b, highlight\b, point out, guide\b, rephrase, restate,
    go through (?:how|why|what|your?),
    illustrate, elaborate, live\b, accept\b, never\b, address your,
    respond\b, help you, be able, do my best, do so, do that if, get back to you,
    \w+ with (?:a|the|my) (?:\w+ )?(?:summary|recap|overview|report)
""")
# Whoever announces one of these is at the end: the work is handed in, closed or reported.
_WORK: Final = one_of("""
    changes?, solutions?, fix, fixes, patch, patches, answers?, works?, results?, code, task,
    tasks, implementation, submission, response, report, output, assignment, findings, deliverable,
    deliverables, final version, session, interaction, conversation, job, everything, summary,
    issue, problem, turn, it, this, that, them, these, here, now, up, final
""")
_DETERMINER: Final = (
    r"(?:(?:my|the|this|our|these|all|your|a|an|of|final|complete|completed|whole|full|working"
    r"|correct|corrected|updated|finished) )*"
)
_ENDS: Final = _SIGNS.whole(
    rf"(?:{_WILL}|i'm|i am|we're|i can|we can|i could|time to|ready to|now|next|finally|lastly"
    r"|need to|should|have to|want to|left is to)"
    r"(?: (?:now|also|just|then|first|finally|go ahead and|proceed to|directly|therefore|safely"
    r"|be|to|going to|move on to|we|i|can|will|should|confidently|officially))*,? "
    r"(?:"
    rf"(?:submit|submitting|hand in|handing in|turn in|turning in|deliver|delivering)"
    r"(?: up| off)?"
    rf"(?: {_DETERMINER}{_WORK}\b| ?$|[.!:\x{{2026}},;]"
    r"| via\b| using\b| by\b| with\b| to complete\b| as\b)"
    rf"|(?:hand|handing|turn|turning) {_DETERMINER}{_WORK} in\b"
    rf"|(?:finali[sz]e|finali[sz]ing|finish|finishing|complete|completing|conclude|concluding"
    rf"|close|closing|wrap up|wrapping up|end|ending|exit|exiting)(?: up| out| off)?"
    rf"(?: {_DETERMINER}{_WORK}\b| ?$|[.!:\x{{2026}},;]"
    r"| by submitting\b| by handing\b| by providing\b)"
    rf"|wrap(?:ping)? {_DETERMINER}{_WORK} up\b"
    rf"|mark(?:ing)? {_DETERMINER}(?:\w+ )?(?:as )?(?:complete|completed|done|resolved|finished)"
    r"|(?:call|calling|use|using|run|running|invoke|issue|execute) (?:the )?"
    r"(?:submit|finish|final_answer|attempt_completion|complete_task|task_complete|task_done"
    r"|submit_answer|submit_solution|finish_task|end_task|mark_complete|submission|completion)"
    rf"|(?:provide|providing|give|giving|present|presenting|return|returning|state|output|report"
    rf"|write|post|share|deliver) {_DETERMINER}(?:final )?(?:answer|result|results|summary|response"
    r"|conclusion|findings|report)"
    r")"
)
# Unless more follows: what is marked as done may be a part, what is posted somewhere an act.
_GOES_ON: Final = _SIGNS.add(
    r"\b(?:done|complete|completed|resolved|finished),? and (?:(?:then|now|also|let me|i'll) )*"
    r"(?:move|start|check|proceed|continue|begin|go|run|work|look|turn|switch|take|fix|write|pick)\b"
    r"|\b(?:post|share|write|send|save)\b.*\b(?:summary|report|findings|results?)\b"
    r" (?:to (?:the|a|an|our|his|her|their|#|quote|code)|in (?:the|a|code))"
    r"|, (?:and )?then (?:i'll |i will )?(?:add|build|check|create|fix|generate|implement|move|run"
    r"|start|test|update|verify|write|continue|work|look|read|refactor)\b"
)
_NOT_DOING: Final = one_of("""
    waiting, assuming, hoping, guessing, wondering, thinking, leaving, leaning, holding,
    looking forward, going with, going to, keeping, stopping, finishing, sharing, asking, ending,
    missing, seeing, getting, marking this task, marking the task
""")
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
_GERUNDS: Final = one_of("""
    proceeding to, proceeding with, moving on to, continuing, starting, beginning, running,
    searching, checking, reading, looking, fetching, committing, fixing, updating, creating,
    adding, implementing, launching, switching, writing, verifying, testing, building, installing,
    spawning, dispatching, removing, applying, executing, generating, reviewing, analyzing,
    analysing, inspecting, investigating, re-running, rerunning, retrying, loading, opening,
    pushing, pulling, deploying, sending, calling, invoking, retrieving, listing, scanning,
    finding, doing, making, taking, trying, moving, changing, refactoring, replacing, renaming,
    extracting, wiring, tracing, tightening, patching, editing, comparing, confirming, gathering,
    collecting, validating, cleaning, migrating, merging, rebasing, restoring, reverting, setting,
    preparing, drafting, rewriting, grepping, downloading, processing, querying, exploring,
    examining, debugging, reproducing, computing, folding, mapping, pinning, digging,
    rebuilding, restarting, regenerating, formatting, linting, staging, transferring, cancelling,
    canceling, booking, looking up, locating, identifying,
    working on (?:the|it|this|that|these|those|them|an?|my|our|both|all|code|step|part|item)
""")
_NTH: Final = "the (?:first|second|third|fourth|fifth|sixth|next|last|other|remaining|final)"
_FIRST_PERSON: Final = _SIGNS.add(
    rf"\b(?:{_WILL} |(?:i'm|i am) |(?:i|we) (?:\w+ )*(?:need|have|want|plan|intend) to |i should "
    r"|i must |i'd like to |i'd better |i can "
    r"|(?:next|final|last|remaining) (?:step|task|thing|change|edit|part|fix) (?:is to |will be to "
    r"|involves |requires )|my (?:\w+ )?(?:focus|attention) )",
    exactly=rf"\b(?:{_WILL} "
    rf"(?!(?:(?:now|also|just|then|first|briefly|quickly|have to) )*{_NO_ACT})\w+"
    rf"|(?:i'm|i am) {_ADVERBS}(?!{_NOT_DOING}){_GERUNDS}"
    rf"|(?:i'm|i am) {_ADVERBS}on (?:{_NTH}|(?:step|part|item|file|number) #?\d)"
    rf"|(?:i (?:do )?{_ADVERBS}(?:(?:need|have|want|plan|intend) to|must)|i'd like to|i'd better)"
    r" (?!suggest|propose|recommend|help"
    r"|confirm (?:with|that|whether|if|a few|some|your?)\b|note|make sure|ensure|be\b"
    r"|mention|thank|stress|emphasi|say\b|point"
    r"|highlight|admit|clarify|warn|apologi|add that|ask\b|know\b|hear\b|see your|wait|stop|flag\b"
    r"|explain|share\b|tell\b|decline|have your|have you|you\b)\w+"
    rf"|i should {_ADVERBS}(?!note|mention|be\b|have\b|point)\w+"
    rf"|(?:^|[,;:.] |\b(?:so|but|and|now|then|next|first) )we {_ADVERBS}(?:need|have) to"
    r" (?!decide\b|discuss\b|know\b)\w+"
    r"|^(?:so |now )?(?:the|my|our) next (?:step|task|thing|change) (?:is|will be) to \w+"
    r"|^(?:so |now )?(?:the|my|our) (?:next|final|last|remaining) (?:step|change|edit|part|fix)"
    r" (?:involves|requires) \w+ing"
    r"|my (?:\w+ )?(?:focus|attention) (?:(?:is|will be) (?:now )?on|(?:now )?(?:shifts|turns) to)"
    rf"|(?:^|[,;] (?:so |and )?)now i can (?!see\b|find\b|view\b|confirm\b){_ACTS}"
    rf"|(?<!whether )(?<!if )i can (?:now (?!see\b|find\b|view\b|confirm\b){_ACTS}"
    r"|use|proceed|start|begin|call|identify))\b",
)
# The same where "I" and the act stand apart: "I found it and will now rename it".
_FARTHER_OFF: Final = _SIGNS.add(
    r"\bi(?:'ve|'m)? [^;:]*and will |\bi (?:now )?have (?:enough|all|everything) "
    r"|^(?:so )?(?:now that|with (?:that|this))\b.*, i can ",
    exactly=rf"^(?:[\w' ]+[,!] )?i(?:'ve|'m)? [^;:]*and will {_ADVERBS}(?!{_NO_ACT})\w+"
    rf"|\bi (?:now )?have (?:enough|all|everything)\b[^,;]* to {_ACTS}\b"
    rf"|, i can (?!see\b|find\b|view\b|confirm\b){_ACTS}\b",
)
_AT_IT: Final = _SIGNS.add(rf"\b(?:i'm|i am) {_ADVERBS}(?:going to|{_GERUNDS})\b")
# Whatever its writer is at: less sure, for it may be said of what was decided.
_AT_WORK: Final = _SIGNS.add(
    rf"\b(?:i'm|i am) {_ADVERBS}\w{{3,}}ing\b",
    exactly=rf"\b(?:i'm|i am) {_ADVERBS}(?!{_NOT_DOING})\w{{3,}}ing\b",
)
_NEXT_ACT: Final = opening(
    r"(?:(?:ok|okay|good|great|perfect|right|so|and|alright)[,.!:]? )*"
    r"(?:now|next|next up|first|first thing|next thing|finally|lastly|also)[,:]? "
    rf"(?:(?:to|the|for|on to|onto|also|just|quickly|we|i) )*{_ACTS}"
    r"(?!:| (?:is|are|out|works?|pass(?:es)?|runs?|fails?|shows?|has|was|will|takes?|looks?)\b)"
)
# A verb that is not listed is known by its object: "now bump the version".
_OBJECT: Final = (
    r"(?:the|an?|code|this|that|these|those|it|them|each|all|both|its|our|my|every|some|one|two)"
)
_NO_VERB: Final = one_of("""
    is, are, was, were, has, have, had, do, does, did, can, could, will, would, should, may, might,
    must, both, all, even, only, in, on, at, for, with, when, while, that, if, since, as, because,
    after, before, until, we, i, you, he, she, they, it, there, this, these, those, the, an, what,
    how, which, who, where, not, no, one, and, or, but, so, to, of, from, by, into, onto, under,
    over, without, within, about, like, than, any, every, each, just, code, quote, let, once, though
""")
_OTHER_ACT: Final = Late(
    r"(?:(?:ok|okay|good|great|perfect|right|so|and|alright)[,.!:]? )*"
    rf"(?:now|next|time)[,:]? (?:to )?(?!{_NO_VERB} )"
    rf"[a-z-]{{2,}}(?<!s)(?<!ed)(?<!ing)(?<!ly) {_OBJECT}\b"
)
_BEFORE_AN_ACT: Final = ("now", "next", "time", "ok", "g", "perfect", "right", "so", "and", "al")
_ASKED: Final = "(?:how|what|whether|why|where|which|who|if|when)"
_OTHER_DOING: Final = Late(
    r"(?:(?:now|next|still|so|ok|okay|great|good)[,:]? )*"
    r"(?!during|nothing|something|everything|anything|missing|pending|remaining|lacking|being|having"
    r"|including|excluding|regarding|considering|concerning|depending|assuming|needing|seeing"
    r"|meaning|causing|resulting|leaving|using|following|according|judging|knowing|given|keeping"
    r"|waiting|thinking|hoping|bring|string|thing|king|spring)"
    r"[a-z-]{2,}ing (?:(?:up|out|in|on|for|through|back|down|off|over|with|into|to|at|started|ahead"
    rf"|work|around|away|from|towards?|against) ){{0,3}}(?:{_OBJECT}|{_ASKED}|[a-z]{{3,}}ing)\b"
)
# One word is enough where it says nothing of how something is.
_ONE_WORD: Final = re.compile(
    r"(?!nothing|\w+thing|interesting|amazing|outstanding|surprising|working|pending|missing|exciting"
    r"|encouraging|promising|annoying|confusing|passing|failing|waiting|stunning|charming|boring)"
    r"[a-z-]{3,}ing[.\u2026]+$"
)
_NEED: Final = opening(
    rf"(?:(?:also|still|now|just|so),? )*(?:need to|time to|have to) {_ACTS}(?!.* to take effect)"
)
_DOING: Final = opening(
    r"(?:(?:now|next|still|so|ok|okay|great|good)[,:]? )*"
    r"(?!looking (?:good|great|fine|solid|better|nice|right|forward)"
    r"|running (?:on|since|under|as|at|smoothly|fine|for \d)\b)"
    rf"(?:going to|{_GERUNDS})(?! (?:complete|done|successful|\w+ed)\b)"
)
# A word in -ed that takes an object is a verb: "moving it up saved one query" tells what was.
_TOLD: Final = _SIGNS.add(
    r"ed (?:the|an?|one|two|it|this|that|these|most|all|my|our|your|its|their|us|me|you|nothing|no"
    r"|everything|both)\b"
)
# What stands behind a finding and has no verb of its own: "; fixing it now", "on to the third".
_AT_ITS_END: Final = _SIGNS.add(
    rf"(?:;|:|\x{{2014}}|\x{{2013}}| -|, so) (?:now |still )?{_GERUNDS}"
    r"(?: (?:into|at|on|through))?"
    r"(?: (?:it|them|this|that|these|those|both)"
    r"| with the (?:rest|others|next|remaining|second|third)(?: \w+)?)?"
    r"(?: and \w+ing(?: [\w-]+){1,4})?"
    r"(?: (?:now|again|next|first|too|as well|in turn|one by one))*"
    r"[.!\x{2026}]*$"
    rf"|; (?:now |still )?{_GERUNDS} (?:the|its|their|this|that|these|those|both|my|our|code)"
    r"(?: [\w-]+){0,2}[.!\x{2026}]*$"
    r"|(?:^|[;,.!\x{2014}\x{2013}-] |and |so |now )on ?to (?:the|step|part|phase|task|number|item"
    r"|#?\d)|^(?:now )?on to [\w-]+(?: [\w-]+)?[.!:]*$"
    r"|^(?:(?:ok|okay|sure|right|alright)[,.!] )*(?:i'm )?on it\b[^,;]{0,8}$"
)
_PIECE: Final = one_of("""
    call, calls, method, methods, function, class, handler, endpoint, route, routes, component,
    module, file, files, page, section, migration, script, config, docs, suite, helper, helpers
""")
_NEXT_UP: Final = opening(
    r"(?:(?:ok|okay|good|great|right|so|and|alright)[,.!:]? )*"
    r"(?:(?:up next|next up): (?!you)[^.;]{1,80}[.]?$"
    r"|time for (?:the|an?|some|code)(?: [\w-]+){1,2}[.:]?$"
    r"|now (?:batch|step|part|phase|file|chapter|section|task|round|item|group|number) #?\d+[.:]?$"
    r"|(?:(?:first|next) up(?: is|:)|up next(?: is|:)|next(?: is|:))"
    r" (?:(?:the|step|part) [\w-]+|code)(?: [\w-]+)?[.:]?$"
    r"|next, code[.:]?$|now for (?:the|code)(?: [\w-]+){1,4}[.:]?$"
    rf"|(?:now|next)[,:]? (?:for )?{_NTH} (?:[\w-]+|code)[.:]?$"
    r"|(?:now|next|first)[,:]? (?:for )?the [\w-]+"
    r"(?: (?:part|side|half|layer|piece|bit|module|component|one|version|page|file|files))?[.:]?$"
    rf"|now (?:for )?the (?:[\w-]+ ){{1,3}}{_PIECE}(?: \([^()]{{1,40}}\))?[.:]$"
    r"|back to (?:work|step|task|(?:the|my|our) (?:\w+ )?(?:bug|tasks?|problem|issue|tests?"
    r"|failures?|plan|list|steps?|features?|implementation|errors?|refactoring))(?: \d+)?[.:]?$)"
)
# The next piece, and what it is like: "now the icons \u2014 one set for all pages".
_NEXT_PIECE: Final = re.compile(
    r"(?:now|next)[,:]? (?:for )?the (?:[\w-]+ ){1,4}[\u2014\u2013-]+ "
    r"(?!.*\b(?:pass|fail)(?:es|s)?\b)"
)
# What is left, counted or named as the next: said of the work, and not of who does it.
_LEFT: Final = Late(
    r"(?:(?:and|then) )?(?:the )?[\w-]+(?: [\w-]+)? next[.!]$"
    r"|.*\b(?:(?:is|are|comes?) (?:up )?next|(?:will|to) be \w+ next"
    r"|(?:\d+|one|two|three|four|five|six|a few|several)(?: more| left)?(?: [a-z]+s)? to go)"
    r"(?:[.!:]?$|, then |: )"
    r"|(?:that's|that is|this is|those are|these are) (?:the|my) next (?:\w+ )?"
    r"(?:thing|step|task|item|change|fix|one)(?:s|es)?(?: on my list)?[.!]?$"
    r"|(?:that|this) (?:just |only )?leaves (?:only |just )?(?:the|code)(?: [\w-]+)?[.:]?$"
    rf"|(?:one|another|the) (?:more |last |other |final |only |next )?thing (?:left )?to {_ACTS}\b"
)
_BEGINS_WHAT_IS_LEFT: Final = ("that", "this ", "those ", "these ", "one ", "another ", "the ")
_ENDS_WHAT_IS_LEFT: Final = (" next.", " next", " next:")
_OF_SOMEBODY: Final = re.compile(r"\b(?:you|your|what|which|who|whatever|they|the team)\b")
_TITLE: Final = opening(
    r"(?:now )?(?:step|task|phase|fix|part|change|item|issue|comment) #?\d+(?:\.\d+)*"
    r"(?: ?(?:&|/|of) ?\d+)?"
    r" ?[:\u2014\u2013-] ?\w+"
)
_BECAUSE: Final = re.compile(r",? (?:so|because|since|until|before|you|i|we|they) ")
_VERBS: Final = one_of("""
    is, are, was, were, has, have, had, show, shows, take, takes, should, will, would, can, could,
    may, might, must, need, needs, require, requires, make, makes, give, gives, let, lets, mean,
    means, help, helps, work, works, keep, keeps, cost, costs, does, did, do, depends, seems,
    lead, leads, cause, causes, allow, allows, ensure, ensures, improve, improves, reduces,
    prevents, avoids, fixes, remains, uses, goes, feels, becomes, enables, disables, opens, returns,
    creates, removes, adds, increases, speeds, breaks, saves, solves, resolves, sets, gets, puts,
    brings, happens, brought, took, made, gave, went, got, came, became, left, broke, led, kept,
    meant, showed, did, proved, won't, doesn't, isn't, aren't, can't, cannot, wouldn't, didn't
""")
_STATES: Final = _SIGNS.whole(_VERBS)
_VERB: Final = re.compile(rf"\b{_VERBS}\b")
# A clause of its own has a verb of its own; one more is the verb of the whole: "checking which
# one is set took a minute".
_CLAUSE: Final = re.compile(r" (?:how|what|whether|why|where|which|who|if|when) ")
_ONWARDS: Final = rf"\b(?:{_WILL}|i can(?: now)?|need to|i'm) {_ADVERBS}"
_VAGUE: Final = _SIGNS.add(
    rf"{_ONWARDS}(?:continu|proceed|resum|carry|go|mov|keep|press)",
    # To proceed with something names the act; to proceed, or to the next step, names none.
    exactly=rf"{_ONWARDS}(?:continu|proceed(?!(?:ing)? (?:with (?:the|your|this|these|both)\b"
    r"|to (?!the\b)))|resum|carry(?:ing)? on|go(?:ing)? on|mov(?:e|ing) on|keep(?:ing)? going"
    r"|press(?:ing)? on)",
)
# Whoever thinks something over in a list has done so at its end.
_THINKS: Final = re.compile(
    r"\b(?:let's|let us|analy[sz]e|think|review|look|see|check|examine|compare|trace|verify|confirm"
    r"|understand|evaluate|assess|list|identify|reason|note|recommend|suggest|use|try)\b"
)
_TO_DO: Final = re.compile(
    r"\b(?:i (?:\w+ )?(?:need|have|want|plan|intend) to|i'll|i will|(?:i'm|i am) going to"
    r"|(?:here's|here is|this is) (?:my|the) plan|^(?:my |the )?plan(?: is(?: to)?)?) ?:$"
)
# What "we" do, or what is next to do, may be anybody's; "let's" is the writer's own word for it.
_OWN: Final = _SIGNS.add(r"\bi(?:$|[^'\w])|\b(?:i'll|let me|let's|lemme|let us|step|me)\b")
_MINE: Final = re.compile(r"\b(?:i(?!')|i'll|let me|lemme|me)\b")
# What depends on something else first, or is meant for another day, is not the next act.
_LATER: Final = _SIGNS.add(
    r"^(?:(?:and|but|then|so|also)[, ]+)?(?:once|when|whenever|if|should|in case|unless|until"
    r"|otherwise)\b"
    r"|\b(?:as soon as|(?:i|i'll|will|we) always|from now on|going forward|next time|i hope"
    r"|tomorrow|tonight|on every|as (?:they|it) (?:comes?|arrives?)"
    r"|(?:every|each) (?:time|day|week|month|morning|hour|run|commit|push|build|release|session)"
    r"|in (?:the )?future|future (?:runs?|sessions?|messages?|replies|responses|requests?|chats?"
    r"|conversations?)|next (?:week|month|year|quarter|sprint|release|version|chapter|section"
    r"|lesson|episode|article|session))\b"
    r"|\bif (?:we|you) (?:want|need|like|decide|choose)\b"
    r"|\b(?:will|to|can|would|could|this|that|which) let (?:us|me)\b"
)
# What sums up tells what is left, and not what is done next.
_LABEL: Final = re.compile(
    r"(?:in )?(?:summary|conclusion|status|note|outcome|tl;?dr|bottom line|what's next|next steps?"
    r"|roadmap|outlook|future work|follow-?ups?|(?:known )?limitations?) ?:"
)
# A closing remark on the act that the sentence before announces.
_REMARK: Final = opening(
    one_of("""
    this, that, these, it, which, there, here, the, they, in particular, specifically, note that,
    for this, after that, afterwards, then, please wait,
    i (?:now |already )?have (?:all|everything|enough|what), please hold, please stand by,
    please bear, hold on, one moment, just a moment, stand by, give me
""")
)
# Where the next clause follows an announcement in the same line, a call stood between them.
_RUN_ON: Final = re.compile(
    r": (?=(?:I|It|We|There|This|That|Looks|Seems|Let|Since|Now|Next|Then|Also|Great|Good|Perfect"
    r"|OK|Okay)\b)"
)
_PATIENCE: Final = _SIGNS.add(
    r"\b(?:hold|wait|bear with me|moment|second|minute|stand by)\b.{0,20}\bwhile i\b"
)


def announced(closing: Closing) -> Announcement | None:
    """Return what a message announces at its end, if it does; not where it ends itself."""
    if closing.calls:
        return Announcement("", "it ends with a tool call written as text", Intent.ACT)
    if closing.only_thinks:
        return Announcement("", "it ends with its thoughts, nothing came of them", Intent.ACT)
    if closing.shows or not closing.sentences:
        return None
    last = closing.sentences[-1]
    found = (
        _from_last(last)
        or _from_before(closing.sentences)
        or _from_head(closing.sentences)
        or _from_steps(closing.sentences)
        or _from_form(closing)
    )
    if found is not None and _is_for_the_reader(found, closing.sentences):
        found = None
    is_unsure = found is None or found.kind is Intent.SHARED
    if is_unsure and counts_a_rest(closing.sentences, is_left=found is not None):
        found = Announcement(last.said, "it counts what is left to do", Intent.VAGUE)
    if found is not None and closing.is_open and _leaves_calls_out(closing.sentences):
        because = "its end announces an act, but it leaves out the calls that it made"
        return Announcement(last.said, because, Intent.SHARED)
    if closing.is_open and (found is None or found.kind is not Intent.ACT):
        because = "it breaks off where something must follow"
        return Announcement(last.said, because, Intent.OPEN_END)
    if found is not None and closing.shows_command and not _MINE.search(found.said.lower()):
        # The command stands there for whoever reads it: "let's install it" is said to them.
        return msgspec.structs.replace(found, kind=Intent.SHARED)
    return found


def ends_itself(closing: Closing) -> bool:
    """Tell whether a message announces that it hands in, concludes or sums up: that is the end."""
    if closing.ends_by_call:
        return True
    if closing.calls or not closing.sentences:
        return False
    plain = closing.sentences[-1].plain
    return (_ENDS.is_in(plain) and not _GOES_ON.is_in(plain)) or announces_its_end(plain)


def unsaid(closing: Closing) -> Announcement | None:
    """Return that nothing was said of what a tool gave, where that is so."""
    if closing.is_silent:
        return Announcement("", "nothing was said after the result of a tool", Intent.SILENCE)
    if closing.is_output:
        return Announcement("", "it holds nothing but a tool's output", Intent.SILENCE)
    return None


def _from_last(last: Sentence) -> Announcement | None:
    """Return what the last sentence announces."""
    acts = (
        _names_an_act(last)
        or (not last.is_item and _begins_an_act(last))
        or _AT_WORK.is_in(last.plain)
    )
    return _announcement(last) if acts and not _is_put_off(last) else None


def _from_before(sentences: tuple[Sentence, ...]) -> Announcement | None:
    """Return what the sentence before announces, where the last one only remarks on it."""
    if len(sentences) < 2:
        return None
    before, last = sentences[-2:]
    is_remark = not last.begins_line and (
        _REMARK.match(last.plain) is not None
        or asks_for_patience(last.plain)
        or remarks_on_it(last.plain)
        or wants_patience(last.plain)
    )
    acts = is_remark and _names_an_act(before)
    return _announcement(before) if acts and not _is_put_off(before) else None


def _leaves_calls_out(sentences: tuple[Sentence, ...]) -> bool:
    """Tell whether acts are announced and followed by what came of them, with no call to be seen.

    Exports of chats join what was said around calls into one text. Whether the last one was made
    cannot be told from it either.
    """
    return any(
        _FIRST_PERSON.is_in(head.lower())
        for each in sentences
        for head in _RUN_ON.split(each.said)[:-1]
    )


def _from_head(sentences: tuple[Sentence, ...]) -> Announcement | None:
    """Return what stands before a list at the end, where it announces what the list names."""
    head = head_of_list(sentences)
    if head is None or not head.plain.endswith((":", "\uff1a")) or _THINKS.search(head.plain):
        return None
    acts = _names_an_act(head) or _TO_DO.search(head.plain) is not None
    return _announcement(head) if acts and not _is_put_off(head) else None


def _from_steps(sentences: tuple[Sentence, ...]) -> Announcement | None:
    """Return what stands before the steps at the end, where their writer begins with them."""
    before = [each for each in sentences if not _TITLE.match(each.plain)]
    if not before or before[-1] is sentences[-1]:
        return None
    head = before[-1]
    return _announcement(head) if _names_an_act(head) and not _is_put_off(head) else None


def _from_form(closing: Closing) -> Announcement | None:
    """Return that the end looks ahead by its build, without saying who does what."""
    *before, last = closing.sentences
    if closing.is_half_ticked:
        return Announcement("", "its list has items that are not ticked", Intent.SHARED)
    if last.is_item or _is_put_off(last):
        return None
    ahead = (looks_ahead(last.plain) or leaves_work(last.plain)) or (
        (asks_for_patience(last.plain) or wants_patience(last.plain))
        and not any(_OF_SOMEBODY.search(each.plain) for each in before[-1:])
    )
    because = "its end says what is left to do"
    return Announcement(last.said, because, Intent.SHARED) if ahead else None


def _is_for_the_reader(found: Announcement, sentences: tuple[Sentence, ...]) -> bool:
    """Tell whether it sums up what is left, or is one of several steps that tell what to do."""
    if found.kind is Intent.SHARED and _is_labelled(sentences):
        return True
    steps = [each for each in sentences[-2:] if _TITLE.match(each.plain)]
    return len(steps) > 1 and found.said in {each.said for each in steps}


def _is_labelled(sentences: tuple[Sentence, ...]) -> bool:
    """Tell whether the last line says by its first word that it sums up."""
    first = next((each for each in reversed(sentences) if each.begins_line), sentences[0])
    return _LABEL.match(first.plain) is not None


def _is_put_off(sentence: Sentence) -> bool:
    return waits_for_a_person(sentence) or _LATER.is_in(sentence.plain)


def _names_an_act(sentence: Sentence) -> bool:
    plain = sentence.plain
    return (
        _FIRST_PERSON.is_in(plain)
        or _FARTHER_OFF.is_in(plain)
        or _PATIENCE.is_in(plain)
        or _AT_ITS_END.is_in(plain)
        or (_GOES_ON.is_in(plain) and _ENDS.is_in(plain))
        or announces_an_act(plain)
    )


def _begins_an_act(sentence: Sentence) -> bool:
    plain = sentence.plain
    if _NEXT_ACT.match(plain) or _NEED.match(plain) or _NEXT_UP.match(plain):
        return True
    if _says_what_is_left(plain):
        return True
    is_statement = plain.endswith((".", "!", "\u2026"))
    if _TITLE.match(plain):
        return not is_statement
    if not (is_statement and _is_about_an_act(plain)):
        return False
    # What comes of it, or why it is done, has verbs of its own.
    main, *clauses = _CLAUSE.split(_BECAUSE.split(plain, 1)[0])
    return not (
        _STATES.is_in(main)
        or _TOLD.is_in(main)
        or has_other_letters(main.rstrip("\u2026"))
        or any(len(_VERB.findall(clause)) > 1 for clause in clauses)
    )


def _is_about_an_act(plain: str) -> bool:
    if "ing" in plain and (
        _DOING.match(plain) or _OTHER_DOING.match(plain) or _ONE_WORD.match(plain)
    ):
        return True
    return plain.startswith(_BEFORE_AN_ACT) and (
        _OTHER_ACT.match(plain) is not None or _NEXT_PIECE.match(plain) is not None
    )


def _says_what_is_left(plain: str) -> bool:
    may_be = plain.startswith(_BEGINS_WHAT_IS_LEFT) or plain.endswith(_ENDS_WHAT_IS_LEFT)
    return (
        (may_be or " to go" in plain)
        and _LEFT.match(plain) is not None
        and _OF_SOMEBODY.search(plain) is None
    )


def _announcement(sentence: Sentence) -> Announcement:
    plain = sentence.plain
    if _VAGUE.is_in(plain):
        return Announcement(sentence.said, "it says that it goes on", Intent.VAGUE)
    if _is_less_sure(plain):
        return Announcement(sentence.said, "its end says what is left to do", Intent.SHARED)
    return Announcement(sentence.said, "its end announces the next act", Intent.ACT)


def _is_less_sure(plain: str) -> bool:
    """Tell whether what is announced may be somebody else's to do, or done already."""
    return not (
        _OWN.is_in(plain)
        or _AT_IT.is_in(plain)
        or _DOING.match(plain)
        or _TITLE.match(plain)
        or _AT_ITS_END.is_in(plain)
        or announces_an_act(plain)
    )
