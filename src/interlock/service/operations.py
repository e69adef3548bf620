"""Everything that can be asked and said, once: for callers who wait and callers who await.

Each is a coroutine that waits by a driver. The blocking driver never suspends it, so that the
same words serve programs without an event loop (see `interlock.service.interlock`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar, Unpack, cast

from interlock.errors import InputError, UnfinishedError
from interlock.ledger.ledger import Work
from interlock.model.action import Action, CommandAction, EditAction, ToolAction, action_given
from interlock.model.answers import (
    Answer,
    EditAnswer,
    ReviewAnswer,
    ReviewOpening,
    StepAnswer,
    StopAnswer,
)
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import NOTHING, Budget, Dimension, TokenUsage
from interlock.model.edit import EditSet, FileEdit
from interlock.model.entrance import Amount, Given, checked, entrance
from interlock.model.events import (
    ActionObserved,
    BudgetChanged,
    Undone,
    UsageReported,
    ViolationRecorded,
)
from interlock.model.principal import SYSTEM, Principal
from interlock.model.review import GateAction, Report
from interlock.model.run import RunState
from interlock.model.step import Belief, Evidence
from interlock.model.step_statistics import StepStatistics
from interlock.model.verdict import Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.steps.continue_gate import History, entry_from_decision
from interlock.ports import Evaluator
from interlock.service.governor import Driver, Governor
from interlock.service.people import operators
from interlock.service.people.credentials import USUAL_COST, require_operator
from interlock.service.people.operators import NewOperator, Operator
from interlock.service.questions.action_question import ActionQuestion
from interlock.service.questions.finish_question import FinishQuestion
from interlock.service.questions.question import Asking, Entry, Question
from interlock.service.questions.run_entries import person_heard, resuming, starting
from interlock.service.questions.step_question import StepFields, StepQuestion, step_report
from interlock.service.questions.stop_question import StopFields, StopQuestion, stop_report
from interlock.service.questions.verdict_question import (
    VerdictFields,
    VerdictGiven,
    VerdictQuestion,
)
from interlock.service.records import approvals, budgets, holds, observations, reviews, runs
from interlock.service.records.context import Asked, Context
from interlock.service.records.observations import Seen, observation_from
from interlock.service.records.reviews import GateGiven, ReviewFields
from interlock.service.records.runs import RunFields

A = TypeVar("A")


class Operations:
    """What can be asked of a ledger, besides what is asked of one run."""

    def __init__(self, governor: Governor, driver: Driver, principal: Principal | None) -> None:
        self.governor = governor
        """What every question goes through."""
        self.ledger = governor.ledger
        """The record itself."""
        self._driver = driver
        self._principal = principal

    @entrance
    async def adopt(
        self, policy: CompiledPolicy, *, project: str | None = None, token: str | None = None
    ) -> bool:
        """Judge by another policy from now on, in one project or wherever none has its own.

        Where there is an operator, a policy that is looser anywhere needs their token. Returns
        False if it is the same.
        """
        by = None if token is None else await self._operator(token, "adopt a policy")
        return await self._driver.outside(lambda: self.governor.adopt(policy, project, by))

    @entrance
    async def approvals(self, state: str | None = "pending") -> Sequence[Approval]:
        """Return the questions to people in one state, or all of them."""
        return await self._driver.outside(lambda: self.governor.approvals(state))

    @entrance
    async def approve(
        self, approval_id: str, *, token: str, note: str | None = None, always: bool = False
    ) -> Approval:
        """Let an action happen, once; only an operator's token does."""
        return await self._decide(
            approval_id, token, ApprovalState.GRANTED, note=note, always=always
        )

    @entrance
    async def deny(self, approval_id: str, *, token: str, note: str | None = None) -> Approval:
        """Refuse an action; only an operator's token does."""
        return await self._decide(approval_id, token, ApprovalState.DENIED, note=note)

    async def _decide(
        self,
        approval_id: str,
        token: str,
        state: ApprovalState,
        *,
        note: str | None,
        always: bool = False,
    ) -> Approval:
        return await self._as_operator(
            token,
            "approve" if state is ApprovalState.GRANTED else "deny",
            lambda asking: approvals.decide(
                *asking.of_approval(approval_id), state, note=note, always=always
            ),
        )

    @entrance
    async def choose(
        self,
        approval_id: str,
        action: GateAction | str,
        *,
        token: str,
        instructions: str | None = None,
    ) -> ReviewAnswer:
        """Choose how a review goes on, `retry`, `skip` or `abort`; only an operator may."""
        return await self._as_operator(
            token,
            "choose",
            lambda asking: reviews.choose_by_approval(
                *asking.of_approval(approval_id),
                GateAction(action),
                instructions=instructions,
            ),
        )

    @entrance
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
        return await self._as_operator(
            token,
            "choose",
            lambda asking: reviews.choose_by_review(
                asking.of_run(run_id), review, GateAction(action), instructions=instructions
            ),
        )

    @entrance
    async def halt(self, run_id: str, *, token: str, reason: str) -> RunState:
        """Stop a run and everything below it; only an operator's token does."""
        return await self._as_operator(
            token, "halt", lambda asking: holds.halt(asking.of_run(run_id), reason=reason)
        )

    @entrance
    async def lift(self, run_id: str, *, token: str, reason: str) -> RunState:
        """Let a run go on that was paused or stopped; only an operator's token does."""
        return await self._as_operator(
            token, "lift", lambda asking: holds.lift(asking.of_run(run_id), reason=reason)
        )

    @entrance
    async def set_budget(
        self, scope: str, budget: Given[Budget], *, token: str, note: str | None = None
    ) -> Sequence[BudgetChanged]:
        """Give an account other limits, one for each that the budget names; an operator may."""
        limits = cast("Budget", budget).limits()
        changes = [
            budget_change(scope, dimension, limit, note=note)
            for dimension in Dimension
            if (limit := limits.of(dimension)) is not None
        ]
        by = await self._operator(token, "set a budget")
        return [await self.governor.answered(each, by, self._driver) for each in changes]

    @entrance
    async def wait(self, approval_id: str, *, timeout_s: Amount | None = None) -> Approval:
        """Wait until an approval is decided, runs out, or the time is up."""
        return await self._driver.decision(
            self.ledger, approval_id, clock=self.governor.clock, timeout_s=timeout_s
        )

    @entrance
    async def undo(self, undo_id: str) -> Undone:
        """Put files back: a set of edits, or what was copied away before a command."""
        from interlock.service.records.undo_records import put_back  # noqa: PLC0415 - rarely needed

        by = self._principal or SYSTEM
        return await self.ask(Entry(lambda asking: put_back(asking.runs.context, undo_id, by)))

    async def checkpoint_store(self) -> None:
        """Bring everything into the ledger's own file now, as it is done by itself when idle.

        Beside somebody who reads, the write-ahead file keeps its size until they are done.
        """
        await self._driver.outside(self.ledger.tidy)

    async def close(self) -> None:
        """Leave the ledger in good order."""
        await self._driver.outside(self.ledger.close)

    async def start(self, task: str, fields: RunFields) -> RunState:
        """Start a run."""
        return await self.ask(starting(runs.new_run(task, fields)))

    async def ask(self, question: Question[A]) -> A:
        """Ask any question, as whoever this was opened for."""
        return await self.governor.answered(question, self._principal, self._driver)

    async def resumed(self, run_id: str, process: int | None) -> RunState:
        """Return a run that was started earlier and goes on, perhaps in another process."""
        state = await self._driver.outside(lambda: self.governor.run(run_id))
        going_on = await self._driver.outside(lambda: resuming(state, process))
        if going_on is not None:
            await self.ask(going_on)
            self.governor.forget(run_id)
        return state

    @entrance
    async def set_up(self, name: str, passphrase: str, *, cost: int = USUAL_COST) -> NewOperator:
        """Make the first operator of this ledger, once; the recovery code is not shown again."""
        return await self._of_people(
            lambda context: operators.set_up(context, name, passphrase, cost=cost)
        )

    @entrance
    async def unlock(self, name: str, passphrase: str) -> str:
        """Return an operator's token, which is stored nowhere and proves who decides."""
        return await self._of_people(lambda context: operators.unlocked(context, name, passphrase))

    @entrance
    async def operators(self) -> Sequence[Operator]:
        """Return everybody who may decide."""
        return await self._driver.outside(lambda: operators.all_operators(self.ledger))

    @entrance
    async def add_operator(
        self, name: str, passphrase: str, *, token: str, cost: int = USUAL_COST
    ) -> NewOperator:
        """Let another operator in; only an operator's token does."""
        by = await self._operator(token, "add an operator")
        return await self._of_people(
            lambda context: operators.add_operator(context, by, name, passphrase, cost=cost)
        )

    @entrance
    async def change_passphrase(
        self, passphrase: str, *, token: str, cost: int = USUAL_COST
    ) -> None:
        """Give whose token it is another passphrase; this token opens nothing afterwards."""
        by = await self._operator(token, "change a passphrase")
        await self._of_people(
            lambda context: operators.change_passphrase(context, by, passphrase, cost=cost)
        )

    @entrance
    async def recover_operator(
        self, recovery_code: str, passphrase: str, *, cost: int = USUAL_COST
    ) -> NewOperator:
        """Give an operator another passphrase, and another code, for the code that they kept."""
        return await self._of_people(
            lambda context: operators.recover_operator(
                context, recovery_code, passphrase, cost=cost
            )
        )

    @entrance
    async def revoke_operator(self, name: str, *, token: str) -> None:
        """Let an operator go; only an operator's token does, and the last one stays."""
        by = await self._operator(token, "revoke an operator")
        await self._of_people(lambda context: operators.revoke_operator(context, by, name))

    @entrance
    async def add_agent(self, name: str, *, token: str) -> str:
        """Return a token for an agent, which decides nothing; only an operator's token does."""
        by = await self._operator(token, "add an agent")
        return await self._of_people(lambda context: operators.add_agent(context, by, name))

    @entrance
    async def revoke_agent(self, name: str, *, token: str) -> None:
        """Let an agent go, with every token it has; only an operator's token does."""
        by = await self._operator(token, "revoke an agent")
        await self._of_people(lambda context: operators.revoke_agent(context, by, name))

    async def _as_operator(
        self, token: str, operation: str, work: Callable[[Asking], Work[A]]
    ) -> A:
        by = await self._operator(token, operation)
        return await self.governor.answered(Entry(work), by, self._driver)

    async def _operator(self, token: str, operation: str) -> Principal:
        return await self._of_people(lambda context: operators.proven(context, token, operation))

    async def _of_people(self, perform: Callable[[Context], A]) -> A:
        return await self._driver.outside(lambda: perform(self.governor.context))


