"""Everything that can be asked and said of one run of a server: the words of `RunOperations`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar, Unpack, cast
from urllib.parse import quote

import msgspec

from interlock.client.connection import Connection, Request, pages
from interlock.errors import InputError, UnfinishedError
from interlock.model.action import (
    Action,
    CommandAction,
    EditAction,
    ToolAction,
    action_given,
    command_line,
    request_from_action,
)
from interlock.model.answers import (
    Answer,
    EditAnswer,
    ReviewAnswer,
    ReviewOpening,
    StepAnswer,
    StopAnswer,
)
from interlock.model.approval import Approval, ApprovalState
from interlock.model.budget import Budget, TokenUsage
from interlock.model.edit import EditSet, FileEdit
from interlock.model.entrance import Amount, Given, entrance
from interlock.model.events import ActionObserved, Record, UsageReported, ViolationRecorded
from interlock.model.glance import Glance, Glanced
from interlock.model.patience import after_delay, patiently
from interlock.model.question_fields import (
    GateGiven,
    ReviewFields,
    RunFields,
    Seen,
    VerdictFields,
)
from interlock.model.review import Report
from interlock.model.run import RunState
from interlock.model.step import Belief, StepContext
from interlock.model.step_history import History, entry_from_decision
from interlock.model.step_statistics import StepStatistics
from interlock.model.turn_report import (
    StepFields,
    StepReport,
    StopFields,
    StopReport,
    step_report,
    stop_report,
)
from interlock.model.verdict import Severity
from interlock.ports import Evaluator
from interlock.settings import current_run

T = TypeVar("T")

_LONGEST_POLL_S: Final = 50.0
"""So long one request waits: nothing on the way takes it for dead."""
_MILLION: Final = 1_000_000


class WireDriver(Protocol):
    """Waits for a server: by blocking a thread, or by giving an event loop back."""

    async def outside(self, perform: Callable[[], T]) -> T:
        """Do what takes time."""
        ...

    async def delay(self, seconds: float) -> None:
        """Let so much time pass."""
        ...

    def now(self) -> int:
        """Return a time that only goes on, in microseconds."""
        ...


class Started(msgspec.Struct, frozen=True):
    """What names a run."""

    id: str


class RemoteOperations(Glanced):
    """What asks a server."""

    def __init__(self, connection: Connection, driver: WireDriver) -> None:
        self._connection = connection
        self._driver = driver

    def _glance(self) -> Glance:
        return Glance(f"at {self._connection.place}", (("server", self._connection.place),))

    async def _asked(self, request: Request, answer: type[T]) -> T:
        return await self._driver.outside(lambda: self._connection.ask(request, answer))

    async def _told(self, request: Request) -> None:
        await self._driver.outside(lambda: self._connection.tell(request))

    async def _decision(self, approval_id: str, wait_s: float | None) -> Approval:
        """Wait for a person, so long; return the approval as it then is."""
        now, path = self._driver.now, f"/v1/approvals/{quote(approval_id, safe='')}/wait"
        until = None if wait_s is None else now() + wait_s * _MILLION
        while True:
            left_s = _LONGEST_POLL_S if until is None else max(0.0, (until - now()) / _MILLION)
            poll_s = min(left_s, _LONGEST_POLL_S)
            found = await self._asked(
                Request("GET", path, query={"seconds": f"{poll_s:.3f}"}, wait_s=poll_s), Approval
            )
            if found.state is not ApprovalState.PENDING or (until is not None and left_s <= poll_s):
                return found

    async def _begun(self, task: str, fields: RunFields) -> str:
        """Start a run; one that a process of a run starts stands below that."""
        told: dict[str, object] = {"task": task, **fields}
        if "workspace" in fields and fields["workspace"] is not None:
            told["workspace"] = _absolute(fields["workspace"])
        above = None if "parent" in fields else await self._run_above()
        if above is not None:
            told["parent"] = above
        return (await self._asked(Request("POST", "/v1/runs", told), Started)).id

    async def _run_above(self) -> str | None:
        named = current_run()
        if named is None:
            return None
        try:
            state = await self._asked(Request("GET", f"{_of(named)}/state"), RunState)
        except InputError:
            return None
        return state.id if state.outcome is None else None


class RemoteRun(RemoteOperations):
    """What can be asked of one run: before acting, afterwards, and at its end."""

    def __init__(self, connection: Connection, driver: WireDriver, run_id: str) -> None:
        super().__init__(connection, driver)
        self.id = run_id
        """What names the run."""
        self.history = History()
        """The latest answers to `step` that this view of the run was given."""
        self._latest: StepAnswer | StopAnswer | None = None
        """What it was told last about going on."""

    def _glance(self) -> Glance:
        place = self._connection.place
        return Glance(f"{self.id} at {place}", (("run", self.id), ("server", place)))

    async def state(self) -> RunState:
        """Return the run as it is on record."""
        return await self._asked(Request("GET", f"{_of(self.id)}/state"), RunState)

    def records(self) -> Iterator[Record]:
        """Yield every record of the run, oldest first."""
        for page in pages(self._connection, f"{_of(self.id)}/records", _RecordPage):
            yield from (each.record for each in page.records)

    @entrance
    async def statistics(self) -> StepStatistics:
        """Return what all answers before its steps come to, from the record."""
        return await self._asked(Request("GET", f"{_of(self.id)}/statistics"), StepStatistics)

    @entrance
    async def command(
        self,
        line: str | Sequence[str],
        *,
        cwd: str | None = None,
        key: str | None = None,
        expects: Given[Budget] | None = None,
        wait_s: Amount | None = None,
    ) -> Answer:
        """May this command line run? A list of words is quoted as a shell wants it."""
        action = CommandAction(command=command_line(line), cwd=cwd)
        return await self._ask(action, key, expects, wait_s)

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
        return await self._ask(ToolAction(name=name, params=params), key, expects, wait_s)

    @entrance
    async def may_edit(
        self,
        path: str,
        content: str,
        *,
        old: str | None = None,
        key: str | None = None,
        expects: Given[Budget] | None = None,
        wait_s: Amount | None = None,
    ) -> Answer:
        """May this be written? It only asks; `apply_edits` writes."""
        action = EditAction(path=path, content=content, old=old)
        return await self._ask(action, key, expects, wait_s)

    @entrance
    async def ask(
        self,
        action: Action | Mapping[str, object],
        key: str | None = None,
        expects: Given[Budget] | None = None,
        wait_s: Amount | None = None,
    ) -> Answer:
        """May this happen? With `wait_s`, wait so long for the person who has to agree."""
        return await self._ask(action_given(action), key, expects, wait_s)

    async def _ask(
        self,
        action: Action,
        key: str | None,
        expects: Given[Budget] | None,
        wait_s: float | None,
    ) -> Answer:
        table = {"action": request_from_action(action), "key": key, "expects": expects}
        return await patiently(
            lambda: self._said("actions", table, Answer),
            self._decision,
            self._driver.now,
            wait_s,
        )

    @entrance
    async def apply_edits(
        self,
        edits: EditSet | FileEdit | Mapping[str, object] | Sequence[Given[FileEdit]],
        *,
        key: str | None = None,
        dry_run: bool = False,
        wait_s: Amount | None = None,
    ) -> EditAnswer:
        """Make edits in the workspace if they may be made: all of them, or none.

        They are made by the server, where the workspace is, and judged by what they would really
        change. With `dry_run` they are only planned; with `wait_s`, wait so long for the person
        who has to agree. Raises EditError, with no file changed, where they cannot be made.
        """
        table = {"edits": edits, "key": key, "dry_run": dry_run}
        return await patiently(
            lambda: self._said("edits", table, EditAnswer),
            self._decision,
            self._driver.now,
            wait_s,
        )

    @entrance
    async def observe(self, answer: Answer | str, **seen: Unpack[Seen]) -> ActionObserved:
        """Report what an action did; `answer` may also be its `action_id`."""
        action_id = answer.action_id if isinstance(answer, Answer) else answer
        return await self._said("observations", {"action_id": action_id, **seen}, ActionObserved)

    @entrance
    async def observe_unasked(
        self, action: Action | Mapping[str, object], **seen: Unpack[Seen]
    ) -> ActionObserved:
        """Report an action that nobody had asked about."""
        table = {"action": request_from_action(action_given(action)), **seen}
        return await self._said("observations", table, ActionObserved)

    @entrance
    async def usage(
        self, usage: Given[TokenUsage], *, model: str | None = None, key: str | None = None
    ) -> UsageReported:
        """Report that a model was called; sent again under its key, it is counted once."""
        table = {"usage": usage, "model": model, "key": key}
        return await self._said("usage", table, UsageReported)

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
        table = {
            "rule": rule,
            "message": message,
            "severity": Severity(severity),
            "location": location,
            "corrected": corrected,
        }
        return await self._said("violations", table, ViolationRecorded)

    @entrance
    async def step(
        self,
        said: str | None = None,
        *,
        wait_s: Amount | None = None,
        **fields: Unpack[StepFields],
    ) -> StepAnswer:
        """Should it go on? Asked before each step; a due checkpoint is taken before the answer.

        With `wait_s`, wait so long for a throttle to be over and for the person who has to agree.
        """
        return await self.before_step(step_report(said, **fields), wait_s)

    async def before_step(self, report: StepReport, wait_s: float | None) -> StepAnswer:
        """Ask the same with everything that a client says."""
        table = {"said": report.said, **_known(report.known), **_turn(report)}
        asked_at = self._driver.now()
        answer = await patiently(
            lambda: self._said("steps", table, StepAnswer),
            self._decision,
            self._driver.now,
            wait_s,
        )
        waited = self._driver.now() - asked_at
        answer = await after_delay(answer, self._driver.delay, waited=waited, wait_s=wait_s)
        self.history.add(entry_from_decision(answer.facts, answer.detail))
        self._latest = answer
        return answer

    @entrance
    async def stopped(
        self,
        text: str | None = None,
        *,
        wait_s: Amount | None = None,
        **fields: Unpack[StopFields],
    ) -> StopAnswer:
        """Is it really done? Asked each time the agent ends its turn without acting.

        With `wait_s`, wait so long for a delay to be over and for the person who has to agree.
        """
        return await self.at_stop(stop_report(text, **fields), wait_s)

    async def at_stop(self, report: StopReport, wait_s: float | None) -> StopAnswer:
        """Ask the same with everything that a client says."""
        figures = cast("dict[str, object]", msgspec.to_builtins(report))
        figures.pop("waiting")
        table = {**figures, **_turn(report)}
        asked_at = self._driver.now()
        answer = await patiently(
            lambda: self._said("stops", table, StopAnswer),
            self._decision,
            self._driver.now,
            wait_s,
        )
        waited = self._driver.now() - asked_at
        answer = await after_delay(answer, self._driver.delay, waited=waited, wait_s=wait_s)
        self._latest = answer
        return answer

    @entrance
    async def belief(
        self, name: str, *, supporting: Amount = 0, opposing: Amount = 0, because: str = ""
    ) -> Belief:
        """Note what the agent takes to be true, and the weight of what speaks for and against."""
        table = {"name": name, "supporting": supporting, "opposing": opposing, "because": because}
        return await self._said("beliefs", table, Belief)

    @entrance
    async def person_spoke(self, *, token: str) -> None:
        """Note that a person spoke to the agent: it counts anew from here; an operator may."""
        await self._told(Request("POST", f"{_of(self.id)}/person", {}, token=token))

    @entrance
    async def review(
        self, review_id: str, gates: GateGiven | Sequence[GateGiven], **fields: Unpack[ReviewFields]
    ) -> ReviewOpening:
        """Have the work reviewed: gates by their names in the policy, or made for the occasion."""
        table = {"review_id": review_id, "gates": gates, **fields}
        return await self._said("reviews", table, ReviewOpening)

    @entrance
    async def verdict(
        self, said: object, *, wait_s: Amount | None = None, **fields: Unpack[VerdictFields]
    ) -> ReviewAnswer:
        """Was it good enough? A text, a table or a value; what cannot be read counts as a try.

        The checks of the review are run before what was said counts. With `wait_s`, wait so long
        for the person whose choice moves the review; the answer is what that comes to.
        """
        # Under a key it is one verdict, however often it is sent.
        table: dict[str, object] = {"key": new_key(), **fields, "said": said}
        answer = await self._said("verdicts", table, ReviewAnswer)
        if wait_s is None or answer.approval_id is None:
            return answer
        await self._decision(answer.approval_id, wait_s)
        return await self._said("verdicts", {**table, "wait_s": 0}, ReviewAnswer)

    @entrance
    async def finish(
        self,
        outcome: str = "completed",
        *,
        evaluators: Sequence[Evaluator] = (),
        wait_s: Amount | None = None,
    ) -> Report:
        """Close the run and return what the evaluators say; closing it again changes nothing.

        Raises UnfinishedError while the policy's completion checks fail, or a blocking review
        is pending, unless the outcome says itself that the work is not done. With `wait_s`, wait
        so long for the person whose choice it hangs on.
        """
        if evaluators:
            raise InputError(
                "`evaluators` are functions of this process, which a server cannot call: call them"
                " with `run.state`, or name those of the policy"
            )
        try:
            return await self._said("finish", {"outcome": outcome}, Report)
        except UnfinishedError as error:
            if wait_s is None or error.approval_id is None:
                raise
            await self._decision(error.approval_id, wait_s)
        return await self._said("finish", {"outcome": outcome}, Report)

    async def leave(self, *, failed: bool) -> None:
        """End what `with` began, as what the run came to.

        A run that a person was asked about is left open: paused or stopped, it goes on from there.
        """
        latest = self._latest
        if failed:
            await self.finish("failed")
        elif latest is None or (latest.goes_on if isinstance(latest, StepAnswer) else latest.done):
            await self.finish("completed")
        elif latest.approval_id is None and not latest.waits_for_person:
            await self.finish("stopped")

    async def start_below(self, task: str, fields: RunFields) -> str:
        """Start a run below this one; what it spends counts here as well."""
        above = await self.state()
        given: RunFields = {
            "agent": above.agent,
            "client": above.client,
            "project": above.project,
            "workspace": above.workspace,
            **fields,
            "parent": self.id,
        }
        return await self._begun(task, given)

    def _said(self, word: str, table: Mapping[str, object], answer: type[T]) -> Awaitable[T]:
        return self._asked(Request("POST", f"{_of(self.id)}/{word}", table), answer)


class _StoredRecord(msgspec.Struct, frozen=True):
    record: Record


class _RecordPage(msgspec.Struct, frozen=True):
    records: tuple[_StoredRecord, ...]
    after: int | None


def new_key() -> str:
    """Return a key that stands for one request."""
    import uuid  # noqa: PLC0415 - few ask this

    return uuid.uuid4().hex


def _of(run_id: str) -> str:
    return f"/v1/runs/{quote(run_id, safe='')}"


def _absolute(folder: object) -> str:
    """Return a folder from the root: the server stands in another one."""
    from pathlib import Path  # noqa: PLC0415 - few name one

    return str(Path(cast("Any", folder)).absolute())


def _known(context: StepContext) -> dict[str, object]:
    figures = cast("dict[str, object]", msgspec.to_builtins(context))
    return {name: value for name, value in figures.items() if value is not None and value != []}


def _turn(report: StepReport | StopReport) -> dict[str, object]:
    table: dict[str, object] = {"key": report.key}
    if report.waiting is not None:
        table["waiting_for"] = report.waiting.what
        table["look_again_s"] = report.waiting.delay_ms / 1000
    return table
