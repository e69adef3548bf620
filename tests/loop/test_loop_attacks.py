"""What an agent could try to make the loop do, or keep it from doing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interlock import Run
from interlock.errors import InputError
from interlock.ledger.transaction import Transaction
from interlock.model.budget import TokenUsage
from interlock.model.events import RunStarted
from interlock.model.principal import SYSTEM
from interlock.model.system_loop import LOOP_RUN, MOST_TRIGGERS, CycleOutcome
from interlock.service.cycles.cycle_decision import HANDLERS
from interlock.settings import current_loop_places, current_user_file
from loop.loop_bench import LoopBench, recommend, ticked

JOBS = '[[loop.jobs]]\nname = "mend"\ncommand = ["true"]\non = ["ci/build.failed"]\n'
SWEEP = '[[loop.jobs]]\nname = "sweep"\ncommand = ["true"]\non = ["disk/full.failed"]\n'


def test_a_recommendation_takes_nothing_else_along_that_stands_in_the_file(
    bench: LoopBench,
) -> None:
    loop = bench.loop()
    token = bench.token()
    recommend(loop)
    asked = ticked(loop)
    assert asked.approval is not None
    file = current_user_file()
    file.write_text(file.read_text() + '[loop]\nstart-loop = "allow"\n')
    bench.interlock.approve(asked.approval, token=token)

    loop.tick()

    assert 'start-loop = "allow"' in file.read_text()
    assert loop.chain.settings.start_loop == "require-confirmation"
    [waiting] = loop.chain.state.outgoing.values()
    assert "it is not the policy that counts" in (waiting.deliveries[0].error or "")


def test_a_file_that_is_no_text_does_not_hold_up_other_deliveries(bench: LoopBench) -> None:
    loop = bench.loop('[loop]\napply-retro-recommendation = "allow"\n')
    recommend(loop)
    current_user_file().write_bytes(b"\xff\xfe")
    ticked(loop)
    loop.send("ci/failed", event_id="e1")
    bench.clock.forward(seconds=3)
    loop.answer("default")

    assert [each["about"] for each in bench.written("alerts.jsonl")] == ["event/e1"]


WORK: dict[str, Callable[[Run], object]] = {
    "step": lambda run: run.step("the same again"),
    "command": lambda run: run.command("ls"),
    "usage": lambda run: run.usage(TokenUsage(input_tokens=1_000_000)),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK)
def test_nobody_works_in_the_run_of_the_loop(
    bench: LoopBench, work: Callable[[Run], object]
) -> None:
    loop = bench.loop()
    loop.tick()

    with pytest.raises(InputError, match="a chain of Interlock's own"):
        work(Run(bench.interlock.governor, LOOP_RUN))

    assert loop.chain.standstill is None


def test_nobody_else_starts_runs_below_the_loop(bench: LoopBench) -> None:
    bench.loop().tick()

    with pytest.raises(InputError, match="starts its jobs itself"):
        bench.interlock.run("mend", parent=LOOP_RUN)


def test_a_sink_that_is_down_stops_no_notes(bench: LoopBench) -> None:
    loop = bench.loop(
        '[[loop.sinks]]\nname = "ops"\nkind = "webhook"\nurl = "http://localhost:9"\n'
        'secret-variable = "NOT_SET"\n'
    )
    for number in range(3):
        loop.chain.add_note(f"note {number}")
        bench.clock.forward(seconds=600)
        loop.answer("default")

    assert loop.chain.state.notes == {}
    assert len(loop.chain.state.outgoing) == 3


def test_what_waits_for_a_person_keeps_nobody_from_being_told(bench: LoopBench) -> None:
    loop = bench.loop()
    loop.tick()
    recommend(loop)
    left = bench.interlock.run("left lying", agent="coder")
    bench.clock.forward(seconds=2 * 3600)

    told = ticked(loop)

    assert (told.outcome, getattr(told.choice, "about", "")) == (CycleOutcome.EMITTED, left.id)


def test_an_event_with_the_id_of_a_run_does_not_pass_for_it(bench: LoopBench) -> None:
    loop = bench.loop()
    left = bench.interlock.run("left lying", agent="coder")
    loop.send("ci/failed", event_id=left.id)
    bench.clock.forward(seconds=3)
    loop.answer("default")
    bench.clock.forward(seconds=2 * 3600)

    assert getattr(ticked(loop).choice, "about", "") == left.id


def test_an_event_of_a_job_hides_no_other_failure(bench: LoopBench) -> None:
    loop = bench.loop(JOBS + SWEEP)
    for name in ("ci/build.failed", "disk/full.failed", "prod/db.failed"):
        loop.send(name)
    bench.clock.forward(seconds=3)

    decided = loop.answer("default")

    assert [each.choice.action.value for each in decided] == [
        "start_loop",
        "start_loop",
        "emit_alert",
    ]


def test_a_full_queue_is_emptied_all_the_same(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    loop.send("ci/build.failed")
    bench.clock.forward(seconds=3)
    [asked] = loop.answer("default")
    for number in range(MOST_TRIGGERS):
        loop.send("a/failed", event_id=f"x{number}", scope="other")
    bench.clock.forward(seconds=7200)

    over = loop.tick()

    assert [(each.approval, each.outcome) for each in over if each.approval] == [
        (asked.approval, CycleOutcome.APPROVAL_DENIED)
    ]
    loop.answer("other")
    assert loop.chain.state.triggers == {}


def test_a_job_whose_machine_started_anew_is_closed(bench: LoopBench) -> None:
    loop = bench.loop('[loop]\nstart-loop = "allow"\n' + JOBS)
    loop.send("ci/build.failed")
    bench.clock.forward(seconds=3)
    [decided] = loop.cycle.run("default")
    # A process of before the start: the machine went by another name then.
    began = RunStarted(
        task="mend",
        agent="job/mend",
        client="loop",
        project="default",
        policy_hash=decided.policy_hash,
        engine="1",
        ancestors=(LOOP_RUN,),
        process="another-boot/77/1",
    )

    def opens(transaction: Transaction) -> None:
        transaction.append("job-1", began, at=bench.clock.now(), by=SYSTEM)

    assert loop.chain.attempt(decided.decision_id, HANDLERS, result="job-1", opens=opens)
    assert loop.jobs.close_abandoned() == []
    bench.clock.forward(seconds=3 * 3600)

    assert loop.jobs.close_abandoned() == ["job-1"]


def test_the_loop_is_one_by_whatever_name_its_ledger_is_called(tmp_path: Path) -> None:
    ledger, link = tmp_path / "ledger.db", tmp_path / "link.db"
    ledger.touch()
    link.symlink_to(ledger)

    assert current_loop_places(str(link)) == current_loop_places(str(ledger))
