"""What a finished run teaches, counted from its records."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from interlock.model.approval import ApprovalState, Subject
from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.budget import Amounts
from interlock.model.control_state import ControlState
from interlock.model.events import (
    ActionJudged,
    ActionObserved,
    ApprovalDecided,
    ApprovalOpened,
    Event,
    FileChange,
    Outcome,
    Record,
    RunLifted,
    StepJudged,
    StopJudged,
    ViolationRecorded,
)
from interlock.model.recommendation import Evidence, Retrospective, RetrospectiveKind
from interlock.model.review import Evaluation, Report
from interlock.model.run import RunState
from interlock.model.step import StepContext
from interlock.model.verdict import Decision, Finding, Severity, Verdict
from interlock.policy.config.run_sections import Steps
from interlock.policy.learn.retrospective import MOST_ENTRIES, MOST_EVIDENCE, retrospective_of
from interlock.policy.steps.continue_gate import decide
from ledger.events import AGENT, NOON, a_judgement, an_opening
from ledger.events import events as any_event
from ledger.going_events import GOING_EVENTS
from steps.contexts import ACCELERATING, a_context, a_sign

PASSED = Report(evaluations=(Evaluation(evaluator="tests-pass", passed=True, score=1000),))
FAILED = Report(evaluations=(Evaluation(evaluator="tests-pass", passed=False, score=0),))
ASKS, BLOCKS = Decision.REQUIRE_CONFIRMATION, Decision.BLOCK


def looked_back_at(*events: Event, state: RunState | None = None) -> Retrospective:
    """Return the retrospective of a run with these records."""
    records = [
        Record(v=1, run="r1", seq=seq, at=NOON, by=AGENT, prev="", event=event)
        for seq, event in enumerate(events, start=1)
    ]
    return retrospective_of(state or RunState(id="r1"), records)


def told(retrospective: Retrospective) -> list[str]:
    """Lay the entries out: kind, what, count, and the records behind it."""
    return [
        f"{each.kind.value} {each.gate}/{each.name}{each.after and f' after {each.after}'}"
        f" {each.count} of {each.of}"
        f"{'' if each.percent is None else f', {each.percent} %'}"
        f" {[one.seq for one in each.evidence]}"
        for each in retrospective.entries
    ]


def a_finding(rule: str, decision: Decision = ASKS, gate: str = "destructive-ops") -> Finding:
    return Finding(
        gate=gate,
        rule=rule,
        decision=decision,
        severity=Severity.HIGH,
        message="no",
        remediation="do not",
    )


def judged(*findings: Finding, decision: Decision = BLOCKS) -> ActionJudged:
    verdict = Verdict(decision=decision, findings=findings, policy_hash="p1")
    return msgspec.structs.replace(a_judgement(), verdict=verdict, decision=decision)


def opened(approval: str, *findings: Finding) -> ApprovalOpened:
    return msgspec.structs.replace(an_opening(approval), findings=findings)


def decided(approval: str, state: ApprovalState) -> ApprovalDecided:
    return ApprovalDecided(id=approval, state=state)


def observed(tool: str, outcome: Outcome = Outcome.OK, *changes: FileChange) -> ActionObserved:
    return ActionObserved(tool=tool, outcome=outcome, changes=changes)


def stepped(context: StepContext, approval: str | None = None) -> StepJudged:
    return StepJudged(
        context=context,
        credit=5,
        decision=decide(context, Steps()),
        ruling=Ruling(course=Course.GO_ON, by=Authority.STEP, reason=""),
        approval=approval,
    )


REWORK = a_context(rework_ratio=0.451, rework_of=40)
UNSURE = a_context(uncertainty_score=0.9)


def test_a_run_is_told_by_what_it_came_to() -> None:
    state = RunState(
        id="r1",
        project="shop",
        outcome="completed",
        report=PASSED,
        spent=Amounts(tokens=900, cost_micros=70),
        control=ControlState(steps=12),
    )

    assert looked_back_at(judged(decision=Decision.ALLOW), state=state) == Retrospective(
        run="r1",
        project="shop",
        outcome="completed",
        went_well=True,
        actions=1,
        steps=12,
        cost_micros=70,
        tokens=900,
    )


def test_only_a_run_that_claims_success_and_passes_went_well() -> None:
    ends = [("completed", FAILED), ("abandoned", PASSED), ("completed", None), (None, PASSED)]
    states = [RunState(id="r1", outcome=outcome, report=report) for outcome, report in ends]

    assert [looked_back_at(state=each).went_well for each in states] == [False, False, False, True]


def test_what_was_blocked_is_counted_by_rule() -> None:
    root = a_finding("filesystem.rm-root", BLOCKS)
    key = a_finding("secrets.aws-access-key", BLOCKS, "secrets")

    lines = told(
        looked_back_at(
            judged(root, root, a_finding("git.clean")),
            judged(root, key),
            judged(a_finding("git.clean"), decision=ASKS),
        )
    )

    assert lines == snapshot(
        [
            "blocked destructive-ops/filesystem.rm-root 2 of 3 [1, 2]",
            "blocked secrets/secrets.aws-access-key 1 of 3 [2]",
        ]
    )


def test_what_people_said_is_counted_by_the_rules_that_asked() -> None:
    force, clean = a_finding("git.push-force"), a_finding("git.clean")
    warned = a_finding("git.stash", Decision.WARN)

    lines = told(
        looked_back_at(
            opened("a1", force, warned),
            decided("a1", ApprovalState.GRANTED),
            opened("a2", force, clean),
            decided("a2", ApprovalState.DENIED),
            opened("a3", clean),
            decided("a3", ApprovalState.EXPIRED),
            opened("a4", clean),
            decided("a4", ApprovalState.CANCELLED),
            opened("a5", force),
            decided("elsewhere", ApprovalState.GRANTED),
        )
    )

    assert lines == snapshot(
        [
            "confirmed destructive-ops/git.push-force 1 of 3 [2]",
            "confirmed destructive-ops/git.clean 0 of 2 []",
            "denied destructive-ops/git.clean 1 of 2 [4]",
            "denied destructive-ops/git.push-force 1 of 3 [4]",
        ]
    )


def test_questions_about_anything_but_actions_are_not_counted_by_rules() -> None:
    question = msgspec.structs.replace(an_opening("a1"), subject=Subject.REVIEW)

    assert told(looked_back_at(question, decided("a1", ApprovalState.GRANTED))) == []


def test_tools_that_fail_are_counted_with_what_ran_before_them() -> None:
    lines = told(
        looked_back_at(
            observed("Read"),
            observed("Edit", Outcome.FAILED),
            observed("Edit", Outcome.NOT_RUN),
            observed("Edit"),
            observed("Read"),
            observed("Edit", Outcome.FAILED),
        )
    )

    assert lines == snapshot(
        [
            "failed /Edit 2 of 3 [2, 6]",
            "failed /Read 0 of 2 []",
            "failed /Edit after Read 2 of 2 [2, 6]",
            "failed /Edit after Edit 0 of 1 []",
            "failed /Read after Edit 0 of 1 []",
        ]
    )


def test_rework_is_counted_by_file_and_violations_by_rule() -> None:
    lines = told(
        looked_back_at(
            observed("Edit", Outcome.OK, FileChange(path="a.py", added=10)),
            observed("Edit", Outcome.OK, FileChange(path="a.py", added=4, removed=4, rework=3)),
            observed("Edit", Outcome.OK, FileChange(path="a.py", added=2)),
            ViolationRecorded(rule="no-generated", message="m"),
            ViolationRecorded(rule="no `ticks`\nor lines", message="m"),
        )
    )

    assert lines == snapshot(
        [
            "failed /Edit 0 of 3 []",
            "failed /Edit after Edit 0 of 2 []",
            "rework /a.py 3 of 20 [2]",
            "violation /no 'ticks' or lines 1 of 2 [5]",
            "violation /no-generated 1 of 2 [4]",
        ]
    )


def test_what_the_continue_gate_held_up_is_counted_by_reason() -> None:
    fast = a_context(steps_tokens=ACCELERATING)
    incoherent = a_context(coherence_score=0.1)

    lines = told(
        looked_back_at(
            stepped(a_context()),
            stepped(fast),
            stepped(a_context(steps_tokens=(1000, 1030, 1060))),
            stepped(msgspec.structs.replace(fast, signs=(a_sign(),))),
            stepped(incoherent),
            GOING_EVENTS["stop-judged"],
        )
    )

    assert lines == snapshot(
        [
            "throttled /slope 1 of 5, 10 % [2]",
            "paused /loop 1 of 5 [4]",
            "stopped /coherence 1 of 5 [5]",
            "lifted /loop 0 of 1 []",
        ]
    )


def test_pauses_are_lifted_by_an_answer_or_unasked() -> None:
    lines = told(
        looked_back_at(
            stepped(REWORK, "a1"),
            decided("another", ApprovalState.GRANTED),
            decided("a1", ApprovalState.GRANTED),
            stepped(REWORK, "a2"),
            decided("a2", ApprovalState.CANCELLED),
            RunLifted(reason="it is fine"),
            stepped(UNSURE, "a3"),
            decided("a3", ApprovalState.DENIED),
            RunLifted(reason="after all"),
            RunLifted(reason="there is nothing to resume"),
            stepped(UNSURE, "a4"),
        )
    )

    assert lines == snapshot(
        [
            "paused /rework 2 of 4, 46 % [1, 4]",
            "paused /uncertainty 2 of 4 [7, 11]",
            "lifted /rework 2 of 2, 46 % [3, 6]",
            "lifted /uncertainty 0 of 2 []",
        ]
    )


def test_a_turn_that_ends_can_be_paused_as_well() -> None:
    event = GOING_EVENTS["stop-judged"]
    assert isinstance(event, StopJudged)
    ruling = Ruling(course=Course.AWAIT_PERSON, by=Authority.STEP, reason="")
    paused = msgspec.structs.replace(
        event, facts=REWORK, step=decide(REWORK, Steps()), hard=(), ruling=ruling, approval="a1"
    )

    assert told(looked_back_at(paused, decided("a1", ApprovalState.GRANTED))) == snapshot(
        ["paused /rework 1 of 1, 46 % [1]", "lifted /rework 1 of 1, 46 % [2]"]
    )


def test_what_was_held_anyway_is_no_answer_of_the_gate() -> None:
    event = GOING_EVENTS["stop-judged"]
    assert isinstance(event, StopJudged)

    held = msgspec.structs.replace(stepped(REWORK), hard=event.hard)

    assert told(looked_back_at(held)) == []


def test_a_limit_is_told_as_it_would_be_compared() -> None:
    exact = a_context(rework_count=None, rework_ratio=0.57, rework_of=100)
    above = a_context(rework_count=None, rework_ratio=0.5700001, rework_of=100)

    percents = [
        [each.percent for each in looked_back_at(stepped(context)).entries]
        for context in (exact, above)
    ]

    assert 0.57 * 100 < 57
    assert percents == [[57, 57], [58, 58]]


def test_what_everybody_agreed_to_is_left_out_first() -> None:
    unanimous = [f"git.rule-{number:03}" for number in range(MOST_ENTRIES)]
    events = [
        event
        for rule in unanimous
        for event in (opened(rule, a_finding(rule)), decided(rule, ApprovalState.GRANTED))
    ]
    silence = [opened("a1", a_finding("git.push-force")), decided("a1", ApprovalState.EXPIRED)]

    entries = looked_back_at(*events, *silence).entries

    assert len(entries) == MOST_ENTRIES
    assert entries[0].name == "git.push-force"
    assert (entries[0].count, entries[0].of) == (0, 1)


def test_only_the_first_records_are_named() -> None:
    events = [judged(a_finding("filesystem.rm-root", BLOCKS))] * 30

    [entry] = looked_back_at(*events).entries

    assert entry.evidence == tuple(Evidence(run="r1", seq=seq) for seq in range(1, 6))
    assert (entry.count, entry.of, MOST_EVIDENCE) == (30, 30, 5)


@given(st.lists(any_event(), max_size=30))
def test_whatever_happened_the_retrospective_is_small_and_adds_up(events: Sequence[Event]) -> None:
    retrospective = looked_back_at(*events)

    for kind in RetrospectiveKind:
        own = [each for each in retrospective.entries if each.kind is kind]
        assert len(own) <= MOST_ENTRIES
    for each in retrospective.entries:
        assert len(each.evidence) <= MOST_EVIDENCE
        assert each.kind is RetrospectiveKind.REWORK or 0 <= each.count <= each.of
        assert len(each.name) <= 120
    assert looked_back_at(*events) == retrospective
    assert msgspec.json.decode(msgspec.json.encode(retrospective), type=Retrospective)
