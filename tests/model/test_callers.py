"""Calls that wait for their answer, wherever the ledger is, and the arguments of a hook."""

from __future__ import annotations

import pytest

from interlock.errors import InputError
from interlock.model.entrance import entrance
from interlock.model.glance import Glanced
from interlock.model.hook import HookCall
from interlock.model.waited_call import Waiting, waited


class Operations(Glanced):
    """Answers at once what others would wait for."""

    @entrance
    async def doubled(self, number: int) -> int:
        """Return twice as much."""
        return 2 * number


class Words(Waiting[Operations]):
    """The same for those who wait."""

    doubled = waited(Operations.doubled)


def test_a_word_is_waited_for_and_checked() -> None:
    words = Words(Operations())

    assert words.doubled(4) == 8
    with pytest.raises(InputError, match="`number` is"):
        words.doubled("four")  # pyright: ignore[reportArgumentType] - as a caller might


@pytest.mark.parametrize(("args", "is_stop"), [((), False), (("stop",), True), (("stops",), False)])
def test_a_hook_says_whether_a_turn_ends(args: tuple[str, ...], is_stop: bool) -> None:
    assert HookCall(hook="interlock", args=args).is_stop is is_stop
