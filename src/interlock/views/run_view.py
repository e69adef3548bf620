"""One run as a whole: its figures, what holds it, its budgets, its reviews, its children."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from interlock import processes
from interlock.errors import LedgerError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.approval import Approval
from interlock.model.budget import NO_LIMITS, BudgetBalance, Dimension, Limits, ScopeKind
from interlock.model.budget_words import UsedUp, used_up
from interlock.model.control_state import Completion
from interlock.model.events import CheckpointTaken
from interlock.model.facts import Hold, HoldKind
from interlock.model.review import Report, TestCounts
from interlock.model.rows import RecordRow, RunRow
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.model.short_code import code_of
from interlock.model.step import Checkpoint, StepDecision
from interlock.model.step_statistics import StepStatistics
from interlock.model.verdict import Decision
from interlock.service.people.run_speaker import SHELL
from interlock.service.policies.policy_book import stored_policy
from interlock.service.records import budgets
from interlock.service.records.budgets import policy_limits
from interlock.views import units
from interlock.views.review_view import RunReviews, open_question, run_reviews
from interlock.views.run_digest import WORDS, why_ended


class ChildRun(NamedTuple):
    """A run below another one."""

    id: str
    task: str
    outcome: str
    """How it ended, or that it has not."""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one run, but for its records."""

    state: RunState
    word: str
    """How it stands, in a word."""
    at: int
    """When it was looked at."""
    began: int
    holds: Sequence[Held]
    balances: Sequence[BudgetBalance]
    children: Sequence[ChildRun]
    approvals: Sequence[Approval]
    reviews: RunReviews
    ended_because: str
    """Why it is over; empty while it is not."""


def run_view(ledger: Ledger, state: RunState, now: int) -> RunView:
    """Look at one run."""
    first = ledger.rows.record(state.id, 1)
    return RunView(
        state=state,
        word=run_word(ledger, state, now),
        at=now,
        began=state.updated_at if first is None else first.at,
        holds=holds_on(ledger, state, now),
        balances=run_balances(ledger, state, now),
        children=[_child(ledger, row) for row in ledger.rows.children(state.id)],
        approvals=ledger.rows.approvals(run_id=state.id),
        reviews=run_reviews(ledger, state, now),
        ended_because=why_ended(ledger.rows, state),
    )


def run_value(view: RunView) -> dict[str, object]:
    """Return the page of one run for programs."""
    return {
        "run": run_figures(view.state),
        "ended_because": view.ended_because or None,
        "holds": view.holds,
        "accounts": [account_value(each) for each in view.balances],
        "children": [each.id for each in view.children],
        "approvals": view.approvals,
        "reviews": view.reviews,
    }


