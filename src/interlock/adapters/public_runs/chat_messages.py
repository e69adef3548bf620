"""A talk between a person, an agent and its tools, as most formats have it: turned into steps.

The results come as messages of their own, after all calls of a message, and are folded in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, cast

import msgspec

from interlock.adapters.clients.client_event import action_of, open_todos
from interlock.adapters.clients.model_usage import believed
from interlock.adapters.histories.packed_json import (
    Table,
    entries,
    fields,
    params_from,
    text,
    whole,
)
from interlock.model.action import Action
from interlock.model.budget import TokenUsage
from interlock.model.past_run import PastStep

TOOL: Final = "tool"
SHELL: Final = "bash"
"""Whatever a format calls its shell: this is what a policy knows."""
_SHELLS: Final = frozenset("bash execute_bash shell terminal run_bash".split())
_LINES: Final = ("command", "cmd")
_UNHEARD: Final = frozenset(("system", "developer", "exit"))
"""Whoever speaks before anybody works, or after it."""
_INPUT: Final = ("prompt_tokens", "input_tokens")
_OUTPUT: Final = ("completion_tokens", "output_tokens")
_CACHE_READ: Final = ("input_tokens_cache_read", "cache_read_input_tokens", "cache_read_tokens")
_CACHE_WRITE: Final = (
    "input_tokens_cache_write",
    "cache_creation_input_tokens",
    "cache_write_tokens",
)


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool."""

    id: str
    name: str
    params: Table | str
    workspace: str | None = None


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a talk."""

    place: int
    role: str
    text: str = ""
    calls: tuple[Call, ...] = ()
    reply: str = ""
    """Messages that have this in common are one answer of a model, which is paid once."""
    answers: str = ""
    """The call whose result this is; the first that has none where it is not told."""
    failed: bool | None = None
    ran: bool = True
    usage: TokenUsage | None = None
    model: str | None = None
    finish_reason: str | None = None
    at: int | None = None


def steps_from_messages(messages: Iterable[Message], client: str) -> Iterator[PastStep]:
    """Yield the steps of a talk, each as soon as nothing more can be told of it."""
    open_steps, turn, reply, paid = list[tuple[Call | None, PastStep]](), 0, "", ""
    for message in messages:
        if message.role in _UNHEARD:
            continue
        if message.role == TOOL:
            _fold(open_steps, message)
            continue
        if not message.reply or message.reply != reply:
            yield from (step for _, step in open_steps)
            open_steps, turn, reply = [], turn + 1, message.reply
        said = _said(message, turn, is_paid=bool(reply) and reply == paid)
        paid = reply or paid
        if not message.calls:
            open_steps.append((None, said))
        for call in message.calls:
            open_steps.append((call, _called(said, message, call, client)))
            said = msgspec.structs.replace(said, text="", usage=None)
    yield from (step for _, step in open_steps)


def _said(message: Message, turn: int, *, is_paid: bool) -> PastStep:
    return PastStep(
        role=message.role,
        text=message.text,
        usage=None if is_paid else message.usage,
        model=message.model,
        finish_reason=message.finish_reason,
        turn=turn,
        at=message.at,
        line=message.place,
    )


def _called(said: PastStep, message: Message, call: Call, client: str) -> PastStep:
    return msgspec.structs.replace(
        said,
        tool=call.name,
        action=action_from_call(call, client),
        arguments=text(call.params),
        ran=message.ran,
        todos=open_todos(call.params),
    )


def _fold(open_steps: list[tuple[Call | None, PastStep]], message: Message) -> None:
    """Put a result to its call; one that belongs to none is nobody's."""
    for place, (call, step) in enumerate(open_steps):
        if call is None or step.result is not None:
            continue
        if not message.answers or call.id == message.answers:
            ran = step.ran and message.ran
            seen = msgspec.structs.replace(
                step, result=message.text, failed=message.failed, ran=ran
            )
            open_steps[place] = call, seen
            return


def action_from_call(call: Call, client: str) -> Action:
    """Return what a call is; a shell of any name runs a command line."""
    if isinstance(call.params, Mapping) and call.name in _SHELLS:
        line = next((call.params[name] for name in _LINES if call.params.get(name)), None)
        if isinstance(line, str):
            return action_of(SHELL, {"command": line}, client, call.workspace)
    return action_of(call.name, call.params, client, call.workspace)


def calls_in(message: Table) -> tuple[Call, ...]:
    """Return the calls of a message as most providers write them, under `tool_calls`."""
    return tuple(map(_call, entries(message.get("tool_calls"))))


def _call(part: object) -> Call:
    """Return a call: `id`, and `function` with name and arguments."""
    row = fields(part)
    function = fields(row.get("function"))
    name = text(function.get("name")) if function else text(row.get("name") or row.get("function"))
    arguments = function.get("arguments") if function else row.get("arguments")
    return Call(id=text(row.get("id")), name=name, params=params_from(arguments))


def content_text(content: object) -> str:
    """Return what a message says: a text, or parts of which some are text."""
    if isinstance(content, list):
        said = (fields(each).get("text") for each in cast("list[object]", content))
        return "\n".join(each for each in said if isinstance(each, str))
    return text(content)


def usage_from(part: object) -> TokenUsage | None:
    """Return what a model used, whatever its provider calls it; None where nobody counted.

    Some count what came from the cache apart from the rest; here it is part of the input.
    """
    row = fields(part)
    if not row:
        return None
    given, made = _first(row, _INPUT), _first(row, _OUTPUT)
    if given is None and made is None:
        return None
    details = fields(row.get("prompt_tokens_details"))
    read = _first(row, _CACHE_READ) or whole(details.get("cached_tokens")) or 0
    written = _first(row, _CACHE_WRITE) or 0
    given, made, total = given or 0, made or 0, whole(row.get("total_tokens")) or 0
    if given < read + written or total >= given + made + read + written > given + made:
        given += read + written
    return believed(
        input_tokens=given,
        output_tokens=made,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _first(row: Table, names: Iterable[str]) -> int | None:
    return next((each for name in names if (each := whole(row.get(name))) is not None), None)
