"""Every flow of a review, with the ledger closed and opened anew between any two steps."""

from __future__ import annotations

import pytest

from gates.policies import gates_with
from interlock import InputError
from interlock.errors import DecidedError
from interlock.model.approval import ApprovalState, Subject
from interlock.model.events import RunFinished
from interlock.model.review import EntryKind, GateAction, ReviewMode, ReviewOutcome
from interlock.model.run import RunStatus
from review_flows.conftest import OpenWorkshop
from review_flows.workshop import FAIL, GATES, PASS, Workshop, counted, used_up


def test_a_fail_is_tried_again_and_the_second_asks_a_person(workshop: Workshop) -> None:
    workshop.review("plan", subject="the plan")
    first = workshop.says(FAIL)
    assert counted(workshop) == (1, 0, ReviewMode.BLOCKING)
    second = workshop.says("GATE FAIL : still two")

    assert (first.outcome, first.approval_id) == (ReviewOutcome.RETRY, None)
    assert (first.decision, second.decision) == ("retry", "ask")
    for answer, entries in ((first, 1), (second, 2)):
        assert answer.detail.review is not None
        assert answer.detail.entry == answer.detail.review.history[-1]
        assert [each.at is not None for each in answer.detail.review.history] == [True] * entries
    assert not first.detail.retry_limit_exceeded
    guidance = first.guidance or ""
    assert "Attempt 2 of 2" in guidance
    assert "- the plan names every file" in guidance
    assert "Previous feedback: FAIL: two cases are missing" in guidance
    assert second.outcome is ReviewOutcome.ASK
    assert second.detail.retry_limit_exceeded
    assert second.detail.exhausted_gate_ids == ("plan",)
    assert second.choices == tuple(GateAction)
    assert counted(workshop) == (2, 0, ReviewMode.BLOCKING)
    assert workshop.pending.approval == second.approval_id
    assert [entry.kind for entry in workshop.pending.review.history] == [EntryKind.FAILED] * 2
    (question,) = workshop.inbox
    assert (question.id, question.subject) == (second.approval_id, Subject.REVIEW)
    assert question.summary == "review `first`: the plan"
    assert [finding.rule for finding in question.findings] == ["review.plan"]
    assert question.findings[0].remediation == "choose `retry`, `skip`, `abort`"
    assert workshop.is_sound()


def test_skip_lets_the_work_go_on_and_is_no_pass(workshop: Workshop) -> None:
    question = used_up(workshop)
    answer = workshop.chooses(question, "skip", instructions="good enough for today")
    workshop.does(lambda run: run.finish())

    assert answer.advances
    reviews = workshop.state.reviews
    assert reviews.pending == {}
    assert [(each.id, each.kind) for each in reviews.closed] == [("first", EntryKind.SKIPPED)]
    assert "good enough for today" in reviews.closed[0].reason
    assert workshop.inbox == []
    decided = workshop.question(question)
    assert (decided.state, decided.decided_by) == (ApprovalState.GRANTED, "operator:ada")
    assert workshop.state.status is RunStatus.FINISHED
    assert workshop.is_sound()


def test_abort_ends_the_run_for_good_and_every_question_with_it(workshop: Workshop) -> None:
    other = workshop.does(lambda run: run.command("git push --force"))
    question = used_up(workshop)
    workshop.does(lambda run: run.review("second", ["plan"]))
    assert len(workshop.inbox) == 2
    answer = workshop.chooses(question, GateAction.ABORT, instructions="wrong task")

    assert answer.outcome is ReviewOutcome.STOPPED
    state = workshop.state
    assert (state.status, state.outcome) == (RunStatus.FINISHED, "aborted")
    assert workshop.inbox == []
    assert other.approval_id is not None
    assert workshop.question(other.approval_id).state is ApprovalState.CANCELLED
    assert workshop.question(question).state is ApprovalState.DENIED
    last = workshop.events[-1]
    assert isinstance(last, RunFinished)
    records = len(workshop.events)
    for late in (
        lambda: workshop.says(PASS),
        lambda: workshop.review("plan", review_id="third"),
        workshop.acts,
        lambda: workshop.does(lambda run: run.stopped("done")),
        lambda: workshop.does(lambda run: run.verdict(PASS, review="second")),
        lambda: workshop.uses(
            lambda interlock: interlock.choose_review(
                workshop.run_id, "retry", token=workshop.operator
            )
        ),
    ):
        with pytest.raises(InputError, match="is finished: "):
            late()
    with pytest.raises(DecidedError, match="was denied already, by ada"):
        workshop.chooses(question, "retry")
    # Closing it once more changes nothing, whatever it says.
    workshop.does(lambda run: run.finish("completed"))
    assert workshop.state.outcome == "aborted"
    assert len(workshop.events) == records
    assert workshop.is_sound()


