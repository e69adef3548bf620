"""Runs, the questions that are asked in them, and what a person says to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, Literal, Unpack

from msgspec.structs import replace

from interlock.errors import InputError
from interlock.model import answers, events
from interlock.model.action import Action
from interlock.model.answers import AllRuns
from interlock.model.entrance import entrance
from interlock.model.principal import Scope
from interlock.model.question_fields import RunFields, Seen
from interlock.model.review import Report
from interlock.model.run import RunState
from interlock.model.step import Belief
from interlock.processes import folder_of, is_below
from interlock.server.access.identity import is_agent
from interlock.server.access.peer import Peer
from interlock.server.desk.endpoint import Call, Endpoint, Limit, Name, Perform, Word
from interlock.server.wire.problem import Refused
from interlock.service.aio import AsyncInterlock
from interlock.service.operations import Operations
from interlock.service.questions.run_entries import starting
from interlock.service.records.runs import ELSEWHERE, new_run
from interlock.service.run_operations import RunOperations
from interlock.views.run_catalogue import RunPage, run_page
from interlock.views.run_view import RunFigures, run_figures, run_value, run_view


async def _start(call: Call) -> RunFigures:
    """Start a run: of the agent that asks, and of no other one."""
    table, who, desk = dict(call.table), call.who, call.desk
    agent = table.setdefault("agent", who.name)
    if not await call.look(lambda: desk.doorkeeper.is_own(who, str(agent))):
        raise Refused(403, f"`{who.name}` starts no run for `{str(agent)[:60]}`: leave `agent` out")
    parent = table.setdefault("parent", None)
    if isinstance(parent, str):
        table["parent"] = (await desk.run(who, parent)).id
    if (peer := who.peer) is None:
        return run_figures(await call.ask(_begun_elsewhere, call.words, **table))
    table["process"] = await call.look(lambda: _process(call.table.get("process"), peer))
    project = table.get("project", "default")
    if isinstance(project, str) and not desk.governor.has_policy_of(project):
        # As if it had asked in its own process: the policy of the folder that it works in counts.
        folder = await call.look(lambda: folder_of(peer.pid))
        if folder is not None:
            table["project"] = await call.look(lambda: desk.governor.project_in(folder, project))
    return run_figures(await call.ask(call.words.begin, **table))


@entrance
async def _begun_elsewhere(words: Operations, task: str, **fields: Unpack[RunFields]) -> RunState:
    new = new_run(task, {**fields, "process": None})
    return await words.ask(starting(replace(new, process=ELSEWHERE)))


def _process(given: object, peer: Peer) -> object:
    """Return the process that a run is for: the one that asks, one below it or one above it.

    INVARIANT: nobody names a process that this server descends from: whatever descends from it
    would decide nothing, and so would everybody.
    """
    if given is None:
        return peer.pid
    if not isinstance(given, int) or given == peer.pid:
        return given
    if not is_below(given, peer.pid) and (
        not is_below(peer.pid, given) or is_below(os.getpid(), given)
    ):
        raise Refused(
            403, f"process {given} has nothing to do with {peer.pid}, which asks: leave it out"
        )
    return given


async def _list(call: Call) -> RunPage:
    """Return a page of runs; of an agent's own where an agent asks."""
    desk, who, query = call.desk, call.who, call.query
    return await call.look(
        lambda: run_page(
            desk.ledger,
            limit=query.get("limit", 50),
            cursor=query.get("cursor"),
            status=query.get("state"),
            agent=query.get("agent"),
            project=query.get("project"),
            text=query.get("q", ""),
            is_shown=lambda row: not is_agent(who) or desk.doorkeeper.is_own(who, row.agent),
        )
    )


async def _show(call: Call) -> object:
    run = await call.run()
    ledger, now = call.desk.ledger, call.desk.now()
    return await call.look(
        lambda: run_value(run_view(ledger, call.desk.governor.state(run.id), now))
    )


async def _resume(call: Call) -> RunFigures:
    """Let a run go on in the process that asks, where its own has ended."""
    run, table, peer = await call.run(), dict(call.table), call.who.peer
    if peer is None:
        return run_figures(await call.ask(_resumed_elsewhere, call.words, run.id, **table))
    table["process"] = await call.look(lambda: _process(call.table.get("process"), peer))
    waiting = AsyncInterlock(call.desk.governor, call.who.principal)
    resumed = await call.ask(AsyncInterlock.resume, waiting, run.id, **table)
    return run_figures(await resumed.state())


@entrance
async def _resumed_elsewhere(
    words: Operations, run_id: str, *, process: int | None = None
) -> RunState:
    """Let it go on there, whatever `process` it names: no process of here is meant."""
    del process
    return await words.resumed(run_id, ELSEWHERE)


def _of_run(word: Word) -> Perform:
    """Return what asks a word of the run that the path names, with what the body says."""

    async def perform(call: Call) -> object:
        return await call.say(word, await call.run())

    return perform


