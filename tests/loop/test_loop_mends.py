"""What random histories of the loop once broke: each is told here by itself."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager

from gates.policies import gates_with
from interlock import Interlock, Run
from interlock.loop.control_loop import ControlLoop
from interlock.loop.model_decider import AskedModel, ModelReply
from interlock.model.approval import ApprovalState
from interlock.model.loop_events import CycleDecided, NotesProcessed
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.rows import RunRow
from interlock.model.system_loop import CycleOutcome
from interlock.policy.loop.model_answer import ModelQuestion
from interlock.service.cycles.cycle_decision import HANDLERS
from interlock.service.questions.question import Entry
from interlock.service.records import approvals
from service.ledgers import HandClock, in_memory

ADA = Principal(kind=PrincipalKind.OPERATOR, name="ada")
JOB = """
[[loop.jobs]]
name = "mend"
command = ["true"]
on = ["ci/*"]
"""
ASKS = f'version = 1\n[loop]\nstart-loop = "require-confirmation"\n{JOB}'
PRICE = '[[budgets.prices]]\nmodel = "m"\ninput-usd = 1.0\noutput-usd = 4.0\n'


@contextmanager
def looped(policy: str) -> Generator[tuple[Interlock, ControlLoop, HandClock]]:
    clock = HandClock()
    with in_memory(policy, clock=clock) as interlock:
        yield interlock, ControlLoop(interlock.governor), clock


def ticked(loop: ControlLoop, clock: HandClock, *, hours: float = 0) -> CycleDecided:
    clock.forward(seconds=3600 * hours + 60)
    (decided,) = loop.cycle.run(loop.beat(clock.now()).trigger.scope)
    return decided


def failed_build(loop: ControlLoop, clock: HandClock) -> CycleDecided:
    clock.forward(seconds=1)
    loop.send("ci/failed")
    (decided,) = loop.cycle.run("default")
    return decided


def claimed(interlock: Interlock, loop: ControlLoop) -> Sequence[RunRow]:
    """Claim the job that was asked for, and begin nothing: it goes on until its run is ended."""
    (event,) = loop.chain.state.outgoing
    run_id, opens = loop.jobs.prepare("mend")
    assert loop.chain.attempt(event, HANDLERS, result=run_id, opens=opens)
    return interlock.ledger.rows.children("loop")


def answer(interlock: Interlock, approval: str | None, state: ApprovalState) -> None:
    asked = approval or ""
    interlock.governor.answer(
        Entry(
            lambda asking: approvals.decide(
                *asking.of_approval(asked), state, note=None, always=False
            )
        ),
        ADA,
    )


def test_whoever_dies_before_a_job_is_claimed_leaves_no_run_that_nobody_closes() -> None:
    with looped(f"version = 1\n[loop]\n{JOB}") as (interlock, loop, _):
        loop.chain.add_note("so that the loop has begun")

        run_id, opens = loop.jobs.prepare("mend")

        assert interlock.ledger.rows.children("loop") == []
        loop.chain.do(lambda moment: opens(moment.transaction))
        assert [row.id for row in interlock.ledger.rows.children("loop")] == [run_id]


def test_the_end_of_a_job_is_heard_of_though_whoever_ended_it_died() -> None:
    policy = f'version = 1\n[loop]\nstart-loop = "allow"\n{JOB}'
    with looped(policy) as (interlock, loop, clock):
        decided = failed_build(loop, clock)
        (job,) = claimed(interlock, loop)
        below = interlock.run("below", parent=job.id)
        below.finish("completed")
        Run(interlock.governor, job.id).finish("failed")

        for run_id in (below.id, job.id, job.id, below.id):
            loop.learner.learn(run_id)

        waiting = {
            each.id: (each.name, each.depth, each.cause)
            for each in loop.chain.state.triggers.values()
        }
        caused = 1, decided.decision_id
        assert waiting == {
            f"run-{below.id}": ("agent/loop.complete", *caused),
            f"retro-{below.id}": ("agent/loop.retro.complete", *caused),
            f"job-{job.id}": ("agent/loop.failed", *caused),
            f"retro-{job.id}": ("agent/loop.retro.complete", *caused),
        }


def test_what_ends_below_a_job_that_was_learnt_from_still_counts_as_caused() -> None:
    policy = f'version = 1\n[loop]\nstart-loop = "allow"\n{JOB}'
    with looped(policy) as (interlock, loop, clock):
        failed_build(loop, clock)
        (job,) = claimed(interlock, loop)
        below = interlock.run("below", parent=job.id)
        Run(interlock.governor, job.id).finish("completed")
        loop.learner.learn(job.id)
        below.finish("completed")

        loop.learner.learn(below.id)

        assert loop.chain.state.triggers[f"retro-{below.id}"].depth == 1


def test_a_job_that_the_policy_has_no_more_is_not_started_though_a_person_agreed() -> None:
    with looped(ASKS) as (interlock, loop, clock):
        asked = failed_build(loop, clock)
        answer(interlock, asked.approval, ApprovalState.GRANTED)
        interlock.governor.adopt(gates_with("version = 1\n[loop]\nmax-depth = 2\n"), by=ADA)

        decided = ticked(loop, clock)

        assert decided.outcome is CycleOutcome.VALIDATION_ERROR
        assert decided.emitted is None
        assert decided.invalid == "the policy has no job `mend`: add it to [[loop.jobs]]"


class _Model(AskedModel):
    """Wants the first note processed, and says that it read a lot."""

    def __init__(self) -> None:
        super().__init__(model="sim:m", timeout_s=1.0, max_output_tokens=100)
        self.asked = 0
        self.note = ""

    def ask(
        self, question: ModelQuestion, earlier: str | None = None, repair: str | None = None
    ) -> ModelReply:
        self.asked += 1
        choice = f'{{"action":"process_notes","notes":["{self.note}"]}}'
        text = f'{{"reasoning":"it waits","choice":{choice}}}'
        return ModelReply(text=text, input_tokens=6_000, output_tokens=100)


def test_a_cycle_that_has_to_think_again_keeps_to_its_budget() -> None:
    budget = (
        'decider = "model"\nmodel = "sim:m"\ncycle-cost-usd = 0.0105\nmax-output-tokens = 100\n'
    )
    model = _Model()
    with in_memory(f"version = 1\n[loop]\n{budget}{PRICE}") as interlock:
        loop = ControlLoop(interlock.governor, model=lambda _: model)
        model.note = loop.chain.add_note("one").id
        loop.chain.add_note("two", scope="web")
        thoughts = loop.cycle.think("default"), loop.cycle.think("web")

        (first,), (second,) = map(loop.cycle.act, thoughts)

        assert first.outcome is CycleOutcome.EMITTED
        assert second.outcome is CycleOutcome.BUDGET_DENIED
        assert (model.asked, second.cost_micros) == (2, first.cost_micros)


def test_nobody_is_asked_about_what_was_answered_meanwhile() -> None:
    budget = 'decider = "model"\nmodel = "sim:m"\nmax-output-tokens = 100\n'
    model = _Model()
    with in_memory(f"version = 1\n[loop]\n{budget}{PRICE}") as interlock:
        loop = ControlLoop(interlock.governor, model=lambda _: model)
        model.note = loop.chain.add_note("one").id
        thoughts = loop.cycle.think("default"), loop.cycle.think("default")

        decided = list(map(loop.cycle.act, thoughts))

        assert [len(each) for each in decided] == [1, 0]
        assert model.asked == 2


def test_what_was_held_by_a_rail_is_done_once_there_is_room() -> None:
    with looped("version = 1\n[loop]\nprocess-notes-per-hour = 1\n") as (_, loop, clock):
        loop.chain.add_note("one")
        loop.cycle.run("default")
        loop.outbox.deliver_due()
        loop.chain.add_note("two")
        (held,) = loop.cycle.run("default")

        later = ticked(loop, clock, hours=1)

        assert held.outcome is CycleOutcome.RATE_LIMITED
        assert later.outcome is CycleOutcome.EMITTED


def test_what_was_only_thought_in_the_shadow_is_done_once_it_may_be() -> None:
    with looped('version = 1\n[loop]\nmode = "shadow"\n') as (interlock, loop, clock):
        loop.chain.add_note("one")
        (before,) = loop.cycle.run("default")
        again = ticked(loop, clock)
        interlock.governor.adopt(gates_with("version = 1\n"), by=ADA)

        after = ticked(loop, clock)

        assert before.outcome is CycleOutcome.SHADOW
        assert again.short_circuit == "same_state"
        assert after.outcome is CycleOutcome.EMITTED


def test_an_action_that_may_be_done_freely_by_now_is_done_once() -> None:
    with looped(ASKS) as (interlock, loop, clock):
        asked = failed_build(loop, clock)
        answer(interlock, asked.approval, ApprovalState.GRANTED)
        loop.chain.add_note("the state is another one")
        freely = ASKS.replace("require-confirmation", "allow")
        interlock.governor.adopt(gates_with(freely), by=ADA)

        loop.note_decisions()
        first, *_ = loop.cycle.run("default")
        loop.outbox.deliver_due(starts_jobs=False)
        later = ticked(loop, clock)

        assert (first.decider, first.outcome) == ("person", CycleOutcome.EMITTED)
        assert later.decider != "person"


def test_notes_that_are_gone_are_not_processed_though_a_person_agreed() -> None:
    policy = 'version = 1\n[loop]\nprocess-notes = "require-confirmation"\n'
    with looped(policy) as (interlock, loop, clock):
        note = loop.chain.add_note("one")
        (asked,) = loop.cycle.run("default")
        answer(interlock, asked.approval, ApprovalState.GRANTED)
        loop.chain.do(lambda moment: moment.append(NotesProcessed(notes=(note.id,), event="e")))

        loop.note_decisions()
        (decided,) = loop.cycle.run("default")

        assert decided.outcome is CycleOutcome.VALIDATION_ERROR
        assert decided.invalid == f"`{note.id}` is not there any more: the loop decides anew"
        assert ticked(loop, clock).decider == "nobody"


def test_nobody_is_told_of_what_is_over_though_a_person_agreed() -> None:
    policy = 'version = 1\n[loop]\nemit-alert = "require-confirmation"\n'
    with looped(policy) as (interlock, loop, clock):
        run = interlock.run("build")
        asked = ticked(loop, clock, hours=2)
        run.finish("completed")
        answer(interlock, asked.approval, ApprovalState.GRANTED)

        loop.note_decisions()
        (decided,) = loop.cycle.run("default")

        assert asked.outcome is CycleOutcome.APPROVAL_REQUIRED
        assert decided.outcome is CycleOutcome.VALIDATION_ERROR
        assert decided.invalid == f"`{run.id}` is not there any more: the loop decides anew"
