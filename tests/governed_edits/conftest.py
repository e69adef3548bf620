from __future__ import annotations

from pathlib import Path

import pytest

from effort import DURABLE
from governed_edits.workbench import Workbench


@pytest.fixture(params=DURABLE)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Workbench:
    """A workspace, with its ledger in a file and in Postgres."""
    is_file = request.param == "sqlite"
    place = (
        str(tmp_path / "ledger.db") if is_file else request.getfixturevalue("postgres_ledger_url")
    )
    return Workbench(tmp_path, place)


@pytest.fixture
def small_bench(tmp_path: Path) -> Workbench:
    """The same where the store of the ledger cannot matter."""
    return Workbench(tmp_path, str(tmp_path / "ledger.db"))
