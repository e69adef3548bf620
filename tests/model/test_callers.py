"""What every caller is given, wherever the ledger is: words that wait, words that are gone."""

from __future__ import annotations

import pytest

from interlock.errors import InputError
from interlock.model.entrance import entrance
from interlock.model.glance import Glanced
from interlock.model.gone_words import apply_is_gone, edit_is_gone
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


def test_words_that_are_gone_name_those_that_came_for_them() -> None:
    with pytest.raises(InputError, match="`may_edit` asks whether, `apply_edits` writes"):
        edit_is_gone(None)
    with pytest.raises(InputError, match="`apply_edits` writes, `may_edit` only asks"):
        apply_is_gone(None, 1, a=2)


@pytest.mark.parametrize(("args", "is_stop"), [((), False), (("stop",), True), (("stops",), False)])
def test_a_hook_says_whether_a_turn_ends(args: tuple[str, ...], is_stop: bool) -> None:
    assert HookCall(hook="interlock", args=args).is_stop is is_stop
