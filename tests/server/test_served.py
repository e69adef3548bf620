"""A server answers over TCP and over its socket, in this process and in its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock import Interlock
from server.served import Served, environment_in, serving_apart
from service.ledgers import operator_of


@pytest.mark.parametrize("by_socket", [False, True])
def test_answers_over_both_doors(served: Served, by_socket: bool) -> None:
    answer = served.ask("GET", "/healthz", by_socket=by_socket)

    assert answer.status == 200
    assert answer.value == {"status": "ok"}


def test_an_agent_asks_in_its_own_run(served: Served) -> None:
    run = served.run()

    answer = served.post(f"/v1/runs/{run}/actions", {"action": {"command": "ls"}})

    assert answer.status == 200
    assert answer.value["verdict"]["decision"] == "allow"


def test_a_process_of_its_own_answers_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment_in(tmp_path).items():
        monkeypatch.setenv(name, value)
    with Interlock.open() as interlock:
        token = operator_of(interlock)

    with serving_apart(tmp_path) as server:
        assert server.ask("GET", "/readyz").value == {"status": "ready"}
        assert server.ask("GET", "/v1/runs/nothing", token=token).status == 404
    assert server.process.returncode == 0
