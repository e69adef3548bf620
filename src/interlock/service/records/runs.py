"""Runs: opened with a task and a budget, closed with a report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from interlock.errors import InputError, KeyConflictError
from interlock.ledger.chain import decoded, records_of
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.transaction import Transaction
from interlock.model.approval import ApprovalState
from interlock.model.budget import Budget
from interlock.model.entrance import FilePath, checked, entrance
from interlock.model.events import Record, RunFinished, RunResumed, RunStarted
from interlock.model.glance import Glance, Glanced
from interlock.model.principal import SYSTEM, Principal, agent_named
from interlock.model.question_fields import RunFields
from interlock.model.review import Evaluation, Report
from interlock.model.run import RunState, RunStatus
from interlock.model.system_loop import LOOP_RUN
from interlock.policy.evidence.evaluators import evaluations
from interlock.ports import Evaluator
from interlock.processes import is_alive, own_name, process_name
from interlock.service.records.approvals import withdraw
from interlock.service.records.budgets import Recorded
from interlock.service.records.context import Asked, Context, Moment, checked_name, engine, new_id
from interlock.service.records.holds import refuse_while_all_are_halted

_DEEPEST: Final = 32
_LONGEST_TASK: Final = 10_000
_LONGEST_KEY: Final = 512
_NO_BUDGET: Final = Budget()

ELSEWHERE: Final = ""
"""The process of a run that this machine knows nothing of: nobody but a server can tell."""


class NewRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is opened with: the same, where it is not said otherwise."""

    task: str
    id: str | None = None
    agent: str = "agent"
    client: str = "python"
    project: str = "default"
    parent: str | None = None
    budget: Budget | None = None
    tree_budget: Budget | None = None
    workspace: FilePath | None = None
    process: str | None = None
    """What names its process: this one, where none is named."""
    key: str | None = None


def child_of(above: RunState, task: str, fields: RunFields) -> NewRun:
    """Return a run below another one: of its agent and project, unless said otherwise."""
    given: RunFields = {
        "agent": above.agent,
        "client": above.client,
        "project": above.project,
        "workspace": above.workspace,
        **fields,
        "parent": above.id,
    }
    return new_run(task, given)


def new_run(task: str, fields: RunFields) -> NewRun:
    """Return what a run is opened with, its fields checked by then."""
    given: dict[str, Any] = {**fields, "process": named_process(fields.get("process"))}
    return NewRun(task=task, **given)


def start_run(context: Context, new: NewRun, by: Principal | None) -> Work[RunState]:
    """Return the work of opening a run."""
    if new.parent == LOOP_RUN and by != SYSTEM:
        raise InputError(f"`{LOOP_RUN}` starts its jobs itself: name another run as `parent`")
    run_id = new.id or (new_id() if new.key is None else _keyed_id(context, new.agent, new.key))
    for field in ("agent", "client", "project"):
        checked_name(field, getattr(new, field))
    folder = new.workspace
    event = RunStarted(
        task=context.clean(new.task)[:_LONGEST_TASK],
        agent=context.clean(new.agent),
        client=context.clean(new.client),
        project=context.clean(new.project),
        policy_hash=context.policy.hash,
        engine=engine(),
        limits=(new.budget or _NO_BUDGET).limits(),
        tree_limits=(new.tree_budget or _NO_BUDGET).limits(),
        own_places=context.own_places,
        workspace=None if folder is None else context.clean(str(Path(folder).absolute())),
        process=own_name() if new.process is None else new.process,
    )

    def plan(transaction: Transaction) -> RunState:
        if transaction.has_run(run_id):
            # Whoever names it themselves may have done so before: it begins once.
            _check_same(transaction, run_id, event, new)
            return transaction.state(run_id)
        refuse_while_all_are_halted(transaction)
        begun = replace(event, ancestors=_ancestors(transaction, new.parent))
        who = agent_named(event.agent) if by is None else by
        transaction.append(run_id, begun, at=context.clock.now(), by=who)
        return transaction.state(run_id)

    parents = () if new.parent is None else (f"run/{new.parent}",)
    return Work(plan, locks=(f"run/{run_id}", *parents))


