"""The seams: what the inside asks of the outside, one protocol each.

A port is a protocol; whoever does what it says fits, in production and in tests alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from interlock.model.approval import Approval
from interlock.model.budget import Account
from interlock.model.hook import HookAnswer, HookCall, HookReply, HookRequest, ModelCall
from interlock.model.past_run import PastRun, Unread
from interlock.model.review import Evaluation
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
from interlock.model.run import RunState

ALL: Final = 2**31 - 1
"""As a limit: however many there are."""


@runtime_checkable
class Clock(Protocol):
    """Tells the time; the inside never looks at a clock of its own."""

    def now(self) -> int:
        """Return the time in microseconds since 1970, UTC."""
        ...


@runtime_checkable
class PatientClock(Clock, Protocol):
    """A clock that is waited by as well; by any other, what passes is the computer's time."""

    def sleep(self, seconds: float) -> None:
        """Return once so much time has passed."""
        ...


Evaluator = Callable[[RunState], Evaluation]
"""Somebody else's judgement on a finished run: a pure function of its state."""


class Dialect(Protocol):
    """What an agent's client says to its hooks, and how it is answered; it decides nothing."""

    def request(self, call: HookCall) -> HookRequest | None:
        """Return what a call asks; None where it asks nothing.

        Raise InputError where it cannot be read.
        """
        ...

    def reply(self, call: HookCall, answer: HookAnswer) -> HookReply:
        """Return an answer as the client understands it; None where nothing was asked."""
        ...

    def refusal(self, call: HookCall, reason: str) -> HookReply:
        """Return a no for whatever went wrong, which the client cannot take for a yes.

        At the end of a turn it lets the agent end.
        """
        ...

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return the latest calls of models that the client's own record of the session tells of.

        It may read files. The oldest comes first; whoever asks knows which ones were told before.
        """
        ...


class HistoryReader(Protocol):
    """Reads what a client or a benchmark wrote down of past runs; it decides and writes nothing.

    It is handed from one process to another, so it can be pickled.
    """

    @property
    def name(self) -> str:
        """The format, by the name of whoever writes it."""
        ...

    @property
    def version(self) -> int:
        """Raised whenever it reads something else in the same file: that is read again then."""
        ...

    def usual_places(self, home: Path, environment: Mapping[str, str]) -> Sequence[Path]:
        """Return where such histories are kept on this computer; they need not be there."""
        ...

    def reads(self, path: Path, beginning: bytes) -> bool:
        """Return whether a file is of this format, by its name and how it begins."""
        ...

    def beside(self, path: Path) -> Sequence[Path]:
        """Return which other files `runs` reads along with a file; they need not be there."""
        ...

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield every run of a file, each to be used up before the next one is taken.

        What cannot be read is told to `unread` and left out; OSError where nothing can be read.
        """
        ...


class Accounts(Protocol):
    """Whoever knows accounts and runs: the transaction while it writes, the record afterwards."""

    def account(self, scope: str) -> Account:
        """Return an account; one that nothing was ever charged to is empty."""
        ...

    def state(self, run_id: str) -> RunState:
        """Return a run's state; raise InputError if there is no such run."""
        ...


class Policies(Protocol):
    """Whoever knows policies: the transaction while it writes, the record afterwards."""

    def policy(self, policy_hash: str) -> PolicyRow | None:
        """Return a policy by its hash."""
        ...


