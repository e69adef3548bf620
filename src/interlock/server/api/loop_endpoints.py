"""The loop: what happens comes in, what it decided and recommends goes out, people stop it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Final

import msgspec

from interlock.ledger.abbreviations import named
from interlock.model.entrance import entrance
from interlock.model.principal import Principal, Scope
from interlock.model.recommendation import Recommendation
from interlock.model.system_loop import DEFAULT_SCOPE, Note, Trigger
from interlock.server.access.identity import is_agent
from interlock.server.desk.endpoint import Call, Endpoint, Limit, Perform, Word
from interlock.service.cycles.event_input import event_from
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.cycles.recommendation_desk import RecommendationDesk
from interlock.service.people.operators import proven
from interlock.views.loop_view import (
    CycleView,
    LoopStatus,
    SlogPage,
    cycle_view,
    loop_state,
    loop_status,
    recommendations,
    slog_page,
)

Before = Annotated[int, msgspec.Meta(ge=1, le=2**53)]


class EventTaken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an event that came in."""

    trigger: Trigger
    new: bool
    """False where it was there before: then nothing has changed."""
    answered_by: str | None
    """The decision that answered it, if it was answered already."""


def _chain(call: Call) -> LoopChain:
    return LoopChain(call.desk.governor)


async def _event(call: Call) -> EventTaken:
    """Take a CloudEvent; the same id of the same source is taken once."""
    return await call.look(lambda: _taken(call))


def _taken(call: Call) -> EventTaken:
    chain = _chain(call)
    event = event_from(None, call.body, now=call.desk.now(), known=chain.settings.events)
    trigger = event.trigger
    if is_agent(call.who):
        # Whatever an agent calls it, it stands for nothing that somebody else tells later.
        trigger = msgspec.structs.replace(trigger, id=f"agent/{call.who.name}#{trigger.id}")
    received = chain.receive(trigger)
    return EventTaken(
        trigger=received.trigger, new=received.is_new, answered_by=received.answered_by
    )


@entrance
async def cloud_event(
    *,
    specversion: str,
    id: str,  # noqa: A002 - what CloudEvents call it
    source: str,
    type: str,  # noqa: A002 - the same
    time: str | None = None,
    datacontenttype: str | None = None,
    data: dict[str, object] | None = None,
    scope: str | None = None,
    causationid: str | None = None,
    causationdepth: int | None = None,
) -> None:
    """Say what a CloudEvent holds; the event itself is read by `event_from`."""


async def _status(call: Call) -> LoopStatus:
    return await call.look(lambda: _standing(call))


def _standing(call: Call) -> LoopStatus:
    return loop_status(call.desk.ledger, _chain(call).settings, call.desk.now())


async def _decisions(call: Call) -> SlogPage:
    limit, before = call.query.get("limit", 50), call.query.get("before")
    return await call.look(lambda: slog_page(call.desk.ledger, limit=limit, before=before))


async def _decision(call: Call) -> CycleView:
    return await call.look(lambda: cycle_view(call.desk.ledger, call.params["decision"]))


async def _notes(call: Call) -> Sequence[Note]:
    return await call.look(lambda: tuple(loop_state(call.desk.ledger).notes.values()))


@entrance
async def note(
    call: Call, text: str, *, tags: Sequence[str] = (), scope: str = DEFAULT_SCOPE
) -> Note:
    """Leave a note, by whoever asks."""
    source = f"{call.who.scope.value}/{call.who.name}"
    return await call.look(
        lambda: _chain(call).add_note(text, source=source, tags=tags, scope=scope)
    )


async def _note(call: Call) -> Note:
    return await call.say(note, call)


@entrance
async def freeze(call: Call, reason: str) -> LoopStatus:
    """Freeze the loop."""
    return await call.look(lambda: _said(call, "freeze the loop", LoopChain.freeze, reason))


async def _freeze(call: Call) -> LoopStatus:
    return await call.say(freeze, call)


@entrance
async def thaw(call: Call, reason: str) -> LoopStatus:
    """Unfreeze the loop."""
    return await call.look(lambda: _said(call, "thaw the loop", LoopChain.thaw, reason))


async def _thaw(call: Call) -> LoopStatus:
    return await call.say(thaw, call)


