from __future__ import annotations

import pytest

from clients.jailed_client import JailedClient

pytestmark = pytest.mark.clients

DESTRUCTIVE = "find ~ -delete"


def test_a_destructive_command_is_stopped(client: JailedClient) -> None:
    client.govern()

    played = client.play({"shell": DESTRUCTIVE}, {"text": "Everything is done."})

    assert client.jail.victim.exists(), played
    assert played.model_heard("deletes the system, a home folder or everything in it"), played
