"""Calls that were made side by side are one attempt; and evidence names the steps of the run."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from interlock.backtest.hindsight import observations
from interlock.model.past_run import PastStep
from interlock.model.progress_meter import Meter, Observation, PastCall, noted
from interlock.policy.config.run_sections import Loops
from interlock.policy.steps.loop_detector import evidence_of, figures_of
from steps.contexts import a_call, after

SETTINGS = Loops()


def side_by_side(*names: str, first: int, **more: object) -> list[Observation]:
    """Calls that were all asked for before the first of them was reported on."""
    asked = range(first, first + len(names))
    return [
        a_call(name, asked=seq, told=first + len(names) + place, **more)
        for place, (name, seq) in enumerate(zip(names, asked, strict=True))
    ]


def rounds(*names: str, times: int, **more: object) -> list[Observation]:
    return [
        each for time in range(times) for each in side_by_side(*names, first=1 + 100 * time, **more)
    ]


def told(meter: Meter) -> dict[str, float]:
    return {each.name: each.points for each in evidence_of(meter, SETTINGS)}


def test_the_same_call_many_times_side_by_side_is_no_loop_and_no_rework() -> None:
    meter = after(*side_by_side(*["A"] * 8, first=1))

    assert told(meter) == {}
    assert not any(each.rework for each in meter.calls)


def test_rounds_of_attempts_are_a_loop_as_rounds_of_calls_are() -> None:
    meter = after(*rounds("A", "A", "B", times=SETTINGS.stop_repeats))

    assert told(meter)["loop"] == 2.0


def test_one_attempt_fails_once_however_many_calls_it_has() -> None:
    meter = after(*side_by_side("A", "B", "C", "D", "E", "F", first=1, error="no such file"))

    assert meter.failures == 1
    assert told(meter) == {}


def test_an_attempt_of_which_one_call_succeeds_has_not_failed() -> None:
    failing = side_by_side("A", "B", first=1, error="no such file")
    mixed = [failing[0], a_call("B", asked=2, told=4)]
    other_way = [a_call("A", asked=1, told=3), failing[1]]

    assert after(*mixed).failures == 0
    assert after(*other_way).failures == 0


def test_attempts_that_fail_in_the_same_way_count_each_once() -> None:
    meter = after(*rounds("A", "B", times=4, error="no such file"))

    found = {each.name: each for each in evidence_of(meter, SETTINGS)}

    assert meter.failures == 4
    assert "came 4 times, 4 of them in a row" in found["same-error"].message
    assert "4 calls in a row failed" in found["failures"].message
    assert len(found["failures"].steps) == 8


def test_counting_side_by_side_is_reading_pages() -> None:
    pages = [
        a_call("page", asked=place, told=20 + place, shape="page", numbers=(place,), result="none")
        for place in range(1, 12)
    ]

    assert after(*pages).counting.calls == 1


def test_looks_side_by_side_are_one_look() -> None:
    looks = rounds("A", "A", times=SETTINGS.patience - 1, waiting=True, at=0)
    spaced = [replace(each, at=10**8 * place) for place, each in enumerate(looks)]

    assert "waiting" not in told(after(*spaced))


def test_an_attempt_that_brings_something_is_no_standstill() -> None:
    calls = [
        each
        for time in range(12)
        for each in side_by_side("A", f"new {time}", first=1 + 100 * time)
    ]

    assert "standstill" not in told(after(*calls))


def test_no_more_than_16_calls_are_one_attempt() -> None:
    meter = after(*side_by_side(*["A"] * 40, first=1))

    assert [each.attempt for each in meter.calls] == [1] * 16 + [17] * 16 + [33] * 8


def test_calls_one_after_the_other_are_attempts_of_their_own() -> None:
    calls = [a_call("A", asked=2 * place, told=2 * place) for place in range(1, 6)]

    meter = after(*calls)

    assert [each.attempt for each in meter.calls] == [1, 2, 3, 4, 5]
    assert told(meter)["loop"] == 2.0


def test_asking_ahead_for_ever_is_not_one_attempt_for_ever() -> None:
    """Each call is asked for before the one before it is reported on."""
    calls = [a_call("A", asked=2 * place - 1, told=2 * place + 1) for place in range(1, 12)]

    assert told(after(*calls))["loop"] == 2.0


def test_evidence_names_the_steps_of_the_run() -> None:
    calls = [a_call("A", turn=7 + place // 2) for place in range(6)]
    meter = noted(after(*calls), Observation.of_message("the same words again, sadly", turn=30))
    meter = noted(meter, Observation.of_message("the same words again, sadly", turn=31))

    found = {each.name: each.message for each in evidence_of(meter, SETTINGS)}

    assert "(steps 7, 8, 9)" in found["loop"]
    assert "(step 31)" in found["echo"]
    assert "steps 7, 8, 9" in figures_of(meter)[0].because[1]


def test_where_nobody_asks_before_steps_the_meters_own_count_is_named() -> None:
    (loop,) = evidence_of(after(*[a_call("A")] * 3), SETTINGS)

    assert "(steps 1, 2, 3)" in loop.message


def test_the_first_call_of_all_is_beside_nothing() -> None:
    assert after(a_call("A", asked=0)).calls[0].attempt == 1


@pytest.mark.parametrize(
    ("turns", "texts", "attempts"),
    [
        ((1, 1, 1), ("look", "", ""), 1),
        ((1, 1, 1), ("look", "that was wrong", "and that"), 3),
        ((1, 2, 2), ("", "", ""), 2),
        ((None, None), ("", ""), 2),
        ((2, 1, 1), ("", "", ""), 2),
    ],
)
def test_the_calls_of_one_message_of_a_past_run_are_one_attempt(
    turns: tuple[int | None, ...], texts: tuple[str, ...], attempts: int
) -> None:
    steps = [
        PastStep(tool="Read", arguments=f"{place}", result=f"{place}", turn=turn, text=text)
        for place, (turn, text) in enumerate(zip(turns, texts, strict=True))
    ]
    meter = after(*filter(None, observations(steps, SETTINGS)))

    assert len({each.attempt for each in meter.calls}) == attempts


def test_words_in_between_end_an_attempt() -> None:
    call = PastStep(tool="Read", arguments="a", result="a", turn=1)
    meter = after(*filter(None, observations([call, PastStep(text="so"), call], SETTINGS)))

    assert len({each.attempt for each in meter.calls}) == 2


def test_a_call_that_an_earlier_version_remembered_is_read() -> None:
    remembered = [3, "c>r", "r", "", True, False, False, False, None, 3, 3]

    call = msgspec.convert(remembered, PastCall)

    assert (call.call, call.attempt, call.complaint, call.place) == ("c", 3, "", "")
