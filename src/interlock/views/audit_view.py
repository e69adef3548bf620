"""An audit for people: its result in a sentence, its figures, and the moments to look at.

Everything is worked out here once; a terminal, the console and a file only lay it out.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from interlock.model.audit import Audit, Mark, Marked, Moment, MomentKind
from interlock.model.past_run import place_of
from interlock.views import units

_MOST_WORST: Final = 10
_MOST_LOOPS: Final = 5
_MOST_OTHERS: Final = 5
_MOST_EARLY: Final = 3
MOST_RULES: Final = 6
_DAY: Final = 86_400_000_000
_PERIODS: Final = (
    (700, 365.25, "year"),
    (84, 30.44, "month"),
    (14, 7, "week"),
    (1, 1, "day"),
    (1 / 24, 1 / 24, "hour"),
    (1 / 1440, 1 / 1440, "minute"),
)
"""From so many days on, how many days are one, and its name."""
_LEAST_SHORT: Final = 6
LEAST_MARKS: Final = 20
"""Fewer marks make no percentage."""
_RARE: Final = 5
"""What is more frequent is told as it was counted: one of two is not the same as two of five."""
_WORDS: Final = {"block": "deny", "require-confirmation": "ask"}
_NUMBERS: Final = "no one two three four five six seven eight nine ten".split()
UNKNOWN: Final = "unknown"
_UNSAID: Final = "sessions silent on failing tests"


class Figure(NamedTuple):
    """A figure, and what it is to be seen against."""

    label: str
    value: str
    note: str
    tone: str = ""
    exact: str = ""


class AuditedMoment(msgspec.Struct, frozen=True, kw_only=True):
    """A moment in the words of a page."""

    moment: Moment
    short: str
    """The beginning of its id that no other of this audit shares."""
    word: str
    """allow, warn, ask, deny; or pause, stop, continue; or ended, with failing tests."""
    project: str
    session: str
    """Which of a project's, as short as people know it."""
    when: str
    """A day; empty where it is not known."""
    place: str
    """Where it stands in the transcript, such as `path:12`."""
    marked: Marked | None

    @property
    def why(self) -> str:
        """Why it is told; of a call that ran in vain, that as well."""
        return f"{self.moment.why} (it failed)" if self.moment.failed else self.moment.why

    @property
    def then(self) -> str:
        """What came of a turn that ended too early."""
        typed = f", until a person typed “{self.moment.then}”" if self.moment.then else ""
        return f"then nothing{typed}"

    @property
    def about(self) -> str:
        """Where and when, in one line."""
        return " · ".join(filter(None, (self.project, f"session {self.session}", self.when)))


class Listed(msgspec.Struct, frozen=True, kw_only=True):
    """The moments of a kind: those to show at once, the others, and how many were not kept."""

    first: tuple[AuditedMoment, ...]
    more: tuple[AuditedMoment, ...]
    unlisted: int

    @property
    def every(self) -> tuple[AuditedMoment, ...]:
        """All that were kept."""
        return self.first + self.more

    @property
    def count(self) -> int:
        """How many there are in all."""
        return len(self.every) + self.unlisted


class RuleShare(NamedTuple):
    """A rule, how many calls it would have had asked about or denied, and which part of all."""

    rule: str
    calls: int
    share: float