@entrance
async def observation(
    run: RunOperations,
    *,
    action_id: str | None = None,
    action: Action | Mapping[str, object] | None = None,
    **seen: Unpack[Seen],
) -> events.ActionObserved:
    """Report what an action did that was asked about, or one that was not."""
    if action is not None:
        return await run.observe_unasked(action, **seen)
    if action_id is None:
        raise InputError("`action_id` is missing: name the action, or give it as `action`")
    return await run.observe(action_id, **seen)


async def _person(call: Call) -> None:
    await call.prove(RunOperations.person_spoke, await call.run())


async def _halt(call: Call) -> RunFigures:
    return run_figures(await call.prove(call.words.halt, (await call.run()).id))


async def _lift(call: Call) -> RunFigures:
    return run_figures(await call.prove(call.words.lift, (await call.run()).id))


async def _halt_all(call: Call) -> AllRuns:
    return AllRuns(runs=await call.prove(call.words.halt_all))


async def _lift_all(call: Call) -> AllRuns:
    return AllRuns(runs=await call.prove(call.words.lift_all))


def _question(
    name: str, word: Word, answer: object, summary: str, *, keyed: bool = False
) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/v1/runs/{{run}}/{name}",
        scope=Scope.AGENT,
        summary=summary,
        perform=_of_run(word),
        body=word,
        given=("evaluators",),
        answer=answer,
        keyed=keyed,
    )


def _said(path: str, perform: Perform, word: Word, answer: object, summary: str) -> Endpoint:
    return Endpoint(
        method="POST",
        path=path,
        scope=Scope.OPERATOR,
        summary=summary,
        perform=perform,
        body=word,
        given=("run_id", "token"),
        answer=answer,
        decides=True,
    )


_ONE: Final = "/v1/runs/{run}"

RUN_ENDPOINTS: Final = (
    _question("actions", RunOperations.ask, answers.Answer, "May it do this?", keyed=True),
    _question("steps", RunOperations.step, answers.StepAnswer, "Should it go on?", keyed=True),
    _question("stops", RunOperations.stopped, answers.StopAnswer, "Is it really done?", keyed=True),
    _question(
        "edits",
        RunOperations.apply_edits,
        answers.EditAnswer,
        "Make edits, if they may be made",
        keyed=True,
    ),
    _question("reviews", RunOperations.review, answers.ReviewOpening, "Open a review"),
    _question(
        "verdicts", RunOperations.verdict, answers.ReviewAnswer, "Was it good enough?", keyed=True
    ),
    _question(
        "usage", RunOperations.usage, events.UsageReported, "Report a model's call", keyed=True
    ),
    _question(
        "violations", RunOperations.violation, events.ViolationRecorded, "Record a broken rule"
    ),
    _question("beliefs", RunOperations.belief, Belief, "Note what the agent takes to be true"),
    _question("finish", RunOperations.finish, Report, "Close the run"),
    Endpoint(
        method="POST",
        path="/v1/runs/{run}/observations",
        scope=Scope.AGENT,
        summary="Report what an action did; `action_id` names it, `action` is one not asked about",
        perform=_of_run(observation),
        body=observation,
        given=("run",),
        answer=events.ActionObserved,
    ),
    Endpoint(
        method="POST",
        path="/v1/runs",
        scope=Scope.AGENT,
        summary="Start a run",
        perform=_start,
        body=Operations.begin,
        answer=RunFigures,
        status=201,
        keyed=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/runs/{run}/resume",
        scope=Scope.AGENT,
        summary="Continue a run in another process",
        perform=_resume,
        body=AsyncInterlock.resume,
        given=("run_id",),
        answer=RunFigures,
    ),
    _said(
        f"{_ONE}/person", _person, RunOperations.person_spoke, None, "A person spoke to the agent"
    ),
    _said(f"{_ONE}/halt", _halt, Operations.halt, RunFigures, "Stop a run and everything below it"),
    _said(
        f"{_ONE}/lift",
        _lift,
        Operations.lift,
        RunFigures,
        "Resume a run that is paused or stopped",
    ),
    _said("/v1/halt", _halt_all, Operations.halt_all, AllRuns, "Stop every run; let none begin"),
    _said(
        "/v1/lift", _lift_all, Operations.lift_all, AllRuns, "Resume what was halted all together"
    ),
    Endpoint(
        method="GET",
        path="/v1/runs",
        scope=Scope.VIEWER,
        agents=True,
        summary="Runs, the one that was active last first",
        perform=_list,
        query={
            "limit": Limit,
            "cursor": Name,
            "state": Literal["running", "finished"],
            "agent": Name,
            "project": Name,
            "q": Name,
        },
        answer=RunPage,
    ),
    Endpoint(
        method="GET",
        path="/v1/runs/{run}",
        scope=Scope.VIEWER,
        agents=True,
        summary="One run: figures, holds, accounts, reviews",
        perform=_show,
        answer=dict[str, object],
    ),
)
