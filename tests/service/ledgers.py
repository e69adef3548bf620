"""Ledgers for the tests of the service: opened with a clock that goes only when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from gates.policies import gates_with
from interlock import Interlock, Run
from interlock.ledger.chain import read_chain
from interlock.ledger.ledger import Ledger
from interlock.model.events import Event, Record
from interlock.model.principal import PrincipalKind, person_at
from interlock.service.questions.run_entries import person_heard, starting
from interlock.service.records.runs import ELSEWHERE, NewRun

SECOND = 1_000_000
DAY = 86_400 * SECOND
MONDAY = 1_794_787_200 * SECOND
"""2026-11-16, 00:00 UTC."""

OpenInterlock = Callable[..., Interlock]
"""Opens the place of a test again, under a policy that is given as text."""


class HandClock:
    """A clock that goes only when somebody moves its hands."""

    def __init__(self, at: int = MONDAY + 12 * 3600 * SECOND) -> None:
        self.at = at

    def now(self) -> int:
        return self.at

    def forward(self, *, seconds: float) -> None:
        self.at += round(seconds * SECOND)


@contextmanager
def in_memory(policy: str = "", *, clock: HandClock | None = None) -> Generator[Interlock]:
    """Open a ledger that is gone afterwards."""
    with (
        TemporaryDirectory() as folder,
        Interlock.open(
            ":memory:",
            policy=gates_with(policy),
            clock=clock or HandClock(),
            keys=Path("nothing-is-written-here"),
            undo_store=folder,
        ) as interlock,
    ):
        yield interlock


def run_elsewhere(
    interlock: Interlock,
    task: str,
    agent: str = "agent",
    client: str = "python",
    project: str = "default",
) -> Run:
    """Start a run of another machine: nobody here descends from it, so everybody may decide."""
    new = NewRun(task=task, agent=agent, client=client, project=project, process=ELSEWHERE)
    return Run(interlock.governor, interlock.governor.answer(starting(new), None).id)


PASSPHRASE = "correct horse battery"
"""Of every operator here."""
CHEAP = 2
"""What stretching a passphrase costs here: next to nothing."""


def operator_of(interlock: Interlock, name: str = "ada") -> str:
    """Make the first operator; return the token."""
    interlock.set_up(name, PASSPHRASE, cost=CHEAP)
    return interlock.unlock(name, PASSPHRASE)


def another(interlock: Interlock, kind: PrincipalKind, name: str) -> str:
    """Let somebody in who is let in by `ada`; return the token."""
    ada = interlock.unlock("ada", PASSPHRASE)
    if kind is PrincipalKind.AGENT:
        return interlock.add_agent(name, token=ada)
    interlock.add_operator(name, PASSPHRASE, token=ada, cost=CHEAP)
    return interlock.unlock(name, PASSPHRASE)


def person_speaks(run: Run) -> None:
    """Pass on what a person typed, as the hook of a client does."""
    governor = run._governor  # pyright: ignore[reportPrivateUsage] - the door of adapters
    governor.answer(person_heard(run.id), person_at("a client"))


def records_of(ledger: Ledger, run_id: str) -> list[Record]:
    """Return every record of a run, its chain verified."""
    rows = ledger.rows.records(run_id, limit=100_000)
    return [record for record, _ in read_chain(rows, run_id)]


def events_of(ledger: Ledger, run_id: str) -> list[Event]:
    """Return everything that happened to a run."""
    return [record.event for record in records_of(ledger, run_id)]


def kinds_of(ledger: Ledger, run_id: str) -> list[str]:
    """Return what kinds of things happened to a run, in order."""
    return [row.kind for row in ledger.rows.records(run_id, limit=100_000)]


def everything_stored(ledger: Ledger) -> bytes:
    """Return all that a ledger keeps of its runs, as one text."""
    rows = ledger.rows
    parts: list[bytes] = []
    for chain in rows.chains():
        parts.extend(row.body for row in rows.records(chain, limit=100_000))
        parts.extend(msgspec.json.encode(row) for row in rows.keys(chain))
        parts.append(repr(rows.run(chain)).encode("utf-8", "surrogatepass"))
        snapshot = rows.snapshot(chain)
        parts.append(snapshot.body if snapshot is not None else b"")
    parts.extend(msgspec.json.encode(each) for each in rows.approvals())
    parts.extend(scope.encode() + body for scope, body in rows.accounts())
    return b"\n".join(parts)
