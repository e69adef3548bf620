"""Interlock for programs that wait: ask before acting, report afterwards.

The words and their meaning stand in `interlock.service.operations`; here they block.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self, Unpack

from interlock.model.entrance import Amount, FilePath, entrance
from interlock.model.principal import Principal
from interlock.model.promised_answer import completed
from interlock.model.question_fields import RunFields
from interlock.model.run import RunState
from interlock.model.step_loop import StepLoop
from interlock.model.waited_call import Waiting, waited
from interlock.ports import Clock
from interlock.service.governor import BLOCKING, Governor
from interlock.service.ledgers import open_governor
from interlock.service.operations import Operations
from interlock.service.policies.policy_files import AnyPolicy
from interlock.service.records.runs import RunLedger, named_process
from interlock.service.run_operations import RunOperations


class Interlock(Waiting[Operations]):
    """A ledger and its policies: the way in for whoever asks from Python and waits.

    Nothing happens behind its back: close it, or use it in a `with`. A program that ends without
    closing it loses nothing that was answered.
    """

    @entrance
    def __init__(self, governor: Governor, principal: Principal | None = None) -> None:
        super().__init__(Operations(governor, BLOCKING, principal))
        self._principal = principal
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
        policy: AnyPolicy | None = None,
        projects: Mapping[str, AnyPolicy] | None = None,
        principal: Principal | None = None,
        clock: Clock | None = None,
        keys: FilePath | None = None,
        undo_store: FilePath | None = None,
    ) -> Self:
        """Open the ledger at a path or URL, `:memory:`, or where the environment says.

        `policy` comes from `load_policy`, or is the path of a file that stands for the user's;
        without one, the policy files count that are found. `projects` gives projects policies of
        their own, by name. `principal` is who asks; without
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
        found = completed(self._operations.resumed, (run_id, named_process(process)))
        return Run(self.governor, found.id, self._principal)

    adopt = waited(Operations.adopt)
    approvals = waited(Operations.approvals)
    approve = waited(Operations.approve)
    deny = waited(Operations.deny)
    choose = waited(Operations.choose)
    choose_review = waited(Operations.choose_review)
    halt = waited(Operations.halt)
    lift = waited(Operations.lift)
    halt_all = waited(Operations.halt_all)
    lift_all = waited(Operations.lift_all)
    set_budget = waited(Operations.set_budget)
    set_up = waited(Operations.set_up)
    unlock = waited(Operations.unlock)
    operators = waited(Operations.operators)
    add_operator = waited(Operations.add_operator)
    change_passphrase = waited(Operations.change_passphrase)
    recover_operator = waited(Operations.recover_operator)
    revoke_operator = waited(Operations.revoke_operator)
    add_agent = waited(Operations.add_agent)
    revoke_agent = waited(Operations.revoke_agent)
    add_token = waited(Operations.add_token)
    tokens = waited(Operations.tokens)
    revoke_token = waited(Operations.revoke_token)
    sign_in = waited(Operations.sign_in)
    sign_out = waited(Operations.sign_out)
    wait = waited(Operations.wait)
    undo = waited(Operations.undo)
    checkpoint_store = waited(Operations.checkpoint_store)
    close = waited(Operations.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, _error: object, _trace: object) -> None:
        self.close()


class Run(Waiting[RunOperations]):
    """One run: ask before acting, report afterwards, finish at the end."""

    @entrance
    def __init__(self, governor: Governor, run_id: str, principal: Principal | None = None) -> None:
        super().__init__(RunOperations(governor, run_id, BLOCKING, principal))
        self._principal = principal
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

    command = waited(RunOperations.command)
    tool = waited(RunOperations.tool)
    may_edit = waited(RunOperations.may_edit)
    ask = waited(RunOperations.ask)
    apply_edits = waited(RunOperations.apply_edits)
    observe = waited(RunOperations.observe)
    observe_unasked = waited(RunOperations.observe_unasked)
    usage = waited(RunOperations.usage)
    violation = waited(RunOperations.violation)
    step = waited(RunOperations.step)
    statistics = waited(RunOperations.statistics)
    stopped = waited(RunOperations.stopped)
    belief = waited(RunOperations.belief)
    person_spoke = waited(RunOperations.person_spoke)
    review = waited(RunOperations.review)
    verdict = waited(RunOperations.verdict)
    finish = waited(RunOperations.finish)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _kind: object, error: object, _trace: object) -> None:
        completed(self._operations.leave, (), {"failed": error is not None})