class AuditView(msgspec.Struct, frozen=True, kw_only=True):
    """An audit, ready to be shown."""

    id: str
    at: int
    when: str
    heading: str
    summary: str
    policy_hash: str
    version: str
    figures: tuple[Figure, ...]
    worst: Listed
    """What ran: the ten most worrying moments, then the other calls."""
    calls: Listed
    """The calls alone, each of them once."""
    secrets: Listed
    loops: Listed
    other_loops: str
    """What the loops come to that are not shown at once."""
    early: Listed
    early_in: str
    """How many turns in how many sessions."""
    false_done: Listed
    false_done_in: str
    asked: str
    """How many questions in how many calls; empty where none could be judged."""
    asked_daily: str
    asked_by: str
    """Which part of them the first rules make."""
    rules: tuple[RuleShare, ...]
    other_rules: str
    facts: tuple[tuple[str, str], ...]
    """How it was measured; code stands in backticks."""
    unread: tuple[str, ...]
    unread_count: int
    moments: int
    """How many were kept."""
    marks: str
    """What people thought of the moments so far."""

    @property
    def kinds(self) -> Mapping[MomentKind, Listed]:
        """The moments of each kind: every kept one stands here once."""
        return {
            MomentKind.ACTION: self.calls,
            MomentKind.SECRET: self.secrets,
            MomentKind.LOOP: self.loops,
            MomentKind.EARLY_STOP: self.early,
            MomentKind.FALSE_DONE: self.false_done,
        }

    @property
    def unkept(self) -> int:
        """How many moments were counted and not kept."""
        return sum(each.unlisted for each in self.kinds.values())


def audit_view(audit: Audit, marks: Mapping[str, Marked]) -> AuditView:
    """Return an audit as pages show it, with what people thought of its moments."""
    lists = _Lists(audit, marks)
    first = lists.of(MomentKind.LOOP, most=_MOST_LOOPS)
    early = lists.of(MomentKind.EARLY_STOP, most=_MOST_EARLY)
    false_done = lists.of(MomentKind.FALSE_DONE, most=_MOST_OTHERS)
    return AuditView(
        id=audit.id,
        at=audit.at,
        when=minute(audit.at),
        heading=heading(audit, wrong=_wrongly_told(audit, marks)),
        summary=_summary(audit),
        policy_hash=audit.policy_hash,
        version=audit.version,
        figures=tuple(_figures(audit)),
        worst=lists.worst(),
        calls=lists.of(MomentKind.ACTION, most=_MOST_WORST),
        secrets=lists.of(MomentKind.SECRET, most=_MOST_OTHERS),
        loops=first,
        other_loops=_other_loops(audit, first),
        early=early,
        early_in=_turns_in(early, audit.early),
        false_done=false_done,
        false_done_in=_turns_in(false_done, audit.false_done),
        asked=_questions(audit),
        asked_daily=_daily(audit),
        asked_by=_asked_by(audit),
        rules=tuple(_rules(audit)),
        other_rules=_other_rules(audit),
        facts=tuple(_facts(audit)),
        unread=tuple(f"{units.from_home(each.place)}: {each.reason}" for each in audit.unread),
        unread_count=max(audit.unread_count, len(audit.unread)),
        moments=len(audit.moments),
        marks=_marks_text(audit, marks),
    )


def _turns_in(listed: Listed, sessions: int) -> str:
    return f"{units.counted(listed.count, 'turn')} in {units.counted(sessions, 'session')}"


def went_on(audit: Audit) -> int:
    """Return how many steps a session went on for after it would have been held, on average."""
    loops = (each for each in audit.moments if each.kind is MomentKind.LOOP)
    further = [each.steps - each.step for each in loops if each.steps > each.step]
    return round(sum(further) / len(further)) if further else 0


# The result in a sentence.


def heading(audit: Audit, *, wrong: int = 0) -> str:
    """Return what an audit comes to, in a sentence or two; so many deeds were marked wrong."""
    if not audit.runs:
        return "No past session was found."
    return f"{_deeds(audit, wrong)} {_circles(audit)}"


def _wrongly_told(audit: Audit, marks: Mapping[str, Marked]) -> int:
    """Return how many calls people found wrong to be told of."""
    return len(
        {
            (each.path, each.run, each.step)
            for each in audit.moments
            if each.kind in (MomentKind.ACTION, MomentKind.SECRET)
            and each.id in marks
            and marks[each.id].mark is Mark.WRONG
        }
    )


def _deeds(audit: Audit, wrong: int) -> str:
    lasted = period(audit)
    began = f"In {lasted or units.counted(audit.runs, 'session')}"
    count = _denied(audit) + _asked(audit)
    if count:
        things = units.counted(count, "thing")
        marked = f"; you marked {wrong:,} of them wrong" if wrong else ""
        return (
            f"{began} your agents did {things} that nobody was asked about"
            f" and somebody should have been{marked}."
        )
    if audit.judged:
        return f"{began} your agents did nothing that somebody should have been asked about."
    return f"{began} no call of your agents could be judged."


