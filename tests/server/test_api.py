"""What programs ask of a ledger over HTTP, from end to end."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import msgspec
import pytest

from house.repository import ROOT
from interlock.model.answers import Answer
from interlock.model.events import Record
from interlock.model.run import RunState
from interlock.server.api.endpoints import ENDPOINTS
from patience import LONG_ENOUGH_S
from server.served import Reply, Served

PUSH = {"action": {"command": "git push --force origin main"}}


def test_an_answer_is_the_value_that_python_gives(served: Served) -> None:
    run = served.run()
    answer = served.post(f"/v1/runs/{run}/actions", PUSH)

    value = msgspec.json.decode(answer.body, type=Answer)
    assert value.waits_for_person
    state = msgspec.json.decode(served.get(f"/v1/runs/{run}/state").body, type=RunState)
    assert state == served.desk.governor.state(run)


@pytest.mark.parametrize(
    ("word", "state", "then"), [("approve", "granted", "warn"), ("deny", "denied", "block")]
)
def test_whoever_waits_is_woken_by_a_decision(
    served: Served, word: str, state: str, then: str
) -> None:
    run = served.run()
    asked = served.post(f"/v1/runs/{run}/actions", PUSH).value["approval_id"]
    told: list[Reply] = []

    def wait() -> None:
        told.append(served.get(f"/v1/approvals/{asked}/wait?seconds=60", as_="agent"))

    waiting = threading.Thread(target=wait)
    waiting.start()
    decided = served.post(f"/v1/approvals/{asked}/{word}", {"note": "so"}, as_="operator")
    waiting.join(LONG_ENOUGH_S)

    assert decided.value["decided_by"] == "operator:operator"
    assert told[0].value["state"] == decided.value["state"] == state
    assert served.post(f"/v1/runs/{run}/actions", PUSH).value["decision"] == then


def test_patience_ends(served: Served) -> None:
    run = served.run()
    asked = served.post(f"/v1/runs/{run}/actions", PUSH).value["approval_id"]

    answer = served.get(f"/v1/approvals/{asked}/wait?seconds=0", as_="agent")

    assert answer.value.get("state", "pending") == "pending"


def test_runs_come_a_page_at_a_time(served: Served) -> None:
    made = [served.run(f"task {number}", project="p" if number % 2 else "q") for number in range(7)]
    found: list[str] = []
    path = "/v1/runs?limit=3"
    cursor = None
    while not found or cursor is not None:
        page = served.get(path if cursor is None else f"{path}&cursor={cursor}").value
        found += [each["id"] for each in page["runs"]]
        cursor = page["cursor"]

    assert found == made[::-1]
    assert len(served.get("/v1/runs?project=p").value["runs"]) == 3
    assert [each["id"] for each in served.get("/v1/runs?q=TASK+4").value["runs"]] == [made[4]]
    assert served.get("/v1/runs?state=finished").value == {"runs": [], "cursor": None}


def test_questions_come_a_page_at_a_time(served: Served) -> None:
    run = served.run()
    lines = [f"git push --force origin b{number}" for number in range(5)]
    for line in lines:
        assert served.post(f"/v1/runs/{run}/actions", {"action": {"command": line}}).status == 200
    found: list[str] = []
    cursor = ""
    while cursor is not None:
        page = served.get(f"/v1/approvals?limit=2&run={run}{cursor and f'&cursor={cursor}'}").value
        found += [each["summary"] for each in page["approvals"]]
        cursor = page["cursor"]

    assert len(found) == len(lines)
    assert all(line in said for line, said in zip(lines, found, strict=True))
    assert served.get("/v1/approvals?cursor=yesterday").status == 422


def test_records_come_a_page_at_a_time_as_they_were_written(served: Served) -> None:
    run = served.run()
    for number in range(5):
        served.post(f"/v1/runs/{run}/beliefs", {"name": f"b{number}", "supporting": 1})
    hashes: list[str] = []
    after: int | None = 0
    while after is not None:
        page = served.get(f"/v1/runs/{run}/records?after={after}&limit=2").value
        hashes += [each["hash"] for each in page["records"]]
        after = page["after"]

    assert hashes == [row.hash for row in served.desk.ledger.rows.records(run)]
    one = served.get(f"/v1/runs/{run}/records/2").value
    assert one["hash"] == hashes[1]
    assert msgspec.convert(one["record"], Record).seq == 2


def test_the_whole_ledger_is_exported_and_goes_on_from_anywhere(served: Served) -> None:
    run = served.run()
    served.post(f"/v1/runs/{run}/actions", PUSH)
    lines = [
        msgspec.json.decode(each) for each in served.get("/v1/ledger/export").body.splitlines()
    ]
    rest = served.get(f"/v1/ledger/export?after={lines[4]['position']}")

    assert len(lines) == served.desk.ledger.rows.head().records
    assert rest.headers["content-type"] == "application/x-ndjson"
    assert [msgspec.json.decode(each) for each in rest.body.splitlines()] == lines[5:]


def test_what_is_recorded_is_told_as_it_happens(served: Served) -> None:
    connection = served.connection()
    headers = {"authorization": f"Bearer {served.tokens['viewer']}"}
    connection.request("GET", "/v1/stream", headers=headers)
    events = connection.getresponse()
    assert events.getheader("content-type") == "text/event-stream"
    assert events.readline() == b"retry: 1000\n"

    run = served.run()
    lines = [events.readline() for _ in range(5)]
    connection.close()

    assert any(f'"run":"{run}"'.encode() in each for each in lines), lines


def test_a_policy_is_tried_shown_and_taken_and_written_where_the_next_start_finds_it(
    served: Served, tmp_path: Path
) -> None:
    before = served.get("/v1/policy").value["hash"]
    head = served.desk.ledger.rows.head()
    tried = served.post("/v1/policy/try", {"action": {"command": "rm -rf /"}}, as_="viewer")
    assert tried.value["verdict"]["decision"] == "block"
    assert served.desk.ledger.rows.head() == head
    text = "version = 1\n[limits]\ncommand-bytes = 4000\n"

    bad = served.post("/v1/policy/adopt", {"policy": "version = 1\nx = 2\n"}, as_="admin")
    taken = served.post("/v1/policy/adopt", {"policy": text}, as_="admin")

    assert bad.status == 422
    assert bad.value["complaints"]
    assert taken.value["hash"] == served.get("/v1/policy").value["hash"] != before
    assert (tmp_path / "config" / "policy.toml").read_text() == text
    version = served.get("/v1/policy/versions?limit=1").value[0]
    assert (version["by"], version["hash"]) == ("operator:admin", taken.value["hash"])


def test_budgets_are_set_and_seen(served: Served) -> None:
    run = served.run()
    token = served.tokens["operator"]
    path = f"/v1/budgets/run/{run}"

    changed = served.ask("PUT", path, {"budget": {"tokens": 10}, "note": "so"}, token=token)

    assert changed.value[0]["after"] == 10
    assert served.get(path).value["limits"]["tokens"] == 10


def test_a_run_is_halted_and_lifted_by_people(served: Served) -> None:
    run = served.run()
    halted = served.post(f"/v1/runs/{run}/halt", {"reason": "no"}, as_="operator").value
    blocked = served.post(f"/v1/runs/{run}/actions", {"action": {"command": "ls"}}).value
    lifted = served.post(f"/v1/runs/{run}/lift", {"reason": "yes"}, as_="operator").value

    all_halted = served.post("/v1/halt", {"reason": "no"}, as_="operator").value
    refused = served.post("/v1/runs", {"task": "another"})
    served.post("/v1/lift", {"reason": "yes"}, as_="operator")

    assert all_halted == {"runs": 1}
    assert (refused.status, refused.value["type"]) == (409, "urn:interlock:error:HaltedError")
    assert halted["hold"]["reason"] == "no"
    assert blocked["decision"] == "block"
    assert lifted["hold"] is None


def test_the_ledger_holds_and_every_answer_is_the_same_again(served: Served) -> None:
    run = served.run()
    served.post(f"/v1/runs/{run}/actions", PUSH)

    assert served.post("/v1/ledger/verify", as_="viewer").value["faults"] == []
    assert served.post("/v1/ledger/verify", {"run": run}, as_="viewer").value["runs"] == 1
    replayed = served.post(f"/v1/runs/{run}/replay", as_="viewer").value
    assert (replayed["answers"], replayed["differences"]) == (1, {})


def test_everything_that_can_be_asked_stands_in_the_docs() -> None:
    told = (ROOT / "docs" / "http-api.md").read_text("utf-8")
    asked = {f"`{each.method} {re.sub(':path', '', each.path)}`" for each in ENDPOINTS}

    assert sorted(each for each in asked if each not in told) == []
