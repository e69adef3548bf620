"""What the meter remembers, and the figures that are read from it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from interlock.model.progress_meter import ChangedFile, Kind, Meter, Observation, noted
from interlock.model.review import TestCounts
from interlock.policy.steps.loop_detector import Figure, Progress, figures_of, progress_of
from interlock.policy.steps.step_figures import coherence
from steps.contexts import a_call, after

names = st.sampled_from("ABCDE")
observations = st.lists(
    st.builds(
        Observation,
        kind=st.sampled_from(Kind),
        call=names,
        shape=names,
        numbers=st.lists(st.integers(0, 3), max_size=2).map(tuple),
        result=st.none() | names,
        silent=st.booleans(),
        brief=st.booleans(),
        error=st.none() | names,
        waiting=st.booleans(),
        changed=st.booleans(),
        files=st.lists(st.builds(ChangedFile, names, names, names), max_size=2).map(tuple),
        rewritten=st.integers(0, 2),
        tests=st.none() | st.builds(TestCounts, passed=st.integers(0, 9), failed=st.integers(0, 9)),
        text=st.sampled_from(["", "again", "once more", "let me have a look at it again now"]),
        at=st.none() | st.integers(0, 10**7),
    ),
    max_size=80,
)


def an_edit(before: str | None, after: str | None, **more: Any) -> Observation:
    seen = ChangedFile("a.py", before, after)
    return a_call(f"{before} {after}", files=(seen,), changed=True, result="written", **more)


def a_test_run(failed: int) -> Observation:
    counts = TestCounts(passed=10 - failed, failed=failed)
    return a_call("test", tests=counts, error="0 failed" if failed else None)


def news(*seen: Observation) -> list[bool]:
    return [each.new for each in after(*seen).calls]


def reworks(*seen: Observation) -> list[bool]:
    return [each.rework for each in after(*seen).calls]


@given(observations)
def test_is_kept_as_json_and_read_again(seen: list[Observation]) -> None:
    meter = after(*seen)

    assert msgspec.json.decode(msgspec.json.encode(meter), type=Meter) == meter


@given(observations, observations)
@examples(10, soak=200)
def test_does_not_grow_with_the_length_of_a_run(
    seen: list[Observation], more: list[Observation]
) -> None:
    meter = after(*(seen + more) * 20)

    assert len(msgspec.json.encode(meter)) < 12_000


@given(observations)
def test_figures_never_leave_their_bounds(seen: list[Observation]) -> None:
    meter = after(*seen)
    went = progress_of(meter)

    assert 0 <= went.rework <= went.actions
    assert 0 <= went.progress <= went.actions
    assert all(0 <= figure.value <= 1 for figure in figures_of(meter))


def test_a_result_that_was_never_seen_is_new() -> None:
    assert news(a_call("A"), a_call("B"), a_call("A")) == [True, True, False]


def test_an_error_that_was_never_seen_is_new() -> None:
    calls = [a_call(name, error=error) for name, error in ("Ax", "By", "Cx")]

    assert news(*calls) == [True, True, False]


@pytest.mark.parametrize("little", [{"silent": True}, {"brief": True}, {"result": None}])
def test_an_answer_that_tells_little_is_new_with_another_call(little: dict[str, Any]) -> None:
    told = {"result": "ok", **little}
    calls = [a_call(name, **told) for name in "ABA"]

    assert news(*calls) == [True, True, False]


def test_fewer_failing_tests_are_new_and_more_are_not() -> None:
    runs = [a_test_run(failed) for failed in (5, 5, 3, 4, 0)]

    assert news(*runs) == [True, False, True, False, True]
    assert after(*runs).since == 5


def test_a_run_of_no_tests_tells_nothing() -> None:
    nothing = a_call("test", tests=TestCounts())

    assert after(nothing).fewest_failing is None


def test_a_content_that_a_file_never_had_is_new() -> None:
    edits = [an_edit("1", "2"), an_edit("2", "3"), an_edit("3", "1"), an_edit("1", "1")]

    assert news(*edits) == [True, True, False, False]


def test_putting_a_file_back_is_rework() -> None:
    edits = [an_edit(None, "1"), an_edit("1", "2"), an_edit("2", "1"), an_edit("1", "3")]

    assert reworks(*edits) == [False, False, True, False]


def test_writing_over_own_lines_is_rework() -> None:
    assert reworks(an_edit("1", "2", rewritten=3)) == [True]


def test_repeating_a_call_is_rework_unless_something_was_changed() -> None:
    look, change = a_call("A"), a_call("edit", changed=True)

    assert reworks(look, look, change, look) == [False, True, False, False]


def test_repeating_a_change_is_rework() -> None:
    change, back = a_call("edit", changed=True), a_call("back", changed=True)

    assert reworks(change, back, change) == [False, False, True]


def test_looking_again_at_what_is_not_ready_is_no_rework() -> None:
    look = a_call("status", waiting=True)

    assert reworks(look, look, look) == [False, False, False]
    assert progress_of(after(look, look, look)) == Progress(actions=3, rework=0, progress=3)


@pytest.mark.parametrize(
    ("said", "echoes"),
    [
        (["I will look at the log file now", "I will look at the log files now"], 1),
        (["I will look at the log file now", "The tests of the parser pass again"], 0),
        (["again", "again"], 1),
        (["again", "and", "again"], 0),
        (["", ""], 0),
    ],
)
def test_hears_what_was_said_before(said: list[str], echoes: int) -> None:
    assert after(*(Observation.of_message(each) for each in said)).echoes == echoes


def test_forgets_what_was_said_when_a_person_speaks() -> None:
    same = Observation.of_message("again")
    longer = Observation.of_message("let me try it in another way now")

    assert after(same, Observation.of_person(), same).echoes == 0
    assert after(longer, Observation.of_person(), longer).echoes == 0


def test_the_same_words_with_something_new_are_no_echo() -> None:
    words: dict[str, Any] = {"text": "this one is done, let me check the next one"}

    assert after(*(a_call(name, **words) for name in "ABC")).echoes == 0
    assert after(*(a_call(name, **words) for name in "AAA")).echoes == 2


def test_the_share_of_rework_is_known_from_the_first_action_on() -> None:
    none, few, enough = after(), after(*[a_call("A")] * 2), after(*[a_call("A")] * 20)

    assert progress_of(none).rework_ratio is None
    assert progress_of(few).rework_ratio == 0.5
    assert progress_of(enough).rework_ratio == 0.95


def test_without_violations_even_the_worst_run_is_not_incoherent() -> None:
    went = progress_of(after(*[a_call("A")] * 40))

    assert coherence(
        actions=went.actions, violations=0, rework=went.rework, progress=went.progress
    ) == pytest.approx(0.4)


def test_every_figure_tells_the_steps_it_comes_from() -> None:
    meter = after(a_call("A"), a_call("B"), a_call("A"), a_call("C", error="x"))

    assert figures_of(meter) == (
        Figure(
            name="rework",
            value=0.25,
            because=("1 of the latest 4 actions did work over again", "step 3"),
        ),
        Figure(
            name="progress",
            value=0.75,
            because=("3 of the latest 4 actions brought something new", "steps 1, 2, 4"),
        ),
        Figure(name="failed", value=0.25, because=("1 of the latest 4 actions failed", "step 4")),
    )


def test_a_figure_of_nothing_has_no_steps() -> None:
    rework, *_ = figures_of(after(a_call("A")))

    assert rework.because == ("0 of the latest 1 actions did work over again",)


def test_a_run_that_did_nothing_has_no_figures() -> None:
    assert figures_of(Meter()) == ()


def test_a_check_counts_as_progress_only_where_fewer_tests_fail() -> None:
    def a_check(failed: int) -> Observation:
        return Observation(kind=Kind.CHECK, tests=TestCounts(passed=9, failed=failed))

    meter = after(*(a_call("same"),) * 4, a_check(3))
    assert (meter.since, meter.fewest_failing) == (4, 3)

    meter = noted(noted(meter, a_call("same")), a_check(3))
    assert (meter.since, meter.fewest_failing) == (4, 3)
