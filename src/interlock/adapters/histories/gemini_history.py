"""Gemini CLI's own record of its chats: lines of JSON each, or one document by older versions.

A message stands there again once its calls are answered, with what came of them. Which folder a
chat was in stands beside it, in newer versions only. A sub-agent's chat is in a folder that is
named after the chat it belongs to.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from interlock.adapters.clients.client_event import is_our_own, text_of
from interlock.adapters.clients.gemini import NOTICE, response_seen
from interlock.adapters.clients.model_usage import GeminiTokens
from interlock.adapters.histories.bounded_lines import bounded_whole, unpacked
from interlock.adapters.histories.client_history import (
    Failures,
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
from interlock.adapters.histories.turn_queue import Turn, TurnQueue, outcome_of
from interlock.descriptors import READING, check_is_regular, opened
from interlock.model.past_run import PastRun, Unread

_NAME: Final = "gemini"
_MARKS: Final = (b'"gemini"', b'"user"', b'"sessionId"')
_CHATS: Final = "chats"
_ROOT: Final = ".project_root"
_LONGEST_ROOT: Final = 4_096
_HEAD_LINES: Final = 50
_MACHINE: Final = re.compile(r"\s*<(?:session_context|state_snapshot|hook_context)>")
"""How that begins which stands there as if a person had said it."""
_REFUSED: Final = re.compile(
    r"(?:Tool execution (?:blocked|denied)|Tool \"[^\"]*\" not found"
    r"|(?:\[Operation Cancelled\] (?:Reason: )?)?User (?:did not allow|denied|cancelled tool))"
)


class _Response(msgspec.Struct):
    response: dict[str, object] = {}


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    function_response: _Response | None = None


class _Call(msgspec.Struct):
    id: str = ""
    name: str = ""
    args: msgspec.Raw = msgspec.Raw(b"{}")
    result: list[_Part] | str | None = None
    status: str | None = None
    timestamp: Stamp = None


class _Message(msgspec.Struct, rename="camel"):
    """A message, or what is said of the chat: the first line has no type."""

    type: str = ""
    id: str = ""
    timestamp: Stamp = None
    content: msgspec.Raw = msgspec.Raw(b'""')
    tool_calls: list[_Call] | None = None
    tokens: GeminiTokens | None = None
    model: str | None = None
    session_id: str | None = None
    kind: str | None = None
    directories: tuple[str, ...] = ()


class _Chat(msgspec.Struct, rename="camel"):
    session_id: str | None = None
    kind: str | None = None
    directories: tuple[str, ...] = ()
    messages: list[msgspec.Raw] = []


_MESSAGE: Final = msgspec.json.Decoder(_Message)
_CHAT: Final = msgspec.json.Decoder(_Chat)
_CONTENT: Final = msgspec.json.Decoder[str | list[_Part | str] | _Part | None](
    str | list[_Part | str] | _Part | None
)


class GeminiHistory(msgspec.Struct, frozen=True):
    """Reads the chats of Gemini CLI."""

    name: str = _NAME
    version: int = 1

    def usual_places(self, home: Path, environment: Mapping[str, str]) -> Sequence[Path]:
        """Return where it keeps them."""
        return [Path(environment.get("GEMINI_CLI_HOME") or home) / ".gemini" / "tmp"]

    def reads(self, path: Path, beginning: bytes) -> bool:
        """Return whether a file is such a chat."""
        is_named = {".json", ".jsonl"} & set(path.suffixes)
        begins = unpacked(beginning)
        return bool(is_named) and b'"sessionId"' in begins and b'"projectHash"' in begins

    def beside(self, path: Path) -> Sequence[Path]:
        """Return where the folder of a chat is written down."""
        return (_root(path),)

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield the chat."""
        if ".jsonl" in path.suffixes:
            head = _head(path)
            lines = decoded_lines(path, _MESSAGE, _MARKS, unread)
        else:
            chat = _whole(path, unread)
            head = chat
            lines = _messages(path, chat, unread)
        if head is None:
            return
        workspace = _workspace(path, head)
        is_sub_agent = head.kind == "subagent"
        parent = path.parent.name if is_sub_agent and path.parent.name != _CHATS else None
        fold = _Fold(workspace, is_sub_agent=is_sub_agent)
        yield client_run(
            _NAME,
            head.session_id or path.name.partition(".")[0],
            folded(path, lines, fold, unread),
            workspace=workspace,
            parent=parent,
        )