def test_a_retry_gives_the_attempts_again_and_a_pass_goes_on(workshop: Workshop) -> None:
    question = used_up(workshop)
    chosen = workshop.chooses(question, "retry", instructions="look at the second table")
    assert counted(workshop) == (0, 1, ReviewMode.BLOCKING)
    passed = workshop.says(PASS)
    workshop.does(lambda run: run.finish())

    assert chosen.outcome is ReviewOutcome.RETRY
    guidance = chosen.guidance or ""
    assert "Attempt 1 of 2" in guidance
    assert "> look at the second table" in guidance
    assert passed.advances
    assert [each.kind for each in workshop.state.reviews.closed] == [EntryKind.PASSED]
    assert workshop.is_sound()


def test_the_history_is_kept_with_a_reset_and_instructions_stay_until_the_next(
    workshop: Workshop,
) -> None:
    workshop.chooses(used_up(workshop), "retry", instructions="look at the second table")
    again = workshop.says(FAIL)

    history = [entry.kind for entry in workshop.pending.review.history]
    assert history == [EntryKind.FAILED, EntryKind.FAILED, EntryKind.RESET, EntryKind.FAILED]
    assert [entry.attempt for entry in workshop.pending.review.history] == [1, 2, 2, 1]
    assert "> look at the second table" in (again.guidance or "")
    assert "Attempt 2 of 2" in (again.guidance or "")
    repeated = workshop.does(lambda run: run.review("first", ["plan"]))
    assert repeated.repeated
    assert "> look at the second table" in repeated.guidance


def test_an_advisory_fail_is_told_and_the_work_goes_on(workshop: Workshop) -> None:
    workshop.review("style")
    answer = workshop.says("GATE_REVIEW: FAIL - long sentences")
    workshop.does(lambda run: run.finish())

    assert answer.advances
    assert answer.footer == ("Advisory gate warnings:\n- gate `style` failed: long sentences")
    reviews = workshop.state.reviews
    assert reviews.warnings == ("gate `style` failed: long sentences",)
    assert [each.kind for each in reviews.closed] == [EntryKind.FAILED]
    assert workshop.inbox == []
    assert workshop.is_sound()


def test_an_informational_fail_is_recorded_and_nothing_else(workshop: Workshop) -> None:
    workshop.review("notes")
    answer = workshop.says("GATE_REVIEW: FAIL - there are none")

    assert answer.advances
    assert (answer.footer, workshop.state.reviews.warnings) == ("", ())
    assert [fault.gate for fault in answer.detail.faults] == ["notes"]
    assert [each.kind for each in workshop.state.reviews.closed] == [EntryKind.FAILED]


def test_a_blocking_gate_holds_the_work_and_the_advisory_warning_is_still_told(
    workshop: Workshop,
) -> None:
    workshop.review("plan", "style", "notes")
    verdict = "GATE_REVIEW: FAIL - both\nGATE_VERDICTS:\n[1] FAIL - short\n[2] FAIL \u2014 ugly"
    first = workshop.says(verdict)
    second = workshop.says(verdict)

    for answer in (first, second):
        assert answer.footer == "Advisory gate warnings:\n- gate `style` failed: ugly"
    assert (first.outcome, second.outcome) == (ReviewOutcome.RETRY, ReviewOutcome.ASK)
    assert second.detail.exhausted_gate_ids == ("plan",)
    assert workshop.state.reviews.warnings == ("gate `style` failed: ugly",) * 2


