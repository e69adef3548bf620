"""May it finish? Not while the completion checks fail, and a person is asked in the end."""

from __future__ import annotations

import asyncio

import pytest

from gates.policies import gates_with
from interlock import AsyncInterlock, Budget, InputError, Run, StopAnswer, TokenUsage
from interlock.errors import KeyConflictError, UnfinishedError
from interlock.model.approval import ApprovalState, Subject
from interlock.model.arbitration import Authority
from interlock.model.control_state import Completion
from interlock.model.review import EntryKind, ReviewOutcome, ReviewPurpose
from interlock.model.run import RunStatus
from interlock.values import Course
from review_flows.checking import ran
from review_flows.conftest import OpenWorkshop
from review_flows.workshop import ANNOUNCED, ASKED, COMPLETION, DONE, FAIL, GATES, PASS, Workshop


@pytest.fixture
def held(new_workshop: OpenWorkshop) -> Workshop:
    """A workshop whose policy has a completion check that fails."""
    return new_workshop(policy=COMPLETION)


@pytest.fixture
def quick(file_workshop: OpenWorkshop) -> Workshop:
    """The same, where the store makes no difference."""
    return file_workshop(policy=COMPLETION)


def ends_turn(workshop: Workshop, text: str = DONE) -> StopAnswer:
    return workshop.does(lambda run: run.stopped(text))


def finishes(workshop: Workshop, outcome: str = "completed") -> None:
    workshop.does(lambda run: run.finish(outcome))


def test_a_turn_that_ends_while_the_checks_fail_is_sent_on_with_what_failed(
    held: Workshop,
) -> None:
    answer = ends_turn(held)

    assert (answer.ruling.course, answer.ruling.by) == (Course.GO_ON, Authority.COMPLETION)
    nudge = answer.nudge or ""
    assert "Attempt 2 of 2" in nudge
    assert "`tests`: exit code 2" in nudge
    assert "every test passes" in nudge
    assert answer.completion is not None
    assert answer.completion.outcome is ReviewOutcome.RETRY
    assert held.pending.purpose is ReviewPurpose.COMPLETION
    assert held.pending.review.attempt_count == 1
    # How often is counted with the checks, not with the credit for going on.
    assert (held.state.control.credit_used, held.state.control.continuations) == (0, 0)
    assert held.is_sound()


def test_after_the_attempts_a_person_is_asked_and_skip_lets_it_finish(held: Workshop) -> None:
    ends_turn(held)
    waiting = ends_turn(held)
    again = ends_turn(held)
    with pytest.raises(UnfinishedError) as unfinished:
        finishes(held)

    for answer in (waiting, again):
        assert answer.ruling.course is Course.AWAIT_PERSON
        assert answer.approval_id == waiting.approval_id
    (question,) = held.inbox
    assert (question.id, question.subject) == (waiting.approval_id, Subject.REVIEW)
    assert unfinished.value.approval_id == waiting.approval_id
    assert len(ran(held)) == 2
    held.chooses(waiting.approval_id, "skip")
    assert held.state.reviews.completion is Completion.SKIPPED
    assert ends_turn(held).ruling.course is Course.FINISH
    held.acts()
    finishes(held)
    assert held.state.outcome == "completed"
    assert len(ran(held)) == 2
    assert held.is_sound()


def test_retry_gives_the_attempts_again_with_the_persons_words(held: Workshop) -> None:
    ends_turn(held)
    asked = ends_turn(held)
    held.chooses(asked.approval_id, "retry", instructions="mind work.txt")
    again = ends_turn(held, "I looked at work.txt and wrote the missing part. It is complete.")
    held.works("good")
    passed = ends_turn(held, "The last word is there as well: finished.")
    finishes(held)

    assert again.ruling.by is Authority.COMPLETION
    assert "> mind work.txt" in (again.nudge or "")
    assert passed.ruling.course is Course.FINISH
    assert [each.kind for each in held.state.reviews.closed] == [EntryKind.PASSED]
    assert held.is_sound()


def test_what_was_said_twice_before_a_person_chose_is_settled(quick: Workshop) -> None:
    ends_turn(quick)
    asked = ends_turn(quick)
    quick.chooses(asked.approval_id, "retry")
    again = ends_turn(quick)

    assert again.ruling.by is Authority.COMPLETION


def test_abort_ends_the_run(held: Workshop) -> None:
    ends_turn(held)
    asked = ends_turn(held)
    held.chooses(asked.approval_id, "abort")

    assert (held.state.status, held.state.outcome) == (RunStatus.FINISHED, "aborted")
    with pytest.raises(InputError, match="is finished"):
        ends_turn(held)
    assert held.is_sound()


