"""One realistic event of each kind that says how a run gets on."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.model.arbitration import Authority, Course, Hard, HardState, Ruling, Waiting
from interlock.model.events import (
    BeliefHeld,
    CheckpointTaken,
    Event,
    PersonSpoke,
    RunHalted,
    RunLifted,
    StepJudged,
    StopJudged,
)
from interlock.model.step import (
    Belief,
    Checkpoint,
    CheckpointKind,
    ContinueDecision,
    Remaining,
    Sign,
    StepContext,
    StepDecision,
    StepMetrics,
    StepReason,
)
from interlock.model.stop import (
    EvidenceKind,
    FinishReason,
    LastEvent,
    SignalScore,
    StopContext,
    StopDecision,
    StopEvidence,
    StopOutcome,
)

A_LOOP = Sign(
    name="loop",
    decision=StepDecision.PAUSE,
    message="the same call came back 5 times with the same result",
    remediation="try something else",
    value=5.0,
)
STEP_FACTS = StepContext(
    step_number=12,
    total_tokens_used=48_000,
    total_tool_calls=11,
    rework_ratio=0.25,
    coherence_score=0.72,
    uncertainty_score=0.4,
    budget_remaining=Remaining(tokens=52_000, tool_calls=189),
    last_checkpoint_step=0,
    steps_since_person=12,
    elapsed_ms=90_000,
    steps_tokens=(4_000, 4_100, 4_050, 3_990),
    signs=(A_LOOP,),
)
A_PAUSE = ContinueDecision(
    decision=StepDecision.PAUSE,
    reasons=(
        StepReason(
            code="loop",
            decision=StepDecision.PAUSE,
            message=A_LOOP.message,
            remediation=A_LOOP.remediation,
        ),
    ),
    metrics=StepMetrics(budget_slope=0.0, rework_ratio=0.25, coherence=0.72),
)
GOING_EVENTS: Mapping[str, Event] = {
    "step-judged": StepJudged(
        said="Let me run the tests again.",
        context=STEP_FACTS,
        throttled_before=1,
        waiting=Waiting(what="the build", delay_ms=60_000),
        credit=5,
        decision=A_PAUSE,
        ruling=Ruling(
            course=Course.AWAIT_PERSON, by=Authority.STEP, reason=A_LOOP.message, approval="a2"
        ),
        approval="a2",
    ),
    "stop-judged": StopJudged(
        context=StopContext(
            text="Now let me run the tests.",
            last_event=LastEvent.TOOL_RESULT,
            finish_reason=FinishReason.STOP,
            tool_ratio=0.75,
            n_prev_turns=4,
            model="some-model",
            retries=1,
            evidence=(StopEvidence(kind=EvidenceKind.OPEN_TODO, text="run the tests"),),
        ),
        facts=STEP_FACTS,
        hard=(Hard(state=HardState.AWAITING_PERSON, reason="a person has to decide"),),
        credit=4,
        step=ContinueDecision(decision=StepDecision.CONTINUE),
        decision=StopDecision(
            goes_on=True,
            score=70,
            signals=(SignalScore(signal="last_event", points=25, because="a result came last"),),
            reason="70 of 60 points",
            outcome=StopOutcome.NUDGED,
            nudge="Automatic message: 1 to-do item open: run the tests",
        ),
        ruling=Ruling(course=Course.AWAIT_PERSON, by=Authority.AWAITING_PERSON, reason="ask"),
    ),
    "belief-held": BeliefHeld(
        belief=Belief(name="the parser is at fault", supporting=2.0, opposing=0.5),
        because="the failing test calls it",
    ),
    "person-spoke": PersonSpoke(),
    "checkpoint-taken": CheckpointTaken(
        checkpoint=Checkpoint(
            id="c1",
            step=25,
            kind=CheckpointKind.GIT,
            workspace="project",
            commit="1a" * 20,
            ref="refs/interlock/checkpoints/r1/c1",
            tree="2b" * 20,
        )
    ),
    "run-halted": RunHalted(reason="it works on the wrong branch"),
    "run-lifted": RunLifted(reason="the branch is right now"),
}
