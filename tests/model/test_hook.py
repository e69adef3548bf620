"""How a hook was called says what becomes of it where nobody answers."""

from __future__ import annotations

import pytest

from interlock.model.hook import CANARY, HookCall, is_canary


@pytest.mark.parametrize(
    ("args", "is_stop", "fails_open"),
    [((), False, False), (("stop",), True, True), (("told", "--event=x"), False, True)],
)
def test_the_end_of_a_turn_and_what_is_only_told_fail_open(
    args: tuple[str, ...], is_stop: bool, fails_open: bool
) -> None:
    call = HookCall(hook="codex", args=args)

    assert (call.is_stop, call.fails_open) == (is_stop, fails_open)


def test_an_option_has_the_value_that_it_was_given_first() -> None:
    call = HookCall(hook="codex", args=("stop", "--wait=5", "--wait=6"))

    assert (call.option("wait"), call.option("deadline")) == ("5", None)


@pytest.mark.parametrize(
    ("task", "is_test"),
    [
        (f"claude-code session {CANARY}0123-4567", True),
        ("claude-code session 0123-4567", False),
        (f"look at claude-code session {CANARY}0123-4567 please", False),
        (f"{CANARY}0123", False),
    ],
)
def test_a_test_of_the_hooks_is_known_by_its_session(task: str, is_test: bool) -> None:
    assert is_canary(task) is is_test
