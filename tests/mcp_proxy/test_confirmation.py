"""Where a person has to agree: who is asked, in both eras, and how often it then happens."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from interlock.adapters.mcp.call_judge import Confirm
from interlock.errors import NotPermittedError
from interlock.ledger.verification import verify_all
from interlock.model.approval import ApprovalState
from interlock.model.events import ActionJudged, ApprovalDecided, ApprovalUsed
from interlock.model.principal import Principal, PrincipalKind, person_at
from interlock.model.short_code import code_of
from interlock.service.questions.run_entries import client_answered
from mcp_proxy.ends import FORMS, TOOLS, Both, Home, Json, both_ends, modern, run_to_end
from service.ledgers import operator_of
from service.stepping_runs import paused

_FORCE: Json = {"command": "git push --force"}
_YES: Json = {"action": "accept", "content": {"allow": True}}
_NOT_AGREED = [
    pytest.param({"action": "accept", "content": {"allow": False}}, id="accept, and no"),
    pytest.param({"action": "accept"}, id="accept, and nothing"),
    pytest.param({"action": "accept", "content": {"allow": "true"}}, id="accept, and a text"),
    pytest.param({"action": "decline"}, id="decline"),
    pytest.param({"action": "cancel"}, id="cancel"),
    pytest.param({}, id="nothing"),
]


Somebody = subprocess.Popen[bytes]


@pytest.fixture
def somebody() -> Iterator[Somebody]:
    """A process that a run can be of: whoever descends from a run's process decides nothing."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


async def _asked(ends: Both, is_modern: bool, answer: Json | None) -> Json:
    """Make the call that a person has to agree to, with an answer; return what comes of it."""
    meta = {"_meta": modern(FORMS)} if is_modern else {}
    ends.calls("run_command", _FORCE, **meta)
    question = await ends.client.hears()
    if not is_modern:
        assert question["method"] == "elicitation/create"
        assert "overwrites what others see" in question["params"]["message"]
        assert question["params"]["requestedSchema"]["required"] == ["allow"]
        reply = {"error": {"code": -1, "message": "no"}} if answer is None else {"result": answer}
        ends.client.says({"jsonrpc": "2.0", "id": question["id"], **reply})
        return {}
    result = question["result"]
    assert result["resultType"] == "input_required"
    (key,) = result["inputRequests"]
    assert result["inputRequests"][key]["method"] == "elicitation/create"
    again: Json = {**meta, "requestState": result["requestState"]}
    ends.calls(
        "run_command", _FORCE, **again, inputResponses={} if answer is None else {key: answer}
    )
    return again


@pytest.mark.parametrize("is_modern", [False, True])
def test_what_the_user_accepts_happens_once_and_is_on_record(home: Home, is_modern: bool):
    async def attempt() -> tuple[Json, Json]:
        async with both_ends(home, confirm=Confirm.ELICIT) as ends:
            await ends.greet(FORMS)
            await ends.list_tools()
            again = await _asked(ends, is_modern, _YES)
            called = await ends.server.hears()
            await ends.answers(called)
            # The word that was given is good for one answer.
            ends.calls("run_command", _FORCE, **again)
            heard = await ends.client.hears()
            assert ends.server.has_heard_all()
            return called, heard

    called, heard = run_to_end(attempt())

    assert called["params"]["arguments"] == _FORCE
    assert not {"requestState", "inputResponses"} & set(called["params"])
    assert heard.get("method") == "elicitation/create" or heard["result"]["isError"]
    events = home.events()
    decided = [each for each in events if isinstance(each, ApprovalDecided)]
    assert [each.state for each in decided][:1] == [ApprovalState.GRANTED]
    assert len([each for each in events if isinstance(each, ApprovalUsed)]) == 1
    with home.opened() as interlock:
        (approval,) = [
            each for each in interlock.approvals(None) if each.decided_by == "person:mcp"
        ]
        assert approval.state is ApprovalState.GRANTED
        with interlock.ledger.store.frozen() as rows:
            assert not [each for each in verify_all(rows, interlock.ledger.key) if each.problem]


@pytest.mark.parametrize("answer", [*_NOT_AGREED, pytest.param(None, id="an error")])
@pytest.mark.parametrize("is_modern", [False, True])
def test_whatever_else_the_user_says_is_a_no(home: Home, is_modern: bool, answer: Json | None):
    async def attempt() -> Json:
        async with both_ends(home, confirm=Confirm.ELICIT) as ends:
            await ends.greet(FORMS)
            await ends.list_tools()
            await _asked(ends, is_modern, answer)
            heard = await ends.client.hears()
            assert ends.server.has_heard_all()
            return heard["result"]

    result = run_to_end(attempt())

    assert result["isError"] is True
    assert "did not agree" in result["content"][0]["text"]


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {"url": {}}}, {"sampling": {}}])
@pytest.mark.parametrize("is_modern", [False, True])
def test_a_client_that_shows_no_forms_is_not_asked(home: Home, is_modern: bool, capabilities: Json):
    async def attempt() -> Json:
        async with both_ends(home, confirm=Confirm.ELICIT) as ends:
            await ends.greet({} if is_modern else capabilities)
            await ends.list_tools()
            meta = {"_meta": modern(capabilities)} if is_modern else {}
            ends.calls("run_command", _FORCE, **meta)
            return (await ends.client.hears())["result"]

    result = run_to_end(attempt())

    assert result["isError"] is True
    assert "does not show its user any questions" in result["content"][0]["text"]
    assert result["_meta"]["dev.interlock/decision"]["decision"] == "require-confirmation"


