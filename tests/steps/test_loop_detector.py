"""What speaks for a run being stuck, and how it adds up."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.model.progress_meter import Kind, Meter, Observation, noted
from interlock.model.step import StepDecision
from interlock.policy.config.run_sections import Loops
from interlock.policy.steps.loop_detector import evidence_of, signs_of, stuck_score
from steps.contexts import after

SETTINGS = Loops()
PERSON = Observation.of_person()


def a_failure(name: str, error: str = "no such table", **more: Any) -> Observation:
    return Observation(kind=Kind.CALL, call=name, result=name, error=error, **more)


def a_success(name: str, **more: Any) -> Observation:
    return Observation(kind=Kind.CALL, call=name, result=name, **more)


def told(meter: Meter, settings: Loops = SETTINGS) -> dict[str, StepDecision]:
    return {sign.name: sign.decision for sign in signs_of(meter, settings)}


def points(meter: Meter) -> dict[str, float]:
    return {each.name: each.points for each in evidence_of(meter, SETTINGS)}


def test_nothing_speaks_against_a_run_that_has_not_begun() -> None:
    assert signs_of(Meter(), SETTINGS) == ()
    assert stuck_score(Meter(), SETTINGS) == 0


@pytest.mark.parametrize(
    ("times", "expected"),
    [(2, None), (3, StepDecision.CONTINUE), (4, StepDecision.PAUSE), (8, StepDecision.STOP)],
)
def test_the_same_error_in_a_row_climbs_the_ladder(times: int, expected: object) -> None:
    meter = after(*(a_failure(f"{number}") for number in range(times)))

    assert told(meter).get("same-error") is expected


def test_the_same_error_counts_with_other_calls_in_between() -> None:
    calls = [each for n in range(5) for each in (a_success(f"ok {n}"), a_failure(f"{n}"))]

    assert told(after(*calls)) == {"same-error": StepDecision.PAUSE}


def test_a_trouble_that_passes_by_itself_may_be_met_more_often() -> None:
    calls = [a_failure(f"{number}", "503", silent=True) for number in range(6)]

    assert "same-error" not in told(after(*calls[:4]))
    assert told(after(*calls))["same-error"] is StepDecision.PAUSE


def test_tells_the_error_and_where_it_came() -> None:
    signs = signs_of(after(*(a_failure(f"{n}", "bad `name` " * 9) for n in range(4))), SETTINGS)

    assert signs[0].message == (
        "the error `bad 'name' bad 'name' bad 'name' bad 'name' bad 'name' bad '...` came 4 times,"
        " 4 of them in a row (steps 1, 2, 3, 4); 4 in a row or 5 in all pause a run"
    )


@pytest.mark.parametrize(
    ("times", "expected"),
    [(3, None), (4, StepDecision.CONTINUE), (6, StepDecision.PAUSE), (12, StepDecision.STOP)],
)
def test_one_failure_after_the_other_climbs_the_ladder(times: int, expected: object) -> None:
    meter = after(*(a_failure(f"{number}", f"trouble {number}") for number in range(times)))

    assert told(meter).get("failures") is expected


def test_calls_that_bring_nothing_new_add_up() -> None:
    order = "ABCDE" + "CAEBD" + "DBACE"
    meter = after(*(a_success(name) for name in order))

    assert points(meter)["standstill"] == 1.0


@pytest.mark.parametrize(("times", "expected"), [(1, 0), (2, 0.25), (3, 1.0), (7, 2.0)])
def test_saying_the_same_again_speaks_for_being_stuck(times: int, expected: object) -> None:
    same = Observation.of_message("I will now look at the configuration again")

    assert points(after(*[same] * times)).get("echo", 0) == expected


def test_what_sees_the_same_thing_counts_once() -> None:
    meter = after(*[a_failure("A")] * 3)

    assert points(meter) == {"loop": 1.0, "same-error": 0.7}
    assert stuck_score(meter, SETTINGS) == pytest.approx(1.0, abs=0.06)


def a_wall_met_with_the_same_words() -> Meter:
    words: dict[str, Any] = {"text": "let me do that once more now"}
    before = (a_failure("A"), a_failure("B"), a_success("C"))
    return after(*before, a_failure("D", **words), a_failure("E", **words))


def test_what_sees_different_things_adds_up() -> None:
    meter = a_wall_met_with_the_same_words()

    assert points(meter) == {"same-error": 0.8, "echo": 0.25}
    assert told(meter) == {"same-error": StepDecision.CONTINUE, "stuck": StepDecision.PAUSE}


def test_the_same_call_twice_with_the_same_words_is_not_enough() -> None:
    words: dict[str, Any] = {"text": "let me do that once more now"}

    for call in (a_failure, a_success):
        meter = after(call("A", **words), call("A", **words))

        assert StepDecision.PAUSE not in told(meter).values()


def test_tells_all_that_speaks_for_being_stuck() -> None:
    *_, stuck = signs_of(a_wall_met_with_the_same_words(), SETTINGS)

    assert stuck.message == (
        "the run seems stuck: score 1.13, the limit is 1.00: the error"
        " `no such table` came 4 times, 2 of them in a row (steps 1, 2, 4, 5); 4 in a row or 5 in"
        " all pause a run; 1 message said nearly what had been said before (step 5) and nothing"
        " came of it; 2 pause a run"
    )


def test_an_error_met_once_in_a_while_is_not_said_to_come_in_a_row() -> None:
    met = (a_failure("A"), a_success("B"), a_failure("C"), a_success("D"), a_failure("E"))

    (same_error,) = signs_of(after(*met), SETTINGS)

    assert "came 3 times (steps 1, 3, 5)" in same_error.message


def test_a_longer_run_scores_a_little_higher_but_length_alone_never_holds_it() -> None:
    short = after(*(a_success(f"{n}") for n in range(10)))
    long = after(*(a_success(f"{n}") for n in range(1000)))

    assert 0 < stuck_score(short, SETTINGS) < stuck_score(long, SETTINGS) < 0.2


def test_more_evidence_can_be_asked_for() -> None:
    meter = after(*[a_success("A")] * 3)

    assert told(meter) == {"loop": StepDecision.PAUSE}
    assert told(meter, Loops(pause_score_percent=150)) == {"loop": StepDecision.CONTINUE}
    assert told(meter, Loops(pause_repeats=4)) == {"loop": StepDecision.CONTINUE}


def test_a_person_wipes_the_slate() -> None:
    meter = after(*[a_failure("A")] * 9, PERSON)

    assert signs_of(meter, SETTINGS) == ()
    assert told(noted(meter, a_failure("A"))) == {}


@pytest.mark.parametrize(
    ("times", "expected"),
    [(2, StepDecision.CONTINUE), (3, StepDecision.PAUSE), (5, StepDecision.STOP)],
)
def test_a_change_that_tells_the_same_each_time_is_a_repeat_of_itself(
    times: int, expected: StepDecision
) -> None:
    sent = a_success("send 100", changed=True)

    assert told(after(a_success("look"), *[sent] * times)) == {"loop": expected}


def test_a_change_that_is_only_acknowledged_may_be_wanted_once_more() -> None:
    pressed = a_success("press next", changed=True, silent=True)

    assert told(after(*[pressed] * 4)) == {"loop": StepDecision.CONTINUE}
    assert told(after(*[pressed] * 5)) == {"loop": StepDecision.PAUSE}


def test_a_change_that_a_person_spoke_after_is_no_part_of_a_round() -> None:
    sent = a_success("send 100", changed=True)

    assert told(after(sent, PERSON, sent, sent)) == {"loop": StepDecision.CONTINUE}


def test_what_failed_and_works_when_made_again_is_got_past() -> None:
    calls = [each for n in range(6) for each in (a_failure(f"{n}"), a_success(f"{n}"))]

    assert "same-error" not in points(after(*calls, a_failure("last")))
    assert "same-error" in points(after(*calls[::2], a_failure("last")))


def test_an_error_here_and_there_among_much_that_went_well_is_no_sign() -> None:
    def rounds(well: int) -> list[Observation]:
        return [
            each
            for n in range(6)
            for each in (a_failure(f"{n}"), *(a_success(f"ok {n} {m}") for m in range(well)))
        ]

    assert "same-error" in points(after(*rounds(2), a_failure("last")))
    assert "same-error" not in points(after(*rounds(4), a_failure("last")))
