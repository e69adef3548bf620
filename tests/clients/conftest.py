"""Real clients, each in a jail of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clients.jailed_client import CLIENTS, JailedClient, client_in_jail


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> Iterator[JailedClient]:
    """A client under Interlock, in a home of its own."""
    with client_in_jail(str(request.param)) as client:
        client.govern()
        yield client
