"""What each client says is understood, and it is answered in words that mean the same to it."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.client_readings import RUNS, call, is_sent_on, one_object, stop
from interlock import Interlock, Run
from interlock.adapters.clients.recognition import client_dialects, client_of
from interlock.model.events import ActionObserved
from interlock.model.hook import HookCall, HookReply
from interlock.server.hooks.hook_desk import HookDesk
from interlock.server.hooks.own_dialect import OWN_DIALECT
from interlock.service.aio import LoopDriver
from service.ledgers import events_of, operator_of

PUSH = "git push --force origin main"
UNFINISHED = (
    "I have read the file. Next I will run the tests.",
    "The parser looks right. Now I am going to change the lexer.",
    "Let me open the configuration to see which port it listens on.",
    "There are two callers of this function; I will rename both of them now.",
    "First the migration: I'll write it for the orders table.",
    "The docs still show the old flag, so I will update that page next.",
    "I'm going to look at the logs of the failing container.",
    "Now let me add a test for an empty basket.",
    "Next I'll bump the version and tag the release.",
    "I will now check how the cache is invalidated.",
)
CLIENTS = sorted(RUNS)


class Client:
    """A client whose hooks are answered from a ledger in memory."""

    def __init__(self, name: str = "auto") -> None:
        self.name = name
        self.interlock = Interlock.open(":memory:")
        driver = LoopDriver()
        self._desk = HookDesk(self.interlock.governor, driver, client_dialects(OWN_DIALECT))

    def says(self, payload: object, *args: str, **env: str) -> HookReply:
        given = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
        asked = HookCall(
            hook=self.name,
            args=args,
            cwd="/",
            env=env,
            payload=msgspec.Raw(given),
        )
        return asyncio.run(self._desk.reply(asked))

    def may_run(self, command: str, **more: Any) -> bool:
        return RUNS[self.name](*self.says(call(self.name, command, **more)))

    @property
    def runs(self) -> list[Run]:
        rows = self.interlock.ledger.rows.runs(limit=50)
        return [self.interlock.resume(row.id) for row in rows if row.agent.startswith(self.name)]


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    found = Client(request.param)
    yield found
    found.interlock.close()


def test_a_destructive_command_does_not_run_and_a_harmless_one_does(client: Client) -> None:
    assert not client.may_run("rm -rf /etc")
    assert client.may_run("ls", number=2)
    assert [run.state.decisions for run in client.runs] == [{"allow": 1, "block": 1}]


def test_a_no_says_why_and_what_to_do_instead(client: Client) -> None:
    code, said, complaint = client.says(call(client.name, "rm -rf /etc"))

    assert "deletes the system" in f"{said!r}{complaint!r}"
    assert one_object(said) is not None
    assert code == (2 if client.name == "opencode" else 0)


def test_what_a_person_has_to_agree_to_waits_and_is_let_through_once(client: Client) -> None:
    token = operator_of(client.interlock)
    says = client.says(call(client.name, PUSH))
    assert not RUNS[client.name](*says)
    (question,) = client.interlock.approvals()
    assert f"interlock approve {question.code}".encode() in says.stdout

    client.interlock.approve(question.id, token=token)

    assert client.may_run(PUSH, number=2)
    assert not client.may_run(PUSH, number=3)


def test_nobody_is_asked_at_a_prompt_where_nobody_is(client: Client) -> None:
    reply = client.says(call(client.name, PUSH), CLAUDE_CODE_SESSION_ATTENDED="0")

    assert b'"ask"' not in reply.stdout


def seen(client: str, command: str, number: int = 1) -> dict[str, Any]:
    """Return what a client tells after a command ran."""
    before = call(client, command, number=number)
    match client:
        case "claude-code" | "codex":
            return {**before, "hook_event_name": "PostToolUse", "tool_response": "a\nb\n"}
        case "gemini":
            after = {"llmContent": "a", "returnDisplay": "a"}
            return {**before, "hook_event_name": "AfterTool", "tool_response": after}
        case "copilot":
            text = "a\n<shellId: 0 completed with exit code 0>"
            return {**before, "toolResult": {"resultType": "success", "textResultForLlm": text}}
        case _:
            return {**before, "opencode": "seen", "output": "a", "exit_code": 0}


def test_gemini_tells_below_the_output_how_a_command_ended() -> None:
    client = Client("gemini")
    lines = "\nExit Code: 1\nBackground PIDs: 8, 9\nProcess Group PGID: %d\n</untrusted_context>"
    digests: set[str | None] = set()
    for number in (1, 2):
        client.says(call("gemini", "cat x", number=number))
        wrote = f"<untrusted_context>\nOutput: cat: x: No such file{lines % (50 + number)}"
        after = {**seen("gemini", "cat x", number), "tool_response": {"llmContent": wrote}}
        client.says(after, "told")

    (run,) = client.runs
    for event in events_of(client.interlock.ledger, run.id):
        if isinstance(event, ActionObserved):
            assert (event.exit_code, event.output_bytes) == (1, len("cat: x: No such file"))
            digests.add(event.output_digest)
    assert len(digests) == 1
    client.interlock.close()


def test_what_gemini_was_told_at_the_start_is_not_what_a_run_is_for() -> None:
    client = Client("gemini")
    told = "<hook_context>Interlock governs this session.</hook_context>\n\nfix the parser"
    client.says(prompt("gemini", told), "told")
    client.says(call("gemini", "ls"))

    assert [run.state.task for run in client.runs] == ["fix the parser"]
    client.interlock.close()


def told_stop(client: str, text: str, folder: Path) -> dict[str, Any]:
    """Return the end of a turn; what Copilot's agent said stands in its own record."""
    if client != "copilot":
        return stop(client, text)
    record = folder / "events.jsonl"
    payload = stop(client, text)
    began = {"hookType": "agentStop", "input": {"timestamp": payload["timestamp"]}}
    lines = (
        {"type": "assistant.message", "data": {"content": text}},
        {"type": "hook.start", "data": began},
    )
    record.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    return {**payload, "transcriptPath": str(record)}


