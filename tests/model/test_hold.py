"""What holds a run: the stricter hold stays, whatever comes after it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interlock.model.facts import Hold, HoldKind, stricter

_HOLDS = st.builds(
    Hold,
    kind=st.sampled_from(HoldKind),
    reason=st.sampled_from(["a", "b"]),
    step=st.integers(0, 9),
    since=st.integers(0, 9),
    approval=st.none() | st.sampled_from(["q1", "q2"]),
)


def test_a_persons_stop_is_the_strictest_and_a_pause_the_mildest() -> None:
    assert sorted(HoldKind, key=lambda kind: kind.rank) == [
        HoldKind.PAUSE,
        HoldKind.STOP,
        HoldKind.PERSON_STOP,
    ]


@given(current=st.none() | _HOLDS, new=_HOLDS)
def test_a_hold_is_never_replaced_by_a_milder_one(current: Hold | None, new: Hold) -> None:
    counts = stricter(current, new)

    assert counts in (current, new)
    assert counts.kind.rank >= new.kind.rank
    if current is not None:
        assert counts.kind.rank >= current.kind.rank


@given(current=_HOLDS, new=_HOLDS)
def test_of_two_of_a_kind_the_first_stays(current: Hold, new: Hold) -> None:
    if current.kind is new.kind:
        assert stricter(current, new) is current


@given(first=_HOLDS, others=st.lists(_HOLDS))
def test_in_whatever_order_holds_come_the_strictest_kind_is_left(
    first: Hold, others: list[Hold]
) -> None:
    held = first
    for each in others:
        held = stricter(held, each)

    assert held.kind.rank == max(each.kind.rank for each in (first, *others))