def _child(ledger: Ledger, row: RunRow) -> ChildRun:
    state = ledger.state(row.id)
    outcome = row.status if state is None or state.outcome is None else state.outcome
    return ChildRun(row.id, row.task, outcome)


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about a run that fits on one page."""

    id: str
    code: str
    """What people type for its id."""
    status: RunStatus
    outcome: str | None
    task: str
    agent: str
    client: str
    project: str
    parent: str | None
    policy_hash: str
    started_at: int
    """Microseconds since 1970, UTC, like every time here."""
    updated_at: int
    ended_at: int | None
    records: int
    answers: dict[Decision, int]
    would_have: dict[str, int]
    """How often each answer would have been given, of what was only observed."""
    observed_rules: dict[str, int]
    """How often each rule matched that was only observed, the most frequent first."""
    steps: int
    """How many it was let go on for."""
    step_answers: dict[StepDecision, int]
    statistics: StepStatistics
    """Means, shares of reasons, and what was spent after the first pause or stop."""
    hold: Hold | None
    """What keeps it from going on, unless a run above it does."""
    coherence: float | None
    checkpoints: int
    last_checkpoint_step: int
    """Whether or not anything was saved at it."""
    last_saved_step: int
    spent: dict[Dimension, units.AmountValue]
    input_tokens: int
    output_tokens: int
    unpriced_tokens: int
    lines_added: int
    lines_removed: int
    rework_lines: int
    files: tuple[str, ...]
    tools: dict[str, int]
    """How often each was called, the most called first."""
    dependencies: tuple[str, ...]
    tests: TestCounts | None
    violations: int
    violation_ranking: dict[str, int]
    """How often each rule was broken, the most frequent first."""
    worst_places: dict[str, int]
    """The same by the place that was named, mostly a file."""
    corrected: int
    forbidden: int
    pending_approvals: int
    pending_reviews: tuple[str, ...]
    completion: Completion
    """How the checks stand that must pass before it may finish."""
    report: Report | None


def run_figures(state: RunState) -> RunFigures:
    """Return a run's figures from its state."""
    control = state.control
    return RunFigures(
        id=state.id,
        code=code_of(state.id),
        status=state.status,
        outcome=state.outcome,
        task=state.task,
        agent=state.agent,
        client=state.client,
        project=state.project,
        parent=state.ancestors[0] if state.ancestors else None,
        policy_hash=state.policy_hash,
        started_at=state.started_at,
        updated_at=state.updated_at,
        ended_at=state.ended_at,
        records=state.seq,
        answers={each: state.decisions.get(each.value, 0) for each in Decision},
        would_have=dict(state.would_have),
        observed_rules=_by_count(state.observed_rules),
        steps=control.steps,
        step_answers={each: control.decisions.get(each.value, 0) for each in StepDecision},
        statistics=state.step_statistics,
        hold=control.hold,
        coherence=control.coherence,
        checkpoints=control.checkpoints,
        last_checkpoint_step=control.checkpoint_step,
        last_saved_step=control.saved_step,
        spent=units.amounts_value(state.spent),
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        unpriced_tokens=state.unpriced_tokens,
        lines_added=state.lines_added,
        lines_removed=state.lines_removed,
        rework_lines=state.rework_lines,
        files=tuple(sorted(state.files)),
        tools=_by_count(state.tools),
        dependencies=tuple(sorted(state.dependencies)),
        tests=state.tests,
        violations=state.violations,
        violation_ranking=_by_count(state.violated_rules),
        worst_places=_by_count(state.violated_places),
        corrected=state.corrected,
        forbidden=state.forbidden,
        pending_approvals=state.pending_approvals,
        pending_reviews=tuple(state.reviews.pending),
        completion=state.reviews.completion,
        report=state.report,
    )


_WOULD_HAVE: Final = {
    "require-confirmation": "ask",
    "block": "deny",
    "throttle": "slow down",
    "pause": "pause",
    "stop": "stop",
    "nudged": "send on",
    "resumed": "send on",
}


def would_have_text(counts: Mapping[str, int]) -> str:
    """Return what observed findings would have done: `would ask 12, deny 3`; empty for nothing."""
    words = dict.fromkeys(_WOULD_HAVE.values(), 0)
    for answer, count in counts.items():
        words[_WOULD_HAVE[answer]] += count
    told = ", ".join(f"{word} {count:,}" for word, count in words.items() if count)
    return f"would {told}" if told else ""


