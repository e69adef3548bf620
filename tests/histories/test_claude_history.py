"""Claude Code's transcripts, as several of its versions wrote them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from histories.written_history import WORK, asked, at, moment, read, written
from interlock.adapters.histories.claude_history import ClaudeHistory
from interlock.model.arbitration import AUTOMATIC
from interlock.model.budget import TokenUsage

READER = ClaudeHistory()
SESSION = "7d1e3c5a"
_NUMBERS = itertools.count()


def line(type_: str, message: object = None, **more: object) -> dict[str, Any]:
    said = {} if message is None else {"message": message}
    about = {"sessionId": SESSION, "cwd": WORK, "uuid": f"u{next(_NUMBERS)}", "version": "2.1.325"}
    return {"parentUuid": None, "isSidechain": False, "type": type_, **said, **about, **more}


def prompt(text: object = "fix it", **more: object) -> dict[str, Any]:
    return line("user", {"role": "user", "content": text}, **more)


def agent(id_: str, *blocks: object, output: int = 20, **more: object) -> dict[str, Any]:
    usage = {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": output}
    message = {"id": id_, "role": "assistant", "model": "opus", "content": blocks, "usage": usage}
    return line("assistant", {**message, "stop_reason": "tool_use"}, **more)


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def call(id_: str, name: str = "Bash", **given: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": given}


def result(id_: str, said: object = "ok", *, is_error: bool = False, **more: object) -> Any:
    block = {"type": "tool_result", "tool_use_id": id_, "content": said, "is_error": is_error}
    return line("user", {"role": "user", "content": [block]}, **more)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    return tmp_path / "projects" / "-home-me-shop" / f"{SESSION}.jsonl"


@pytest.mark.parametrize(
    "when",
    [
        -1,
        1e300,
        2**62,
        253_402_300_800_000,
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:00:00-14:00",
    ],
)
def test_a_moment_that_cannot_be_is_not_known(when: object, transcript: Path) -> None:
    found = read(READER, written(transcript, [prompt(timestamp=when)]))

    assert [step.at for step in found.only.steps] == [None]


def test_a_session_is_read_step_by_step(transcript: Path) -> None:
    written(
        transcript,
        [
            {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION},
            prompt(timestamp=moment(1)),
            line("attachment", attachment={"type": "date", "prompt": {"message": 3}}),
            agent("m1", {"type": "thinking", "thinking": "hm"}, output=1),
            agent("m1", text("I look."), output=5),
            agent("m1", call("c1", command="ls", description="lists"), timestamp=moment(2)),
            result("c1", [{"type": "text", "text": "a"}, {"type": "image", "source": "…"}]),
            agent("m2", text("Done."), output=3, timestamp=moment(4)),
            {"type": "cost-state", "totalCostUSD": 0.1},
        ],
    )

    found = read(READER, transcript)

    assert found.unread == []
    run = found.only
    assert (run.head.id, run.head.client, run.head.project) == (SESSION, "claude-code", "shop")
    assert (run.head.workspace, run.head.parent, run.head.model) == (WORK, None, "opus")
    person, listed, last = run.steps
    assert (person.role, person.text, person.at, person.line) == ("user", "fix it", at(1), 2)
    assert (listed.text, listed.tool, listed.at, listed.line) == ("I look.", "Bash", at(2), 6)
    assert asked(listed) == ("Bash", {"command": "ls", "cwd": WORK})
    assert listed.arguments == '{"command":"ls","description":"lists"}'
    assert (listed.result, listed.failed, listed.ran) == ("a\n", False, True)
    assert listed.usage == TokenUsage(
        input_tokens=100, output_tokens=20, cache_read_tokens=90, cache_write_tokens=0
    )
    assert (last.text, last.tool, last.tokens, last.finish_reason) == (
        "Done.",
        None,
        103,
        "tool_use",
    )
    assert run.tokens == 120 + 103


def test_parallel_calls_share_their_turn_and_keep_their_order(transcript: Path) -> None:
    written(
        transcript,
        [
            agent("m1", call("c1", command="a")),
            result("c2", "second"),
            agent("m1", call("c2", command="b")),
            agent("m1", call("c3", command="c")),
            result("c3", "third", is_error=True),
            result("c2", "second"),
            agent("m2", call("c4", command="d")),
            result("c1", "first"),
        ],
    )

    run = read(READER, transcript).only

    assert [(step.turn, step.result) for step in run.calls] == [
        (1, "first"),
        (1, "second"),
        (1, "third"),
        (2, None),
    ]
    assert [step.failed for step in run.calls] == [False, False, True, None]
    assert [step.tokens for step in run.calls] == [120, None, None, 120]


REFUSALS: dict[str, tuple[str, dict[str, Any]]] = {
    "by a person": ("The user doesn't want to proceed with this tool use. The tool use was", {}),
    "by a hook": ("PreToolUse:Bash hook error: not allowed", {}),
    "by no such tool": ("<tool_use_error>Error: No such tool available: X</tool_use_error>", {}),
    "by a rule": ("Permission to use Bash with command x has been denied.", {}),
    "by a kind": ("no", {"toolDenialKind": "user-rejected"}),
    "by a decision": ("no", {"permissionDecision": {"decision": "reject", "source": "hook"}}),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_call_that_was_refused_did_not_run(transcript: Path, refusal: str) -> None:
    why, more = REFUSALS[refusal]
    calls = [agent("m1", call("c1", command="x")), result("c1", why, is_error=True, **more)]
    written(transcript, calls)

    (step,) = read(READER, transcript).only.steps

    assert (step.ran, step.failed) == (False, True)
    assert step.declined is (refusal in ("by a person", "by a kind"))


@pytest.mark.parametrize("more", [{}, {"permissionDecision": {"decision": "accept"}}])
def test_a_call_that_failed_ran(transcript: Path, more: dict[str, Any]) -> None:
    calls = [
        agent("m1", call("c1", command="x")),
        result("c1", "Exit code 3", is_error=True, **more),
    ]
    written(transcript, calls)

    (step,) = read(READER, transcript).only.steps

    assert (step.ran, step.failed, step.result) == (True, True, "Exit code 3")


NOT_SAID_BY_A_PERSON = {
    "meta": prompt("Stop hook feedback:\nno", isMeta=True),
    "summary": prompt("What happened before", isCompactSummary=True),
    "an older summary": prompt("This session is being continued from a previous conversation"),
    "shown only": prompt("shown", isVisibleInTranscriptOnly=True),
    "a command": prompt("<command-name>/clear</command-name>"),
    "its output": prompt("<local-command-stdout>bye</local-command-stdout>"),
    "a reminder": prompt([text("<system-reminder>\nbe kind\n</system-reminder>")]),
    "a notification": prompt("done", turnOrigin="task_notification"),
    "our own words": prompt(f"{AUTOMATIC}: go on"),
    "nothing": prompt([{"type": "image", "source": {"data": "..."}}]),
    "queued by a task": line(
        "attachment",
        attachment={"type": "queued_command", "prompt": "x", "commandMode": "task-notification"},
    ),
}


@pytest.mark.parametrize("what", NOT_SAID_BY_A_PERSON)
def test_what_no_person_typed_is_not_heard(transcript: Path, what: str) -> None:
    written(transcript, [NOT_SAID_BY_A_PERSON[what], prompt("fix it", turnOrigin="human")])

    assert read(READER, transcript).only.said == [("user", "fix it")]


def test_who_interrupts_is_heard(transcript: Path) -> None:
    words = "[Request interrupted by user for tool use]"
    written(transcript, [prompt([text(words)])])

    assert read(READER, transcript).only.said == [("user", words)]


def test_what_was_typed_while_the_agent_worked_is_heard(transcript: Path) -> None:
    typed = {"type": "queued_command", "prompt": [{"type": "text", "text": "stop"}]}
    written(transcript, [prompt(), line("attachment", attachment=typed)])

    assert read(READER, transcript).only.said == [("user", "fix it"), ("user", "stop")]


def test_a_sub_agent_has_a_file_of_its_own(transcript: Path) -> None:
    own: dict[str, Any] = {"isSidechain": True, "agentId": "a7"}
    path = transcript.parent / SESSION / "subagents" / "agent-a7.jsonl"
    written(path, [prompt("Do it.", **own), agent("m1", text("Did it."), **own)])

    run = read(READER, path).only

    assert (run.head.id, run.head.parent) == (f"{SESSION}/a7", SESSION)
    assert run.said == [("assistant", "Did it.")]


def test_older_versions_wrote_sub_agents_into_the_file_of_the_session(transcript: Path) -> None:
    written(
        transcript,
        [
            prompt(),
            agent("m1", call("c1", "Task", prompt="look")),
            prompt("look", isSidechain=True),
            agent("m2", call("c2", command="ls"), isSidechain=True),
            result("c2", isSidechain=True),
            result("c1", "looked"),
        ],
    )

    main, side = read(READER, transcript).runs

    assert [step.tool for step in main.calls] == ["Task"]
    assert (side.head.id, side.head.parent) == (f"{SESSION}/sidechain", SESSION)
    assert [(step.tool, step.result) for step in side.steps] == [("Bash", "ok")]


def test_a_line_that_comes_again_counts_once_and_that_of_another_session_not(
    transcript: Path,
) -> None:
    said = agent("m1", text("Hello."))
    other = agent("m0", text("Before."), forkedFrom={"sessionId": "0", "messageUuid": "u"})
    written(transcript, [other, said, said, {**said, "uuid": "again"}])

    run = read(READER, transcript).only

    assert run.said == [("assistant", "Hello.\nHello.")]
    assert run.tokens == 120


def test_paths_are_whole_as_the_hook_is_told_them(transcript: Path) -> None:
    given = ["notes.md", "/etc/hosts", "~/x", 3]
    calls = [call(f"c{place}", "Read", file_path=each) for place, each in enumerate(given)]
    written(transcript, [agent("m1", *calls)])

    steps = read(READER, transcript).only.steps

    assert [asked(step)[1]["file_path"] for step in steps] == [f"{WORK}/notes.md", *given[1:]]


def test_todos_stand_where_the_list_was_written(transcript: Path) -> None:
    todos = [{"content": "a", "status": "pending"}, {"content": "b", "status": "completed"}]
    written(transcript, [agent("m1", call("c1", "TodoWrite", todos=todos)), result("c1")])

    (step,) = read(READER, transcript).only.steps

    assert step.todos == ("a",)


def test_what_the_client_says_for_the_model_is_not_the_models(transcript: Path) -> None:
    message = {"id": "s", "model": "<synthetic>", "content": [text("API Error: 529")]}
    written(transcript, [line("assistant", message), prompt()])

    run = read(READER, transcript).only

    assert (run.head.model, run.said) == (None, [("user", "fix it")])


def test_a_model_that_said_nothing_is_paid_all_the_same(transcript: Path) -> None:
    thought = {"type": "thinking", "thinking": "hm"}
    written(transcript, [agent("m1", thought), agent("m2", text("a")), agent("m3", thought)])

    steps = read(READER, transcript).only.steps

    assert [(step.text, step.tokens) for step in steps] == [("a", 240), ("", 120)]


def test_what_cannot_be_read_is_told_and_the_rest_is_read(transcript: Path) -> None:
    lines: list[object] = [
        prompt(),
        b'{"type":"user","message":{"role":"user","content":"half',
        b"\x00\x01garbage",
        b"",
        line("assistant", {"id": 7, "content": []}),
        line("assistant", {"id": "m", "content": [{"type": "text", "text": 3}]}),
        b'{"type":"user","message":{"role":"user","content":}}',
        {**line("assistant"), "message": None},
        line("attachment", attachment=None, note="queued_command"),
        {"type": "api-request-blob", "message": {"content": {"anything": 1}}},
        b'{"type":"user","uuid":"h","message":{"content":"cut \\ud83d here, \\ud83d\\ude00"}}',
        agent("m2", call("", command="x"), text("Done.")),
    ]
    written(transcript, lines)

    found = read(READER, transcript)

    assert [each.line for each in found.unread] == [2, 3, 5, 6, 7]
    assert found.unread[0].reason == "line 2 is cut off"
    assert found.unread[1].reason == "line 3 is no JSON object"
    assert found.only.said == [
        ("user", "fix it"),
        ("user", "cut \ufffd here, \U0001f600"),
        ("assistant", "Done."),
    ]


def test_numbers_that_cannot_be_are_not_counted(transcript: Path) -> None:
    usage = {"input_tokens": -5}
    message = {"id": "m", "content": "old", "usage": usage}
    written(transcript, [line("assistant", message, timestamp=moment(99)), prompt(timestamp=[])])

    found = read(READER, transcript)

    (step,) = found.only.steps
    assert (step.text, step.usage, step.at) == ("old", None, None)
    assert len(found.unread) == 1


@pytest.mark.parametrize("lines", [[], [{"type": "summary", "summary": "s", "leafUuid": "x"}]])
def test_a_file_without_a_session_has_no_runs(transcript: Path, lines: list[object]) -> None:
    assert read(READER, written(transcript, lines)) == ([], [])


def test_a_file_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        next(READER.runs(tmp_path / "nowhere.jsonl", print))


def test_it_knows_its_own_files_and_where_they_are(tmp_path: Path) -> None:
    begins = b'{"parentUuid":null,"isSidechain":false,"type":"user"'

    assert READER.reads(tmp_path / "x.jsonl", begins)
    assert not READER.reads(tmp_path / "x.json", begins)
    assert not READER.reads(tmp_path / "x.jsonl", b'{"type":"session_meta"')
    assert READER.usual_places(tmp_path, {}) == [tmp_path / ".claude" / "projects"]
    assert READER.usual_places(tmp_path, {"CLAUDE_CONFIG_DIR": "/c"}) == [Path("/c/projects")]


@pytest.mark.parametrize(("given", "tokens"), [(None, 110), (0.0, 110), (-1, 0), (1e300, 0)])
def test_a_call_counts_whatever_it_is_said_to_have_used(
    given: object, tokens: int, transcript: Path
) -> None:
    spent = agent("m1", call("c1", command="ls"))
    spent["message"]["usage"]["input_tokens"] = given

    found = read(READER, written(transcript, [prompt(), spent, result("c1")]))

    assert (len(found.only.calls), found.only.tokens, found.unread) == (1, tokens, [])