def test_a_pass_with_an_advisory_fail_goes_on_with_the_warning(workshop: Workshop) -> None:
    workshop.review("plan", "style")
    answer = workshop.says("PASS - good\nGATE_VERDICTS:\n1 PASS - good\n2 FAIL \u2013 ugly")

    assert answer.advances
    assert answer.footer == "Advisory gate warnings:\n- gate `style` failed: ugly"
    assert [each.kind for each in workshop.state.reviews.closed] == [EntryKind.PASSED]


def test_an_overall_pass_with_a_fail_of_a_blocking_gate_is_a_fail(workshop: Workshop) -> None:
    workshop.review("style", "plan")
    answer = workshop.says("PASS - good\nGATE_VERDICTS:\n[style] PASS - ok\n[plan] FAIL: short")

    assert answer.outcome is ReviewOutcome.RETRY
    assert counted(workshop)[0] == 1
    assert "gate `plan` failed: short" in answer.reason


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "it is empty"),
        ("it looks fine to me", "its first line is `it looks fine to me`"),
        ("GATE_REVIEW: PASS", "it says PASS and not why"),
        ("GATE_REVIEW: PASS - ...", "it says PASS and not why"),
        ("PASS-through is on", "its first line is `PASS-through is on`"),
        ('{"overall": "PASS"}', "missing required field `rationale`"),
        ('{"overall": "MAYBE", "rationale": "so"}', "`overall` is `MAYBE`"),
        ("PASS - x\nGATE_VERDICTS:\n[7] PASS - good", "it names a gate `7`"),
    ],
)
def test_a_verdict_that_cannot_be_read_counts_and_says_why(
    file_workshop: OpenWorkshop, said: str, why: str
) -> None:
    workshop = file_workshop()
    workshop.review("plan")
    first = workshop.says(said)
    second = workshop.says(said)

    assert (first.outcome, second.outcome) == (ReviewOutcome.RETRY, ReviewOutcome.ASK)
    assert why in first.reason
    assert why in (first.guidance or "")
    kinds = [entry.kind for entry in workshop.pending.review.history]
    assert kinds == [EntryKind.UNREADABLE] * 2
    assert workshop.is_sound()


