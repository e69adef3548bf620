"""What happens now: one run that is watched, and the feed of everything that is recorded."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, NamedTuple

import msgspec

from interlock.ledger.chain import decoded, records_of
from interlock.ledger.ledger import Ledger
from interlock.model import events
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import BudgetBalance
from interlock.model.control_state import meter_with_words
from interlock.model.rows import RecordRow, RunRow
from interlock.model.run import RunState, RunStatus, folded
from interlock.model.step import Checkpoint, StepDecision
from interlock.policy.config.document import Policy
from interlock.policy.steps.loop_detector import evidence_of, progress_of, stuck_score
from interlock.policy.steps.step_figures import band_of, budget_slope, tokens_per_step, uncertainty
from interlock.policy.steps.stuck_evidence import Evidence
from interlock.ports import ALL, Rows
from interlock.service.policies.policy_book import stored_policy
from interlock.views.lookup import every_record, found_state
from interlock.views.review_view import RunReviews, run_reviews
from interlock.views.run_view import Held, account_value, holds_on, run_balances
from interlock.views.timeline import Timeline
from interlock.views.timeline_entry import Entry

MOST_ANSWERS: Final = 8
"""So many of the latest answers are remembered."""
_RUNS_LOOKED_AT: Final = 64
_LOOK_BACK: Final = 400
"""So many records before the watching began are looked at for answers."""
_REWORK_CALLS: Final = 10
"""Each point of the line is about so many calls."""


class Answered(NamedTuple):
    """One of the latest answers."""

    record: int
    at: int
    step: int | None
    entry: Entry
    text: str


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """A run at one moment: everything that a view shows."""

    state: RunState
    policy: Policy
    holds: Sequence[Held]
    questions: Sequence[Approval]
    """What else waits for a person."""
    answers: Sequence[Answered]
    checkpoint: Checkpoint | None
    """The last one, if it was taken lately."""
    evidence: Sequence[Evidence]
    stuck: float
    reviews: RunReviews
    balances: Sequence[BudgetBalance]
    """Of every account that has a limit."""
    tokens_per_step: float | None
    """What the latest steps used on average."""
    slope: float | None
    """How much that grows with each step, as a share of itself."""
    rework: Sequence[float]
    """The share of rework around each of the latest calls, the oldest first."""
    rework_ratio: float | None
    """The share of the latest calls that did work over again."""
    band: str | None
    """What the run may still do."""
    uncertainty: float | None
    """How unsure the agent is of what it believes."""

    @property
    def is_over(self) -> bool:
        """Whether the run is finished."""
        return self.state.status is not RunStatus.RUNNING


class Watcher:
    """Follows one run: each record is read once."""

    def __init__(self, ledger: Ledger, run_id: str) -> None:
        self._ledger = ledger
        self._state = found_state(ledger, run_id)
        self._answers: deque[Answered] = deque(maxlen=MOST_ANSWERS)
        self._checkpoint: Checkpoint | None = None
        self._timeline = Timeline(ledger.rows)
        self._policy = lru_cache(maxsize=1)(partial(stored_policy, ledger.rows))
        self._look_back()

    def catch_up(self) -> bool:
        """Take in what is new; return whether anything was."""
        before = self._state.seq
        for row in records_of(self._ledger.rows, self._state.id, after=before):
            record = decoded(row.body)
            self._state = folded(self._state, record)
            self._note(record)
        return self._state.seq > before

    def frame(self, now: int) -> Frame:
        """Return what is seen now."""
        state, control = self._state, self._state.control
        meter, policy = meter_with_words(control), self._policy(state.policy_hash)
        coherence = control.coherence
        holds = holds_on(self._ledger, state, now)
        return Frame(
            state=state,
            policy=policy,
            holds=holds,
            questions=self._questions(holds, now),
            answers=tuple(self._answers),
            checkpoint=self._checkpoint,
            evidence=tuple(evidence_of(meter, policy.loops)),
            stuck=stuck_score(meter, policy.loops),
            reviews=run_reviews(self._ledger, state, now),
            balances=run_balances(self._ledger, state, now),
            tokens_per_step=tokens_per_step(control.step_tokens),
            slope=budget_slope(control.step_tokens),
            rework=rework_shares([each.rework for each in meter.calls]),
            rework_ratio=progress_of(control.meter).rework_ratio,
            band=None if coherence is None else band_of(coherence, policy.steps).value,
            uncertainty=uncertainty(tuple(control.beliefs.values())),
        )

    def _questions(self, holds: Sequence[Held], now: int) -> Sequence[Approval]:
        if not self._state.pending_approvals:
            return ()
        shown = [held.question for held in holds]
        asked = self._ledger.rows.approvals(
            run_id=self._state.id, state=ApprovalState.PENDING.value
        )
        return [each for each in asked if each.is_open_at(now) and each.id not in shown]

    def _look_back(self) -> None:
        """Find the latest answers, without reading the whole run."""
        rows = self._ledger.rows
        after = max(0, self._state.seq - _LOOK_BACK)
        for row in rows.records(self._state.id, after=after, limit=_LOOK_BACK):
            if row.seq <= self._state.seq:
                self._note(decoded(row.body))

    def _note(self, record: events.Record) -> None:
        step: int | None = None
        match record.event:
            case events.CheckpointTaken(checkpoint=checkpoint) if checkpoint.is_saved:
                self._checkpoint = checkpoint
                return
            case events.StepJudged(context=context):
                step = context.step_number
                what = f"step {step}"
            case events.StopJudged(facts=facts):
                step, what = facts.step_number, "it stopped"
            case events.RunHalted() | events.RunLifted() | events.PersonSpoke():
                what = None
            case events.ReviewOpened() | events.ReviewJudged() | events.ReviewChosen():
                what = ""
            case _:
                return
        entry = self._timeline.entry(record)
        text = entry.text if what is None else _in_one_line(what or entry.text, entry)
        self._answers.append(Answered(record.seq, record.at, step, entry, text))


def _in_one_line(what: str, entry: Entry) -> str:
    """Return an answer: why, or else with which words."""
    why = entry.reasons[0] if entry.reasons else entry.facts
    return f"{what}: {why}" if why else entry.text


def rework_shares(calls: Sequence[bool]) -> list[float]:
    """Return for each call which share of the calls up to it did work over again."""
    latest = [calls[max(0, end - _REWORK_CALLS) : end] for end in range(1, len(calls) + 1)]
    return [sum(each) / len(each) for each in latest]


def frame_value(frame: Frame) -> dict[str, object]:
    """Return a frame for programs."""
    state, control = frame.state, frame.state.control
    return {
        "run": state.id,
        "task": state.task,
        "status": state.status.value,
        "outcome": state.outcome,
        "record": state.seq,
        "at": state.updated_at,
        "step": control.steps,
        "decisions": {each.value: control.decisions.get(each.value, 0) for each in StepDecision},
        "latest": [
            {
                "record": each.record,
                "at": each.at,
                "step": each.step,
                "answer": each.entry.mark,
                "text": each.text,
            }
            for each in frame.answers
        ],
        "accounts": [account_value(each) for each in frame.balances],
        "tokens_per_step": frame.tokens_per_step,
        "slope": frame.slope,
        "max_slope": frame.policy.steps.max_slope,
        "rework_ratio": frame.rework_ratio,
        "max_rework_ratio": frame.policy.steps.max_rework,
        "rework": frame.rework,
        "coherence": control.coherence,
        "band": frame.band,
        "uncertainty": frame.uncertainty,
        "stuck_score": frame.stuck,
        "pause_score": frame.policy.loops.pause_score,
        "evidence": frame.evidence,
        "holds": frame.holds,
        "questions": frame.questions,
        "reviews": frame.reviews,
        "checkpoints": control.checkpoints,
        "last_checkpoint_step": control.checkpoint_step,
        "last_checkpoint": frame.checkpoint,
    }


class Feed:
    """What is recorded, as it is recorded; knows how far each run was seen.

    Per run, because the records of different runs may become visible in another order than
    the one in which they were numbered.
    """

    def __init__(self, rows: Rows, run_id: str | None) -> None:
        self._rows = rows
        self._run_id = run_id
        self._seen: dict[str, int] = {}

    def skip(self) -> None:
        """Take everything that is on record for seen."""
        self._seen = {row.id: row.seq for row in self._runs(ALL)}

    def history(self) -> Iterator[RecordRow]:
        """Yield what is on record already, in the order in which it was written."""
        if self._run_id is not None:
            return
        for row in every_record(self._rows):
            self._seen[row.run_id] = row.seq
            yield row

    def news(self) -> Iterator[RecordRow]:
        """Yield what was not seen yet, by its time."""
        fresh = [self._unseen(row) for row in self._changed()]
        return heapq.merge(*fresh, key=lambda row: row.at)

    def _changed(self) -> Sequence[RunRow]:
        """Return the runs with something new: those that were active last are looked at first."""
        limit = _RUNS_LOOKED_AT
        while True:
            rows = self._runs(limit)
            changed = [row for row in rows if row.seq > self._seen.get(row.id, 0)]
            if len(rows) < limit or len(changed) < limit:
                return changed
            limit *= 4

    def _runs(self, limit: int) -> Sequence[RunRow]:
        if self._run_id is None:
            return self._rows.runs(limit=limit)
        row = self._rows.run(self._run_id)
        return [] if row is None else [row]

    def _unseen(self, run: RunRow) -> Iterator[RecordRow]:
        after = self._seen.get(run.id, 0)
        for row in records_of(self._rows, run.id, after=after, last=run.seq):
            self._seen[run.id] = row.seq
            yield row
