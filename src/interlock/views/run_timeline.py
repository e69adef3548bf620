"""The timeline of a run as its page shows it: by steps, the newest first, the quiet ones folded.

Each question stands in one row with its answer and what came of it. A fold never hides what was
not allowed, what failed in a review, or what concerned a person.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

import msgspec
from msgspec.structs import replace

from interlock.model import events
from interlock.model.action import EditAction
from interlock.model.approval import ApprovalState
from interlock.model.arbitration import Course
from interlock.model.principal import PrincipalKind
from interlock.model.review import ReviewOutcome
from interlock.model.step import StepDecision
from interlock.model.verdict import Decision
from interlock.ports import Rows
from interlock.views import units
from interlock.views.deed import Deed, deed_of
from interlock.views.timeline import Timeline, is_approved

FEWEST_FOLDED: Final = 3
"""So many quiet steps in a row become one line."""
_LONGEST_FACT: Final = 60
"""What is longer does not fit beside what happened, and stands below it."""
_LOOPS: Final = frozenset(("loop", "counting", "returned", "unmoved", "patched", "stuck"))
_STEPS_NAMED: Final = re.compile(r"\(steps? ([^)]*)\)")
_UNSHOWN: Final = (events.UsageReported, events.ApprovalOpened, events.ApprovalUsed)
"""What another row tells already: the tokens of a step, or the question that a person has."""
_BY_PEOPLE: Final = (
    events.ApprovalDecided,
    events.ReviewChosen,
    events.PersonSpoke,
    events.RunHalted,
    events.RunLifted,
    events.BudgetChanged,
)


class Show(enum.StrEnum):
    """What of a timeline somebody wants to see."""

    EVERYTHING = "everything"
    REFUSED = "refused"
    """Whatever was not just allowed."""
    FAILED = "failed"
    EDITS = "edits"
    PEOPLE = "people"


class Fact(msgspec.Struct, frozen=True):
    """One thing that came of an action."""

    text: str
    tone: str = ""


class TimelineRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row: what was asked or happened, the answer, and what came of it."""

    seq: int
    at: int
    word: str
    tone: str
    """`allow`, `save`, `warn`, `ask`, `block`, or `none` for what nobody decided."""
    is_decision: bool = False
    """Whether the record has a page of its own: somebody asked and was answered."""
    deed: Deed | None = None
    text: str = ""
    said: str = ""
    come: tuple[Fact, ...] = ()
    because: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """The rules behind the reasons, one for each, where rules are behind them."""
    approval: str | None = None
    link: str = ""
    """Where on the page one can act on it."""
    kinds: frozenset[Show] = frozenset()
    is_quiet: bool = False
    """Whether there is nothing to note about it."""


class StepBlock(msgspec.Struct, frozen=True, kw_only=True):
    """A step with everything in it: its head is the answer to "should it go on?"."""

    step: int | None
    at: int
    first_seq: int
    head: TimelineRow | None
    tokens: int | None
    rows: tuple[TimelineRow, ...]
    loop: str = ""
    """The loop that it is part of, in words."""
    begins_loop: bool = False
    """Whether it is the newest of them, and so stands below the name of the loop."""
    has_anchor: bool = True
    """False where a newer block has the same number."""

    @property
    def is_quiet(self) -> bool:
        """Whether there is nothing to note in it."""
        rows = self.rows if self.head is None else (self.head, *self.rows)
        return self.step is not None and not self.loop and all(each.is_quiet for each in rows)


class Fold(msgspec.Struct, frozen=True, kw_only=True):
    """Some steps in a row in which nothing is to note, the newest first."""

    blocks: tuple[StepBlock, ...]

    @property
    def first(self) -> StepBlock:
        """The earliest of them."""
        return self.blocks[-1]

    @property
    def last(self) -> StepBlock:
        """The latest of them."""
        return self.blocks[0]

    @property
    def actions(self) -> int:
        """How many actions there are in them."""
        return sum(row.is_decision for block in self.blocks for row in block.rows)

    @property
    def tokens(self) -> int:
        """What they used."""
        return sum(block.tokens or 0 for block in self.blocks)


class RunTimeline(msgspec.Struct, frozen=True, kw_only=True):
    """One page of a timeline."""

    show: Show
    blocks: tuple[StepBlock | Fold, ...]
    counts: Mapping[Show, int]
    """How many rows there are of each kind, among the records that were looked at."""
    started: events.RunStarted | None
    """How it began, where the page reaches so far."""
    started_at: int
    before: int | None
    """Where the next page of older records begins; None where this is the last one."""


