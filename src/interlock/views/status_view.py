"""How things stand with one ledger: what runs, what waits for a person, what is left to spend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from interlock.ledger.ledger import Ledger
from interlock.model.budget import NO_LIMITS, BudgetBalance
from interlock.model.hook import is_canary
from interlock.model.rows import RunRow
from interlock.model.run import LEDGER_RUN, RunState
from interlock.model.system_loop import LOOP_RUN
from interlock.ports import ALL
from interlock.service.people.operators import all_operators
from interlock.views.run_view import all_halted, balance_of, first_command, run_word

_MOST_ACCOUNTS: Final = 20
_MOST_RUNS: Final = 200
"""So many of the latest runs are looked at for what was only observed."""
_OWN: Final = (LEDGER_RUN, LOOP_RUN)


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person, in a line."""

    approval: str
    code: str
    run: str
    summary: str
    command: str
    """What lets it happen, or what comes before that: a limit that is used up is raised first."""
    opened_at: int
    expires_at: int


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How things stand."""

    words: Mapping[str, int]
    """How many runs that have not ended stand how, by the word for it, the most frequent first."""
    records: int
    waiting: tuple[Waiting, ...]
    """What waits for a person, the oldest first."""
    balances: tuple[BudgetBalance, ...]
    """The accounts of agents and of today's projects that have a limit."""
    would_have: Mapping[str, int]
    """What observed findings would have done in the latest runs, by answer."""
    observed_rules: Mapping[str, int]
    """How often each observed rule matched in the latest runs, the most frequent first."""
    has_operator: bool
    """Whether there is anybody who may decide."""
    all_halted: str | None
    """Why every run is halted, where a person did that."""
    clients: frozenset[str]
    """The clients that had a session among the latest runs; tests of hooks are none."""


def standing(ledger: Ledger, now: int) -> Standing:
    """Return how things stand in a ledger."""
    rows = ledger.rows
    running = _states(ledger, rows.runs(limit=ALL, status="running"))
    latest = _latest(ledger)
    pending = rows.approvals(state="pending", limit=ALL)
    return Standing(
        words=dict(Counter(run_word(ledger, state, now) for state in running).most_common()),
        records=rows.head().records,
        waiting=tuple(
            Waiting(
                approval=each.id,
                code=each.code,
                run=each.run_id,
                summary=each.summary,
                command=first_command(ledger, each, now),
                opened_at=each.opened_at,
                expires_at=each.expires_at,
            )
            for each in pending
            if each.is_open_at(now)
        ),
        balances=tuple(_limited(ledger, now)),
        would_have=_summed([state.would_have for state in latest]),
        observed_rules=_summed([state.observed_rules for state in latest]),
        has_operator=bool(all_operators(ledger)),
        all_halted=all_halted(ledger),
        clients=frozenset(state.client for state in latest),
    )


def clients_seen(ledger: Ledger) -> frozenset[str]:
    """Return the clients that had a session among the latest runs; tests of hooks are none."""
    return frozenset(state.client for state in _latest(ledger))


def _is_of_agent(row: RunRow) -> bool:
    return row.id not in _OWN and not is_canary(row.task)


def _latest(ledger: Ledger) -> list[RunState]:
    return _states(ledger, ledger.rows.runs(limit=_MOST_RUNS))


def _states(ledger: Ledger, rows: Iterable[RunRow]) -> list[RunState]:
    found = (ledger.state(row.id) for row in filter(_is_of_agent, rows))
    return [state for state in found if state is not None]


def _summed(counts: Iterable[Mapping[str, int]]) -> Mapping[str, int]:
    return dict(sum(map(Counter, counts), Counter[str]()).most_common())


def _limited(ledger: Ledger, now: int) -> Sequence[BudgetBalance]:
    today = f"/{datetime.fromtimestamp(now / 1_000_000, UTC):%Y-%m-%d}"
    scopes = [
        scope
        for scope, _ in ledger.rows.accounts()
        if scope.startswith("agent/")
        or (scope.startswith("project-day/") and scope.endswith(today))
    ]
    found = (balance_of(ledger, scope, now) for scope in scopes[:_MOST_ACCOUNTS])
    return [each for each in found if each is not None and each.limits != NO_LIMITS]
