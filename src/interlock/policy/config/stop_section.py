"""What the policy file says about an agent that ends its turn, and the two profiles of it."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Literal

import msgspec

from interlock.model.stop import EvidenceKind
from interlock.policy.config.key import (
    BY_PROFILE,
    INHERITED,
    Choice,
    Key,
    NamedTables,
    Number,
    Section,
    TextKind,
    Texts,
    Tighter,
    seed_of,
)

_CONTINUE = (
    "let me continue", "i'll continue", "i will continue", "now i'll", "next, i'll",
    "moving on to", "proceed with", "now let me", "i'll now", "next step", "continuing with",
    "now i need to", "i still need to", "remaining steps",
)  # fmt: skip
_COMPLETION = (
    "task is complete", "i'm done", "all changes have been made",
    "the implementation is complete", "finished implementing", "all files have been",
    "everything is now", "successfully completed", "i have completed", "the bug is fixed",
)  # fmt: skip
_SUMMARY = (
    "to summarize", "in summary", "here's a summary", "let me summarize", "overview of changes",
    "here's what was done", "recap of", "let me know if", "when you're ready", "waiting for your",
    "please review",
)  # fmt: skip
# Whoever goes on with one of these sums up as well.
_SUMMARY_NOUNS = ("a summary", "the summary", "summarize", "summarise")


_THRESHOLDS = ("continue_at", "warn_at")
_SCORE = Number(0, 1_000)
_POINTS = Number(0, 100)


class Stops(Section, frozen=True, kw_only=True):
    """What speaks for it that an agent that ends its turn should go on.

    Everything is written out: what no file set is what the profile said when it was merged.
    """

    profile: Annotated[
        Literal["default", "seed"],
        Key(
            "The values that everything below has where no file says otherwise.",
            Tighter.USER_ONLY,
            Choice(("default", "seed")),
            more=(
                '"default" was set by measurement, "seed" is the original formula, to the'
                " point. In the user's file only."
            ),
        ),
    ] = "default"
    credit: Annotated[
        int,
        Key(
            "How often a run may be told to go on before something verifiable comes of it.",
            Tighter.SMALLER,
            _SCORE,
            more="Verified progress gives back what was used.",
        ),
    ] = 5
    warn_at: Annotated[
        int,
        Key(
            (
                "A score that reaches this, but not `continue-at`, ends the turn with a"
                " recorded warning."
            ),
            Tighter.SMALLER,
            _SCORE,
            absent=BY_PROFILE,
            group=(
                "Thresholds of the score, and the limit of nudges. Each is as the profile says"
                " until you set it:"
            ),
            seed=40,
        ),
    ] = 40
    continue_at: Annotated[
        int,
        Key(
            "A score that reaches this makes the agent go on.",
            Tighter.LARGER,
            _SCORE,
            at_least="stops.warn-at",
            absent=BY_PROFILE,
            more="Not less than `warn-at`.",
            seed=60,
        ),
    ] = 60
    max_retries: Annotated[
        int,
        Key(
            "How often in a row an agent is told to go on.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            ends_group=True,
            seed=3,
        ),
    ] = 3
    points_tool_calls: Annotated[
        int,
        Key(
            "Points for a model that announced tool calls and gave none.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            group="Points, likewise as the profile says:",
            seed=30,
        ),
    ] = 40
    points_no_finish_reason: Annotated[
        int,
        Key(
            "Points for an answer that came without a finish reason.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            seed=15,
        ),
    ] = 0
    points_last_event: Annotated[
        int,
        Key(
            "Points for a message right after the result of a tool.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            seed=25,
        ),
    ] = 15
    points_intent: Annotated[
        int,
        Key(
            "Points for a message that says what it does next.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            seed=25,
        ),
    ] = 55
    points_vague_intent: Annotated[
        int,
        Key(
            "Points for a message that says only that it goes on, and not with what.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            seed=25,
        ),
    ] = 40
    points_no_summary: Annotated[
        int,
        Key(
            "Points for a message that neither sums up nor hands over.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            seed=10,
        ),
    ] = 5
    points_tool_ratio: Annotated[
        int,
        Key(
            "Points for tool calls in more than half of the recent turns.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            seed=10,
        ),
    ] = 5
    points_open_todo: Annotated[
        int,
        Key(
            "Points for to-do items that are still open.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            seed=0,
        ),
    ] = 20
    points_failing_check: Annotated[
        int,
        Key(
            "Points for a check that failed last.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            seed=0,
        ),
    ] = 20
    points_pending_review: Annotated[
        int,
        Key(
            "Points for a review that is still pending.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            seed=0,
        ),
    ] = 10
    points_untouched_file: Annotated[
        int,
        Key(
            "Points for files that the plan names and nobody touched.",
            Tighter.SMALLER,
            _POINTS,
            absent=BY_PROFILE,
            ends_group=True,
            seed=0,
        ),
    ] = 10
    continue_phrases: Annotated[
        tuple[str, ...],
        Key(
            "Phrases of somebody who goes on.",
            Tighter.FEWER,
            Texts(TextKind.PLAIN),
            absent=BY_PROFILE,
            group=(
                'Phrases, of which "..." stands for those of the profile. They are looked for as'
                " whole words, in whatever case:"
            ),
            seed=_CONTINUE,
        ),
    ] = ()
    completion_phrases: Annotated[
        tuple[str, ...],
        Key(
            "Phrases of somebody who is done.",
            Tighter.MORE,
            Texts(TextKind.PLAIN),
            absent=BY_PROFILE,
            seed=_COMPLETION,
        ),
    ] = _COMPLETION
    summary_phrases: Annotated[
        tuple[str, ...],
        Key(
            "Phrases of somebody who sums up or hands over.",
            Tighter.MORE,
            Texts(TextKind.PLAIN),
            absent=BY_PROFILE,
            seed=(*_SUMMARY, *_SUMMARY_NOUNS),
        ),
    ] = _SUMMARY
    awaiting_phrases: Annotated[
        tuple[str, ...],
        Key(
            "Phrases of somebody who waits for a person, beside those that are always known.",
            Tighter.MORE,
            Texts(TextKind.PLAIN),
            absent=BY_PROFILE,
            ends_group=True,
            seed=(),
        ),
    ] = ()
    models: Annotated[
        Mapping[str, Mapping[str, int | tuple[str, ...]]],
        Key(
            "What differs for some models.",
            Tighter.USER_ONLY,
            NamedTables(names="models"),
            more=(
                "Any of these keys under the name of a model, or a glob where a `*` is"
                " written; of several that fit, the longest has the last word. Where one"
                " of the two thresholds is set, the other one is the one from above. In"
                " the user's file only."
            ),
            example="""\