def _circles(audit: Audit) -> str:
    looped, runs = audit.looped, audit.runs
    if runs == 1:
        return f"The session {'went' if looped else 'did not go'} round in circles."
    if not looped:
        return "No session went round in circles."
    if looped == runs:
        return "Every session went round in circles."
    one_in = (2 * runs + looped) // (2 * looped)
    who = f"1 session in {one_in:,}" if one_in > 1 else f"{looped:,} of {runs:,} sessions"
    return f"{who} went round in circles."


def period(audit: Audit) -> str:
    """Return how long the audited time is, such as `6 weeks`; empty where it is not known."""
    days = _days(audit)
    if days is None:
        return ""
    for least, long, noun in _PERIODS:
        if days >= least:
            return units.counted(round(days / long), noun)
    return "less than a minute"


def _days(audit: Audit) -> float | None:
    if audit.began_at is None or audit.ended_at is None:
        return None
    return max(0, audit.ended_at - audit.began_at) / _DAY


def _summary(audit: Audit) -> str:
    clients = len(audit.clients)
    of = f" of {_number(clients)} {'client' if clients == 1 else 'clients'}" if clients else ""
    spent = f", {units.tokens(audit.tokens)} tokens, {_spent(audit)}" if audit.tokens else ""
    return (
        f"{units.counted(audit.runs, 'session')}{of}, {units.counted(audit.calls, 'call')}{spent},"
        " read from their own histories. Nothing was run, nothing left this machine."
    )


def _number(count: int) -> str:
    return _NUMBERS[count] if count < len(_NUMBERS) else f"{count:,}"


def _spent(audit: Audit) -> str:
    return _price(audit.micro_usd, audit.tokens, is_part=bool(audit.unpriced))


def _price(micros: int, tokens: int, *, is_part: bool) -> str:
    """Return what tokens cost; of some or all of them nobody may know it."""
    if not tokens:
        return "no cost"
    if not micros:
        return "cost unknown"
    return f"{'at least' if is_part else 'about'} {_dollars(micros)}"


def _dollars(micros: int) -> str:
    if micros < 10_000:
        return units.dollars(micros)
    return f"${micros / 1_000_000:,.{0 if micros >= 10_000_000 else 2}f}"


# The figures.


def _denied(audit: Audit) -> int:
    return audit.decisions.get("block", 0)


def _asked(audit: Audit) -> int:
    return audit.decisions.get("require-confirmation", 0)


def _figures(audit: Audit) -> Iterator[Figure]:
    for label, count, tone in (
        ("would have been denied", _denied(audit), "block"),
        ("would have asked you", _asked(audit), "ask"),
    ):
        note = _share_of_calls(count, audit.judged)
        value = f"{count:,}" if audit.judged else UNKNOWN
        yield Figure(label, value, note, tone if count else "")
    yield Figure("sessions that looped", f"{audit.looped:,}", f"of {audit.runs:,}")
    yield _burnt(audit)
    early = audit.counts.get(MomentKind.EARLY_STOP, 0)
    yield Figure("turns stopped half-way", f"{early:,}", "announced work, did none")
    if audit.tested:
        note = f"of {audit.tested:,} that ran tests"
        yield Figure(_UNSAID, f"{audit.false_done:,}", note)
    else:
        yield Figure(_UNSAID, UNKNOWN, "no session ran tests")


def _burnt(audit: Audit) -> Figure:
    label = "tokens burnt in loops"
    if not audit.tokens:
        return Figure(label, UNKNOWN, "no history tells its tokens")
    if audit.looped and not audit.burnt:
        return Figure(label, UNKNOWN, "those sessions do not tell their tokens")
    if not audit.burnt:
        return Figure(label, "0", f"of {units.tokens(audit.tokens)}")
    cost = _price(audit.burnt_micro_usd, audit.burnt, is_part=bool(audit.unpriced))
    note = f"{_percent(audit.burnt / audit.tokens)} of all, {cost}"
    return Figure(label, units.tokens(audit.burnt), note, exact=f"{audit.burnt:,}")


