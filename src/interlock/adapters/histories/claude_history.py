"""Claude Code's own record of its sessions: a file of JSON lines each, and one per sub-agent.

A message of the model stands there in several lines of one id, each with what it had used by then.
A fork begins with lines of another session: they name it, and are left to its file. What older
versions copied as they went on in a new file names nothing: it is found twice then. Within a file
a line that comes again is known by its name, for a while.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from interlock.adapters.clients.client_event import is_our_own
from interlock.adapters.clients.model_usage import ClaudeUsage
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
from interlock.adapters.histories.packed_json import Table
from interlock.adapters.histories.turn_queue import Turn, TurnQueue
from interlock.model.past_run import PastRun, Unread

_NAME: Final = "claude-code"
_BEGINNINGS: Final = (
    b'"parentUuid"',
    b'"leafUuid"',
    b'"isSidechain"',
    b'"queue-operation"',
    b'"file-history-snapshot"',
)
_MARKS: Final = (b'"message"', b'"queued_command"')
_HEAD_LINES: Final = 200
"""So many lines are looked at for where a session ran."""
_MOST_UUIDS: Final = 50_000
_SYNTHETIC: Final = "<synthetic>"
"""What the client itself says in the name of a model: that the provider failed, mostly."""
_PATHS: Final = ("file_path", "notebook_path")
_MACHINE: Final = re.compile(
    r"\s*(?:<(?:command-(?:name|message|args)|local-command-\w+|bash-(?:input|stdout|stderr)"
    r"|system-reminder|task-notification|teammate-message|user-prompt-submit-hook)\b"
    r"|Caveat: The messages below were generated"
    r"|This session is being continued from a previous conversation|Stop hook feedback:)"
)
"""How that begins which stands there as if a person had said it; to interrupt is to speak."""
_ORIGINS: Final = frozenset((None, "human", "sdk"))
_SAID_BY_PEOPLE: Final = "prompt"
_REFUSED: Final = re.compile(
    r"(?:The user doesn't want to (?:proceed with this tool use|take this action)"
    r"|PreToolUse:\S* hook error: |Hook PreToolUse:\S* denied this tool|<tool_use_error>"
    r"|Permission to use .{1,80} has been denied|Claude requested permissions? to "
    r"|Permission for this action has been denied|User rejected tool use)"
)
_BY_PERSON: Final = ("user-rejected", "cancelled")
_DENIALS: Final = ("permission-rule", *_BY_PERSON)
"""Why it did not call a tool; one that was interrupted may have done something before."""
_SPOKEN: Final = ("user", "assistant")
_SIDE: Final = "sidechain"
"""What older versions wrote of all sub-agents into the file of the session."""

_NOTHING: Final = msgspec.Raw(b"null")


class _Part(msgspec.Struct):
    text: str = ""


class _Block(msgspec.Struct):
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")
    tool_use_id: str = ""
    content: str | list[_Part] | None = None
    is_error: bool | None = None


class _Message(msgspec.Struct):
    role: str = ""
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: ClaudeUsage | None = None
    content: str | list[_Block] = ""


class _Attachment(msgspec.Struct, rename="camel"):
    type: str = ""
    prompt: msgspec.Raw = msgspec.Raw(b'""')
    command_mode: str = _SAID_BY_PEOPLE


class _Line(msgspec.Struct, rename="camel"):
    type: str = ""
    uuid: str | None = None
    timestamp: Stamp = None
    session_id: str | None = None
    cwd: str | None = None
    agent_id: str | None = None
    is_sidechain: bool = False
    is_meta: bool = False
    is_compact_summary: bool = False
    is_visible_in_transcript_only: bool = False
    turn_origin: str | None = None
    forked_from: object = None
    message: msgspec.Raw = _NOTHING
    attachment: msgspec.Raw = _NOTHING
    tool_denial_kind: object = None
    permission_decision: object = None

    @property
    def strand(self) -> str:
        """Whose line it is: the session's, or that of one of its sub-agents."""
        return self.agent_id or (_SIDE if self.is_sidechain else "")


_LINE: Final = msgspec.json.Decoder(_Line)
_MESSAGE: Final = msgspec.json.Decoder(_Message | None)
_ATTACHMENT: Final = msgspec.json.Decoder(_Attachment | None)
_PROMPT: Final = msgspec.json.Decoder(str | list[_Part])


class _Head(msgspec.Struct):
    strand: str = ""
    session: str | None = None
    workspace: str | None = None
    model: str | None = None


