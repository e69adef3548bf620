"""Jobs: commands of the policy, as governed runs below the loop's, started at most once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from interlock.loop.control_loop import ControlLoop
from interlock.model.events import ActionObserved
from interlock.model.loop_events import CycleDecided
from interlock.model.run import RunState, RunStatus
from interlock.model.system_loop import LOOP_RUN, CycleOutcome, StartLoop, Trigger
from loop.loop_bench import LoopBench, answered
from service.ledgers import events_of
from warm_python import PythonProcess

ON = "ci/build.failed"


def job(*command: str, timeout_s: int = 600, more: str = "", workspace: Path | None = None) -> str:
    place = "" if workspace is None else f"workspace = {json.dumps(str(workspace))}\n"
    return f"""
[loop]
start-loop = "allow"
{more}

[[loop.jobs]]
name = "mend"
command = {json.dumps(list(command))}
on = ["{ON}"]
timeout-seconds = {timeout_s}
{place}"""


def script(folder: Path, text: str) -> str:
    """Return the path of a program of ours."""
    file = folder / "job.sh"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def started(loop: ControlLoop, bench: LoopBench, name: str = "e1") -> CycleDecided:
    """Have a job started, and wait for its end."""
    loop.send(ON, None, event_id=name)
    decided = answered(loop, bench.clock)
    loop.jobs.wait()
    return decided


def runs_of(bench: LoopBench) -> list[RunState]:
    """Return every run below the loop's."""
    ledger = bench.interlock.ledger
    states = [ledger.state(row.id) for row in ledger.rows.runs(limit=100)]
    return [each for each in states if each is not None and each.ancestors[:1] == (LOOP_RUN,)]


def the_run(bench: LoopBench) -> RunState:
    (run,) = runs_of(bench)
    return run


def the_end(loop: ControlLoop) -> tuple[Trigger, Mapping[str, object]]:
    """Return what told the loop of the end of its job."""
    (trigger,) = loop.chain.state.triggers.values()
    return trigger, json.loads(trigger.data)


def test_a_job_is_a_run_below_the_loop_that_ends_with_its_command(
    lasting_bench: LoopBench,
) -> None:
    bench = lasting_bench
    more = "[loop.job-budget]\ntool-calls = 5\ncost-usd = 2"
    loop = bench.loop(job("true", workspace=bench.folder, more=more))
    decided = started(loop, bench)

    run = the_run(bench)
    assert decided.choice == StartLoop(job="mend")
    assert (run.task, run.agent, run.status) == ("mend", "job/mend", RunStatus.FINISHED)
    assert run.outcome == "completed"
    assert (run.tree_limits.tool_calls, run.tree_limits.cost_micros) == (5, 2_000_000)
    assert [
        event.exit_code
        for event in events_of(bench.interlock.ledger, run.id)
        if isinstance(event, ActionObserved)
    ] == [0]
    trigger, data = the_end(loop)
    assert (trigger.name, trigger.depth) == ("agent/loop.complete", 1)
    assert trigger.cause == decided.decision_id
    assert data == {"run": run.id, "job": "mend", "outcome": "completed", "exitCode": 0}
    assert loop.chain.state.jobs == {run.id: decided.decision_id}


def test_a_job_that_fails_is_told_of_by_its_code(bench: LoopBench) -> None:
    loop = bench.loop(job(script(bench.folder, "exit 3")))
    started(loop, bench)

    trigger, data = the_end(loop)
    assert trigger.name == "agent/loop.failed"
    assert (data["outcome"], data["exitCode"]) == ("failed", 3)
    assert the_run(bench).outcome == "failed"
    told = answered(loop, bench.clock)
    assert (told.outcome, told.depth) == (CycleOutcome.EMITTED, 1)
    assert "agent/loop.failed" in str(bench.written("alerts.jsonl")[0]["message"])


def test_a_job_whose_program_is_not_there_has_failed(bench: LoopBench) -> None:
    loop = bench.loop(job(str(bench.folder / "nowhere")))
    started(loop, bench)

    trigger, data = the_end(loop)
    assert (trigger.name, data["exitCode"]) == ("agent/loop.failed", None)
    assert the_run(bench).status is RunStatus.FINISHED


