"""Interlock for programs that wait: ask before acting, report afterwards.

The words and their meaning stand in `interlock.service.operations`; here they block.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from typing import Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from interlock.model.entrance import Amount, FilePath, admitted, entrance
from interlock.model.principal import Principal
from interlock.model.promised_answer import completed
from interlock.model.question_fields import RunFields
from interlock.model.run import RunState
from interlock.model.step_loop import StepLoop
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.ports import Clock
from interlock.service.governor import BLOCKING, Governor
from interlock.service.ledgers import open_governor
from interlock.service.operations import Operations
from interlock.service.records.runs import RunLedger
from interlock.service.run_operations import RunOperations, apply_is_gone, edit_is_gone

Ops = TypeVar("Ops")
P = ParamSpec("P")
T = TypeVar("T")


class _Waiting(Generic[Ops]):
    """Whatever waits for its operations."""

    def __init__(self, principal: Principal | None, operations: Ops) -> None:
        self._principal = principal
        self._operations = operations


def _waited(
    operation: Callable[Concatenate[Ops, P], Coroutine[object, object, T]],
) -> Callable[Concatenate[_Waiting[Ops], P], T]:
    """Return an operation that blocks until it is done."""

    @wraps(operation)
    def wait(self: _Waiting[Ops], /, *args: P.args, **kwargs: P.kwargs) -> T:
        given = (self._operations, *args)  # pyright: ignore[reportPrivateUsage] - its own kind
        return completed(*admitted(operation, given, kwargs))

    return wait


class Interlock(_Waiting[Operations]):
    """A ledger and its policies: the way in for whoever asks from Python and waits.

    Nothing happens behind its back: close it, or use it in a `with`. A program that ends without
    closing it loses nothing that was answered.
    """

    @entrance
    def __init__(self, governor: Governor, principal: Principal | None = None) -> None:
        super().__init__(principal, Operations(governor, BLOCKING, principal))
        self.governor = governor
        """What every question goes through."""
        self.ledger = governor.ledger
        """The record itself."""

    @classmethod
    @entrance
    def open(
        cls,
        place: FilePath | None = None,
        *,
        policy: CompiledPolicy | None = None,
        projects: Mapping[str, CompiledPolicy] | None = None,
        principal: Principal | None = None,
        clock: Clock | None = None,
        keys: FilePath | None = None,
        undo_store: FilePath | None = None,
    ) -> Self:
        """Open the ledger at a path or URL, `:memory:`, or where the environment says.

        `policy` comes from `load_policy`; without one, the policy files count that are found.
        `projects` gives projects policies of their own, by name. `principal` is who asks; without
        one, the agent whose token is in `INTERLOCK_TOKEN`, or each run's own. In
        `undo_store` files are kept as they were before they were changed.
        """
        governor = open_governor(
            place,
            policy=policy,
            projects=projects,
            clock=clock,
            keys=keys,
            undo_store=undo_store,
            principal=principal,
        )
        return cls(governor, governor.asker)

    @entrance
    def run(self, task: str, **fields: Unpack[RunFields]) -> Run:
        """Start a run."""
        started = completed(self._operations.start, (task, fields))
        return Run(self.governor, started.id, self._principal)

    @entrance
    def resume(self, run_id: str, *, process: int | None = None) -> Run:
        """Go on with a run that was started earlier, by its id or the beginning of that.

        Where the process that it was started for has ended, it is this one's from now on, or
        that of `process`: nothing that descends from it decides.
        """
        found = completed(self._operations.resumed, (run_id, process))
        return Run(self.governor, found.id, self._principal)

    adopt = _waited(Operations.adopt)
    approvals = _waited(Operations.approvals)
    approve = _waited(Operations.approve)
    deny = _waited(Operations.deny)
    choose = _waited(Operations.choose)
    choose_review = _waited(Operations.choose_review)
    halt = _waited(Operations.halt)
    lift = _waited(Operations.lift)
    set_budget = _waited(Operations.set_budget)
    set_up = _waited(Operations.set_up)
    unlock = _waited(Operations.unlock)
    operators = _waited(Operations.operators)
    add_operator = _waited(Operations.add_operator)
    change_passphrase = _waited(Operations.change_passphrase)
    recover_operator = _waited(Operations.recover_operator)
    revoke_operator = _waited(Operations.revoke_operator)
    add_agent = _waited(Operations.add_agent)
    revoke_agent = _waited(Operations.revoke_agent)
    add_token = _waited(Operations.add_token)
    tokens = _waited(Operations.tokens)
    revoke_token = _waited(Operations.revoke_token)
    sign_in = _waited(Operations.sign_in)
    sign_out = _waited(Operations.sign_out)
    wait = _waited(Operations.wait)
    undo = _waited(Operations.undo)
    checkpoint_store = _waited(Operations.checkpoint_store)
    close = _waited(Operations.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, _error: object, _trace: object) -> None:
        self.close()


class Run(_Waiting[RunOperations]):
    """One run: ask before acting, report afterwards, finish at the end."""

    @entrance
    def __init__(self, governor: Governor, run_id: str, principal: Principal | None = None) -> None:
        super().__init__(principal, RunOperations(governor, run_id, BLOCKING, principal))
        self._governor = governor
        self.id = run_id
        """What names the run."""
        self.history = self._operations.history
        """The latest answers to `step` that this view of the run was given."""

    @property
    def state(self) -> RunState:
        """The run as it is on record."""
        return self._governor.state(self.id)

    @property
    def ledger(self) -> RunLedger:
        """Everything that happened in the run, in order."""
        return RunLedger(self._governor.ledger, self.id)

    @entrance
    def child(self, task: str, **fields: Unpack[RunFields]) -> Run:
        """Start a run below this one; what it spends counts here as well."""
        started = completed(self._operations.start_below, (task, fields))
        return Run(self._governor, started.id, self._principal)

    @entrance
    def steps(self, *, wait_s: Amount | None = None) -> StepLoop:
        """Return the loop of an agent: it asks before each step and really waits.

        Throttles and approvals are waited for, each so long; without `wait_s`, as long as it
        takes. It ends when the agent is done or the run may not go on.
        """
        return StepLoop(self._operations, wait_s)

    command = _waited(RunOperations.command)
    tool = _waited(RunOperations.tool)
    may_edit = _waited(RunOperations.may_edit)
    ask = _waited(RunOperations.ask)
    apply_edits = _waited(RunOperations.apply_edits)
    edit = edit_is_gone
    apply = apply_is_gone
    observe = _waited(RunOperations.observe)
    observe_unasked = _waited(RunOperations.observe_unasked)
    usage = _waited(RunOperations.usage)
    violation = _waited(RunOperations.violation)
    step = _waited(RunOperations.step)
    statistics = _waited(RunOperations.statistics)
    stopped = _waited(RunOperations.stopped)
    belief = _waited(RunOperations.belief)
    person_spoke = _waited(RunOperations.person_spoke)
    review = _waited(RunOperations.review)
    verdict = _waited(RunOperations.verdict)
    finish = _waited(RunOperations.finish)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        completed(self._operations.leave, (), {"failed": error is not None})
