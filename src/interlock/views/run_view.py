"""One run as a whole: its figures, what holds it, its budgets, its reviews, its children."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.approval import Approval
from interlock.model.budget import BudgetBalance
from interlock.model.rows import RunRow
from interlock.model.run import RunState
from interlock.views.budget_view import account_from, run_balances
from interlock.views.review_view import RunReviews, run_reviews
from interlock.views.run_figures import Held, holds_on, run_figures


class ChildRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run below another one."""

    id: str
    task: str
    outcome: str
    """How it ended, or that it has not."""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one run, but for its records."""

    state: RunState
    at: int
    """When it was looked at."""
    began: int
    holds: Sequence[Held]
    balances: Sequence[BudgetBalance]
    children: Sequence[ChildRun]
    approvals: Sequence[Approval]
    reviews: RunReviews


def run_view(ledger: Ledger, state: RunState, now: int) -> RunView:
    """Look at one run."""
    first = ledger.rows.record(state.id, 1)
    return RunView(
        state=state,
        at=now,
        began=state.updated_at if first is None else first.at,
        holds=holds_on(ledger, state, now),
        balances=run_balances(ledger, state, now),
        children=[_child(ledger, row) for row in ledger.rows.children(state.id)],
        approvals=ledger.rows.approvals(run_id=state.id),
        reviews=run_reviews(ledger, state, now),
    )


def run_value(view: RunView) -> dict[str, object]:
    """Return the page of one run for programs."""
    return {
        "run": run_figures(view.state),
        "holds": view.holds,
        "accounts": [account_from(each) for each in view.balances],
        "children": [each.id for each in view.children],
        "approvals": view.approvals,
        "reviews": view.reviews,
    }


def _child(ledger: Ledger, row: RunRow) -> ChildRun:
    state = ledger.state(row.id)
    outcome = row.status if state is None or state.outcome is None else state.outcome
    return ChildRun(id=row.id, task=row.task, outcome=outcome)
