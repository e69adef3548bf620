"""What a run has not got past whatever was changed in between; more of it never tells less."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interlock.model.progress_meter import Kind, Meter, Observation, noted
from interlock.model.review import TestCounts
from interlock.model.step import StepDecision
from interlock.policy.config.run_sections import Loops
from interlock.policy.steps.loop_detector import evidence_of, signs_of, stuck_score
from steps.contexts import a_call, after

SETTINGS = Loops()
PERSON = Observation.of_person()


def an_edit(number: int, place: str = "a.py") -> Observation:
    return a_call(f"edit {number}", changed=True, place=place)


def a_failure(name: str = "check", complaint: str = "it differs", **more: Any) -> Observation:
    return a_call(name, result=name, error="differs", complaint=complaint, **more)


def points(meter: Meter) -> dict[str, float]:
    return {each.name: each.points for each in evidence_of(meter, SETTINGS)}


def told(meter: Meter) -> dict[str, StepDecision]:
    return {sign.name: sign.decision for sign in signs_of(meter, SETTINGS)}


def patches(times: int, *, place: str | None = None) -> list[Observation]:
    """Return changes, each with a check that fails behind it."""
    return [
        each
        for number in range(times)
        for each in (an_edit(number, place or f"{number}.py"), a_failure())
    ]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (3, None),
        (4, StepDecision.CONTINUE),
        (5, StepDecision.CONTINUE),
        (6, StepDecision.PAUSE),
        (12, StepDecision.STOP),
    ],
)
def test_the_same_failing_check_climbs_the_ladder_whatever_is_changed(
    times: int, expected: object
) -> None:
    assert told(after(*patches(times))).get("unmoved") is expected


def test_another_check_with_the_same_complaint_counts_too() -> None:
    calls = [each for n in range(6) for each in (an_edit(n, f"{n}"), a_failure(f"check {n}"))]

    assert told(after(*calls))["unmoved"] is StepDecision.PAUSE


def test_another_complaint_says_that_something_moved() -> None:
    calls = [each for n in range(9) for each in (an_edit(n, f"{n}"), a_failure("c", f"{n} left"))]

    assert "unmoved" not in points(after(*calls))


def test_nothing_changed_in_between_is_the_same_error_and_no_more() -> None:
    meter = after(*[a_failure(f"{n}") for n in range(3)])

    assert points(meter) == {"same-error": 0.7}


def test_a_check_that_passes_begins_anew() -> None:
    passes = a_call("check")
    meter = after(*patches(5), an_edit(7), passes, *patches(2))

    assert "unmoved" not in points(meter)


def test_checks_side_by_side_are_one() -> None:
    beside = [a_failure("check", asked=1, told=1), a_failure("other", asked=1, told=1)]
    meter = after(a_failure(asked=0), an_edit(1), *beside)

    assert "unmoved" not in points(meter)


@pytest.mark.parametrize(
    ("times", "expected"),
    [(3, None), (4, 0.3), (6, 0.5), (8, 1.0), (16, 2.0)],
)
def test_the_same_place_changed_in_vain_counts(times: int, expected: float | None) -> None:
    errors = [a_failure("c", f"{n} is wrong", shape="c") for n in range(times)]
    calls = [each for n in range(times) for each in (an_edit(n), errors[n])]

    assert points(after(*calls[:-1])).get("patched") == expected


def test_changes_with_nothing_that_failed_in_between_are_work() -> None:
    assert points(after(*[an_edit(number) for number in range(40)])) == {}


def test_a_place_that_nobody_can_tell_is_not_the_same() -> None:
    calls = [each for n in range(9) for each in (an_edit(n, ""), a_failure("c", f"{n}"))]

    assert "patched" not in points(after(*calls[:-1]))


@pytest.mark.parametrize(
    "relief",
    [
        PERSON,
        a_call("check", tests=TestCounts(passed=3, failed=1), failing=1),
        Observation.of_check(TestCounts(passed=3, failed=1)),
        a_failure("count", "2 are left", failing=2),
    ],
)
def test_a_person_or_less_that_is_wrong_wipes_it_out(relief: Observation) -> None:
    before = a_failure("count", "3 are left", failing=3, tests=TestCounts(passed=1, failed=3))
    held = after(before, *patches(8, place="a.py"), an_edit(8))

    assert told(held)["patched"] is StepDecision.PAUSE
    assert points(noted(noted(held, relief), an_edit(9))) == {}


def test_as_much_that_is_wrong_as_before_wipes_nothing_out() -> None:
    before = a_failure("count", "3 are left", failing=3)
    held = after(before, *patches(8, place="a.py"), before)

    assert "patched" in points(noted(held, an_edit(9)))


def test_what_is_done_over_again_here_and_there_adds_to_other_evidence() -> None:
    looks = [a_call(name) for name in "abacbd"]
    meter = after(*looks, a_failure("e", "one", asked=None), a_call("a"))

    assert points(meter)["again"] == 0.3
    assert "again" not in told(meter)
    assert points(after(*looks, *[a_call("x")] * 2)) == {"loop": 0.7, "again": 0.3}
    assert told(after(*looks, *[a_call("x")] * 2))["stuck"] is StepDecision.PAUSE


def test_the_rounds_that_it_ends_with_are_no_other_evidence() -> None:
    assert "again" not in points(after(*[a_call("a")] * 5))
    assert points(after(*[a_call(name) for name in "abab"]))["again"] == 0.15


@pytest.mark.parametrize(("times", "expected"), [(2, None), (3, 0.7), (4, 1.0), (6, 1.0), (7, 2.0)])
def test_coming_back_to_the_same_call_counts_whatever_is_in_between(
    times: int, expected: float | None
) -> None:
    looks = [each for n in range(times) for each in (a_call(f"other {n}"), a_call("same"))]

    assert points(after(*looks)).get("returned") == expected
    assert "returned" not in points(after(*looks, an_edit(1), a_call("same")))


def test_what_says_nothing_may_be_asked_once_more() -> None:
    quiet = a_call("same", silent=True)
    looks = [each for n in range(4) for each in (a_call(f"other {n}"), quiet)]

    assert points(after(*looks))["returned"] == 0.7


@pytest.mark.parametrize(
    "call",
    [a_call("a", waiting=True), a_call("a", changed=True, place="p"), a_failure("a")],
)
def test_to_wait_to_change_and_to_fail_is_not_to_come_back(call: Observation) -> None:
    looks = [each for n in range(6) for each in (a_call(f"other {n}"), call)]

    assert "returned" not in points(after(*looks))


def test_the_same_call_in_a_row_is_a_round_and_no_more() -> None:
    assert "returned" not in points(after(*[a_call("a")] * 4))


def test_nothing_is_known_of_a_run_that_only_spoke() -> None:
    assert points(after(Observation.of_message("let me look at the parser"))) == {}


def test_a_number_that_is_tried_twice_is_no_way_out_of_counting() -> None:
    def page(number: int) -> Observation:
        told: dict[str, Any] = {"shape": "page", "numbers": (number,), "result": "nothing here"}
        return Observation(kind=Kind.CALL, call=f"page {number}", **told)

    meter = after(*[page(number) for number in range(5)])

    assert points(meter)["counting"] == points(noted(meter, page(4)))["counting"] == 1.0


histories = st.lists(
    st.sampled_from(
        [
            a_call("a"),
            a_call("b"),
            a_failure("c"),
            a_failure("d", "another"),
            an_edit(1),
            an_edit(2),
            PERSON,
            Observation.of_message("let me look at the parser once more"),
        ]
    ),
    max_size=20,
)


@example([*[a_call("a")] * 5, an_edit(1), *[a_call("a")] * 2], a_call("a"), 12)
@given(histories, st.sampled_from([a_call("a"), a_failure("c")]), st.integers(2, 12))
def test_going_on_with_the_same_call_never_lowers_the_score(
    before: list[Observation], call: Observation, times: int
) -> None:
    meter = after(*before, call, call)
    score = stuck_score(meter, SETTINGS)
    for _ in range(times):
        meter = noted(meter, call)

        assert stuck_score(meter, SETTINGS) >= score
        score = stuck_score(meter, SETTINGS)


@given(st.integers(0, 30), st.integers(1, 20))
def test_patching_on_never_lowers_the_score(looks: int, times: int) -> None:
    meter, score = after(*[a_call(f"look {number}") for number in range(looks)]), 0.0
    for number in range(times):
        meter = noted(noted(meter, an_edit(100 + number, "p")), a_failure("check of p", "p is bad"))

        assert stuck_score(meter, SETTINGS) >= score
        score = stuck_score(meter, SETTINGS)
