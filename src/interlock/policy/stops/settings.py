"""What the stop gate is told by policy: points, thresholds, phrases; and two profiles of them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Final

import msgspec
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.model.stop import EvidenceKind


class Reading(enum.Enum):
    """How a message is read for what it intends."""

    PHRASES = "phrases"
    """A continue phrase anywhere, and no completion phrase."""
    CLOSING = "closing"
    """What its end announces; phrases count there as well."""


class StopOverride(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What differs for some models; None leaves it as it is."""

    continue_at: int | None = None
    warn_at: int | None = None
    max_retries: int | None = None
    points_tool_calls: int | None = None
    points_no_finish_reason: int | None = None
    points_last_event: int | None = None
    points_intent: int | None = None
    points_vague_intent: int | None = None
    points_no_summary: int | None = None
    points_tool_ratio: int | None = None
    points_open_todo: int | None = None
    points_failing_check: int | None = None
    points_pending_review: int | None = None
    points_untouched_file: int | None = None
    continue_phrases: tuple[str, ...] | None = None
    completion_phrases: tuple[str, ...] | None = None
    summary_phrases: tuple[str, ...] | None = None
    awaiting_phrases: tuple[str, ...] | None = None


class StopSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Points, thresholds and phrases; InputError for what cannot go together."""

    profile: str
    reading: Reading
    continue_at: int = 60
    """A score that reaches this goes on."""
    warn_at: int = 40
    """A score that reaches only this ends with a recorded warning."""
    max_retries: int = 3
    """How often in a row a turn is told to go on."""
    points_tool_calls: int
    """The model announced calls and gave none."""
    points_no_finish_reason: int
    points_last_event: int
    points_intent: int
    points_vague_intent: int
    """It only says that it goes on, and not with what."""
    points_no_summary: int
    points_tool_ratio: int
    points_open_todo: int
    points_failing_check: int
    points_pending_review: int
    points_untouched_file: int
    continue_phrases: tuple[str, ...] = ()
    completion_phrases: tuple[str, ...] = ()
    summary_phrases: tuple[str, ...] = ()
    awaiting_phrases: tuple[str, ...] = ()
    """Hand-overs beside those that are always known."""
    models: Mapping[str, StopOverride] = {}
    """What differs, by a pattern of model names such as `minimax-*`."""

    def __post_init__(self) -> None:
        if self.warn_at > self.continue_at:
            raise InputError(
                f"`warn_at` is {self.warn_at}, more than `continue_at` {self.continue_at}:"
                " expected at most as much"
            )
        if self.max_retries < 0:
            raise InputError(f"`max_retries` is {self.max_retries}, expected 0 or more")

    def points_of(self, kind: EvidenceKind) -> int:
        """Return what a kind of evidence is worth."""
        return {
            EvidenceKind.OPEN_TODO: self.points_open_todo,
            EvidenceKind.FAILING_CHECK: self.points_failing_check,
            EvidenceKind.PENDING_REVIEW: self.points_pending_review,
            EvidenceKind.UNTOUCHED_FILE: self.points_untouched_file,
        }[kind]


def settings_for(model: str | None, settings: StopSettings) -> StopSettings:
    """Return the settings that count for a model: the longest pattern has the last word."""
    if not settings.models or model is None:
        return settings
    name = model.lower()
    fitting = [each for each in settings.models if fnmatchcase(name, each.lower())]
    changes: dict[str, object] = {}
    for pattern in sorted(fitting, key=lambda each: (len(each), each)):
        given = msgspec.structs.asdict(settings.models[pattern])
        changes.update({field: value for field, value in given.items() if value is not None})
    return replace(settings, **changes) if changes else settings


_CONTINUE: Final = (
    "let me continue", "i'll continue", "i will continue", "now i'll", "next, i'll",
    "moving on to", "proceed with", "now let me", "i'll now", "next step", "continuing with",
    "now i need to", "i still need to", "remaining steps",
)  # fmt: skip
_COMPLETION: Final = (
    "task is complete", "i'm done", "all changes have been made",
    "the implementation is complete", "finished implementing", "all files have been",
    "everything is now", "successfully completed", "i have completed", "the bug is fixed",
)  # fmt: skip
_SUMMARY: Final = (
    "to summarize", "in summary", "here's a summary", "let me summarize", "overview of changes",
    "here's what was done", "recap of", "let me know if", "when you're ready", "waiting for your",
    "please review",
)  # fmt: skip
# Whoever goes on with one of these sums up as well.
_SUMMARY_NOUNS: Final = ("a summary", "the summary", "summarize", "summarise")

SEED: Final = StopSettings(
    profile="seed",
    reading=Reading.PHRASES,
    points_tool_calls=30,
    points_no_finish_reason=15,
    points_last_event=25,
    points_intent=25,
    points_vague_intent=25,
    points_no_summary=10,
    points_tool_ratio=10,
    points_open_todo=0,
    points_failing_check=0,
    points_pending_review=0,
    points_untouched_file=0,
    continue_phrases=_CONTINUE,
    completion_phrases=_COMPLETION,
    summary_phrases=(*_SUMMARY, *_SUMMARY_NOUNS),
)
"""The table of the original formula, to the point."""

DEFAULT: Final = StopSettings(
    profile="default",
    reading=Reading.CLOSING,
    points_tool_calls=40,
    # Several clients never write a finish reason: its absence says nothing.
    points_no_finish_reason=0,
    points_last_event=15,
    points_intent=55,
    points_vague_intent=40,
    points_no_summary=5,
    points_tool_ratio=5,
    # One kind of evidence warns, two kinds go on: a list of to-dos is no oracle by itself.
    points_open_todo=20,
    points_failing_check=20,
    points_pending_review=10,
    points_untouched_file=10,
    # The end of a message is read by its grammar: what stands here only adds to that.
    continue_phrases=(),
    completion_phrases=_COMPLETION,
    summary_phrases=_SUMMARY,
)
"""Points set by measurement: see `benchmarks/stop_accuracy.py`."""

PROFILES: Final = {"default": DEFAULT, "seed": SEED}
