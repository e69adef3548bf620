"""What the policy file says about an agent that ends its turn, and the two profiles of it."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Literal, Self

import msgspec

from interlock.model.stop import EvidenceKind
from interlock.policy.config.key import (
    INHERITED,
    MODES,
    Choice,
    Flag,
    NamedTables,
    Number,
    Section,
    TextKind,
    Texts,
    Tighter,
    key,
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
_POINTS = Number(0, 100, tighter=Tighter.SMALLER)


class Stops(Section, title="Whether an agent that ends its turn is really done"):
    """What speaks for it that an agent that ends its turn should go on.

    Everything is written out: what no file set is what the profile said when it was merged.
    """

    profile: Literal["default", "seed"] = key(
        "The set of defaults for the keys below.",
        Choice(("default", "seed"), tighter=Tighter.USER_ONLY),
        default="default",
        more=(
            '"default" was set by measurement, "seed" is the original formula, to the'
            " point. In the user's file only."
        ),
    )
    mode: Literal["observe", "enforce"] = key(
        "Whether an agent that ends its turn too early is told to continue, or only recorded.",
        Choice(MODES),
        default="enforce",
        more="Completion checks are run in both.",
    )
    auto_continue: bool = key(
        "Whether an agent that ends its turn too early is told to continue at all.",
        Flag(tighter=Tighter.USER_ONLY),
        default=True,
        more="Off, every turn ends as the agent ends it; completion checks are run all the same.",
    )
    credit: int = key(
        "How many times a run may be told to continue before it makes verifiable progress.",
        Number(0, 1_000, tighter=Tighter.SMALLER),
        default=5,
        more="Verified progress gives back what was used.",
    )
    warn_at: int = key(
        ("At this score or above, but below `continue-at`, the turn ends with a recorded warning."),
        Number(0, 1_000, tighter=Tighter.SMALLER),
        default=40,
        seed=40,
        group=(
            "Thresholds of the score, and the limit of nudges. Each is as the profile says"
            " until you set it:"
        ),
    )
    continue_at: int = key(
        "At this score or above, the agent is told to continue.",
        Number(0, 1_000, tighter=Tighter.LARGER),
        default=60,
        seed=60,
        at_least="warn_at",
        more="Not less than `warn-at`.",
    )
    max_retries: int = key(
        "How many times in a row an agent is told to continue.",
        _POINTS,
        default=3,
        seed=3,
        ends_group=True,
    )
    points_tool_calls: int = key(
        "Points for a model that announced tool calls and gave none.",
        _POINTS,
        default=40,
        seed=30,
        group="Points, likewise as the profile says:",
    )
    points_no_finish_reason: int = key(
        "Points for an answer that came without a finish reason.", _POINTS, default=0, seed=15
    )
    points_last_event: int = key(
        "Points for a message right after the result of a tool.", _POINTS, default=15, seed=25
    )
    points_intent: int = key(
        "Points for a message that says what it does next.", _POINTS, default=55, seed=25
    )
    points_open_end: int = key(
        "Points for a message that breaks off where something must follow.",
        _POINTS,
        default=50,
        seed=25,
    )
    points_silence: int = key(
        "Points for nothing said after the result of a tool, or nothing but its output.",
        _POINTS,
        default=55,
        seed=0,
    )
    points_vague_intent: int = key(
        "Points for a message that says only that it continues, not with what.",
        _POINTS,
        default=40,
        seed=25,
    )
    points_shared_intent: int = key(
        "Points for a message that says what has to be done next, and not who does it.",
        _POINTS,
        default=30,
        seed=25,
    )
    points_no_summary: int = key(
        "Points for a message without a summary or a question to the user.",
        _POINTS,
        default=5,
        seed=10,
    )
    points_tool_ratio: int = key(
        "Points for tool calls in more than half of the recent turns.", _POINTS, default=5, seed=10
    )
    points_form: int = key(
        "Points for a short and plain message; the more it looks like a report, the fewer.",
        _POINTS,
        default=12,
        seed=0,
    )
    points_open_todo: int = key(
        "Points for to-do items that are still open.", _POINTS, default=20, seed=0
    )
    points_failing_check: int = key(
        "Points for a check that failed last.", _POINTS, default=20, seed=0
    )
    points_pending_review: int = key(
        "Points for a review that is still pending.", _POINTS, default=10, seed=0
    )
    points_untouched_file: int = key(
        "Points for files that the plan names and that were not changed.",
        _POINTS,
        default=10,
        seed=0,
        ends_group=True,
    )
    continue_phrases: tuple[str, ...] = key(
        "Phrases that announce more work.",
        Texts(TextKind.PLAIN, tighter=Tighter.FEWER),
        default=(),
        seed=_CONTINUE,
        group=(
            'Phrases, of which "..." stands for those of the profile. They are looked for as'
            " whole words, in whatever case:"
        ),
    )
    completion_phrases: tuple[str, ...] = key(
        "Phrases that say the work is done.",
        Texts(TextKind.PLAIN, tighter=Tighter.MORE),
        default=_COMPLETION,
        seed=_COMPLETION,
    )
    summary_phrases: tuple[str, ...] = key(
        "Phrases that sum up the work.",
        Texts(TextKind.PLAIN, tighter=Tighter.MORE),
        default=_SUMMARY,
        seed=(*_SUMMARY, *_SUMMARY_NOUNS),
    )
    awaiting_phrases: tuple[str, ...] = key(
        "Phrases that ask a person something, besides the built-in ones.",
        Texts(TextKind.PLAIN, tighter=Tighter.MORE),
        default=(),
        seed=(),
        ends_group=True,
    )
    models: Mapping[str, Mapping[str, int | tuple[str, ...]]] = key(
        "Other values of these keys for some models.",
        NamedTables("models", tighter=Tighter.USER_ONLY),
        default={},
        more=(
            "Any of these keys under the name of a model, or a glob where a `*` is written; of"
            " several that fit, the longest has the last word. Where one of the two thresholds is"
            " set, the other one is the one from above. In the user's file only."
        ),
        example="""\
[stops.models."minimax-*"]
max-retries = 5
points-no-finish-reason = 15
continue-phrases = ["...", "onwards"]
""",
    )

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

    def for_model(self, model: str | None) -> Self:
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

SEED = msgspec.structs.replace(
    DEFAULT, profile="seed", **{key.field: key.seed for key in Stops.keys if key.seed is not None}
)
"""The table of the original formula, to the point."""

PROFILES = {"default": DEFAULT, "seed": SEED}
