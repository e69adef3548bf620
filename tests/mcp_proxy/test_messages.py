"""Does everything pass as it came, but what must not?"""

from __future__ import annotations

import json

import pytest

from interlock.model.action import ToolAction
from interlock.model.events import ActionJudged, ActionObserved, Outcome
from mcp_proxy.ends import NAME, TOOLS, Home, Json, both_ends, modern, run_to_end

_CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}'


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc": "2.0",  "id": 1.5, "method":"ping" }',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}',
        b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}',
        b'{"jsonrpc":"2.0","id":"s-1","result":{"roots":[{"uri":"file:///x"}],"_meta":{"a":1e2}}}',
        b'{"jsonrpc":"2.0","id":"s-2","error":{"code":-1,"message":"no"}}',
        b'{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{"ref":{},"x":1.0}}',
        b'{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"memo://\\u00e9"}}',
        b'{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"debug"}}',
        b'{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":"2"}}',
        b'{"jsonrpc":"2.0","id":6,"method":"server/discover","params":{"_meta":{"z":null}}}',
        b'{"jsonrpc":"2.0","id":7,"method":"something/new","params":{"deep":[{"er":[1]}]}}',
    ],
)
def test_what_a_client_says_reaches_the_server_byte_for_byte(home: Home, line: bytes):
    async def attempt() -> bytes | None:
        async with both_ends(home) as ends:
            ends.client.says(line)
            return await ends.server.hears_raw()

    assert run_to_end(attempt()) == line


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":0,"method":"sampling/createMessage","params":{"messages": []}}',
        b'{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?"}}',
        b'{"jsonrpc":"2.0","id":"r","method":"roots/list"}',
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.50}}',
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":1}}}',
        b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}',
        b'{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"memo://a"}}',
        b'{"jsonrpc":"2.0","id":"p","result":{"ttlMs":5,"resultType":"complete"}}',
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}',
        b'{"jsonrpc":"2.0","id":"p","error":{"code":-32601,"message":"Method not found"}}',
    ],
)
def test_what_a_server_says_reaches_the_client_byte_for_byte(home: Home, line: bytes):
    async def attempt() -> bytes | None:
        async with both_ends(home) as ends:
            ends.client.says({"jsonrpc": "2.0", "id": "p", "method": "ping"})
            await ends.server.hears()
            ends.server.says(line)
            return await ends.client.hears_raw()

    assert run_to_end(attempt()) == line


@pytest.mark.parametrize("other", ["1", 2, None])
def test_an_answer_to_what_nobody_asked_is_dropped(home: Home, other: object):
    async def attempt() -> Json:
        async with both_ends(home) as ends:
            ends.client.says({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            await ends.server.hears()
            ends.server.says({"jsonrpc": "2.0", "id": other, "result": {"tools": []}})
            ends.server.says({"jsonrpc": "2.0", "id": 1, "result": {"tools": list(TOOLS)}})
            return await ends.client.hears()

    assert run_to_end(attempt())["result"]["tools"] == list(TOOLS)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"hello", -32700),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]', -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}', -32600),
        (_CALL % b'{"Name":"x"}', -32600),
        (_CALL % b'{"name":"x","Arguments":{}}', -32600),
        (_CALL % b'{"name":"x","arguments":[]}', -32600),
        (b'{"jsonrpc":"2.0","method":"tools/call","params":{"name":"run_command"}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{}}', -32600),
        (_CALL % (b"[" * 3000 + b"]" * 3000), -32700),
    ],
)  # fmt: skip
def test_what_two_could_read_differently_reaches_nobody(home: Home, line: bytes, code: int):
    async def attempt() -> tuple[Json, bool]:
        async with both_ends(home) as ends:
            ends.client.says(line)
            heard = await ends.client.hears()
            ends.client.says({"jsonrpc": "2.0", "id": 2, "method": "ping"})
            return heard, (await ends.server.hears())["method"] == "ping"

    heard, goes_on = run_to_end(attempt())

    assert heard["error"]["code"] == code
    assert goes_on


