"""The schema, as numbered files: each brings a database one version forward."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from interlock.errors import LedgerError


class Migration(NamedTuple):
    """One step forward."""

    version: int
    name: str
    sql: str


@cache
def migrations(dialect: str) -> tuple[Migration, ...]:
    """Return every migration of a dialect, in order."""
    folder = files("interlock.ledger.stores") / "schema" / dialect
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        Migration(int(name[:4]), name, (folder / name).read_text("utf-8")) for name in names
    )


def pending(dialect: str, version: int, place: str) -> tuple[Migration, ...]:
    """Return what a database of this version still needs; refuse one from the future."""
    known = migrations(dialect)
    if version > known[-1].version:
        raise LedgerError(
            f"{place} has schema version {version}, newer than the {known[-1].version} known"
            " here: update Interlock"
        )
    return known[version:]
