"""What may stand in the tables behind a key: budgets, and the entries of lists of tables."""

from __future__ import annotations

from interlock.model.budget import Dimension
from interlock.policy.config.shapes import (
    ALLOW_WITH_UNDO,
    OUTCOMES,
    SWITCHABLE_OUTCOMES,
    Choice,
    Examples,
    Field,
    Money,
    Number,
    Sequence,
    Text,
    TextKind,
)

_COUNT = Number(minimum=0, maximum=1_000_000_000_000_000)
"""Large enough for anything, small enough that no sum of them overflows 64 bits."""

_PRICE = Money(maximum=1_000_000)

BUDGET_FIELDS = (
    Field(
        name=Dimension.TOKENS.value,
        shape=_COUNT,
        meaning="Tokens that models read and wrote.",
    ),
    Field(name=Dimension.TOOL_CALLS.value, shape=_COUNT, meaning="Calls of tools."),
    Field(name=Dimension.WALL_TIME.value, shape=_COUNT, meaning="Seconds that passed."),
    Field(
        name=Dimension.COST.value,
        shape=Money(maximum=1_000_000_000),
        meaning="What the tokens cost, by the price of their model.",
    ),
    Field(
        name=Dimension.DIFF_LINES.value,
        shape=_COUNT,
        meaning="Lines that edits added or removed.",
    ),
    Field(name=Dimension.STORAGE.value, shape=_COUNT, meaning="Bytes that were stored."),
)

PRICE_FIELDS = (
    Field(
        name="model",
        shape=Text(kind=TextKind.PLAIN),
        meaning="The model's name, exactly as it is reported.",
        required=True,
    ),
    Field(
        name="input-usd",
        shape=_PRICE,
        meaning="What a million tokens cost that the model reads.",
        required=True,
    ),
    Field(
        name="output-usd",
        shape=_PRICE,
        meaning="What a million tokens cost that the model writes.",
        required=True,
    ),
)

PROTECTED_PATH_FIELDS = (
    Field(
        name="path",
        shape=Text(kind=TextKind.PLAIN),
        meaning="A glob: `*` within a folder, `**` across folders, `~` for any home.",
        required=True,
    ),
    Field(
        name="decision",
        shape=Choice(values=SWITCHABLE_OUTCOMES),
        meaning="The answer to a write; `off` takes an entry of a layer below away.",
        required=True,
    ),
    Field(
        name="reason",
        shape=Text(kind=TextKind.PLAIN),
        meaning="Why the path is protected, in the words that the finding will use.",
    ),
)

CARRIER_FIELDS = (
    Field(
        name="tools",
        shape=Sequence(),
        meaning="The tools this entry is about: names, or globs where a `*` is written.",
        required=True,
    ),
    Field(
        name="command",
        shape=Sequence(),
        meaning="Parameters that hold a command line, as text or as a list of words.",
    ),
    Field(
        name="cwd",
        shape=Sequence(),
        meaning="Parameters that hold the working folder.",
        needs=("command", "path", "edits", "patch"),
    ),
    Field(name="path", shape=Sequence(), meaning="Parameters that hold the path of an edit."),
    Field(
        name="content",
        shape=Sequence(),
        meaning="Parameters that hold the text to be written.",
        needs=("path",),
    ),
    Field(
        name="old",
        shape=Sequence(),
        meaning="Parameters that hold the text to be replaced.",
        needs=("path",),
    ),
    Field(
        name="edits",
        shape=Sequence(),
        meaning="Parameters that hold a list of edits, each with old and new text.",
    ),
    Field(name="patch", shape=Sequence(), meaning="Parameters that hold a whole patch as text."),
)

RULE_FIELDS = (
    Field(
        name="id",
        shape=Text(kind=TextKind.RULE_ID),
        meaning="The rule's name in findings; no other rule may have it.",
        required=True,
    ),
    Field(
        name="when",
        shape=Text(kind=TextKind.CONDITION),
        meaning="The condition, in CEL; a condition that fails to evaluate counts as true.",
        required=True,
    ),
    Field(
        name="decision",
        shape=Choice(values=OUTCOMES),
        meaning="The answer where the condition holds; a rule can refuse, never allow.",
        required=True,
        instead="on_match",
    ),
    Field(
        name="on_match",
        shape=Choice(values=(ALLOW_WITH_UNDO,)),
        meaning=(
            "In place of a decision: it goes ahead where everything that it touches could be"
            " copied away first, otherwise a person is asked."
        ),
    ),
    Field(
        name="message",
        shape=Text(kind=TextKind.PLAIN),
        meaning="What the finding says.",
        required=True,
    ),
    Field(
        name="remediation",
        shape=Text(kind=TextKind.PLAIN),
        meaning="What the agent should do instead.",
    ),
    Field(
        name="severity",
        shape=Choice(values=("low", "medium", "high", "critical")),
        meaning="How bad it is when the finding is right and the action happens anyway.",
    ),
    Field(name="match", shape=Examples(), meaning="Actions that the condition must hold for."),
    Field(
        name="not_match",
        shape=Examples(),
        meaning="Actions that the condition must not hold for.",
    ),
)
