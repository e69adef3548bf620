"""Codex's own record of its sessions: a rollout of JSON lines each, sub-agents with their own.

Its tools are named otherwise there than its hooks name them, and one is never asked about: what
is typed into a process that is open. It counts tokens from the beginning on, and says the same
again whenever a limit changes. A fork, or a sub-agent that is begun with what was said before, has
a copy of the other rollout in its own, behind its own head and with that of the other. Its first
turn of its own is known by its name, in which the moment stands; where turns have no such names,
the copy is found twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from interlock.adapters.clients.client_event import action_of, is_our_own, open_todos, text_of
from interlock.adapters.clients.model_usage import CodexCount, CodexUsage
from interlock.adapters.histories.bounded_lines import unpacked
from interlock.adapters.histories.client_history import (
    Failures,
    SingleFile,
    Stamp,
    client_run,
    counted,
    decoded,
    decoded_lines,
    folded,
    micros,
    unheard,
)
from interlock.adapters.histories.packed_json import Table, params_from, text
from interlock.adapters.histories.turn_queue import Call, Turn, TurnQueue
from interlock.model.action import command_line
from interlock.model.past_run import PastRun, Unread

_NAME: Final = "codex"
_SHELL: Final = "Bash"
_SHELLS: Final = frozenset(
    ("exec_command", "shell", "shell_command", "container.exec", "local_shell")
)
_LINES: Final = ("cmd", "command")
_FOLDERS: Final = ("workdir", "working_directory")
_TYPED: Final = "write_stdin"
"""What goes on with a command that was asked about: no hook is called for it."""
_SPAWNED: Final = "spawn_agent"
_PATCH: Final = "apply_patch"
_HEAD_LINES: Final = 200
_MARKS: Final = (
    b'"response_item"',
    b'"token_count"',
    b'"turn_context"',
    b'"session_meta"',
    b'"function_call',
    b'"message"',
    b'"local_shell_call"',
)
"""The last three are all there is in the oldest rollouts."""
_TOLD: Final = ("session_meta", "turn_context")
_SESSION: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_DATED: Final = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4})-7")
"""How a name begins in which a moment stands, so that later ones are greater (UUID version 7)."""
_MACHINE: Final = re.compile(
    r"\s*(?:<(?!turn_aborted)(?:[a-z]+(?:[_ ][a-z]+)+|skill|INSTRUCTIONS)\b[^>]*>"
    r"|# AGENTS\.md instructions)"
)
"""How that begins which stands there as if a person had said it; to interrupt is to speak."""
_REFUSED: Final = re.compile(
    r"(?:(?:Command|Tool call) blocked by PreToolUse hook|unsupported call: "
    r"|(?:exec command |patch )?rejected(?: by user|: )|.{0,4000}rejected: blocked by policy"
    r"|.{0,400}are not permitted\. Use a safer approach)",
    re.DOTALL,
)
_HEADER: Final = re.compile(
    r"(?:(?:Chunk ID|Wall time|Original token count|Total output lines): [^\n]*\n"
    r"|(?:Exit code: |Process exited with code )-?\d+\n"
    r"|Process running with session ID \d+\n)+Output:\n"
)
"""What it writes above the output of a command; part of it is never the same."""
_CODE: Final = re.compile(r"(?:Exit code: |exited with code )(-?\d+)")


class _Part(msgspec.Struct):
    text: str = ""


class _Kinds(msgspec.Struct):
    content_item_kinds: tuple[str, ...] = ()


class _Item(msgspec.Struct):
    type: str = ""
    role: str = ""
    content: list[_Part] | str | None = None
    name: str = ""
    namespace: str | None = None
    arguments: object = ""
    input: object = ""
    call_id: str | None = None
    output: object = None
    action: dict[str, Any] | None = None
    info: CodexCount | None = None
    internal_chat_message_metadata_passthrough: _Kinds | None = None


class _Line(_Item):
    """A line; the oldest rollouts have an item itself in it."""

    timestamp: Stamp = None
    payload: msgspec.Raw = msgspec.Raw(b"null")


class _About(msgspec.Struct):
    """What is said of the session, or of what is asked in it."""

    id: str | None = None
    cwd: str | None = None
    model: str | None = None
    parent_thread_id: str | None = None
    source: object = None
    turn_id: str | None = None


_LINE: Final = msgspec.json.Decoder(_Line)
_ITEM: Final = msgspec.json.Decoder(_Item | None)
_ABOUT: Final = msgspec.json.Decoder(_About | None)


class _Head(msgspec.Struct):
    id: str
    workspace: str | None = None
    parent: str | None = None
    model: str | None = None
    begins: int = 0
    """The line from which on it is its own: before that stands a copy of another session."""


class CodexHistory(SingleFile, frozen=True):
    """Reads the rollouts of Codex."""

    name: str = _NAME
    version: int = 1

    def usual_places(self, home: Path, environment: Mapping[str, str]) -> Sequence[Path]:
        """Return where it keeps them."""
        folder = Path(environment.get("CODEX_HOME") or home / ".codex")
        return [folder / "sessions", folder / "archived_sessions"]

    def reads(self, path: Path, beginning: bytes) -> bool:
        """Return whether a file is a rollout."""
        if ".jsonl" not in path.suffixes:
            return False
        begins = unpacked(beginning)
        is_named = path.name.startswith("rollout-") and b'"instructions"' in begins
        return is_named or b'"session_meta"' in begins

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield the session."""
        head = _head(path)
        if head is None:
            return
        lines = decoded_lines(path, _LINE, _MARKS, unread)
        yield client_run(
            _NAME,
            head.id,
            folded(path, lines, _Fold(head), unread),
            workspace=head.workspace,
            parent=head.parent,
            model=head.model,
        )


