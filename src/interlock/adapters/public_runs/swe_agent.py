"""Trajectories of SWE-agent (`.traj`) and of mini-swe-agent (`.traj.json`).

An action is a line for a shell in which the agent's own tools are programs; only where the
history tells it, the call is known in parts. Whether what was submitted is right stands in
neither file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from interlock.adapters.histories.packed_json import (
    Table,
    entries,
    fields,
    microseconds,
    params_from,
    table,
    text,
    truth,
    words,
)
from interlock.adapters.histories.run_files import (
    RunDocument,
    Source,
    repository_of,
)
from interlock.adapters.public_runs.chat_messages import (
    SHELL,
    TOOL,
    Call,
    Message,
    calls_in,
    content_text,
    steps_from_messages,
    usage_from,
)
from interlock.errors import InputError
from interlock.model.past_run import PastRun

_ENDINGS: Final = re.compile(r"\.traj(?:\.json)?(?:\.gz)?$")
_TOOLS: Final[dict[str, tuple[str, ...]]] = {
    "create": ("filename",),
    "edit": ("search", "replace", "replace-all"),
    "exit_forfeit": (),
    "find_file": ("file_name", "dir"),
    "goto": ("line_number",),
    "insert": ("text", "line"),
    "open": ("path", "line_number"),
    "scroll_down": (),
    "scroll_up": (),
    "search_dir": ("search_term", "dir"),
    "search_file": ("search_term", "file"),
    "str_replace_editor": ("command", "path"),
    "submit": (),
}
"""The tools that SWE-agent brings, each with what its words mean."""
_EDITED_LINES: Final = re.compile(r"^edit +(\d+):(\d+)\n(.*?)\n?end_of_edit\s*$", re.DOTALL)
_OPERATORS: Final = re.compile(r"^[();<>|&\n]+$")
_SUBSTITUTION: Final = re.compile(r"`|\$\(")
_NOT_DONE: Final = re.compile(r"^(?:exit_|early_exit|skipped|error)")
_BLOCK: Final = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n?```", re.DOTALL)
_RETURNED: Final = re.compile(r"<returncode>\s*(-?\d+)\s*</returncode>")


class SweAgent(RunDocument):
    """Reads the trajectories of SWE-agent, old and new, and those of mini-swe-agent."""

    name: str = "swe-agent"

    def _is_its(self, path: Path, beginning: bytes) -> bool:
        return _ENDINGS.search(path.name) is not None and beginning.startswith(b"{")

    def _run(self, row: Table, head: Table, source: Source) -> PastRun:
        del head
        task = _ENDINGS.sub("", source.path.name)
        info = fields(row.get("info"))
        if "messages" in row:
            steps = steps_from_messages(_mini_messages(row, source), "mini-swe-agent")
        elif "trajectory" in row or "history" in row:
            steps = steps_from_messages(_messages(row, source), self.name)
        else:
            raise InputError("no trajectory: expected `trajectory`, `history` or `messages`")
        return PastRun(
            id=source.name,
            steps=source.guarded(steps),
            client="mini-swe-agent" if "messages" in row else self.name,
            project=repository_of(task),
            model=_model(row, info),
            group=task,
            success=_success(info),
        )


def _model(row: Table, info: Table) -> str | None:
    replayed = params_from(text(row.get("replay_config")))
    config = fields(info.get("config")) or (replayed if not isinstance(replayed, str) else {})
    agent = fields(config.get("agent"))
    model = fields(config.get("model")) or fields(agent.get("model"))
    return words(model.get("model_name")) or words(model.get("name"))


def _success(info: Table) -> bool | None:
    """Return how a run ended: one that submitted may be right or wrong."""
    resolved = truth(info.get("resolved"))
    status = text(info.get("exit_status"))
    if resolved is None and status:
        return False if _NOT_DONE.match(status) or status == "LimitsExceeded" else None
    return resolved


def _messages(row: Table, source: Source) -> Iterator[Message]:
    known = dict[str, Call]()
    is_asked = False
    steps = entries(row.get("trajectory"))
    for place, item in source.tables(row.get("history"), "history"):
        if item.get("is_demo"):
            continue
        role, said = text(item.get("role")), content_text(item.get("content"))
        calls = calls_in(item)
        if calls:
            known[text(item.get("action")).strip()] = calls[0]
        if role == "user" and not is_asked:
            is_asked = True
            yield Message(place=place, role=role, text=said)
        elif not steps:
            yield from _history_message(place, role, said, item, calls)
    folder, file = None, None
    for place, step in source.tables(row.get("trajectory"), "trajectory"):
        line = text(step.get("action"))
        said = text(step.get("thought")) or text(step.get("response"))
        call = known.get(line.strip()) or call_from_line(line, file)
        call = Call(id="", name=call.name, params=call.params, workspace=folder)
        yield Message(
            place=place, role="assistant", text=said, calls=(call,) if line.strip() else ()
        )
        if line.strip() and step.get("observation") is not None:
            yield Message(place=place, role=TOOL, text=text(step["observation"]))
        state = params_from(step.get("state"))
        if not isinstance(state, str):
            folder = words(state.get("working_dir")) or folder
            file = words(state.get("open_file")) or file


def _history_message(
    place: int, role: str, said: str, item: Table, calls: tuple[Call, ...]
) -> Iterator[Message]:
    """Yield a message where the history is all that there is; what `user` says are results."""
    line = text(item.get("action"))
    if role == "assistant":
        if not calls and line.strip():
            calls = (call_from_line(line, None),)
        said = text(item.get("thought")) or said
        yield Message(place=place, role=role, text=said, calls=calls)
    elif role in {TOOL, "user"}:
        yield Message(place=place, role=TOOL, text=said)


def call_from_line(line: str, file: str | None) -> Call:
    """Return what a line calls: one of the tools alone, or else a shell.

    INVARIANT: a line with anything after the tool is a shell's; what follows would not be judged.
    """
    if edited := _EDITED_LINES.match(line):
        start, end, replacement = edited.groups()
        params: Table = {"path": file, "start_line": start, "end_line": end, "text": replacement}
        return Call(id="", name="edit", params=params)
    first = line.split(maxsplit=1)[:1]
    parts = _one_command(line) if first and first[0] in _TOOLS else []
    if not parts:
        return Call(id="", name=SHELL, params={"command": line})
    tool, *given = parts
    return Call(id="", name=tool, params=_named(given, _TOOLS[tool]))


def _one_command(line: str) -> list[str]:
    """Return the words of a line that is one plain command; none where it is not."""
    tokens = shlex.shlex(line.strip(), posix=True, punctuation_chars="();<>|&\n")
    tokens.whitespace = " \t\r"
    tokens.commenters = ""
    try:
        parts = list(tokens)
    except ValueError:
        return []
    is_more = any(_OPERATORS.match(part) for part in parts) or _SUBSTITUTION.search(line)
    return [] if is_more else parts


def _named(given: list[str], names: tuple[str, ...]) -> Table:
    """Return words by what they mean: those in order, and those after `--name`."""
    params, name = dict[str, object](), ""
    rest = list(names)
    for word in given:
        if word.startswith("--") and len(word) > len("--"):
            name = word.removeprefix("--")
            params[name] = ""
        elif name:
            params[name] = f"{params[name]} {word}".strip() if params[name] else word
        elif rest:
            params[rest.pop(0)] = word
        else:
            params["more"] = f"{params.get('more', '')} {word}".strip()
    return params


def _mini_messages(row: Table, source: Source) -> Iterator[Message]:
    is_asked = False
    for place, item in source.tables(row.get("messages"), "messages"):
        role, said = text(item.get("role")), content_text(item.get("content"))
        extra = table(item.get("extra"))
        at = microseconds(extra.get("timestamp"))
        if role == "assistant":
            yield Message(
                place=place,
                role=role,
                text=said,
                calls=_mini_calls(item, extra, said),
                usage=usage_from(fields(extra.get("response")).get("usage")),
                at=at,
            )
        elif role == TOOL or (role == "user" and is_asked):
            returned = _RETURNED.search(said)
            failed = returned[1] != "0" if returned else None
            answers = text(item.get("tool_call_id"))
            yield Message(place=place, role=TOOL, text=said, answers=answers, failed=failed, at=at)
        elif role == "user":
            is_asked = True
            yield Message(place=place, role=role, text=said, at=at)


def _mini_calls(item: Table, extra: Table, said: str) -> tuple[Call, ...]:
    """Return the commands of a message: as calls, noted beside it, or in its text."""
    if calls := calls_in(item):
        return calls
    noted = [text(fields(each).get("command") or each) for each in entries(extra.get("actions"))]
    lines = noted or _BLOCK.findall(said)[:1]
    return tuple(Call(id="", name=SHELL, params={"command": line}) for line in lines)
