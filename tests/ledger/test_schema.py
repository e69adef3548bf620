"""The schema that one reads is the schema that the migrations make."""

from __future__ import annotations

from importlib.resources import files

import apsw
import psycopg
from psycopg import sql

from interlock.ledger.stores.sql_rows import migrations

_SCHEMA = files("interlock.ledger.stores") / "schema"
_CATALOGUE = """
SELECT 'column', table_name || '.' || column_name, ordinal_position || ' ' || data_type || ' '
       || is_nullable || ' ' || coalesce(collation_name, '') || ' ' || is_identity
  FROM information_schema.columns WHERE table_schema = %(schema)s
UNION ALL
SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = %(schema)s
UNION ALL
SELECT 'check', conname, pg_get_constraintdef(oid) FROM pg_constraint
 WHERE connamespace = %(schema)s::regnamespace
UNION ALL
SELECT 'trigger', tgname, pg_get_triggerdef(t.oid) || t.tgenabled::text FROM pg_trigger t
  JOIN pg_class c ON c.oid = tgrelid
 WHERE c.relnamespace = %(schema)s::regnamespace AND NOT tgisinternal
UNION ALL
SELECT 'function', proname, pg_get_functiondef(oid) FROM pg_proc
 WHERE pronamespace = %(schema)s::regnamespace
UNION ALL
SELECT 'options', relname, array_to_string(reloptions, ' ') FROM pg_class
 WHERE relnamespace = %(schema)s::regnamespace AND reloptions IS NOT NULL
ORDER BY 1, 2, 3
"""


def _sqlite_catalogue(*scripts: str) -> list[tuple[object, ...]]:
    connection = apsw.Connection(":memory:")
    for script in scripts:
        connection.execute(script).fetchall()
    found = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    connection.close()
    return sorted(found, key=str)


def _postgres_catalogue(url: str, schema: str, *scripts: str) -> list[tuple[str, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute(sql.SQL("SET search_path TO {}").format(sql.Identifier(schema)))
        for script in scripts:
            connection.execute(script.encode())
        rows = connection.execute(_CATALOGUE, {"schema": schema}).fetchall()
    return [tuple(str(value).replace(f"{schema}.", "") for value in row) for row in rows]


def test_the_sqlite_schema_is_what_the_migrations_make() -> None:
    whole = _sqlite_catalogue((_SCHEMA / "sqlite.sql").read_text())

    assert whole == _sqlite_catalogue(*[step.sql for step in migrations("sqlite")])
    assert len(whole) > 20


def test_the_postgres_schema_is_what_the_migrations_make(postgres_url: str) -> None:
    whole = _postgres_catalogue(postgres_url, "whole", (_SCHEMA / "postgres.sql").read_text())
    steps = [step.sql for step in migrations("postgres")]

    assert whole == _postgres_catalogue(postgres_url, "stepwise", *steps)
    assert len(whole) > 60


def test_migrations_are_numbered_without_a_gap() -> None:
    for dialect in ("sqlite", "postgres"):
        versions = [step.version for step in migrations(dialect)]

        assert versions == list(range(1, len(versions) + 1))
