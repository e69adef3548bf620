"""What was emitted arrives: once for whoever looks at ids, however long it takes."""

from __future__ import annotations

import json

import pytest

from interlock.errors import InputError
from interlock.loop.control_loop import ControlLoop
from interlock.model.loop_events import DeliveryAttempted
from interlock.model.system_loop import LOOP_RUN, CycleOutcome
from interlock.service.records.holds import halt_all, lift_all
from loop.loop_bench import ADA, LoopBench, answered, ticked
from loop.webhook_server import (
    Behaviour,
    WebhookServer,
    answers,
    hangs,
    refused_port,
    webhook_server,
)
from patience import wait_until
from service.ledgers import SECOND, HandClock, events_of

SECRET = "HOOK_SECRET"
HOUR_S = 3600


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SECRET, "a long plain passphrase")


def sinks(url: str, *, timeout_s: int = 10, kind: str = "webhook") -> str:
    return f"""
[[loop.sinks]]
name = "ops"
kind = "{kind}"
url = "{url}/hook"
secret-variable = "{SECRET}"
timeout-seconds = {timeout_s}
"""


def alerted(loop: ControlLoop, clock: HandClock, name: str = "e1") -> str:
    """Have an alert emitted; return the id of its event."""
    loop.send("ci/failed", None, event_id=name)
    decided = answered(loop, clock)
    assert decided.outcome is CycleOutcome.EMITTED
    assert decided.emitted is not None
    return decided.emitted.id


def until_later(loop: ControlLoop, clock: HandClock, *, seconds: int) -> None:
    """Let time go from one delivery that is due to the next, and try each."""
    ends = clock.now() + seconds * SECOND
    while (waiting := loop.outbox.waiting()) and waiting[0].at <= ends:
        clock.at = max(clock.at, waiting[0].at)
        loop.outbox.deliver_due()
    clock.at = max(clock.at, ends)


def attempts(bench: LoopBench, sink: str = "ops") -> list[DeliveryAttempted]:
    events = events_of(bench.interlock.ledger, LOOP_RUN)
    return [
        event for event in events if isinstance(event, DeliveryAttempted) and event.sink == sink
    ]


def ids(server: WebhookServer) -> set[str]:
    return {json.loads(each.body)["id"] for each in server.received}


@pytest.mark.parametrize(
    ("behaviour", "timeout_s", "why", "count"),
    [
        pytest.param(answers(500, b"oops"), 10, "500", 2, id="answers 500"),
        pytest.param(
            answers(503, b"", retry_after="600"), 10, "503", 2, id="asks to be left alone"
        ),
        pytest.param(hangs, 1, "1 s", 1, id="slow"),
    ],
)
def test_a_webhook_that_fails_for_an_hour_gets_everything_afterwards_under_the_same_ids(
    bench: LoopBench, behaviour: Behaviour, timeout_s: int, why: str, count: int
) -> None:
    with webhook_server(behaviour) as server:
        policy = sinks(server.url, timeout_s=timeout_s)
        loop = bench.loop(policy)
        sent = {alerted(loop, bench.clock, f"e{number}") for number in range(count)}
        until_later(loop, bench.clock, seconds=HOUR_S)

        assert set(loop.chain.state.outgoing) == sent
        errors = [each.error or "" for each in attempts(bench)]
        assert all("sink `ops`" in each and why in each for each in errors)
        assert all("passphrase" not in each and "/hook" not in each for each in errors)
        tried = len(errors)
        # The last one may still be on its way: nobody waits for the answer any more.
        wait_until(lambda: len(server.received) >= tried)
        assert len(server.received) == tried < 40
        assert ids(server) == sent

        server._script[:] = [answers(200)]
        loop = bench.reopened(sinks(server.url))
        until_later(loop, bench.clock, seconds=HOUR_S)

        assert loop.chain.state.outgoing == {}
        assert len(server.received) == tried + count
        assert ids(server) == sent
    # What Interlock does itself did not wait for anybody, and was done once.
    assert {line["id"] for line in bench.written("alerts.jsonl")} == sent
    assert len(bench.written("alerts.jsonl")) == count


def test_a_webhook_that_is_down_is_tried_less_and_less_often(bench: LoopBench) -> None:
    loop = bench.loop(sinks(f"http://localhost:{refused_port()}"))
    alerted(loop, bench.clock)
    until_later(loop, bench.clock, seconds=HOUR_S)

    found = attempts(bench)
    assert [each.attempt for each in found] == list(range(1, len(found) + 1))
    assert 8 <= len(found) <= 16
    pauses = [
        after - before
        for before, after in zip(
            [each.next_at or 0 for each in found],
            [each.next_at or 0 for each in found[1:]],
            strict=False,
        )
    ]
    assert max(pauses) <= 15 * 60 * SECOND
    assert all("refused" in (each.error or "") for each in found)