def _by_count(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A hold in its place: whose it is, and how it is lifted."""

    run: str
    """The run itself, or one above it; `ledger` where a person halted all runs."""
    kind: HoldKind
    reason: str
    step: int
    since: int
    question: str | None
    """The approval whose answer lifts it, if a person was asked and may still answer."""
    raises: tuple[str, ...]
    """What comes first where nothing is left of a budget: the commands that raise its limits."""
    commands: tuple[str, ...]
    """What lets it go on, and what stops it for good."""


def holds_on(ledger: Ledger, state: RunState, now: int) -> Sequence[Held]:
    """Return what keeps a run from going on: its own hold first, then those of runs above."""
    if state.status is not RunStatus.RUNNING:
        return ()
    above = filter(None, map(ledger.state, (*state.ancestors, LEDGER_RUN)))
    return [held for each in (state, *above) if (held := _held(ledger, each, now)) is not None]


WAITING: Final = "waiting"
ABANDONED: Final = "abandoned"
RUNNING: Final = "running"


def run_word(ledger: Ledger, state: RunState, now: int) -> str:
    """Return how a run stands, in the one word that every page uses.

    It is how it ended; else what holds it; else that it waits for a person; else that its process
    has ended, which nobody can go on with; else that it runs. What a person types with `interlock
    run` one by one has no process that lasts.
    """
    if state.status is not RunStatus.RUNNING:
        return state.outcome or "finished"
    holds = holds_on(ledger, state, now)
    if holds:
        return WORDS[holds[0].kind]
    if state.pending_approvals and any(
        each.is_open_at(now) for each in ledger.rows.approvals(run_id=state.id, state="pending")
    ):
        return WAITING
    has_ended = state.client != SHELL and processes.has_ended(state.process)
    return ABANDONED if has_ended else RUNNING


def all_halted(ledger: Ledger) -> str | None:
    """Return why a person halted every run, where one did."""
    everything = ledger.state(LEDGER_RUN)
    hold = None if everything is None else everything.control.hold
    return None if hold is None else hold.reason


def _held(ledger: Ledger, state: RunState, now: int) -> Held | None:
    hold = state.control.hold
    if hold is None:
        return None
    question = open_question(ledger, hold.approval, now)
    why = " --reason TEXT" if hold.kind is HoldKind.STOP else ""
    named = "--all" if state.id == LEDGER_RUN else code_of(state.id)
    return Held(
        run=state.id,
        kind=hold.kind,
        reason=hold.reason,
        step=hold.step,
        since=hold.since,
        question=question,
        raises=tuple(each.way_to_raise for each in stopped_by(ledger, hold.approval, now)),
        commands=(
            (f"interlock resume {named} --reason TEXT",)
            if question is None
            else (
                f"interlock approve {code_of(question)}{why}",
                f"interlock deny {code_of(question)}",
            )
        ),
    )


class TakenCheckpoint(NamedTuple):
    """A checkpoint in its place on the record."""

    run_id: str
    at: int
    checkpoint: Checkpoint


def checkpoints_among(records: Iterable[RecordRow]) -> Iterator[TakenCheckpoint]:
    """Yield the checkpoints that these records tell of."""
    for row in records:
        if row.kind == "checkpoint-taken":
            event = decoded(row.body).event
            if isinstance(event, CheckpointTaken):
                yield TakenCheckpoint(row.run_id, row.at, event.checkpoint)


def account_value(balance: BudgetBalance) -> dict[str, object]:
    """Return an account for programs: every amount in the unit that its name tells."""
    return {
        "scope": balance.scope,
        "used": units.amounts_value(balance.used),
        "held": units.amounts_value(balance.reserved),
        "limits": units.amounts_value(balance.limits),
        "unpriced_tokens": balance.unpriced_tokens,
    }


def run_balances(
    ledger: Ledger, state: RunState, now: int, named: Mapping[str, Limits] | None = None
) -> Sequence[BudgetBalance]:
    """Return the balance of every account of a run that has a limit, by its policy or another."""
    at = now if state.ended_at is None else state.ended_at
    named = _policy_limits(ledger, state.policy_hash) if named is None else named
    charged = budgets.charged_scopes(state, at)
    recorded = budgets.Recorded(ledger)
    return budgets.limited_balances(named, recorded, state, charged=charged, now=at)


def stopped_by(
    ledger: Ledger,
    approval_id: str | None,
    now: int,
    named: Mapping[str, Limits] | None = None,
) -> Sequence[UsedUp]:
    """Return the limits that are still used up of the run which a question asks to let go on.

    `named` are a policy's limits by kind of account, where it is not the run's own.
    """
    approval = None if approval_id is None else ledger.rows.approval(approval_id)
    state = None if approval is None else ledger.state(approval.run_id)
    if approval is None or state is None or not approval.is_about_budget:
        return ()
    return used_up(state.id, run_balances(ledger, state, now, named))


def first_command(ledger: Ledger, approval: Approval, now: int) -> str:
    """Return what a person types first to answer a question with yes."""
    limits = stopped_by(ledger, approval.id, now)
    return limits[0].way_to_raise if limits else approval.way_to_grant


def balance_of(ledger: Ledger, scope: str, now: int) -> BudgetBalance | None:
    """Return the balance of one account, if anything was ever charged to it or set."""
    kind, _, name = scope.partition("/")
    is_of_run = kind in budgets.OF_RUNS
    owner = ledger.state(name if is_of_run else LEDGER_RUN)
    if is_of_run and owner is None:
        return None
    named = _policy_limits(ledger, "" if owner is None else owner.policy_hash)
    found = budgets.balance_of(named, budgets.Recorded(ledger), scope, now)
    is_known = is_of_run or ledger.rows.account(scope) is not None
    return found if is_known or found.limits != NO_LIMITS else None


def _policy_limits(ledger: Ledger, policy_hash: str) -> Mapping[str, Limits]:
    """Return a policy's limits by kind of scope; none where the policy cannot be read."""
    try:
        return policy_limits(stored_policy(ledger.rows, policy_hash))
    except LedgerError:
        return {kind.value: NO_LIMITS for kind in ScopeKind}