def _share_of_calls(count: int, judged: int) -> str:
    """Return how many calls that is, of those that could be judged."""
    if not judged:
        return "no call could be judged"
    if judged >= units.LEAST_CALLS:
        return f"{_per_thousand(count, judged)} per 1,000 calls"
    one_in = round(judged / count) if count else 0
    calls = units.counted(judged, "call")
    return f"1 in {one_in:,} calls" if one_in >= _RARE else f"of {calls}"


def _questions(audit: Audit) -> str:
    count, judged = _asked(audit), audit.judged
    if judged >= units.LEAST_CALLS:
        return f"{_per_thousand(count, judged)} questions per 1,000 calls"
    calls = units.counted(judged, "call")
    return f"{units.counted(count, 'question')} in {calls}" if judged else ""


def _per_thousand(count: int, judged: int) -> str:
    rate = 1000 * count / judged
    return f"{rate:,.1f}" if rate >= 0.05 or not count else "fewer than 0.1"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 1 or not percent else "less than 1 %"


def _daily(audit: Audit) -> str:
    days = _days(audit)
    if days is None or not audit.judged:
        return ""
    return f"about {_asked(audit) / max(1.0, days):,.1f} a day"


def _ranked(audit: Audit) -> Sequence[tuple[str, int]]:
    return sorted(audit.rules.items(), key=lambda item: (-item[1], item[0]))


def _rules(audit: Audit) -> Iterator[RuleShare]:
    whole = sum(audit.rules.values()) or 1
    for rule, count in _ranked(audit)[:MOST_RULES]:
        yield RuleShare(rule, count, count / whole)


def _asked_by(audit: Audit) -> str:
    shares = tuple(_rules(audit))
    if not shares:
        return ""
    if len(audit.rules) <= MOST_RULES:
        return "One rule asks or denies:" if len(shares) == 1 else "These rules ask or deny:"
    part = _percent(sum(each.share for each in shares))
    those = f"{_number(len(shares)).capitalize()} rules make {part} of all questions and denials"
    return f"{those}; a call can break several:"


def _other_rules(audit: Audit) -> str:
    others = _ranked(audit)[MOST_RULES:]
    calls = units.counted(sum(count for _, count in others), "call")
    return f"{units.counted(len(others), 'more rule')}, {calls}" if others else ""


# The moments.