class ClaudeHistory(SingleFile, frozen=True):
    """Reads the transcripts of Claude Code."""

    name: str = _NAME
    version: int = 1

    def usual_places(self, home: Path, environment: Mapping[str, str]) -> Sequence[Path]:
        """Return where it keeps them."""
        return [Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"]

    def reads(self, path: Path, beginning: bytes) -> bool:
        """Return whether a file is such a transcript."""
        begins = unpacked(beginning)
        return ".jsonl" in path.suffixes and any(mark in begins for mark in _BEGINNINGS)

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield the session, and sub-agents whose lines stand in the same file."""
        head = _head(path)
        if head is None:
            return
        main = _main_id(path, head)
        others: dict[str, None] = {}
        parent = head.session or path.parent.parent.name if head.strand else None
        yield _run(path, head, main, unread, parent=parent, others=others)
        for strand in others:
            name = f"{main}/{strand}"
            other = _Head(strand=strand, workspace=head.workspace, model=head.model)
            yield _run(path, other, name, unheard, parent=main, others=None)


def _head(path: Path) -> _Head | None:
    """Return what is known of a session before its first step; None where it has none."""
    found: _Head | None = None
    for number, line in decoded_lines(path, _LINE, _MARKS, unheard):
        if number > _HEAD_LINES and found is not None:
            break
        if line.type not in _SPOKEN or line.forked_from is not None:
            continue
        if found is None:
            found = _Head(strand=line.strand)
        found.session = found.session or line.session_id
        found.workspace = found.workspace or line.cwd
        found.model = found.model or _model(line.message)
        if found.workspace and found.session and found.model:
            break
    return found


def _model(message: msgspec.Raw) -> str | None:
    try:
        said = decoded(message, _MESSAGE)
    except Failures:
        return None
    return None if said is None or said.model == _SYNTHETIC else said.model


def _main_id(path: Path, head: _Head) -> str:
    """Return the name of the run, which is what its hooks would have said."""
    stem = path.name.partition(".")[0]
    return f"{head.session or path.parent.parent.name}/{head.strand}" if head.strand else stem


def _run(
    path: Path,
    head: _Head,
    name: str,
    unread: Callable[[Unread], None],
    *,
    parent: str | None,
    others: dict[str, None] | None,
) -> PastRun:
    fold = _Fold(head, others)
    lines = decoded_lines(path, _LINE, _MARKS, unread)
    return client_run(
        _NAME,
        name,
        folded(path, lines, fold, unread),
        workspace=head.workspace,
        parent=parent,
        model=head.model,
    )


class _Fold:
    """Takes the lines of one strand."""

    def __init__(self, head: _Head, others: dict[str, None] | None) -> None:
        self.queue = TurnQueue()
        self._strand = head.strand
        self._workspace = head.workspace
        self._others = others
        self._seen: dict[str, None] = {}

    def hear(self, number: int, line: _Line) -> None:
        if line.type not in _SPOKEN and line.type != "attachment":
            return
        if line.strand != self._strand:
            if self._others is not None:
                self._others[line.strand] = None
            return
        if line.forked_from is not None or self._is_known(line.uuid):
            return
        self._workspace = line.cwd or self._workspace
        at = micros(line.timestamp)
        if line.type == "attachment":
            self._queued(decoded(line.attachment, _ATTACHMENT), at, number)
        elif (message := decoded(line.message, _MESSAGE)) is None:
            return
        elif line.type == "assistant":
            self._agent(message, at, number)
        else:
            self._user(line, message, at, number)

    def _is_known(self, uuid: str | None) -> bool:
        if uuid is None:
            return False
        if uuid in self._seen:
            return True
        self._seen[uuid] = None
        if len(self._seen) > _MOST_UUIDS:
            del self._seen[next(iter(self._seen))]
        return False

    def _agent(self, message: _Message, at: int | None, number: int) -> None:
        if message.model == _SYNTHETIC:
            return
        turn = self.queue.turn(message.id or f"line-{number}", at=at, line=number)
        turn.model = message.model or turn.model
        turn.finish_reason = message.stop_reason or turn.finish_reason
        if (usage := counted(message.usage)) is not None:
            turn.counts(usage)
        if isinstance(message.content, str):
            turn.texts.append(message.content)
            return
        for block in message.content:
            if block.type == "text":
                turn.texts.append(block.text)
            elif block.type == "tool_use":
                self._call(turn, block, at, number)

    def _call(self, turn: Turn, block: _Block, at: int | None, number: int) -> None:
        call = call_from_json(
            block.id or f"{number}.{len(turn.calls)}",
            block.name,
            block.input,
            client=_NAME,
            workspace=self._workspace,
            at=at,
            line=number,
            params_of=self._asked,
        )
        self.queue.call(turn, call)

    def _asked(self, tool: str, params: Table) -> Table:
        """Return parameters as the hook is given them: it is told whole paths."""
        del tool
        for name in _PATHS:
            path = params.get(name)
            if isinstance(path, str) and path[:1] not in ("", "/", "~") and self._workspace:
                joined = os.path.normpath(f"{self._workspace}/{path}")
                return {**params, name: joined}
        return params

    def _user(self, line: _Line, message: _Message, at: int | None, number: int) -> None:
        said: list[str] = []
        if isinstance(message.content, str):
            said.append(message.content)
        else:
            for block in message.content:
                if block.type == "tool_result":
                    self._result(line, block)
                elif block.type == "text":
                    said.append(block.text)
        is_meant = line.is_meta or line.is_compact_summary or line.is_visible_in_transcript_only
        if not is_meant and line.turn_origin in _ORIGINS:
            self._heard(said, at, number)

    def _queued(self, given: _Attachment | None, at: int | None, number: int) -> None:
        """Hear what a person typed while the agent was at work."""
        if given is None or given.type != "queued_command":
            return
        if given.command_mode == _SAID_BY_PEOPLE:
            self._heard([_text(_PROMPT.decode(given.prompt))], at, number)

    def _heard(self, said: Sequence[str], at: int | None, number: int) -> None:
        text = "\n".join(each for each in said if each.strip() and not _MACHINE.match(each))
        # What is said in a sub-agent's file another agent says.
        if text and not self._strand and not is_our_own(text):
            self.queue.person(text, at=at, line=number)

    def _result(self, line: _Line, block: _Block) -> None:
        text = _text(block.content or "")
        refused = line.tool_denial_kind in _DENIALS or _is_refusal(line.permission_decision)
        refused = refused or (block.is_error is True and _REFUSED.match(text) is not None)
        self.queue.answered(
            block.tool_use_id,
            text,
            failed=bool(block.is_error),
            ran=not refused,
            declined=line.tool_denial_kind in _BY_PERSON,
        )


def _is_refusal(decision: object) -> bool:
    match decision:
        case {"decision": "reject"}:
            return True
        case _:
            return False


def _text(content: str | list[_Part]) -> str:
    return content if isinstance(content, str) else "\n".join(each.text for each in content)
