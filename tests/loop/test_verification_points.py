"""The eight points by which a system loop is judged, each in a file and in Postgres."""

from __future__ import annotations

import json

import pytest

from interlock.model.loop_events import CycleDecided
from interlock.model.system_loop import CycleOutcome, DoNothing, LoopAction, Rail, Source
from loop.loop_bench import (
    ADA,
    JOB,
    LoopBench,
    answered,
    model_policy,
    recommend,
    ticked,
)
from loop.scripted_model import choosing, saying, scripted_model
from loop.webhook_server import answers, webhook_server

SECRET = "HOOK_SECRET"


def test_1_a_heartbeat_and_an_event_run_the_same_pipeline_and_say_which_it_was(
    both_bench: LoopBench,
) -> None:
    loop = both_bench.loop()

    loop.beat(both_bench.clock.now())
    by_time = answered(loop, both_bench.clock)
    loop.send("agent/loop.complete", '{"run": "r1"}')
    by_event = answered(loop, both_bench.clock)

    assert by_time.trigger_source == "heartbeat"
    assert by_event.trigger_source == "event:agent/loop.complete"
    assert by_time.decision_id != by_event.decision_id
    assert by_time.state_hash == by_event.state_hash != ""
    assert by_time.snapshot is not None
    assert by_event.snapshot is not None


def test_2_the_state_has_every_field_with_its_time(both_bench: LoopBench) -> None:
    loop = both_bench.loop()
    loop.chain.add_note("look at the build")

    decided = answered(loop, both_bench.clock)

    assert decided.snapshot is not None
    assert [each.source for each in decided.snapshot.readings] == [each.value for each in Source]
    assert [each.value for each in decided.snapshot.readings] == [1, 0, 0, 0, 0]
    assert {each.observed_at for each in decided.snapshot.readings} == {both_bench.clock.now()}
    assert not decided.snapshot.partial


HOSTILE = {
    "an unknown action": saying('{"reasoning": "r", "choice": {"action": "delete_repo"}}'),
    "an extra key": choosing("do_nothing", command="rm -rf /"),
    "prose": saying("I would start the job now."),
    "two actions": saying(
        '[{"reasoning": "r", "choice": {"action": "do_nothing"}},'
        ' {"reasoning": "r", "choice": {"action": "do_nothing"}}]'
    ),
    "an action as text": saying('{"reasoning": "r", "choice": "start_loop"}'),
    "a job that nobody knows": choosing("start_loop", job="rm"),
    "a note that nobody wrote": choosing("process_notes", notes=["another"]),
}


@pytest.mark.parametrize("answer", HOSTILE.values(), ids=HOSTILE)
def test_3_what_a_model_says_is_validated_and_never_goes_beyond_the_set(
    both_bench: LoopBench, answer: object
) -> None:
    with scripted_model(answer) as model:  # pyright: ignore[reportArgumentType] - one of the table
        loop = both_bench.loop(model_policy(model.url))
        loop.chain.add_note("look at the build")
        decided = answered(loop, both_bench.clock)

        assert len(model.asked) == 2
    assert decided.outcome is CycleOutcome.VALIDATION_ERROR
    assert decided.choice == DoNothing()
    assert decided.invalid is not None
    assert [hit.rail for hit in decided.rails] == [Rail.VALIDATION]
    assert decided.raw
    assert decided.emitted is None
    assert not loop.chain.state.outgoing
    assert not both_bench.written("notes.jsonl")


EMITTED = {
    LoopAction.START_LOOP: "agent/loop.requested",
    LoopAction.PROCESS_NOTES: "system/note.process.requested",
    LoopAction.APPLY_RETRO_RECOMMENDATION: "agent/loop.retro.apply.requested",
    LoopAction.EMIT_ALERT: "system/alert.requested",
}


@pytest.mark.parametrize("action", EMITTED)
def test_4_each_decision_but_to_do_nothing_emits_exactly_one_event(
    both_bench: LoopBench, action: LoopAction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SECRET, "a long plain passphrase")
    with webhook_server(answers(200)) as server:
        policy = f"""
[loop]
start-loop = "allow"
apply-retro-recommendation = "allow"
{JOB}
[[loop.sinks]]
name = "ops"
kind = "webhook"
url = "{server.url}/hook"
secret-variable = "{SECRET}"
"""
        loop = both_bench.loop(policy)
        match action:
            case LoopAction.START_LOOP:
                loop.send("ci/build.failed")
            case LoopAction.PROCESS_NOTES:
                loop.chain.add_note("look at the build")
            case LoopAction.APPLY_RETRO_RECOMMENDATION:
                recommend(loop)
                loop.beat(both_bench.clock.now())
            case _:
                loop.send("ci/failed")
        decided = answered(loop, both_bench.clock)
        loop.jobs.wait()
        loop.outbox.deliver_due()

        assert len(server.received) == 1
        body = json.loads(server.received[0].body)

    assert decided.choice.action is decided.action is action
    assert decided.outcome is CycleOutcome.EMITTED
    assert decided.emitted is not None
    assert body["type"] == decided.emitted.type == EMITTED[action]
    assert body["id"] == decided.emitted.id
    assert body["data"]["decisionId"] == decided.decision_id
    assert body["data"]["reasoningSummary"] == decided.reasoning != ""
    assert body["data"]["stateHash"] == decided.state_hash != ""
    assert body["data"]["triggerSource"] == decided.trigger_source
    assert not loop.chain.state.outgoing


