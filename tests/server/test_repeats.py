"""The same request again: carried out once, answered the same, also by a server started since."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from interlock import Interlock
from patience import LONG_ENOUGH_S
from server.served import Reply, Served, environment_in, serving_apart
from service.ledgers import operator_of

KEY = {"idempotency-key": "k-1"}
LINE = {"action": {"command": "ls"}}
NOTE = {"specversion": "1.0", "id": "7", "source": "ci", "type": "ci/build.failed"}


def records(served: Served, run: str) -> list[str]:
    return [row.kind for row in served.desk.ledger.rows.records(run)]


def test_a_run_is_started_once(served: Served) -> None:
    first = served.post("/v1/runs", {"task": "x"}, headers=KEY)
    again = served.post("/v1/runs", {"task": "x"}, headers=KEY)
    other = served.post("/v1/runs", {"task": "y"}, headers=KEY)
    of_another = served.post("/v1/runs", {"task": "x"}, headers=KEY, as_="other")

    assert first.status == again.status == of_another.status == 201
    assert first.value["id"] == again.value["id"] != of_another.value["id"]
    assert records(served, first.value["id"]) == ["run-started"]
    assert other.status == 409
    assert other.value["type"] == "urn:interlock:error:KeyConflictError"


def test_a_run_that_went_on_is_still_the_same(served: Served) -> None:
    run = served.post("/v1/runs", {"task": "x"}, headers=KEY).value["id"]
    served.post(f"/v1/runs/{run}/actions", LINE)

    assert served.post("/v1/runs", {"task": "x"}, headers=KEY).value["id"] == run


@pytest.mark.parametrize(
    ("word", "body"),
    [
        ("actions", LINE),
        ("steps", {"said": "on"}),
        ("stops", {"text": "done"}),
        ("usage", {"usage": {"input_tokens": 5}}),
        ("violations", {"rule": "r", "message": "m"}),
        ("beliefs", {"name": "n", "supporting": 1}),
        ("observations", {"action": {"command": "ls"}, "exit_code": 0}),
        ("reviews", {"review_id": "r", "gates": [{"id": "g", "criteria": ["c"]}]}),
    ],
)
def test_what_is_sent_again_under_its_key_counts_once(
    served: Served, word: str, body: dict[str, object]
) -> None:
    run = served.run()
    path = f"/v1/runs/{run}/{word}"
    first = served.post(path, body, headers=KEY)
    recorded = records(served, run)

    again = served.post(path, body, headers=KEY)

    assert first.status == again.status == 200, first.body
    assert records(served, run) == recorded
    # The questions say of themselves that they were asked before.
    assert {**first.value, "repeated": True} == {**again.value, "repeated": True}


@pytest.mark.parametrize("word", ["actions", "usage"])
def test_another_request_under_the_same_key_is_refused(served: Served, word: str) -> None:
    run = served.run()
    is_action = word == "actions"
    one = LINE if is_action else {"usage": {"input_tokens": 1}}
    other = {"action": {"command": "pwd"}} if is_action else {"usage": {"input_tokens": 2}}
    assert served.post(f"/v1/runs/{run}/{word}", one, headers=KEY).status == 200

    answer = served.post(f"/v1/runs/{run}/{word}", other, headers=KEY)

    assert answer.status == 409
    assert answer.value["type"] == "urn:interlock:error:KeyConflictError"


def test_a_key_is_of_whoever_shows_it_and_of_one_address(served: Served) -> None:
    one, other = served.run(), served.run(as_="other")
    body = {"usage": {"input_tokens": 1}}

    assert served.post(f"/v1/runs/{one}/usage", body, headers=KEY).status == 200
    assert served.post(f"/v1/runs/{other}/usage", body, headers=KEY, as_="other").status == 200
    assert records(served, other) == ["run-started", "usage-reported"]


def test_a_request_that_failed_may_be_sent_again(served: Served) -> None:
    run = served.run()

    assert served.post(f"/v1/runs/{run}/usage", {"usage": 5}, headers=KEY).status == 422
    assert served.post(f"/v1/runs/{run}/usage", {"usage": {}}, headers=KEY).status == 200


def test_many_at_once_are_carried_out_once(served: Served) -> None:
    run = served.run()
    told: list[Reply] = []

    def send() -> None:
        told.append(served.post(f"/v1/runs/{run}/usage", {"usage": {}}, headers=KEY))

    threads = [threading.Thread(target=send) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_ENOUGH_S)

    assert [each.status for each in told] == [200] * 8
    assert records(served, run) == ["run-started", "usage-reported"]


def test_a_decision_that_is_sent_again_is_the_same(served: Served) -> None:
    run = served.run()
    line = {"action": {"command": "git push --force origin main"}}
    asked = served.post(f"/v1/runs/{run}/actions", line).value["approval_id"]
    path = f"/v1/approvals/{asked}/approve"
    first = served.post(path, {"note": "go"}, as_="operator", headers=KEY)
    served.desk.repeats._known.clear()

    again = served.post(path, {"note": "go"}, as_="operator", headers=KEY)
    without = served.post(path, {"note": "go"}, as_="operator")

    assert first.status == again.status == 200
    assert first.value == again.value
    assert without.status == 409


def test_a_server_that_was_killed_in_between_knows_what_was_done(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment_in(tmp_path).items():
            patch.setenv(name, value)
        with Interlock.open() as interlock:
            ada = operator_of(interlock)
            agent = interlock.add_agent("agent", token=ada)
    answers: list[list[Reply]] = []
    for _ in range(2):
        with serving_apart(tmp_path) as server:
            run = server.ask("POST", "/v1/runs", {"task": "x"}, token=agent, headers=KEY)
            path = f"/v1/runs/{run.value['id']}"
            asked = server.ask("POST", f"{path}/actions", LINE, token=agent, headers=KEY)
            step = server.ask("POST", f"{path}/steps", {"said": "on"}, token=agent, headers=KEY)
            event = server.ask("POST", "/v1/events", NOTE, token=agent, headers=KEY)
            spent = {"usage": {"input_tokens": 5}}
            used = server.ask("POST", f"{path}/usage", spent, token=agent, headers=KEY)
            answers.append([run, asked, step, event, used])
            state = server.ask("GET", f"{path}/state", token=agent)
            assert state.value["spent"]["tokens"] == 5
            server.kill()

    first, again = answers
    assert [each.status for each in first] == [201, 200, 200, 202, 200]
    assert [each.status for each in again] == [201, 200, 200, 202, 200]
    assert first[0].value["id"] == again[0].value["id"]
    assert first[1].value["action_id"] == again[1].value["action_id"]
    assert (first[2].value["seq"], again[2].value["repeated"]) == (again[2].value["seq"], True)
    assert (first[3].value["new"], again[3].value["new"]) == (True, False)