def run_timeline(
    rows: Rows, records: Sequence[events.Record], show: Show, *, page: int
) -> RunTimeline:
    """Return the latest of these records by steps; whatever is filtered is looked for in all."""
    blocks = [each for each in _Reader(rows).blocks(records) if each.head or each.rows]
    counts = {each: sum(each in row.kinds for row in _rows_of(blocks)) for each in Show}
    shown = _page_of(blocks, page) if show is Show.EVERYTHING else _filtered(blocks, show)
    is_all = show is not Show.EVERYTHING or len(shown) == len(blocks)
    first = _first(records) if is_all else shown[0].first_seq
    newest = tuple(reversed(_anchored(_bracketed(shown))))
    started = records[0] if records and first <= records[0].seq == 1 else None
    event = None if started is None else started.event
    return RunTimeline(
        show=show,
        blocks=tuple(_folded(newest)) if show is Show.EVERYTHING else newest,
        counts=counts,
        started=event if isinstance(event, events.RunStarted) else None,
        started_at=0 if started is None else started.at,
        before=first if first > 1 else None,
    )


def _first(records: Sequence[events.Record]) -> int:
    return records[0].seq if records else 1


def _rows_of(blocks: Iterable[StepBlock]) -> Iterator[TimelineRow]:
    for block in blocks:
        if block.head is not None:
            yield block.head
        yield from block.rows


def _page_of(blocks: Sequence[StepBlock], page: int) -> Sequence[StepBlock]:
    """Return the latest steps that have so many rows together: a step is never cut in two."""
    count, begin = 0, len(blocks)
    while begin and (count < page or begin == len(blocks)):
        begin -= 1
        count += 1 + len(blocks[begin].rows)
    return blocks[begin:]


def _filtered(blocks: Iterable[StepBlock], show: Show) -> Sequence[StepBlock]:
    found: list[StepBlock] = []
    for block in blocks:
        rows = tuple(row for row in block.rows if show in row.kinds)
        if rows or (block.head is not None and show in block.head.kinds):
            found.append(replace(block, rows=rows))
    return found


def _bracketed(blocks: Sequence[StepBlock]) -> Sequence[StepBlock]:
    """Return the blocks with the loops that a run was held for, the latest one by name."""
    found = list(blocks)
    for end in reversed(range(len(found))):
        head = found[end].head
        reason = "" if head is None or found[end].loop else _loop_of(head)
        named = _STEPS_NAMED.search(reason)
        steps = [int(each) for each in re.findall(r"\d+", named.group(1))] if named else []
        if not steps:
            continue
        for at in range(end + 1):
            step = found[at].step
            if step is not None and min(steps) <= step <= (found[end].step or max(steps)):
                found[at] = replace(found[at], loop=reason, begins_loop=at == end)
    return found


def _loop_of(head: TimelineRow) -> str:
    if head.tone not in ("ask", "block"):
        return ""
    pairs = zip(head.because, head.rules, strict=False)
    return next((reason for reason, rule in pairs if rule in _LOOPS), "")


def _anchored(blocks: Sequence[StepBlock]) -> Sequence[StepBlock]:
    """Return the blocks with one address for each number of a step, that of the newest."""
    newest = {block.step: at for at, block in enumerate(blocks)}
    return [
        replace(block, has_anchor=block.step is not None and newest[block.step] == at)
        for at, block in enumerate(blocks)
    ]


def _folded(blocks: Iterable[StepBlock]) -> Iterator[StepBlock | Fold]:
    for is_quiet, group in groupby(blocks, key=lambda block: block.is_quiet):
        together = tuple(group)
        if is_quiet and len(together) >= FEWEST_FOLDED:
            yield Fold(blocks=together)
        else:
            yield from together


_Rows = dict[int, TimelineRow]


class _Step(NamedTuple):
    """A step as far as it was read; its rows are by record."""

    first: events.Record
    step: int | None
    head: TimelineRow | None
    tokens: int | None
    rows: _Rows


