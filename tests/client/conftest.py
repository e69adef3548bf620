"""What every test of the client may ask for: a server, and clients of it."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest

from interlock.client import Client, connect
from server.served import Served, served

__all__ = ["served"]

Connect = Callable[..., Client]


@pytest.fixture(params=["socket", "tcp"])
def client(request: pytest.FixtureRequest, served: Served) -> Generator[Client]:
    """A client of an agent: over either way it is the same."""
    listening = served.listening
    place = listening.socket if request.param == "socket" else listening.url
    with connect(place, token=served.tokens["agent"]) as connected:
        yield connected
