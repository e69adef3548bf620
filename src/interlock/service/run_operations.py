"""Everything that can be asked and said of one run, once: see `interlock.service.operations`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar, Unpack, cast

from interlock.errors import InputError, UnfinishedError
from interlock.ledger.ledger import Work
from interlock.model.action import (
    Action,
    CommandAction,
    EditAction,
    ToolAction,
    action_given,
    command_line,
)
from interlock.model.answers import (
    Answer,
    EditAnswer,
    ReviewAnswer,
    ReviewOpening,
    StepAnswer,
    StopAnswer,
)
from interlock.model.approval import Approval
from interlock.model.budget import NOTHING, Budget, TokenUsage
from interlock.model.edit import EditSet, FileEdit
from interlock.model.entrance import Amount, Given, checked, entrance
from interlock.model.events import (
    ActionObserved,
    UsageReported,
    ViolationRecorded,
)
from interlock.model.glance import Glance, Glanced
from interlock.model.patience import after_delay, patiently
from interlock.model.principal import Principal
from interlock.model.question_fields import (
    GateGiven,
    ReviewFields,
    RunFields,
    Seen,
    VerdictFields,
    VerdictGiven,
)
from interlock.model.review import Report
from interlock.model.run import RunState
from interlock.model.step import Belief, Evidence
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
from interlock.service.governor import Driver, Governor
from interlock.service.people import operators
from interlock.service.questions.action_question import ActionQuestion
from interlock.service.questions.finish_question import FinishQuestion
from interlock.service.questions.question import Entry, Question, keyed_report
from interlock.service.questions.run_entries import person_heard, starting
from interlock.service.questions.step_question import StepQuestion
from interlock.service.questions.stop_question import StopQuestion
from interlock.service.questions.verdict_question import VerdictQuestion
from interlock.service.records import observations, reviews, runs
from interlock.service.records.context import Asked
from interlock.service.records.observations import observation_from

A = TypeVar("A")
W = TypeVar("W", Answer, EditAnswer, StepAnswer, StopAnswer)
D = TypeVar("D", StepAnswer, StopAnswer)


class RunOperations(Glanced):
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
        self._latest: StepAnswer | StopAnswer | None = None
        """What it was told last about going on."""

    def _glance(self) -> Glance:
        known = self._governor.known(self.id)
        # Its figures may be old: only what never changes is told without a look at the record.
        task = "" if known is None else known.task
        return Glance(
            f"{self.id}{f': {task}' if task else ''}",
            (
                ("run", self.id),
                ("task", task),
                ("agent", None if known is None else known.agent),
                ("ledger", self._governor.ledger.store.name),
            ),
        )

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
        amounts = NOTHING if expects is None else cast("Budget", expects).amounts()
        question = ActionQuestion(run_id=self.id, action=action, key=key, expects=amounts)
        return await self._patiently(question, wait_s)

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

        They are judged by what they would really change. With `dry_run` they are only planned;
        with `wait_s`, wait so long for the person who has to agree. Raises EditError, with no
        file changed, where they cannot be made.
        """
        from interlock.service.questions.edit_question import (  # noqa: PLC0415 - only whoever edits
            EditQuestion,
            EditsGiven,
            edit_set,
            look_at_edits,
        )

        # Tables within a list are edits by now: the entrance has made them.
        wanted, governor = edit_set(cast("EditsGiven", edits)), self._governor
        if dry_run:
            return await self._driver.outside(
                lambda: look_at_edits(governor.context, governor.run(self.id), wanted)
            )
        question = EditQuestion(run_id=self.id, edits=wanted, key=key)
        return await self._patiently(question, wait_s)

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
    async def usage(
        self, usage: Given[TokenUsage], *, model: str | None = None, key: str | None = None
    ) -> UsageReported:
        """Report that a model was called; sent again under its key, it is counted once."""
        used = cast("TokenUsage", usage)
        said = UsageReported(usage=used, model=model)

        def work(asked: Asked) -> Work[UsageReported]:
            known, digest = keyed_report(asked.context, "usage", key, said)
            return observations.report_usage(asked, used, model=model, key=known, digest=digest)

        return await self._record(work)

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
        question = StepQuestion(run_id=self.id, report=report)
        asked_at = self._governor.clock.now()
        answer = await self._patiently(question, wait_s)
        answer = await self._after_delay(answer, asked_at, wait_s)
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
        question = StopQuestion(run_id=self.id, report=report)
        asked_at = self._governor.clock.now()
        answer = await self._patiently(question, wait_s)
        self._latest = answer = await self._after_delay(answer, asked_at, wait_s)
        return answer

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
        self, review_id: str, gates: GateGiven | Sequence[GateGiven], **fields: Unpack[ReviewFields]
    ) -> ReviewOpening:
        """Have the work reviewed: gates by their names in the policy, or made for the occasion."""
        return await self._record(
            lambda asked: reviews.open_review(asked, review_id, gates, **fields)
        )

    @entrance
    async def verdict(
        self, said: object, *, wait_s: Amount | None = None, **fields: Unpack[VerdictFields]
    ) -> ReviewAnswer:
        """Was it good enough? A text, a table or a value; what cannot be read counts as a try.

        The checks of the review are run before what was said counts. With `wait_s`, wait so long
        for the person whose choice moves the review; the answer is what that comes to.
        """
        given = cast("VerdictGiven", said)
        answer = await self._answer(VerdictQuestion(run_id=self.id, given=given, **fields))
        if wait_s is None or answer.approval_id is None:
            return answer
        asked = answer.approval_id
        await self._decision(asked, wait_s)
        rows = self._governor.ledger.rows
        chosen = await self._driver.outside(lambda: reviews.chosen_by(rows, answer))
        return answer if chosen is None else chosen

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
        question = FinishQuestion(run_id=self.id, outcome=outcome, evaluators=evaluators)
        ended = await self._answer(question)
        asked = ended.approval_id if isinstance(ended, UnfinishedError) else None
        if wait_s is not None and asked is not None:
            await self._decision(asked, wait_s)
            ended = await self._answer(question)
        if isinstance(ended, UnfinishedError):
            raise ended
        self._governor.forget(self.id)
        return ended

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

    async def start_below(self, task: str, fields: RunFields) -> RunState:
        """Start a run below this one; what it spends counts here as well."""
        above = await self._driver.outside(lambda: self._governor.run(self.id))
        started = await self._answer(starting(runs.child_of(above, task, fields)))
        self._governor.know(started)
        return started

    def _answer(self, question: Question[A]) -> Awaitable[A]:
        return self._governor.answered(question, self._principal, self._driver)

    def _record(self, work: Callable[[Asked], Work[A]]) -> Awaitable[A]:
        return self._answer(Entry(lambda asking: work(asking.of_run(self.id))))

    async def _patiently(self, question: Question[W], wait_s: float | None) -> W:
        """Answer a question; with patience, again whenever a person has decided who has to."""
        return await patiently(
            lambda: self._answer(question), self._decision, self._governor.clock.now, wait_s
        )

    async def _after_delay(self, answer: D, asked_at: int, wait_s: float | None) -> D:
        """Return the answer once its delay is over, if that is within the patience."""
        clock = self._governor.clock
        return await after_delay(
            answer,
            lambda seconds: self._driver.delay(clock, seconds),
            waited=clock.now() - asked_at,
            wait_s=wait_s,
        )

    def _decision(self, approval_id: str, wait_s: float) -> Awaitable[Approval]:
        """Wait for the person who has to agree."""
        governor = self._governor
        return self._driver.decision(
            governor.ledger, approval_id, clock=governor.clock, timeout_s=wait_s
        )
