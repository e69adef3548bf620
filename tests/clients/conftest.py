"""Real clients, each in a jail of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.jail import Jail, missing, program
from clients.jailed_client import CLIENTS, JailedClient


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> Iterator[JailedClient]:
    """A client that nobody governs yet."""
    kind = CLIENTS[str(request.param)]
    lacking = missing()
    if lacking is None and not program(kind.executable).exists():
        lacking = f"`{kind.executable}` is not installed: `make test-clients` installs it"
    if lacking is not None:
        pytest.skip(f"no real client: {lacking}")
    # A socket's path is short: that of pytest's own folders is not.
    with tempfile.TemporaryDirectory(prefix="jail-", ignore_cleanup_errors=True) as folder:
        yield kind(Jail(Path(folder)))
