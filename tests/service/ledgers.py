"""Ledgers for the tests of the service: opened with a clock that goes only when it is told to."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from gates.policies import gates_with
from interlock import Interlock
from interlock.ledger.chain import read_chain
from interlock.ledger.ledger import Ledger
from interlock.model.events import Event, Record
from interlock.model.principal import Principal, PrincipalKind
from interlock.service.credentials import CredentialGrant, new_token

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
    hand = clock or HandClock()
    place = Path("nothing-is-written-here")
    with Interlock.open(":memory:", policy=gates_with(policy), clock=hand, keys=place) as interlock:
        yield interlock


def operator_of(interlock: Interlock, name: str = "ada") -> str:
    """Let the first operator in; return the token."""
    return _let_in(interlock, PrincipalKind.OPERATOR, name, by=None)


def another(interlock: Interlock, kind: PrincipalKind, name: str) -> str:
    """Let somebody in who is let in by an operator; return the token."""
    return _let_in(interlock, kind, name, by=Principal(kind=PrincipalKind.OPERATOR, name="ada"))


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


def _let_in(interlock: Interlock, kind: PrincipalKind, name: str, *, by: Principal | None) -> str:
    token = new_token()
    governor = interlock.governor
    governor.answer(CredentialGrant(kind=kind, name=name, token=token), by)
    return token