def prompt(client: str, text: str) -> dict[str, Any]:
    """Return what a client tells when somebody has typed something."""
    match client:
        case "claude-code" | "codex" | "gemini":
            name = "BeforeAgent" if client == "gemini" else "UserPromptSubmit"
            kept = {"session_id", "cwd", "turn_id", "timestamp"}
            before = {key: value for key, value in call(client, "").items() if key in kept}
            return {**before, "hook_event_name": name, "prompt": text}
        case "copilot":
            return {"sessionId": "s-1", "timestamp": 1, "cwd": "/", "prompt": text}
        case _:
            return {"opencode": "prompt", "session": "s-1", "directory": "/", "text": text}


def end(client: str) -> dict[str, Any]:
    """Return what a client tells at the end of a session."""
    match client:
        case "copilot":
            return {"sessionId": "s-1", "timestamp": 1, "cwd": "/", "reason": "complete"}
        case "opencode":
            return {"opencode": "ended", "session": "s-1"}
        case _:
            return {**prompt(client, ""), "hook_event_name": "SessionEnd", "reason": "exit"}


def test_an_early_stop_is_continued_until_the_counter_ends_it(
    client: Client, tmp_path: Path
) -> None:
    client.says(prompt(client.name, "fix it"), "told")
    client.says(call(client.name, "ls"))
    client.says(seen(client.name, "ls"), "told")
    replies: list[HookReply] = []
    for text in UNFINISHED:
        replies.append(client.says(told_stop(client.name, text, tmp_path), "stop"))
        # Some clients take what we send them for a prompt: it is nobody's.
        client.says(prompt(client.name, _nudge(replies[-1])), "told")
    sent_on = [is_sent_on(client.name, *reply) for reply in replies]

    count = sent_on.index(False)
    assert 1 <= count < 8
    assert not any(sent_on[count:])

    client.says(prompt(client.name, "go on, please"), "told")
    client.says(call(client.name, "ls", number=2))
    client.says(seen(client.name, "ls", number=2), "told")

    again = told_stop(client.name, UNFINISHED[0], tmp_path)
    assert is_sent_on(client.name, *client.says(again, "stop"))


def _nudge(reply: HookReply) -> str:
    said = one_object(reply.stdout) or {}
    return said.get("reason") or "[automatic message, not from a person] go on"


def test_what_is_done_may_end_and_the_end_of_the_session_closes_the_run(
    client: Client, tmp_path: Path
) -> None:
    client.says(prompt(client.name, "fix it"), "told")
    client.says(call(client.name, "ls"))
    client.says(seen(client.name, "ls"), "told")
    done = told_stop(client.name, "All three bugs are fixed, and all tests pass.", tmp_path)
    assert not is_sent_on(client.name, *client.says(done, "stop"))
    client.says(end(client.name), "told")

    (run,) = client.runs
    assert (run.state.task, run.state.outcome) == ("fix it", "completed")


