"""An empty ledger in Postgres, made once and copied: making it takes longer than most tests."""

from __future__ import annotations

from contextlib import closing

import psycopg

from interlock.ledger.stores.postgres import PostgresStore


def make_ledger(url: str) -> None:
    """Bring an empty database to what a store makes of it."""
    PostgresStore(url).close()


def be_another_ledger(url: str) -> None:
    """Give a copy what no two ledgers share, of the same shape."""
    with closing(psycopg.connect(url, autocommit=True)) as connection:
        connection.execute(
            """
            UPDATE interlock_meta
            SET value = substr(
                replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
                1, length(value)
            )
            """
        )