def _head(path: Path) -> _Chat | None:
    """Return what is known of a chat before its first message; None where it has none."""
    found: _Chat | None = None
    for number, line in decoded_lines(path, _MESSAGE, _MARKS, unheard):
        if number > _HEAD_LINES and found is not None:
            break
        if line.session_id is not None:
            return _Chat(line.session_id, line.kind, line.directories)
        found = _Chat()
    return found


def _whole(path: Path, unread: Callable[[Unread], None]) -> _Chat | None:
    content = bounded_whole(path, unread)
    if not content:
        return None
    try:
        return decoded(content, _CHAT)
    except Failures as error:
        unread(Unread(path=str(path), reason=f"is no chat that can be read: {error}"))
        return None


def _messages(
    path: Path, chat: _Chat | None, unread: Callable[[Unread], None]
) -> Iterator[tuple[int, _Message]]:
    for number, raw in enumerate(() if chat is None else chat.messages, start=1):
        try:
            yield number, decoded(raw, _MESSAGE)
        except Failures as error:
            unread(Unread(path=str(path), reason=f"message {number}: {error}", line=number))


def _workspace(path: Path, head: _Chat) -> str | None:
    """Return the folder of a chat, where anybody wrote that down."""
    if head.directories:
        return head.directories[0]
    try:
        with opened(_root(path), READING) as file:
            check_is_regular(file, most=_LONGEST_ROOT)
            return os.read(file, _LONGEST_ROOT).decode("utf-8", "replace").strip() or None
    except OSError:
        return None


def _root(path: Path) -> Path:
    chats = next((each for each in path.parents if each.name == _CHATS), path.parent)
    return chats.parent / _ROOT


class _Fold:
    """Takes the messages of a chat."""

    def __init__(self, workspace: str | None, *, is_sub_agent: bool) -> None:
        self.queue = TurnQueue()
        self._workspace = workspace
        self._is_sub_agent = is_sub_agent

    def hear(self, number: int, message: _Message) -> None:
        at = micros(message.timestamp)
        if message.type == "gemini":
            self._agent(message, at, number)
        elif message.type == "user" and not self._is_sub_agent:
            text = NOTICE.sub("", _text(message.content), count=1)
            if text.strip() and not _MACHINE.match(text) and not is_our_own(text):
                self.queue.person(text, at=at, line=number)

    def _agent(self, message: _Message, at: int | None, number: int) -> None:
        turn = self.queue.turn(message.id or f"line-{number}", at=at, line=number)
        turn.texts = [_text(message.content)]
        turn.model = message.model or turn.model
        if (usage := counted(message.tokens)) is not None:
            turn.counts(usage)
        for place, each in enumerate(message.tool_calls or ()):
            self._call(turn, each, each.id or f"{turn.key}.{place}", number)

    def _call(self, turn: Turn, given: _Call, id_: str, number: int) -> None:
        call = call_from_json(
            id_,
            given.name,
            given.args,
            client=_NAME,
            workspace=self._workspace,
            at=micros(given.timestamp),
            line=number,
        )
        self.queue.call(turn, call)
        result, failed = _outcome(given)
        if result is not None:
            ran = not (failed and _REFUSED.match(result))
            self.queue.answered(call.id, result, failed=failed, ran=ran)


def _outcome(given: _Call) -> tuple[str | None, bool]:
    """Return what came of a call, as its hook would have been told; None where nothing did."""
    if given.result is None:
        return None, False
    if isinstance(given.result, str):
        return given.result, given.status != "success"
    told = [each.function_response for each in given.result if each.function_response is not None]
    response = told[0].response if told else {}
    content = response.get("output", response.get("content"))
    seen = response_seen({"llmContent": text_of(content), "error": response.get("error")})
    result, failed = outcome_of(seen)
    return result, failed or given.status in ("error", "cancelled")


def _text(raw: msgspec.Raw) -> str:
    content: str | _Part | list[_Part | str] | None = decoded(raw, _CONTENT)
    if not isinstance(content, list):
        content = [] if content is None else [content]
    said = [each if isinstance(each, str) else each.text or "" for each in content]
    return "\n".join(each for each in said if each)