[stops.models."minimax-*"]
max-retries = 5
points-no-finish-reason = 15
continue-phrases = ["...", "onwards"]
""",
        ),
    ] = {}

    @property
    def by_phrases(self) -> bool:
        """Whether a message intends what its phrases say anywhere, or what its end announces."""
        return self.profile == "seed"

    def points_of(self, kind: EvidenceKind) -> int:
        """Return what a kind of evidence is worth."""
        return {
            EvidenceKind.OPEN_TODO: self.points_open_todo,
            EvidenceKind.FAILING_CHECK: self.points_failing_check,
            EvidenceKind.PENDING_REVIEW: self.points_pending_review,
            EvidenceKind.UNTOUCHED_FILE: self.points_untouched_file,
        }[kind]

    def for_model(self, model: str | None) -> Stops:
        """Return what counts for a model: the longest pattern that fits has the last word."""
        if not self.models or model is None:
            return self
        name = model.lower()
        fitting = [each for each in self.models if fnmatchcase(name, each.lower())]
        changes: dict[str, int | tuple[str, ...]] = {}
        for pattern in sorted(fitting, key=lambda each: (len(each), each)):
            changes.update(self._own(self.models[pattern]))
        return msgspec.structs.replace(self, **changes) if changes else self

    def _own(self, table: Mapping[str, int | tuple[str, ...]]) -> dict[str, int | tuple[str, ...]]:
        named = {name.replace("-", "_"): value for name, value in table.items()}
        own = {name: _completed(value, getattr(self, name)) for name, value in named.items()}
        # Of several patterns that fit a model one may set the first threshold and one the second;
        # whichever has the last word has it on both, so that they always go together.
        if own.keys().isdisjoint(_THRESHOLDS):
            return own
        return {**{name: getattr(self, name) for name in _THRESHOLDS}, **own}


def _completed(
    value: int | tuple[str, ...], elsewhere: int | tuple[str, ...]
) -> int | tuple[str, ...]:
    """Return the value with the list that holds elsewhere in the place of `...`."""
    if isinstance(value, tuple) and isinstance(elsewhere, tuple) and INHERITED in value:
        return tuple(sorted({*value, *elsewhere} - {INHERITED}))
    return value


DEFAULT = Stops()
"""Points set by measurement: see `benchmarks/stop_accuracy.py`."""

SEED = msgspec.structs.replace(DEFAULT, profile="seed", **seed_of(Stops))
"""The table of the original formula, to the point."""

PROFILES = {"default": DEFAULT, "seed": SEED}
