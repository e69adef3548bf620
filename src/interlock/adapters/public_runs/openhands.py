"""Runs of OpenHands: a list of events, a folder with a file per event, or evaluation outputs.

Two generations: events with `action` or `observation` and a `cause`, and those of the later kit
with a `kind` and the `tool_call_id` that joins them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from interlock.adapters.histories.bounded_lines import bounded_whole
from interlock.adapters.histories.packed_json import (
    Table,
    entries,
    fields,
    microseconds,
    params_from,
    table,
    text,
    truth,
    value,
    words,
)
from interlock.adapters.histories.run_files import (
    RunDocument,
    RunLines,
    Source,
    has_all,
    is_json,
    is_lines,
    repository_of,
)
from interlock.adapters.public_runs.chat_messages import (
    SHELL,
    TOOL,
    Call,
    Message,
    content_text,
    steps_from_messages,
    usage_from,
)
from interlock.errors import InputError
from interlock.model.past_run import PastRun, Unread

_EVENT_FILE: Final = re.compile(r"^(?:event-)?(\d+)(?:-[\w-]+)?\.json$")
_SHARED: Final = frozenset(("trajectory", "events", "history"))
"""What files are named that are not named after their task."""
_RUN: Final = "run"
_ENDS: Final = frozenset(("finish", "reject", "think"))
"""What an agent says by calling something."""
_UNSEEN: Final = frozenset(
    "change_agent_state null system recall condensation condensation_request pause resume start"
    " stop agent_state_changed condense".split()
)
"""What the harness tells itself."""
_BOOKS: Final = frozenset(
    "thought blocking hidden is_input is_static cwd confirmation_state security_risk impl_source"
    " keep_prompt wait_for_response timeout kind agent_state".split()
)
"""What stands beside the parameters of a call and is none."""
_SAID: Final = ("final_thought", "message", "content", "thought")
_RESOLVED: Final = (
    ("resolved",),
    ("report", "resolved"),
    ("test_result", "resolved"),
    ("test_result", "report", "resolved"),
)


class OpenHandsEvents(RunDocument):
    """Reads events of OpenHands, as a list in a file or as the files of a folder."""

    name: str = "openhands"

    def _is_its(self, path: Path, beginning: bytes) -> bool:
        if _is_event_file(path):
            return beginning.startswith(b"{")
        is_list = is_json(path) and beginning.startswith(b"[")
        is_old = has_all(beginning, "source", "action") or has_all(beginning, "observation")
        return is_list and (is_old or (has_all(beginning, "kind") and b"Event" in beginning))

    def beside(self, path: Path) -> Sequence[Path]:
        """Return all events of a folder, which are read along with the first."""
        return _begun_by(path) if _is_event_file(path) else ()

    def runs(self, path: Path, unread: Callable[[Unread], None]) -> Iterator[PastRun]:
        """Yield the run of a file; a folder of events is read along with its first file."""
        if not _is_event_file(path):
            yield from super().runs(path, unread)
            return
        if files := _begun_by(path):
            name, session = "/".join(path.parts[-4:-2]), path.parent.parent.name
            events = _events_in(files, unread)
            source = Source(path=path, place=1, unread=unread)
            yield _run(name, events, source, {}, group=session)

    def _taken_apart(self, content: bytes) -> tuple[Table, Iterable[object]]:
        return {"events": entries(content)}, ({},)

    def _run(self, row: Table, head: Table, source: Source) -> PastRun:
        del row
        events = source.tables(list(entries(head["events"])), "events")
        task = source.path.name.removesuffix(".gz").removesuffix(".json")
        task = source.path.parent.name if task in _SHARED else task
        return _run(source.name, events, source, {}, group=task)


class OpenHandsOutputs(RunLines):
    """Reads what evaluations of OpenHands put out: a line is a run with its `history`."""

    name: str = "openhands-outputs"

    def _is_its(self, path: Path, beginning: bytes) -> bool:
        is_its = has_all(beginning, "instance_id", "test_result")
        is_its = is_its or has_all(beginning, "instance_id", "history")
        return is_its and is_lines(path, beginning)

    def _run(self, line: bytes, source: Source) -> PastRun:
        row = fields(line)
        task = text(row.get("instance_id"))
        if not task or "history" not in row:
            raise InputError("no output of OpenHands: expected `instance_id` and `history`")
        events = source.tables(_flat(row["history"]), "history")
        placed = ((source.place, event) for _, event in events)
        attempt = text(row.get("attempt")) or source.place
        return _run(f"{source.name}:{task}:{attempt}", placed, source, row, task)


def _run(
    name: str, events: Iterator[tuple[int, Table]], source: Source, row: Table, group: str
) -> PastRun:
    metadata = fields(row.get("metadata"))
    llm = fields(metadata.get("llm_config")) or fields(metadata.get("llm"))
    return PastRun(
        id=name,
        steps=source.guarded(steps_from_messages(_messages(events), "openhands")),
        client="openhands",
        project=repository_of(group),
        model=words(llm.get("model")) or words(metadata.get("model_name")),
        group=group,
        success=_success(row),
    )


def _success(row: Table) -> bool | None:
    for way in _RESOLVED:
        part: object = row
        for name in way:
            part = fields(part).get(name)
        if (found := truth(part)) is not None:
            return found
    return None


def _is_event_file(path: Path) -> bool:
    return path.parent.name == "events" and _EVENT_FILE.match(path.name) is not None


def _begun_by(path: Path) -> Sequence[Path]:
    """Return the events of a folder where a file is the first of them, and else none."""
    files = _event_files(path.parent, path.parent.stat().st_mtime_ns)
    return files if files[:1] == (path,) else ()


@lru_cache(maxsize=1)
def _event_files(folder: Path, changed: int) -> tuple[Path, ...]:
    """Return the events in order; whoever asks for each file in turn has a folder listed once."""
    del changed
    return tuple(sorted(filter(_is_event_file, folder.iterdir()), key=_number))


def _number(path: Path) -> int:
    found = _EVENT_FILE.match(path.name)
    return int(found[1]) if found else 0


def _events_in(
    files: Iterable[Path], unread: Callable[[Unread], None]
) -> Iterator[tuple[int, Table]]:
    for place, file in enumerate(files, 1):
        try:
            content = bounded_whole(file, unread)
            event = value(content) if content is not None else None
        except (InputError, OSError) as error:
            unread(Unread(path=str(file), reason=str(error)))
            continue
        if row := table(event):
            yield place, row


def _flat(history: object) -> list[object]:
    """Return events one after the other: older outputs have them in pairs."""
    return [
        each for part in entries(history) for each in (entries(part) if _is_pair(part) else (part,))
    ]


def _is_pair(part: object) -> bool:
    return bool(entries(part))


def _messages(events: Iterator[tuple[int, Table]]) -> Iterator[Message]:
    for place, event in events:
        message = _kit_message(place, event) if "kind" in event else _old_message(place, event)
        if message is not None:
            yield message


def _old_message(place: int, event: Table) -> Message | None:
    kind = text(event.get("action") or event.get("observation"))
    is_person = event.get("source") == "user"
    at = microseconds(event.get("timestamp"))
    if not kind or kind in _UNSEEN:
        return None
    if "observation" in event and "action" not in event:
        return _old_result(place, event, kind, at)
    args = table(event.get("args"))
    asked = table(event.get("tool_call_metadata"))
    response = table(asked.get("model_response"))
    if kind == "message" or kind in _ENDS:
        said = text(event.get("message")) if kind == "message" and not args else _said(args)
        calls = ()
    elif is_person:
        return None
    else:
        said = text(args.get("thought"))
        calls = (_old_call(event, kind, args, text(asked.get("function_name"))),)
    return Message(
        place=place,
        role="user" if is_person else "assistant",
        text=said,
        calls=calls,
        reply=text(response.get("id")),
        usage=usage_from(response.get("usage")),
        model=words(response.get("model")),
        ran=args.get("confirmation_state") != "rejected",
        at=at,
    )


def _old_call(event: Table, kind: str, args: Table, function: str) -> Call:
    name = text(event.get("id"))
    if kind == _RUN:
        return Call(id=name, name=SHELL, params={"command": text(args.get("command"))})
    if "arguments" in args and "name" in args:
        # A tool of an MCP server.
        return Call(id=name, name=text(args["name"]), params=params_from(args["arguments"]))
    return Call(id=name, name=function or kind, params=_own(args))


def _old_result(place: int, event: Table, kind: str, at: int | None) -> Message:
    extras = table(event.get("extras"))
    code = table(extras.get("metadata")).get("exit_code", extras.get("exit_code"))
    failed = code != 0 if isinstance(code, int) and code >= 0 else None
    return Message(
        place=place,
        role=TOOL,
        text=content_text(event.get("content")),
        answers=text(event.get("cause")),
        failed=True if kind == "error" else failed,
        ran=kind != "user_rejected",
        at=at,
    )


def _kit_message(place: int, event: Table) -> Message | None:
    at = microseconds(event.get("timestamp"))
    match event["kind"]:
        case "MessageEvent":
            said = content_text(table(event.get("llm_message")).get("content"))
            role = "user" if event.get("source") == "user" else "assistant"
            reply = text(event.get("llm_response_id"))
            return Message(place=place, role=role, text=said, reply=reply, at=at)
        case "ActionEvent":
            return _kit_call(place, event, at)
        case "ObservationEvent" | "UserRejectObservation" | "AgentErrorEvent" as kind:
            return _kit_result(place, event, text(kind), at)
        case _:
            return None


def _kit_call(place: int, event: Table, at: int | None) -> Message:
    asked = table(event.get("tool_call"))
    function = table(asked.get("function")) or asked
    name = text(event.get("tool_name") or function.get("name"))
    done = table(event.get("action"))
    params = _own(done) if done else params_from(function.get("arguments"))
    said = content_text(event.get("thought"))
    calls = (Call(id=text(event.get("tool_call_id")), name=name, params=params),)
    if name in _ENDS and not isinstance(params, str):
        said, calls = _said(done or params) or said, ()
    return Message(
        place=place,
        role="assistant",
        text=said,
        calls=calls,
        reply=text(event.get("llm_response_id")),
        ran=bool(done),
        at=at,
    )


def _kit_result(place: int, event: Table, kind: str, at: int | None) -> Message:
    seen = table(event.get("observation"))
    code = seen.get("exit_code")
    failed = code != 0 if isinstance(code, int) and code >= 0 else truth(seen.get("is_error"))
    told = event.get("error") or event.get("rejection_reason")
    content = seen.get("content") or seen.get("output")
    return Message(
        place=place,
        role=TOOL,
        text=content_text(told or content),
        answers=text(event.get("tool_call_id")),
        failed=True if kind == "AgentErrorEvent" else failed,
        ran=kind != "UserRejectObservation",
        at=at,
    )


def _own(args: Table) -> Table:
    return {name: each for name, each in args.items() if name not in _BOOKS and each is not None}


def _said(args: Table) -> str:
    return next((text(args[name]) for name in _SAID if args.get(name)), "")
