"""The keys about going on: when a run is stopped, paused, slowed down and saved."""

from __future__ import annotations

from interlock.policy.config.key import Key, Tighter
from interlock.policy.config.shapes import Number, Text, TextKind, Texts

_PERCENT = Number(minimum=0, maximum=100)
_STEPS = Number(minimum=1, maximum=1_000_000)
_MILLISECONDS = Number(minimum=0, maximum=3_600_000)
_TIMES = Number(minimum=2, maximum=1_000)

STEP_KEYS = (
    Key(
        path="steps.max-consecutive",
        shape=_STEPS,
        meaning="How many steps without a person stop a run whose checkpoint is overdue.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="steps.max-total",
        shape=Number(minimum=1, maximum=1_000_000_000),
        meaning="How many steps stop a run, whatever happened in between.",
        tighter=Tighter.LIMITED,
        absent="no limit",
    ),
    Key(
        path="steps.checkpoint-interval",
        shape=_STEPS,
        meaning="After how many steps a checkpoint is due.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="steps.checkpoint-command",
        shape=Text(kind=TextKind.COMMAND),
        meaning="How the work is saved when a checkpoint is due.",
        tighter=Tighter.USER_ONLY,
    ),
    Key(
        path="steps.min-coherence-percent",
        shape=_PERCENT,
        meaning="A run whose coherence is below this stops.",
        tighter=Tighter.LARGER,
    ),
    Key(
        path="steps.read-only-below-percent",
        shape=_PERCENT,
        meaning="A run whose coherence is below this may only read.",
        tighter=Tighter.LARGER,
        at_least="steps.min-coherence-percent",
    ),
    Key(
        path="steps.restricted-below-percent",
        shape=_PERCENT,
        meaning=(
            "A run whose coherence is below this asks a person before it destroys anything or uses"
            " the network."
        ),
        tighter=Tighter.LARGER,
        at_least="steps.read-only-below-percent",
    ),
    Key(
        path="steps.max-rework-percent",
        shape=_PERCENT,
        meaning="How much of its work a run may do over again before it is paused.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="steps.max-uncertainty-percent",
        shape=_PERCENT,
        meaning="How uncertain a run may be before it is paused.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="steps.max-slope-percent",
        shape=_PERCENT,
        meaning="How much the tokens per step may grow with each step before a run is slowed down.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="steps.delay-ms",
        shape=_MILLISECONDS,
        meaning="How long a run waits that is slowed down.",
        tighter=Tighter.LARGER,
    ),
    Key(
        path="steps.max-delay-ms",
        shape=_MILLISECONDS,
        meaning="How long it waits at most, however often in a row.",
        tighter=Tighter.LARGER,
        at_least="steps.delay-ms",
    ),
    Key(
        path="steps.cooldown-ms",
        shape=_MILLISECONDS,
        meaning="For how long after a full answer only the hard checks are made.",
        tighter=Tighter.SMALLER,
    ),
)

LOOP_KEYS = (
    Key(
        path="loops.volatile-arguments",
        shape=Texts(kind=TextKind.GLOB),
        meaning="Arguments that differ each time by their nature and make no other call of a call.",
        tighter=Tighter.MORE,
    ),
    Key(
        path="loops.polling-tools",
        shape=Texts(kind=TextKind.GLOB),
        meaning="Tools that look how far something is, and may look again.",
        tighter=Tighter.FEWER,
    ),
    Key(
        path="loops.pause-repeats",
        shape=_TIMES,
        meaning="How often the same calls with the same results pause a run.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="loops.stop-repeats",
        shape=_TIMES,
        meaning="How often the same calls with the same results stop a run.",
        tighter=Tighter.SMALLER,
        at_least="loops.pause-repeats",
    ),
    Key(
        path="loops.patience",
        shape=Number(minimum=1, maximum=1_000_000),
        meaning="How often a run may look at something outside that does not change.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="loops.pause-score-percent",
        shape=Number(minimum=1, maximum=1_000),
        meaning="How much evidence of being stuck pauses a run.",
        tighter=Tighter.SMALLER,
    ),
)
