"""What every question needs besides itself: the ledger, the policy, the time, and names."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec

from interlock.errors import InputError
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.transaction import Transaction
from interlock.model.action import Action, CommandAction
from interlock.model.budget import Limits
from interlock.model.events import Event, Record
from interlock.model.own_places import OwnPlaces
from interlock.model.principal import Principal
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.model.system_loop import LOOP_RUN
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import inspect
from interlock.policy.actions.recordable import recordable_text
from interlock.policy.gates.judgement import Judgement
from interlock.ports import Clock
from interlock.service.policies.builtin_rules import rules_digest
from interlock.service.records.prices import Prices

E = TypeVar("E", bound=Event)
T = TypeVar("T")

SECOND: Final = 1_000_000
"""In the unit of the clock."""
_LONGEST_NAME = 512


class Context(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a question is asked in."""

    ledger: Ledger
    policy: CompiledPolicy
    clock: Clock
    prices: Prices
    digest_key: bytes
    """Keys every digest of an input: without it, nobody can try inputs against a digest."""
    policy_limits: Mapping[str, Limits]
    """The policy's limits by kind of scope."""
    judgements: JudgementCache
    """What the gates say, remembered while the policy is the same."""
    undo_store: Path
    """The folder of what can be put back."""
    own_places: OwnPlaces
    """Where Interlock itself is, for the runs that are started here."""

    def clean(self, text: str) -> str:
        """Return a text as it may be kept: without credentials."""
        return recordable_text(text, self.policy)

    def digest(self, *parts: bytes | str) -> str:
        """Return a digest that only this ledger can make."""
        mac = hashlib.blake2b(key=self.digest_key, digest_size=32)
        for part in parts:
            raw = part.encode() if isinstance(part, str) else part
            # Each part is preceded by its length: no two lists of parts read the same.
            mac.update(b"%d:%b" % (len(raw), raw))
        return mac.hexdigest()


class Asked(NamedTuple):
    """A run that something is asked of, what it is asked in, and who asks."""

    context: Context
    run: RunState
    principal: Principal

    def work(
        self, plan: Callable[[Moment], T], *, charged: tuple[str, ...] | None = None
    ) -> Work[T]:
        """Return the work of doing something about the run in a transaction.

        Where it is about its budget, `charged` are the accounts besides the run's own.
        """
        run = self.run
        locks = (f"run/{run.id}",)
        if charged is not None:
            locks = _locks_of_budget(run.id, run.ancestors, charged)
        return Work(lambda transaction: plan(Moment(transaction, self)), locks=locks)

    def entry(self, event: E, by: Principal | None = None) -> Work[E]:
        """Return the work of putting an event on the record of the run, unless it is finished."""

        def plan(moment: Moment) -> E:
            moment.running()
            moment.append(event, by)
            return event

        return self.work(plan)


@lru_cache(maxsize=1024)
def _locks_of_budget(
    run_id: str, ancestors: tuple[str, ...], charged: tuple[str, ...]
) -> tuple[str, ...]:
    """Return everything that must stand still while a run's budget is looked at."""
    runs = [f"run/{run}" for run in (run_id, *ancestors)]
    return (*runs, f"tree/{run_id}", *charged)


class Moment:
    """One run in an open transaction: what it has come to, and what is put on its record."""

    __slots__ = ("by", "context", "now", "run", "transaction")

    def __init__(self, transaction: Transaction, asked: Asked) -> None:
        self.transaction = transaction
        self.context = asked.context
        self.by = asked.principal
        self.now = asked.context.clock.now()
        self.run = transaction.state(asked.run.id)
        """The run with everything that was appended up to here."""

    def running(self) -> RunState:
        """Return a run that something can be added to; raise InputError for a finished one."""
        run = self.run
        if run.id in (LEDGER_RUN, LOOP_RUN):
            raise InputError(
                f"`{run.id}`, a chain of Interlock's own, is no run: name one, see `interlock runs`"
            )
        if run.status is not RunStatus.RUNNING:
            raise InputError(f"run `{run.id}` is finished: nothing can be added to it")
        return run

    def append(
        self,
        event: Event,
        by: Principal | None = None,
        *,
        at: int | None = None,
        run_id: str | None = None,
    ) -> Record:
        """Put an event on the record of the run, or of another one; by whoever asks, or not."""
        whose, when = run_id or self.run.id, self.now if at is None else at
        record = self.transaction.append(whose, event, at=when, by=by or self.by)
        self.run = self.transaction.state(self.run.id)
        return record


class SystemClock:
    """The computer's clock."""

    def now(self) -> int:
        """Return the time in microseconds since 1970, UTC."""
        return time.time_ns() // 1000


def new_id() -> str:
    """Return an id that sorts by the time it was made (UUID, version 7)."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10))
    value = milliseconds << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    digits = f"{value:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def checked_name(field: str, value: str) -> str:
    """Return a name that every store can keep and every terminal can show."""
    if not value or len(value) > _LONGEST_NAME or not value.isprintable():
        shown = value[:40].encode("unicode_escape").decode()
        raise InputError(
            f"`{field}` is `{shown}`, expected 1 to {_LONGEST_NAME} printable characters"
        )
    return value


@cache
def engine() -> str:
    """Return the version of Interlock and of its built-in rules, in short."""
    return f"{version('interlock')}+{rules_digest().hex()[:12]}"


_MOST: Final = 1024
_LONGEST: Final = 512


class JudgementCache:
    """Judges by one policy, and remembers short commands that hold no secret."""

    def __init__(self, policy: CompiledPolicy) -> None:
        self._policy = policy
        self._known: dict[CommandAction, Judgement] = {}

    def of(self, action: Action) -> Judgement:
        """Return the judgement on an action."""
        if not isinstance(action, CommandAction) or len(action.command) > _LONGEST:
            return Judgement(inspect(action, self._policy))
        known = self._known.get(action)
        if known is None:
            known = Judgement(inspect(action, self._policy))
            if known.withheld is None:
                if len(self._known) >= _MOST:
                    self._known.clear()
                self._known[action] = known
        return known
