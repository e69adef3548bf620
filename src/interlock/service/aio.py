"""Interlock for programs that await: the same words, without blocking the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, Unpack

from msgspec.structs import replace

from interlock.ledger.ledger import Ledger, Work
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.model.answers import (
    Answer,
    EditAnswer,
    ReviewAnswer,
    ReviewOpening,
    StepAnswer,
    StopAnswer,
)
from interlock.model.approval import Approval
from interlock.model.belief import Belief
from interlock.model.budget import Budget, TokenUsage
from interlock.model.edit import EditSet, FileEdit
from interlock.model.events import (
    ActionObserved,
    BudgetChanged,
    Undone,
    UsageReported,
    ViolationRecorded,
)
from interlock.model.report import Report
from interlock.model.review import GateAction
from interlock.model.run import RunState
from interlock.model.verdict import Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.steps.step_statistics import History, entry_from_decision
from interlock.ports import Clock, Evaluator
from interlock.service.governor import Governor
from interlock.service.leaving import close_at_exit
from interlock.service.ledgers import open_governor
from interlock.service.operations import Operations, ReviewFields, RunFields, Seen, VerdictFields
from interlock.service.questions.finish import Unfinished
from interlock.service.questions.verdict import VerdictGiven
from interlock.service.records.approvals import wait_for_decision
from interlock.service.records.reviews import GateGiven
from interlock.service.records.run_checkpoints import take_checkpoint
from interlock.service.turns import StepFields, StopFields

T = TypeVar("T")


class AsyncInterlock:
    """A ledger and a policy: the way in for whoever asks from a coroutine."""

    def __init__(self, governor: Governor) -> None:
        self._governor = governor
        self._leaving = close_at_exit(governor.ledger)

    @classmethod
    async def open(
        cls,
        place: str | Path | None = None,
        *,
        gates: CompiledPolicy | None = None,
        clock: Clock | None = None,
        keys: Path | None = None,
        undo_store: Path | None = None,
    ) -> Self:
        """Open the ledger at a path or URL, `:memory:`, or where the environment says."""
        governor = await asyncio.to_thread(
            open_governor, place, gates=gates, clock=clock, keys=keys, undo_store=undo_store
        )
        return cls(governor)

    @property
    def ledger(self) -> Ledger:
        """The record itself."""
        return self._governor.ledger

    async def run(self, task: str, **fields: Unpack[RunFields]) -> AsyncRun:
        """Start a run."""
        work = Operations(self._governor).start(task, **fields)
        return AsyncRun(self._governor, (await self._governor.awaited(work)).id)

    async def resume(self, run_id: str) -> AsyncRun:
        """Go on with a run that was started earlier, perhaps by another process."""
        state = await asyncio.to_thread(self._governor.run, run_id)
        return AsyncRun(self._governor, state.id)

    async def adopt(self, gates: CompiledPolicy) -> bool:
        """Judge by another policy from now on; return False if it is the same."""
        return await asyncio.to_thread(self._governor.adopt, gates)

    async def approvals(self, state: str | None = "pending") -> Sequence[Approval]:
        """Return the questions to people in one state, or all of them."""
        return await asyncio.to_thread(self._governor.approvals, state)

    async def approve(
        self, approval_id: str, *, token: str, note: str | None = None, always: bool = False
    ) -> Approval:
        """Let an action happen, once; only an operator's token does."""
        works = Operations(self._governor)
        return await self._governor.awaited(
            works.decide(approval_id, token, granted=True, note=note, always=always)
        )

    async def deny(self, approval_id: str, *, token: str, note: str | None = None) -> Approval:
        """Refuse an action; only an operator's token does."""
        works = Operations(self._governor)
        return await self._governor.awaited(
            works.decide(approval_id, token, granted=False, note=note)
        )

    async def choose(
        self,
        approval_id: str,
        action: GateAction | str,
        *,
        token: str,
        instructions: str | None = None,
    ) -> ReviewAnswer:
        """Choose how a review goes on, `retry`, `skip` or `abort`; only an operator may."""
        works = Operations(self._governor)
        return await self._governor.awaited(
            works.choose(approval_id, action, token, instructions=instructions)
        )

    async def choose_review(
        self,
        run_id: str,
        action: GateAction | str,
        *,
        token: str,
        review: str | None = None,
        instructions: str | None = None,
    ) -> ReviewAnswer:
        """Choose the same by the name of the review, or for the only one that is pending."""
        works = Operations(self._governor)
        return await self._governor.awaited(
            works.choose_review(run_id, review, action, token, instructions=instructions)
        )

    async def halt(self, run_id: str, *, token: str, reason: str) -> RunState:
        """Stop a run and everything below it; only an operator's token does."""
        works = Operations(self._governor)
        return await self._governor.awaited(works.halt(run_id, token, reason=reason))

    async def lift(self, run_id: str, *, token: str, reason: str) -> RunState:
        """Let a run go on that was paused or stopped; only an operator's token does."""
        works = Operations(self._governor)
        return await self._governor.awaited(works.lift(run_id, token, reason=reason))

    async def set_budget(
        self, scope: str, budget: Budget, *, token: str, note: str | None = None
    ) -> Sequence[BudgetChanged]:
        """Give an account other limits; only an operator's token does."""
        works = Operations(self._governor).set_budget(scope, budget, token, note=note)
        return [await self._governor.awaited(work) for work in works]

    async def wait(self, approval_id: str, *, timeout_s: float | None = None) -> Approval:
        """Wait until an approval is decided, runs out, or the time is up."""
        return await _decision(self._governor, approval_id, timeout_s)

    async def undo(self, undo_id: str) -> Undone:
        """Put files back: a set of edits, or what was copied away before a command."""
        from interlock.service.records.undo_records import put_back  # noqa: PLC0415 - rarely needed

        return await asyncio.to_thread(put_back, self._governor, undo_id)

    async def close(self) -> None:
        """Leave the ledger in good order."""
        await asyncio.to_thread(self._leaving)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class AsyncRun:
    """One run: ask before acting, report afterwards, finish at the end."""

    def __init__(self, governor: Governor, run_id: str) -> None:
        self._governor = governor
        self._works = Operations(governor)
        self.id = run_id
        self.history = History()
        """The latest answers to `step` that this view of the run was given."""

    async def state(self) -> RunState:
        """Return the run as it is on record."""
        return await asyncio.to_thread(self._governor.state, self.id)

    async def command(
        self,
        line: str,
        *,
        cwd: str | None = None,
        key: str | None = None,
        expects: Budget | None = None,
        wait_s: float | None = None,
    ) -> Answer:
        """May this command line run?"""
        return await self.ask(CommandAction(command=line, cwd=cwd), key, expects, wait_s)

    async def tool(
        self,
        name: str,
        params: Mapping[str, object] | str,
        *,
        key: str | None = None,
        expects: Budget | None = None,
        wait_s: float | None = None,
    ) -> Answer:
        """May this tool be called?"""
        return await self.ask(ToolAction(name=name, params=params), key, expects, wait_s)

    async def edit(
        self,
        path: str,
        content: str,
        *,
        old: str | None = None,
        key: str | None = None,
        expects: Budget | None = None,
        wait_s: float | None = None,
    ) -> Answer:
        """May this be written?"""
        action = EditAction(path=path, content=content, old=old)
        return await self.ask(action, key, expects, wait_s)

    async def ask(
        self,
        action: Action,
        key: str | None = None,
        expects: Budget | None = None,
        wait_s: float | None = None,
    ) -> Answer:
        """May this happen? With `wait_s`, wait so long for the person who has to agree."""
        answer = await self._done(self._works.ask(self.id, action, key, expects))
        if wait_s is None or not answer.waits_for_person or answer.approval_id is None:
            return answer
        await _decision(self._governor, answer.approval_id, wait_s)
        return await self._done(self._works.ask(self.id, action, key, expects))

    async def apply(
        self,
        edits: EditSet | Sequence[FileEdit],
        *,
        key: str | None = None,
        dry_run: bool = False,
        wait_s: float | None = None,
    ) -> EditAnswer:
        """Make edits in the workspace if they may be made: all of them, or none."""
        from interlock.service.questions import edit  # noqa: PLC0415 - only whoever edits

        wanted, governor = edit.edit_set(edits), self._governor
        if dry_run:
            return await asyncio.to_thread(edit.look_at_edits, governor, self.id, wanted)
        told = await asyncio.to_thread(edit.apply_edits, governor, self.id, wanted, key=key)
        if wait_s is None or told.approval_id is None or told.allowed:
            return told
        await _decision(governor, told.approval_id, wait_s)
        return await asyncio.to_thread(edit.apply_edits, governor, self.id, wanted, key=key)

    async def observe(self, answer: Answer | str, **seen: Unpack[Seen]) -> ActionObserved:
        """Report what an action did; `answer` may also be its `action_id`."""
        return await self._done(self._works.observe(self.id, answer, seen))

    async def observe_unasked(self, action: Action, **seen: Unpack[Seen]) -> ActionObserved:
        """Report an action that nobody had asked about."""
        return await self._done(self._works.observe_unasked(self.id, action, seen))

    async def usage(self, usage: TokenUsage, *, model: str | None = None) -> UsageReported:
        """Report that a model was called."""
        return await self._done(self._works.usage(self.id, usage, model))

    async def violation(
        self,
        rule: str,
        message: str,
        *,
        severity: Severity = Severity.MEDIUM,
        location: str | None = None,
        corrected: bool = False,
    ) -> ViolationRecorded:
        """Record that a rule was broken."""
        event = ViolationRecorded(
            rule=rule, message=message, severity=severity, location=location, corrected=corrected
        )
        return await self._done(self._works.violation(self.id, event))

    async def step(self, said: str | None = None, **fields: Unpack[StepFields]) -> StepAnswer:
        """Should it go on? Asked before each step; a due checkpoint is taken before the answer."""
        answer = await self._done(self._works.step(self.id, said, fields))
        if answer.detail.checkpoint_due and not answer.repeated:
            saved = await asyncio.to_thread(take_checkpoint, self._governor, answer)
            await self._done(self._works.checkpoint(self.id, saved))
            answer = replace(answer, checkpoint=saved)
        self.history.add(entry_from_decision(answer.facts, answer.detail))
        return answer

    async def stopped(self, text: str | None = None, **fields: Unpack[StopFields]) -> StopAnswer:
        """Is it really done? Asked each time the agent ends its turn without acting."""
        return await self._done(self._works.stopped(self.id, text, fields))

    async def belief(
        self, name: str, *, supporting: float = 0, opposing: float = 0, because: str = ""
    ) -> Belief:
        """Note what the agent takes to be true, and the weight of what speaks for and against."""
        work = self._works.belief(
            self.id, name, supporting=supporting, opposing=opposing, because=because
        )
        return await self._done(work)

    async def person_spoke(self) -> None:
        """Note that a person spoke to the agent: it counts anew from here."""
        await self._done(self._works.person_spoke(self.id))

    async def review(
        self, review_id: str, gates: Sequence[GateGiven], **fields: Unpack[ReviewFields]
    ) -> ReviewOpening:
        """Have the work reviewed: gates by their names in the policy, or made for the occasion."""
        return await self._done(self._works.review(self.id, review_id, gates, fields))

    async def verdict(self, said: VerdictGiven, **fields: Unpack[VerdictFields]) -> ReviewAnswer:
        """Was it good enough? The checks of the review are run before what was said counts."""
        return await self._done(self._works.verdict(self.id, said, fields))

    async def child(self, task: str, **fields: Unpack[RunFields]) -> AsyncRun:
        """Start a run below this one; what it spends counts here as well."""
        work = self._works.child(self.id, task, fields)
        return AsyncRun(self._governor, (await self._done(work)).id)

    async def finish(
        self, outcome: str = "completed", *, evaluators: Sequence[Evaluator] = ()
    ) -> Report:
        """Close the run and return what the evaluators say; closing it again changes nothing.

        Raises UnfinishedError while the policy's completion checks fail, or a blocking review
        is pending, unless the outcome says itself that the work is not done.
        """
        ended = await self._done(self._works.finish(self.id, outcome, evaluators))
        if isinstance(ended, Unfinished):
            raise ended.error()
        return ended

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.finish("completed" if error is None else "failed")

    async def _done(self, work: Work[T]) -> T:
        return await self._governor.awaited(work)


async def _decision(governor: Governor, approval_id: str, timeout_s: float | None) -> Approval:
    """Wait on a thread of its own: the loop's few threads are not for hours of waiting."""
    has_given_up = threading.Event()
    decision: Future[Approval] = Future()
    decision.set_running_or_notify_cancel()

    def wait() -> None:
        try:
            decision.set_result(
                wait_for_decision(
                    governor.ledger,
                    approval_id,
                    clock=governor.clock,
                    timeout_s=timeout_s,
                    is_wanted=lambda: not has_given_up.is_set(),
                )
            )
        except BaseException as error:  # noqa: BLE001 - whoever awaits is told
            decision.set_exception(error)

    threading.Thread(target=wait, name="interlock-wait", daemon=True).start()
    try:
        return await asyncio.wrap_future(decision)
    finally:
        has_given_up.set()
