"""A long day of a server, with a clock that goes fast: what it holds does not grow with time.

In full (`make soak`): fifty agents and a day in ten minutes. Shortened: a few agents, six minutes.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import msgspec
import pytest

from patience import LONG_ENOUGH_S, wait_until
from server.served import Client, listening
from warm_python import PythonProcess

IS_SOAK = os.environ.get("INTERLOCK_SOAK") is not None
AGENTS = 50 if IS_SOAK else 6
SPEED = 144
"""So fast a day passes in ten minutes."""
HOURS = 24 if IS_SOAK else 0.1
DEEDS = 60 if IS_SOAK else 15
"""What one run comes to: then the agent begins another one."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_WAL_MOST = 64 * 2**20


@contextmanager
def _server(folder: Path) -> Generator[tuple[subprocess.Popen[bytes], Client]]:
    script = Path(__file__).with_name("fast_day_server.py")
    words = [str(script), str(folder), str(SPEED)]
    with PythonProcess[bytes](words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            yield process, Client(listening(line))
        finally:
            process.terminate()
            assert process.wait(LONG_ENOUGH_S) == 0


class _Agent(threading.Thread):
    """Asks, reports and says that it goes on; a run after the other, until it is enough."""

    def __init__(self, client: Client, number: int, over: threading.Event) -> None:
        super().__init__(name=f"agent-{number}")
        self._client = client
        self._over = over
        self._connection = client.connection(by_socket=True)
        self.failed: list[str] = []

    def run(self) -> None:
        for run in count():
            begun = self._post("/v1/runs", {"task": f"{self.name} {run}", "agent": self.name})
            for deed in range(DEEDS):
                if self._over.is_set() or self.failed:
                    self._connection.close()
                    return
                self._deed(f"/v1/runs/{begun['id']}", run, deed)
            self._post(f"/v1/runs/{begun['id']}/finish", {})

    def _deed(self, path: str, run: int, deed: int) -> None:
        self._post(f"{path}/steps", {"said": f"I look at part {deed}."})
        self._post(f"{path}/usage", {"usage": {"input_tokens": 900, "output_tokens": 80}})
        answer = self._post(
            f"{path}/actions", {"action": {"command": f"cat src/part_{run}_{deed}.py"}}
        )
        seen = {"action_id": answer["action_id"], "exit_code": 0, "output": f"part {run} {deed}"}
        self._post(f"{path}/observations", seen)

    def _post(self, path: str, table: object) -> dict[str, str]:
        headers = {"content-type": "application/json"}
        self._connection.request("POST", path, msgspec.json.encode(table), headers)
        reply = self._connection.getresponse()
        body = reply.read()
        if reply.status not in (200, 201):
            self.failed.append(f"{path}: {reply.status} {body.decode()}")
            return {"id": "", "action_id": ""}
        return msgspec.json.decode(body)


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE


def _descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _hours(until: float) -> Iterator[float]:
    """Yield the hours of the server's day, as they pass, a hundredth of it at a time."""
    began = time.monotonic()
    while (passed := (time.monotonic() - began) * SPEED / 3600) < until:
        yield passed
        threading.Event().wait(until * 3600 / SPEED / 100)


@pytest.mark.soak
def test_a_long_day_leaves_nothing_behind(tmp_path: Path) -> None:
    over = threading.Event()
    resident: list[int] = []
    wal: list[int] = []
    with _server(tmp_path) as (process, client):
        # What is opened with the first answer stays open.
        begun = client.ask("POST", "/v1/runs", {"task": "the first"}, by_socket=True)
        assert begun.status == 201, begun.body
        first = _descriptors(process.pid)
        # Somebody who reads all the while must not let the write-ahead file grow.
        reader = client.connection(by_socket=True)
        agents = [_Agent(client, number, over) for number in range(AGENTS)]
        for each in agents:
            each.start()
        try:
            for _ in _hours(HOURS):
                resident.append(_resident(process.pid))
                wal.append((tmp_path / "ledger.db-wal").stat().st_size)
                reader.request("GET", "/healthz")
                assert reader.getresponse().read()
        finally:
            over.set()
            for each in agents:
                each.join(LONG_ENOUGH_S)
            reader.close()
        assert [each.failed for each in agents] == [[]] * AGENTS
        # It has let go of every connection.
        wait_until(
            lambda: _descriptors(process.pid) <= first,
            lambda: f"{_descriptors(process.pid)} descriptors, {first} at first",
        )

    assert max(wal) < _WAL_MOST
    if IS_SOAK:
        warm, last = resident[len(resident) // 2], resident[-1]
        assert abs(last - warm) <= 0.05 * warm, (warm, last)
