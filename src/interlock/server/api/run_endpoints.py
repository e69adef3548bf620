"""Runs and the questions that are asked in them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from interlock.errors import InputError
from interlock.model import answers, events
from interlock.model.principal import Scope
from interlock.model.review import Report
from interlock.model.step import Belief
from interlock.server.endpoint import Call, Endpoint
from interlock.server.problem import Refused
from interlock.service.run_operations import RunOperations
from interlock.views.run_view import RunFigures, run_figures, run_value, run_view

Word = Callable[..., Awaitable[object]]


async def _start(call: Call) -> RunFigures:
    """Start a run: of the agent that asks, and of no other one."""
    table: dict[str, Any] = dict(call.table)
    task = table.pop("task", None)
    if not isinstance(task, str):
        raise InputError(f"`task` is {task!r}, expected a text: what the run is for")
    who, desk = call.who, call.desk
    agent = table.setdefault("agent", who.name)
    if not await desk.driver.outside(lambda: desk.doorkeeper.is_own(who, str(agent))):
        raise Refused(403, f"`{who.name}` starts no run for `{str(agent)[:60]}`: leave `agent` out")
    table["process"] = 0 if who.peer is None else table.get("process", who.peer.pid)
    return run_figures(await call.words.begin(task, **table))


def _of_run(word: Word) -> Callable[[Call], Awaitable[object]]:
    """Return what asks a word of the run that the path names, with what the body says."""

    async def perform(call: Call) -> object:
        return await word(await call.run(), **call.table)

    return perform


async def _observe(call: Call) -> object:
    run, table = await call.run(), dict(call.table)
    if "action" in table:
        return await run.observe_unasked(table.pop("action"), **table)  # pyright: ignore[reportArgumentType] - checked behind the entrance
    return await run.observe(table.pop("action_id", ""), **table)  # pyright: ignore[reportArgumentType] - the same


async def _show(call: Call) -> object:
    run = await call.run()

    def look() -> object:
        ledger, now = call.desk.ledger, call.desk.now()
        return run_value(run_view(ledger, call.desk.governor.state(run.id), now))

    return await call.desk.driver.outside(look)


def _question(name: str, word: Word, answer: object, summary: str) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/v1/runs/{{run}}/{name}",
        scope=Scope.AGENT,
        summary=summary,
        perform=_of_run(word),
        body=word,
        answer=answer,
    )


RUN_ENDPOINTS: Final = (
    Endpoint(
        method="POST",
        path="/v1/runs",
        scope=Scope.AGENT,
        summary="Start a run",
        perform=_start,
        answer=RunFigures,
        status=201,
    ),
    Endpoint(
        method="GET",
        path="/v1/runs/{run}",
        scope=Scope.VIEWER,
        summary="One run: figures, holds, accounts, reviews",
        perform=_show,
        answer=dict[str, object],
    ),
    _question("actions", RunOperations.ask, answers.Answer, "May it do this?"),
    _question("edits", RunOperations.apply_edits, answers.EditAnswer, "Make edits, if they may"),
    _question("steps", RunOperations.step, answers.StepAnswer, "Should it go on?"),
    _question("stops", RunOperations.stopped, answers.StopAnswer, "Is it really done?"),
    _question("reviews", RunOperations.review, answers.ReviewOpening, "Open a review"),
    _question("verdicts", RunOperations.verdict, answers.ReviewAnswer, "Was it good enough?"),
    _question("usage", RunOperations.usage, events.UsageReported, "Report a model's call"),
    _question(
        "violations", RunOperations.violation, events.ViolationRecorded, "Record a broken rule"
    ),
    _question("beliefs", RunOperations.belief, Belief, "Note what the agent takes to be true"),
    _question("finish", RunOperations.finish, Report, "Close the run"),
    Endpoint(
        method="POST",
        path="/v1/runs/{run}/observations",
        scope=Scope.AGENT,
        summary="Report what an action did",
        perform=_observe,
        answer=events.ActionObserved,
    ),
)
