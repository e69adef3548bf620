"""The keys about whole runs: what they may spend, whom they ask, how they are measured."""

from __future__ import annotations

from interlock.policy.config.entry_fields import BUDGET_FIELDS, PRICE_FIELDS
from interlock.policy.config.key import Key, Tighter
from interlock.policy.config.shapes import (
    SWITCHABLE_OUTCOMES,
    Budget,
    Choice,
    Number,
    Tables,
    TextKind,
    Texts,
)

BUDGET_KEYS = (
    Key(
        path="budgets.lease-seconds",
        shape=Number(minimum=1, maximum=604_800),
        meaning="How long a reservation is held for an action that nobody reported on.",
        tighter=Tighter.LARGER,
    ),
    Key(
        path="budgets.unpriced",
        shape=Choice(values=SWITCHABLE_OUTCOMES),
        meaning=(
            "The answer while a cost limit applies and tokens were used whose price is not known."
        ),
        tighter=Tighter.STRONGER,
    ),
    Key(
        path="budgets.run",
        shape=Budget(fields=BUDGET_FIELDS),
        meaning="What one run may spend by itself.",
        tighter=Tighter.LIMITED,
    ),
    Key(
        path="budgets.tree",
        shape=Budget(fields=BUDGET_FIELDS),
        meaning="What a run may spend together with all its sub-agents.",
        tighter=Tighter.LIMITED,
    ),
    Key(
        path="budgets.agent",
        shape=Budget(fields=BUDGET_FIELDS),
        meaning="What an agent, known by its name, may ever spend.",
        tighter=Tighter.LIMITED,
    ),
    Key(
        path="budgets.project-day",
        shape=Budget(fields=BUDGET_FIELDS),
        meaning="What everything in one project may spend on one day (UTC).",
        tighter=Tighter.LIMITED,
    ),
    Key(
        path="budgets.prices",
        shape=Tables(identity="model", fields=PRICE_FIELDS),
        meaning="Your own prices of models, which count before the ones that Interlock knows.",
        tighter=Tighter.USER_ONLY,
    ),
)

APPROVAL_KEYS = (
    Key(
        path="approvals.expires-seconds",
        shape=Number(minimum=1, maximum=2_592_000),
        meaning="How long a question to a person stands; silence until then is a refusal.",
        tighter=Tighter.SMALLER,
    ),
)

EVALUATOR_KEYS = (
    Key(
        path="evaluators.max-violations",
        shape=Number(minimum=0, maximum=1_000_000),
        meaning="How many violations a run may have and still pass.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="evaluators.max-rework-percent",
        shape=Number(minimum=0, maximum=100),
        meaning="How much of what a run changed it may have changed again, and still pass.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="evaluators.forbidden-commands",
        shape=Texts(kind=TextKind.PATTERN),
        meaning="Patterns (RE2) of commands that must not have run.",
        tighter=Tighter.MORE,
    ),
    Key(
        path="evaluators.forbidden-dependencies",
        shape=Texts(kind=TextKind.GLOB),
        meaning="Packages that a run must not have added to a manifest.",
        tighter=Tighter.MORE,
    ),
)
