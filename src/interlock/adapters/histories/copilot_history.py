"""Copilot CLI's own record of its sessions: a file of events each, sub-agents among them.

What a model used stands before what it said, by the name of the call. Older versions wrote no
such records: what was used is not known then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from interlock.adapters.clients.client_event import is_our_own
from interlock.adapters.clients.copilot import output_seen
from interlock.adapters.clients.model_usage import CopilotUsage
from interlock.adapters.histories.bounded_lines import unpacked
from interlock.adapters.histories.client_history import (
    Failures,
    SingleFile,
    Stamp,
    call_from_json,
    client_run,
    counted,
    decoded,
    decoded_lines,
    folded,
    micros,
    unheard,
)
from interlock.adapters.histories.turn_queue import TurnQueue, outcome_of
from interlock.model.past_run import PastRun, Unread

_NAME: Final = "copilot"
_MARKS: Final = (
    b'"assistant.message"',
    b'"tool.execution_complete"',
    b'"session.usage_record"',
    b'"user.message"',
    b'"session.start"',
    b'"session.resume"',
    b'"session.context_changed"',
)
_STARTS: Final = ("session.start", "session.resume")
_HEAD_LINES: Final = 50
_BY_PERSON: Final = "rejected"
_REFUSALS: Final = frozenset(("denied", _BY_PERSON))


class _Request(msgspec.Struct, rename="camel"):
    tool_call_id: str = ""
    name: str = ""
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Content(msgspec.Struct):
    content: object = None


class _Error(msgspec.Struct):
    message: str = ""
    code: str | None = None


class _Context(msgspec.Struct):
    cwd: str | None = None


class _Data(msgspec.Struct, rename="camel"):
    """What is said of an event, whichever it is."""

    content: object = None
    source: str | None = None
    message_id: str | None = None
    api_call_id: str | None = None
    model: str | None = None
    selected_model: str | None = None
    tool_requests: list[_Request] | None = None
    tool_call_id: str = ""
    success: bool | None = None
    result: _Content | None = None
    error: _Error | None = None
    usage: CopilotUsage | None = None
    session_id: str | None = None
    context: _Context | None = None
    cwd: str | None = None


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    timestamp: Stamp = None
    agent_id: str | None = None
    data: msgspec.Raw = msgspec.Raw(b"{}")


_LINE: Final = msgspec.json.Decoder(_Line)
_DATA: Final = msgspec.json.Decoder(_Data)


class _Head(msgspec.Struct):
    id: str
    workspace: str | None = None
    model: str | None = None
    agent: str | None = None


class CopilotHistory(SingleFile, frozen=True):
    """Reads the events of Copilot CLI."""

    name: str = _NAME
    version: int = 1

    def usual_places(self, home: Path, environment: Mapping[str, str]) -> Sequence[Path]:
        """Return where it keeps them."""
        return [Path(environment.get("COPILOT_HOME") or home / ".copilot") / "session-state"]

    def reads(self, path: Path, beginning: bytes) -> bool:
        """Return whether a file is such a record."""
        begins = unpacked(beginning)
        return ".jsonl" in path.suffixes and b'"copilot' in begins and b'"session.' in begins

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield the session, and each of its sub-agents."""
        head = _head(path)
        if head is None:
            return
        others: dict[str, None] = {}
        yield _run(path, head, unread, others, parent=None)
        for agent in others:
            other = _Head(agent, head.workspace, head.model, agent)
            yield _run(path, other, unheard, None, parent=head.id)


def _head(path: Path) -> _Head | None:
    """Return what is known of a session before its first step; None where it has none."""
    found: _Head | None = None
    for number, line in decoded_lines(path, _LINE, _MARKS, unheard):
        if number > _HEAD_LINES and found is not None:
            break
        found = found or _Head(path.parent.name)
        if line.type in _STARTS and (data := _about(line)) is not None:
            found.id = data.session_id or found.id
            found.workspace = None if data.context is None else data.context.cwd
            found.model = data.selected_model
            break
    return found


def _about(line: _Line) -> _Data | None:
    try:
        return decoded(line.data, _DATA)
    except Failures:
        return None


def _run(
    path: Path,
    head: _Head,
    unread: Callable[[Unread], None],
    others: dict[str, None] | None,
    *,
    parent: str | None,
) -> PastRun:
    marks = _MARKS if head.agent is None else (head.agent.encode(),)
    lines = decoded_lines(path, _LINE, marks, unread)
    return client_run(
        _NAME,
        head.id,
        folded(path, lines, _Fold(head, others), unread),
        workspace=head.workspace,
        parent=parent,
        model=head.model,
    )


class _Fold:
    """Takes the events of one agent."""

    def __init__(self, head: _Head, others: dict[str, None] | None) -> None:
        self.queue = TurnQueue()
        self._agent = head.agent
        self._workspace = head.workspace
        self._others = others

    def hear(self, number: int, line: _Line) -> None:
        if line.type.startswith("session.") and line.type != "session.usage_record":
            self._moves(decoded(line.data, _DATA))
            return
        if line.agent_id != self._agent:
            if line.agent_id is not None and self._others is not None:
                self._others[line.agent_id] = None
            return
        at = micros(line.timestamp)
        match line.type:
            case "session.usage_record":
                self._used(decoded(line.data, _DATA), at, number)
            case "assistant.message":
                self._said(decoded(line.data, _DATA), at, number)
            case "tool.execution_complete":
                self._answered(decoded(line.data, _DATA))
            case "user.message":
                self._heard(decoded(line.data, _DATA), at, number)
            case _:
                pass

    def _moves(self, data: _Data) -> None:
        cwd = data.cwd if data.context is None else data.context.cwd
        self._workspace = cwd or self._workspace

    def _used(self, data: _Data, at: int | None, number: int) -> None:
        if data.usage is None or (usage := counted(data.usage)) is None:
            return
        turn = self.queue.turn(data.usage.api_call_id, at=at, line=number)
        turn.counts(usage)
        turn.model = data.usage.model
        turn.finish_reason = data.usage.finish_reason

    def _said(self, data: _Data, at: int | None, number: int) -> None:
        key = data.api_call_id or data.message_id or f"line-{number}"
        turn = self.queue.turn(key, at=at, line=number)
        turn.at, turn.line = at, number
        turn.model = data.model or turn.model
        turn.texts.append(_text(data.content))
        for each in data.tool_requests or ():
            call = call_from_json(
                each.tool_call_id or f"{number}.{len(turn.calls)}",
                each.name,
                each.arguments,
                client=_NAME,
                workspace=self._workspace,
                at=at,
                line=number,
            )
            self.queue.call(turn, call)

    def _answered(self, data: _Data) -> None:
        if data.error is not None:
            ran = data.error.code not in _REFUSALS and not _is_unknown(data.error.message)
            self.queue.answered(
                data.tool_call_id,
                data.error.message,
                failed=True,
                ran=ran,
                declined=data.error.code == _BY_PERSON,
            )
            return
        text = "" if data.result is None else _text(data.result.content)
        result, failed = outcome_of(output_seen(text, is_ok=data.success is not False))
        self.queue.answered(data.tool_call_id, result, failed=failed, ran=True)

    def _heard(self, data: _Data, at: int | None, number: int) -> None:
        text = _text(data.content)
        is_person = self._agent is None and data.source in (None, "", "user")
        if is_person and text.strip() and not is_our_own(text):
            self.queue.person(text, at=at, line=number)


def _is_unknown(message: str) -> bool:
    return message.startswith("Tool '") and message.endswith("does not exist.")


def _text(content: object) -> str:
    return content if isinstance(content, str) else ""