class _Reader:
    """Reads records in their order."""

    def __init__(self, rows: Rows) -> None:
        self._timeline = Timeline(rows)
        self._steps: list[_Step] = []
        self._homes: dict[int, _Rows] = {}
        """The rows of the step that each record belongs to: reports come later, also much later."""
        self._asked: dict[str, int] = {}
        """The record behind each question to a person."""
        self._total: int | None = None

    def blocks(self, records: Iterable[events.Record]) -> Iterator[StepBlock]:
        """Yield the steps, the oldest first."""
        for record in records:
            event = record.event
            if isinstance(event, events.StepJudged):
                head, tokens = _step_row(record, event), self._tokens(event)
                self._steps.append(_Step(record, event.context.step_number, head, tokens, {}))
            elif not isinstance(event, events.RunStarted):
                if not self._steps:
                    self._steps.append(_Step(record, None, None, None, {}))
                self._take(record, self._steps[-1].rows)
        for first, step, head, tokens, rows in self._steps:
            yield StepBlock(
                step=step,
                at=first.at,
                first_seq=first.seq,
                head=head,
                tokens=tokens,
                rows=tuple(rows.values()),
            )

    def _tokens(self, event: events.StepJudged) -> int | None:
        total, before = event.context.total_tokens_used, self._total
        self._total = total
        if total is None or before is None:
            return event.context.steps_tokens[-1] if event.context.steps_tokens else total
        return max(total - before, 0)

    def _take(self, record: events.Record, rows: _Rows) -> None:
        """Let one more record be a row, or a part of an earlier one."""
        match record.event:
            case events.ActionJudged() as event:
                self._homes[record.seq] = rows
                rows[record.seq] = _action_row(record, event)
                if event.approval is not None:
                    self._asked[event.approval] = record.seq
            case events.ActionObserved(of=int(of)) as event if of in self._homes:
                home = self._homes[of]
                home[of] = _observed_row(home[of], event)
            case events.ApprovalDecided() as event:
                self._decide(event)
                rows[record.seq] = self._other_row(record)
            case _ if isinstance(record.event, _UNSHOWN):
                pass
            case _:
                rows[record.seq] = self._other_row(record)

    def _decide(self, event: events.ApprovalDecided) -> None:
        """Let a question say what a person made of it."""
        asked = self._asked.get(event.id)
        if asked is None:
            return
        tone = {ApprovalState.GRANTED: "allow", ApprovalState.DENIED: "block"}.get(event.state, "")
        said = event.state.value
        home = self._homes[asked]
        home[asked] = replace(home[asked], come=(Fact(said, tone),))

    def _other_row(self, record: events.Record) -> TimelineRow:
        entry = self._timeline.entry(record)
        kinds, is_noted = _kinds_of(record)
        return TimelineRow(
            seq=record.seq,
            at=record.at,
            word=entry.mark,
            tone="save" if isinstance(record.event, events.CheckpointTaken) else entry.accent.tone,
            is_decision=isinstance(record.event, events.StopJudged),
            deed=_deed_of(record.event),
            text=entry.text,
            come=(Fact(entry.facts),) if 0 < len(entry.facts) <= _LONGEST_FACT else (),
            because=entry.reasons
            if len(entry.facts) <= _LONGEST_FACT
            else (entry.facts, *entry.reasons),
            link=_link_of(record.event),
            kinds=kinds,
            is_quiet=not is_noted,
        )


def _deed_of(event: events.Event) -> Deed | None:
    if isinstance(event, events.ActionObserved) and event.action is not None:
        return deed_of(event.action)
    return None


def _link_of(event: events.Event) -> str:
    match event:
        case events.CheckpointTaken(checkpoint=checkpoint) if checkpoint.is_restorable:
            return "#checkpoints"
        case events.EditsApplied():
            return "#undo"
        case _:
            return ""


def _kinds_of(record: events.Record) -> tuple[frozenset[Show], bool]:
    """Return what a row is found by, and whether there is something to note about it."""
    event, kinds, is_noted = record.event, {Show.EVERYTHING}, True
    if isinstance(event, _BY_PEOPLE) or record.by.kind is PrincipalKind.OPERATOR:
        kinds.add(Show.PEOPLE)
    match event:
        case events.ActionObserved():
            kinds |= _observed_kinds(event)
            is_noted = bool(event.forbidden)
        case events.CheckRan(result=result):
            kinds |= set() if result.passed else {Show.FAILED}
            is_noted = not result.passed
        case events.ReviewJudged(decision=decision):
            went_well = decision.outcome is ReviewOutcome.ADVANCE
            kinds |= set() if went_well else {Show.FAILED, Show.REFUSED}
            kinds |= {Show.PEOPLE} if event.approval is not None else set()
        case events.StopJudged(ruling=ruling):
            kinds |= set() if ruling.course is Course.FINISH else {Show.REFUSED}
        case events.EditsApplied() | events.Undone():
            kinds.add(Show.EDITS)
            is_noted = isinstance(event, events.Undone)
        case events.ViolationRecorded() | events.BudgetAlerted():
            kinds.add(Show.FAILED)
        case events.BeliefHeld():
            is_noted = False
        case _:
            pass
    return frozenset(kinds), is_noted


def _observed_kinds(event: events.ActionObserved) -> set[Show]:
    kinds: set[Show] = set()
    has_failed = event.outcome is events.Outcome.FAILED or bool(event.exit_code)
    if has_failed or event.forbidden or (event.tests is not None and event.tests.failed):
        kinds.add(Show.FAILED)
    if event.changes:
        kinds.add(Show.EDITS)
    return kinds