def test_a_run_may_not_finish_as_completed_while_its_checks_fail(held: Workshop) -> None:
    with pytest.raises(UnfinishedError) as first:
        finishes(held)
    with pytest.raises(UnfinishedError) as second:
        finishes(held, "success")
    with pytest.raises(UnfinishedError):
        finishes(held)

    assert "may not finish: attempt 1 of 2" in str(first.value)
    assert "gate `tests` is refused: its check failed: exit code 2" in str(first.value)
    assert (first.value.approval_id, second.value.approval_id is None) == (None, False)
    assert "used 2 of 2 attempts" in str(second.value)
    assert held.state.status is RunStatus.RUNNING
    assert held.pending.review.attempt_count == 2
    finishes(held, "failed")
    assert (held.state.status, held.state.outcome) == (RunStatus.FINISHED, "failed")
    assert held.question(second.value.approval_id or "").state is ApprovalState.CANCELLED
    assert held.is_sound()


@pytest.mark.parametrize("outcome", ["failed", "Timed out", "aborted", "cancelled", "error"])
def test_a_run_that_says_it_is_not_done_may_end(quick: Workshop, outcome: str) -> None:
    finishes(quick, outcome)

    assert quick.state.outcome == outcome
    assert ran(quick) == []


@pytest.mark.parametrize("outcome", ["done", "ok", "completed with failures", "not failed"])
def test_any_other_word_says_that_it_is_done(quick: Workshop, outcome: str) -> None:
    with pytest.raises(UnfinishedError):
        finishes(quick, outcome)


def test_turns_and_finishing_share_their_attempts(quick: Workshop) -> None:
    ends_turn(quick)
    with pytest.raises(UnfinishedError) as error:
        finishes(quick)

    assert error.value.approval_id is not None
    assert [each.id for each in quick.inbox] == [error.value.approval_id]


def test_what_passed_counts_until_something_else_is_done(quick: Workshop) -> None:
    quick.works("good")
    assert ends_turn(quick).ruling.course is Course.FINISH
    assert quick.state.reviews.completion is Completion.PASSED
    ends_turn(quick)
    assert len(ran(quick)) == 1
    quick.acts()
    assert quick.state.reviews.completion is Completion.OPEN
    quick.works("bad")
    with pytest.raises(UnfinishedError):
        finishes(quick)

    assert len(ran(quick)) == 2


def test_something_that_was_allowed_and_never_reported_counts_as_done(quick: Workshop) -> None:
    quick.works("good")
    ends_turn(quick)
    assert quick.does(lambda run: run.may_edit("work.txt", "bad")).allowed
    quick.works("bad")

    with pytest.raises(UnfinishedError):
        finishes(quick)


def test_a_run_without_completion_checks_finishes(workshop: Workshop) -> None:
    assert ends_turn(workshop).completion is None
    finishes(workshop)

    assert workshop.state.outcome == "completed"


def test_a_blocking_review_keeps_a_run_from_finishing(workshop: Workshop) -> None:
    workshop.review("plan")
    records = workshop.kinds
    with pytest.raises(UnfinishedError, match="no verdict on review `first` has passed yet"):
        finishes(workshop)
    assert workshop.kinds == records
    workshop.says(PASS)
    finishes(workshop)

    assert workshop.state.outcome == "completed"


def test_a_review_that_only_advises_does_not_keep_a_run_from_finishing(
    file_workshop: OpenWorkshop,
) -> None:
    workshop = file_workshop()
    workshop.review("style")
    finishes(workshop)

    assert workshop.state.outcome == "completed"


# What comes before.


def test_a_run_that_a_person_has_halted_stays_halted(held: Workshop) -> None:
    held.uses(
        lambda interlock: interlock.halt(held.run_id, token=held.operator, reason="look at this")
    )
    answer = ends_turn(held)

    assert (answer.ruling.course, answer.ruling.by) == (Course.HALT, Authority.PERSON_STOP)
    assert answer.completion is None
    assert ran(held) == []


