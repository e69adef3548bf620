"""The governor: every question goes this way, and is answered once it is on the record."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar, cast

from interlock import settings
from interlock.errors import NotPermittedError, PolicyError, UnavailableError
from interlock.ledger.ledger import Ledger, Work
from interlock.model.approval import Approval, ApprovalState
from interlock.model.own_places import NOWHERE, OwnPlaces
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.promised_answer import completed
from interlock.model.run import LEDGER_RUN, RunState
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.ports import Clock, PatientClock
from interlock.service.policies.policy_files import PolicyFiles
from interlock.service.questions.question import Asking, Consequence, Preparation, Question
from interlock.service.records.adoption import adopt, adopt_for_project, check_adoption, held_policy
from interlock.service.records.approvals import wait_for_decision
from interlock.service.records.budgets import Recorded, policy_limits
from interlock.service.records.context import Context, JudgementCache
from interlock.service.records.prices import Prices

A = TypeVar("A")
T = TypeVar("T")

_MOST_ROUNDS: Final = 128
_MOST_KNOWN: Final = 4096
_NO_PROJECT: Final = "default"


class Governor:
    """Answers questions: the same for callers who wait and callers who await."""

    def __init__(
        self,
        ledger: Ledger,
        policy: CompiledPolicy,
        clock: Clock,
        *,
        projects: Mapping[str, CompiledPolicy] | None = None,
        undo_store: Path | None = None,
        own_places: OwnPlaces | None = None,
        asker: Principal | None = None,
        follows: PolicyFiles | None = None,
    ) -> None:
        self.ledger = ledger
        """Where everything is recorded."""
        self.clock = clock
        """What tells the time."""
        self._policies: dict[str | None, CompiledPolicy] = {None: policy}
        """The policies that count now, by the project that has one of its own; None by default."""
        for project, own in (projects or {}).items():
            self._policies[project] = own
        self._undo_store = undo_store or settings.current_ledger_places().undo
        self._own_places = own_places or settings.current_own_places()
        self.asker = asker
        """Who asks, where that was said or proven; elsewhere each run is asked for by its agent."""
        self._opener = asker or Principal(kind=PrincipalKind.USER, name=settings.user_name())
        """Who takes the policies that it was opened with."""
        self._contexts: dict[tuple[str | None, OwnPlaces | None], Context] = {}
        """What is asked in, by the same and by where Interlock is for a run from elsewhere."""
        self._on_record: set[str | None] = set()
        """The projects whose policy is known to be on record."""
        self._known: dict[str, RunState] = {}
        """Runs as they were when last looked up, for what never changes in them."""
        self._files: dict[str | None, PolicyFiles] = {} if follows is None else {None: follows}
        """Where policies are read from again when that has changed, by the same."""

    def answer(self, question: Question[A], principal: Principal | None = None) -> A:
        """Answer a question that somebody asks, or the agent of its run."""
        return completed(self._way, (question, principal, BLOCKING))

    def answered(
        self, question: Question[A], principal: Principal | None, driver: Driver
    ) -> Coroutine[object, object, A]:
        """Answer the same for whoever waits by a driver."""
        return driver.unbroken(lambda: self._way(question, principal, driver))

    async def _way(self, question: Question[A], principal: Principal | None, driver: Driver) -> A:
        """Prepare a question outside of the ledger, decide it in a transaction, answer it.

        What is decided is on record before it is answered. Where a decision needs something that
        takes time, that is done outside, and the same is decided again.
        """
        # Before anything else: in a forked process even judging may wait for a lost thread.
        self.ledger.check_process()
        work = await driver.outside(partial(question.prepare, Asking(self, principal)))
        for _ in range(_MOST_ROUNDS):
            decided = await driver.committed(self.ledger, work)
            if isinstance(decided, Preparation):
                await driver.outside(decided.perform)
            elif isinstance(decided, Consequence):
                return await driver.outside(cast("Consequence[A]", decided).perform)
            else:
                return decided
        raise UnavailableError(f"nothing was decided in {_MOST_ROUNDS} rounds: ask again")

    @property
    def policy_hash(self) -> str:
        """The policy that counts wherever no project has one of its own."""
        return self._policies[None].hash

    @property
    def context(self) -> Context:
        """What is asked of no run in particular is asked in this."""
        return self._context(None)

    def context_of(self, project: str, places: OwnPlaces | None = None) -> Context:
        """Return what the runs of a project are asked in; its policy is on record by then.

        A run goes by the places that were recorded when it began.
        """
        own = project if project in self._policies else None
        if own in self._files:
            self._take_changes(own)
        if own not in self._on_record:
            self._put_on_record(own, project, self._opener)
        return self._context(own, None if places in (self._own_places, NOWHERE) else places)

    def adopt(
        self, policy: CompiledPolicy, project: str | None = None, by: Principal | None = None
    ) -> bool:
        """Judge by another policy from now on; return False if it is the same."""
        before = self._policies.get(project)
        if (before or self._policies[None]).hash == policy.hash:
            return False
        self._replace(project, policy)
        try:
            self._put_on_record(project, project, by or self._opener)
        except BaseException:
            self._replace(project, before)
            raise
        return True

    def project_in(self, folder: Path, named: str) -> str:
        """Return the project of whoever works in a folder; its policy files count for it from here.

        A project is named after its folder: another one of that name has another policy.

        INVARIANT: no folder's policy counts for a project that is elsewhere, whatever it is called.
        """
        found = settings.places(settings.environment(), home=Path.home(), cwd=folder)
        if not found.project:
            return named
        root = found.project_file.parent
        digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:8]
        project = f"{root.name if named == _NO_PROJECT else named}-{digest}"
        files = PolicyFiles(found.project)
        if None in self._files:
            self.adopt(self._held(files.policy(), project, files), project)
            self._files[project] = files
        else:
            self.adopt(files.policy(), project)
        return project

    def _take_changes(self, own: str | None) -> None:
        """Judge by what the policy's files say now.

        What cannot be read waits until it can: until then the policy stays as it was.
        """
        files = self._files[own]
        traces = files.traces()
        if traces == files.seen and files.refused_under is None:
            return
        if traces == files.seen and files.refused_under == self._counted():
            return
        files.seen, files.refused_under = traces, None
        try:
            self.adopt(self._held(files.policy(), own, files), own)
        except (NotPermittedError, PolicyError):
            files.refused_under = self._counted()

    def _held(self, policy: CompiledPolicy, own: str | None, files: PolicyFiles) -> CompiledPolicy:
        """Return what files say, but for what is looser: that waits until an operator adopts it."""
        held = held_policy(self.ledger, policy, self._opener, own)
        files.refused_under = None if held is policy else self._counted()
        return held

    def _counted(self) -> str:
        """Return which policy counts in the ledger."""
        state = self.ledger.state(LEDGER_RUN)
        return "" if state is None else state.policy_hash

    def has_policy_of(self, project: str) -> bool:
        """Whether a project has a policy of its own here."""
        return project in self._policies

    def check_policies(self) -> None:
        """Raise NotPermittedError where a policy is one that only an operator may take.

        Where files are followed, what is looser in them waits for that.
        """
        for own, files in self._files.items():
            self._replace(own, self._held(self._policies[own], own, files))
        for project, policy in self._policies.items():
            check_adoption(self.ledger, policy, self._opener, project)

    def _replace(self, project: str | None, policy: CompiledPolicy | None) -> None:
        if policy is None:
            del self._policies[project]
        else:
            self._policies[project] = policy
        self._contexts.clear()

    def _put_on_record(self, own: str | None, project: str | None, by: Principal) -> None:
        context = self._context(own)
        if own is None:
            self.ledger.execute(adopt(context, by, project))
        else:
            self.ledger.execute(adopt_for_project(context, own, by))
        self._on_record.add(own)

    def _context(self, project: str | None, places: OwnPlaces | None = None) -> Context:
        found = self._contexts.get((project, places))
        if found is None:
            policy = self._policies[project].placed(places or self._own_places)
            found = self._contexts[project, places] = Context(
                ledger=self.ledger,
                policy=policy,
                clock=self.clock,
                prices=Prices(policy.config.budgets.prices),
                digest_key=bytes.fromhex(self.ledger.rows.meta("digest-key") or ""),
                policy_limits=policy_limits(policy.config),
                judgements=JudgementCache(policy),
                undo_store=self._undo_store,
                own_places=self._own_places,
            )
        return found

    def run(self, run_id: str) -> RunState:
        """Return a run as it was started; its figures may be old."""
        known = self._known.get(run_id)
        if known is None:
            known = self.state(run_id)
            self.know(known)
        return known

    def know(self, state: RunState) -> None:
        """Keep a run as it was just seen."""
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[state.id] = state

    def known(self, run_id: str) -> RunState | None:
        """Return a run as it was when it was last looked up here, without looking."""
        return self._known.get(run_id)

    def forget(self, run_id: str) -> None:
        """Look at the record again when a run is asked about next."""
        self._known.pop(run_id, None)

    def state(self, run_id: str) -> RunState:
        """Return a run as it is on record now."""
        return Recorded(self.ledger).state(run_id)

    def approvals(
        self,
        state: str | None,
        *,
        run_id: str | None = None,
        behind: tuple[int, str] | None = None,
    ) -> Iterator[Approval]:
        """Yield questions to people, the oldest first; `pending` are those that are open still."""
        now, is_pending = self.clock.now(), state == ApprovalState.PENDING.value
        while page := self.ledger.rows.approvals(state=state, run_id=run_id, behind=behind):
            yield from (each for each in page if not is_pending or each.is_open_at(now))
            behind = page[-1].opened_at, page[-1].id


class Driver(Protocol):
    """Waits for what takes time: by blocking a thread, or by giving an event loop back."""

    def unbroken(
        self, way: Callable[[], Coroutine[object, object, T]]
    ) -> Coroutine[object, object, T]:
        """Go a way to its end, also when nobody waits for that any more.

        It is begun here: an interrupt before that would leave a coroutine that nobody awaits.
        """
        ...

    async def outside(self, perform: Callable[[], T]) -> T:
        """Do something that takes time, outside of the ledger."""
        ...

    async def committed(self, ledger: Ledger, work: Work[T]) -> T:
        """Do work in a transaction; return its result once that is durable."""
        ...

    async def decision(
        self, ledger: Ledger, approval_id: str, *, clock: Clock, timeout_s: float | None
    ) -> Approval:
        """Wait for a person, so long; return the approval as it then is."""
        ...

    async def delay(self, clock: Clock, seconds: float) -> None:
        """Let so much time pass."""
        ...


class BlockingDriver:
    """Waits on the caller's own thread; its coroutines never suspend."""

    def unbroken(
        self, way: Callable[[], Coroutine[object, object, T]]
    ) -> Coroutine[object, object, T]:
        """Go it as it is: whoever blocks waits to the end."""
        return way()

    async def outside(self, perform: Callable[[], T]) -> T:
        """Do it here and now."""
        return perform()

    async def committed(self, ledger: Ledger, work: Work[T]) -> T:
        """Do it here and now, together with what others wait for."""
        return ledger.execute(work)

    async def decision(
        self, ledger: Ledger, approval_id: str, *, clock: Clock, timeout_s: float | None
    ) -> Approval:
        """Wait here."""
        return wait_for_decision(ledger, approval_id, clock=clock, timeout_s=timeout_s)

    async def delay(self, clock: Clock, seconds: float) -> None:
        """Sleep here; an interrupt ends it."""
        (clock.sleep if isinstance(clock, PatientClock) else time.sleep)(seconds)


BLOCKING: Final = BlockingDriver()