class _Lists:
    """Makes lists of an audit's moments."""

    def __init__(self, audit: Audit, marks: Mapping[str, Marked]) -> None:
        self._audit = audit
        self._marks = marks
        self._short = short_ids(each.id for each in audit.moments)
        self._year = time.gmtime(audit.at // 1_000_000).tm_year

    def of(self, kind: MomentKind, *, most: int) -> Listed:
        """Return the moments of a kind."""
        found = [each for each in self._audit.moments if each.kind is kind]
        return self._listed(found, most, self._audit.counts.get(kind, 0))

    def worst(self) -> Listed:
        """Return what ran, the worst first; a credential is told once, with its call."""
        ran = (MomentKind.ACTION, MomentKind.SECRET)
        places: set[tuple[str, str, int]] = set()
        found: list[Moment] = []
        for each in self._audit.moments:
            place = (each.path, each.run, each.step)
            is_more = len(found) >= _MOST_WORST
            if each.kind in (ran[:1] if is_more else ran) and place not in places:
                found.append(each)
                places.add(place)
        unkept = self._audit.counts.get(MomentKind.ACTION, 0) - sum(
            each.kind is MomentKind.ACTION for each in self._audit.moments
        )
        return self._listed(found, _MOST_WORST, len(found) + max(0, unkept))

    def _listed(self, found: Sequence[Moment], most: int, count: int) -> Listed:
        shown = tuple(map(self._moment, found))
        return Listed(first=shown[:most], more=shown[most:], unlisted=max(0, count - len(found)))

    def _moment(self, moment: Moment) -> AuditedMoment:
        return AuditedMoment(
            moment=moment,
            short=self._short[moment.id],
            word=_word(moment),
            project=_short(moment.project or moment.client),
            session=units.session(moment.run),
            when="" if moment.at is None else _day(moment.at, self._year),
            place=units.from_home(place_of(moment.path, moment.line)),
            marked=self._marks.get(moment.id),
        )


def short_ids(ids: Iterable[str]) -> Mapping[str, str]:
    """Return of each id a beginning that tells it from the others, all of one length."""
    known = frozenset(ids)
    longest = max(map(len, known), default=_LEAST_SHORT)
    for long in range(_LEAST_SHORT, longest):
        if len({each[:long] for each in known}) == len(known):
            return {each: each[:long] for each in known}
    return {each: each for each in known}


def _word(moment: Moment) -> str:
    if moment.kind is MomentKind.FALSE_DONE:
        return "ended"
    return _WORDS.get(moment.decision, moment.decision)


def _short(name: str) -> str:
    longest = units.LONGEST_NAME
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _day(at: int, year: int) -> str:
    found = time.gmtime(at // 1_000_000)
    return time.strftime("%-d %B" if found.tm_year == year else "%-d %B %Y", found)


def minute(at: int) -> str:
    """Return a point in time as a page's head tells it."""
    return time.strftime("%-d %B %Y, %H:%M UTC", time.gmtime(at // 1_000_000))


def _other_loops(audit: Audit, loops: Listed) -> str:
    others = loops.count - len(loops.first)
    if not others:
        return ""
    left = audit.burnt - sum(each.moment.tokens for each in loops.first)
    burnt = f", {units.tokens(left)} tokens" if left > 0 else ""
    return f"{units.counted(others, 'more loop')}{burnt}"


# How it was measured.


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    sessions, files = units.counted(audit.runs, "session"), units.counted(audit.files, "file")
    yield "read", f"{sessions} in {files}, {units.size(audit.size)}"
    for place in audit.places:
        count = f"{units.counted(place.files, 'file')}, {units.size(place.size)}"
        yield "from", f"{place.client}: `{units.from_home(place.path)}`, {count}"
    if audit.clients:
        yield "sessions", ", ".join(f"{name} {runs:,}" for name, runs in audit.clients.items())
    if audit.began_at is not None and audit.ended_at is not None:
        yield "between", f"{_full_day(audit.began_at)} and {_full_day(audit.ended_at)}"
    if audit.judged < audit.calls:
        others = units.counted(audit.calls - audit.judged, "call")
        yield (
            "judged",
            f"{audit.judged:,} of {audit.calls:,} calls; too little is known of {others}",
        )
    else:
        yield "judged", units.counted(audit.judged, "call")
    yield "spent", _spent_fact(audit)
    yield "policy", f"`{audit.policy_hash[:16]}`"
    yield "by", f"Interlock {audit.version}"
    for sentence in audit.unknown:
        yield "not known", sentence


def _full_day(at: int) -> str:
    return time.strftime("%-d %B %Y", time.gmtime(at // 1_000_000))


def _spent_fact(audit: Audit) -> str:
    if not audit.tokens:
        return "unknown: no history tells its tokens"
    unpriced = f"; no price is known of {units.tokens(audit.unpriced)}" if audit.unpriced else ""
    return f"{units.tokens(audit.tokens)} tokens, {_spent(audit)}{unpriced}"


def _marks_text(audit: Audit, marks: Mapping[str, Marked]) -> str:
    given = [marks[each.id].mark for each in audit.moments if each.id in marks]
    if not given:
        return "unknown until you mark some"
    wrong = given.count(Mark.WRONG)
    share = f"{_percent(wrong / len(given))}: " if len(given) >= LEAST_MARKS else ""
    return f"{share}{wrong:,} of {len(given):,} marked wrong"