def _keyed_id(context: Context, agent: str, key: str) -> str:
    """Return what a run is called that has a key: the same for the same agent and key."""
    if not key or len(key) > _LONGEST_KEY:
        raise InputError(f"`key` has {len(key)} characters, expected 1 to {_LONGEST_KEY}")
    digest = context.digest("run", agent, key.encode("utf-8", "surrogatepass"))
    return str(UUID(digest[:32]))


def _check_same(transaction: Transaction, run_id: str, event: RunStarted, new: NewRun) -> None:
    """Raise KeyConflictError where a key stands for a run that was begun otherwise."""
    first = transaction.record(run_id, 1)
    before = None if first is None else first.event
    if new.key is None or not isinstance(before, RunStarted):
        return
    above = None if not before.ancestors else before.ancestors[0]
    names = ("task", "agent", "client", "project", "limits", "tree_limits", "workspace")
    if above != new.parent or any(getattr(before, name) != getattr(event, name) for name in names):
        raise KeyConflictError(
            f"the key `{new.key[:60]}` stands for run `{run_id}`, which was begun otherwise: use a"
            " new key for a new run"
        )


def named_process(process: int | None) -> str:
    """Return what names the process that a run is for: this one, where none is said."""
    return own_name() if process is None else process_name(process)


def resume_run(state: RunState, process: str) -> Callable[[Asked], Work[None]] | None:
    """Return the work of going on in another process, where the run's own has ended.

    INVARIANT: a process that still runs stays the run's, or whatever descends from it could decide.
    """
    before = state.process
    if state.status is not RunStatus.RUNNING or process == before or is_alive(before):
        return None

    def plan(moment: Moment) -> None:
        # Another one may have been faster, or the run may be finished by now.
        if moment.run.process == before and moment.run.status is RunStatus.RUNNING:
            moment.running()
            moment.append(RunResumed(process=process))

    return lambda asked: asked.work(plan)


def close_run(moment: Moment, *, outcome: str, evaluators: Sequence[Evaluator] = ()) -> Report:
    """Record that a run ends: the evaluators speak, open questions are cancelled."""
    context, state = moment.context, moment.run
    found = evaluations(state, context.policy.config.evaluators)
    plugged_in = (_recordable(context, _evaluated(each, state)) for each in evaluators)
    report = Report(evaluations=(*found, *plugged_in))
    for approval in moment.transaction.approvals_of(state.id, ApprovalState.PENDING.value):
        withdraw(moment, approval)
    moment.append(RunFinished(outcome=outcome, report=report))
    return report


def _evaluated(evaluator: Evaluator, state: RunState) -> Evaluation:
    """Return what somebody else's evaluator says; it has to be an evaluation."""
    name = getattr(evaluator, "__name__", type(evaluator).__name__)
    return checked(evaluator(state), Evaluation, f"{name}()")


def _recordable(context: Context, said: Evaluation) -> Evaluation:
    """Return what somebody else's evaluator says, without credentials."""
    return Evaluation(
        evaluator=context.clean(said.evaluator),
        passed=said.passed,
        score=said.score,
        evidence=tuple(map(context.clean, said.evidence)),
    )


def _ancestors(transaction: Transaction, parent: str | None) -> tuple[str, ...]:
    if parent is None:
        return ()
    above = transaction.state(parent)
    if above.status is not RunStatus.RUNNING:
        raise InputError(f"run `{parent}` is finished: it cannot have another run below it")
    if len(above.ancestors) >= _DEEPEST:
        raise InputError(
            f"run `{parent}` stands {len(above.ancestors)} runs deep, {_DEEPEST} are the most"
        )
    return (parent, *above.ancestors)


class RunLedger(Glanced):
    """One run as it is on record; it is read anew each time it is looked at."""

    @entrance
    def __init__(self, ledger: Ledger, run_id: str) -> None:
        self._ledger = ledger
        self.run_id = run_id

    @property
    def state(self) -> RunState:
        """What the run has come to: what it spent, changed, broke and waits for."""
        return Recorded(self._ledger).state(self.run_id)

    def __iter__(self) -> Iterator[Record]:
        """Yield every record of the run, oldest first."""
        return (decoded(row.body) for row in records_of(self._ledger.rows, self.run_id))

    def _glance(self) -> Glance:
        return Glance(f"of run {self.run_id}")