def test_a_session_that_ends_in_the_middle_is_no_success(client: Client) -> None:
    client.says(call(client.name, "ls"))
    client.says(end(client.name), "told")

    assert [run.state.outcome for run in client.runs] == ["stopped"]


def test_a_run_that_waits_for_a_person_stays_open_when_its_client_leaves(client: Client) -> None:
    client.says(call(client.name, PUSH))
    client.says(end(client.name), "told")

    assert [run.state.outcome for run in client.runs] == [None]


def test_the_end_of_a_session_that_never_asked_anything_is_no_run(client: Client) -> None:
    client.says(end(client.name), "told")

    assert client.runs == []


def test_what_came_of_a_call_belongs_to_it(client: Client) -> None:
    for number in (1, 2):
        client.says(call(client.name, "ls", number=number))
    for number in (1, 2):
        client.says(seen(client.name, "ls", number=number), "told")

    (run,) = client.runs
    assert run.state.spent.tool_calls == 2
    assert (run.state.reserved.tool_calls, run.state.forbidden) == (0, 0)


def test_a_loop_is_paused_and_the_client_is_told_to_end(client: Client) -> None:
    for number in range(40):
        if not client.may_run("make test", number=number):
            break
        client.says(seen(client.name, "make test", number=number), "told")
    else:
        raise AssertionError("it was never paused")

    (run,) = client.runs
    hold = run.state.control.hold
    assert hold is not None
    reply = client.says(call(client.name, "ls", number=99))
    assert b"End your turn now" in reply.stdout
    # It is paused, not trapped.
    assert not is_sent_on(client.name, *client.says(stop(client.name, "I give up."), "stop"))


SUB_AGENTS = {
    "claude-code": {"agent_id": "a-1", "agent_type": "general-purpose"},
    "codex": {"agent_id": "a-1", "agent_type": "default"},
    "copilot": {"sessionId": "a-1", "agentId": "a-1", "parentAgentId": "s-1"},
    "opencode": {"session": "a-1", "parent": "s-1"},
}


@pytest.mark.parametrize("name", sorted(SUB_AGENTS))
def test_a_sub_agent_is_a_run_below(name: str, tmp_path: Path) -> None:
    client, own = Client(name), SUB_AGENTS[name]
    client.says(call(name, "ls"))
    assert not RUNS[name](*client.says({**call(name, "rm -rf /etc", number=2), **own}))
    # Whoever speaks to it is no person.
    client.says({**prompt(name, "do it"), **own}, "told")
    done = {**told_stop(name, "All three bugs are fixed.", tmp_path), **own}
    if name in ("claude-code", "codex"):
        done["hook_event_name"] = "SubagentStop"
    assert not is_sent_on(name, *client.says(done, "stop"))

    below, above = sorted((run.state for run in client.runs), key=lambda run: -len(run.ancestors))
    assert (below.ancestors, above.ancestors) == ((above.id,), ())
    assert (below.decisions, above.decisions) == ({"block": 1}, {"allow": 1})
    assert (below.outcome is None, above.outcome) == (False, None)
    client.interlock.close()


def test_claude_code_asks_whoever_is_there_and_what_they_allow_is_no_offence() -> None:
    client = Client("claude-code")
    asked = client.says(call("claude-code", PUSH), CLAUDE_CODE_SESSION_ATTENDED="1")
    assert b'"permissionDecision":"ask"' in asked.stdout
    client.says(seen("claude-code", PUSH), "told", CLAUDE_CODE_SESSION_ATTENDED="1")

    (run,) = client.runs
    assert (run.state.forbidden, run.state.pending_approvals) == (0, 0)
    assert [each.state for each in client.interlock.approvals(state="cancelled")] == ["cancelled"]
    client.interlock.close()


@pytest.mark.parametrize("mode", ["bypassPermissions", "dontAsk", "auto", "new-mode"])
def test_claude_code_is_not_asked_in_a_mode_that_may_not_show_it(mode: str) -> None:
    client = Client("claude-code")
    reply = client.says({**call("claude-code", PUSH), "permission_mode": mode})

    assert b'"permissionDecision":"deny"' in reply.stdout
    client.interlock.close()


