"""What ends a turn whatever the score says, each with its own reason."""

from __future__ import annotations

from typing import Final

import msgspec

from interlock.model.stop import FinishReason, StopContext, StopVeto
from interlock.policy.config.wording import one_line
from interlock.policy.stops.asking import asked
from interlock.policy.stops.closing import Closing
from interlock.policy.stops.phrases import mentioned
from interlock.policy.stops.settings import StopSettings
from interlock.policy.stops.words import whole

_NEAR_END: Final = 2
_REFUSAL: Final = whole(
    r"(?:i|we|i'm|i am|we are) (?:can't|cannot|can not|won't|will not|unable to|not able to)"
    r" (?:help|assist|comply|do (?:that|this)|fulfill?|engage in|take part|provide (?:that|this))"
    r"|i (?:must|have to) (?:decline|refuse)"
)


class Vetoed(msgspec.Struct, frozen=True):
    """A veto and its reason."""

    veto: StopVeto
    reason: str


def veto_of(context: StopContext, closing: Closing, settings: StopSettings) -> Vetoed | None:
    """Return the first veto that holds: hard states, a refusal, then a person.

    A message that holds calls has not stopped: only the first two speak to it.
    """
    held = _hard_stop(context) or _refused(context, closing)
    if held is not None or context.tool_calls:
        return held
    return _awaiting_user(closing, settings)


def exhausted(context: StopContext, settings: StopSettings) -> Vetoed | None:
    """Return that a turn which would be told to go on was told so too often in a row."""
    if context.retries < settings.max_retries:
        return None
    count = f"it was told to go on {context.retries} of {settings.max_retries} times in a row"
    if context.finish_reason is FinishReason.TOOL_CALLS:
        reason = f"{count} and still announces tool calls without giving any"
        return Vetoed(StopVeto.PROTOCOL_VIOLATION, reason)
    return Vetoed(StopVeto.RETRIES_EXHAUSTED, f"{count}: the turn ends")


def _hard_stop(context: StopContext) -> Vetoed | None:
    if not context.hard:
        return None
    states = ", ".join(context.hard)
    return Vetoed(StopVeto.HARD_STOP, f"the run is held: {states}; only a person lifts that")


def _refused(context: StopContext, closing: Closing) -> Vetoed | None:
    if context.finish_reason is FinishReason.CONTENT_FILTER:
        return Vetoed(StopVeto.REFUSED, "the model refused, or its answer was filtered")
    if closing.sentences and _REFUSAL.search(closing.sentences[-1].plain):
        said = one_line(closing.sentences[-1].said)
        return Vetoed(StopVeto.REFUSED, f"the model refused: `{said}`")
    return None


def _awaiting_user(closing: Closing, settings: StopSettings) -> Vetoed | None:
    question = asked(closing) or _asked_in_own_words(closing, settings)
    if question is None:
        return None
    return Vetoed(
        StopVeto.AWAITING_USER, f"it asks the person or hands over: `{one_line(question)}`"
    )


def _asked_in_own_words(closing: Closing, settings: StopSettings) -> str | None:
    """Return the sentence at the end that holds one of the policy's own phrases."""
    for sentence in closing.sentences[-_NEAR_END:]:
        if mentioned(settings.awaiting_phrases, sentence.plain):
            return sentence.said
    return None
