"""A client that sends its hooks over HTTP is answered as one that runs a process for each."""

from __future__ import annotations

from adapters.client_readings import RUNS, call, is_sent_on, stop
from server.served import Served

CLAUDE = "/v1/hooks/claude-code"


def test_every_client_is_answered_in_its_own_words(served: Served) -> None:
    for client, runs in RUNS.items():
        refused = served.post(f"/v1/hooks/{client}", call(client, "rm -rf /etc", client))
        harmless = served.post(f"/v1/hooks/{client}", call(client, "ls", client, 2))

        # What is no success is no answer to a client: it is set to refuse then.
        assert refused.status == 422 or not runs(0, refused.body, b""), client
        assert harmless.status in (200, 204)
        assert harmless.status == 204 or runs(0, harmless.body, b"")


def test_the_run_is_that_of_the_agent_who_shows_its_token(served: Served) -> None:
    served.post(CLAUDE, call("claude-code", "ls"))
    below = {**call("claude-code", "ls", number=2), "agent_id": "a-1", "agent_type": "scout"}
    served.post(CLAUDE, below)

    runs = served.get("/v1/runs").value["runs"]
    states = [served.get(f"/v1/runs/{run['id']}/state").value for run in runs]
    known = [(state["agent"], state["client"], len(state.get("ancestors", ()))) for state in states]
    assert sorted(known) == [("agent", "claude-code", 0), ("agent", "claude-code", 1)]


def test_an_early_stop_is_continued(served: Served) -> None:
    served.post(CLAUDE, call("claude-code", "ls"))
    seen = {**call("claude-code", "ls"), "hook_event_name": "PostToolUse", "tool_response": "a"}
    assert served.post(CLAUDE, seen).status == 204
    ended = served.post(CLAUDE, stop("claude-code", "I have read it. Next I will run the tests."))

    assert is_sent_on("claude-code", 0, ended.body, b"")


def test_whoever_is_no_agent_and_whatever_is_no_hook_is_refused(served: Served) -> None:
    payload = call("claude-code", "ls")

    assert served.post(CLAUDE, payload, as_="viewer").status == 403
    assert served.post(CLAUDE, payload, as_="operator").status == 403
    assert served.post("/v1/hooks/klingon", payload).status == 422
    assert served.post(CLAUDE, {"session_id": 7}).status == 422
    assert served.ask("POST", CLAUDE, payload).status == 401


def test_nobody_is_asked_at_the_prompt_where_the_client_says_that_nobody_is_there(
    served: Served,
) -> None:
    push = call("claude-code", "git push --force origin main")
    there = served.post(CLAUDE, push)
    nobody = served.post(
        CLAUDE, {**push, "tool_use_id": "call-2"}, headers={"Interlock-Attended": "0"}
    )

    assert b'"permissionDecision":"ask"' in there.body
    assert b'"permissionDecision":"deny"' in nobody.body


def test_an_agent_asks_for_no_run_of_another_one(served: Served) -> None:
    run = served.run()
    served.post(CLAUDE, call("claude-code", "ls"))
    before = served.get("/v1/runs").value

    spoken = served.post("/v1/hooks/interlock", {"run": run, "prompt": True}, as_="other")
    ended = served.post("/v1/hooks/interlock", {"run": run, "end": "completed"}, as_="other")
    asked = served.post(CLAUDE, call("claude-code", "ls", number=2), as_="other")

    assert b"is not one of `other`" in spoken.body
    assert b"is not one of `other`" in ended.body
    assert b"is not one of `other`" in asked.body
    assert served.get("/v1/runs").value == before
    assert served.post(CLAUDE, call("claude-code", "ls", number=3)).status == 204