def _head(path: Path) -> _Head | None:
    """Return what is known of a session before its first step; None where it has none."""
    found: _Head | None = None
    is_named = is_copied = False
    for number, line in decoded_lines(path, _LINE, _MARKS, unheard):
        if number > _HEAD_LINES and not is_copied:
            break
        if found is None:
            found = _Head(id=_id_in(path))
        try:
            about = decoded(line.payload, _ABOUT) if line.type in _TOLD else None
        except Failures:
            continue
        if about is None:
            continue
        if line.type == "session_meta" and is_named:
            is_copied = is_copied or about.id != found.id
            continue
        if line.type == "session_meta":
            is_named = True
            found.id = about.id or found.id
            found.parent = about.parent_thread_id or _parent_in(about.source)
        elif is_copied and _is_later(about.turn_id, found.id):
            found.begins = number
            found.workspace = about.cwd or found.workspace
            found.model = about.model or found.model
            break
        found.workspace = found.workspace or about.cwd
        found.model = found.model or about.model
        if found.workspace and found.model and not is_copied:
            break
    return found


def _is_later(turn: str | None, session: str) -> bool:
    """Return whether a turn was begun in this session: its name is not older than that."""
    begun, since = _DATED.match(turn or ""), _DATED.match(session)
    return begun is not None and since is not None and begun[1] >= since[1]


def _id_in(path: Path) -> str:
    """Return the name of a session, which stands in that of its file."""
    stem = path.name.partition(".")[0]
    return found[0] if (found := _SESSION.search(stem)) else stem


def _parent_in(source: object) -> str | None:
    """Return which session began this one, as a sub-agent."""
    match source:
        case {"subagent": {"thread_spawn": {"parent_thread_id": str(parent)}}}:
            return parent
        case _:
            return None


