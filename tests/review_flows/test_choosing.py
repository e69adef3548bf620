"""Whose choice it is how a review goes on, when, how often, and how it is asked for."""

from __future__ import annotations

import pytest

from interlock import InputError, NotPermittedError
from interlock.errors import DecidedError
from interlock.model.approval import ApprovalState
from interlock.model.events import ReviewChosen
from interlock.model.principal import PrincipalKind
from interlock.model.review import GateAction, ReviewMode, ReviewOutcome
from interlock.model.run import RunStatus
from interlock.model.short_code import code_of
from review_flows.conftest import OpenWorkshop
from review_flows.workshop import FAIL, GATES, PASS, Workshop, counted, used_up
from service.ledgers import another


def test_only_a_person_with_a_credential_chooses(workshop: Workshop) -> None:
    question = used_up(workshop)
    agent = workshop.uses(lambda interlock: another(interlock, PrincipalKind.AGENT, "eve"))
    records = workshop.kinds
    for token in (agent, "", "not-known"):
        for action in GateAction:
            with pytest.raises(NotPermittedError):
                workshop.chooses(question, action, token=token)
            with pytest.raises(NotPermittedError):
                workshop.uses(
                    lambda interlock, token=token, action=action: interlock.choose_review(
                        workshop.run_id, action, token=token
                    )
                )

    assert workshop.kinds == records
    assert counted(workshop) == (2, 0, ReviewMode.BLOCKING)


@pytest.mark.parametrize("action", list(GateAction))
def test_nobody_chooses_while_attempts_remain(
    file_workshop: OpenWorkshop, action: GateAction
) -> None:
    workshop = file_workshop()
    workshop.review("plan")
    workshop.says(FAIL)
    records = workshop.kinds
    with pytest.raises(InputError, match=f"used 1 of 2 attempts: `{action.value}` can be chosen"):
        workshop.uses(
            lambda interlock: interlock.choose_review(
                workshop.run_id, action, token=workshop.operator
            )
        )

    assert workshop.kinds == records


def test_a_question_about_a_review_is_neither_approved_nor_denied(workshop: Workshop) -> None:
    question = used_up(workshop)
    records = workshop.kinds
    with pytest.raises(InputError, match=f"interlock review resolve {code_of(question)} retry"):
        workshop.uses(lambda interlock: interlock.approve(question, token=workshop.operator))
    with pytest.raises(InputError, match=f"interlock review resolve {code_of(question)} retry"):
        workshop.uses(lambda interlock: interlock.deny(question, token=workshop.operator))

    assert workshop.kinds == records
    assert [each.id for each in workshop.inbox] == [question]


def test_a_question_about_an_action_is_not_chosen_for(workshop: Workshop) -> None:
    asked = workshop.does(lambda run: run.command("git push --force"))
    with pytest.raises(InputError, match="is about action, not about a review"):
        workshop.chooses(asked.approval_id, "retry")


def test_a_verdict_changes_nothing_while_a_person_has_to_choose(workshop: Workshop) -> None:
    question = used_up(workshop)
    answer = workshop.says(PASS)

    assert answer.outcome is ReviewOutcome.REFUSED
    assert answer.approval_id == question
    assert "a person must choose `retry`, `skip` or `abort`" in answer.reason
    assert counted(workshop) == (2, 0, ReviewMode.BLOCKING)
    assert len(workshop.pending.review.history) == 2
    assert len(workshop.inbox) == 1
    assert workshop.is_sound()


def test_a_question_that_ran_out_is_asked_anew_with_the_next_verdict(
    new_workshop: OpenWorkshop,
) -> None:
    workshop = new_workshop(policy="[approvals]\nexpires-seconds = 600\n" + GATES)
    question = used_up(workshop)
    workshop.clock.forward(seconds=601)
    assert workshop.inbox == []
    with pytest.raises(DecidedError, match="expired 1 s ago"):
        workshop.chooses(question, "skip")
    answer = workshop.says(PASS)

    assert answer.outcome is ReviewOutcome.REFUSED
    assert answer.approval_id not in (None, question)
    assert [each.id for each in workshop.inbox] == [answer.approval_id]
    assert workshop.question(question).state is ApprovalState.EXPIRED
    assert counted(workshop)[0] == 2
    assert workshop.chooses(answer.approval_id, "skip").advances
    assert workshop.is_sound()


def test_a_person_may_choose_by_the_reviews_name_after_the_question_ran_out(
    new_workshop: OpenWorkshop,
) -> None:
    workshop = new_workshop(policy="[approvals]\nexpires-seconds = 600\n" + GATES)
    question = used_up(workshop)
    workshop.clock.forward(seconds=601)
    answer = workshop.uses(
        lambda interlock: interlock.choose_review(
            workshop.run_id, "retry", token=workshop.operator, review="first"
        )
    )

    assert answer.outcome is ReviewOutcome.RETRY
    assert workshop.question(question).state is ApprovalState.EXPIRED
    assert workshop.is_sound()


def test_the_first_choice_counts_and_the_second_is_told(workshop: Workshop) -> None:
    question = used_up(workshop)
    workshop.chooses(question, "retry", instructions="once more")
    with pytest.raises(DecidedError, match="was approved already, by ada"):
        workshop.chooses(question, "abort")

    assert workshop.state.status is RunStatus.RUNNING
    chosen = [event for event in workshop.events if isinstance(event, ReviewChosen)]
    assert [(each.action, each.approval) for each in chosen] == [(GateAction.RETRY, question)]


def test_whoever_waits_for_the_choice_is_told(workshop: Workshop) -> None:
    question = used_up(workshop)
    assert (
        workshop.uses(lambda interlock: interlock.wait(question, wait_s=0)).state
        is ApprovalState.PENDING
    )
    workshop.chooses(question, "retry", instructions="once more")
    decided = workshop.uses(lambda interlock: interlock.wait(question, wait_s=5))

    assert (decided.state, decided.note) == (ApprovalState.GRANTED, "retry: once more")
