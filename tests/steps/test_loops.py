"""Rounds of calls, in any rhythm and from any beginning."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.errors import InputError
from interlock.model.progress_meter import Meter, Observation, noted
from interlock.model.step import StepDecision
from interlock.policy.config.run_sections import Loops
from interlock.policy.steps.loop_detector import Round, last_round, signs_of, stuck_score
from steps.contexts import a_call, after

SETTINGS = Loops()
letters = st.text("ABC", min_size=1, max_size=10)


def rung(meter: Meter) -> int:
    """Return how far up the ladder a run is: 0 nothing, 1 warned, then paused, then stopped."""
    signs = signs_of(meter, SETTINGS)
    return max((1 + sign.decision.rank for sign in signs), default=0)


@pytest.mark.parametrize(
    ("traces", "expected"),
    [
        ("", None),
        ("A", None),
        ("AB", None),
        ("AAA", Round(1, 3)),
        ("AAB", None),
        ("ABABAB", Round(2, 6)),
        ("ABABA", Round(2, 5)),
        ("XABABA", Round(2, 5)),
        ("XYABABA", Round(2, 5)),
        ("ABCABCAB", Round(3, 8)),
        ("XABCABCAB", Round(3, 8)),
        ("ABCDABCDA", Round(4, 9)),
        ("XABCDABCDA", Round(4, 9)),
        ("123123454545", Round(2, 6)),
        ("1234546454545", Round(2, 6)),
        ("AABAABAABAA", Round(3, 11)),
        ("AAAx", None),
        ("ABABABx", None),
        ("0123456789" * 2, Round(10, 20)),
        ("0123456789X" * 2, None),
    ],
)
def test_finds_the_round_at_the_end(traces: str, expected: object) -> None:
    assert last_round(traces) == expected


@given(st.text("XYZ", max_size=20), letters, st.integers(3, 4))
def test_where_a_round_begins_does_not_matter(before: str, body: str, times: int) -> None:
    alone, behind = last_round(body * times), last_round(before + body * times)

    assert alone is not None
    assert behind is not None
    assert behind.repeats >= alone.repeats


@given(st.integers(1, 10).map(lambda size: "ABCDEFGHIJ"[:size]), st.integers(0, 40))
def test_going_on_with_a_round_never_lowers_the_rung(body: str, more: int) -> None:
    calls = [a_call(name) for name in body * 3]
    meter = after(*calls)
    reached = rung(meter)
    for place in range(more):
        meter = noted(meter, calls[place % len(body)])

        assert rung(meter) >= reached
        reached = rung(meter)


@given(st.text("ABC", max_size=30), st.permutations("ABC"))
def test_names_do_not_matter(names: str, others: list[str]) -> None:
    renamed = names.translate(str.maketrans("ABC", "".join(others)))
    one, two = after(*[a_call(name) for name in names]), after(*[a_call(name) for name in renamed])

    assert stuck_score(one, SETTINGS) == stuck_score(two, SETTINGS)


@given(st.text("ABC", min_size=1, max_size=30))
def test_a_person_resets_it(names: str) -> None:
    meter = noted(after(*[a_call(name) for name in names]), Observation.of_person())

    assert signs_of(meter, SETTINGS) == ()


@given(st.text("ABC", min_size=1, max_size=30))
def test_a_new_change_resets_it(names: str) -> None:
    change = a_call("edit", changed=True)
    meter = noted(after(*[a_call(name) for name in names]), change)

    assert signs_of(meter, SETTINGS) == ()


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (1, []),
        (2, [StepDecision.CONTINUE]),
        (3, [StepDecision.PAUSE]),
        (4, [StepDecision.PAUSE]),
        (5, [StepDecision.STOP]),
    ],
)
def test_warns_then_pauses_then_stops(times: int, expected: object) -> None:
    signs = signs_of(after(*[a_call("A")] * times), SETTINGS)

    assert [sign.decision for sign in signs if sign.name == "loop"] == expected


@pytest.mark.parametrize("nothing", [{"silent": True}, {"result": None}])
def test_gives_once_more_when_nobody_can_tell_what_came_of_it(nothing: dict[str, Any]) -> None:
    calls = [a_call("A", **nothing)] * 6
    decisions = [
        [sign.decision for sign in signs_of(after(*calls[:times]), SETTINGS)] for times in (3, 4, 6)
    ]

    assert decisions == [[StepDecision.CONTINUE], [StepDecision.PAUSE], [StepDecision.STOP]]


def test_another_result_is_no_repeat() -> None:
    calls = [a_call("A", result=f"page {number}") for number in range(20)]

    assert signs_of(after(*calls), SETTINGS) == ()


def test_tells_the_round_and_its_steps() -> None:
    signs = signs_of(after(*[a_call(name) for name in "XABABABABAB"]), SETTINGS)

    assert signs[0].message == (
        "the same 2 calls with the same results went round 5 times (steps ..., 4, 5, 6, 7, 8, 9,"
        " 10, 11); 3 times pause a run, 5 stop it"
    )


def test_has_patience_with_what_is_not_ready_yet() -> None:
    look = a_call("status", waiting=True)
    patient, tired = after(*[look] * 29), after(*[look] * 30)

    assert signs_of(patient, SETTINGS) == ()
    assert [(sign.name, sign.decision) for sign in signs_of(tired, SETTINGS)] == [
        ("waiting", StepDecision.PAUSE)
    ]


def test_has_no_patience_with_looking_again_at_once() -> None:
    looks = [a_call("status", waiting=True, at=number * 1000) for number in range(5)]

    assert rung(after(*looks)) > 1


def test_waiting_in_between_does_not_hide_a_round() -> None:
    calls = [a_call("A"), a_call("status", waiting=True)] * 3

    assert "loop" in [sign.name for sign in signs_of(noted(after(*calls), a_call("A")), SETTINGS)]


def counted(number: int, **more: Any) -> Observation:
    return a_call("page", call=f"page {number}", shape="page", numbers=(7, number), **more)


@pytest.mark.parametrize(
    ("numbers", "more", "expected"),
    [
        ((1, 2, 3), {}, []),
        ((1, 2, 3, 4), {}, [StepDecision.CONTINUE]),
        ((1, 2, 3, 4, 5), {}, [StepDecision.PAUSE]),
        ((50, 40, 30, 20, 10), {}, [StepDecision.PAUSE]),
        ((1, 2, 3, 5, 8, 13), {}, []),
        ((1, 2, 3, 4, 5), {"brief": True}, []),
        (tuple(range(10)), {"brief": True}, [StepDecision.PAUSE]),
        ((1, 2, 3, 4, 5), {"silent": True}, []),
        ((1, 2, 3, 4, 5), {"changed": True}, []),
        ((1, 2, 3, 4, 5), {"result": None}, []),
    ],
)
def test_counting_without_effect_is_a_loop(
    numbers: tuple[int, ...], more: dict[str, Any], expected: object
) -> None:
    signs = signs_of(after(*[counted(number, **more) for number in numbers]), SETTINGS)

    assert [sign.decision for sign in signs if sign.name == "counting"] == expected


def test_counting_begins_anew_with_another_number_of_numbers() -> None:
    calls = [counted(1), counted(2), counted(3)]
    other = a_call("page", call="page x", shape="page", numbers=(4,))
    meter = after(*calls, other, counted(4), counted(6))

    assert meter.counting.calls == 2


@pytest.mark.parametrize(
    "bad",
    [{"pause_repeats": 1}, {"stop_repeats": 2}, {"patience": 0}, {"pause_score_percent": 0}],
)
def test_refuses_limits_that_no_run_can_be_held_against(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        Loops(**bad)
