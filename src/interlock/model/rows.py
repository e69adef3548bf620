"""The rows that a store holds: the same for memory, SQLite and Postgres.

A store is dumb on purpose: what its rows mean is decided above it, once for all three.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from interlock.model.approval import Approval

ARCHIVED: Final = "archived"
"""The status of a run whose records are in an archive, and no longer in the ledger."""


class RecordRow(NamedTuple):
    """One record as it is stored."""

    run_id: str
    seq: int
    at: int
    kind: str
    body: bytes
    hash: str


class WrittenRow(NamedTuple):
    """A record and its place in the order in which all records were written."""

    position: int
    record: RecordRow


class HeadRow(NamedTuple):
    """The end of the order in which all records were written: how many, and what they come to."""

    records: int
    runs: int
    hash: str
    """Follows from the hash of every record, in order: see `interlock.model.order`."""
    at: int
    """When the last of them was written."""


class GapRow(NamedTuple):
    """Archived records that stood one behind the other: what they led from, and what to."""

    first: int
    """The place of the first of them in the order."""
    last: int
    archive: int
    """The record of the ledger's own chain that tells of the archive."""
    follows: str
    """What the records before them come to."""
    runs: int
    """How many runs had begun by then."""
    hash: str
    """What the records up to the last of them come to."""
    at: int
    """When the last of them was written."""
    accounts: bytes
    """The accounts that they changed, as they were afterwards."""
    seal: str


class ArchivedRow(NamedTuple):
    """A run whose records are in an archive: its row in the list of runs is sealed as it is."""

    run_id: str
    archive: int
    """The record of the ledger's own chain that tells of the archive."""
    seal: str


class Tally(NamedTuple):
    """What is noted of the whole, and what is found when it is counted, both of one moment."""

    head: HeadRow
    records: int
    """Those in archives included."""
    last: int
    """The highest place in the order."""
    runs: int


class RunRow(NamedTuple):
    """A run at a glance: the end of its chain, and what lists are filtered by."""

    id: str
    seq: int
    hash: str
    seal: str
    key_id: str
    started_at: int
    updated_at: int
    status: str
    agent: str
    project: str
    parent: str | None
    task: str
    process: str


class KeyRow(NamedTuple):
    """A request key and the record that answered it."""

    run_id: str
    key: str
    seq: int
    digest: str


class ReservationRow(NamedTuple):
    """A reservation that is still open: made by record `seq`, until `lease_until`."""

    run_id: str
    seq: int
    lease_until: int


class SnapshotRow(NamedTuple):
    """A run's state after `seq` records, so that nobody has to read them all again."""

    run_id: str
    seq: int
    body: bytes


class SealRow(NamedTuple):
    """A chain's length and head at some time, sealed."""

    run_id: str
    seq: int
    hash: str
    at: int
    key_id: str
    seal: str


class PolicyRow(NamedTuple):
    """A policy under the hash that decisions name."""

    hash: str
    body: bytes


class CredentialRow(NamedTuple):
    """Somebody who can prove who they are: known by a token's digest, never by the token."""

    digest: str
    kind: str
    name: str
    method: str
    cost: str | None
    """What a passphrase is stretched with, as JSON."""
    created_at: int
    revoked_at: int | None
    seal: str


class Changes:
    """Everything that one group of questions adds or changes, written in one go."""

    __slots__ = (
        "accounts",
        "approvals",
        "archived",
        "credentials",
        "gaps",
        "keys",
        "meta",
        "policies",
        "records",
        "reservations",
        "restored",
        "returned",
        "runs",
        "seals",
        "snapshots",
    )

    def __init__(self) -> None:
        self.records: list[RecordRow] = []
        self.runs: dict[str, RunRow] = {}
        self.accounts: dict[str, bytes] = {}
        self.keys: dict[tuple[str, str], KeyRow] = {}
        self.approvals: dict[str, Approval] = {}
        self.reservations: dict[tuple[str, int], ReservationRow | None] = {}
        """None where a reservation is released."""
        self.snapshots: dict[str, SnapshotRow] = {}
        self.policies: dict[str, PolicyRow] = {}
        self.credentials: dict[str, CredentialRow] = {}
        self.seals: list[SealRow] = []
        self.meta: dict[str, str] = {}
        self.archived: list[ArchivedRow] = []
        """The runs whose records are taken out, and everything else that follows from them."""
        self.gaps: list[GapRow] = []
        self.restored: set[int] = set()
        """The archives whose runs are no longer archived."""
        self.returned: list[WrittenRow] = []
        """The records of those, back in their places."""

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)
