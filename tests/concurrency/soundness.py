"""Does everything add up? Chains, accounts and reservations, and every answer decided again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from concurrency.places import Place
from interlock import CompiledPolicy, Interlock
from interlock.backtest.run_replay import replay_run
from interlock.ledger.chain import decoded
from interlock.model.events import ActionJudged, Record
from interlock.model.run import LEDGER_RUN
from interlock.ports import Rows
from interlock.service.ledgers import open_ledger
from interlock.service.policies.policy_book import recompiled_policy
from interlock.views.ledger_view import verified_ledger

EVERY = 1_000_000


def assert_sound(place: Place) -> None:
    """Hold everything that is stored against the records, and the answers against replay."""
    with (
        open_ledger(place.ledger, keys=place.folder / "keys") as ledger,
        ledger.store.frozen() as rows,
    ):
        verified = verified_ledger(ledger, rows, lambda _read, _of: None)

        assert verified.runs > 0
        assert verified.faults == []
        assert [each for each in _replayed(rows) if not each[1]] == []


def records(interlock: Interlock, run_id: str) -> list[Record]:
    """Return all records of a run."""
    return [decoded(row.body) for row in interlock.ledger.rows.records(run_id, limit=EVERY)]


def kinds(interlock: Interlock, run_id: str) -> list[str]:
    """Return what kinds of records a run has, in order."""
    return [row.kind for row in interlock.ledger.rows.records(run_id, limit=EVERY)]


def judgements(interlock: Interlock, run_id: str) -> list[ActionJudged]:
    """Return every answer that was recorded in a run."""
    return [
        record.event
        for record in records(interlock, run_id)
        if isinstance(record.event, ActionJudged)
    ]


def _replayed(rows: Rows) -> Iterator[tuple[str, bool]]:
    @cache
    def gates(policy_hash: str) -> CompiledPolicy:
        return recompiled_policy(rows, policy_hash)

    for run_id in rows.chains(limit=EVERY):
        if run_id != LEDGER_RUN:
            for each in replay_run(rows, run_id, policies=gates):
                yield f"{run_id}:{each.seq}: {each.differences}", each.is_same
