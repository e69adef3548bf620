"""A server that is killed under load: nothing that was answered is lost, and nothing counts twice.

On SQLite one server is killed and another one takes its place; on Postgres two serve one ledger,
and one of them is killed.
"""

from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from interlock import Interlock
from interlock.views.ledger_view import verified_ledger
from interlock.views.run_view import balance_of
from patience import LONG_ENOUGH_S
from server.served import Client, ServedProcess, environment_in, serving_apart
from service.ledgers import operator_of

ROUNDS = 8 if os.environ.get("INTERLOCK_SOAK") is not None else 2
ASKERS = 6


class Asker(threading.Thread):
    """An agent that asks one thing after the other, by key; what was not answered it asks again."""

    def __init__(self, servers: list[ServedProcess], run: str, name: str, first: int = 0) -> None:
        super().__init__(name=name)
        self._servers = servers
        self._run = run
        self._first = first
        self.answered: dict[str, str] = {}
        """The action's id by the key."""
        self.over = threading.Event()
        self.failed: list[str] = []

    def run(self) -> None:
        number = self._first
        while not self.over.is_set():
            key = f"{self.name}-{number}"
            table = {"action": {"command": f"cat {key}.txt"}, "key": key}
            server = self._servers[number % len(self._servers)]
            if self._ask(server, key, table):
                number += 1

    def _ask(self, server: ServedProcess, key: str, table: object) -> bool:
        try:
            reply = server.ask("POST", f"/v1/runs/{self._run}/actions", table, by_socket=True)
        except (OSError, http.client.HTTPException):
            # It may have been answered: the key tells, whoever is asked next.
            others = [each for each in self._servers if each is not server]
            return self._ask(others[0], key, table) if others else False
        if reply.status != 200:
            self.failed.append(f"{reply.status} {reply.body.decode()}")
            return False
        self.answered[key] = reply.value["action_id"]
        return True


def _started(server: Client) -> str:
    begun = server.ask(
        "POST", "/v1/runs", {"task": "load", "budget": {"tool_calls": 1_000_000}}, by_socket=True
    )
    assert begun.status == 201, begun.body
    return begun.value["id"]


def _opened(folder: Path) -> Interlock:
    environment = environment_in(folder)
    return Interlock.open(
        environment["INTERLOCK_LEDGER"], keys=folder / "config" / "keys", undo_store=folder / "undo"
    )


def _check(interlock: Interlock, askers: list[Asker], run_id: str) -> None:
    """Hold what was answered against the record."""
    state = interlock.governor.state(run_id)
    answered = {key: each for asker in askers for key, each in asker.answered.items()}
    keys = {
        row.key.partition(":")[2]: row.seq
        for row in interlock.ledger.rows.keys(run_id, limit=10**6)
    }
    assert {key: f"{run_id}:{seq}" for key, seq in keys.items() if key in answered} == answered
    # What was not answered any more may be on record: once.
    assert len(keys) == state.decisions["allow"]
    balance = balance_of(interlock.ledger, f"run/{run_id}", interlock.governor.clock.now())
    assert balance is not None
    assert balance.used.tool_calls + balance.reserved.tool_calls == len(keys)
    found = verified_ledger(interlock.ledger, interlock.ledger.rows, lambda _read, _of: None)
    assert found.faults == []


@contextmanager
def _asking(servers: list[ServedProcess], run: str, first: int) -> Generator[list[Asker]]:
    askers = [Asker(servers, run, f"a{number}", first) for number in range(ASKERS)]
    for each in askers:
        each.start()
    try:
        yield askers
    finally:
        for each in askers:
            each.over.set()
        for each in askers:
            each.join(LONG_ENOUGH_S)
    assert [each.failed for each in askers] == [[]] * ASKERS


def _until(askers: list[Asker], answers: int) -> None:
    """Wait until so many answers have arrived; the askers do not stop by themselves."""
    waited = threading.Event()
    while sum(len(each.answered) for each in askers) < answers:
        assert all(each.is_alive() for each in askers)
        waited.wait(0.005)


def test_killed_under_load_it_loses_nothing(tmp_path: Path) -> None:
    everything: list[Asker] = []
    run = ""
    for turn in range(ROUNDS):
        with serving_apart(tmp_path) as server:
            run = run or _started(server)
            with _asking([server], run, 100_000 * turn) as askers:
                _until(askers, 60)
                server.kill()
            everything += askers

    with _opened(tmp_path) as interlock:
        _check(interlock, everything, run)


@pytest.fixture
def two_servers(tmp_path: Path, postgres_ledger_url: str) -> Generator[list[ServedProcess]]:
    """Two servers over one Postgres, on one machine by different folders."""
    with ExitStack() as stack:
        servers: list[ServedProcess] = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir(mode=0o700)
            environment = {
                "INTERLOCK_LEDGER": postgres_ledger_url,
                "XDG_RUNTIME_DIR": str(tmp_path / name),
            }
            servers.append(stack.enter_context(serving_apart(tmp_path, environment=environment)))
        yield servers


def test_two_servers_keep_one_run_serial(
    two_servers: list[ServedProcess], tmp_path: Path, postgres_ledger_url: str
) -> None:
    run = _started(two_servers[0])
    with _asking(two_servers, run, 0) as askers:
        _until(askers, 120)
    with Interlock.open(postgres_ledger_url, keys=tmp_path / "config" / "keys") as interlock:
        _check(interlock, askers, run)


def test_one_of_two_is_killed_and_nothing_is_lost(
    two_servers: list[ServedProcess], tmp_path: Path, postgres_ledger_url: str
) -> None:
    run = _started(two_servers[0])
    with _asking(two_servers, run, 0) as askers:
        _until(askers, 60)
        two_servers[1].kill()
        _until(askers, 180)
    with Interlock.open(postgres_ledger_url, keys=tmp_path / "config" / "keys") as interlock:
        _check(interlock, askers, run)


def test_a_decision_on_one_wakes_who_waits_on_the_other(
    tmp_path: Path, postgres_ledger_url: str
) -> None:
    keys = tmp_path / "config" / "keys"
    with Interlock.open(postgres_ledger_url, keys=keys) as interlock:
        ada = operator_of(interlock)
        token = interlock.add_token("coder", scope="agent", token=ada)
    with ExitStack() as stack:
        servers: list[ServedProcess] = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir(mode=0o700)
            environment = {
                "INTERLOCK_LEDGER": postgres_ledger_url,
                "XDG_RUNTIME_DIR": str(tmp_path / name),
            }
            servers.append(stack.enter_context(serving_apart(tmp_path, environment=environment)))
        first, second = servers
        begun = first.ask("POST", "/v1/runs", {"task": "push"}, token=token).value["id"]
        path = f"/v1/runs/{begun}/actions"
        table = {"action": {"command": "git push --force"}}
        asked = first.ask("POST", path, table, token=token).value
        answers: list[object] = []
        waiting = threading.Thread(
            target=lambda: answers.append(
                first.ask("POST", path, {**table, "wait_s": LONG_ENOUGH_S}, token=token).value
            )
        )
        waiting.start()
        decided = second.ask(
            "POST", f"/v1/approvals/{asked['approval_id']}/approve", {"note": "go"}, token=ada
        )
        waiting.join(LONG_ENOUGH_S)

    assert decided.status == 200, decided.body
    [answer] = answers
    assert isinstance(answer, dict)
    # What a person let through carries the finding still.
    assert answer["decision"] == "warn"
