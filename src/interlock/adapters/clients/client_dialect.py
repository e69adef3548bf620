"""What every client's dialect has in common: it is read, asked about, and answered in this order.

INVARIANT: a dialect decides nothing; and whatever it cannot read becomes a no, except where the
client only tells, or lets its agent end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.adapters.clients.client_event import ClientEvent, Occasion, open_todos, request_of
from interlock.adapters.clients.reaction import GOING_ON, Course, Reaction, reaction_to, refused
from interlock.errors import InputError
from interlock.model.hook import (
    REFUSED,
    HookAnswer,
    HookCall,
    HookReply,
    HookRequest,
    ModelCall,
)

_MOST_SESSIONS: Final = 1_000
_GOVERNED: Final = (
    "Interlock governs this session: each call of a tool is judged before it happens. A call that"
    " is refused comes back with the reason and what to do instead; do not try to bypass it."
    " Where a person has to agree, go on with something else, and make the same call again later."
)


class ClientDialect(ABC):
    """Reads what a client says, and answers it."""

    def __init__(self) -> None:
        self._todos: dict[str, tuple[str, ...]] = {}
        """What stands open on the list of each session's agent, as it wrote it last."""

    @abstractmethod
    def event(self, call: HookCall) -> ClientEvent:
        """Return what the client says; raise InputError where that cannot be read."""

    @abstractmethod
    def say(self, event: ClientEvent, reaction: Reaction) -> HookReply:
        """Return a reaction as the client understands it.

        `ASK` comes only where a person is at the client's own prompt.
        """

    def ended(self, event: ClientEvent, call: HookCall) -> ClientEvent:
        """Return the end of a turn with what the client tells of it elsewhere only."""
        del call
        return event

    def request(self, call: HookCall) -> HookRequest | None:
        """Return what a call asks; None where it asks nothing."""
        event = self.event(call)
        if event.occasion is Occasion.STOP:
            event = self._with_todos(self.ended(event, call))
        elif event.occasion is Occasion.SEEN:
            self._note_todos(event)
        return request_of(event, call)

    def reply(self, call: HookCall, answer: HookAnswer) -> HookReply:
        """Return an answer as the client understands it."""
        event = self.event(call)
        reaction = reaction_to(answer)
        if event.occasion is Occasion.BEGAN:
            reaction = Reaction(notice=_GOVERNED)
        if reaction.course is Course.ASK and not event.is_attended:
            reaction = replace(reaction, course=Course.REFUSE)
        return self.say(event, reaction)

    def refusal(self, call: HookCall, reason: str) -> HookReply:
        """Return a no for whatever went wrong; an agent that ends may end."""
        try:
            event = self.event(call)
        except InputError:
            return exit_refusal(call, reason)
        reaction = refused(reason) if event.occasion.is_decided else GOING_ON
        return self.say(event, reaction)

    def used(self, call: HookCall) -> Sequence[ModelCall]:
        """Return nothing, where the client keeps no record that tells."""
        del call
        return ()

    def _note_todos(self, event: ClientEvent) -> None:
        found = open_todos(event.params)
        if found is None:
            return
        if len(self._todos) >= _MOST_SESSIONS:
            self._todos.clear()
        self._todos[event.session.id] = found

    def _with_todos(self, event: ClientEvent) -> ClientEvent:
        todos = self._todos.get(event.session.id)
        return replace(event, fields={**event.fields, "todos": todos}) if todos else event


def exit_refusal(call: HookCall, reason: str) -> HookReply:
    """Return a no by the exit code, with the reason on stderr: no client takes it for a yes."""
    said = f"interlock: {reason or 'no reason is known'}\n".encode("utf-8", "replace")
    return HookReply(0 if call.fails_open else REFUSED, stderr=said)


def json_reply(said: Mapping[str, object]) -> HookReply:
    """Return one JSON object, which is all that the client may find on stdout."""
    return HookReply(0, msgspec.json.encode(said) + b"\n")