def test_a_job_that_the_gates_refuse_is_not_run(bench: LoopBench) -> None:
    keep = bench.folder / "keep"
    keep.mkdir()
    loop = bench.loop(job("rm", "-rf", "/"))
    started(loop, bench)

    trigger, data = the_end(loop)
    assert (trigger.name, data["outcome"], data["exitCode"]) == (
        "agent/loop.failed",
        "refused",
        None,
    )
    (seen,) = [
        event
        for event in events_of(bench.interlock.ledger, the_run(bench).id)
        if isinstance(event, ActionObserved)
    ]
    assert seen.outcome == "not-run"
    assert keep.exists()


def test_a_job_that_takes_too_long_is_ended(bench: LoopBench) -> None:
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    loop = bench.loop(job("cat", str(fifo), timeout_s=1))
    started(loop, bench)

    trigger, data = the_end(loop)
    assert (trigger.name, data["outcome"], data["exitCode"]) == (
        "agent/loop.failed",
        "failed",
        None,
    )


def test_whoever_stops_ends_the_jobs_that_run(bench: LoopBench) -> None:
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    loop = bench.loop(job("cat", str(fifo)))
    loop.send(ON)
    answered(loop, bench.clock)
    loop.jobs.stop()

    assert the_end(loop)[0].name == "agent/loop.failed"
    assert the_run(bench).status is RunStatus.FINISHED