def test_a_line_within_a_line_is_no_line(home: Home):
    hidden = b'{"jsonrpc":"2.0","id":1,"method":"x","params":\r{"jsonrpc":"2.0","id":2}\r}'

    async def attempt() -> bytes | None:
        async with both_ends(home) as ends:
            ends.client.says(hidden)
            return await ends.server.hears_raw()

    assert run_to_end(attempt()) == hidden.replace(b"\r", b" ")


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085"])
def test_a_text_ends_no_line_either(home: Home, mark: str):
    hidden = f'{mark}{{"jsonrpc":"2.0","id":2,"method":"tools/call"}}{mark}'
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"text": hidden}})

    async def attempt() -> bytes | None:
        async with both_ends(home) as ends:
            ends.client.says(json.dumps(json.loads(line), ensure_ascii=False).encode())
            return await ends.server.hears_raw()

    heard = run_to_end(attempt())

    assert heard is not None
    assert len(heard.decode().splitlines()) == 1
    assert json.loads(heard) == json.loads(line)


def test_a_server_that_asks_and_answers_in_one_message_is_not_heard(home: Home):
    async def attempt() -> Json:
        async with both_ends(home) as ends:
            ends.client.says({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
            await ends.server.hears()
            both = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            ends.server.says({**both, "result": {"tools": [{**TOOLS[1], "name": "lies"}]}})
            ends.server.says({"jsonrpc": "2.0", "id": 1, "result": {"tools": list(TOOLS)}})
            return await ends.client.hears()

    assert run_to_end(attempt())["result"]["tools"] == list(TOOLS)


def test_what_a_server_says_that_is_no_message_is_dropped(home: Home):
    async def attempt() -> Json:
        async with both_ends(home) as ends:
            ends.server.says(b"listening on port 1234")
            ends.server.says(b'{"jsonrpc":"2.0","id":1,"result":')
            ends.server.says(b'{"jsonrpc":"2.0","method":"notifications/message"}')
            return await ends.client.hears()

    assert run_to_end(attempt())["method"] == "notifications/message"


def test_a_harmless_call_passes_byte_for_byte_and_is_on_record(home: Home):
    line = (
        b'{"jsonrpc":"2.0", "id":"a","method":"tools/call","params":{"_meta":{"progressToken":7},'
        b'"name":"run_command","arguments":{"command":"ls"}}}'
    )
    answer = (
        b'{"jsonrpc":"2.0","id":"a","result":{"content":[{"type":"text","text":"x"}] ,'
        b'"structuredContent":{"n":1.0}}}'
    )

    async def attempt() -> tuple[bytes | None, bytes | None]:
        async with both_ends(home) as ends:
            await ends.list_tools()
            ends.client.says(line)
            heard = await ends.server.hears_raw()
            ends.server.says(answer)
            return heard, await ends.client.hears_raw()

    assert run_to_end(attempt()) == (line, answer)
    judged = [each for each in home.events() if isinstance(each, ActionJudged)]
    seen = [each for each in home.events() if isinstance(each, ActionObserved)]
    (action,) = [each.action for each in judged]
    assert isinstance(action, ToolAction)
    assert action.name == f"mcp__{NAME}__run_command"
    assert [each.outcome for each in seen] == [Outcome.OK]


def test_a_server_that_nobody_asked_is_asked_for_its_tools_page_by_page(home: Home):
    async def attempt() -> list[Json]:
        async with both_ends(home) as ends:
            ends.calls("echo", {"text": "x"}, _meta={**modern(), "own": 1})
            asked: list[Json] = []
            for page, tool in enumerate(TOOLS):
                listed = await ends.server.hears()
                asked.append(listed["params"])
                more = {"nextCursor": str(page)} if page == 0 else {}
                result = {"tools": [tool], **more}
                ends.server.says({"jsonrpc": "2.0", "id": listed["id"], "result": result})
            called = await ends.server.hears()
            assert called["params"]["_meta"]["own"] == 1
            await ends.answers(called)
            return asked

    assert run_to_end(attempt()) == [{"_meta": modern()}, {"_meta": modern(), "cursor": "0"}]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("run_command", {"command": "rm -rf /"}, "deletes the system"),
        ("run_command", {}, "`command` is missing"),
        ("run_command", {"command": 1}, "a number, expected `type`"),
        ("run_command", {"command": "ls", "x": 1}, "`x` is not a parameter"),
        ("hidden", {}, "lists no tool `hidden`"),
    ],
)
@pytest.mark.parametrize("is_modern", [False, True])
def test_a_refusal_is_a_result_that_a_model_reads(
    home: Home, tool: str, arguments: Json, said: str, is_modern: bool
):
    async def attempt() -> Json:
        async with both_ends(home) as ends:
            await ends.list_tools()
            ends.calls(tool, arguments, **({"_meta": modern()} if is_modern else {}))
            if tool == "hidden":
                listed = await ends.server.hears()
                ends.server.says({"jsonrpc": "2.0", "id": listed["id"], "result": {"tools": []}})
            heard = await ends.client.hears()
            assert ends.server.has_heard_all()
            return heard["result"]

    result = run_to_end(attempt())

    assert result["isError"] is True
    assert said in result["content"][0]["text"]
    assert result["_meta"]["dev.interlock/decision"]["decision"] == "block"
    assert result.get("resultType") == ("complete" if is_modern else None)


