"""Gemini CLI's chats, as several of its versions wrote them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from histories.written_history import WORK, asked, at, moment, read, written
from interlock.adapters.histories.gemini_history import GeminiHistory
from interlock.model.arbitration import AUTOMATIC

READER = GeminiHistory()
CHAT = "5eb64331-dece"
HEAD = {"sessionId": CHAT, "projectHash": "4d86", "startTime": moment(0), "kind": "main"}


def person(text: object, second: int = 0) -> dict[str, Any]:
    return {"id": f"p{second}", "timestamp": moment(second), "type": "user", "content": text}


def agent(id_: str, text: str, *calls: object, second: int = 0) -> dict[str, Any]:
    tokens = {"input": 100, "output": 15, "thoughts": 5, "cached": 30, "total": 120}
    said = {"id": id_, "timestamp": moment(second), "type": "gemini", "content": text}
    return {**said, "thoughts": [], "tokens": tokens, "model": "flash", "toolCalls": list(calls)}


def call(id_: str, name: str, args: object, response: object, status: str = "success") -> Any:
    answer = {"functionResponse": {"id": id_, "name": name, "response": response}}
    about = {"id": id_, "name": name, "args": args, "status": status, "timestamp": moment(2)}
    return {**about, "result": None if response is None else [answer]}


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    folder = tmp_path / "tmp" / "shop"
    folder.mkdir(parents=True)
    (folder / ".project_root").write_text(WORK)
    return folder / "chats" / "session-2026-11-17T04-42-5eb64331.jsonl"


SHELL = (
    "<untrusted_context>\nOutput: oops\nExit Code: 3\nProcess Group PGID: 61\n</untrusted_context>"
)


def test_a_chat_is_read_step_by_step(chat: Path) -> None:
    listed = call("c1", "run_shell_command", {"command": "ls"}, {"output": SHELL})
    wrote = call("c2", "write_file", {"file_path": "a", "content": ""}, {"output": "written"})
    written(
        chat,
        [
            HEAD,
            {"$set": {"messages": [person([{"text": "<session_context>\nhi"}])]}},
            person([{"text": "<session_context>\nhi"}]),
            person([{"text": "<hook_context>told</hook_context>\n\nfix it"}], 1),
            {"$set": {"lastUpdated": moment(1)}},
            agent("m1", "I look."),
            agent("m1", "I look.", listed, wrote),
            person([{"functionResponse": {"id": "c1", "response": {"output": SHELL}}}]),
            {"id": "i", "type": "info", "content": "user gemini"},
            agent("m2", "Done.", second=4),
        ],
    )

    found = read(READER, chat)

    assert found.unread == []
    run = found.only
    assert (run.head.id, run.head.project, run.head.workspace) == (CHAT, "shop", WORK)
    told, shell, file, last = run.steps
    assert (told.role, told.text, told.at, told.line) == ("user", "fix it", at(1), 4)
    assert asked(shell) == ("run_shell_command", {"command": "ls", "cwd": WORK})
    assert (shell.text, shell.result, shell.failed, shell.ran) == ("I look.", "oops", True, True)
    assert (shell.at, shell.line, shell.arguments) == (at(2), 7, '{"command":"ls"}')
    assert (file.result, file.failed, file.turn) == ("written", False, 1)
    assert (last.text, last.turn, last.model, last.at) == ("Done.", 2, "flash", at(4))
    assert [step.tokens for step in run.steps] == [None, 120, None, 120]


def test_calls_without_names_that_stand_there_again_are_the_same(chat: Path) -> None:
    begun: list[dict[str, Any]] = [{"name": "ls", "args": {}}, {"name": "cat", "args": {}}]
    done = [{**each, "result": "a", "status": "success"} for each in begun]
    written(chat, [HEAD, agent("m1", "", *begun), agent("m1", "", *done)])

    run = read(READER, chat).only

    assert [(step.tool, step.result) for step in run.calls] == [("ls", "a"), ("cat", "a")]


REFUSALS = {
    "by a hook": ({"error": "Tool execution blocked: no"}, "error"),
    "by a policy": ({"error": "Tool execution denied by policy."}, "error"),
    "by a person": ({"error": "[Operation Cancelled] User denied execution."}, "cancelled"),
    "by no such tool": ({"error": 'Tool "x" not found in registry.'}, "error"),
}


@pytest.mark.parametrize("kind", REFUSALS)
def test_a_call_that_was_refused_did_not_run(chat: Path, kind: str) -> None:
    response, status = REFUSALS[kind]
    written(chat, [HEAD, agent("m", "", call("c", "x", {}, response, status))])

    (step,) = read(READER, chat).only.steps

    assert (step.ran, step.failed) == (False, True)


OUTCOMES: dict[str, tuple[object, tuple[str | None, bool | None]]] = {
    "none": ({"id": "c", "name": "x", "args": {}}, (None, None)),
    "a text": ({"id": "c", "name": "x", "result": "said", "status": "error"}, ("said", True)),
    "no response": ({"name": "x", "result": [{"text": "?"}], "status": "success"}, ("", False)),
    "an error": (call("c", "x", {}, {"error": "broken"}, "error"), ("broken", True)),
    "cancelled": (call("c", "x", {}, {"output": "half"}, "cancelled"), ("half", True)),
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_what_came_of_a_call_is_told(chat: Path, kind: str) -> None:
    given, expected = OUTCOMES[kind]
    written(chat, [HEAD, agent("m", "", given)])

    (step,) = read(READER, chat).only.steps

    assert (step.result, step.failed, step.ran) == (*expected, True)


@pytest.mark.parametrize(
    "said", [None, {"text": f"{AUTOMATIC}: go on"}, ["<state_snapshot>x"], " "]
)
def test_what_no_person_typed_is_not_heard(chat: Path, said: object) -> None:
    written(chat, [HEAD, person(said), person(["fix", {"text": "it"}])])

    assert read(READER, chat).only.said == [("user", "fix\nit")]


def test_a_sub_agent_has_a_chat_in_the_folder_of_its_own(chat: Path) -> None:
    path = chat.parent / CHAT / "5ff93c6a.jsonl"
    head = {**HEAD, "sessionId": "5ff93c6a", "kind": "subagent"}
    written(path, [head, person("Do it."), agent("m", "Did it.")])

    run = read(READER, path).only

    assert (run.head.id, run.head.parent, run.head.workspace) == ("5ff93c6a", CHAT, WORK)
    assert run.said == [("assistant", "Did it.")]


def test_older_versions_wrote_one_document(tmp_path: Path) -> None:
    path = tmp_path / "chats" / "session.json"
    messages = [person("fix it", 1), 7, agent("m", "Done."), {"type": "gemini", "content": 3}]
    written(path, [{**HEAD, "directories": ["/elsewhere"], "messages": messages}])

    found = read(READER, path)

    assert found.only.head.workspace == "/elsewhere"
    assert found.only.said == [("user", "fix it"), ("assistant", "Done.")]
    assert [step.line for step in found.only.steps] == [1, 3]
    assert [each.line for each in found.unread] == [2, 4]


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "session.json"
    path.write_bytes(b'{"sessionId":"x","projectHash":"y","messages":[{"type"')

    found = read(READER, path)

    assert (found.runs, len(found.unread)) == ([], 1)
    assert "is no chat that can be read" in found.unread[0].reason
    path.write_bytes(b"")
    assert read(READER, path) == ([], [])
    assert read(READER, written(tmp_path / "empty.jsonl", [])) == ([], [])


def test_a_chat_without_a_beginning_is_named_after_its_file(tmp_path: Path) -> None:
    path = written(tmp_path / "kept.jsonl", [agent("", "Done.")] * 60)

    run = read(READER, path).only

    assert (run.head.id, run.head.workspace, len(run.steps)) == ("kept", None, 60)


def test_it_knows_its_own_files_and_where_they_are(tmp_path: Path) -> None:
    begins = json.dumps(HEAD).encode()

    assert READER.reads(tmp_path / "x.jsonl", begins)
    assert READER.reads(tmp_path / "x.json", begins)
    assert not READER.reads(tmp_path / "x.txt", begins)
    assert not READER.reads(tmp_path / "x.json", b'{"sessionId":1}')
    assert READER.usual_places(tmp_path, {}) == [tmp_path / ".gemini" / "tmp"]
    assert READER.usual_places(tmp_path, {"GEMINI_CLI_HOME": "/g"}) == [Path("/g/.gemini/tmp")]


def test_a_pipe_in_place_of_the_folder_is_not_waited_for(chat: Path) -> None:
    root = chat.parent.parent / ".project_root"
    root.unlink()
    os.mkfifo(root)

    run = read(READER, written(chat, [HEAD, person("fix it")])).only

    assert (run.head.workspace, run.said) == (None, [("user", "fix it")])


def test_a_message_counts_though_what_it_used_is_not_told(chat: Path) -> None:
    told = {"input": None, "output": 2.0, "cached": None}
    run = read(READER, written(chat, [HEAD, {**agent("m1", "Done."), "tokens": told}])).only

    assert (run.said, run.tokens) == ([("assistant", "Done.")], 2)
