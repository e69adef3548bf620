"""Questions to people: what waits, how to wait for an answer, and how to give one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from itertools import islice
from typing import Annotated, Final, Literal

import msgspec

from interlock.errors import DecidedError
from interlock.ledger.abbreviations import found_approval
from interlock.model.answers import ReviewAnswer
from interlock.model.approval import Approval, ApprovalPage, ApprovalState
from interlock.model.principal import Scope
from interlock.server.access.identity import is_agent
from interlock.server.desk.endpoint import Call, Endpoint, Limit, Name, Perform, Word
from interlock.service.operations import Operations
from interlock.views.run_catalogue import cursor_of, place_behind

_LONGEST_WAIT_S: Final = 300
_USUAL_WAIT_S: Final = 30.0
State = Literal["pending", "granted", "denied", "expired", "cancelled", "all"]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=_LONGEST_WAIT_S)]


async def _list(call: Call) -> ApprovalPage:
    """Return questions; those of its own runs where an agent asks."""
    return await call.look(lambda: _page(call))


def _page(call: Call) -> ApprovalPage:
    state, cursor = call.query.get("state", "pending"), call.query.get("cursor")
    limit: int = call.query.get("limit", 50)
    found = call.desk.governor.approvals(
        None if state == "all" else state,
        run_id=call.query.get("run"),
        behind=None if cursor is None else place_behind(cursor),
    )
    if is_agent(call.who):
        is_own = _is_own(call)
        found = (each for each in found if is_own(each.run_id))
    shown = list(islice(found, limit + 1))
    last = shown[limit - 1] if len(shown) > limit else None
    return ApprovalPage(
        approvals=tuple(shown[:limit]),
        cursor=None if last is None else cursor_of(last.opened_at, last.id),
    )


def _is_own(call: Call) -> Callable[[str], bool]:
    """Return whether a run is of the agent that asks; each is looked up once."""

    @cache
    def is_own(run_id: str) -> bool:
        row = call.desk.ledger.rows.run(run_id)
        return row is not None and call.desk.doorkeeper.is_own(call.who, row.agent)

    return is_own


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
        query={"state": State, "run": Name, "limit": Limit, "cursor": Name},
        answer=ApprovalPage,
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
        summary="Wait until it is decided, expires, or the seconds are over",
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
        "Resolve a review: `retry`, `skip` or `abort`",
    ),
)
