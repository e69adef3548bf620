"""Migrations that are yet to come: a child learns them, as if it were a later Interlock."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.ledger.stores import sql_rows
from interlock.ledger.stores.sql_rows import Migration


def learn(statements: Sequence[str]) -> None:
    """Know so many migrations more than there are."""
    known = sql_rows.migrations("sqlite")
    last = known[-1].version
    further = [Migration(last + number, sql) for number, sql in enumerate(statements, 1)]

    def all_of(dialect: str) -> tuple[Migration, ...]:
        assert dialect == "sqlite"
        return (*known, *further)

    # A later Interlock would have them as files.
    sql_rows.migrations = all_of
