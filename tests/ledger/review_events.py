"""One realistic event of each kind that happens to reviews and to files."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.model.edit import Applied, AppliedFile
from interlock.model.events import (
    CheckRan,
    EditsApplied,
    Event,
    ReviewChosen,
    ReviewJudged,
    ReviewOpened,
    UndoKind,
    Undone,
)
from interlock.model.facts import Layer
from interlock.model.progress_meter import Observation
from interlock.model.review import (
    Check,
    CheckResult,
    EntryKind,
    FaultKind,
    GateAction,
    GateCoverage,
    GateFault,
    GateVerdict,
    LintCounts,
    Overall,
    PendingGateReview,
    ReviewDecision,
    ReviewEntry,
    ReviewGate,
    ReviewMode,
    ReviewOutcome,
    ReviewPurpose,
    ReviewVerdict,
    TestCounts,
    Witness,
)
from interlock.model.verdict import Decision, Finding, Severity

THE_TESTS = ReviewGate(
    id="tests",
    criteria=("every test passes",),
    severity=Severity.CRITICAL,
    max_attempts=2,
    check=Check(argv=("pytest", "-q"), timeout_s=60),
)
THE_STYLE = ReviewGate(
    id="style", criteria=("reads well",), mode=ReviewMode.ADVISORY, improvement_hints=False
)
A_FAILURE = CheckResult(
    gate="tests",
    exit_code=1,
    tail="1 failed, 41 passed in 2.1s",
    tests=TestCounts(passed=41, failed=1),
    lint=LintCounts(errors=1, warnings=2),
)
A_REVIEW = PendingGateReview(
    id="cart", gate_ids=("tests", "style"), mode=ReviewMode.BLOCKING, max_attempts=2
)
A_REFUSAL = ReviewEntry(
    kind=EntryKind.CONTRADICTED, attempt=2, reason="PASS: it works", gates=("tests",)
)
USED_UP = PendingGateReview(
    id="cart",
    gate_ids=("tests", "style"),
    mode=ReviewMode.BLOCKING,
    max_attempts=2,
    attempt_count=2,
    resets=1,
    history=(A_REFUSAL,),
    feedback="PASS: it works",
    instructions="look at the rounding",
)

REVIEW_EVENTS: Mapping[str, Event] = {
    "review-opened": ReviewOpened(
        review=A_REVIEW,
        gates=(THE_TESTS, THE_STYLE),
        purpose=ReviewPurpose.COMPLETION,
        subject="the cart adds up",
    ),
    "check-ran": CheckRan(
        review="cart",
        result=A_FAILURE,
        command="pytest -q",
        findings=(
            Finding(
                gate="destructive-ops",
                rule="fs.rm-recursive",
                decision=Decision.BLOCK,
                severity=Severity.HIGH,
                message="removes everything",
                remediation="remove less",
            ),
        ),
        duration_ms=2_100,
        measured=Observation.of_check(TestCounts(passed=41, failed=1), at=1_700_000_000_000_000),
        progressed=True,
    ),
    "review-judged": ReviewJudged(
        review="cart",
        key="verdict-2",
        digest="5e" * 32,
        verdict=ReviewVerdict(
            overall=Overall.PASS,
            rationale="it works",
            per_gate=(GateVerdict(gate="tests", passed=True, rationale="all green"),),
        ),
        decision=ReviewDecision(
            outcome=ReviewOutcome.ASK,
            reason="attempt 2 of 2: PASS: it works",
            review=USED_UP,
            entry=A_REFUSAL,
            faults=(
                GateFault(
                    gate="tests",
                    mode=ReviewMode.BLOCKING,
                    kind=FaultKind.CONTRADICTED,
                    why="exit code 1",
                ),
            ),
            warnings=("gate `style` failed: long lines",),
            guidance="a person chooses",
            retry_limit_exceeded=True,
            exhausted_gate_ids=("tests",),
            choices=(GateAction.RETRY, GateAction.SKIP, GateAction.ABORT),
        ),
        coverage=(
            GateCoverage(
                gate="tests",
                mode=ReviewMode.BLOCKING,
                witness=Witness.AGAINST,
                result="exit code 1",
            ),
        ),
        approval="a3",
    ),
    "review-chosen": ReviewChosen(
        review="cart",
        action=GateAction.SKIP,
        instructions="good enough for today",
        decision=ReviewDecision(
            outcome=ReviewOutcome.ADVANCE,
            reason="a person skipped the review",
            entry=ReviewEntry(
                kind=EntryKind.SKIPPED, attempt=2, reason="a person skipped the review"
            ),
        ),
        approval="a3",
    ),
    "edits-applied": EditsApplied(
        of=2,
        applied=Applied(
            id="r1-2",
            workspace="/srv/shop",
            files=(
                AppliedFile(
                    path="cart.py", target="src/cart.py", before="0f" * 32, after="5e" * 32
                ),
            ),
            undoes="r1-1",
        ),
        layers=(Layer.EXACT, Layer.FUZZY),
    ),
    "undone": Undone(id="r1-2", kind=UndoKind.EDITS, paths=("src/cart.py",), undo_id="r1-2-undo"),
}
