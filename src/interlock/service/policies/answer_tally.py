"""Answers of two policies to the same questions, counted; counts of parts can be added up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from interlock.model.past_run import Unread
from interlock.model.policy_comparison import (
    AnswerCount,
    AnswerKind,
    ChangedAnswer,
    HeldRuns,
    RuleCount,
    SimulatedSide,
    Simulation,
    TurnAnswer,
    Went,
)
from interlock.model.recommendation import Evidence, SimulatedEffect
from interlock.model.step import StepDecision
from interlock.model.verdict import Decision, Ranked
from interlock.policy.config.complaints import one_line

_MOST_EXAMPLES: Final = 10
_MOST_SHOWN: Final = 3
"""So many of those that change alike."""
_MOST_UNREAD: Final = 20
_LONGEST_TEXT: Final = 400
_ASKS: Final = {
    AnswerKind.ACTION: Decision.REQUIRE_CONFIRMATION,
    AnswerKind.STEP: StepDecision.PAUSE,
    AnswerKind.STOP: TurnAnswer.PAUSE,
}
"""What has a person say something."""
_FORBIDS: Final = {
    AnswerKind.ACTION: Decision.BLOCK,
    AnswerKind.STEP: StepDecision.STOP,
    AnswerKind.STOP: TurnAnswer.STOP,
}
_HOLDS: Final = frozenset(
    (kind, each[kind]) for kind in (AnswerKind.STEP, AnswerKind.STOP) for each in (_ASKS, _FORBIDS)
)
"""What holds the run itself."""
_BEFORE: Final = 0
_AFTER: Final = 1


class Said(NamedTuple):
    """What one policy answers, and what that hangs on."""

    answer: Ranked
    because: tuple[tuple[str, int], ...] = ()
    """Rules, checks or signals, each with its weight: for rules, the rank of their decision."""


class Place(NamedTuple):
    """Where an answer is to be found."""

    run: str
    seq: int | None = None
    path: str | None = None
    line: int | None = None


class RunMark(NamedTuple):
    """How a run ended, and which of the two policies would have held it."""

    went: Went
    before: bool
    after: bool


class Used(NamedTuple):
    """What a model used."""

    tokens: int = 0
    micro_usd: int = 0
    unpriced: int = 0

    def plus(self, other: Used) -> Used:
        """Return both together."""
        return Used(*map(sum, zip(self, other, strict=True)))


class Tally(msgspec.Struct, kw_only=True):
    """What was counted so far."""

    answers: Counter[tuple[AnswerKind, Ranked, Ranked]] = msgspec.field(default_factory=Counter)
    """By kind, the first policy's answer and the second's."""
    rules: Counter[tuple[str, bool]] = msgspec.field(default_factory=Counter)
    """By name, and whether the change is to the stricter answer."""
    runs: Counter[RunMark] = msgspec.field(default_factory=Counter)
    used: dict[tuple[int, Went], Used] = msgspec.field(default_factory=dict)
    """After the first pause or stop, by whose, and by how the run ended."""
    examples: list[ChangedAnswer] = msgspec.field(default_factory=list)
    """The first of all answers that change alike, in their order."""
    unread: list[Unread] = msgspec.field(default_factory=list)
    unread_count: int = 0

    def add(self, other: Tally) -> None:
        """Add what was counted elsewhere, of later runs."""
        self.answers.update(other.answers)
        self.rules.update(other.rules)
        self.runs.update(other.runs)
        for key, used in other.used.items():
            self.used[key] = self.used.get(key, Used()).plus(used)
        self.examples = [*_first(_MOST_EXAMPLES, [*self.examples, *other.examples])]
        self.unread = [*self.unread, *other.unread][:_MOST_UNREAD]
        self.unread_count += other.unread_count

    def note_unread(self, unread: Unread) -> None:
        """Note what could not be read."""
        self.unread_count += 1
        self.unread = [*self.unread, unread][:_MOST_UNREAD]

    def effect(self) -> SimulatedEffect:
        """Return in short what would have been different in recorded runs."""
        changed = [(*key, count) for key, count in self.answers.items() if key[1] != key[2]]
        return SimulatedEffect(
            runs=self.runs.total(),
            answers=self.answers.total(),
            changed=sum(count for *_, count in changed),
            confirmations_spared=_fewer(_ASKS, changed),
            blocks_lost=_fewer(_FORBIDS, changed),
            examples=tuple(
                Evidence(run=each.run, seq=each.seq or 0) for each in self.examples[:_MOST_EXAMPLES]
            ),
        )

    def told(self, before: tuple[str, str | None], after: tuple[str, str | None]) -> Simulation:
        """Return all of it, under the names and hashes of both policies."""
        counts = tuple(
            AnswerCount(
                kind=kind,
                before=one.value,
                after=other.value,
                count=count,
                stricter=other.rank > one.rank,
            )
            for (kind, one, other), count in sorted(self.answers.items(), key=_in_order)
        )
        changes = [each for each in counts if each.is_changed]
        stricter = sum(each.count for each in changes if each.stricter)
        changed = sum(each.count for each in changes)
        went = Counter[Went]()
        for mark, count in self.runs.items():
            went[mark.went] += count
        return Simulation(
            runs=self.runs.total(),
            well=went[Went.WELL],
            badly=went[Went.BADLY],
            answers=self.answers.total(),
            changed=changed,
            stricter=stricter,
            looser=changed - stricter,
            interrupted=self.runs[RunMark(Went.WELL, before=False, after=True)],
            released=self.runs[RunMark(Went.WELL, before=True, after=False)],
            before=self._side(_BEFORE, *before),
            after=self._side(_AFTER, *after),
            counts=counts,
            rules=tuple(self._rules()),
            examples=tuple(_first(_MOST_SHOWN, self.examples)),
            unread=tuple(self.unread),
            unread_count=self.unread_count,
        )

    def _side(self, side: int, name: str, policy_hash: str | None) -> SimulatedSide:
        said = Counter[Ranked]()
        for (kind, *both), count in self.answers.items():
            if kind is AnswerKind.ACTION:
                said[both[side]] += count
        calls, asked = said.total(), said[Decision.REQUIRE_CONFIRMATION]
        return SimulatedSide(
            policy=name,
            hash=policy_hash,
            confirmations=asked,
            confirmations_per_thousand=round(1000 * asked / calls, 1) if calls else None,
            denials=said[Decision.BLOCK],
            held=tuple(self._held(side, went) for went in Went),
        )

    def _held(self, side: int, went: Went) -> HeldRuns:
        used = self.used.get((side, went), Used())
        return HeldRuns(
            went=went,
            runs=sum(n for mark, n in self.runs.items() if mark.went is went and mark[1 + side]),
            tokens=used.tokens,
            micro_usd=used.micro_usd,
            unpriced_tokens=used.unpriced,
        )

    def _rules(self) -> Iterable[RuleCount]:
        found = [
            RuleCount(rule=rule, stricter=self.rules[rule, True], looser=self.rules[rule, False])
            for rule in {rule for rule, _ in self.rules}
        ]
        return sorted(found, key=lambda each: (-each.stricter - each.looser, each.rule))


class RunTally:
    """Counts the answers of one run."""

    def __init__(self) -> None:
        self.tally = Tally()
        self.went = Went.UNKNOWN
        self._held = [False, False]
        self._used = [Used(), Used()]

    def compare(
        self, kind: AnswerKind, before: Said, after: Said, place: Place, text: Callable[[], str]
    ) -> None:
        """Count both answers to one question; `text` is asked for where it is shown."""
        self.tally.answers[kind, before.answer, after.answer] += 1
        for side, said in enumerate((before, after)):
            self._held[side] |= (kind, said.answer) in _HOLDS
        if before.answer == after.answer:
            return
        rules = responsible(before, after)
        is_stricter = after.answer.rank > before.answer.rank
        self.tally.rules.update((rule, is_stricter) for rule in rules)
        alike = self.tally.answers[kind, before.answer, after.answer]
        if alike <= _MOST_EXAMPLES:
            self.tally.examples.append(
                ChangedAnswer(
                    kind=kind,
                    before=before.answer.value,
                    after=after.answer.value,
                    rules=rules,
                    text=one_line(text(), _LONGEST_TEXT),
                    **place._asdict(),
                )
            )

    def spend(self, used: Used) -> None:
        """Count what a model used, for whoever would have held the run before."""
        for side, is_held in enumerate(self._held):
            if is_held:
                self._used[side] = self._used[side].plus(used)

    def close(self) -> Tally:
        """Return what it came to; a run that had nothing to decide is none."""
        if self.tally.answers:
            self.tally.runs[RunMark(self.went, *self._held)] += 1
            for side, used in enumerate(self._used):
                self.tally.used[side, self.went] = used
        return self.tally


def responsible(before: Said, after: Said) -> tuple[str, ...]:
    """Return what the difference hangs on: what weighs another thing now and reaches so far.

    Where nothing does, as where a policy stops to observe only, it is all that reaches so far.
    """
    mild, strict = sorted((before, after), key=lambda each: each.answer.rank)
    differing = set(before.because) ^ set(after.because)
    if isinstance(strict.answer, TurnAnswer):
        found = differing or {*strict.because}
    else:
        reaching = {
            each for each in {*before.because, *after.because} if each[1] > mild.answer.rank
        }
        found = reaching & differing or reaching
    return tuple(sorted({name for name, _ in found}))


def _fewer(
    worst: Mapping[AnswerKind, Ranked], changed: Iterable[tuple[AnswerKind, Ranked, Ranked, int]]
) -> int:
    """Return how many answers of this kind become milder."""
    return sum(
        count
        for kind, before, after, count in changed
        if before == worst[kind] and after.rank < before.rank
    )


def _first(most: int, examples: Iterable[ChangedAnswer]) -> Iterator[ChangedAnswer]:
    """Yield the first of those that change alike."""
    seen: Counter[tuple[AnswerKind, str, str]] = Counter()
    for each in examples:
        alike = each.kind, each.before, each.after
        seen[alike] += 1
        if seen[alike] <= most:
            yield each


def _in_order(item: tuple[tuple[AnswerKind, Ranked, Ranked], int]) -> tuple[int, int, int]:
    (kind, before, after), _ = item
    return list(AnswerKind).index(kind), before.rank, after.rank
