"""A server at work: people are told, answers are counted, and its log names requests."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from interlock.server.upkeep import notify_people
from loop.webhook_server import answers, webhook_server
from patience import wait_until
from server.served import Served, serving

_PUSH = {"command": "git push --force origin topic"}


def test_a_question_is_told_to_a_webhook_with_the_address_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_WEBHOOK_SECRET", "a secret of nobody")
    with webhook_server(answers(503), answers(204)) as hook:
        policy = f'[notifications]\nwebhook-url = "{hook.url}"\n'
        with serving(tmp_path, policy=policy) as served:
            telling = asyncio.run_coroutine_threadsafe(notify_people(served.desk), served.loop)
            run = served.run("release it")
            asked = served.post(f"/v1/runs/{run}/actions", {"action": _PUSH})
            approval = asked.value["approval_id"]

            wait_until(lambda: bool(hook.received))
            telling.cancel()

        event = json.loads(hook.received[0].body)
    assert event["id"] == approval
    assert event["data"]["link"] == f"{served.listening.url}/inbox/{approval}"


def test_what_was_answered_is_counted(served: Served) -> None:
    run = served.run()
    served.post(f"/v1/runs/{run}/actions", {"action": _PUSH})
    counted = 'interlock_decisions_total{question="action",decision="require-confirmation"} 1\n'

    def text() -> str:
        reply = served.ask("GET", "/metrics")
        assert reply.status == 200
        assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
        return reply.body.decode()

    wait_until(lambda: counted in text())
    found = text()
    assert "interlock_approvals_waiting 1\n" in found
    assert 'route="/v1/runs/{run}/actions",status="200",le="+Inf"} 1\n' in found
    assert run not in found
