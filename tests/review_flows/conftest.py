"""A workshop on each durable store."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from effort import DURABLE
from review_flows.workshop import Workshop

OpenWorkshop = Callable[..., Workshop]


@pytest.fixture(params=DURABLE)
def ledger_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger is made: in a file, and in Postgres."""
    is_file = request.param == "sqlite"
    return (
        str(tmp_path / "ledger.db") if is_file else request.getfixturevalue("postgres_ledger_url")
    )


@pytest.fixture
def new_workshop(ledger_place: str, tmp_path: Path) -> OpenWorkshop:
    """Opens the workshop of a test under a policy, on each durable store."""
    return partial(Workshop, ledger_place, tmp_path)


@pytest.fixture
def workshop(new_workshop: OpenWorkshop) -> Workshop:
    """A workshop with four gates and no completion checks."""
    return new_workshop()


@pytest.fixture
def file_workshop(tmp_path: Path) -> OpenWorkshop:
    """Opens the workshop of a test on SQLite only, where the store makes no difference."""
    return partial(Workshop, str(tmp_path / "ledger.db"), tmp_path)