def test_what_only_a_person_can_change_is_tried_again_after_an_hour(bench: LoopBench) -> None:
    with webhook_server(answers(401), answers(200)) as server:
        loop = bench.loop(sinks(server.url))
        alerted(loop, bench.clock)
        until_later(loop, bench.clock, seconds=HOUR_S - 60)
        assert len(server.received) == 1
        until_later(loop, bench.clock, seconds=120)

        assert len(server.received) == 2
    assert loop.chain.state.outgoing == {}


def test_a_sink_that_the_policy_lost_keeps_its_events_and_gets_them_when_it_is_back(
    bench: LoopBench,
) -> None:
    with webhook_server(answers(500), answers(200)) as server:
        loop = bench.loop(sinks(server.url))
        event = alerted(loop, bench.clock)
        loop = bench.reopened()
        until_later(loop, bench.clock, seconds=HOUR_S)
        assert list(loop.chain.state.outgoing) == [event]
        assert attempts(bench)[-1].error == (
            "the policy has no sink `ops` any more: add it to [[loop.sinks]]"
        )

        loop = bench.reopened(sinks(server.url))
        until_later(loop, bench.clock, seconds=7 * HOUR_S)
        assert loop.chain.state.outgoing == {}
        assert ids(server) == {event}


def test_a_secret_that_is_missing_is_named_and_read_again_each_time(
    bench: LoopBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(SECRET)
    with webhook_server(answers(200)) as server:
        loop = bench.loop(sinks(server.url))
        alerted(loop, bench.clock)
        assert server.received == []
        assert f"`{SECRET}` is empty or not set" in (attempts(bench)[0].error or "")

        monkeypatch.setenv(SECRET, "a long plain passphrase")
        until_later(loop, bench.clock, seconds=7 * HOUR_S)
        assert len(server.received) == 1


def test_inngest_gets_the_event_under_the_same_id(bench: LoopBench) -> None:
    with webhook_server(answers(500), answers(200)) as server:
        loop = bench.loop(sinks(server.url, kind="inngest"))
        event = alerted(loop, bench.clock)
        until_later(loop, bench.clock, seconds=HOUR_S)

        assert ids(server) == {event}
        sent = json.loads(server.received[1].body)
    assert sent["name"] == "system/alert.requested"
    assert sent["data"]["decisionId"] == event


# Crashes.


def test_what_died_between_the_decision_and_the_delivery_is_delivered_by_the_next_one(
    lasting_bench: LoopBench,
) -> None:
    bench = lasting_bench
    with webhook_server(answers(200)) as server:
        loop = bench.loop(sinks(server.url))
        loop.send("ci/failed", None, event_id="e1")
        bench.clock.forward(seconds=3)
        (decided,) = loop.cycle.run("default")
        assert server.received == []

        loop = bench.reopened(sinks(server.url))
        assert loop.outbox.deliver_due() == 2
        assert loop.outbox.deliver_due() == 0

        assert ids(server) == {decided.decision_id}
    assert [line["id"] for line in bench.written("alerts.jsonl")] == [decided.decision_id]


def test_what_died_between_the_delivery_and_its_record_is_delivered_again_under_the_same_id(
    bench: LoopBench,
) -> None:
    with webhook_server(answers(200)) as server:
        loop = bench.loop(sinks(server.url))
        event = alerted(loop, bench.clock)
        other = bench.loop(sinks(server.url))
        found = [each for each in bench.slog() if each.emitted is not None]
        other.outbox._handed(found[0], "ops", 1)

        assert [json.loads(each.body)["id"] for each in server.received] == [event, event]
        assert not other.chain.attempt(event, "ops")
    assert len(attempts(bench)) == 1


def test_a_thought_that_was_kept_is_acted_on_once(lasting_bench: LoopBench) -> None:
    loop = lasting_bench.loop()
    loop.send("ci/failed", None, event_id="e1")
    lasting_bench.clock.forward(seconds=3)
    thought = loop.cycle.think("default")

    first = loop.cycle.act(thought)
    loop = lasting_bench.reopened()

    assert len(first) == 1
    assert list(loop.cycle.act(thought)) == []
    assert len(lasting_bench.slog()) == 1


def test_two_who_think_the_same_act_once(lasting_bench: LoopBench) -> None:
    one, other = lasting_bench.loop(), lasting_bench.loop()
    one.chain.add_note("look at the build")
    lasting_bench.clock.forward(seconds=3)
    thoughts = one.cycle.think("default"), other.cycle.think("default")

    acted = [
        each
        for loop, thought in zip((one, other), thoughts, strict=True)
        for each in loop.cycle.act(thought)
    ]

    assert len(acted) == 1
    assert one.outbox.deliver_due() + other.outbox.deliver_due() == 1
    assert len(lasting_bench.written("notes.jsonl")) == 1


def test_two_scopes_that_see_the_same_note_take_it_once(lasting_bench: LoopBench) -> None:
    one, other = lasting_bench.loop(), lasting_bench.loop()
    one.chain.add_note("look at the build")
    other.send("system/note", None, event_id="e2", scope="docs")
    lasting_bench.clock.forward(seconds=3)
    first, second = one.cycle.think("default"), other.cycle.think("docs")

    acted = [*one.cycle.act(first), *other.cycle.act(second)]

    assert [each.outcome for each in acted] == [CycleOutcome.EMITTED, CycleOutcome.NOTHING]
    one.outbox.deliver_due()
    assert len(lasting_bench.written("notes.jsonl")) == 1


# People.


def test_nothing_is_handed_to_anybody_while_it_is_frozen(bench: LoopBench) -> None:
    with webhook_server(answers(500), answers(200)) as server:
        loop = bench.loop(sinks(server.url))
        event = alerted(loop, bench.clock)
        loop.chain.freeze("enough", ADA)
        bench.clock.forward(seconds=HOUR_S)
        assert loop.outbox.deliver_due() == 0
        assert not loop.outbox.deliver(event, "ops")
        assert len(server.received) == 1

        loop.chain.thaw("go on", ADA)
        assert loop.outbox.deliver_due() == 1
        assert ids(server) == {event}


def test_nothing_is_handed_to_anybody_while_all_runs_are_halted(bench: LoopBench) -> None:
    with webhook_server(answers(500), answers(200)) as server:
        loop = bench.loop(sinks(server.url))
        event = alerted(loop, bench.clock)
        context, ledger = loop.chain.governor.context, loop.chain.governor.ledger
        ledger.execute(halt_all(context, ADA, reason="enough"))
        bench.clock.forward(seconds=HOUR_S)
        assert loop.outbox.deliver_due() == 0
        assert loop.chain.standstill == "all runs are halted: enough"

        ledger.execute(lift_all(context, ADA, reason="go on"))
        assert loop.outbox.deliver_due() == 1
        assert ids(server) == {event}


def test_what_is_cancelled_is_never_delivered(lasting_bench: LoopBench) -> None:
    bench = lasting_bench
    with webhook_server(answers(500), answers(200)) as server:
        loop = bench.loop(sinks(server.url))
        event = alerted(loop, bench.clock)
        loop.chain.cancel(event, "not now", ADA)
        loop = bench.reopened(sinks(server.url))
        until_later(loop, bench.clock, seconds=HOUR_S)

        assert len(server.received) == 1
    assert loop.chain.state.outgoing == {}
    with pytest.raises(InputError, match="nothing waits under"):
        loop.chain.cancel(event, "not now", ADA)


def test_an_alert_that_cannot_be_written_waits(bench: LoopBench) -> None:
    (bench.folder / "alerts.jsonl").mkdir()
    loop = bench.loop()
    event = alerted(loop, bench.clock)
    assert list(loop.chain.state.outgoing) == [event]
    assert "alerts: cannot write to" in (attempts(bench, "interlock")[0].error or "")

    (bench.folder / "alerts.jsonl").rmdir()
    until_later(loop, bench.clock, seconds=60)
    assert [line["id"] for line in bench.written("alerts.jsonl")] == [event]
    assert loop.chain.state.outgoing == {}


def test_notes_that_were_taken_meanwhile_are_not_taken_twice(bench: LoopBench) -> None:
    loop = bench.loop()
    loop.chain.add_note("look at the build")
    bench.clock.forward(seconds=3)
    (decided,) = loop.cycle.run("default")
    assert decided.emitted is not None
    handled = loop.outbox._handed(decided, "interlock", 1)
    loop.chain.attempt(decided.emitted.id, "interlock", notes=handled.notes)

    assert loop.outbox.deliver_due() == 0
    assert loop.chain.state.notes == {}
    assert ticked(loop).outcome is CycleOutcome.NOTHING
