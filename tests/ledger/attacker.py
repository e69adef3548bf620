"""Somebody who can write to the database itself, and knows how it is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import LiteralString, cast

import apsw
import psycopg

from interlock.ledger.ledger import Ledger
from interlock.ledger.transaction import Transaction
from interlock.model.approval import ApprovalState
from interlock.model.events import ApprovalDecided
from interlock.model.run import LEDGER_RUN
from ledger.events import (
    NOON,
    ONE_OF_EACH,
    PERSON,
    POLICY,
    a_judgement,
    a_start,
    a_violation,
    an_adoption,
    an_observation,
    an_opening,
    appending,
    planned,
)

TABLES = ("records", "policies", "seals")
_NAMES = (
    "records|policies|seals|runs|snapshots|accounts|reservations|keys|approvals|meta|head|gaps"
    "|archived_runs"
)
Value = str | int | float | bytes | None
Execute = Callable[..., Sequence[tuple[Value, ...]]]
Attack = Callable[[Execute], None]


def fill(ledger: Ledger) -> None:
    """Three runs with everything that can follow from records."""
    ledger.execute(planned(Transaction.seal_meta))
    ledger.execute(planned(lambda transaction: transaction.put_policy(POLICY)))
    ledger.execute(appending(LEDGER_RUN, an_adoption(), by=PERSON))
    ledger.execute(
        appending(
            "r1",
            a_start(),
            a_judgement(key="k1", lease_until=NOON + 50),
            an_observation(2),
            a_judgement(key="k2", digest="d2", lease_until=NOON + 60),
            an_opening("a1", digest="d3"),
            ApprovalDecided(id="a1", state=ApprovalState.DENIED),
            a_violation(),
        )
    )
    ledger.execute(appending("long", a_start(), *[a_violation()] * 299))
    ledger.execute(
        appending("over", a_start(parent="r1"), a_violation(), ONE_OF_EACH["run-finished"])
    )


def attack_sqlite(path: Path, attack: Attack) -> None:
    connection = apsw.Connection(str(path))
    try:
        found = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        triggers = connection.execute(found).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")

        def execute(sql: str, *values: Value) -> Sequence[tuple[Value, ...]]:
            return connection.execute(sql, values).fetchall()

        attack(execute)
        # Without them the ledger would not open at all.
        for _, made in triggers:
            connection.execute(str(made))
    finally:
        connection.close()


def attack_postgres(url: str, attack: Attack) -> None:
    with psycopg.connect(url) as connection:
        for table in TABLES:
            connection.execute(_sql(f"ALTER TABLE interlock_{table} DISABLE TRIGGER USER"))

        def execute(sql: str, *values: Value) -> Sequence[tuple[Value, ...]]:
            found = connection.execute(_for_postgres(sql), values)
            return found.fetchall() if found.description else []

        attack(execute)


def _for_postgres(sql: str) -> LiteralString:
    named = re.sub(rf"\b(FROM|INTO|UPDATE) ({_NAMES})\b", r"\1 interlock_\2", sql)
    return _sql(named.replace("?", "%s"))


def _sql(text: str) -> LiteralString:
    return cast("LiteralString", text)
