"""Questions to people: what waits, how to wait for an answer, and how to give one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Final, Literal

import msgspec

from interlock.errors import DecidedError
from interlock.ledger.abbreviations import found_approval
from interlock.model.answers import ReviewAnswer
from interlock.model.approval import Approval, ApprovalState
from interlock.model.principal import Scope
from interlock.model.rows import RunRow
from interlock.server.access.identity import is_agent
from interlock.server.desk.endpoint import Call, Endpoint, Limit, Name, Perform, Word
from interlock.service.operations import Operations

_LONGEST_WAIT_S: Final = 300
_USUAL_WAIT_S: Final = 30.0
State = Literal["pending", "granted", "denied", "expired", "cancelled", "all"]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=_LONGEST_WAIT_S)]


async def _list(call: Call) -> Sequence[Approval]:
    """Return questions; those of its own runs where an agent asks."""
    return await call.look(lambda: _shown(call))


def _shown(call: Call) -> Sequence[Approval]:
    desk, who = call.desk, call.who
    state, run = call.query.get("state", "pending"), call.query.get("run")
    found = desk.governor.approvals(None if state == "all" else state)
    if run is not None:
        found = [each for each in found if each.run_id == run]
    if is_agent(who):
        runs: dict[str, bool] = {}
        for each in found:
            if each.run_id not in runs:
                runs[each.run_id] = _is_own(call, desk.ledger.rows.run(each.run_id))
        found = [each for each in found if runs[each.run_id]]
    return found[: call.query.get("limit", 500)]


def _is_own(call: Call, row: RunRow | None) -> bool:
    return row is not None and call.desk.doorkeeper.is_own(call.who, row.agent)


async def _show(call: Call) -> Approval:
    return await call.look(lambda: _found(call))


def _found(call: Call) -> Approval:
    """Return the question that the path names; an agent is told of its own runs' only."""
    desk = call.desk
    found = found_approval(desk.ledger.rows, call.params["approval"])
    row = desk.ledger.rows.run(found.run_id)
    desk.check_own(call.who, found.run_id, "" if row is None else row.agent)
    return found


async def _wait(call: Call) -> Approval:
    """Wait until it is decided, runs out, or the time is up; on no thread at all."""
    found = await _show(call)
    return await call.words.wait(found.id, wait_s=call.query.get("seconds", _USUAL_WAIT_S))


def _decided(word: Callable[..., Awaitable[Approval]], state: ApprovalState) -> Perform:
    async def perform(call: Call) -> Approval:
        asked = call.params["approval"]
        try:
            return await call.prove(word, call.words, asked)
        except DecidedError:
            again = await call.look(lambda: _same(call, state)) if call.key is not None else None
            if again is None:
                raise
            return again

    return perform


def _same(call: Call, state: ApprovalState) -> Approval | None:
    """Return the question if whoever asks under a key has decided it so before."""
    found, who = _found(call), call.who.principal
    by = "" if who is None else f"{who.kind.value}:{who.name}"
    is_same = found.state is state and found.decided_by == by
    return found if is_same and found.note == call.table.get("note") else None


async def _choose(call: Call) -> ReviewAnswer:
    return await call.prove(call.words.choose, call.params["approval"])


def _answering(name: str, perform: Perform, word: Word, answer: object, summary: str) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/v1/approvals/{{approval}}/{name}",
        scope=Scope.OPERATOR,
        summary=summary,
        perform=perform,
        body=word,
        given=("approval_id", "token"),
        answer=answer,
        decides=True,
    )


APPROVAL_ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/v1/approvals",
        scope=Scope.VIEWER,
        agents=True,
        summary="Questions to people in one state, `pending` where none is said",
        perform=_list,
        query={"state": State, "run": Name, "limit": Limit},
        answer=list[Approval],
    ),
    Endpoint(
        method="GET",
        path="/v1/approvals/{approval}",
        scope=Scope.VIEWER,
        agents=True,
        summary="One question to people",
        perform=_show,
        answer=Approval,
    ),
    Endpoint(
        method="GET",
        path="/v1/approvals/{approval}/wait",
        scope=Scope.VIEWER,
        agents=True,
        summary="Wait until it is decided, runs out, or the seconds are over",
        perform=_wait,
        query={"seconds": Seconds},
        answer=Approval,
    ),
    _answering(
        "approve",
        _decided(Operations.approve, ApprovalState.GRANTED),
        Operations.approve,
        Approval,
        "Let it happen, once",
    ),
    _answering(
        "deny",
        _decided(Operations.deny, ApprovalState.DENIED),
        Operations.deny,
        Approval,
        "Refuse it",
    ),
    _answering(
        "choose",
        _choose,
        Operations.choose,
        ReviewAnswer,
        "Choose how a review goes on: `retry`, `skip` or `abort`",
    ),
)
