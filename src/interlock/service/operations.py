"""Everything that can be asked and said, once: for callers who wait and callers who await.

Each is a coroutine that waits by a driver. The blocking driver never suspends it, so that the
same words serve programs without an event loop (see `interlock.service.interlock`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, Unpack, cast

from interlock import settings
from interlock.ledger.abbreviations import found_approval, found_run, found_scope
from interlock.ledger.ledger import Work
from interlock.model.access import NewOperator, Operator, Token
from interlock.model.answers import (
    ReviewAnswer,
)
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import Budget, Dimension
from interlock.model.entrance import Amount, Given, entrance
from interlock.model.events import (
    BudgetChanged,
    Undone,
)
from interlock.model.glance import Glance, Glanced
from interlock.model.principal import SYSTEM, Principal, PrincipalKind, Scope
from interlock.model.question_fields import RunFields
from interlock.model.review import GateAction
from interlock.model.run import RunState, RunStatus
from interlock.service.governor import Driver, Governor
from interlock.service.people import operators
from interlock.service.people.credentials import USUAL_COST, require_operator
from interlock.service.policies.policy_files import AnyPolicy, policy_given
from interlock.service.questions.question import Asking, Entry, Question
from interlock.service.questions.run_entries import resuming, starting
from interlock.service.records import approvals, budgets, holds, reviews, runs
from interlock.service.records.context import Context

A = TypeVar("A")


class Operations(Glanced):
    """What can be asked of a ledger, besides what is asked of one run."""

    def __init__(self, governor: Governor, driver: Driver, principal: Principal | None) -> None:
        self.governor = governor
        """What every question goes through."""
        self.ledger = governor.ledger
        """The record itself."""
        self._driver = driver
        self._principal = principal

    def _glance(self) -> Glance:
        policy = self.governor.policy_hash
        return Glance(
            f"{self.ledger.store.name}, policy {policy[:12]}",
            (("ledger", self.ledger.store.name), ("policy", policy)),
        )

    @entrance
    async def adopt(
        self, policy: AnyPolicy, *, project: str | None = None, token: str | None = None
    ) -> bool:
        """Judge by another policy from now on, in one project or wherever none has its own.

        Where there is an operator, a policy that is looser anywhere needs their token. Returns
        False if it is the same.
        """
        by = None if token is None else await self._admin(token, "adopt a policy")
        return await self._driver.outside(
            lambda: self.governor.adopt(policy_given(policy), project, by)
        )

    @entrance
    async def approvals(self, state: ApprovalState | str | None = "pending") -> Sequence[Approval]:
        """Return the questions to people in one state, or all of them."""
        named = None if state is None else str(state)
        return await self._driver.outside(lambda: list(self.governor.approvals(named)))

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
                asking.of_named_run(run_id), review, GateAction(action), instructions=instructions
            ),
        )

    @entrance
    async def halt(self, run_id: str, *, token: str, reason: str) -> RunState:
        """Stop a run and everything below it; only an operator's token does."""
        return await self._as_operator(
            token, "halt", lambda asking: holds.halt(asking.of_named_run(run_id), reason=reason)
        )

    @entrance
    async def lift(self, run_id: str, *, token: str, reason: str) -> RunState:
        """Let a run go on that was paused or stopped; only an operator's token does."""
        return await self._as_operator(
            token, "lift", lambda asking: holds.lift(asking.of_named_run(run_id), reason=reason)
        )

    @entrance
    async def halt_all(self, *, token: str, reason: str) -> int:
        """Stop every run, and let none begin; return how many are at work.

        Only an operator's token does, and only `lift_all` ends it.
        """
        return await self._hold_all(token, "halt", holds.halt_all, reason)

    @entrance
    async def lift_all(self, *, token: str, reason: str) -> int:
        """End `halt_all`; a run that is held by itself stays so. Return how many are at work."""
        return await self._hold_all(token, "lift", holds.lift_all, reason)

    async def _hold_all(
        self, token: str, operation: str, work: Callable[..., Work[None]], reason: str
    ) -> int:
        await self._as_operator(
            token,
            operation,
            lambda asking: work(
                asking.runs.context, require_operator(asking.principal), reason=reason
            ),
        )
        return await self._driver.outside(lambda: len(holds.at_work(self.ledger.rows)))

    @entrance
    async def set_budget(
        self, scope: str, budget: Given[Budget], *, token: str, note: str | None = None
    ) -> Sequence[BudgetChanged]:
        """Give an account other limits, one for each that the budget names; an operator may."""
        limits = cast("Budget", budget).limits()
        account = await self._driver.outside(lambda: found_scope(self.ledger.rows, scope))
        changes = [
            budget_change(account, dimension, limit, note=note)
            for dimension in Dimension
            if (limit := limits.of(dimension)) is not None
        ]
        by = await self._operator(token, "set a budget")
        return [await self.governor.answered(each, by, self._driver) for each in changes]

    @entrance
    async def wait(self, approval_id: str, *, wait_s: Amount | None = None) -> Approval:
        """Wait until an approval is decided, runs out, or the time is up."""
        found = await self._driver.outside(lambda: found_approval(self.ledger.rows, approval_id))
        return await self._driver.decision(
            self.ledger, found.id, clock=self.governor.clock, timeout_s=wait_s
        )

    @entrance
    async def undo(self, undo_id: str) -> Undone:
        """Put files back: a set of edits, or what was copied away before a command."""
        from interlock.service.records.undo_records import found_undo, put_back  # noqa: PLC0415 - rarely needed

        by, context = self._principal or SYSTEM, self.governor.context
        found = await self._driver.outside(lambda: found_undo(context, undo_id))
        return await self.ask(Entry(lambda asking: put_back(asking.runs.context, found, by)))

    @entrance
    async def checkpoint_store(self) -> None:
        """Bring everything into the ledger's own file now, as it is done by itself when idle.

        Beside somebody who reads, the write-ahead file keeps its size until they are done.
        """
        await self._driver.outside(self.ledger.tidy)

    @entrance
    async def close(self) -> None:
        """Leave the ledger in good order."""
        await self._driver.outside(self.ledger.close)

    @entrance
    async def begin(self, task: str, **fields: Unpack[RunFields]) -> RunState:
        """Start a run, and return it as it is on record."""
        return await self.start(task, fields)

    async def start(self, task: str, fields: RunFields) -> RunState:
        """Start a run: of the agent that asks, unless another is named."""
        if self._principal is not None and self._principal.kind is PrincipalKind.AGENT:
            fields = {"agent": self._principal.name, **fields}
        above = await self._driver.outside(lambda: self._run_above(fields))
        started = await self.ask(starting(runs.new_run(task, {"parent": above, **fields})))
        self.governor.know(started)
        return started

    def _run_above(self, fields: RunFields) -> str | None:
        """Return the run that this process works in: what is started in it stands below it."""
        named = None if "parent" in fields else settings.current_run()
        known = None if named is None else self.ledger.state(named)
        return named if known is not None and known.status is RunStatus.RUNNING else None

    async def ask(self, question: Question[A]) -> A:
        """Ask any question, as whoever this was opened for."""
        return await self.governor.answered(question, self._principal, self._driver)

    async def resumed(self, run_id: str, process: str) -> RunState:
        """Return a run that was started earlier and goes on, perhaps in another process."""
        state = await self._driver.outside(
            lambda: self.governor.run(found_run(self.ledger.rows, run_id).id)
        )
        going_on = await self._driver.outside(lambda: resuming(state, process))
        if going_on is not None:
            await self.ask(going_on)
            self.governor.forget(state.id)
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
        by = await self._admin(token, "add an operator")
        return await self._of_people(
            lambda context: operators.add_operator(context, by, name, passphrase, cost=cost)
        )

    @entrance
    async def change_passphrase(
        self, passphrase: str, *, token: str, cost: int = USUAL_COST
    ) -> None:
        """Give whose token it is another passphrase; this token opens nothing afterwards."""
        by = await self._admin(token, "change a passphrase")
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
        by = await self._admin(token, "revoke an operator")
        await self._of_people(lambda context: operators.revoke_operator(context, by, name))

    @entrance
    async def add_agent(self, name: str, *, token: str) -> str:
        """Return a token for an agent, which decides nothing; only an operator's token does."""
        return await self._new_token(name, Scope.AGENT, token)

    @entrance
    async def revoke_agent(self, name: str, *, token: str) -> None:
        """Let an agent go, with every token it has; only an operator's token does."""
        by = await self._admin(token, "revoke an agent")
        await self._of_people(lambda context: operators.revoke_agent(context, by, name))

    @entrance
    async def add_token(self, name: str, *, scope: Scope | str, token: str) -> str:
        """Return a token for a program, good for what the scope says; only an admin's does."""
        return await self._new_token(name, Scope(scope), token)

    async def _new_token(self, name: str, scope: Scope, token: str) -> str:
        by = await self._admin(token, "add a token")
        return await self._of_people(lambda context: operators.add_token(context, by, name, scope))

    @entrance
    async def tokens(self) -> Sequence[Token]:
        """Return the tokens of programs that count, by what the record calls them."""
        return await self._driver.outside(lambda: operators.all_tokens(self.ledger))

    @entrance
    async def revoke_token(self, credential: str, *, token: str) -> None:
        """Let one token of a program go; only an admin's token does."""
        by = await self._admin(token, "revoke a token")
        await self._of_people(lambda context: operators.revoke_token(context, by, credential))

    @entrance
    async def sign_in(self, token: str) -> str:
        """Return what a browser shows for some hours in place of a token."""
        return await self._of_people(lambda context: operators.open_session(context, token))

    @entrance
    async def sign_out(self, session: str) -> None:
        """Let a session be over."""
        await self._of_people(lambda context: operators.close_session(context, session))

    async def _as_operator(
        self, token: str, operation: str, work: Callable[[Asking], Work[A]]
    ) -> A:
        by = await self._operator(token, operation)
        return await self.governor.answered(Entry(work), by, self._driver)

    async def _operator(self, token: str, operation: str) -> Principal:
        return await self._of_people(lambda context: operators.proven(context, token, operation))

    async def _admin(self, token: str, operation: str) -> Principal:
        return await self._of_people(
            lambda context: operators.proven(context, token, operation, Scope.ADMIN)
        )

    async def _of_people(self, perform: Callable[[Context], A]) -> A:
        return await self._driver.outside(lambda: perform(self.governor.context))


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