ANSWER_TONES: Final = {
    Decision.ALLOW: "allow",
    Decision.WARN: "warn",
    Decision.REQUIRE_CONFIRMATION: "ask",
    Decision.BLOCK: "block",
}


def _action_row(record: events.Record, event: events.ActionJudged) -> TimelineRow:
    kinds = {Show.EVERYTHING}
    if event.decision is not Decision.ALLOW:
        kinds.add(Show.REFUSED)
    asks = event.decision is Decision.REQUIRE_CONFIRMATION
    if asks or event.facts.granted is not None:
        kinds.add(Show.PEOPLE)
    if isinstance(event.action, EditAction):
        kinds.add(Show.EDITS)
    findings = event.verdict.findings
    approved = is_approved(event)
    return TimelineRow(
        seq=record.seq,
        at=record.at,
        word="approved" if approved else event.decision.value,
        tone="allow" if approved else ANSWER_TONES[event.decision],
        is_decision=True,
        deed=deed_of(event.action),
        come=(Fact("waits", "ask"),) if asks else (),
        because=tuple(each.message for each in findings),
        rules=tuple(each.rule for each in findings),
        approval=event.approval,
        kinds=frozenset(kinds),
        is_quiet=event.decision is Decision.ALLOW and not findings and not approved,
    )


def _observed_row(row: TimelineRow, event: events.ActionObserved) -> TimelineRow:
    return replace(
        row,
        come=(*row.come, *_observed_facts(event)),
        because=(*row.because, *event.forbidden),
        kinds=row.kinds | _observed_kinds(event),
        is_quiet=row.is_quiet and not event.forbidden,
    )


def _observed_facts(event: events.ActionObserved) -> Iterator[Fact]:
    if event.outcome is events.Outcome.NOT_RUN:
        yield Fact("not run")
        return
    if event.exit_code is not None:
        yield Fact(f"exit {event.exit_code}", "block" if event.exit_code else "")
    elif event.outcome is events.Outcome.FAILED:
        yield Fact("failed", "block")
    if event.duration_ms:
        yield Fact(units.duration(event.duration_ms))
    if event.tests is not None:
        if event.tests.failed:
            yield Fact(f"{event.tests.failed:,} failed", "block")
        yield Fact(f"{event.tests.passed:,} passed")
    added, removed = (
        sum(getattr(change, name) for change in event.changes) for name in ("added", "removed")
    )
    if event.changes:
        yield Fact(f"+{added:,} \N{MINUS SIGN}{removed:,}")


_STEP_TONES: Final = {
    StepDecision.CONTINUE: "allow",
    StepDecision.CHECKPOINT: "save",
    StepDecision.THROTTLE: "warn",
    StepDecision.PAUSE: "ask",
    StepDecision.STOP: "block",
}


def _step_row(record: events.Record, event: events.StepJudged) -> TimelineRow:
    decision, answer = event.decision, event.decision.decision
    kinds = {Show.EVERYTHING}
    is_quiet = answer is StepDecision.CONTINUE and not event.held and not decision.warnings
    if answer is not StepDecision.CONTINUE or event.held:
        kinds.add(Show.REFUSED)
    if answer is StepDecision.PAUSE or event.held:
        kinds.add(Show.PEOPLE)
    warned = [f"warned: {sign.message}" for sign in decision.warnings]
    reasons = [reason.message for reason in decision.reasons]
    held = [hard.reason for hard in event.hard]
    return TimelineRow(
        seq=record.seq,
        at=record.at,
        word="held" if event.held else answer.value,
        tone="warn" if event.held else _STEP_TONES[answer],
        is_decision=True,
        text=_course_text(event),
        said=event.said or "",
        because=tuple(held) if event.held else (*reasons, *warned),
        rules=() if event.held else tuple(reason.code for reason in decision.reasons),
        approval=event.approval,
        kinds=frozenset(kinds),
        is_quiet=is_quiet,
    )


def _course_text(event: events.StepJudged) -> str:
    match event.ruling.course:
        case Course.GO_ON if event.ruling.delay_ms:
            return f"may go on after {units.duration(event.ruling.delay_ms)}"
        case Course.GO_ON:
            return "may go on"
        case Course.WAIT:
            return f"waits {units.duration(event.ruling.delay_ms or 0)}: {event.ruling.reason}"
        case Course.AWAIT_PERSON:
            return "waits for a person"
        case Course.HALT:
            return "may not go on"
        case Course.FINISH:
            return "ends here"