def test_a_bare_word_in_an_agents_reply_is_no_verdict(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    workshop.review("plan")
    bare = workshop.does(lambda run: run.verdict("PASS - good", is_reply=True))
    marked = workshop.does(lambda run: run.verdict("gate_review: pass - good", is_reply=True))

    assert bare.outcome is ReviewOutcome.RETRY
    assert "could not be read" in bare.reason
    assert marked.advances


@pytest.mark.parametrize(
    ("severity", "mode", "goes_on", "is_told"),
    [
        ("critical", None, False, False),
        ("high", None, True, True),
        ("medium", None, True, True),
        ("low", None, True, False),
        (None, None, False, False),
        ("critical", "informational", True, False),
        ("low", "blocking", False, False),
        ("critical", "advisory", True, True),
        (None, "advisory", True, True),
    ],
)
def test_severity_says_what_a_fail_does_unless_the_gate_says_it(
    file_workshop: OpenWorkshop,
    severity: str | None,
    mode: str | None,
    goes_on: bool,
    is_told: bool,
) -> None:
    workshop = file_workshop()
    gate = {"id": "g", "criteria": ["it holds"], "severity": severity, "mode": mode}
    workshop.does(lambda run: run.review("first", [gate]))
    answer = workshop.says(FAIL)

    assert (answer.advances, bool(answer.footer)) == (goes_on, is_told)


def test_the_strictest_mode_and_the_lowest_limit_among_the_blocking_gates_count(
    file_workshop: OpenWorkshop,
) -> None:
    workshop = file_workshop()
    gates = [
        {"id": "a", "criteria": ["it holds"], "max_attempts": 4},
        {"id": "b", "criteria": ["it holds"], "severity": "critical", "max_attempts": 3},
        {"id": "c", "criteria": ["it holds"], "severity": "high", "max_attempts": 1},
        {"id": "d", "criteria": ["it holds"], "mode": "informational", "max_attempts": 1},
    ]
    opening = workshop.does(lambda run: run.review("first", gates))

    assert (opening.review.mode, opening.review.max_attempts) == (ReviewMode.BLOCKING, 3)
    assert [workshop.says(FAIL).outcome.value for _ in range(3)] == ["retry", "retry", "ask"]


def test_resets_are_limited_by_the_policy(file_workshop: OpenWorkshop) -> None:
    policy = "[reviews]\nmax-resets = 1\nmax-attempts = 1\n" + GATES
    workshop = file_workshop(policy=policy)
    workshop.review("plan")
    first = workshop.says(FAIL)
    workshop.chooses(first.approval_id, "retry")
    second = workshop.says(FAIL)

    assert second.choices == (GateAction.SKIP, GateAction.ABORT)
    assert "`retry`" not in (second.guidance or "").partition("cannot:")[2]
    with pytest.raises(InputError, match="was reset 1 of 1 times: choose `skip` or `abort`"):
        workshop.chooses(second.approval_id, "retry")
    assert counted(workshop) == (1, 1, ReviewMode.BLOCKING)
    assert [each.id for each in workshop.inbox] == [second.approval_id]
    assert workshop.chooses(second.approval_id, "skip").advances


def test_two_reviews_at_once_are_told_apart_by_name(workshop: Workshop) -> None:
    workshop.review("plan", review_id="one")
    workshop.review("plan", review_id="other")
    with pytest.raises(InputError, match="name one: `one`, `other`"):
        workshop.says(FAIL)
    with pytest.raises(InputError, match="no review `third` is pending"):
        workshop.does(lambda run: run.verdict(FAIL, review="third"))
    workshop.does(lambda run: run.verdict(FAIL, review="other"))

    pending = workshop.state.reviews.pending
    assert [each.review.attempt_count for each in pending.values()] == [0, 1]


def test_a_review_that_is_pending_stays_as_it_is_when_it_is_opened_again(
    workshop: Workshop,
) -> None:
    workshop.review("plan")
    workshop.says(FAIL)
    records = workshop.kinds
    again = workshop.does(lambda run: run.review("first", ["plan"], all_hints=True))

    assert again.repeated
    assert "Attempt 2 of 2" in again.guidance
    with pytest.raises(InputError, match="is pending already, with other gates"):
        workshop.review("style")
    assert workshop.kinds == records


def test_hints_are_cut_unless_all_are_asked_for(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop()
    gate = {"id": "g", "criteria": [f"demand {number} holds" for number in range(5)]}
    few = workshop.does(lambda run: run.review("few", [gate]))
    every = workshop.does(lambda run: run.review("every", [gate], all_hints=True))

    assert few.guidance.count("\n- demand") == 3
    assert every.guidance.count("\n- demand") == 5


def test_another_policy_does_not_change_what_was_asked(workshop: Workshop) -> None:
    workshop.review("plan")
    other = GATES.replace("the plan names every file", "something else")
    with workshop.opened() as interlock:
        interlock.adopt(gates_with(other), token=workshop.operator)
    workshop.policy = other
    answer = workshop.says(FAIL)

    assert "the plan names every file" in (answer.guidance or "")
    assert answer.outcome is ReviewOutcome.RETRY
    assert workshop.is_sound()


def test_one_gate_alone_needs_no_list(workshop: Workshop) -> None:
    named = workshop.does(lambda run: run.review("named", "plan"))
    table = {"id": "docs", "check": ["true"]}
    described = workshop.does(lambda run: run.review("described", table))

    assert [each.id for each in (*named.gates, *described.gates)] == ["plan", "docs"]
