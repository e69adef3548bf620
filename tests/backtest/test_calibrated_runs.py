"""Past runs that are really made of steps: scored, labelled, and calibrated on."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

import pytest
from msgspec.structs import replace

from backtest.made_steps import call, going_round, person, run_of, words, working
from interlock.backtest.calibrate.calibration import ALWAYS, Conclusion
from interlock.backtest.calibrate.calibration_report import KnownOutcomes, calibration_report
from interlock.backtest.calibrate.outcomes import Marks
from interlock.backtest.calibrate.scored_run import ScoredRun, percent_of
from interlock.backtest.calibrate.turn_points import (
    Labelled,
    Sent,
    TurnEnd,
    calibrated_stops,
    labelled_row,
    turn_end,
)
from interlock.backtest.hindsight import judged
from interlock.backtest.run_scorer import scored_run
from interlock.errors import InputError
from interlock.model.past_run import PastRun, PastStep
from interlock.model.stop import FinishReason, StopContext
from interlock.policy.config.document import Policy
from interlock.policy.config.run_sections import Loops, Steps
from interlock.policy.config.stop_section import DEFAULT, Stops
from interlock.service.policies.policy_files import default_policy

POLICY = default_policy().config


def scored(*steps: PastStep, policy: Policy = POLICY, **fields: object) -> ScoredRun:
    return scored_run(PastRun(id="r", steps=steps, **fields), policy)  # pyright: ignore[reportArgumentType] - as a test names them


@pytest.mark.parametrize("times", [1, 2, 3, 4, 5, 8])
def test_a_run_is_held_at_a_threshold_exactly_where_the_gate_holds_it(times: int) -> None:
    steps = [person("go"), *working(4, "a"), *going_round(times), *working(3, "b")]
    top = scored(*steps).case(is_good=True).top

    for percent in (60, 80, 100, 101, 105, 150, 200, 201, 300):
        loops = Loops(pause_score_percent=percent)
        held = judged(PastRun(id="r", steps=steps), Steps(), loops).stop_at is not None
        assert (top >= percent) is held, percent


def test_what_a_run_used_after_each_rise_is_kept() -> None:
    run = scored(person("go"), *working(2, "a"), *going_round(5), *working(3, "b"))

    total = run.cost
    rises = dict(run.rises)
    assert total == 10 * 100
    assert min(rises.values()) == 3 * 100
    assert [*rises.values()] == sorted(rises.values(), reverse=True)


def test_tokens_are_a_quarter_of_the_characters_where_nobody_counted() -> None:
    step = call("x" * 40, "y" * 80, usage=None)

    assert scored(step).cost == (40 + 80) // 4
    assert scored(PastStep(tool="Bash", result_size=400)).cost == 100


def test_what_pauses_for_another_reason_is_held_at_every_threshold() -> None:
    policy = replace(POLICY, steps=Steps(max_total=3))

    assert scored(*working(6, "a"), policy=policy).case(is_good=True).top == ALWAYS


def test_the_length_of_a_run_alone_pauses_nothing() -> None:
    assert scored(*working(60, "a")).rises == ()


def test_a_score_is_turned_into_the_percent_that_it_reaches() -> None:
    percents = [*range(21, 320), 999]

    assert [percent_of(percent / 100) for percent in percents] == percents
    assert [percent_of(percent / 100 - 1e-9) + 1 for percent in percents] == percents


def test_a_score_that_comes_from_length_alone_reaches_nothing() -> None:
    assert percent_of(0.2 - 1e-9) == 0


@pytest.mark.parametrize(
    ("said", "is_done"),
    [
        ("continue", False),
        ("Please continue.", False),
        ("ok, go on", False),
        ("weiter", False),
        ("继续", False),
        ("Yes, keep going please!", False),
        ("now add a test for the parser", True),
        ("continue with the second file and rename it", True),
        ("thanks", True),
    ],
)
def test_what_a_person_says_next_tells_whether_the_work_was_done(said: str, is_done: bool) -> None:
    run = scored(person("go"), call("ls", "a"), words("Now let me run the tests:"), person(said))

    assert [(each.place, each.is_done) for each in run.ends] == [(2, is_done)]
    assert run.ends[0].end.sent is Sent.BY_SCORE
    assert "points_intent" in run.ends[0].end.signals


def test_the_last_end_is_done_where_the_run_went_well() -> None:
    run = scored(person("go"), call("ls", "a"), words("first"), words("All is done."))

    assert [each.is_done for each in run.ends] == [None]
    assert [each.is_done for each in run.labelled(success=True, marks={})] == [True]
    assert run.labelled(success=False, marks={}) == []
    assert [each.is_done for each in run.labelled(success=True, marks={("r", 3): False})] == [False]


def test_open_items_and_failing_tests_are_evidence() -> None:
    todo = call("{}", "ok", todos=("write docs",))
    tests = call("pytest", "===== 1 failed, 2 passed in 0.10s =====")
    (end,) = scored(person("go"), todo, tests, words("All is done.")).ends

    assert {"points_open_todo", "points_failing_check"} <= set(end.end.signals)


def test_times_models_and_reasons_are_kept() -> None:
    run = scored(
        person("go", at=5),
        words("Done.", at=9, model="m-1", finish_reason="length"),
        group="g",
        workspace="/w",
    )

    assert (run.began_at, run.ended_at, run.model, run.group) == (5, 9, "m-1", "g")
    assert [(each.model, each.end.sent) for each in run.ends] == [("m-1", Sent.ALWAYS)]


def test_runs_that_loop_give_back_the_threshold_between_them() -> None:
    """Good ones try three times and go on: 1.0 and a little. Failed ones do not go on: 2.0."""
    dice = random.Random(15)
    runs = [
        scored_run(run_of(dice, number, times=dice.choice((1, 1, 2, 3)), success=True), POLICY)
        for number in range(200)
    ] + [
        scored_run(run_of(dice, 200 + number, times=dice.randint(5, 9), success=False), POLICY)
        for number in range(60)
    ]
    report = calibration_report(runs, [], KnownOutcomes(), POLICY, promise=0.025)

    found = report.steps
    assert found is not None
    assert found.drawn is not None
    assert found.chosen is not None
    highest = max(run.case(is_good=True).top for run in runs[:200])
    assert 100 <= highest < 120
    assert (found.conclusion, found.chosen.false_stops, found.chosen.caught) == (
        Conclusion.CHANGED,
        0,
        60,
    )
    low, high = found.drawn.threshold.low, found.drawn.threshold.high
    assert highest < low <= found.chosen.threshold <= high <= 220
    assert (report.patch[0].path, report.patch[0].before) == (
        ("loops", "pause-score-percent"),
        "100",
    )
    assert found.now.false_stops > 5


def test_outcomes_are_known_from_the_first_that_knows() -> None:
    marks = Marks(runs={"a": False, "b": True}, ends={}, rules=())
    known = KnownOutcomes(given={"a": True}, marks=marks, kept=lambda run: run.id == "kept" or None)
    runs = ["a", "b", "c", "kept", "nobody"]

    told = [known.of(ScoredRun(id=each, success=True if each == "c" else None)) for each in runs]

    assert told == [
        ("file", True),
        ("marks", True),
        ("history", True),
        ("git", True),
        ("unknown", None),
    ]


def test_without_runs_there_is_nothing_to_say() -> None:
    report = calibration_report([], [], KnownOutcomes(), POLICY, promise=0.02)

    assert (report.steps, report.stops, report.patch) == (None, None, ())
    assert not report.is_conclusive


# The stop gate: its threshold and its points.


def ends_of(counts: Mapping[tuple[bool, tuple[str, ...]], int]) -> list[Labelled]:
    """Return so many ends of each kind."""
    return [
        Labelled(
            id=f"{is_done}{signals}{number}",
            is_done=is_done,
            end=TurnEnd(sent=Sent.BY_SCORE, signals=signals),
        )
        for (is_done, signals), count in counts.items()
        for number in range(count)
    ]


def test_signals_are_told_apart_whatever_their_points_are() -> None:
    context = StopContext(text="Now let me run the tests:", tool_ratio=0.9)
    end = turn_end(context, Stops(points_intent=0, points_no_summary=0, auto_continue=False))

    assert end.sent is Sent.BY_SCORE
    assert end.signals == (
        "points_no_finish_reason",
        "points_intent",
        "points_no_summary",
        "points_tool_ratio",
    )
    assert end.score({**dict.fromkeys(end.signals, 10), "points_intent": 55}) == 85 + end.form
    assert end.form == DEFAULT.points_form


def test_a_question_is_never_sent_on_and_what_was_cut_off_always() -> None:
    asks = turn_end(StopContext(text="Shall I delete the branch?"), DEFAULT)
    acts = turn_end(StopContext(text="Now let me run the tests:", tool_calls=1), DEFAULT)
    cut = turn_end(StopContext(text="and", finish_reason=FinishReason.LENGTH), DEFAULT)

    assert [each.sent for each in (asks, acts, cut)] == [Sent.NEVER, Sent.NEVER, Sent.ALWAYS]
    assert (asks.score({}), cut.score({})) == (-1, ALWAYS)


def test_rows_are_read_with_their_label_and_without_what_came_next() -> None:
    row = {"id": "x", "run_id": "r", "text": "Done.", "label": "finish", "next_user": "continue"}
    found = labelled_row(row, DEFAULT, "1")

    assert found is not None
    assert (found.id, found.is_done, found.group) == ("x", True, "r")
    assert labelled_row({**row, "strength": "weak"}, DEFAULT, "1") is None
    assert labelled_row({"text": "x", "label": "continue"}, DEFAULT, "7") is not None
    for wrong in ({"text": "Done."}, {"text": "Done.", "label": "maybe"}, {"label": ["finish"]}):
        with pytest.raises(InputError, match="expected `finish` or `continue`"):
            labelled_row(wrong, DEFAULT, "1")


def test_points_that_separate_better_are_found_and_proven_on_the_other_part() -> None:
    """Here open items mean unfinished work, and 20 points never were enough for them."""
    ends = ends_of(
        {
            (True, ("points_no_summary",)): 600,
            (True, ("points_no_summary", "points_tool_ratio")): 300,
            (False, ("points_intent", "points_no_summary")): 100,
            (False, ("points_open_todo", "points_no_summary")): 200,
        }
    )
    found = calibrated_stops(ends, DEFAULT, promise=0.025)

    assert found.points.keys() == {"points-open-todo"}
    assert found.points["points-open-todo"] > DEFAULT.points_open_todo
    assert found.threshold.chosen is not None
    assert found.threshold.chosen.false_stops == 0
    assert found.threshold.chosen.caught == found.threshold.chosen.bad
    assert found.searched > 20


def test_points_that_only_luck_speaks_for_stay_as_they_are() -> None:
    ends = ends_of(
        {
            (True, ("points_no_summary",)): 600,
            (False, ("points_intent", "points_no_summary")): 100,
            (False, ("points_open_todo", "points_no_summary")): 5,
        }
    )
    found = calibrated_stops(ends, DEFAULT, promise=0.025)

    assert found.points == {}
    assert found.threshold.conclusion is Conclusion.KEPT


def test_points_cannot_be_chosen_where_every_end_is_done() -> None:
    found = calibrated_stops(ends_of({(True, ("points_intent",)): 10}), DEFAULT, promise=0.025)

    assert (found.points, found.threshold.conclusion) == ({}, Conclusion.TOO_FEW)


def test_changed_points_and_threshold_are_in_the_patch() -> None:
    ends: Iterable[Labelled] = ends_of(
        {
            (True, ("points_no_summary",)): 900,
            (False, ("points_open_todo", "points_no_summary")): 200,
        }
    )
    report = calibration_report([], [*ends], KnownOutcomes(), POLICY, promise=0.025)

    assert ("stops", "points-open-todo") in {each.path for each in report.patch}
    assert report.is_conclusive
