"""A SQLite ledger only looked at: no file is made, changed or brought up to date by it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from interlock.ledger.stores.sqlite import SqliteRows
from interlock.ports import Rows

_PATIENCE_MS: Final = 200


@contextmanager
def only_read(path: Path) -> Generator[Rows]:
    """Open a ledger's rows as they are, unchecked: for what is shown, never for a decision."""
    file = path.resolve()
    # While nobody has it open there is no such file, and to look must not make one.
    is_open = file.with_name(f"{file.name}-wal").exists()
    address = f"file:{quote(str(file))}?{'mode=ro' if is_open else 'immutable=1'}"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(address, flags=flags)) as connection:
        connection.set_busy_timeout(_PATIENCE_MS)
        yield SqliteRows(connection)