TRANSCRIPTS = {
    "claude-code": (
        {
            "type": "assistant",
            "message": {
                "id": "msg_1",
                "model": "m",
                "usage": {
                    "input_tokens": 10,
                    "output_tokens": 5,
                    "cache_read_input_tokens": 7,
                    "cache_creation_input_tokens": 3,
                },
            },
        },
        25,
    ),
    "codex": (
        {
            "type": "event_msg",
            "payload": {
                "type": "token_count",
                "info": {
                    "total_token_usage": {"total_tokens": 999},
                    "last_token_usage": {"input_tokens": 20, "output_tokens": 5},
                },
            },
        },
        25,
    ),
    "gemini": (
        {"id": "1", "type": "gemini", "tokens": {"input": 20, "output": 3, "thoughts": 2}},
        25,
    ),
    "copilot": (
        {
            "type": "session.usage_record",
            "data": {"usage": {"apiCallId": "c", "inputTokens": 20, "outputTokens": 5}},
        },
        25,
    ),
}


@pytest.mark.parametrize("name", sorted(TRANSCRIPTS))
def test_what_models_used_is_read_from_the_clients_own_record_and_counted_once(
    name: str, tmp_path: Path
) -> None:
    line, tokens = TRANSCRIPTS[name]
    record = tmp_path / "record.jsonl"
    record.write_bytes(b'not json "usage"\n' + msgspec.json.encode(line) + b"\n" + b'{"cut')
    client, where = Client(name), "transcriptPath" if name == "copilot" else "transcript_path"
    payload = {**told_stop(name, "All three bugs are fixed.", tmp_path), where: str(record)}
    client.says(call(name, "ls"))
    client.says(payload, "stop")
    client.says(payload, "stop")

    assert [run.state.spent.tokens for run in client.runs] == [tokens]
    client.interlock.close()


def test_a_session_that_is_gone_on_with_counts_what_is_new_only(tmp_path: Path) -> None:
    """Its transcript goes on, and the run that it was at first has ended."""
    client, record = Client("codex"), tmp_path / "record.jsonl"
    for number in (1, 2):
        usage = {"last_token_usage": {"input_tokens": 20, "output_tokens": 5}}
        info = {"total_token_usage": {"total_tokens": 25 * number}, **usage}
        line = {"type": "event_msg", "payload": {"type": "token_count", "info": info}}
        with record.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")
        client.says(call("codex", "ls", number=number))
        done = {**stop("codex", "All three bugs are fixed."), "transcript_path": str(record)}
        client.says(done, "stop")
        client.says(end("codex"), "told")

    assert [run.state.spent.tokens for run in client.runs] == [25, 25]
    client.interlock.close()


def test_what_an_agent_writes_into_the_record_neither_hides_what_it_used_nor_breaks_a_hook(
    tmp_path: Path,
) -> None:
    def used(name: str, tokens: int) -> bytes:
        usage = {"input_tokens": tokens, "output_tokens": 0}
        return msgspec.json.encode({"message": {"id": name, "usage": usage}}) + b"\n"

    client, record = Client("claude-code"), tmp_path / "record.jsonl"
    told = {"transcript_path": str(record)}
    record.write_bytes(used("m-1", 10) + used("m-2", 20) + used("m-2", 0))
    client.says({**call("claude-code", "ls"), **told})
    with record.open("ab") as file:
        file.write(used("m-3", 40) + used("m-1", 10) + used("", 5) + used("m-4", -1))
    runs = RUNS["claude-code"](*client.says({**call("claude-code", "ls", number=2), **told}))
    reply = client.says({**stop("claude-code", UNFINISHED[0]), **told}, "stop")

    assert runs
    assert is_sent_on("claude-code", *reply)
    assert [run.state.spent.tokens for run in client.runs] == [70]
    client.interlock.close()


def test_what_opencodes_models_used_its_plugin_tells() -> None:
    client = Client("opencode")
    used = [{"id": "m-1", "model": "m", "input": 10, "output": 5, "cache_read": 10}]
    for number in (1, 2):
        client.says({**call("opencode", "ls", number=number), "used": used})

    assert [run.state.spent.tokens for run in client.runs] == [25]
    client.interlock.close()


def test_open_items_of_the_agents_own_list_speak_against_being_done() -> None:
    client = Client("claude-code")
    todos = [{"content": "write the tests", "status": "pending"}]
    listed = {**call("claude-code", ""), "tool_name": "TodoWrite", "tool_input": {"todos": todos}}
    client.says(listed)
    client.says({**listed, "hook_event_name": "PostToolUse", "tool_response": "ok"}, "told")
    reply = client.says(stop("claude-code", "Now I will write the tests."), "stop")

    assert b"write the tests" in reply.stdout
    client.interlock.close()


def test_before_an_agent_forgets_its_work_is_saved(tmp_path: Path) -> None:
    client = Client("claude-code")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "work.txt").write_text("half of it")
    client.says({**call("claude-code", "ls"), "cwd": str(tmp_path)})
    client.says({**prompt("claude-code", ""), "hook_event_name": "PreCompact"}, "told")

    (run,) = client.runs
    assert run.state.control.checkpoints == 1
    client.interlock.close()


