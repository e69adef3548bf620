"""Results of tau-bench and tau2-bench: an agent serves a customer whom another model plays.

The customer counts as a person. What the customer does on a device of their own (tau2) is no
call of the agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
    value,
    words,
)
from interlock.adapters.histories.run_files import (
    RunDocument,
    Source,
    has_all,
    is_json,
)
from interlock.adapters.public_runs.chat_messages import (
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

_FILE: Final = re.compile(r"^(?:tool-calling|act|react|few-shot)-(.+?)-\d+(?:\.\d+)?_range_")
_ALL: Final = 1 - 1e-6
"""A reward from here on is a success, as the benchmarks count it."""
_WRITTEN_CALL: Final = re.compile(r"Action:\s*(\{.*\})", re.DOTALL)
_RESULT: Final = "API output: "
"""So begins the message with a result, where calls are written into the text."""
_RESPOND: Final = "respond"


class TauResults(RunDocument):
    """Reads results of tau-bench: a list of runs with `task_id`, `reward` and `traj`."""

    name: str = "tau-bench"

    def _is_its(self, path: Path, beginning: bytes) -> bool:
        is_list = is_json(path) and beginning.startswith(b"[")
        return is_list and has_all(beginning, "task_id", "reward")

    def _taken_apart(self, content: bytes) -> tuple[Table, Iterable[object]]:
        return {}, entries(content)

    def _run(self, row: Table, head: Table, source: Source) -> PastRun:
        del head
        if "traj" not in row:
            raise InputError("no run of tau-bench: expected `task_id`, `reward` and `traj`")
        messages = source.tables(row["traj"], "traj")
        task = text(row.get("task_id"))
        found = _FILE.match(source.path.name)
        return PastRun(
            id=f"{source.name}:{task}:{text(row.get('trial'))}",
            steps=source.guarded(steps_from_messages(_tau_messages(messages), self.name)),
            client=self.name,
            model=found[1] if found else None,
            group=f"{self.name}:{task}",
            success=_is_all(row.get("reward")),
        )


class Tau2Results(RunDocument):
    """Reads results of tau2-bench: `simulations` in one file, or each in a file of its own."""

    name: str = "tau2-bench"

    def _is_its(self, path: Path, beginning: bytes) -> bool:
        is_table = is_json(path) and beginning.startswith(b"{")
        is_all = has_all(beginning, "num_trials", "user_info")
        return is_table and (is_all or has_all(beginning, "task_id", "termination_reason"))

    def _taken_apart(self, content: bytes) -> tuple[Table, Iterable[object]]:
        head = fields(content)
        if "info" not in head or "messages" in head:
            return {}, (head,)
        # Where each simulation has a file of its own, the common one has none in it.
        return fields(head["info"]), entries(head.get("simulations"))

    def _run(self, row: Table, head: Table, source: Source) -> PastRun:
        if "messages" not in row:
            raise InputError("no simulation of tau2-bench: expected `task_id` and `messages`")
        messages = source.tables(row["messages"], "messages")
        task = text(row.get("task_id"))
        domain = text(fields(head.get("environment_info")).get("domain_name"))
        return PastRun(
            id=text(row.get("id")) or f"{source.name}:{task}:{text(row.get('trial'))}",
            steps=source.guarded(steps_from_messages(_tau2_messages(messages), self.name)),
            client=self.name,
            project=domain,
            model=words(fields(head.get("agent_info")).get("llm")),
            group=f"{self.name}:{domain}:{task}",
            success=_is_all(fields(row.get("reward_info")).get("reward")),
        )


def _is_all(reward: object) -> bool | None:
    found = value(reward)
    return found >= _ALL if isinstance(found, int | float) else None


def _tau_messages(messages: Iterator[tuple[int, Table]]) -> Iterator[Message]:
    for place, row in messages:
        said = content_text(row.get("content"))
        role = text(row.get("role")) or "assistant"
        if role == "user" and said.startswith(_RESULT):
            yield Message(place=place, role=TOOL, text=said.removeprefix(_RESULT))
            continue
        calls = calls_in(row)
        if role == "assistant" and not calls:
            calls, said = _written_call(said)
        yield Message(
            place=place,
            role=role,
            text=said,
            calls=calls,
            answers=text(row.get("tool_call_id")) if role == TOOL else "",
            failed=True if role == TOOL and said.startswith("Error") else None,
        )


def _written_call(said: str) -> tuple[tuple[Call, ...], str]:
    """Return the call that stands in a text, where agents have no tools, and what was said."""
    found = _WRITTEN_CALL.search(said)
    call = params_from(found[1]) if found else ""
    if isinstance(call, str) or "name" not in call:
        return (), said
    params = params_from(call.get("arguments"))
    before = said[: found.start()].strip() if found else said
    if call["name"] == _RESPOND:
        return (), text(fields(params).get("content"))
    return (Call(id="", name=text(call["name"]), params=params),), before


def _tau2_messages(messages: Iterator[tuple[int, Table]]) -> Iterator[Message]:
    for place, row in messages:
        role = text(row.get("role")) or "assistant"
        if role == TOOL:
            several = map(table, entries(row.get("tool_messages")))
            yield from (_tau2_result(place, each) for each in (row, *several) if _is_its(each))
        elif role != "user":
            yield Message(
                place=place,
                role=role,
                text=content_text(row.get("content")),
                calls=calls_in(row),
                usage=usage_from(row.get("usage")),
                at=microseconds(row.get("timestamp")),
            )
        elif said := content_text(row.get("content")):
            yield Message(place=place, role=role, text=said, at=microseconds(row.get("timestamp")))


def _is_its(result: Table) -> bool:
    """Return whether a result is one of a call of the agent."""
    return "content" in result and result.get("requestor") != "user"


def _tau2_result(place: int, row: Table) -> Message:
    return Message(
        place=place,
        role=TOOL,
        text=content_text(row.get("content")),
        answers=text(row.get("id")),
        failed=truth(row.get("error")),
    )
