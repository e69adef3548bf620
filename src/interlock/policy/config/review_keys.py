"""The keys about finished work and about edits: is it good enough, and can it be put back?"""

from __future__ import annotations

from interlock.model.review import LONGEST_TIMEOUT_S, MOST_ATTEMPTS, ReviewMode
from interlock.model.verdict import Severity
from interlock.policy.config.key import Key, Tighter
from interlock.policy.config.shapes import (
    SWITCHABLE_OUTCOMES,
    Choice,
    Field,
    Flag,
    Number,
    Sequence,
    Tables,
    Text,
    TextKind,
    Texts,
)
from interlock.policy.reviews.settings import MOST_HINTS, MOST_TAIL

_MOST_GATES = 64
_MOST_UNDO_BYTES = 1 << 40
_ATTEMPTS = Number(minimum=1, maximum=MOST_ATTEMPTS)
_SECONDS = Number(minimum=1, maximum=LONGEST_TIMEOUT_S)

_GATE_FIELDS = (
    Field(
        name="id",
        shape=Text(kind=TextKind.GATE_ID),
        meaning="The gate's name in verdicts; no other gate may have it.",
        required=True,
    ),
    Field(
        name="criteria",
        shape=Sequence(kind=TextKind.PLAIN),
        meaning="What the work must be like, each in a sentence; the first ones are shown first.",
    ),
    Field(
        name="severity",
        shape=Choice(values=tuple(severity.value for severity in Severity)),
        meaning=(
            "How bad it is when the gate fails: `critical` blocks, `high` and `medium` advise,"
            " `low` informs."
        ),
    ),
    Field(
        name="mode",
        shape=Choice(values=tuple(mode.value for mode in ReviewMode)),
        meaning="What a failing gate does, whatever its severity; without either it blocks.",
    ),
    Field(
        name="max-attempts",
        shape=_ATTEMPTS,
        meaning="How many attempts there are, in place of `reviews.max-attempts`.",
    ),
    Field(
        name="improvement-hints",
        shape=Flag(),
        meaning="Whether whoever tries again is shown the criteria; `true` where it is absent.",
    ),
    Field(
        name="preserve-context",
        shape=Flag(),
        meaning="Whether whoever tries again is shown what was said last; `true` likewise.",
    ),
    Field(
        name="check",
        shape=Sequence(kind=TextKind.WORD),
        meaning="A program and its arguments, given to no shell; exit code 0 passes.",
    ),
    Field(
        name="timeout-seconds",
        shape=_SECONDS,
        meaning="How long the check may run, in place of `reviews.check-timeout-seconds`.",
        needs=("check",),
    ),
)

REVIEW_KEYS = (
    Key(
        path="reviews.max-attempts",
        shape=_ATTEMPTS,
        meaning="After how many attempts a review that still fails asks a person.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="reviews.max-resets",
        shape=Number(minimum=0, maximum=MOST_ATTEMPTS),
        meaning="How often a person may give one review its attempts once more.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="reviews.most-hints",
        shape=Number(minimum=0, maximum=MOST_HINTS),
        meaning="How many criteria are shown to whoever tries again.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="reviews.check-timeout-seconds",
        shape=_SECONDS,
        meaning="How long a check may run that says nothing else.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="reviews.check-tail-bytes",
        shape=Number(minimum=0, maximum=MOST_TAIL),
        meaning="How much of the end of a check's output is kept.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="reviews.check-environment",
        shape=Texts(kind=TextKind.VARIABLE),
        meaning="The variables of the environment that a check may see.",
        tighter=Tighter.FEWER,
    ),
    Key(
        path="reviews.completion",
        shape=Texts(kind=TextKind.GATE_ID),
        meaning="The gates whose checks must pass before a run may finish, by their ids.",
        tighter=Tighter.MORE,
    ),
    Key(
        path="reviews.gates",
        shape=Tables(identity="id", fields=_GATE_FIELDS, most=_MOST_GATES),
        meaning="What finished work can be held against.",
        tighter=Tighter.KEPT,
    ),
)

EDIT_KEYS = (
    Key(
        path="edits.fuzzy-matches",
        shape=Choice(values=SWITCHABLE_OUTCOMES),
        meaning="The answer to an edit whose text was found only by likeness.",
        tighter=Tighter.STRONGER,
    ),
)

UNDO_KEYS = (
    Key(
        path="undo.limit-bytes",
        shape=Number(minimum=0, maximum=_MOST_UNDO_BYTES),
        meaning="How much may be copied away before an action so that it can be put back.",
        tighter=Tighter.SMALLER,
    ),
)
