"""Codex's rollouts, as several of its versions wrote them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from histories.written_history import WORK, asked, at, moment, read, written
from interlock.adapters.histories.codex_history import CodexHistory
from interlock.model.arbitration import AUTOMATIC

READER = CodexHistory()
SESSION = "01a1e7d0-3ea8-7410-9a32-5c59a33c9fe5"
PARENT = "01a1e7d0-0000-7410-9a32-5c59a33c9fe5"


def entry(type_: str, second: int = 0, **payload: object) -> dict[str, Any]:
    return {"timestamp": moment(second), "ordinal": 3, "type": type_, "payload": payload}


def item(type_: str, second: int = 0, **payload: object) -> dict[str, Any]:
    return entry("response_item", second, type=type_, **payload)


META = entry("session_meta", id=SESSION, session_id=SESSION, cwd=WORK, cli_version="0.166.0")
CONTEXT = entry("turn_context", cwd=WORK, model="gpt", summary="auto")


def said(role: str, *texts: str, second: int = 0, **more: object) -> dict[str, Any]:
    parts = [{"type": "text", "text": each} for each in texts]
    return item("message", second, role=role, content=parts, **more)


def call(id_: str, name: str = "exec_command", second: int = 0, **given: object) -> dict[str, Any]:
    return item("function_call", second, name=name, arguments=json.dumps(given), call_id=id_)


def answer(id_: str, output: object) -> dict[str, Any]:
    return item("function_call_output", call_id=id_, output=output)


def counts(total: int, last: int) -> dict[str, Any]:
    used = {"input_tokens": last - 20, "output_tokens": 20, "cached_input_tokens": 5}
    info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": used}
    return entry("event_msg", type="token_count", info=info, rate_limits={"primary": None})


@pytest.fixture
def rollout(tmp_path: Path) -> Path:
    return tmp_path / "sessions" / f"rollout-2026-11-17T04-42-26-{SESSION}.jsonl"


def ran(code: int, output: str) -> str:
    return (
        f"Chunk ID: 7c\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{output}"
    )


def test_a_session_is_read_step_by_step(rollout: Path) -> None:
    written(
        rollout,
        [
            META,
            entry("event_msg", type="task_started", name=3),
            said("developer", "<skills_instructions>"),
            said("user", "# AGENTS.md instructions for here", f"<environment_context>{WORK}"),
            CONTEXT,
            said("user", "fix it", second=1),
            item("reasoning", content=None, summary=[]),
            said("assistant", "I look."),
            call("c1", cmd="ls", yield_time_ms=9, second=2),
            call("c2", cmd="make", workdir="/tmp", second=2),
            entry("token_usage_record", usage={"input_tokens": 100}),
            answer("c2", ran(2, "no rule\n")),
            answer("c1", ran(0, "a\n")),
            counts(120, 120),
            counts(120, 120),
            said("assistant", "Done.", second=4),
            counts(240, 120),
        ],
    )

    found = read(READER, rollout)

    assert found.unread == []
    run = found.only
    assert (run.head.id, run.head.project, run.head.model) == (SESSION, "shop", "gpt")
    assert (run.head.workspace, run.head.parent) == (WORK, None)
    person, listed, made, last = run.steps
    assert (person.role, person.text, person.at, person.line) == ("user", "fix it", at(1), 6)
    assert asked(listed) == ("Bash", {"command": "ls", "interactive": True, "cwd": WORK})
    assert asked(made) == ("Bash", {"command": "make", "interactive": True, "cwd": "/tmp"})
    assert (listed.text, listed.tool, listed.result) == ("I look.", "Bash", "a\n")
    assert listed.arguments == '{"cmd": "ls", "yield_time_ms": 9}'
    assert (listed.failed, made.failed, made.result) == (False, True, "no rule\n")
    assert (listed.turn, made.turn, last.turn) == (1, 1, 2)
    assert (listed.tokens, made.tokens, last.tokens) == (120, None, 120)
    assert listed.usage is not None
    assert (listed.usage.cache_read_tokens, last.text, last.model) == (5, "Done.", "gpt")


CALLS: dict[str, tuple[dict[str, Any], tuple[str, Any] | None]] = {
    "a list of words": (
        call("c", "shell", command=["bash", "-lc", "ls -l"], workdir="sub"),
        ("Bash", {"command": "bash -lc 'ls -l'", "interactive": True, "cwd": f"{WORK}/sub"}),
    ),
    "a line": (
        call("c", "shell_command", command="ls"),
        ("Bash", {"command": "ls", "interactive": True, "cwd": WORK}),
    ),
    "no line": (
        call("c", "shell", command=[1]),
        ("Bash", {"command": [1], "interactive": True, "cwd": WORK}),
    ),
    "a shell of the model's": (
        item("local_shell_call", call_id="c", action={"type": "exec", "command": ["ls"]}),
        ("Bash", {"command": "ls", "interactive": True, "cwd": WORK}),
    ),
    "a patch": (
        item("custom_tool_call", call_id="c", name="apply_patch", input="*** Begin Patch"),
        ("apply_patch", {"command": "*** Begin Patch", "cwd": WORK}),
    ),
    "an older patch": (
        call("c", "apply_patch", input="*** Begin Patch"),
        ("apply_patch", {"command": "*** Begin Patch", "cwd": WORK}),
    ),
    "a server's tool": (
        item("function_call", namespace="mcp__fs", name="list", arguments="{}", call_id="c"),
        ("mcp__fs__list", {}),
    ),
    "an agent's tool": (
        item("function_call", namespace="agents", name="wait", arguments="{}", call_id="c"),
        ("agentswait", {}),
    ),
    "another agent": (
        item("function_call", namespace="agents", name="spawn_agent", arguments="{}", call_id="c"),
        ("spawn_agent", {}),
    ),
    "what a model got wrong": (
        item("function_call", name="shell", arguments="{cmd: ls", call_id="c"),
        ("shell", "{cmd: ls"),
    ),
    "half a character": (
        item("function_call", name="shell", arguments=r'{"cmd": "ls \ud83d"}', call_id="c"),
        ("Bash", {"command": "ls \ufffd", "interactive": True, "cwd": WORK}),
    ),
    "nothing": (
        item("function_call", name="search", arguments="", call_id="c"),
        ("search", {}),
    ),
    "an object": (
        item("function_call", name="search", arguments={"q": 1}, call_id="c"),
        ("search", {"q": 1}),
    ),
    "what is typed": (call("c", "write_stdin", session_id=1, chars="x"), None),
}


@pytest.mark.parametrize("kind", CALLS)
def test_a_call_is_what_its_hook_is_told(rollout: Path, kind: str) -> None:
    line, expected = CALLS[kind]
    written(rollout, [META, CONTEXT, line])

    (step,) = read(READER, rollout).only.steps

    assert (None if step.action is None else asked(step)) == expected
    assert (step.result, step.failed, step.ran) == (None, None, True)


OUTCOMES: dict[str, tuple[object, tuple[str, bool | None, bool]]] = {
    "older": ('{"output":"x","metadata":{"exit_code":1}}', ("x", True, True)),
    "plain": ("Plan updated", ("Plan updated", None, True)),
    "some JSON": ('{"agent_id":"7"}', ('{"agent_id":"7"}', None, True)),
    "parts": ([{"type": "input_text", "text": "a"}, {"type": "input_image"}], ("a", None, True)),
    "a success": ({"content": "x", "success": False}, ("x", True, True)),
    "twice": (
        "Wall time: 0.0\nOutput:\nExit code: 0\nWall time: 0\nOutput:\nok",
        ("ok", False, True),
    ),
    "still at it": ("Wall time: 1\nProcess running with session ID 4\nOutput:\n", ("", None, True)),
    "blocked": (
        "Command blocked by PreToolUse hook: no. Command: x",
        ("Command blocked by PreToolUse hook: no. Command: x", True, False),
    ),
    "refused": ("exec command rejected by user", ("exec command rejected by user", True, False)),
    "unknown": ("unsupported call: x", ("unsupported call: x", True, False)),
}


@pytest.mark.parametrize("kind", OUTCOMES)
def test_what_came_of_a_call_is_told(rollout: Path, kind: str) -> None:
    output, expected = OUTCOMES[kind]
    written(rollout, [META, call("c", cmd="x"), answer("c", output)])

    (step,) = read(READER, rollout).only.steps

    assert (step.result, step.failed, step.ran) == expected


@pytest.mark.parametrize(
    "line",
    [
        said("user", "<subagent_notification>\n{}"),
        said("user", f"<hook_prompt>{AUTOMATIC}"),
        said("user", f"{AUTOMATIC}: go on"),
        said("user", "x", internal_chat_message_metadata_passthrough={"content_item_kinds": ["h"]}),
        said("system", "be kind"),
        entry("event_msg", type="user_message", message="fix it"),
        entry("compacted", message="summary"),
    ],
)
def test_what_no_person_typed_is_not_heard(rollout: Path, line: dict[str, Any]) -> None:
    written(rollout, [META, line, item("message", role="user", content="<b>fix</b> it")])

    assert read(READER, rollout).only.said == [("user", "<b>fix</b> it")]


@pytest.mark.parametrize(
    "about",
    [
        {"parent_thread_id": PARENT},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}},
    ],
)
def test_a_sub_agent_hears_no_person(rollout: Path, about: dict[str, Any]) -> None:
    meta = entry("session_meta", id=SESSION, cwd=WORK, **about)
    written(rollout, [meta, said("user", "Do it."), said("assistant", "Did it.")])

    run = read(READER, rollout).only

    assert run.head.parent == PARENT
    assert run.said == [("assistant", "Did it.")]


def copied(own: dict[str, Any], turn: str | None) -> list[Any]:
    """Return a rollout that begins with a copy of another, and then has a turn of its own."""
    return [
        entry("session_meta", id=SESSION, cwd=WORK, **own),
        entry("session_meta", id=PARENT, cwd="/elsewhere"),
        entry("turn_context", cwd="/elsewhere", model="old", turn_id=PARENT),
        said("user", "fix it"),
        call("c1", cmd="ls"),
        answer("c1", "a"),
        counts(120, 120),
        entry("turn_context", cwd="/elsewhere", model="older", turn_id="9"),
        entry("turn_context", cwd=WORK, model="new", turn_id=turn),
        counts(120, 120),
        said("user", "now that"),
        call("c2", cmd="make"),
        counts(240, 120),
        entry("session_meta", id=PARENT, cwd="/elsewhere"),
    ]


@pytest.mark.parametrize(
    ("own", "parent", "words"),
    [
        ({"parent_thread_id": PARENT, "forked_from_id": PARENT}, PARENT, []),
        ({"forked_from_id": PARENT}, None, [("user", "now that")]),
    ],
)
def test_what_another_session_did_is_left_to_its_rollout(
    rollout: Path, own: dict[str, Any], parent: str | None, words: list[Any]
) -> None:
    written(rollout, copied(own, SESSION))

    found = read(READER, rollout)

    run = found.only
    assert (run.head.id, run.head.parent, found.unread) == (SESSION, parent, [])
    assert (run.head.workspace, run.head.model) == (WORK, "new")
    assert (run.said, run.tokens) == (words, 120)
    assert [asked(step)[1]["command"] for step in run.calls] == ["make"]


@pytest.mark.parametrize("turn", [None, PARENT, "018f2b1c-3ea8-4410-9a32-5c59a33c9fe5"])
def test_a_copy_of_which_nobody_knows_the_end_is_read(rollout: Path, turn: str | None) -> None:
    written(rollout, copied({"parent_thread_id": PARENT}, turn))

    run = read(READER, rollout).only

    assert (run.head.id, run.head.parent, run.said) == (SESSION, PARENT, [])
    assert (len(run.calls), run.tokens) == (2, 240)


def test_the_oldest_rollouts_have_no_envelopes(rollout: Path) -> None:
    parts = [{"type": "input_text", "text": "fix it"}]
    written(
        rollout,
        [
            {"id": SESSION, "timestamp": moment(0), "instructions": None},
            {"type": "message", "role": "user", "content": parts},
            {"record_type": "state"},
            {
                "type": "function_call",
                "name": "shell",
                "call_id": "c",
                "arguments": '{"command":"x"}',
            },
            {"type": "function_call_output", "call_id": "c", "output": "Exit code: 1\nOutput:\nno"},
        ],
    )

    found = read(READER, rollout)

    assert (found.unread, found.only.head.id) == ([], SESSION)
    assert found.only.said == [("user", "fix it")]
    assert [(step.result, step.failed) for step in found.only.calls] == [("no", True)]


def test_what_cannot_be_read_is_told_and_the_rest_is_read(rollout: Path) -> None:
    written(
        rollout,
        [
            entry("session_meta", id=7),
            entry("turn_context", cwd=7),
            entry("response_item"),
            {"type": "response_item", "payload": None},
            {"type": "turn_context", "payload": None},
            item("message", role="assistant", content=7),
            item("function_call", call_id=None, name=""),
            counts(10, 5) | {"payload": {"type": "token_count", "info": {"total": 1}}},
            entry("event_msg", type="token_count", info=None),
            b'{"type":"response_item","payl',
            said("assistant", "Done."),
        ],
    )

    found = read(READER, rollout)

    assert [each.line for each in found.unread] == [2, 6, 8, 10]
    assert found.only.said == [("assistant", "Done.")]
    assert [(step.tool, step.action) for step in found.only.calls] == [("", None)]


def test_a_file_that_is_named_otherwise_is_named_after_it(tmp_path: Path) -> None:
    path = written(tmp_path / "kept.jsonl", [said("assistant", "Done.")] * 201)

    assert read(READER, path).only.head.id == "kept"
    assert read(READER, written(path, [])) == ([], [])


def test_it_knows_its_own_files_and_where_they_are(tmp_path: Path) -> None:
    meta = b'{"timestamp":"x","type":"session_meta","payload":{'

    assert READER.reads(tmp_path / "x.jsonl", meta)
    assert READER.reads(tmp_path / "rollout-1.jsonl", b'{"id":"x","instructions":null}')
    assert not READER.reads(tmp_path / "x.jsonl", b'{"id":"x","instructions":null}')
    assert not READER.reads(tmp_path / "x.json", meta)
    (sessions, archived) = READER.usual_places(tmp_path, {})
    assert (sessions, archived.name) == (tmp_path / ".codex" / "sessions", "archived_sessions")
    assert READER.usual_places(tmp_path, {"CODEX_HOME": "/c"})[0] == Path("/c/sessions")


def test_who_interrupts_is_heard(rollout: Path) -> None:
    words = "<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>"
    written(rollout, [META, said("user", words)])

    assert read(READER, rollout).only.said == [("user", words)]


def test_what_is_not_told_of_a_count_is_nothing(rollout: Path) -> None:
    counted = counts(100, 100)
    counted["payload"]["info"]["last_token_usage"]["cached_input_tokens"] = None
    written(rollout, [META, call("c", cmd="x"), counted])

    found = read(READER, rollout)

    assert (found.only.tokens, found.unread) == (100, [])


def test_a_call_of_which_nothing_else_is_told_is_counted_as_well(rollout: Path) -> None:
    used = [
        counts(0, 20),
        counts(100, 100),
        call("c", cmd="x"),
        counts(200, 100),
        answer("c", "a"),
        counts(350, 150),
        counts(350, 150),
        said("user", "go on"),
        counts(400, 50),
        said("assistant", "Done."),
        counts(450, 50),
    ]
    written(rollout, [META, *used])

    run = read(READER, rollout).only

    assert [step.tokens for step in run.steps] == [200, None, 250]


TOTALS: list[dict[str, Any]] = [
    {"input_tokens": 50},
    {"input_tokens": 100, "total_tokens": None},
    {"input_tokens": 100, "total_tokens": 150.0},
    {"input_tokens": 100, "total_tokens": 200},
]


def test_totals_that_are_told_otherwise_are_told_apart(rollout: Path) -> None:
    lines: list[Any] = [META]
    for total in TOTALS:
        counted = counts(0, 50)
        counted["payload"]["info"]["total_token_usage"] = total
        lines += [said("assistant", "so"), counted, counted]
    written(rollout, lines)

    found = read(READER, rollout)

    assert [step.tokens for step in found.only.steps] == [50, 50, 50, 50]
    assert found.unread == []
