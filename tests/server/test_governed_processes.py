"""Whoever descends from a governed run decides nothing, by whichever door it comes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from interlock import Interlock
from patience import LONG_ENOUGH_S
from server.served import ServedProcess, environment_in, serving_apart
from service.ledgers import operator_of
from warm_python import run_python

AGENT = """\
import http.client, json, os, socket, subprocess, sys

door, place, token, depth = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])

class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(place)

def ask(method, path, body, shown):
    host, _, port = place.rpartition(":")
    tcp = http.client.HTTPConnection
    connection = Unix("localhost") if door == "socket" else tcp(host, int(port))
    headers = {"authorization": "Bearer " + shown} if shown else {}
    connection.request(method, path, json.dumps(body), headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"null")

if depth:
    given = [sys.executable, "-c", os.environ["AGENT"], door, place, token, str(depth - 1)]
    sys.exit(subprocess.run(given).returncode)
told = [
    ask(method, path, body, token)
    for method, path, body in (
        ("POST", "/v1/loop/freeze", {"reason": "x"}),
        ("PUT", "/v1/budgets/agent/agent", {"budget": {"tokens": 1}}),
        ("POST", "/v1/tokens", {"name": "y", "scope": "admin"}),
        ("POST", "/v1/links", {}),
        ("POST", "/v1/policy/adopt", {"policy": "version = 1"}),
    )
]
print(json.dumps(told))
"""


@pytest.mark.parametrize("door", ["socket", "tcp"])
@pytest.mark.parametrize("depth", [0, 2])
def test_a_process_below_a_run_decides_nothing(tmp_path: Path, door: str, depth: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment_in(tmp_path).items():
            patch.setenv(name, value)
        with Interlock.open() as interlock:
            token = operator_of(interlock)
    with serving_apart(tmp_path) as server:
        with subprocess.Popen(
            # It ends with its input: until then it is the process of a run.
            [sys.executable, "-c", "import os, sys; sys.stdin.read(1); "
             "import subprocess; sys.exit(subprocess.run(sys.argv[1:]).returncode)",
             *asking(server, door, token, depth)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**environment_in(tmp_path), "AGENT": AGENT},
        ) as client:  # fmt: skip
            begun = server.ask(
                "POST", "/v1/runs", {"task": "x", "process": client.pid}, by_socket=True
            )
            assert begun.status == 201, begun.body
            output, _ = client.communicate(b".", timeout=LONG_ENOUGH_S)
        told = msgspec.json.decode(output, type=list[tuple[int, dict[str, object]]])

        assert [status for status, _ in told] == [403] * 5
        assert all("was started by run" in str(each["detail"]) for _, each in told)
        free = run_python(
            *asking(server, door, token, depth)[1:],
            environment={**environment_in(tmp_path), "AGENT": AGENT},
        )
    statuses = [status for status, _ in msgspec.json.decode(free.stdout)]
    assert statuses == [200, 200, 201, 201, 200]


def asking(server: ServedProcess, door: str, token: str, depth: int) -> list[str]:
    place = server.listening.socket if door == "socket" else ":".join(map(str, server.address))
    return [sys.executable, "-c", AGENT, door, place, token, str(depth)]
