"""What is known when an agent ends its turn without acting, and what is answered: is it done?

What nobody knows is None. What cannot be a number of its kind is refused when the value is made.
"""

from __future__ import annotations

import enum
import math
from typing import Final, Never

import msgspec

from interlock.errors import InputError
from interlock.model.glance import Glance, Glanced
from interlock.model.verdict import no_truth


class FinishReason(enum.StrEnum):
    """Why the model stopped writing, as it says itself."""

    TOOL_CALLS = "tool_calls"
    STOP = "stop"
    LENGTH = "length"
    """It was cut off."""
    CONTENT_FILTER = "content_filter"
    """It refused, or was made to."""


class LastEvent(enum.StrEnum):
    """What came right before the message."""

    TOOL_RESULT = "tool_result"
    USER_MESSAGE = "user_message"
    ASSISTANT_MESSAGE = "assistant_message"
    NONE = "none"


class EvidenceKind(enum.StrEnum):
    """A fact that speaks against being done."""

    OPEN_TODO = "open-todo"
    FAILING_CHECK = "failing-check"
    PENDING_REVIEW = "pending-review"
    UNTOUCHED_FILE = "untouched-file"


class StopEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """One such fact; the text names the to-do item, the check, the review or the file."""

    kind: EvidenceKind
    text: str


class StopContext(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known at the end of a turn; InputError for what cannot be so."""

    text: str | None = None
    last_event: LastEvent | None = None
    finish_reason: FinishReason | None = None
    tool_ratio: float | None = None
    """Which share of the recent turns had tool calls; more than 1 where a turn counts many."""
    n_prev_turns: int | None = None
    model: str | None = None
    tool_calls: int | None = None
    """How many calls the message holds; None is none, for a turn that ends holds none."""
    retries: int = 0
    """How often in a row it was sent on already."""
    hard: tuple[str, ...] = ()
    """The hard states that hold: stopped, paused, awaiting an approval, over budget."""
    evidence: tuple[StopEvidence, ...] = ()

    def __post_init__(self) -> None:
        _refuse_share("tool_ratio", self.tool_ratio)
        for name in ("n_prev_turns", "tool_calls", "retries"):
            _refuse_count(name, getattr(self, name))


class StopVeto(enum.StrEnum):
    """Why a turn ends whatever the score says."""

    HARD_STOP = "hard-stop"
    REFUSED = "refused"
    AWAITING_USER = "awaiting-user"
    RETRIES_EXHAUSTED = "retries-exhausted"
    PROTOCOL_VIOLATION = "protocol-violation"


class StopOutcome(enum.StrEnum):
    """What happens to the turn."""

    ACTS = "acts"
    """The message holds calls: the turn goes on by itself and nothing is sent."""
    NUDGED = "nudged"
    """It looks unfinished: the nudge is sent and the turn goes on."""
    RESUMED = "resumed"
    """It was cut off and is resumed."""
    FINISHED = "finished"
    FINISHED_WITH_WARNING = "finished-with-warning"
    """It ends, but something spoke for going on."""
    VETOED = "vetoed"
    WAITS = "waits"
    """Nothing is to be done now: something runs by itself, or the provider is tried again."""


class StopSignal(enum.StrEnum):
    """The signals by name; evidence goes by the name of its kind."""

    FINISH_REASON = "finish_reason"
    LAST_EVENT = "last_event"
    CONTENT_INTENT = "content_intent"
    NO_SUMMARY = "no_summary"
    TOOL_RATIO = "tool_ratio"
    FORM = "form"
    """How short and plain it is; a report is neither."""
    VETO = "veto"
    """It takes away more than the others give."""


class SignalScore(msgspec.Struct, frozen=True, kw_only=True):
    """What one signal adds to the score, and why."""

    signal: str
    points: int
    because: str


class StopDecision(Glanced, msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whether the turn goes on, and everything that spoke for or against it."""

    goes_on: bool
    score: int
    signals: tuple[SignalScore, ...]
    reason: str
    outcome: StopOutcome
    veto: StopVeto | None = None
    nudge: str | None = None
    """What is sent to the agent, as a message from the user's side."""
    would_have: StopOutcome | None = None
    """What it would have been, where the policy only observes."""
    delay_ms: int | None = None
    """After how long a turn that waits is looked at again."""

    @property
    def warned(self) -> bool:
        """Whether it ends although something spoke for going on."""
        return self.outcome is StopOutcome.FINISHED_WITH_WARNING

    def __bool__(self) -> Never:
        """Refuse to say: done is not allowed, and sent on is no failure."""
        raise no_truth("a decision on a stop", "`goes_on`")

    def _glance(self) -> Glance:
        return Glance(
            f"{self.outcome.value}: {self.reason}",
            (
                ("score", f"{self.score}"),
                *((each.signal, f"{each.points}: {each.because}") for each in self.signals),
                ("nudge", self.nudge),
                ("looks again", None if self.delay_ms is None else f"{self.delay_ms:,} ms"),
            ),
        )


def finish_reason_from(name: str) -> FinishReason | None:
    """Return what a client calls its finish reason; None for a name that nobody knows."""
    return _FINISH_REASONS.get(_plain(name))


def last_event_from(name: str) -> LastEvent | None:
    """Return what a client calls the event before the message; None for an unknown name."""
    return _LAST_EVENTS.get(_plain(name))


_FINISH_REASONS: Final = {
    name: reason
    for reason, names in (
        (
            FinishReason.TOOL_CALLS,
            "tool_calls tool_call tool_use function_call function_calls",
        ),
        (
            FinishReason.STOP,
            "stop stop_sequence end_turn end eos eos_token complete completed finished",
        ),
        (
            FinishReason.LENGTH,
            "length max_tokens max_output_tokens max_length model_length"
            " model_context_window_exceeded incomplete",
        ),
        (
            FinishReason.CONTENT_FILTER,
            "content_filter content_filtered refusal safety recitation blocklist"
            " prohibited_content spii guardrail_intervened",
        ),
    )
    for name in names.split()
}
_LAST_EVENTS: Final = {"": LastEvent.NONE} | {
    name: event
    for event, names in (
        (LastEvent.TOOL_RESULT, "tool_result tool tool_response function_result"),
        (LastEvent.USER_MESSAGE, "user_message user user_text"),
        (LastEvent.ASSISTANT_MESSAGE, "assistant_message assistant assistant_text"),
        (LastEvent.NONE, "none"),
    )
    for name in names.split()
}


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def _refuse_share(name: str, value: float | None) -> None:
    # A truth value gets here from callers that no type checker has seen.
    if value is not None and (
        type(value) not in (float, int) or not (math.isfinite(value) and value >= 0)
    ):
        raise InputError(f"`{name}` is `{value}`, expected a share such as 0.75")


def _refuse_count(name: str, value: int | None) -> None:
    if value is not None and (type(value) is not int or value < 0):
        raise InputError(f"`{name}` is `{value}`, expected a whole number of 0 or more")