class _Fold:
    """Takes the lines of a rollout."""

    def __init__(self, head: _Head) -> None:
        self.queue = TurnQueue()
        self._workspace = head.workspace
        self._is_sub_agent = head.parent is not None
        self._model = head.model
        self._begins = head.begins
        self._turns = 0
        self._is_answered = True
        """Whether the model has been heard to the end: what it says next is another turn."""
        self._total: CodexUsage = CodexUsage()

    def hear(self, number: int, line: _Line) -> None:
        item: _Item | None = line
        match line.type:
            case "event_msg":
                if b'"token_count"' not in bytes(line.payload):
                    return
                item = decoded(line.payload, _ITEM)
            case _ if number < self._begins:
                return
            case "turn_context":
                self._goes_on(decoded(line.payload, _ABOUT))
                return
            case "response_item":
                item = decoded(line.payload, _ITEM)
            case _:
                pass
        if item is not None:
            self._take(item, micros(line.timestamp), number)

    def _goes_on(self, about: _About | None) -> None:
        if about is not None:
            self._workspace = about.cwd or self._workspace
            self._model = about.model or self._model

    def _take(self, item: _Item, at: int | None, number: int) -> None:
        match item.type:
            case "message" if item.role == "assistant":
                self._turn(at, number).texts.append(_text(item.content))
            case "message" if item.role == "user":
                self._heard(item, at, number)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                turn = self._turn(at, number)
                self.queue.call(turn, self._call(item, turn, at, number))
            case "function_call_output" | "custom_tool_call_output":
                self._is_answered = True
                result, failed, ran = _outcome(item.output)
                self.queue.answered(item.call_id or "", result, failed=failed, ran=ran)
            case "token_count" if item.info is not None:
                self._counted(item.info, at, number)
            case _:
                pass

    def _turn(self, at: int | None, number: int) -> Turn:
        self._turns += self._is_answered
        self._is_answered = False
        turn = self.queue.turn(f"turn-{self._turns}", at=at, line=number)
        turn.model = self._model
        return turn

    def _counted(self, info: CodexCount, at: int | None, number: int) -> None:
        total, usage = info.total_token_usage, counted(info.last_token_usage)
        if total != self._total and usage is not None and number >= self._begins:
            turn, self._is_answered = self.queue.latest, True
            if turn is None or turn.usage is not None:
                turn = self._turn(at, number)  # nothing else is told of it
            turn.counts(usage)
        self._total, self._is_answered = total, True

    def _heard(self, item: _Item, at: int | None, number: int) -> None:
        about = item.internal_chat_message_metadata_passthrough
        kinds = () if about is None else about.content_item_kinds
        if self._is_sub_agent or (kinds and not any(each.startswith("user") for each in kinds)):
            return
        parts = [_Part(item.content)] if isinstance(item.content, str) else item.content or ()
        text = "\n".join(each.text for each in parts if not _MACHINE.match(each.text))
        if text.strip() and not is_our_own(text):
            self._is_answered = True
            self.queue.person(text, at=at, line=number)

    def _call(self, item: _Item, turn: Turn, at: int | None, number: int) -> Call:
        text, params = _given(item)
        tool, asked, folder = _as_hook(item, params, self._workspace)
        return Call(
            id=item.call_id or f"{number}.{len(turn.calls)}",
            tool=tool,
            action=None if asked is None else action_of(tool, asked, _NAME, folder),
            arguments=text,
            todos=open_todos(params),
            at=at,
            line=number,
        )


def _given(item: _Item) -> tuple[str, Table | str]:
    """Return the parameters of a call, as JSON and as a table."""
    if item.type == "local_shell_call":
        given: object = item.action or {}
    elif item.type == "custom_tool_call":
        given = {"command": item.input}
    else:
        given = item.arguments
    return text(given), params_from(given)


def _as_hook(
    item: _Item, params: Table | str, workspace: str | None
) -> tuple[str, Table | str | None, str | None]:
    """Return a call as its hook is told it: the tool, what it is given, and where it runs."""
    name = "local_shell" if item.type == "local_shell_call" else item.name
    if item.namespace and name != _SPAWNED:
        between = "__" if item.namespace.startswith("mcp__") else ""
        name = f"{item.namespace.removesuffix(between)}{between}{name}"
    if isinstance(params, str) or not name or name == _TYPED:
        return name, params if name and name != _TYPED else None, workspace
    if name in _SHELLS:
        folder = next((each for each in map(params.get, _FOLDERS) if isinstance(each, str)), "")
        line = next((each for each in map(params.get, _LINES) if each is not None), None)
        asked = {"command": _shell_line(line), "interactive": True}
        return _SHELL, asked, _joined(workspace, folder)
    if name == _PATCH:
        return name, {"command": params.get("command", params.get("input"))}, workspace
    return name, params, workspace


def _shell_line(line: object) -> object:
    if not isinstance(line, list):
        return line
    words = cast("list[object]", line)
    texts = [each for each in words if isinstance(each, str)]
    return command_line(texts) if texts and len(texts) == len(words) else words


def _joined(workspace: str | None, folder: str) -> str | None:
    if not folder:
        return workspace
    return folder if folder[0] in "/~" or workspace is None else f"{workspace}/{folder}"


def _outcome(output: object) -> tuple[str, bool | None, bool]:
    """Return what came of a call: its output, whether it failed, and whether it ran."""
    given = params_from(output) if isinstance(output, str) and output[:1] == "{" else output
    match given:
        case {"output": str(text), "metadata": {"exit_code": int(code)}}:
            return text, code != 0, True
        case {"success": bool(success)}:
            return text_of(cast("dict[str, object]", given).get("content")), not success, True
        case list():
            text = text_of({"content": cast("list[object]", given)})
        case _:
            text = text_of(output)
    if _REFUSED.match(text):
        return text, True, False
    codes: list[str] = []
    while (header := _HEADER.match(text)) is not None:
        codes += _CODE.findall(header[0])
        text = text[header.end() :]
    return text, any(code != "0" for code in codes) if codes else None, True


def _text(content: list[_Part] | str | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(each.text for each in content)
