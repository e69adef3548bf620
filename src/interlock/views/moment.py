"""A run as it was when one answer was given: folded from its records up to there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from interlock.errors import InputError
from interlock.ledger.chain import decoded, records_of
from interlock.model.control_state import meter_with_words
from interlock.model.events import ActionObserved, Record, StepJudged, StopJudged
from interlock.model.progress_meter import MOST_CALLS, MOST_SAID, Meter
from interlock.model.rows import RecordRow
from interlock.model.run import RunState, folded
from interlock.policy.config.document import Policy
from interlock.policy.steps.loop_detector import stuck_score
from interlock.ports import Rows
from interlock.service.policies.policy_book import stored_policy
from interlock.views import units
from interlock.views.timeline import Timeline

_REMEMBERED: Final = MOST_CALLS + MOST_SAID
_MOST_NAMED: Final = 5


class Judged(NamedTuple):
    """One answer about going on, as it is found on the record."""

    seq: int
    is_stop: bool
    step: int | None
    rank: int
    is_held: bool


class Deed(msgspec.Struct, frozen=True, kw_only=True):
    """What the progress meter counts as one step: a call, or something that was said."""

    step: int
    """The step of the run that it was part of: `explain --step` knows it."""
    record: int
    what: str
    came_to: str
    said: str
    """What was said with it."""


class _Counted(NamedTuple):
    """A step of the meter, and the record that it comes from."""

    step: int
    turn: int
    record: Record
    said: str


class Moment(NamedTuple):
    """Everything that was known when an answer was given."""

    record: Record
    event: StepJudged | StopJudged
    before: RunState
    meter: Meter
    """With what the agent has said and not done."""
    policy: Policy
    deeds: dict[int, Deed]
    """The latest steps of the meter, by their numbers."""

    @property
    def stuck_score(self) -> float:
        """How much speaks for being stuck."""
        return stuck_score(self.meter, self.policy.loops)


def judged_of(rows: Rows, run_id: str) -> Sequence[Judged]:
    """Return every answer about going on, in order."""
    return [each for row in records_of(rows, run_id) for each in _judged(row)]


def known_answers(judged: Sequence[Judged]) -> str:
    """Return which answers there are, for whoever asked for another one."""
    if not judged:
        return "nobody has asked `run.step` or `run.stopped` in it yet"
    steps = [each.step for each in judged if not each.is_stop and each.step is not None]
    stops = [each.seq for each in judged if each.is_stop]
    known = [f"it has steps {min(steps)} to {max(steps)}"] if steps else []
    if stops:
        latest = ", ".join(map(str, stops[-_MOST_NAMED:]))
        known.append(f"{units.counted(len(stops), 'stop')} (`--record` {latest})")
    return " and ".join(known)


def answer_meant(
    rows: Rows, run_id: str, *, step: int | None, record: int | None, stop: bool
) -> int:
    """Return the record that is meant: of a step, by its own number, or the last of its kind."""
    judged = judged_of(rows, run_id)
    if record is not None:
        if record not in [each.seq for each in judged]:
            raise InputError(
                f"record {record} of run `{run_id}` is no answer about going on:"
                f" {known_answers(judged)}"
            )
        return record
    found = [each for each in judged if each.is_stop is stop]
    if step is not None:
        found = [each for each in found if each.step == step]
    if not found:
        what = "stop" if stop else "step" if step is None else f"step {step}"
        raise InputError(f"run `{run_id}` has no answer for a {what}: {known_answers(judged)}")
    # While a run is held every answer is the same: what began it is what people ask about.
    free = [each for each in found if not each.is_held] or found
    if step is None:
        return free[-1].seq
    return max(free, key=lambda each: (each.rank, -each.seq)).seq


def moment_at(rows: Rows, run_id: str, seq: int) -> Moment:
    """Return the run as it was when record `seq` was written."""
    state = RunState(id=run_id)
    latest: deque[_Counted] = deque(maxlen=_REMEMBERED)
    for row in records_of(rows, run_id, last=seq):
        record = decoded(row.body)
        event = record.event
        if row.seq == seq and isinstance(event, StepJudged | StopJudged):
            return _moment(rows, record, event, state, latest)
        before, state = state, folded(state, record)
        latest.extend(_counted(before.control.meter, state.control.meter, record))
    raise InputError(f"record {seq} of run `{run_id}` is no answer about going on")


def _counted(before: Meter, after: Meter, record: Record) -> Iterator[_Counted]:
    """Yield what the meter counts anew with a record."""
    said = {each.step: each.text for each in after.said}
    turns = {each.step: each.turn for each in (*after.calls, *after.said)}
    for step in range(before.steps + 1, after.steps + 1):
        yield _Counted(step, turns.get(step, step), record, said.get(step, ""))


def _moment(
    rows: Rows,
    record: Record,
    event: StepJudged | StopJudged,
    state: RunState,
    latest: Iterable[_Counted],
) -> Moment:
    closing = event.context.text if isinstance(event, StopJudged) else None
    meter = meter_with_words(state.control, closing)
    counted = (*latest, *_counted(state.control.meter, meter, record))
    timeline = Timeline(rows)
    return Moment(
        record=record,
        event=event,
        before=state,
        meter=meter,
        policy=stored_policy(rows, state.policy_hash),
        deeds={each.step: _deed(each, timeline) for each in counted},
    )


def _deed(counted: _Counted, timeline: Timeline) -> Deed:
    _, turn, record, said = counted
    what, came_to = f"it says: {said}", ""
    if isinstance(record.event, ActionObserved):
        entry = timeline.entry(record)
        what, came_to = entry.text, ", ".join(filter(None, (entry.mark, entry.facts)))
    return Deed(step=turn, record=record.seq, what=what, came_to=came_to, said=said)


def _judged(row: RecordRow) -> Iterator[Judged]:
    event = decoded(row.body).event if row.kind in ("step-judged", "stop-judged") else None
    if isinstance(event, StepJudged):
        step, rank = event.context.step_number, event.decision.decision.rank
        yield Judged(row.seq, is_stop=False, step=step, rank=rank, is_held=event.held)
    elif isinstance(event, StopJudged):
        step, is_held = event.facts.step_number, bool(event.hard)
        yield Judged(row.seq, is_stop=True, step=step, rank=0, is_held=is_held)
