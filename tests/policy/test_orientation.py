"""What a state comes to: its hash, and whether anybody has to be asked."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.model.system_loop import Item, LoopAction, Reading, Snapshot
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.orientation import (
    NOTHING_ACTIONABLE,
    SAME_STATE,
    answered_together,
    demands,
    is_failure,
    jobs_for,
    short_circuit,
    state_hash,
)
from policy.loop_values import CHOICES, MEND, NOON, a_snapshot, a_trigger

A_NOTE = Item(id="n1", kind="note", text="look", project="shop", since=NOON)
JOBS = SystemLoop(jobs=(MEND,))
QUIET, BUSY = a_snapshot(), a_snapshot(notes=(A_NOTE,))


_ITEMS = st.builds(
    Item,
    id=st.sampled_from(["a", "b"]),
    kind=st.sampled_from(["note", "run"]),
    text=st.text(max_size=4),
    project=st.sampled_from(["", "shop"]),
    since=st.none() | st.integers(0, NOON),
)
_READINGS = st.builds(
    Reading,
    source=st.sampled_from(["note_queue_length", "active_loop_runs", "mine"]),
    observed_at=st.integers(0, NOON),
    value=st.none() | st.integers(0, 3),
    items=st.lists(_ITEMS, max_size=2).map(tuple),
    error=st.none() | st.text(min_size=1, max_size=4),
)
_SNAPSHOTS = st.lists(_READINGS, max_size=4, unique_by=lambda each: each.source).map(
    lambda readings: Snapshot(readings=tuple(readings))
)


def _without_times(snapshot: Snapshot) -> Sequence[object]:
    return sorted(
        (
            each.source,
            each.error is not None,
            str(each.value),
            [(item.id, item.kind, item.text, item.project) for item in each.items],
        )
        for each in snapshot.readings
    )


@given(_SNAPSHOTS, _SNAPSHOTS)
def test_two_states_have_the_same_hash_exactly_if_they_differ_in_nothing_but_times(
    one: Snapshot, other: Snapshot
) -> None:
    is_same = _without_times(one) == _without_times(other)

    assert (state_hash(one) == state_hash(other)) == is_same


@given(_SNAPSHOTS, st.integers(0, NOON), st.randoms(use_true_random=False))
def test_neither_times_nor_the_order_of_sources_are_a_part_of_the_hash(
    snapshot: Snapshot, at: int, chance: Random
) -> None:
    later = [
        replace(
            each,
            observed_at=at,
            items=tuple(replace(item, since=at) for item in each.items),
            error=each.error and f"{each.error} after {at} s",
        )
        for each in snapshot.readings
    ]
    chance.shuffle(later)

    assert state_hash(Snapshot(readings=tuple(later))) == state_hash(snapshot)


def test_a_source_that_failed_is_another_state_than_one_that_knows_of_nothing() -> None:
    failed = Reading(source="mine", observed_at=NOON, error="gone")
    empty = Reading(source="mine", observed_at=NOON, value=0)

    hashes = {state_hash(Snapshot(readings=(each,))) for each in (failed, empty)}
    assert len(hashes) == 2
    assert all(len(each) == 64 for each in hashes)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        ("ci/failed", True),
        ("ci/build.failed", True),
        ("agent/loop.failed", True),
        ("failed", False),
        ("ci/unfailed", False),
        ("ci/failed.mended", False),
    ],
)
def test_a_failure_is_known_by_its_name(name: str, is_one: bool) -> None:
    assert is_failure(name) is is_one


@pytest.mark.parametrize(
    ("name", "jobs"),
    [
        ("ci/build.failed", [MEND]),
        ("nightly.sweep", [MEND]),
        ("ci/build.failed.again", []),
        ("nightly", []),
    ],
)
def test_a_job_is_for_the_events_that_it_names(name: str, jobs: list[object]) -> None:
    assert list(jobs_for(a_trigger(name), JOBS)) == jobs
    assert demands(a_trigger(name), JOBS) is bool(jobs)


def test_nobody_is_asked_where_nothing_calls_for_it() -> None:
    assert short_circuit(QUIET, [a_trigger()], JOBS, before="") == NOTHING_ACTIONABLE
    assert short_circuit(BUSY, [a_trigger()], JOBS, before="") is None


def test_nobody_is_asked_where_nothing_has_changed() -> None:
    assert short_circuit(BUSY, [a_trigger()], JOBS, before=state_hash(BUSY)) == SAME_STATE
    assert short_circuit(QUIET, [a_trigger()], JOBS, before=state_hash(QUIET)) == SAME_STATE
    assert short_circuit(BUSY, [a_trigger()], JOBS, before=state_hash(QUIET)) is None


@pytest.mark.parametrize("name", ["ci/failed", "nightly.sweep"])
def test_an_event_that_calls_for_an_action_is_thought_about_in_any_state(name: str) -> None:
    triggers = [a_trigger(), a_trigger(name, id="t2")]

    assert short_circuit(QUIET, triggers, JOBS, before=state_hash(QUIET)) is None


def test_runs_and_earlier_decisions_call_for_nothing_by_themselves() -> None:
    at_work = a_snapshot(runs=(Item(id="r1"),), slog=(Item(id="d1"),))

    assert short_circuit(at_work, [a_trigger()], JOBS, before="") == NOTHING_ACTIONABLE


@pytest.mark.parametrize("value", [0, None, 2])
def test_what_somebody_plugged_in_may_call_for_something(value: int | None) -> None:
    mine = Reading(source="mine", observed_at=NOON, value=value)
    snapshot = Snapshot(readings=(*QUIET.readings, mine))

    expected = None if value else NOTHING_ACTIONABLE
    assert short_circuit(snapshot, [a_trigger()], JOBS, before="") == expected


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.action)
def test_the_policy_says_what_may_happen_and_how_often(choice: object) -> None:
    action: LoopAction = getattr(choice, "action")  # noqa: B009 - a table of all actions
    settings = SystemLoop(jobs=(MEND,))

    expected = {"start_loop": 4, "process_notes": 12, "apply_retro_recommendation": 2}
    if action is LoopAction.DO_NOTHING:
        assert settings.may(action) == "allow"
        return
    is_free = action in (LoopAction.PROCESS_NOTES, LoopAction.EMIT_ALERT)
    assert settings.may(action) == ("allow" if is_free else "require-confirmation")
    assert settings.per_hour(action) == expected.get(action.value, 6)
    assert settings.job_names == ("mend",)


def test_a_persons_word_is_answered_apart_from_what_else_happened() -> None:
    failed = a_trigger(id="t1", name="disk/failed")
    word = a_trigger(id="t2", name="system/approval.decided")
    beat = a_trigger(id="t3", name="heartbeat")

    assert answered_together([failed, word, beat], JOBS) == [[word], [failed, beat]]
    assert answered_together([beat], JOBS) == [[beat]]
    assert answered_together([], JOBS) == []


def test_a_burst_is_one_decision_unless_it_calls_for_different_things() -> None:
    mended = a_trigger(id="t1", name=MEND.on[0])
    failed = a_trigger(id="t2", name="disk/failed")
    note = a_trigger(id="t3", name="system/note")
    beat = a_trigger(id="t4", name="heartbeat")
    again = a_trigger(id="t5", name=MEND.on[0])

    together = answered_together([mended, failed, note, beat, again], JOBS)

    assert together == [[mended, again, beat], [failed], [note]]
