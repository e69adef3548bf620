"""A ledger in memory: for tests, for trying things out, and as the plainest store there is."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from interlock.ledger.stores.notifier import Notifier
from interlock.model.approval import Approval
from interlock.model.order import BEFORE_ALL, followed
from interlock.model.rows import (
    ArchivedRow,
    Changes,
    CredentialRow,
    GapRow,
    HeadRow,
    KeyRow,
    PolicyRow,
    RecordRow,
    ReservationRow,
    RunRow,
    SealRow,
    SnapshotRow,
    Tally,
    WrittenRow,
)
from interlock.ports import Listener, Rows


class MemoryStore:
    """Rows in dictionaries; gone when the process is."""

    name: str = "memory"
    idle_after_s: float | None = None
    """There is nothing to put in order."""

    def __init__(self) -> None:
        digest_key = uuid.uuid4().hex + uuid.uuid4().hex
        self._rows = _MemoryRows({"id": uuid.uuid4().hex, "digest-key": digest_key})
        self._notifier = Notifier(lambda: self._commits)
        self._commits = 0

    def begin(self, locks: Sequence[str]) -> bool:  # noqa: ARG002 - nobody else can write here
        """Open a transaction: there is never another one."""
        self._rows.take_the_rest()
        return True

    def writing(self) -> Rows:
        """Return the rows as they are."""
        return self._rows

    def commit(self, changes: Changes) -> HeadRow:
        """Take everything, and wake those who wait."""
        self._rows.take(changes)
        self._commits += 1
        self._notifier.notify()
        return self._rows.head()

    def rollback(self) -> None:
        """Give up, unless it had begun to be taken."""
        self._rows.take_the_rest()

    def reading(self) -> Rows:
        """Return the rows as they are."""
        return self._rows

    def frozen(self) -> AbstractContextManager[Rows]:
        """Return a copy of the rows."""
        return nullcontext(self._rows.copied())

    def listen(self) -> Listener:
        """Return somebody who is woken by every commit."""
        return self._notifier.listen()

    def tidy(self) -> None:
        """Nothing to put in order."""

    def close(self) -> None:
        """Nothing to leave behind."""


class _MemoryRows:
    def __init__(self, meta: dict[str, str]) -> None:
        self._turn = threading.Lock()
        self._head = BEFORE_ALL
        self._all = Changes()
        self._all.meta = dict(meta)
        """Everything that was ever written, as if it were one group."""
        self._chains: dict[str, list[RecordRow]] = {}
        self._asked: dict[tuple[str, str], dict[str, Approval]] = {}
        """Approvals by run and digest, then by id."""
        self._under_way: tuple[Changes, int, int, HeadRow] | None = None
        """What is being taken; how many records and seals, and which head, there were before."""

    def take(self, changes: Changes) -> None:
        self._under_way = changes, len(self._all.records), len(self._all.seals), self._head
        self.take_the_rest()

    def take_the_rest(self) -> None:
        """Take what an interrupt may have left half taken: taken twice, it is the same."""
        if self._under_way is None:
            return
        changes, records, seals, head = self._under_way
        with self._turn:
            known = self._all
            known.records[records:] = changes.records
            self._head = followed(head, changes.records)
            for row in changes.records:
                chain = self._chains.setdefault(row.run_id, [])
                chain[row.seq - 1 :] = [row]
            known.seals[seals:] = changes.seals
            known.reservations |= changes.reservations
            for place in [each for each, row in changes.reservations.items() if row is None]:
                known.reservations.pop(place, None)
            known.runs |= changes.runs
            known.accounts |= changes.accounts
            known.keys |= changes.keys
            known.approvals |= changes.approvals
            for each in changes.approvals.values():
                self._asked.setdefault((each.run_id, each.digest), {})[each.id] = each
            known.snapshots |= changes.snapshots
            # What was stored under a hash stays.
            known.policies = changes.policies | known.policies
            known.credentials |= changes.credentials
            known.meta |= changes.meta
        self._under_way = None

    def copied(self) -> _MemoryRows:
        rows = _MemoryRows({})
        with self._turn:
            rows.take(self._all)
        return rows

    def run(self, run_id: str) -> RunRow | None:
        return self._all.runs.get(run_id)

    def runs(
        self,
        *,
        limit: int,
        status: str | None = None,
        agent: str | None = None,
        project: str | None = None,
        prefix: str = "",
        behind: tuple[int, str] | None = None,
    ) -> Sequence[RunRow]:
        wanted = {"status": status, "agent": agent, "project": project}
        found = [
            row
            for row in list(self._all.runs.values())
            if row.id.startswith(prefix)
            and all(value in (None, getattr(row, name)) for name, value in wanted.items())
        ]
        found.sort(key=lambda row: (-row.updated_at, row.id))
        if behind is not None:
            found = [row for row in found if (-row.updated_at, row.id) > (-behind[0], behind[1])]
        return found[:limit]

    def children(self, run_id: str) -> Sequence[RunRow]:
        found = [row for row in list(self._all.runs.values()) if row.parent == run_id]
        return sorted(found, key=lambda row: (row.started_at, row.id))

    def records(self, run_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[RecordRow]:
        return self._chains.get(run_id, [])[after : after + limit]

    def record(self, run_id: str, seq: int) -> RecordRow | None:
        records = self._chains.get(run_id, [])
        return records[seq - 1] if 0 < seq <= len(records) else None

    def chains(self, *, after: str = "", limit: int = 1000) -> Sequence[str]:
        known = self._all
        names = {
            *known.runs,
            *self._chains,
            *known.snapshots,
            *(run_id for run_id, _ in known.keys),
            *(each.run_id for each in (*known.seals, *known.approvals.values())),
        }
        return sorted(name for name in names if name > after)[:limit]

    def written(self, *, after: int = 0, limit: int = 1000) -> Sequence[WrittenRow]:
        first = max(after, 0)
        page = self._all.records[first : first + limit]
        return [WrittenRow(place, row) for place, row in enumerate(page, start=first + 1)]

    def snapshot(self, run_id: str) -> SnapshotRow | None:
        return self._all.snapshots.get(run_id)

    def account(self, scope: str) -> bytes | None:
        return self._all.accounts.get(scope)

    def accounts(self) -> Iterator[tuple[str, bytes]]:
        yield from sorted(self._all.accounts.items())

    def key(self, run_id: str, key: str) -> KeyRow | None:
        return self._all.keys.get((run_id, key))

    def keys(self, run_id: str, *, after: str = "", limit: int = 1000) -> Sequence[KeyRow]:
        found = [row for row in list(self._all.keys.values()) if row.run_id == run_id]
        return sorted(row for row in found if row.key > after)[:limit]

    def reservation(self, run_id: str, seq: int) -> ReservationRow | None:
        return self._all.reservations.get((run_id, seq))

    def lapsed(self, now: int, *, limit: int = 1000) -> Sequence[ReservationRow]:
        open_rows = filter(None, list(self._all.reservations.values()))
        over = [row for row in open_rows if row.lease_until <= now]
        return sorted(over, key=lambda row: (row.lease_until, row))[:limit]

    def approval(self, approval_id: str) -> Approval | None:
        return self._all.approvals.get(approval_id)

    def approval_for(self, run_id: str, digest: str) -> Approval | None:
        found = list(self._asked.get((run_id, digest), {}).values())
        return max(found, key=lambda each: (each.opened_at, each.id), default=None)

    def approvals(
        self,
        *,
        state: str | None = None,
        run_id: str | None = None,
        behind: tuple[int, str] | None = None,
        limit: int = 1000,
    ) -> Sequence[Approval]:
        found = [
            each
            for each in list(self._all.approvals.values())
            if state in (None, each.state.value)
            and run_id in (None, each.run_id)
            and (behind is None or (each.opened_at, each.id) > behind)
        ]
        return sorted(found, key=lambda each: (each.opened_at, each.id))[:limit]

    def policy(self, policy_hash: str) -> PolicyRow | None:
        return self._all.policies.get(policy_hash)

    def run_for(self, process: str) -> RunRow | None:
        """Return the latest run that was started for a process."""
        found = (row for row in self._all.runs.values() if row.process == process)
        return max(found, key=lambda row: row.id, default=None)

    def policies(self) -> Sequence[PolicyRow]:
        return sorted(self._all.policies.values())

    def credential(self, digest: str) -> CredentialRow | None:
        return self._all.credentials.get(digest)

    def credentials(self) -> Sequence[CredentialRow]:
        return sorted(self._all.credentials.values(), key=lambda row: (row.created_at, row.digest))

    def seals(self, run_id: str) -> Sequence[SealRow]:
        return [seal for seal in self._all.seals if seal.run_id == run_id]

    def meta(self, name: str) -> str | None:
        return self._all.meta.get(name)

    def all_meta(self) -> Mapping[str, str]:
        return dict(self._all.meta)

    def head(self) -> HeadRow:
        return self._head

    def tally(self) -> Tally:
        stored = len(self._all.records)
        return Tally(self._head, stored, stored, len(self._all.runs))

    def gaps(self, *, after: int = 0) -> Sequence[GapRow]:  # noqa: ARG002 - as of every store
        """Return nothing: what is gone with its process is not archived."""
        return ()

    def archived(self, run_id: str) -> ArchivedRow | None:  # noqa: ARG002 - as of every store
        return None
