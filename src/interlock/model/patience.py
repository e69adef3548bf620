"""How whoever asks waits: for the person who has to agree, and for a throttle to be over."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from msgspec.structs import replace

from interlock.model.answers import Answer, EditAnswer, StepAnswer, StopAnswer
from interlock.model.approval import Approval, ApprovalState

W = TypeVar("W", Answer, EditAnswer, StepAnswer, StopAnswer)
D = TypeVar("D", StepAnswer, StopAnswer)

_SECOND: Final = 1_000_000


async def patiently(
    ask: Callable[[], Awaitable[W]],
    decision: Callable[[str, float], Awaitable[Approval]],
    now: Callable[[], int],
    wait_s: float | None,
) -> W:
    """Ask; with patience, again whenever a person has decided who has to.

    What ran out unanswered is asked anew while there is patience; a no is not. `now` tells the
    time in microseconds.
    """
    answer, asked = await ask(), None
    if wait_s is None:
        return answer
    until = now() + wait_s * _SECOND
    while answer.waits_for_person and answer.approval_id and answer.approval_id != asked:
        left_s = (until - now()) / _SECOND
        if left_s <= 0:
            break
        asked = answer.approval_id
        decided = await decision(asked, left_s)
        answer = await ask()
        if decided.state is ApprovalState.DENIED:
            break
    return answer


async def after_delay(
    answer: D,
    delay: Callable[[float], Awaitable[None]],
    *,
    waited: int,
    wait_s: float | None,
) -> D:
    """Return an answer once its delay is over, if that is within the patience.

    `waited` is what was used up of it before, in microseconds.
    """
    delay_ms = answer.delay_ms
    if wait_s is None or not delay_ms or delay_ms > 1000 * (wait_s - waited / _SECOND):
        return answer
    await delay(delay_ms / 1000)
    return replace(answer, waited_ms=delay_ms)
