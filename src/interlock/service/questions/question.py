"""The way of a question: prepared outside of the ledger, decided in a transaction, answered.

Whoever is in a transaction holds up everybody else. So a question is first prepared: what takes
time is done where nobody waits. Only what cannot be known before is asked for in the middle, as a
value: a `Preparation`, after which the same is decided again, or a `Consequence` of the decision.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from interlock.errors import DamagedError, InputError, KeyConflictError
from interlock.ledger.abbreviations import found_approval, found_run
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.approval import Approval
from interlock.model.events import ActionJudged, Record, ReviewJudged, StepJudged, StopJudged
from interlock.model.own_places import OwnPlaces
from interlock.model.principal import Principal, agent_named
from interlock.model.rows import KeyRow
from interlock.model.run import RunState
from interlock.service.records.context import Asked, Context

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
E = TypeVar("E", ActionJudged, StepJudged, StopJudged, ReviewJudged)

_REQUEST_KEY: Final = "request:"
_DIGESTED_KEY: Final = "digest:"
_LONGEST_KEY: Final = 512
_KINDS: Final = frozenset(("command", "tool", "edit", "edits", "step", "stop", "verdict"))
"""The questions with keys of their own."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """What the answer hangs on and takes its time: do it, then decide the same again.

    INVARIANT: once it was performed, the same question does not ask for it again; and whatever
    was appended before it was asked for stands by itself.
    """

    perform: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Consequence(Generic[A_co]):
    """What follows from a decision that is on the record by now; it returns the answer."""

    perform: Callable[[], A_co]


Decided = A | Preparation | Consequence[A]
"""What a decision comes to: the answer, or what has to happen outside of the ledger."""


class Runs(Protocol):
    """Knows every run, and the policy that it is under."""

    @property
    def context(self) -> Context:
        """What is asked of no run in particular is asked in this."""
        ...

    def run(self, run_id: str) -> RunState:
        """Return a run as it was started; its figures may be old."""
        ...

    def context_of(self, project: str, places: OwnPlaces | None = None) -> Context:
        """Return what the runs of a project are asked in; its policy is on record by then."""
        ...


class Asking(NamedTuple):
    """Somebody asks: who, and of whom."""

    runs: Runs
    principal: Principal | None
    """None where nobody is named: then it is the agent of the run."""

    def of_run(self, run_id: str) -> Asked:
        """Return what is asked of a run."""
        run = self.runs.run(run_id)
        context = self.runs.context_of(run.project, run.own_places)
        return Asked(context, run, self.principal or agent_named(run.agent))

    def of_named_run(self, text: str) -> Asked:
        """Return what is asked of the run that an id or its beginning names."""
        return self.of_run(found_run(self.runs.context.ledger.rows, text).id)

    def of_approval(self, approval_id: str) -> tuple[Asked, Approval]:
        """Return what is asked of the run of a question to a person, with that question.

        It may be named by the beginning of its id.
        """
        approval = found_approval(self.runs.context.ledger.rows, approval_id)
        return self.of_run(approval.run_id), approval


class Question(Protocol[A_co]):
    """Something that is asked: what it is, and how its answer comes about."""

    def prepare(self, asking: Asking) -> Work[Decided[A_co]]:
        """Do what takes time; return what is decided in a transaction, and what that locks."""
        ...


@dataclass(frozen=True, slots=True)
class Entry(Generic[A_co]):
    """What needs no deciding: a report, a note, a person's word on its way to the record."""

    work: Callable[[Asking], Work[A_co]]

    def prepare(self, asking: Asking) -> Work[Decided[A_co]]:
        """Return the work of recording it."""
        return self.work(asking)


def key_of(context: Context, kind: str, key: str) -> str:
    """Return a client's key for a question of one kind: for another kind it is another one."""
    return f"{kind}/{key_on_record(context, key)}"


def key_on_record(context: Context, key: str) -> str:
    """Return a client's key as it may be recorded: as it is, or else by its digest."""
    if not key:
        raise InputError("the key is empty: give each request one of its own, or none")
    is_plain = len(key) <= _LONGEST_KEY and key.isprintable()
    if is_plain and context.clean(key) == key:
        return f"{_REQUEST_KEY}{key}"
    return f"{_DIGESTED_KEY}{context.digest(key.encode('utf-8', 'surrogatepass'))}"


def keyed_report(
    context: Context, kind: str, key: str | None, report: msgspec.Struct
) -> tuple[str | None, str]:
    """Return the key of a report as it may be recorded, and what tells the report from others."""
    if key is None:
        return None, ""
    return key_of(context, kind, key), context.digest(kind, _in_bytes(report))


def _in_bytes(report: msgspec.Struct) -> bytes:
    try:
        return msgspec.json.encode(report)
    except UnicodeEncodeError:
        # Half of a character, as cut-off text has.
        return json.dumps(msgspec.to_builtins(report)).encode()


def answered_before(
    transaction: Transaction, run_id: str, key: str | None, digest: str, kind: type[E]
) -> tuple[Record, E] | None:
    """Return the record that answered the same question, and what it says, if there is one.

    A key stands for one question of its kind. Raises KeyConflictError where it stands for
    another one.
    """
    if key is None:
        return None
    earlier = transaction.key(run_id, key)
    if earlier is None:
        earlier = _before_kinds(transaction, run_id, key, kind)
    if earlier is None:
        return None
    record = transaction.record(run_id, earlier.seq)
    shown = key.partition(":")[2][:60]
    if earlier.digest != digest or record is None:
        raise KeyConflictError(
            f"the key `{shown}` stands for another request in run `{run_id}`: use a new key for a"
            " new request"
        )
    if not isinstance(record.event, kind):
        raise KeyConflictError(f"the key `{shown}` stands for something else")
    if (record.event.key, record.event.digest) != (earlier.key, digest):
        raise DamagedError(
            f"the key `{shown}` is stored with record {earlier.seq} of run `{run_id}`, which"
            " answered something else: run `interlock verify`"
        )
    return record, record.event


def _before_kinds(transaction: Transaction, run_id: str, key: str, kind: type[E]) -> KeyRow | None:
    """Return what a key was used for when one key stood for one question of any kind."""
    of, _, rest = key.partition("/")
    row = transaction.key(run_id, rest) if of in _KINDS else None
    record = None if row is None else transaction.record(run_id, row.seq)
    return row if record is not None and isinstance(record.event, kind) else None