def test_4_to_do_nothing_emits_nothing(both_bench: LoopBench) -> None:
    loop = both_bench.loop()

    decided = ticked(loop)

    assert decided.outcome is CycleOutcome.NOTHING
    assert decided.emitted is None
    assert loop.chain.state.emitted == 0


def test_5_a_rate_is_kept_also_after_a_restart_and_each_refusal_is_logged(
    both_bench: LoopBench,
) -> None:
    policy = "[loop]\nemit-alert-per-hour = 2\n"
    loop = both_bench.loop(policy)
    outcomes: list[CycleOutcome] = []
    refused: list[CycleDecided] = []
    for number in range(4):
        if number == 3:
            loop = both_bench.reopened(policy)
        loop.send(f"ci/{number}.failed")
        decided = answered(loop, both_bench.clock)
        outcomes.append(decided.outcome)
        if decided.outcome is CycleOutcome.RATE_LIMITED:
            refused.append(decided)

    emitted, limited = CycleOutcome.EMITTED, CycleOutcome.RATE_LIMITED
    assert outcomes == [emitted, emitted, limited, limited]
    assert all(each.emitted is None for each in refused)
    assert [[hit.rail for hit in each.rails] for each in refused] == [[Rail.RATE], [Rail.RATE]]
    assert refused[0].rails[0].reason == "2 of `emit_alert` within the last hour, 2 are the most"
    assert len(both_bench.written("alerts.jsonl")) == 2

    both_bench.clock.forward(seconds=3600)
    loop.send("ci/later.failed")
    assert answered(loop, both_bench.clock).outcome is emitted


def test_6_without_a_budget_no_model_is_asked_and_nothing_is_emitted(both_bench: LoopBench) -> None:
    with scripted_model(choosing("emit_alert", message="hello", severity="low", about="")) as model:
        loop = both_bench.loop(model_policy(model.url, "day-cost-usd = 0.001"))
        loop.chain.add_note("look at the build")
        decided = answered(loop, both_bench.clock)

        assert model.asked == []
    assert decided.outcome is CycleOutcome.BUDGET_DENIED
    assert [hit.rail for hit in decided.rails] == [Rail.COST]
    assert "`loop.day-cost-usd` 0.001 USD" in decided.rails[0].reason
    assert decided.emitted is None
    assert decided.cost_micros == 0
    assert loop.chain.state.spent_micros == 0


def test_7_what_is_destructive_waits_for_a_person(both_bench: LoopBench) -> None:
    loop = both_bench.loop(JOB)
    token = both_bench.token()

    loop.send("ci/build.failed")
    decided = answered(loop, both_bench.clock)

    assert decided.outcome is CycleOutcome.APPROVAL_REQUIRED
    assert decided.approval_required
    assert decided.emitted is None
    assert not loop.chain.state.outgoing
    assert [each.id for each in both_bench.interlock.approvals()] == [decided.approval]

    assert decided.approval is not None
    both_bench.interlock.approve(decided.approval, token=token)
    loop.note_decisions()
    let_out = answered(loop, both_bench.clock)
    loop.jobs.wait()
    assert let_out.outcome is CycleOutcome.EMITTED
    assert let_out.approval == decided.approval
    assert let_out.choice == decided.choice


def test_8_every_path_writes_an_entry_that_is_found_by_its_id(both_bench: LoopBench) -> None:
    bench, clock = both_bench, both_bench.clock
    quiet = bench.loop()
    ticked(quiet)
    quiet.chain.add_note("look at the build")
    answered(quiet, clock)
    quiet.chain.freeze("enough", ADA)
    ticked(quiet)
    quiet.chain.thaw("go on", ADA)
    for policy in ('[loop]\nmode = "off"\n', '[loop]\nmode = "shadow"\n'):
        loop = bench.reopened(policy)
        loop.send("ci/build.failed", scope=policy[16:19])
        answered(loop, clock, policy[16:19])
    loop = bench.reopened("[loop]\nemit-alert-per-hour = 0\nmax-depth = 0\n")
    loop.send("ci/build.failed", scope="s3")
    answered(loop, clock, "s3")
    loop.send("ci/build.failed", scope="s4", cause="nobody")
    answered(loop, clock, "s4")
    with scripted_model(saying("prose")) as model:
        for more in ("", "day-cost-usd = 0"):
            loop = bench.reopened(model_policy(model.url, more))
            loop.send("ci/build.failed", scope="s6")
            answered(loop, clock, "s6")
    loop = bench.reopened(JOB)
    loop.send("ci/build.failed", scope="s5")
    asked = answered(loop, clock, "s5")
    assert asked.approval is not None
    bench.interlock.deny(asked.approval, token=bench.token())
    loop.note_decisions()
    answered(loop, clock, "s5")

    slog = bench.slog()
    unseen = {CycleOutcome.BACKLOGGED, CycleOutcome.CANCELLED}
    assert {each.outcome for each in slog} == set(CycleOutcome) - unseen
    for each in slog:
        assert loop.chain.decision(each.decision_id) == each
        assert each.reasoning
        assert each.trigger_source
    assert loop.chain.decision("another") is None