class RunOperations:
    """What can be asked of one run: before acting, afterwards, and at its end."""

    def __init__(
        self, governor: Governor, run_id: str, driver: Driver, principal: Principal | None
    ) -> None:
        self._governor = governor
        self._driver = driver
        self._principal = principal
        self.id = run_id
        self.history = History()
        """The latest answers to `step` that this view of the run was given."""

    async def state(self) -> RunState:
        """Return the run as it is on record."""
        return await self._driver.outside(lambda: self._governor.state(self.id))

    @entrance
    async def statistics(self) -> StepStatistics:
        """Return what all answers before its steps come to, from the record."""
        return (await self.state()).step_statistics

    @entrance
    async def command(
        self,
        line: str,
        *,
        cwd: str | None = None,
        key: str | None = None,
        expects: Given[Budget] | None = None,
        wait_s: Amount | None = None,
    ) -> Answer:
        """May this command line run?"""
        return await self.ask(CommandAction(command=line, cwd=cwd), key, expects, wait_s)

    @entrance
    async def tool(
        self,
        name: str,
        params: Mapping[str, object] | str,
        *,
        key: str | None = None,
        expects: Given[Budget] | None = None,
        wait_s: Amount | None = None,
    ) -> Answer:
        """May this tool be called?"""
        return await self.ask(ToolAction(name=name, params=params), key, expects, wait_s)

    @entrance
    async def edit(
        self,
        path: str,
        content: str,
        *,
        old: str | None = None,
        key: str | None = None,
        expects: Given[Budget] | None = None,
        wait_s: Amount | None = None,
    ) -> Answer:
        """May this be written?"""
        action = EditAction(path=path, content=content, old=old)
        return await self.ask(action, key, expects, wait_s)

    @entrance
    async def ask(
        self,
        action: Action | Mapping[str, object],
        key: str | None = None,
        expects: Given[Budget] | None = None,
        wait_s: Amount | None = None,
    ) -> Answer:
        """May this happen? With `wait_s`, wait so long for the person who has to agree."""
        amounts = NOTHING if expects is None else cast("Budget", expects).amounts()
        question = ActionQuestion(
            run_id=self.id, action=action_given(action), key=key, expects=amounts
        )
        answer = await self._answer(question)
        if wait_s is None or answer.allowed or answer.approval_id is None:
            return answer
        await self._decision(answer.approval_id, wait_s)
        return await self._answer(question)

    @entrance
    async def apply(
        self,
        edits: EditSet | Sequence[Given[FileEdit]],
        *,
        key: str | None = None,
        dry_run: bool = False,
        wait_s: Amount | None = None,
    ) -> EditAnswer:
        """Make edits in the workspace if they may be made: all of them, or none.

        They are judged by what they would really change. With `dry_run` they are only planned;
        with `wait_s`, wait so long for the person who has to agree. Raises EditError, with no
        file changed, where they cannot be made.
        """
        from interlock.service.questions.edit_question import EditQuestion, edit_set, look_at_edits  # noqa: PLC0415 - only whoever edits

        wanted, governor = edit_set(cast("EditSet | Sequence[FileEdit]", edits)), self._governor
        if dry_run:
            return await self._driver.outside(
                lambda: look_at_edits(governor.context, governor.run(self.id), wanted)
            )
        question = EditQuestion(run_id=self.id, edits=wanted, key=key)
        answer = await self._answer(question)
        if wait_s is None or answer.allowed or answer.approval_id is None:
            return answer
        await self._decision(answer.approval_id, wait_s)
        return await self._answer(question)

    @entrance
    async def observe(self, answer: Answer | str, **seen: Unpack[Seen]) -> ActionObserved:
        """Report what an action did; `answer` may also be its `action_id`."""
        given = answer.action_id if isinstance(answer, Answer) else answer
        action_id: str = checked(given, str, "answer.action_id")
        whose, _, seq = action_id.rpartition(":")
        if whose != self.id or not seq.isdecimal():
            raise InputError(f"`{action_id}` is not an action of run `{self.id}`")
        report = observation_from(**seen)
        return await self._record(lambda asked: observations.observe(asked, int(seq), report))

    @entrance
    async def observe_unasked(
        self, action: Action | Mapping[str, object], **seen: Unpack[Seen]
    ) -> ActionObserved:
        """Report an action that nobody had asked about."""
        report, what = observation_from(**seen), action_given(action)
        return await self._record(lambda asked: observations.observe_unasked(asked, what, report))

    @entrance
    async def usage(self, usage: Given[TokenUsage], *, model: str | None = None) -> UsageReported:
        """Report that a model was called."""
        return await self._record(
            lambda asked: observations.report_usage(asked, cast("TokenUsage", usage), model=model)
        )

    @entrance
    async def violation(
        self,
        rule: str,
        message: str,
        *,
        severity: Severity | str = Severity.MEDIUM,
        location: str | None = None,
        corrected: bool = False,
    ) -> ViolationRecorded:
        """Record that a rule was broken."""
        event = ViolationRecorded(
            rule=rule,
            message=message,
            severity=Severity(severity),
            location=location,
            corrected=corrected,
        )
        return await self._record(lambda asked: observations.record_violation(asked, event))

    @entrance
    async def step(self, said: str | None = None, **fields: Unpack[StepFields]) -> StepAnswer:
        """Should it go on? Asked before each step; a due checkpoint is taken before the answer."""
        answer = await self._answer(
            StepQuestion(run_id=self.id, report=step_report(said, **fields))
        )
        self.history.add(entry_from_decision(answer.facts, answer.detail))
        return answer

    @entrance
    async def stopped(self, text: str | None = None, **fields: Unpack[StopFields]) -> StopAnswer:
        """Is it really done? Asked each time the agent ends its turn without acting."""
        return await self._answer(StopQuestion(run_id=self.id, report=stop_report(text, **fields)))

    @entrance
    async def belief(
        self, name: str, *, supporting: Amount = 0, opposing: Amount = 0, because: str = ""
    ) -> Belief:
        """Note what the agent takes to be true, and the weight of what speaks for and against."""
        evidence = [
            Evidence(supports=supports, weight=weight)
            for supports, weight in ((True, supporting), (False, opposing))
            if weight
        ]
        return await self._record(
            lambda asked: observations.hold_belief(asked, name, evidence, because)
        )

    @entrance
    async def person_spoke(self, *, token: str) -> None:
        """Note that a person spoke to the agent: it counts anew from here; an operator may."""
        governor = self._governor
        by = await self._driver.outside(
            lambda: operators.proven(governor.context, token, "speak as a person")
        )
        await governor.answered(person_heard(self.id), by, self._driver)

    @entrance
    async def review(
        self, review_id: str, gates: Sequence[GateGiven], **fields: Unpack[ReviewFields]
    ) -> ReviewOpening:
        """Have the work reviewed: gates by their names in the policy, or made for the occasion."""
        return await self._record(
            lambda asked: reviews.open_review(asked, review_id, gates, **fields)
        )

    @entrance
    async def verdict(self, said: object, **fields: Unpack[VerdictFields]) -> ReviewAnswer:
        """Was it good enough? A text, a table or a value; what cannot be read counts as a try.

        The checks of the review are run before what was said counts.
        """
        given = cast("VerdictGiven", said)
        return await self._answer(VerdictQuestion(run_id=self.id, given=given, **fields))

    @entrance
    async def finish(
        self, outcome: str = "completed", *, evaluators: Sequence[Evaluator] = ()
    ) -> Report:
        """Close the run and return what the evaluators say; closing it again changes nothing.

        Raises UnfinishedError while the policy's completion checks fail, or a blocking review
        is pending, unless the outcome says itself that the work is not done.
        """
        ended = await self._answer(
            FinishQuestion(run_id=self.id, outcome=outcome, evaluators=evaluators)
        )
        if isinstance(ended, UnfinishedError):
            raise ended
        return ended

    async def start_below(self, task: str, fields: RunFields) -> RunState:
        """Start a run below this one; what it spends counts here as well."""
        above = await self._driver.outside(lambda: self._governor.run(self.id))
        return await self._answer(starting(runs.child_of(above, task, fields)))

    def _answer(self, question: Question[A]) -> Awaitable[A]:
        return self._governor.answered(question, self._principal, self._driver)

    def _record(self, work: Callable[[Asked], Work[A]]) -> Awaitable[A]:
        return self._answer(Entry(lambda asking: work(asking.of_run(self.id))))

    def _decision(self, approval_id: str, wait_s: float) -> Awaitable[Approval]:
        """Wait for the person who has to agree."""
        governor = self._governor
        return self._driver.decision(
            governor.ledger, approval_id, clock=governor.clock, timeout_s=wait_s
        )


def budget_change(
    scope: str, dimension: Dimension, limit: int | None, *, note: str | None
) -> Question[BudgetChanged]:
    """Return the question whether an account may get another limit; an operator may give it."""
    return Entry(
        lambda asking: budgets.change_budget(
            asking.runs.context,
            scope=scope,
            dimension=dimension,
            limit=limit,
            note=note,
            by=require_operator(asking.principal),
        )
    )
