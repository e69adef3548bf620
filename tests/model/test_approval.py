"""An approval is open until it runs out, and lets its one action through once."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from interlock.model.approval import Approval, ApprovalState, Subject


def _an_approval(state: ApprovalState, *, uses_left: int = 1) -> Approval:
    return Approval(
        id="a",
        run_id="r",
        subject=Subject.ACTION,
        digest="d",
        summary="git push --force",
        findings=(),
        policy_hash="p",
        opened_at=0,
        expires_at=100,
        uses_left=uses_left,
        state=state,
    )


@pytest.mark.parametrize("state", list(ApprovalState))
@pytest.mark.parametrize("now", [0, 99, 100, 101])
def test_only_what_waits_can_be_decided_and_only_in_time(state: ApprovalState, now: int) -> None:
    is_open = state is ApprovalState.PENDING and now < 100

    assert _an_approval(state).is_open_at(now) is is_open


@pytest.mark.parametrize("state", list(ApprovalState))
@pytest.mark.parametrize("now", [0, 99, 100, 101])
@pytest.mark.parametrize("uses_left", [0, 1])
def test_only_what_was_granted_and_not_used_lets_through(
    state: ApprovalState, now: int, uses_left: int
) -> None:
    is_usable = state is ApprovalState.GRANTED and now < 100 and uses_left == 1

    assert _an_approval(state, uses_left=uses_left).is_usable_at(now) is is_usable


@pytest.mark.parametrize(
    ("subject", "way"),
    [
        (Subject.ACTION, "interlock approve CODE"),
        (Subject.LOOP, "interlock approve CODE"),
        (Subject.RESUME, "interlock approve CODE --reason TEXT"),
        (Subject.REVIEW, "interlock review resolve CODE retry"),
    ],
)
def test_what_lets_it_happen_can_be_typed_as_it_stands(subject: Subject, way: str) -> None:
    asked = replace(_an_approval(ApprovalState.PENDING), subject=subject)

    assert asked.way_to_grant == way.replace("CODE", asked.code)