def test_a_job_knows_its_run_and_no_secret_of_the_loop(
    bench: LoopBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOOK_SECRET", "MODEL_KEY", "PLAIN"):
        monkeypatch.setenv(name, f"value of {name}")
    more = 'api-key-variable = "MODEL_KEY"\n'
    sink = (
        '\n[[loop.sinks]]\nname = "ops"\nkind = "webhook"\nurl = "http://localhost:9"\n'
        'secret-variable = "HOOK_SECRET"\n'
    )
    program = script(bench.folder, f"env > {bench.folder}/env.txt")
    loop = bench.loop(job(program, more=more) + sink)
    decided = started(loop, bench)

    known = dict(
        line.split("=", 1)
        for line in (bench.folder / "env.txt").read_text().splitlines()
        if "=" in line
    )
    assert known["PLAIN"] == "value of PLAIN"
    assert known["INTERLOCK_RUN"] == the_run(bench).id
    assert known["INTERLOCK_CAUSE"] == decided.decision_id
    assert not {"HOOK_SECRET", "MODEL_KEY"} & known.keys()


def test_a_job_that_runs_is_not_started_again(bench: LoopBench) -> None:
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    loop = bench.loop(job("cat", str(fifo)))
    loop.send(ON, None, event_id="e1")
    answered(loop, bench.clock)
    with fifo.open("w"):
        loop.send(ON, None, event_id="e2")
        again = answered(loop, bench.clock)
    loop.jobs.wait()

    assert again.choice.action == "emit_alert"
    assert len(runs_of(bench)) == 1


def test_a_job_that_the_policy_lost_is_not_run_and_waits(bench: LoopBench) -> None:
    loop = bench.loop(job("true"))
    loop.send(ON, None, event_id="e1")
    bench.clock.forward(seconds=3)
    loop.cycle.run("default")
    loop = bench.reopened()

    assert loop.outbox.deliver_due() == 0
    (waiting,) = loop.chain.state.outgoing.values()
    assert waiting.deliveries[0].error == ("the policy has no job `mend`: add it to [[loop.jobs]]")
    assert runs_of(bench) == []


def test_what_died_with_its_job_is_closed_by_the_next_one_and_not_started_again(
    lasting_bench: LoopBench,
) -> None:
    bench = lasting_bench
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    policy = job("cat", str(fifo))
    child = PythonProcess[bytes](["-m", "loop.job_process", bench.place, str(bench.folder), policy])
    try:
        # Opens once the job reads from it; the job ends when it is closed.
        with fifo.open("w"):
            child.kill()
            child.wait()
            bench.clock.forward(seconds=3)
            loop = bench.loop(policy)
            assert the_run(bench).status is RunStatus.RUNNING

            closed = loop.jobs.close_abandoned()
            assert closed == [the_run(bench).id]
            assert loop.jobs.close_abandoned() == []
    finally:
        child.kill()
        child.wait()

    run = the_run(bench)
    assert (run.status, run.outcome) == (RunStatus.FINISHED, "abandoned")
    trigger, data = the_end(loop)
    assert (trigger.name, trigger.depth, data["outcome"]) == ("agent/loop.failed", 1, "abandoned")
    assert loop.outbox.deliver_due() == 0
    assert len(runs_of(bench)) == 1


def test_a_job_of_somebody_who_lives_is_not_abandoned(bench: LoopBench) -> None:
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    policy = job("cat", str(fifo))
    loop, other = bench.loop(policy), bench.loop(policy)
    loop.send(ON)
    answered(loop, bench.clock)
    with fifo.open("w"):
        assert other.jobs.close_abandoned() == []
        assert loop.jobs.close_abandoned() == []
    loop.jobs.wait()


def test_only_who_claims_an_event_starts_its_job(bench: LoopBench) -> None:
    marks = bench.folder / "marks"
    policy = job(script(bench.folder, f"echo x >> {marks}"))
    one, other = bench.loop(policy), bench.loop(policy)
    one.send(ON, None, event_id="e1")
    bench.clock.forward(seconds=3)
    (decided,) = one.cycle.run("default")
    late = other.outbox._handed(decided, "interlock", 1)
    assert one.outbox.deliver_due() == 1
    one.jobs.wait()

    claimed = other.chain.attempt(
        decided.decision_id, "interlock", result=late.result, opens=late.opens
    )
    assert not claimed
    assert marks.read_text() == "x\n"
    assert [run.status for run in runs_of(bench)] == [RunStatus.FINISHED]


def test_what_a_job_taught_counts_as_caused_by_its_decision(bench: LoopBench) -> None:
    loop = bench.loop(job("true"))
    decided = started(loop, bench)
    run = the_run(bench)
    assert list(loop.learner.unlearnt()) == [run.id]
    loop.learner.learn(run.id)
    loop.learner.learn(run.id)

    names = {each.name: each for each in loop.chain.state.triggers.values()}
    assert set(names) == {"agent/loop.complete", "agent/loop.retro.complete"}
    assert {each.depth for each in names.values()} == {1}
    assert names["agent/loop.retro.complete"].cause == decided.decision_id
    assert loop.learner.unlearnt() == []
    assert len(loop.chain.state.triggers) == 2


def test_a_run_of_somebody_else_that_ends_starts_a_cycle(bench: LoopBench) -> None:
    loop = bench.loop()
    loop.tick()
    run = bench.interlock.run("mend the build", agent="coder")
    run.finish()
    for run_id in loop.learner.unlearnt():
        loop.learner.learn(run_id)

    decided = answered(loop, bench.clock)
    assert decided.trigger_source == "event:agent/loop.complete"
    assert len(decided.triggers) == 2
    assert decided.depth == 0


def test_a_run_below_a_job_counts_as_caused_by_the_same_decision(bench: LoopBench) -> None:
    fifo = bench.folder / "fifo"
    os.mkfifo(fifo)
    loop = bench.loop(job("cat", str(fifo)))
    loop.send(ON, None, event_id="e1")
    decided = answered(loop, bench.clock)
    with fifo.open("w"):
        parent = the_run(bench)
        early, late = (
            bench.interlock.resume(parent.id).child("a part of it", agent="coder") for _ in "ab"
        )
        early.finish()
        loop.learner.learn(early.id)
    loop.jobs.wait()
    loop.learner.learn(parent.id)
    late.finish()
    loop.learner.learn(late.id)

    for child in (early, late):
        for kind in ("run", "retro"):
            trigger = loop.chain.state.triggers[f"{kind}-{child.id}"]
            assert (trigger.cause, trigger.depth) == (decided.decision_id, 1)