def _said(
    call: Call, operation: str, word: Callable[[LoopChain, str, Principal], None], reason: str
) -> LoopStatus:
    word(_chain(call), reason, _person(call, operation))
    return _standing(call)


def _person(call: Call, operation: str) -> Principal:
    return proven(call.desk.governor.context, call.who.token, operation)


async def _recommendations(call: Call) -> Sequence[Recommendation]:
    everything = call.query.get("all", False)
    return await call.look(lambda: recommendations(call.desk.ledger, everything=everything))


@entrance
async def dismissal(call: Call, *, note: str | None = None) -> Recommendation:
    """Dismiss a recommendation, with a word."""
    return await _settle(call, "dismiss", lambda desk, found, by: desk.dismiss(found, by, note))


@entrance
async def nothing(call: Call) -> None:
    """Take nothing: the path says it all."""


async def _apply(call: Call) -> Recommendation:
    await call.say(nothing, call)
    return await _settle(call, "apply", RecommendationDesk.apply)


async def _undo(call: Call) -> Recommendation:
    await call.say(nothing, call)
    return await _settle(call, "undo", RecommendationDesk.undo)


async def _dismiss(call: Call) -> Recommendation:
    return await call.say(dismissal, call)


async def _settle(
    call: Call,
    word: str,
    settle: Callable[[RecommendationDesk, str, Principal], Recommendation],
) -> Recommendation:
    def work() -> Recommendation:
        known = loop_state(call.desk.ledger).recommendations
        found = named(
            "recommendation",
            call.params["recommendation"],
            known.items(),
            "interlock recommendations --all",
        )
        by = _person(call, f"{word} a recommendation")
        return settle(RecommendationDesk(call.desk.governor, _chain(call)), found.id, by)

    return await call.look(work)


def _read(path: str, perform: Perform, answer: object, summary: str, **query: object) -> Endpoint:
    return Endpoint(
        method="GET",
        path=path,
        scope=Scope.VIEWER,
        summary=summary,
        perform=perform,
        query=query,
        answer=answer,
    )


def _decided(path: str, perform: Perform, word: Word, answer: object, summary: str) -> Endpoint:
    return Endpoint(
        method="POST",
        path=path,
        scope=Scope.OPERATOR,
        summary=summary,
        perform=perform,
        body=word,
        given=("call",),
        answer=answer,
        decides=True,
    )


_ONE: Final = "/v1/recommendations/{recommendation}"

LOOP_ENDPOINTS: Final = (
    Endpoint(
        method="POST",
        path="/v1/events",
        scope=Scope.OPERATOR,
        agents=True,
        summary="Tell the loop that something happened, as a CloudEvent",
        perform=_event,
        body=cloud_event,
        answer=EventTaken,
        status=202,
    ),
    _read("/v1/loop", _status, LoopStatus, "How the loop stands"),
    _read(
        "/v1/loop/decisions",
        _decisions,
        SlogPage,
        "What the loop decided, the newest first",
        limit=Limit,
        before=Before,
    ),
    _read(
        "/v1/loop/decisions/{decision}", _decision, CycleView, "One decision of it, stage by stage"
    ),
    _read("/v1/loop/notes", _notes, list[Note], "The notes that wait, the oldest first"),
    Endpoint(
        method="POST",
        path="/v1/loop/notes",
        scope=Scope.OPERATOR,
        agents=True,
        summary="Leave a note for the loop",
        perform=_note,
        body=note,
        given=("call",),
        answer=Note,
        status=201,
    ),
    _decided("/v1/loop/freeze", _freeze, freeze, LoopStatus, "Freeze the loop"),
    _decided("/v1/loop/thaw", _thaw, thaw, LoopStatus, "Unfreeze the loop"),
    _read(
        "/v1/recommendations",
        _recommendations,
        list[Recommendation],
        "What finished runs suggest",
        all=bool,
    ),
    _decided(f"{_ONE}/apply", _apply, nothing, Recommendation, "Change the policy as it says"),
    _decided(f"{_ONE}/dismiss", _dismiss, dismissal, Recommendation, "Do not recommend it again"),
    _decided(f"{_ONE}/undo", _undo, nothing, Recommendation, "Put back what it changed"),
)
