"""A person's word: bound to the action, its parameters, the scope and the state, and used once."""

from __future__ import annotations

import pytest

from interlock.errors import DecidedError
from interlock.loop.control_loop import ControlLoop
from interlock.model.approval import Approval, ApprovalState, Subject
from interlock.model.loop_events import CycleDecided
from interlock.model.recommendation import RecommendationState
from interlock.model.run import RunStatus
from interlock.model.system_loop import CycleOutcome, StartLoop
from loop.loop_bench import ADA, DEBOUNCE_S, JOB, LoopBench, answered, recommend, ticked

OTHER_JOB = """
[[loop.jobs]]
name = "sweep"
command = ["true"]
on = ["ci/sweep.failed"]
"""
JOBS = f"[approvals]\nexpires-seconds = 600\n{JOB}{OTHER_JOB}"
REQUIRED, EMITTED = CycleOutcome.APPROVAL_REQUIRED, CycleOutcome.EMITTED
DENIED = CycleOutcome.APPROVAL_DENIED


def happened(
    loop: ControlLoop, bench: LoopBench, name: str = "ci/build.failed", scope: str = "default"
) -> CycleDecided:
    bench.clock.forward(seconds=1)
    loop.send(name, None, scope=scope)
    return answered(loop, bench.clock, scope)


def question(bench: LoopBench, decided: CycleDecided) -> Approval:
    assert decided.approval is not None
    found = bench.interlock.ledger.rows.approval(decided.approval)
    assert found is not None
    return found


def told(loop: ControlLoop, bench: LoopBench) -> CycleDecided:
    """Let the loop know that a person has decided; return what comes of it."""
    loop.note_decisions()
    decided = answered(loop, bench.clock)
    loop.jobs.wait()
    return decided