@pytest.mark.parametrize("other", ["other arguments", "no such word"])
def test_an_answer_is_good_for_its_own_call_only(home: Home, other: str):
    async def attempt() -> Json:
        async with both_ends(home, confirm=Confirm.ELICIT) as ends:
            await ends.list_tools()
            meta: Json = {"_meta": modern(FORMS)}
            ends.calls("run_command", _FORCE, **meta)
            question = (await ends.client.hears())["result"]
            state = question["requestState"] if other == "other arguments" else "interlock-guess"
            wanted = {"command": "git push --force --all"} if other == "other arguments" else _FORCE
            ends.calls(
                "run_command",
                wanted,
                **meta,
                requestState=state,
                inputResponses={"interlock": _YES},
            )
            heard = await ends.client.hears()
            assert ends.server.has_heard_all()
            return heard["result"]

    assert run_to_end(attempt())["isError"] is True


def test_a_question_of_the_server_itself_goes_on_with_the_same_call(home: Home):
    async def attempt() -> list[Json]:
        async with both_ends(home, confirm=Confirm.ELICIT) as ends:
            await ends.list_tools()
            await _asked(ends, True, _YES)
            first = await ends.server.hears()
            asks: Json = {
                "resultType": "input_required",
                "inputRequests": {"q": {}},
                "requestState": "s",
            }
            ends.server.says({"jsonrpc": "2.0", "id": first["id"], "result": asks})
            assert (await ends.client.hears())["result"] == asks
            again: Json = {"_meta": modern(FORMS), "requestState": "s", "inputResponses": {"q": {}}}
            ends.calls("run_command", _FORCE, **again)
            second = await ends.server.hears()
            await ends.answers(second)
            # Once more is another call.
            ends.calls("run_command", _FORCE, **again)
            return [second, await ends.client.hears()]

    second, third = run_to_end(attempt())

    assert second["params"]["requestState"] == "s"
    assert second["params"]["inputResponses"] == {"q": {}}
    assert third["result"]["resultType"] == "input_required"
    judged = [each for each in home.events() if isinstance(each, ActionJudged)]
    assert [each.decision.value for each in judged] == [
        "require-confirmation", "require-confirmation", "warn", "require-confirmation",
    ]  # fmt: skip


def test_an_operator_makes_the_inbox_the_one_to_ask(home: Home, somebody: Somebody):
    with home.opened() as interlock:
        token = operator_of(interlock)
        home.run_id = interlock.run("a test", process=somebody.pid).id

    async def attempt() -> list[Json]:
        async with both_ends(home) as ends:
            await ends.greet(FORMS)
            await ends.list_tools()
            ends.calls("run_command", _FORCE)
            refused = await ends.client.hears()
            approval = refused["result"]["_meta"]["dev.interlock/decision"]["approvalId"]
            assert (
                f"interlock approve {code_of(approval)}" in refused["result"]["content"][0]["text"]
            )
            with home.opened() as interlock:
                await asyncio.to_thread(interlock.approve, approval, token=token)
            ends.calls("run_command", _FORCE)
            await ends.answers(await ends.server.hears())
            ends.calls("run_command", _FORCE)
            return [refused["result"], (await ends.client.hears())["result"]]

    assert [each["isError"] for each in run_to_end(attempt())] == [True, True]


def test_a_call_waits_for_the_operator_as_long_as_it_was_told(home: Home, somebody: Somebody):
    with home.opened() as interlock:
        token = operator_of(interlock)
        home.run_id = interlock.run("a test", process=somebody.pid).id

    async def attempt() -> Json:
        async with both_ends(home, wait_s=300.0) as ends:
            await ends.list_tools()
            ends.calls("run_command", _FORCE)
            with home.opened() as interlock:
                await asyncio.to_thread(_approve_first, interlock, token)
            return await ends.answers(await ends.server.hears())

    assert "isError" not in run_to_end(attempt())["result"]


def _approve_first(interlock: Any, token: str) -> None:
    listener = interlock.ledger.listen()
    while not (waiting := interlock.approvals()):
        listener.wait(1.0)
    listener.close()
    interlock.approve(waiting[0].id, token=token)


@pytest.mark.parametrize("kind", [PrincipalKind.AGENT, PrincipalKind.USER, PrincipalKind.OPERATOR])
def test_only_a_client_answers_for_its_user(home: Home, kind: PrincipalKind):
    with home.opened() as interlock:
        asked = interlock.run("x").command("git push --force")
        question = client_answered(asked.approval_id or "", agreed=True)

        with pytest.raises(NotPermittedError, match="may not answer this"):
            interlock.governor.answer(question, Principal(kind=kind, name="eve"))


def test_a_client_answers_about_one_action_and_lifts_no_hold(home: Home):
    with home.opened() as interlock:
        question = client_answered(paused(interlock.run("x")), agreed=True)

        with pytest.raises(NotPermittedError, match="may not answer this"):
            interlock.governor.answer(question, person_at("mcp"))


def test_a_server_does_not_answer_in_the_place_of_the_user(home: Home):
    async def attempt() -> Json:
        async with both_ends(home, confirm=Confirm.ELICIT) as ends:
            await ends.greet(FORMS)
            ends.calls("run_command", _FORCE)
            listing = await ends.server.hears()
            ends.server.says(
                {"jsonrpc": "2.0", "id": listing["id"], "result": {"tools": list(TOOLS)}}
            )
            question = await ends.client.hears()
            assert question["method"] == "elicitation/create"
            ends.server.says({"jsonrpc": "2.0", "id": question["id"], "result": _YES})
            ends.server.says({"jsonrpc": "2.0", "id": "s", "method": "ping"})
            assert (await ends.client.hears())["method"] == "ping"
            no = {"action": "decline"}
            ends.client.says({"jsonrpc": "2.0", "id": question["id"], "result": no})
            return await ends.client.hears()

    assert run_to_end(attempt())["result"]["isError"] is True