class Rows(Protocol):
    """Reading: each method sees everything that is durable, and nothing else."""

    def run(self, run_id: str) -> RunRow | None:
        """Return a run by its id."""
        ...

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
        """Return the runs that were active last, newest first; `prefix` is of their ids.

        `behind` is when the last one of a page was active, and its id: the next page is wanted.
        """
        ...

    def run_for(self, process: str) -> RunRow | None:
        """Return the latest run that was started for a process, as its record names that."""
        ...

    def children(self, run_id: str) -> Sequence[RunRow]:
        """Return the runs directly below a run, oldest first."""
        ...

    def records(self, run_id: str, *, after: int = 0, limit: int = 1000) -> Sequence[RecordRow]:
        """Return the records that follow record `after`, in order."""
        ...

    def record(self, run_id: str, seq: int) -> RecordRow | None:
        """Return one record."""
        ...

    def chains(self, *, after: str = "", limit: int = 1000) -> Sequence[str]:
        """Return every name of a run that anything is stored for, in order, from behind `after`."""
        ...

    def written(self, *, after: int = 0, limit: int = 1000) -> Sequence[WrittenRow]:
        """Return the records of all runs from behind place `after`, in the order of writing.

        What concerns the same account is in the order in which it happened.
        """
        ...

    def snapshot(self, run_id: str) -> SnapshotRow | None:
        """Return the last snapshot of a run."""
        ...

    def account(self, scope: str) -> bytes | None:
        """Return an account."""
        ...

    def accounts(self) -> Iterator[tuple[str, bytes]]:
        """Yield every account, by scope."""
        ...

    def key(self, run_id: str, key: str) -> KeyRow | None:
        """Return what a request key was used for."""
        ...

    def keys(self, run_id: str, *, after: str = "", limit: int = 1000) -> Sequence[KeyRow]:
        """Return the request keys of a run, in order, from behind `after`."""
        ...

    def reservation(self, run_id: str, seq: int) -> ReservationRow | None:
        """Return a reservation that is still open."""
        ...

    def lapsed(self, now: int, *, limit: int = 1000) -> Sequence[ReservationRow]:
        """Return reservations whose lease is over, the oldest first."""
        ...

    def approval(self, approval_id: str) -> Approval | None:
        """Return an approval by its id."""
        ...

    def approval_for(self, run_id: str, digest: str) -> Approval | None:
        """Return the latest approval for exactly this, if any was ever opened."""
        ...

    def approvals(
        self,
        *,
        state: str | None = None,
        run_id: str | None = None,
        behind: tuple[int, str] | None = None,
        limit: int = 1000,
    ) -> Sequence[Approval]:
        """Return approvals, the oldest first; those `behind` a moment and an id."""
        ...

    def policy(self, policy_hash: str) -> PolicyRow | None:
        """Return a policy by its hash."""
        ...

    def credential(self, digest: str) -> CredentialRow | None:
        """Return whose token has this digest."""
        ...

    def credentials(self) -> Sequence[CredentialRow]:
        """Return every credential there ever was, the oldest first."""
        ...

    def seals(self, run_id: str) -> Sequence[SealRow]:
        """Return the seals on a run, the shortest chain first."""
        ...

    def policies(self) -> Sequence[PolicyRow]:
        """Return every policy, by its hash."""
        ...

    def meta(self, name: str) -> str | None:
        """Return a value about the ledger itself: `id`, `digest-key`, `key-id`, `seal`."""
        ...

    def all_meta(self) -> Mapping[str, str]:
        """Return every value about the ledger itself."""
        ...

    def head(self) -> HeadRow:
        """Return the end of the order, as it was noted with the last record."""
        ...

    def tally(self) -> Tally:
        """Return the end of the order, and what is found when everything is counted."""
        ...

    def gaps(self, *, after: int = 0) -> Sequence[GapRow]:
        """Return where archived records stood, in the order of writing, from behind a place."""
        ...

    def archived(self, run_id: str) -> ArchivedRow | None:
        """Return which archive has the records of a run."""
        ...


class Listener(Protocol):
    """Waits for commits; none after it was opened is missed. Only one thread may wait."""

    def wait(self, timeout_s: float | None) -> bool:
        """Return True on news, False after the timeout or `stop`; may be retried after an error."""
        ...

    def stop(self) -> None:
        """End the current wait and every later one, from any thread."""
        ...

    def close(self) -> None:
        """Stop listening; no thread may be waiting."""
        ...


class Store(Protocol):
    """A place that keeps rows: one writer at a time, several readers."""

    @property
    def name(self) -> str:
        """What a person calls it, without any password."""
        ...

    @property
    def idle_after_s(self) -> float | None:
        """After how much quiet `tidy` is worth its while; None if it never is."""
        ...

    def begin(self, locks: Sequence[str]) -> bool:
        """Open a transaction in which nobody else can change what the locks name.

        Return True if nobody else has written since this store's last commit: then everything
        its user remembers still holds.
        """
        ...

    def writing(self) -> Rows:
        """Return the rows as the open transaction sees them."""
        ...

    def commit(self, changes: Changes) -> HeadRow:
        """Write everything and make it durable, or raise UnavailableError and write nothing.

        Return the end of the order: that of these records, or a later one.
        """
        ...

    def rollback(self) -> None:
        """Give up the open transaction, if there is one."""
        ...

    def reading(self) -> Rows:
        """Return the rows as everybody sees them, usable from any thread."""
        ...

    def frozen(self) -> AbstractContextManager[Rows]:
        """Return the rows as they are now, all of one moment, whatever is written meanwhile."""
        ...

    def listen(self) -> Listener:
        """Return somebody who is woken by every commit, of this process or another one."""
        ...

    def tidy(self) -> None:
        """Do what is good to do when nothing else is to be done."""
        ...

    def close(self) -> None:
        """Leave everything in good order."""
        ...