def test_a_budget_that_is_used_up_comes_before_the_checks(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop(policy=COMPLETION, budget=Budget(tokens=10))
    workshop.does(lambda run: run.usage(TokenUsage(output_tokens=20)))
    answer = ends_turn(workshop)

    assert (answer.ruling.course, answer.ruling.by) == (Course.HALT, Authority.OVER_BUDGET)
    assert ran(workshop) == []


@pytest.mark.parametrize("text", [ASKED, ANNOUNCED])
def test_who_asks_or_goes_on_is_not_held_to_the_checks(quick: Workshop, text: str) -> None:
    answer = ends_turn(quick, text)

    assert answer.ruling.by is not Authority.COMPLETION
    assert answer.completion is None
    assert ran(quick) == []


def test_who_waits_for_something_is_not_held_to_the_checks(quick: Workshop) -> None:
    answer = quick.does(lambda run: run.stopped("The build is running.", waiting_for="the build"))

    assert answer.ruling.by is Authority.WAITING
    assert ran(quick) == []


def test_a_turn_with_the_same_key_is_answered_once(held: Workshop) -> None:
    first = held.does(lambda run: run.stopped(DONE, key="turn-1"))
    second = held.does(lambda run: run.stopped(DONE, key="turn-1"))

    assert (first.repeated, second.repeated) == (False, True)
    assert second.ruling == first.ruling
    assert second.completion == first.completion
    assert held.pending.review.attempt_count == 1
    assert len(ran(held)) == 1
    with pytest.raises(KeyConflictError):
        held.does(lambda run: run.stopped(ASKED, key="turn-1"))


def test_a_question_that_ran_out_is_asked_anew_at_the_next_turn(
    file_workshop: OpenWorkshop,
) -> None:
    workshop = file_workshop(policy="[approvals]\nexpires-seconds = 600\n" + COMPLETION)
    ends_turn(workshop)
    first = ends_turn(workshop)
    workshop.clock.forward(seconds=601)
    second = ends_turn(workshop)

    assert second.ruling.course is Course.AWAIT_PERSON
    assert second.approval_id not in (None, first.approval_id)
    assert [each.id for each in workshop.inbox] == [second.approval_id]
    assert len(ran(workshop)) == 2
    assert workshop.pending.review.attempt_count == 2
    assert workshop.is_sound()


def test_the_review_of_completion_is_nobodys_to_open_or_to_judge(quick: Workshop) -> None:
    with pytest.raises(InputError, match="name it otherwise"):
        quick.review("plan", review_id="completion")
    ends_turn(quick)
    for said in (PASS, FAIL):
        with pytest.raises(InputError, match="is decided by its checks"):
            quick.does(lambda run, said=said: run.verdict(said, review="completion"))
        with pytest.raises(InputError, match="no review is pending"):
            quick.says(said)

    assert quick.pending.review.attempt_count == 1


def test_a_check_that_cannot_run_keeps_the_run_from_finishing(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop(policy=COMPLETION, workspace=None)
    answer = ends_turn(workshop)

    assert answer.ruling.by is Authority.COMPLETION
    assert "the run has no workspace" in (answer.nudge or "")


# Blocks, runs below, and whoever does not wait.


def test_the_end_of_a_block_raises_and_the_run_stays_open(quick: Workshop) -> None:
    def nothing(run: Run) -> None:
        with run:
            pass

    with pytest.raises(UnfinishedError, match="may not finish"):
        quick.does(nothing)
    assert quick.state.status is RunStatus.RUNNING


def test_a_block_that_fails_ends_its_run_as_failed(quick: Workshop) -> None:
    def breaks(run: Run) -> None:
        with run:
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        quick.does(breaks)
    assert quick.state.outcome == "failed"


def test_a_run_below_is_held_to_the_checks_in_its_own_workspace(quick: Workshop) -> None:
    def child(run: Run) -> None:
        below = run.child("a part of it")
        with pytest.raises(UnfinishedError):
            below.finish()
        quick.works("good")
        below.finish()
        assert below.state.reviews.completion is Completion.PASSED

    quick.does(child)
    assert quick.state.reviews.completion is Completion.OPEN
    finishes(quick)


def test_whoever_does_not_wait_is_told_the_same(quick: Workshop) -> None:
    async def flow() -> list[str]:
        place = str(quick.folder.parent / "ledger.db")
        gates, keys = gates_with(COMPLETION), quick.folder.parent / "keys"
        opening = AsyncInterlock.open(place, policy=gates, clock=quick.clock, keys=keys)
        async with await opening as opened:
            run = await opened.run("not waited for", workspace=quick.folder)
            await run.review("first", ["plan", "tests"])
            told = [
                (await run.verdict(PASS)).outcome.value,
                (await run.verdict(FAIL)).outcome.value,
            ]
            (question,) = await opened.approvals()
            chosen = await opened.choose(question.id, "skip", token=quick.operator)
            told.append(chosen.outcome.value)
            told.append((await run.stopped(DONE)).ruling.by.value)
            with pytest.raises(UnfinishedError) as unfinished:
                await run.finish()
            assert unfinished.value.approval_id is not None
            await opened.choose_review(run.id, "retry", token=quick.operator)
            quick.works("good")
            await run.finish()
            return told

    assert asyncio.run(flow()) == ["retry", "ask", "advance", "completion"]


def test_the_policy_that_asks_for_completion_may_come_later(file_workshop: OpenWorkshop) -> None:
    workshop = file_workshop(policy=GATES)
    ends_turn(workshop)
    workshop.policy = COMPLETION
    with pytest.raises(UnfinishedError):
        finishes(workshop)