def test_resources_and_prompts_are_judged_by_the_names_of_their_methods(home: Home):
    home.policy.write_text(
        "version = 1\n[tool-allowlist]\n"
        'deny = ["mcp__small__resources/read", "mcp__*__prompts/get"]\n'
    )

    async def attempt() -> list[Json]:
        async with both_ends(home) as ends:
            for method, params in (
                ("resources/read", {"uri": "memo://a"}),
                ("prompts/get", {"name": "greet", "arguments": {"a": "b"}}),
            ):
                ends.client.says(
                    {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
                )
            return [await ends.client.hears(), await ends.client.hears()]

    for heard in run_to_end(attempt()):
        assert heard["error"]["code"] == -31403
        assert "is denied by" in heard["error"]["message"]
        assert heard["error"]["data"]["dev.interlock/decision"]["decision"] == "block"


@pytest.mark.parametrize("broken", ["version = 1\nunknown = 1\n", "not toml"])
def test_where_judging_breaks_nothing_is_called(home: Home, broken: str):
    home.policy.write_text(broken)

    async def attempt() -> Json:
        async with both_ends(home) as ends:
            await ends.list_tools()
            ends.calls("echo", {})
            heard = await ends.client.hears()
            assert ends.server.has_heard_all()
            return heard["result"]

    assert run_to_end(attempt())["isError"] is True


def test_a_schema_that_cannot_be_used_lets_nothing_through(home: Home):
    remote: Json = {"name": "far", "inputSchema": {"$ref": "https://example.com/schema.json"}}

    async def attempt() -> Json:
        async with both_ends(home) as ends:
            await ends.list_tools(remote)
            ends.calls("far", {})
            return (await ends.client.hears())["result"]

    result = run_to_end(attempt())

    assert result["isError"] is True
    assert "cannot be used" in result["content"][0]["text"]


def test_a_call_that_is_cancelled_while_it_is_judged_never_happens(home: Home):
    async def attempt() -> None:
        async with both_ends(home) as ends:
            number = ends.calls("echo", {})
            listed = await ends.server.hears()
            assert listed["method"] == "tools/list"
            cancel = {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": number},
            }
            ends.client.says(cancel)
            withdrawn = await ends.server.hears()
            assert withdrawn["params"]["requestId"] == listed["id"]
            ends.client.says({"jsonrpc": "2.0", "id": 9, "method": "ping"})
            assert (await ends.server.hears())["method"] == "ping"
            assert ends.client.has_heard_all()

    run_to_end(attempt())


def test_a_call_under_way_is_cancelled_at_the_server(home: Home):
    async def attempt() -> None:
        async with both_ends(home) as ends:
            await ends.list_tools()
            number = ends.calls("echo", {})
            await ends.server.hears()
            cancel = {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": number},
            }
            ends.client.says(cancel)
            assert await ends.server.hears() == cancel

    run_to_end(attempt())


def test_whoever_uses_an_id_twice_is_told(home: Home):
    async def attempt() -> Json:
        async with both_ends(home) as ends:
            await ends.list_tools()
            ends.calls("echo", {})
            called = await ends.server.hears()
            ends.client.says({**called, "params": {"name": "run_command", "arguments": {}}})
            return await ends.client.hears()

    assert "still under way" in run_to_end(attempt())["error"]["message"]


def test_a_server_that_ends_leaves_no_call_without_an_answer(home: Home):
    async def attempt() -> list[Json]:
        async with both_ends(home) as ends:
            ends.calls("echo", {})
            listed = await ends.server.hears()
            ends.server.says(
                {"jsonrpc": "2.0", "id": listed["id"], "result": {"tools": list(TOOLS)}}
            )
            await ends.server.hears()
            ends.client.says({"jsonrpc": "2.0", "id": "p", "method": "ping"})
            await ends.server.hears()
            ends.server.says(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
            await ends.client.hears()
            ends.calls("run_command", {"command": "ls"})
            await ends.server.hears()
            ends.server.says(None)
            return [await ends.client.hears(), await ends.client.hears()]

    answers = [each["result"] for each in run_to_end(attempt())]

    assert all(each["isError"] for each in answers)
    assert "whether it did anything is not known" in answers[0]["content"][0]["text"]
    assert "before the call reached it" in answers[1]["content"][0]["text"]


def test_a_warning_stands_beside_the_result(home: Home):
    home.policy.write_text(
        'version = 1\n[[rules]]\nid = "mind"\nwhen = "true"\ndecision = "warn"\n'
        'message = "mind it"\n'
    )

    async def attempt() -> Json:
        async with both_ends(home) as ends:
            await ends.list_tools()
            ends.calls("echo", {})
            called = await ends.server.hears()
            result: Json = {"content": [], "_meta": {"own": 1}, "structuredContent": {"n": 1}}
            ends.server.says({"jsonrpc": "2.0", "id": called["id"], "result": result})
            return (await ends.client.hears())["result"]

    result = run_to_end(attempt())

    assert result["_meta"]["own"] == 1
    assert result["_meta"]["dev.interlock/decision"]["decision"] == "warn"
    assert result["structuredContent"] == {"n": 1}


def test_a_large_result_passes_whole(home: Home):
    text = "x" * 5_000_000

    async def attempt() -> Json:
        async with both_ends(home) as ends:
            await ends.list_tools()
            ends.calls("echo", {})
            return await ends.answers(await ends.server.hears(), text)

    assert run_to_end(attempt())["result"]["content"][0]["text"] == text


def test_parallel_calls_are_all_judged(home: Home):
    async def attempt() -> tuple[list[str], list[int]]:
        async with both_ends(home) as ends:
            await ends.list_tools()
            for command in ("ls", "rm -rf /", "pwd", "rm -rf ~"):
                ends.calls("run_command", {"command": command})
            refused = [await ends.client.hears(), await ends.client.hears()]
            heard = [await ends.server.hears(), await ends.server.hears()]
            return (
                sorted(each["params"]["arguments"]["command"] for each in heard),
                sorted(each["id"] for each in refused),
            )

    assert run_to_end(attempt()) == (["ls", "pwd"], [2, 4])