def test_a_hook_without_a_name_is_answered_in_the_words_of_whom_it_is_from(client: Client) -> None:
    nameless = Client()
    reply = nameless.says(call(client.name, "rm -rf /etc"))

    assert reply == client.says(call(client.name, "rm -rf /etc"))
    assert not RUNS[client.name](*reply)
    nameless.interlock.close()


def test_copilot_that_runs_hooks_for_claude_code_is_answered_in_its_own_way() -> None:
    client = Client("claude-code")
    payload = {
        "hook_event_name": "PreToolUse",
        "session_id": "s-1",
        "timestamp": "2026-11-15T00:24:21.592Z",
        "cwd": "/",
        "tool_name": "Bash",
        "tool_input": {"command": "rm -rf /etc"},
    }
    reply = client.says(payload)

    assert b'"permissionDecision":"deny"' in reply.stdout
    rows = client.interlock.ledger.rows.runs(limit=5)
    assert [row.agent for row in rows if row.agent] == ["copilot"]
    client.interlock.close()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(name=st.sampled_from(CLIENTS), data=st.data())
def test_a_call_that_was_twisted_never_runs_something_dangerous(
    name: str, data: st.DataObject
) -> None:
    """Whatever is put in place of one of its parts: it is refused, or it is another call."""
    payload = call(name, "rm -rf /etc")
    twisted = data.draw(st.sampled_from(sorted(payload)))
    payload[twisted] = data.draw(values)
    client = Client(name)
    reply = client.says(payload)
    client.interlock.close()

    is_command = any(
        isinstance(payload.get(key), dict) and payload[key].get("command") == "rm -rf /etc"
        for key in ("tool_input", "toolArgs", "args")
    )
    is_call = payload.get("hook_event_name") in ("PreToolUse", "BeforeTool", None)
    is_call &= payload.get("opencode", "call") == "call"
    if is_command and is_call and twisted not in ("tool_name", "toolName", "tool"):
        assert not RUNS[name](*reply)


@given(name=st.sampled_from([*CLIENTS, "auto"]), payload=st.binary() | values)
def test_nothing_breaks_who_answers(name: str, payload: object) -> None:
    client = Client(name)
    given = payload if isinstance(payload, bytes) else msgspec.json.encode(payload)
    code, _, complaint = client.says(given)
    client.interlock.close()

    assert code in (0, 2)
    assert code == 0 or complaint.strip()


@given(st.dictionaries(st.text(max_size=20), values, max_size=8))
def test_whoever_it_is_is_said_or_not_known(payload: dict[str, object]) -> None:
    known = {*CLIENTS, "copilot-as-claude", "interlock", None}
    assert client_of(payload) in known


SHARED = os.environ.get("INTERLOCK_SHARED")
CAPTURED = {
    "claude-code-2.1.325": "claude-code",
    "codex-0.166.0": "codex",
    "copilot-cli-1.0.102-PascalCase": "claude-code",
    "copilot-cli-1.0.102-camelCase": "copilot",
    "gemini-cli-0.61.0": "gemini",
    "opencode-1.18.18": "opencode",
}
_CALLS = ("PreToolUse", "preToolUse", "BeforeTool", "tool.execute.before")
_STOPS = ("Stop", "SubagentStop", "agentStop", "AfterAgent")


@pytest.mark.skipif(SHARED is None, reason="INTERLOCK_SHARED is unset: no captured payloads")
@pytest.mark.parametrize("file", sorted(CAPTURED))
def test_what_real_clients_sent_is_answered(file: str) -> None:
    """Every captured payload, to the client that it is from and to whoever recognises it."""
    captured = Path(SHARED or "") / "clients" / "fixtures" / f"{file}.json"
    for name in (CAPTURED[file], "auto"):
        client = Client(name)
        answers: dict[str, object] = {}
        for event, payload in msgspec.json.decode(captured.read_bytes()).items():
            word = "stop" if event in _STOPS else "" if event.startswith(_CALLS) else "told"
            reply = client.says(payload, *filter(None, [word]))
            said = _IDS.sub("ID", (reply.stdout or reply.stderr).decode()).strip()
            answers[event] = [reply.code, said]
        assert answers == EXPECTED[file]
        client.interlock.close()


_IDS = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=interlock approve )\w{6}"
)
EXPECTED = msgspec.json.decode(Path(__file__).with_name("captured_answers.json").read_bytes())
