"""What does a finished run teach? Its records, counted by what they were about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, assert_never

import msgspec

from interlock.model import events
from interlock.model.approval import ApprovalState, Subject
from interlock.model.arbitration import Authority
from interlock.model.recommendation import (
    Evidence,
    Retrospective,
    RetrospectiveEntry,
    RetrospectiveKind,
)
from interlock.model.run import RunState
from interlock.model.step import ContinueDecision, StepCode, StepContext, StepDecision
from interlock.model.verdict import Decision, Finding
from interlock.policy.config.complaints import one_line
from interlock.policy.reviews.review_gate import claims_success
from interlock.policy.steps.step_figures import sure_rework

MOST_ENTRIES: Final = 20
"""How many entries of one kind a retrospective has."""
MOST_EVIDENCE: Final = 5
_LONGEST_NAME: Final = 120
_MOST_PERCENT: Final = 1_000_000
_KINDS: Final = {
    StepDecision.THROTTLE: RetrospectiveKind.THROTTLED,
    StepDecision.PAUSE: RetrospectiveKind.PAUSED,
    StepDecision.STOP: RetrospectiveKind.STOPPED,
}


def retrospective_of(state: RunState, records: Iterable[events.Record]) -> Retrospective:
    """Return what became of a run; `state` is what its records come to."""
    counts = _Counts()
    for record in records:
        counts.add(record)
    outcome = state.outcome or ""
    return Retrospective(
        run=state.id,
        project=state.project,
        outcome=outcome,
        went_well=claims_success(outcome) and state.report is not None and state.report.passed,
        actions=counts.actions,
        steps=state.control.steps,
        cost_micros=state.spent.cost_micros,
        tokens=state.spent.tokens,
        entries=tuple(counts.entries(state.id)),
    )


class _Subject(NamedTuple):
    """What is counted."""

    kind: RetrospectiveKind
    name: str
    gate: str = ""
    after: str = ""


class _Count(msgspec.Struct):
    """How often, and where that stands."""

    count: int = 0
    of: int = 0
    percent: int | None = None
    seqs: list[int] = []

    def exceed(self, percent: int | None) -> None:
        """Remember the highest figure."""
        if percent is not None:
            self.percent = max(percent, self.percent or 0)


class _Pause(NamedTuple):
    """The pause that the run is in."""

    approval: str | None
    codes: tuple[str, ...]


class _Counts:
    """Everything that is counted on the way through the records of a run."""

    def __init__(self) -> None:
        self.actions = 0
        self._answers = 0
        self._violations = 0
        self._counts: dict[_Subject, _Count] = {}
        self._asked: dict[str, tuple[tuple[str, str], ...]] = {}
        """The rules that each open question to a person is about, with their gates."""
        self._pause: _Pause | None = None
        self._lines = Counter[str]()
        self._ran_before = ""

    def add(self, record: events.Record) -> None:
        """Count one more record."""
        match record.event:
            case events.ActionJudged() as event:
                self._judged(event, record.seq)
            case events.ActionObserved() as event if event.outcome is not events.Outcome.NOT_RUN:
                self._observed(event, record.seq)
            case events.ApprovalOpened(subject=Subject.ACTION) as event:
                self._asked[event.id] = _rules(event.findings, Decision.REQUIRE_CONFIRMATION)
            case events.ApprovalDecided() as event:
                self._answered(event, record.seq)
            case events.StepJudged() as event if not event.held:
                self._stepped(event.context, event.decision, event.approval, record.seq)
            case events.StopJudged() as event if event.ruling.by is Authority.STEP:
                self._stepped(event.facts, event.step, event.approval, record.seq)
            case events.RunLifted():
                self._lifted(record.seq)
            case events.ViolationRecorded(rule=rule):
                self._violations += 1
                self._note(_Subject(RetrospectiveKind.VIOLATION, rule), record.seq)
            case _:
                pass

    def entries(self, run: str) -> Iterator[RetrospectiveEntry]:
        """Yield what counts most, kind by kind."""
        for rules in self._asked.values():
            # Whoever was asked and never answered did not say yes.
            self._ask(rules)
        for kind in RetrospectiveKind:
            own = sorted((each for each in self._counts.items() if each[0].kind is kind), key=_rank)
            for subject, counted in own[:MOST_ENTRIES]:
                yield _entry(run, subject, counted, self._of(subject))

    def _of(self, subject: _Subject) -> int:
        """Return what a count is out of."""
        match subject.kind:
            case RetrospectiveKind.BLOCKED:
                return self.actions
            case RetrospectiveKind.DENIED:
                asked = _Subject(RetrospectiveKind.CONFIRMED, subject.name, subject.gate)
                return self._counts[asked].of
            case RetrospectiveKind.REWORK:
                return self._lines[subject.name]
            case RetrospectiveKind.VIOLATION:
                return self._violations
            case RetrospectiveKind.THROTTLED | RetrospectiveKind.PAUSED | RetrospectiveKind.STOPPED:
                return self._answers
            case RetrospectiveKind.CONFIRMED | RetrospectiveKind.FAILED | RetrospectiveKind.LIFTED:
                return self._counts[subject].of
            case _:
                assert_never(subject.kind)

    def _judged(self, event: events.ActionJudged, seq: int) -> None:
        self.actions += 1
        if event.decision is Decision.BLOCK:
            for gate, rule in _rules(event.verdict.findings, Decision.BLOCK):
                self._note(_Subject(RetrospectiveKind.BLOCKED, rule, gate), seq)

    def _observed(self, event: events.ActionObserved, seq: int) -> None:
        tool, is_failure = event.tool, event.outcome is events.Outcome.FAILED
        subjects = [_Subject(RetrospectiveKind.FAILED, tool)]
        if self._ran_before:
            subjects.append(_Subject(RetrospectiveKind.FAILED, tool, after=self._ran_before))
        self._ran_before = tool
        for subject in subjects:
            self._count(subject).of += 1
            if is_failure:
                self._note(subject, seq)
        for change in event.changes:
            self._lines[change.path] += change.added + change.removed
            if change.rework:
                again = _Subject(RetrospectiveKind.REWORK, change.path)
                self._note(again, seq, times=change.rework)

    def _answered(self, event: events.ApprovalDecided, seq: int) -> None:
        rules = self._asked.pop(event.id, ())
        if event.state is not ApprovalState.CANCELLED:
            self._ask(rules)
        is_about_pause = self._pause is not None and self._pause.approval == event.id
        if event.state is ApprovalState.GRANTED:
            self._note_rules(RetrospectiveKind.CONFIRMED, rules, seq)
            if is_about_pause:
                self._lifted(seq)
        elif event.state is ApprovalState.DENIED:
            self._note_rules(RetrospectiveKind.DENIED, rules, seq)
            if is_about_pause:
                self._pause = None

    def _ask(self, rules: Iterable[tuple[str, str]]) -> None:
        for gate, rule in rules:
            self._count(_Subject(RetrospectiveKind.CONFIRMED, rule, gate)).of += 1

    def _note_rules(
        self, kind: RetrospectiveKind, rules: Iterable[tuple[str, str]], seq: int
    ) -> None:
        for gate, rule in rules:
            self._note(_Subject(kind, rule, gate), seq)

    def _stepped(
        self, context: StepContext, answer: ContinueDecision, approval: str | None, seq: int
    ) -> None:
        self._answers += 1
        kind = _KINDS.get(answer.decision)
        if kind is None:
            return
        codes = [each.code for each in answer.reasons if each.decision is answer.decision]
        for code in dict.fromkeys(codes):
            percent = _percent(code, context, answer)
            self._note(_Subject(kind, code), seq).exceed(percent)
            if kind is RetrospectiveKind.PAUSED:
                paused = self._count(_Subject(RetrospectiveKind.LIFTED, code))
                paused.of += 1
                paused.exceed(percent)
        if kind is RetrospectiveKind.PAUSED:
            self._pause = _Pause(approval, tuple(dict.fromkeys(codes)))

    def _lifted(self, seq: int) -> None:
        if self._pause is not None:
            for code in self._pause.codes:
                self._note(_Subject(RetrospectiveKind.LIFTED, code), seq)
            self._pause = None

    def _note(self, subject: _Subject, seq: int, times: int = 1) -> _Count:
        counted = self._count(subject)
        counted.count += times
        if len(counted.seqs) < MOST_EVIDENCE:
            counted.seqs.append(seq)
        return counted

    def _count(self, subject: _Subject) -> _Count:
        return self._counts.setdefault(subject, _Count())


def _rules(findings: Iterable[Finding], decision: Decision) -> tuple[tuple[str, str], ...]:
    """Return the rules that spoke so, each once, with their gates."""
    spoken = [(each.gate, each.rule) for each in findings if each.decision is decision]
    return tuple(dict.fromkeys(spoken))


def _percent(code: str, context: StepContext, answer: ContinueDecision) -> int | None:
    """Return the lowest limit in percent that the figure behind a reason keeps to."""
    if code == StepCode.SLOPE:
        figure = answer.metrics.budget_slope
    else:
        figure = sure_rework(context) if code == StepCode.REWORK else None
    if figure is None:
        return None
    percent = int(min(figure * 100, _MOST_PERCENT))
    # As the limit is compared: 7 percent are 0.07 and not less.
    return percent if percent / 100 >= figure else percent + 1


def _rank(counted: tuple[_Subject, _Count]) -> tuple[bool, int, _Subject]:
    """Return the order of entries: the most frequent first.

    What people agreed to every time comes last of its kind: where something has to be left out,
    it is nothing that speaks against asking them less. Tools come before pairs of them.
    """
    subject, count = counted
    is_unanimous = subject.kind is RetrospectiveKind.CONFIRMED and count.count == count.of
    return is_unanimous or subject.after != "", -count.count, subject


def _entry(run: str, subject: _Subject, counted: _Count, of: int) -> RetrospectiveEntry:
    return RetrospectiveEntry(
        kind=subject.kind,
        name=one_line(subject.name, _LONGEST_NAME),
        gate=subject.gate,
        after=one_line(subject.after, _LONGEST_NAME),
        count=counted.count,
        of=of,
        percent=counted.percent,
        evidence=tuple(Evidence(run=run, seq=seq) for seq in counted.seqs),
    )
