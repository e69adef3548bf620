"""Every change of the schema is a migration, and none is left out."""

from __future__ import annotations

import pytest

from interlock.ledger.stores.sql_rows import migrations


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_migrations_are_numbered_without_a_gap(dialect: str) -> None:
    versions = [step.version for step in migrations(dialect)]

    assert versions == list(range(1, len(versions) + 1))
