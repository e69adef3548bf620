"""The state of a run: its records folded forward, none left out, nothing kept for ever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.errors import LedgerError
from interlock.model.action import CommandAction
from interlock.model.approval import ApprovalState
from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.budget import Alert, Amounts, Dimension, Limits, TokenUsage
from interlock.model.control_state import (
    ClosedReview,
    Completion,
    ControlState,
    after_check,
    meter_with_words,
)
from interlock.model.events import (
    ActionJudged,
    ActionObserved,
    ApprovalDecided,
    ApprovalUsed,
    BeliefHeld,
    BudgetAlerted,
    BudgetChanged,
    CheckpointTaken,
    CheckRan,
    Event,
    FileChange,
    Outcome,
    PersonSpoke,
    PolicyAdopted,
    Record,
    ReservationLapsed,
    ReviewChosen,
    ReviewJudged,
    ReviewOpened,
    RunFinished,
    RunHalted,
    RunLifted,
    StepJudged,
    UsageReported,
    ViolationRecorded,
)
from interlock.model.facts import Facts
from interlock.model.loop_events import LoopFrozen, LoopThawed
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.progress_meter import Kind, Observation
from interlock.model.review import (
    CheckResult,
    EntryKind,
    GateAction,
    PendingGateReview,
    Report,
    ReviewDecision,
    ReviewEntry,
    ReviewGate,
    ReviewMode,
    ReviewOutcome,
    ReviewPurpose,
    TestCounts,
)
from interlock.model.run import RunState, RunStatus, alerts_sent, folded, unpriced_tokens
from interlock.model.step import (
    Belief,
    Checkpoint,
    CheckpointKind,
    ContinueDecision,
    StepContext,
    StepDecision,
)
from interlock.model.verdict import Decision, Finding, Severity, Verdict


def _record(seq: int, event: Event, at: int = 0) -> Record:
    by = Principal(kind=PrincipalKind.AGENT, name="claude")
    return Record(v=1, run="r", seq=seq, at=at, by=by, prev="", event=event)


def _after(*events: Event) -> RunState:
    state = RunState(id="r")
    for seq, event in enumerate(events, start=1):
        state = folded(state, _record(seq, event, at=seq))
    return state


def _wrote(path: str, *lines: int, gone: tuple[int, ...] = ()) -> ActionObserved:
    change = FileChange(path=path, added=len(lines), wrote=lines, gone=gone)
    return ActionObserved(tool="edit", outcome=Outcome.OK, changes=(change,))


@given(seq=st.integers(-5, 5).filter(lambda seq: seq != 1))
def test_a_record_out_of_its_place_is_refused(seq: int) -> None:
    with pytest.raises(LedgerError, match=f"run `r`: record {seq} does not follow record 0"):
        folded(RunState(id="r"), _record(seq, ViolationRecorded(rule="a", message="b")))


def test_a_record_twice_is_refused() -> None:
    spoke = _record(1, PersonSpoke())
    state = folded(RunState(id="r"), spoke)

    with pytest.raises(LedgerError, match="run `r`: record 1 does not follow record 1"):
        folded(state, spoke)


def test_a_state_knows_its_place_and_its_time() -> None:
    state = _after(_wrote("a", 1), _wrote("b", 2))

    assert (state.seq, state.updated_at) == (2, 2)
    assert (state.own_scope, state.tree_scope) == ("run/r", "tree/r")


def test_only_the_latest_evidence_is_quoted() -> None:
    state = _after(*[ViolationRecorded(rule=str(n), message="m") for n in range(50)])

    assert state.violations == 50
    assert [each.rule for each in state.recent_violations] == [str(n) for n in range(30, 50)]


def test_only_the_latest_forbidden_commands_are_quoted() -> None:
    told = tuple(str(n) for n in range(50))
    state = _after(ActionObserved(tool="command", outcome=Outcome.OK, forbidden=told))

    assert state.forbidden == 50
    assert state.recent_forbidden == told[30:]


def test_the_oldest_files_lines_are_forgotten_first() -> None:
    first, second, third = range(9000), range(9000, 18_000), range(18_000, 27_000)
    state = _after(_wrote("a", *first), _wrote("b", *second), _wrote("a", 1), _wrote("c", *third))

    assert list(state.written) == ["a", "c"]
    assert state.files == {"a", "b", "c"}


def test_a_file_alone_is_never_forgotten() -> None:
    state = _after(_wrote("a", *range(30_000)))

    assert len(state.written["a"]) == 30_000


def test_lines_that_are_gone_are_no_longer_known() -> None:
    state = _after(_wrote("a", 1, 2, 3), _wrote("a", gone=(2,)), _wrote("b"))

    assert state.written == {"a": frozenset({1, 3})}


def test_a_promise_that_lapsed_is_taken_back() -> None:
    lapsed = ReservationLapsed(of=1, scopes=(), released=Amounts(tokens=3))

    assert _after(lapsed).reserved == Amounts(tokens=-3)


def _changed(scope: str, limit: int) -> BudgetChanged:
    return BudgetChanged(scope=scope, dimension=Dimension.TOKENS, before=None, after=limit)


def _alerted(scope: str, dimension: Dimension, percent: int) -> BudgetAlerted:
    return BudgetAlerted(
        alert=Alert(scope=scope, dimension=dimension, percent=percent, used=1, limit=1)
    )


def test_a_runs_own_limits_and_its_trees_are_told_apart() -> None:
    state = _after(_changed("run/r", 1), _changed("tree/r", 2), _changed("agent/claude", 3))

    assert (state.limits, state.tree_limits) == (Limits(tokens=1), Limits(tokens=2))


def test_alerts_of_other_accounts_are_not_the_runs_to_know() -> None:
    state = _after(
        _alerted("run/r", Dimension.TOKENS, 75),
        _alerted("run/r", Dimension.COST, 90),
        _alerted("tree/r", Dimension.TOKENS, 100),
        _alerted("tree/other", Dimension.COST, 100),
        _alerted("agent/claude", Dimension.TOKENS, 95),
    )

    assert alerts_sent(state, "run/r") == {"tokens": 75, "cost-usd": 90}
    assert alerts_sent(state, "tree/r") == {"tokens": 100}


@pytest.mark.parametrize("scope", ["run/r", "tree/r"])
def test_a_new_limit_forgets_only_what_was_told_of_it(scope: str) -> None:
    state = _after(
        _alerted("run/r", Dimension.TOKENS, 75),
        _alerted("tree/r", Dimension.TOKENS, 90),
        _alerted(scope, Dimension.COST, 95),
        _changed(scope, 9),
    )

    other = "tree/r" if scope == "run/r" else "run/r"
    assert alerts_sent(state, scope) == {"cost-usd": 95}
    assert "tokens" in alerts_sent(state, other)


@pytest.mark.parametrize(
    ("usage", "cost", "unpriced"),
    [
        (None, None, 0),
        (TokenUsage(input_tokens=3, output_tokens=4), None, 7),
        (TokenUsage(input_tokens=3, output_tokens=4), 0, 0),
        (TokenUsage(input_tokens=3, output_tokens=4), 5, 0),
    ],
)
def test_an_unknown_price_is_not_a_price_of_nothing(
    usage: TokenUsage | None, cost: int | None, unpriced: int
) -> None:
    event = ActionObserved(tool="x", outcome=Outcome.OK, usage=usage, cost_micros=cost)

    assert unpriced_tokens(event) == unpriced
    assert _after(event).unpriced_tokens == unpriced


def test_the_use_of_a_model_adds_up() -> None:
    usage = UsageReported(
        usage=TokenUsage(input_tokens=1, output_tokens=2), cost_micros=3, spent=Amounts(tokens=3)
    )
    state = _after(usage, usage)

    assert (state.input_tokens, state.output_tokens, state.spent.tokens) == (2, 4, 6)


def test_a_checkpoint_is_known_by_its_step() -> None:
    checkpoint = Checkpoint(id="c", step=25, kind=CheckpointKind.GIT, workspace="/w", commit="c0")

    assert _after(CheckpointTaken(checkpoint=checkpoint)).control.checkpoint_step == 25


def test_a_person_halts_a_run_lifts_it_again_and_may_just_speak() -> None:
    halted = _after(PersonSpoke(), RunHalted(reason="wait"))
    lifted = _after(PersonSpoke(), RunHalted(reason="wait"), RunLifted(reason="go on"))

    assert halted.control.hold is not None
    assert lifted.control.hold is None


def test_a_grant_is_known_until_it_lets_something_through() -> None:
    granted = ApprovalDecided(id="a", state=ApprovalState.GRANTED)
    denied = ApprovalDecided(id="b", state=ApprovalState.DENIED)

    assert _after(granted, denied).granted == {"a"}
    assert _after(granted, denied, ApprovalUsed(id="a")).granted == frozenset()


def test_what_was_not_run_is_not_counted() -> None:
    state = _after(
        ActionObserved(tool="edit", outcome=Outcome.NOT_RUN, spent=Amounts(tool_calls=1))
    )

    assert state.spent == Amounts()


def test_a_check_that_measured_nothing_changes_nothing() -> None:
    ran = CheckRan(review="first", result=CheckResult(gate="tests", error="gone"), command="make")

    assert after_check(ControlState(), ran) == ControlState()


# Reviews.


_PENDING = PendingGateReview(
    id="first", gate_ids=("tests",), mode=ReviewMode.BLOCKING, max_attempts=2
)
_OPENED = ReviewOpened(
    review=_PENDING,
    gates=(ReviewGate(id="tests", criteria=("they pass",)),),
    purpose=ReviewPurpose.COMPLETION,
)


def _tests_ran(failed: int, *, progressed: bool = False) -> CheckRan:
    counted = TestCounts(passed=9, failed=failed)
    return CheckRan(
        review="first",
        result=CheckResult(gate="tests", exit_code=1 if failed else 0, tests=counted),
        command="make test",
        measured=Observation(kind=Kind.CALL, tool="check", tests=counted),
        progressed=progressed,
    )


def _choice(kind: EntryKind, action: GateAction) -> ReviewChosen:
    entry = ReviewEntry(kind=kind, attempt=2, reason="so")
    decision = ReviewDecision(outcome=ReviewOutcome.ADVANCE, reason="a person said so", entry=entry)
    return ReviewChosen(review="first", action=action, decision=decision)


def test_a_check_is_what_the_run_knows_of_its_tests_and_better_ones_pay_for_going_on() -> None:
    state = RunState(id="r", control=ControlState(continuations=2, credit_used=2))
    for seq, event in enumerate((_OPENED, _tests_ran(3), _tests_ran(1, progressed=True)), start=1):
        state = folded(state, _record(seq, event))

    assert state.tests == TestCounts(passed=9, failed=1)
    assert state.control.meter.steps == 2
    assert (state.control.continuations, state.control.credit_used) == (0, 1)
    assert [each.exit_code for each in state.reviews.pending["first"].checks] == [1]


def test_a_verdict_closes_a_review_and_more_work_opens_the_question_again() -> None:
    passed = ReviewJudged(
        review="first", decision=ReviewDecision(outcome=ReviewOutcome.ADVANCE, reason="it passes")
    )
    done = _after(_OPENED, passed)
    more = _after(_OPENED, passed, _wrote("a", 1))

    assert done.reviews.pending == {}
    assert done.reviews.completion is Completion.PASSED
    assert more.reviews.completion is Completion.OPEN


def test_a_persons_choice_ends_a_review_and_counts_as_their_word() -> None:
    state = RunState(id="r", control=ControlState(steps=5, continuations=2))
    for seq, event in enumerate((_OPENED, _choice(EntryKind.SKIPPED, GateAction.SKIP)), start=1):
        state = folded(state, _record(seq, event))

    assert state.reviews.completion is Completion.SKIPPED
    assert state.reviews.closed[-1:] == (
        ClosedReview(
            id="first",
            kind=EntryKind.SKIPPED,
            reason="a person said so",
            at=state.updated_at,
        ),
    )
    assert (state.control.steps_since_person, state.control.continuations) == (0, 0)


# The rest of its life.


def test_a_projects_policy_is_not_the_runs_own() -> None:
    for_all = PolicyAdopted(policy_hash="new", body_digest="d", engine="1")
    for_one = PolicyAdopted(policy_hash="other", body_digest="d", engine="1", project="shop")

    assert _after(for_all).policy_hash == "new"
    assert _after(for_all, for_one).policy_hash == "new"


def test_the_loop_stands_still_where_a_person_froze_or_halted_it() -> None:
    frozen = LoopFrozen(reason="a release is on")

    assert _after(PersonSpoke()).standstill is None
    assert _after(frozen).standstill == "a release is on"
    assert _after(frozen, LoopThawed(reason="it is out")).standstill is None
    assert _after(RunHalted(reason="wait")).standstill == "wait"


def test_a_belief_is_known_by_its_name() -> None:
    belief = Belief(name="the cache is stale", opposing=1)

    assert _after(BeliefHeld(belief=belief)).control.beliefs == {"the cache is stale": belief}


def test_a_run_that_is_finished_says_how_and_when() -> None:
    report = Report(evaluations=())
    state = _after(PersonSpoke(), RunFinished(outcome="merged", report=report))

    assert (state.status, state.outcome, state.ended_at) == (RunStatus.FINISHED, "merged", 2)
    assert state.report == report


def test_words_count_in_the_meter_without_being_kept_in_it() -> None:
    control = ControlState(said="I shall look at the cache.")

    assert meter_with_words(control, "Done.") != meter_with_words(control) != control.meter
    assert meter_with_words(ControlState()) == ControlState().meter


def test_rankings_count_rules_and_places_and_forget_the_rarest_first() -> None:
    state = RunState(id="r")
    broken = [("often", "a.py"), *((f"rule-{number}", None) for number in range(120))]
    for seq, (rule, place) in enumerate([*broken, ("often", "a.py")], start=1):
        event = ViolationRecorded(rule=rule, message="so", location=place)
        state = folded(state, _record(seq, event))

    assert len(state.violated_rules) == 100
    assert state.violated_rules["often"] == 2
    assert "rule-119" in state.violated_rules
    assert state.violated_places == {"a.py": 2}


def test_what_would_have_happened_is_counted_and_by_which_rules() -> None:
    finding = Finding(
        gate="rules",
        rule="own",
        decision=Decision.REQUIRE_CONFIRMATION,
        severity=Severity.HIGH,
        message="not here",
        remediation="wait",
    )
    verdict = Verdict(decision=Decision.WARN, findings=(finding.observed,), policy_hash="p")
    asked = ActionJudged(
        action=CommandAction(command="make deploy"),
        digest="d",
        facts=Facts(),
        verdict=verdict,
        decision=Decision.WARN,
    )
    held = ContinueDecision(decision=StepDecision.CONTINUE, would_have=StepDecision.PAUSE)
    step = StepJudged(
        context=StepContext(),
        credit=3,
        decision=held,
        ruling=Ruling(course=Course.GO_ON, by=Authority.STEP, reason="told"),
    )
    denied = replace(
        asked, decision=Decision.BLOCK, verdict=replace(verdict, decision=Decision.BLOCK)
    )

    state = _after(asked, step, denied)

    assert state.would_have == {"require-confirmation": 1, "pause": 1}
    assert state.observed_rules == {"own": 2}
