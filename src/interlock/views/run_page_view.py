"""One run as its page in the console shows it: all of it, but never more records than a page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from interlock.errors import LedgerError, PolicyError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model import events
from interlock.model.approval import Approval, Subject
from interlock.model.budget import BudgetBalance, Dimension, ScopeKind
from interlock.model.facts import HoldKind
from interlock.model.rows import RunRow
from interlock.model.run import RunState, RunStatus
from interlock.model.short_code import code_of
from interlock.model.step import Checkpoint, StepDecision
from interlock.model.verdict import Decision
from interlock.policy.config.document import Policy
from interlock.service.policies.policy_book import stored_policy
from interlock.service.policies.policy_files import default_policy
from interlock.service.records.undo_records import Undoing, undoable_among
from interlock.views import units
from interlock.views.run_curves import RunCurves, run_curves
from interlock.views.run_timeline import RunTimeline, Show, run_timeline
from interlock.views.run_view import RunFigures, run_balances, run_figures

PAGE: Final = 200
"""So many records of the timeline are shown at once."""
WINDOW: Final = 480
"""So many records are read: what the charts are made of, and what a filter looks through."""
_MOST_CHILDREN: Final = 20
_MOST_UNDOABLE: Final = 20
_HELD_WORDS: Final = {
    HoldKind.PAUSE: ("paused", "ask"),
    HoldKind.STOP: ("stopped", "block"),
    HoldKind.PERSON_STOP: ("halted", "block"),
}
_WENT_WELL: Final = frozenset(("completed", "finished", "done", "success"))


class Standing(msgspec.Struct, frozen=True):
    """How a run stands, in a word and its colour."""

    word: str
    tone: str


def standing_of(state: RunState) -> Standing:
    """Return how a run stands."""
    if state.status is RunStatus.FINISHED:
        went_well = (state.outcome or "completed") in _WENT_WELL
        return Standing(
            "finished" if went_well else state.outcome or "", "allow" if went_well else "block"
        )
    hold = state.control.hold
    if hold is not None:
        return Standing(*_HELD_WORDS[hold.kind])
    return Standing("waits", "ask") if state.pending_approvals else Standing("at work", "allow")


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """Something about this run that a person is needed for."""

    heading: str
    reason: str
    since: int
    approval: str | None
    """The question to answer; None where only `lift` lets it go on."""
    expires_at: int | None
    after: str
    """What happens without an answer."""


class BudgetLine(msgspec.Struct, frozen=True, kw_only=True):
    """One limit of one account, and how much of it is used."""

    name: str
    scope: str
    dimension: Dimension
    used: str
    limit: str
    share: float
    held: float
    """The share that is promised to actions that nobody has reported on yet."""


class Relative(msgspec.Struct, frozen=True, kw_only=True):
    """A run above or below another one."""

    id: str
    task: str
    agent: str
    standing: Standing
    steps: int
    cost_micros: int
    at: int


class SavedPoint(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint in its place."""

    at: int
    checkpoint: Checkpoint


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page of a run shows."""

    figures: RunFigures
    standing: Standing
    workspace: str | None
    cost_micros: int
    needs: tuple[Need, ...]
    curves: RunCurves
    timeline: RunTimeline
    budgets: tuple[BudgetLine, ...]
    above: tuple[Relative, ...]
    """The runs above it, the nearest first."""
    below: tuple[Relative, ...]
    more_below: int
    """How many more there are below it than are shown."""
    checkpoints: tuple[SavedPoint, ...]
    """Among the records that were read, the newest first."""
    checkpoint_interval: int
    undoable: tuple[Undoing, ...]
    head: str
    """The hash of its last record."""
    may_halt: bool
    may_lift: bool


def run_page(
    ledger: Ledger, state: RunState, now: int, *, undo_store: Path, show: Show, before: int | None
) -> RunPage:
    """Look at one run, at its latest records or at those before one."""
    rows, policy = ledger.rows, _policy_of(ledger, state)
    end = state.seq if before is None else min(before - 1, state.seq)
    window = rows.records(state.id, after=max(end - WINDOW, 0), limit=min(WINDOW, end))
    records = [decoded(row.body) for row in window]
    balances = run_balances(ledger, state, now)
    children = rows.children(state.id)
    row = rows.run(state.id)
    hold = state.control.hold
    is_open = state.status is RunStatus.RUNNING
    return RunPage(
        figures=run_figures(state),
        standing=standing_of(state),
        workspace=state.workspace,
        cost_micros=state.spent.cost_micros,
        needs=tuple(_needs(state, rows.approvals(run_id=state.id, state="pending"), now)),
        curves=run_curves(state, records, policy.steps, _cost_limit(balances, state)),
        timeline=run_timeline(rows, records, show, page=PAGE),
        budgets=tuple(_budget_lines(balances, state)),
        above=tuple(_relatives(ledger, state.ancestors)),
        below=tuple(_below(ledger, children[:_MOST_CHILDREN])),
        more_below=max(len(children) - _MOST_CHILDREN, 0),
        checkpoints=tuple(reversed(tuple(_saved(records)))),
        checkpoint_interval=policy.steps.checkpoint_interval,
        undoable=tuple(undoable_among(window, undo_store))[:_MOST_UNDOABLE],
        head="" if row is None else row.hash,
        may_halt=is_open and (hold is None or hold.kind is not HoldKind.PERSON_STOP),
        may_lift=is_open and hold is not None,
    )


def _policy_of(ledger: Ledger, state: RunState) -> Policy:
    """Return the policy of a run; the built-in one where its own cannot be read any more."""
    try:
        return stored_policy(ledger.rows, state.policy_hash)
    except (LedgerError, PolicyError):
        return default_policy().config


def _cost_limit(balances: Iterable[BudgetBalance], state: RunState) -> int | None:
    return next(
        (each.limits.cost_micros for each in balances if each.scope == state.own_scope), None
    )


_ABOUT: Final = {
    Subject.RESUME: "Paused",
    Subject.REVIEW: "A review waits for your choice",
    Subject.LOOP: "The loop asks",
    Subject.PRICE: "The cost is not known",
}
_AFTER: Final = {
    Subject.RESUME: "it is stopped",
    Subject.REVIEW: "the review stays open",
}


def _needs(state: RunState, pending: Iterable[Approval], now: int) -> Iterator[Need]:
    """Yield what a person is needed for: what holds the run first."""
    hold = state.control.hold if state.status is RunStatus.RUNNING else None
    questions = [each for each in pending if each.is_open_at(now)]
    asked = {each.id for each in questions}
    if hold is not None and hold.approval not in asked:
        word = _HELD_WORDS[hold.kind][0].capitalize()
        yield Need(
            heading=f"{word} at step {hold.step}",
            reason=hold.reason,
            since=hold.since,
            approval=None,
            expires_at=None,
            after="it stays so until an operator resumes it",
        )
    for each in sorted(
        questions, key=lambda each: (each.subject is Subject.ACTION, each.expires_at)
    ):
        is_hold = hold is not None and hold.approval == each.id
        at = f" at step {hold.step}" if is_hold and hold is not None else ""
        yield Need(
            heading=f"{_ABOUT.get(each.subject, 'A question waits for you')}{at}",
            reason=hold.reason if is_hold and hold is not None else each.summary,
            since=each.opened_at,
            approval=each.id,
            expires_at=each.expires_at,
            after=_AFTER.get(each.subject, "it is not allowed"),
        )


def _budget_lines(balances: Sequence[BudgetBalance], state: RunState) -> Iterator[BudgetLine]:
    for balance in balances:
        for dimension in sorted(Dimension, key=lambda each: each is not Dimension.COST):
            limit = balance.limits.of(dimension)
            if limit is None:
                continue
            used, held = balance.used.of(dimension), balance.reserved.of(dimension)
            yield BudgetLine(
                name=_account_name(balance.scope, dimension, state),
                scope=balance.scope,
                dimension=dimension,
                used=units.amount(dimension, used),
                limit=units.amount(dimension, limit),
                share=used / limit if limit else 1.0,
                held=held / limit if limit else 0.0,
            )


def _account_name(scope: str, dimension: Dimension, state: RunState) -> str:
    kind, _, name = scope.partition("/")
    label = dimension.label
    match kind:
        case ScopeKind.RUN.value:
            return label
        case ScopeKind.TREE.value:
            whose = "with children" if name == state.id else f"of the tree {code_of(name)}"
            return f"{label} {whose}"
        case ScopeKind.PROJECT_DAY.value:
            project, _, day = name.rpartition("/")
            return f"{project}, {day}: {label}"
        case _:
            return f"{kind} {name}: {label}"


def _relatives(ledger: Ledger, ids: Iterable[str]) -> Iterator[Relative]:
    for each in ids:
        state = ledger.state(each)
        if state is not None:
            yield _relative(state)


def _below(ledger: Ledger, children: Iterable[RunRow]) -> Iterator[Relative]:
    return _relatives(ledger, (row.id for row in children))


def _relative(state: RunState) -> Relative:
    return Relative(
        id=state.id,
        task=state.task,
        agent=state.agent,
        standing=standing_of(state),
        steps=state.control.steps,
        cost_micros=state.spent.cost_micros,
        at=state.updated_at,
    )


def _saved(records: Iterable[events.Record]) -> Iterator[SavedPoint]:
    for record in records:
        if isinstance(record.event, events.CheckpointTaken):
            yield SavedPoint(at=record.at, checkpoint=record.event.checkpoint)


def answers_text(counts: Mapping[StepDecision, int] | Mapping[Decision, int]) -> str:
    """Return how often each answer was given, such as `18 continue, 9 throttle`."""
    return ", ".join(
        f"{count:,} {each.short if isinstance(each, Decision) else each}"
        for each, count in counts.items()
        if count
    )