def test_what_was_asked_says_what_for(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    asked = question(bench, happened(loop, bench))

    assert asked.subject is Subject.LOOP
    assert asked.summary == '{"action":"start_loop","job":"mend"}'
    assert asked.findings[0].rule == "loop.start-loop"
    assert asked.findings[0].message == "`ci/build.failed` is what job `mend` is for"


def test_what_is_asked_already_is_not_asked_again(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    first, second = happened(loop, bench), happened(loop, bench)

    assert (first.outcome, second.outcome) == (REQUIRED, REQUIRED)
    assert first.approval == second.approval
    assert len(bench.interlock.approvals()) == 1


def test_what_a_person_agreed_to_happens_once(lasting_bench: LoopBench) -> None:
    bench = lasting_bench
    loop = bench.loop(JOBS)
    token = bench.token()
    asked = question(bench, happened(loop, bench))
    loop = bench.reopened(JOBS)
    bench.interlock.approve(asked.id, token=token)
    done = told(loop, bench)

    assert (done.outcome, done.approval, done.decider) == (EMITTED, asked.id, "person")
    assert done.trigger_source == "event:system/approval.decided"
    used = bench.interlock.ledger.rows.approval(asked.id)
    assert used is not None
    assert used.uses_left == 0
    again = happened(loop, bench)
    assert again.outcome is REQUIRED
    assert again.approval != asked.id


def test_nothing_is_noted_of_a_question_that_is_open(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    happened(loop, bench)
    loop.note_decisions()

    assert loop.chain.state.triggers == {}


def test_the_decision_of_a_person_starts_one_cycle(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    token = bench.token()
    asked = question(bench, happened(loop, bench))
    bench.interlock.approve(asked.id, token=token)
    loop.note_decisions()
    loop.note_decisions()

    assert list(loop.chain.state.triggers) == [f"approval-{asked.id}"]


def test_in_another_state_it_is_not_honoured_and_asked_anew(lasting_bench: LoopBench) -> None:
    bench = lasting_bench
    loop = bench.loop(JOBS + '[loop]\nprocess-notes = "off"\n')
    token = bench.token()
    first = happened(loop, bench)
    asked = question(bench, first)
    bench.interlock.run("something else", agent="coder")
    bench.interlock.approve(asked.id, token=token)

    other = told(loop, bench)
    assert other.state_hash != first.state_hash
    assert other.emitted is None
    anew = happened(loop, bench)
    assert anew.outcome is REQUIRED
    assert anew.approval != asked.id
    assert loop.chain.state.emitted == 0


def test_another_scope_is_not_let_through(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    token = bench.token()
    asked = question(bench, happened(loop, bench))
    bench.interlock.approve(asked.id, token=token)

    other = happened(loop, bench, scope="docs")

    assert other.outcome is REQUIRED
    assert other.approval != asked.id
    assert loop.chain.state.emitted == 0


def test_another_action_is_not_let_through_and_does_not_get_lost(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    token = bench.token()
    asked = question(bench, happened(loop, bench))
    bench.interlock.approve(asked.id, token=token)
    loop.note_decisions()
    bench.clock.forward(seconds=1)
    loop.send("ci/sweep.failed")
    bench.clock.forward(seconds=DEBOUNCE_S)

    agreed, other = loop.answer("default")
    loop.jobs.wait()

    assert (agreed.choice, agreed.outcome) == (StartLoop(job="mend"), EMITTED)
    assert (other.choice, other.outcome) == (StartLoop(job="sweep"), REQUIRED)
    assert other.approval != asked.id


def test_what_a_person_denies_is_over(lasting_bench: LoopBench) -> None:
    bench = lasting_bench
    loop = bench.loop(JOBS)
    token = bench.token()
    asked = question(bench, happened(loop, bench))
    bench.interlock.deny(asked.id, token=token)
    over = told(loop, bench)

    assert (over.outcome, over.approval) == (DENIED, asked.id)
    assert over.rails[0].reason == "a person refused it"
    again = happened(loop, bench)
    assert again.outcome is DENIED
    assert bench.interlock.approvals() == []
    assert loop.chain.state.emitted == 0


def test_silence_is_no_consent(lasting_bench: LoopBench) -> None:
    bench = lasting_bench
    loop = bench.loop(JOBS)
    token = bench.token()
    asked = question(bench, happened(loop, bench))
    bench.clock.forward(seconds=600)
    over = told(loop, bench)

    assert over.outcome is DENIED
    expired = bench.interlock.ledger.rows.approval(asked.id)
    assert expired is not None
    assert expired.state is ApprovalState.EXPIRED
    with pytest.raises(DecidedError):
        bench.interlock.approve(asked.id, token=token)


def test_a_word_that_came_too_long_ago_counts_no_more(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    token = bench.token()
    asked = question(bench, happened(loop, bench))
    bench.interlock.approve(asked.id, token=token)
    bench.clock.forward(seconds=600)

    assert told(loop, bench).outcome is DENIED
    assert loop.chain.state.emitted == 0


def test_a_word_does_not_open_the_other_rails(bench: LoopBench) -> None:
    policy = JOBS + "[loop]\nstart-loop-per-hour = 0\n"
    loop = bench.loop(policy)
    assert happened(loop, bench).outcome is CycleOutcome.RATE_LIMITED
    assert bench.interlock.approvals() == []


def test_what_is_frozen_keeps_a_persons_word_for_later(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    token = bench.token()
    asked = question(bench, happened(loop, bench))
    bench.interlock.approve(asked.id, token=token)
    loop.chain.freeze("enough", ADA)
    assert told(loop, bench).outcome is CycleOutcome.FROZEN

    loop.chain.thaw("go on", ADA)
    done = ticked(loop)
    loop.jobs.wait()
    assert (done.outcome, done.approval) == (EMITTED, asked.id)


@pytest.mark.parametrize("is_granted", [False, True], ids=["open", "granted"])
def test_an_action_that_a_person_cancelled_needs_another_word(
    bench: LoopBench, is_granted: bool
) -> None:
    loop = bench.loop(JOBS)
    token = bench.token()
    decided = happened(loop, bench)
    asked = question(bench, decided)
    if is_granted:
        bench.interlock.approve(asked.id, token=token)
    loop.chain.cancel(decided.decision_id, "not today", ADA)
    loop.note_decisions()
    assert loop.chain.state.triggers == {}
    assert asked.id not in [each.id for each in bench.interlock.approvals()]

    anew = happened(loop, bench)
    loop.jobs.wait()
    assert anew.outcome is REQUIRED
    assert anew.approval != asked.id
    assert loop.chain.state.emitted == 0

    assert anew.approval is not None
    bench.interlock.approve(anew.approval, token=token)
    assert told(loop, bench).outcome is EMITTED


# Recommendations.


def test_a_recommendation_that_a_person_agrees_to_changes_the_policy(
    lasting_bench: LoopBench,
) -> None:
    bench = lasting_bench
    loop = bench.loop()
    token = bench.token()
    made = recommend(loop)
    asked = question(bench, ticked(loop))
    bench.interlock.approve(asked.id, token=token)
    assert told(loop, bench).outcome is EMITTED

    assert loop.chain.state.recommendations[made.id].state is RecommendationState.APPLIED
    assert loop.chain.settings.emit_alert_per_hour == 7
    undone = loop.desk.undo(made.id, ADA)
    assert undone.state is RecommendationState.UNDONE
    assert loop.chain.settings.emit_alert_per_hour == 6


def test_a_recommendation_that_a_person_denies_is_dismissed(bench: LoopBench) -> None:
    loop = bench.loop()
    token = bench.token()
    made = recommend(loop)
    asked = question(bench, ticked(loop))
    bench.interlock.deny(asked.id, token=token)

    assert told(loop, bench).outcome is DENIED
    assert loop.chain.state.recommendations[made.id].state is RecommendationState.DISMISSED
    assert ticked(loop).choice.action == "do_nothing"
    assert loop.chain.settings.emit_alert_per_hour == 6


def test_the_run_of_the_loop_is_never_finished_by_its_questions(bench: LoopBench) -> None:
    loop = bench.loop(JOBS)
    decided = happened(loop, bench)

    assert decided.choice == StartLoop(job="mend")
    run = bench.interlock.ledger.state("loop")
    assert run is not None
    assert run.status is RunStatus.RUNNING
