"""Counting the answers of two policies."""

from __future__ import annotations

import pytest

from interlock.model.past_run import Unread
from interlock.model.policy_comparison import AnswerKind, TurnAnswer, Went
from interlock.model.step import StepDecision
from interlock.model.verdict import Decision, Ranked
from interlock.service.policies.answer_tally import (
    Place,
    RunTally,
    Said,
    Tally,
    Used,
    responsible,
)

ALLOW, ASK, DENY = Said(Decision.ALLOW), Said(Decision.REQUIRE_CONFIRMATION), Said(Decision.BLOCK)
GO_ON, PAUSE = Said(StepDecision.CONTINUE), Said(StepDecision.PAUSE)
SPENT = Used(tokens=100, micro_usd=7)
BOTH = (("one", "h1"), ("other", None))


def counted(*answers: tuple[AnswerKind, Said, Said], went: Went = Went.UNKNOWN) -> Tally:
    """Count the answers of a run that spends the same after each of them."""
    run = RunTally()
    run.went = went
    for number, (kind, before, after) in enumerate(answers):
        run.compare(kind, before, after, Place("a1", number), lambda: "what was asked")
        run.spend(SPENT)
    return run.close()


def test_what_is_used_after_a_hold_counts_for_whoever_held_the_run() -> None:
    step, action = AnswerKind.STEP, AnswerKind.ACTION
    tally = counted(
        (step, GO_ON, GO_ON), (step, GO_ON, PAUSE), (action, ALLOW, DENY), (step, PAUSE, PAUSE)
    )

    told = tally.told(*BOTH)

    assert [each.runs_held() for each in (told.before, told.after)] == [1, 1]
    assert [side.held[2].tokens for side in (told.before, told.after)] == [100, 300]
    assert [side.held[2].micro_usd for side in (told.before, told.after)] == [7, 21]


@pytest.mark.parametrize(
    ("before", "after", "figures"),
    [(GO_ON, PAUSE, (1, 0)), (PAUSE, GO_ON, (0, 1)), (PAUSE, PAUSE, (0, 0))],
    ids=["interrupted", "released", "both"],
)
def test_a_good_run_that_only_one_policy_holds_is_told(
    before: Said, after: Said, figures: tuple[int, int]
) -> None:
    told = counted((AnswerKind.STEP, before, after), went=Went.WELL).told(*BOTH)
    bad = counted((AnswerKind.STEP, before, after), went=Went.BADLY).told(*BOTH)

    assert (told.interrupted, told.released) == figures
    assert (bad.interrupted, bad.released) == (0, 0)
    assert (told.well, told.badly, told.unknown) == (1, 0, 0)


def test_confirmations_and_denials_are_told_of_calls_alone() -> None:
    tally = counted(
        (AnswerKind.ACTION, ASK, DENY),
        (AnswerKind.ACTION, ALLOW, ALLOW),
        (AnswerKind.ACTION, ALLOW, ASK),
        (AnswerKind.STEP, PAUSE, PAUSE),
    )

    told = tally.told(*BOTH)

    assert (told.before.confirmations, told.before.denials) == (1, 0)
    assert (told.after.confirmations, told.after.denials) == (1, 1)
    assert told.before.confirmations_per_thousand == 333.3
    assert (told.answers, told.changed, told.stricter, told.looser) == (4, 2, 2, 0)
    assert (told.before.policy, told.before.hash, told.after.hash) == ("one", "h1", None)


def test_a_run_without_a_question_is_none() -> None:
    told = counted().told(*BOTH)

    assert (told.runs, told.answers, told.before.confirmations_per_thousand) == (0, 0, None)


def test_parts_are_added_up_as_if_they_were_one() -> None:
    changes = [(AnswerKind.ACTION, ASK, DENY)] * 12 + [(AnswerKind.STEP, GO_ON, PAUSE)]
    whole, parts = Tally(), Tally()
    for part in (whole, parts):
        part.note_unread(Unread(path="a", reason="not JSON"))
    for _ in range(2):
        whole.add(counted(*changes))
    middle = Tally()
    for _ in range(2):
        middle.add(counted(*changes))
    parts.add(middle)

    assert whole == parts
    assert whole.told(*BOTH) == parts.told(*BOTH)
    assert whole.effect().answers == 26
    assert len(whole.effect().examples) == 10


def test_the_first_of_all_that_change_alike_are_shown() -> None:
    changes = [(AnswerKind.ACTION, ASK, DENY)] * 12 + [(AnswerKind.STEP, GO_ON, PAUSE)]

    shown = counted(*changes).told(*BOTH).examples

    assert [(each.kind.value, each.seq) for each in shown] == [
        ("action", 0),
        ("action", 1),
        ("action", 2),
        ("step", 12),
    ]
    assert shown[0].text == "what was asked"


def test_of_much_that_cannot_be_read_the_first_is_kept_and_all_is_counted() -> None:
    tally = Tally()
    for number in range(30):
        tally.note_unread(Unread(path="a", reason="not JSON", line=number))

    assert (len(tally.unread), tally.unread_count) == (20, 30)


def said(answer: Ranked, **because: int) -> Said:
    return Said(answer, tuple(because.items()))


@pytest.mark.parametrize(
    ("before", "after", "rules"),
    [
        (said(Decision.REQUIRE_CONFIRMATION, push=2), said(Decision.BLOCK, push=3), ["push"]),
        (said(Decision.BLOCK, a=3, b=1), said(Decision.WARN, b=1), ["a"]),
        (said(Decision.ALLOW), said(Decision.BLOCK, a=3, b=2, c=0), ["a", "b"]),
        (said(Decision.WARN, a=2), said(Decision.REQUIRE_CONFIRMATION, a=2), ["a"]),
        (said(StepDecision.CONTINUE, slope=2), said(StepDecision.THROTTLE, slope=2), ["slope"]),
        (said(TurnAnswer.CONTINUE, intent=55), said(TurnAnswer.FINISH, intent=10), ["intent"]),
        (said(TurnAnswer.CONTINUE, intent=55), said(TurnAnswer.FINISH, intent=55), ["intent"]),
        (said(Decision.ALLOW), said(Decision.WARN), []),
    ],
    ids=["weight", "gone", "new", "granted", "observed", "points", "threshold", "nothing"],
)
def test_what_weighs_another_thing_now_is_responsible(
    before: Said, after: Said, rules: list[str]
) -> None:
    assert responsible(before, after) == tuple(rules)
    assert responsible(after, before) == tuple(rules)


def test_rules_are_told_by_which_way_they_lead() -> None:
    tally = counted(
        (AnswerKind.ACTION, said(Decision.BLOCK, a=3), said(Decision.ALLOW)),
        (AnswerKind.ACTION, said(Decision.ALLOW), said(Decision.BLOCK, b=3)),
        (AnswerKind.ACTION, said(Decision.ALLOW), said(Decision.BLOCK, b=3)),
    )

    rules = tally.told(*BOTH).rules

    assert [(each.rule, each.stricter, each.looser) for each in rules] == [
        ("b", 2, 0),
        ("a", 0, 1),
    ]
