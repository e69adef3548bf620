"""What holds for every reader: whatever stands in a file, it is read or told, and left alone."""

from __future__ import annotations

import gzip
import json
import pickle
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histories.written_history import read, written
from interlock.adapters.known_histories import CLIENT_READERS, known_readers
from interlock.backtest.history_files import found_files
from interlock.ports import HistoryReader

NAMES: Final = {
    "claude-code": "x.jsonl",
    "codex": "rollout-x.jsonl",
    "gemini": "x.jsonl",
    "opencode": "session/ses_x.json",
    "copilot": "events.jsonl",
}
CALL: Final = {"command": "ls"}
SESSIONS: Final[dict[str, Sequence[object]]] = {
    "claude-code": [
        {
            "parentUuid": None,
            "type": "user",
            "uuid": "1",
            "message": {"role": "user", "content": "fix it"},
        },
        {
            "type": "assistant",
            "message": {
                "id": "m",
                "content": [{"type": "tool_use", "id": "c", "name": "Bash", "input": CALL}],
            },
        },
        {
            "type": "user",
            "message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": "a"}]},
        },
    ],
    "codex": [
        {"type": "session_meta", "payload": {"id": "x", "cwd": "/w"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "fix"}},
        {
            "type": "response_item",
            "payload": {
                "type": "function_call",
                "name": "exec_command",
                "call_id": "c",
                "arguments": '{"cmd":"ls"}',
            },
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "c", "output": "a"},
        },
    ],
    "gemini": [
        {"sessionId": "x", "projectHash": "y"},
        {"type": "user", "id": "1", "content": "fix it"},
        {
            "type": "gemini",
            "id": "2",
            "content": "",
            "toolCalls": [
                {"id": "c", "name": "run_shell_command", "args": CALL, "result": "a"},
            ],
        },
    ],
    "copilot": [
        {"type": "session.start", "data": {"sessionId": "x", "producer": "copilot-agent"}},
        {"type": "user.message", "data": {"content": "fix it"}},
        {
            "type": "assistant.message",
            "data": {"toolRequests": [{"toolCallId": "c", "name": "bash", "arguments": CALL}]},
        },
        {
            "type": "tool.execution_complete",
            "data": {"toolCallId": "c", "result": {"content": "a"}},
        },
    ],
}
WORDS: Final = sorted(
    {
        "type",
        "message",
        "user",
        "assistant",
        "gemini",
        "response_item",
        "payload",
        "function_call",
        "function_call_output",
        "token_count",
        "event_msg",
        "turn_context",
        "session_meta",
        "tool_use",
        "tool_result",
        "attachment",
        "queued_command",
        "assistant.message",
        "tool.execution_complete",
        "session.usage_record",
        "session.start",
        "user.message",
        "content",
        "role",
        "id",
        "name",
        "input",
        "arguments",
        "args",
        "toolCalls",
        "toolRequests",
        "data",
        "usage",
        "tokens",
        "sessionId",
        "timestamp",
        "messages",
        "cwd",
        "isSidechain",
        "agentId",
    }
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(WORDS) | st.text(), inner, max_size=6)
    ),
    max_leaves=20,
)
objects = st.dictionaries(st.sampled_from(WORDS), values, min_size=1, max_size=8)
lines = st.lists(st.binary(max_size=60) | objects.map(lambda each: json.dumps(each).encode()))
broken = st.sampled_from(
    [b"\x00\xff", b"{", b"[]", b"7", b"", b"}{", b'{"type":"user","message":{"content":"cu']
)


def place(folder: str, reader: HistoryReader) -> Path:
    path = Path(folder) / NAMES[reader.name]
    path.parent.mkdir(exist_ok=True)
    return path


@given(content=lines)
def test_nothing_that_stands_in_a_file_is_too_much(content: list[bytes]) -> None:
    # Drawing a content takes longer than all readers take for it.
    for reader in CLIENT_READERS:
        with tempfile.TemporaryDirectory() as folder:
            path = place(folder, reader)
            path.write_bytes(b"\n".join(content))
            reader.reads(path, path.read_bytes())

            read(reader, path)

            files = [each for each in Path(folder).rglob("*") if each.is_file()]
            assert files == [path], reader.name


@pytest.mark.parametrize("name", SESSIONS)
@given(data=st.data())
def test_lines_that_cannot_be_read_change_nothing_else(name: str, data: st.DataObject) -> None:
    (reader,) = (each for each in CLIENT_READERS if each.name == name)
    mixed: list[Any] = list(SESSIONS[name])
    for each in data.draw(st.lists(broken, max_size=5)):
        mixed.insert(data.draw(st.integers(0, len(mixed))), each)
    with tempfile.TemporaryDirectory() as folder:
        path = place(folder, reader)
        clean = read(reader, written(path, SESSIONS[name])).only
        dirty = read(reader, written(path, mixed)).only

    assert clean.head.id == dirty.head.id
    assert clean.said[0][0] == "user"
    assert [_known(each) for each in dirty.steps] == [_known(each) for each in clean.steps]


def _known(step: Any) -> Any:
    return step.role, step.text, step.action, step.arguments, step.result, step.failed, step.turn


@pytest.mark.parametrize("reader", known_readers(), ids=lambda each: each.name)
def test_a_reader_goes_from_one_process_to_another(reader: HistoryReader) -> None:
    there = pickle.loads(pickle.dumps(reader))

    assert (there.name, there.version) == (reader.name, reader.version)


@pytest.mark.parametrize("name", SESSIONS)
def test_each_history_is_read_by_one_reader_also_packed(name: str, tmp_path: Path) -> None:
    path = written(tmp_path / NAMES[name], SESSIONS[name])
    packed = path.with_name(f"{path.name}.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))

    plain, same = found_files([path, packed], known_readers())[0]

    assert {plain.reader.name, same.reader.name} == {name}
    for each in (path, packed):
        assert _able(each, each.read_bytes()) == [name]
    assert _able(packed, packed.read_bytes()[:-40]) == [name]
    assert read(plain.reader, path).only.steps == read(plain.reader, packed).only.steps


def _able(path: Path, beginning: bytes) -> list[str]:
    return [each.name for each in known_readers() if each.reads(path, beginning)]
