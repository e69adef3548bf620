"""Every key of the policy file, said once.

Reading, layering, the JSON Schema, the printed policy and the reference all follow this table.
"""

from __future__ import annotations

import enum

import msgspec

from interlock.policy.entry_fields import (
    BUDGET_FIELDS,
    CARRIER_FIELDS,
    PRICE_FIELDS,
    PROTECTED_PATH_FIELDS,
    RULE_FIELDS,
)
from interlock.policy.shapes import (
    OUTCOMES,
    SWITCHABLE_OUTCOMES,
    Budget,
    Choice,
    Flag,
    NamedValues,
    NameKind,
    Number,
    Schemas,
    Shape,
    Tables,
    Text,
    TextKind,
    Texts,
)


class Tighter(enum.Enum):
    """Which of two values is the stricter one, in the words of the reference."""

    TRUE = "`true` is tighter"
    SMALLER = "a smaller number is tighter"
    LARGER = "a larger number is tighter"
    LIMITED = "a smaller limit is tighter, and one where none stood"
    STRONGER = "a stronger decision is tighter"
    FEWER = "fewer entries are tighter"
    MORE = "more entries are tighter"
    KEPT = "a project may add entries, not change the ones below"
    FIXED = "has one value only"
    USER_ONLY = "stands in the user's file only"


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key: where it stands, what it takes, what it means and when it is stricter."""

    path: str
    shape: Shape
    meaning: str
    tighter: Tighter
    switch: str | None = None
    """The flag that must be on for this key to matter at all."""

    @property
    def section(self) -> str:
        """The table that the key stands in, empty for the top of the file."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """The key as it is written inside its table."""
        return self.path.rpartition(".")[2]


KEYS: tuple[Key, ...] = (
    Key(
        path="version",
        shape=Number(minimum=1, maximum=1),
        meaning="The version of this format.",
        tighter=Tighter.FIXED,
    ),
    Key(
        path="layers.project-may-loosen",
        shape=Texts(kind=TextKind.KEY_PATH),
        meaning="The keys that a project's file may set more loosely than the layers below it.",
        tighter=Tighter.USER_ONLY,
    ),
    Key(
        path="limits.command-bytes",
        shape=Number(minimum=1024, maximum=1_048_576),
        meaning=(
            "A command line longer than this is not parsed: its size is the finding. Long"
            " here-documents with a quoted delimiter do not count."
        ),
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="limits.content-bytes",
        shape=Number(minimum=1024, maximum=16_777_216),
        meaning="Content and parameters larger than this are not scanned: size is the finding.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="limits.nesting",
        shape=Number(minimum=4, maximum=64),
        meaning="How deep commands may stand inside commands before depth is the finding.",
        tighter=Tighter.SMALLER,
    ),
    Key(
        path="tool-allowlist.enabled",
        shape=Flag(),
        meaning="Whether only the tools under `allow` may be called.",
        tighter=Tighter.TRUE,
    ),
    Key(
        path="tool-allowlist.allow",
        shape=Texts(kind=TextKind.GLOB),
        meaning="The tools that may be called once the allow-list is enabled.",
        tighter=Tighter.FEWER,
        switch="tool-allowlist.enabled",
    ),
    Key(
        path="tool-allowlist.deny",
        shape=Texts(kind=TextKind.GLOB),
        meaning="The tools that may never be called, whether or not the allow-list is enabled.",
        tighter=Tighter.MORE,
    ),
    Key(
        path="tools.carriers",
        shape=Tables(identity="tools", fields=CARRIER_FIELDS),
        meaning="Which parameters of a tool carry a command or an edit, to be judged as such.",
        tighter=Tighter.MORE,
    ),
    Key(
        path="tools.schemas",
        shape=Schemas(),
        meaning="JSON Schemas that the parameters of a tool must satisfy, by the tool's name.",
        tighter=Tighter.KEPT,
    ),
    Key(
        path="tools.idempotent",
        shape=Texts(kind=TextKind.GLOB),
        meaning=(
            "The tools of which a call that was answered before, with the same parameters in the"
            " same run, returns the recorded answer."
        ),
        tighter=Tighter.FEWER,
    ),
    Key(
        path="destructive-ops.enabled",
        shape=Flag(),
        meaning="Whether commands are judged by what they would destroy, send or run.",
        tighter=Tighter.TRUE,
    ),
    Key(
        path="destructive-ops.unresolved",
        shape=Choice(values=SWITCHABLE_OUTCOMES),
        meaning="The answer to a command that cannot be parsed or is only known at run time.",
        tighter=Tighter.STRONGER,
        switch="destructive-ops.enabled",
    ),
    Key(
        path="destructive-ops.scratch-folders",
        shape=Texts(kind=TextKind.GLOB),
        meaning="Folder names inside a project whose contents can be made again.",
        tighter=Tighter.FEWER,
        switch="destructive-ops.enabled",
    ),
    Key(
        path="destructive-ops.temp-folders",
        shape=Texts(kind=TextKind.GLOB),
        meaning="Folders outside of projects whose contents are temporary.",
        tighter=Tighter.FEWER,
        switch="destructive-ops.enabled",
    ),
    Key(
        path="destructive-ops.protected-branches",
        shape=Texts(kind=TextKind.GLOB),
        meaning="Git branches whose history belongs to more people than the agent.",
        tighter=Tighter.MORE,
        switch="destructive-ops.enabled",
    ),
    Key(
        path="destructive-ops.packs",
        shape=NamedValues(names=NameKind.PACK, value=Flag(), absent="on"),
        meaning="Rule packs by name: `false` switches a pack off.",
        tighter=Tighter.TRUE,
        switch="destructive-ops.enabled",
    ),
    Key(
        path="destructive-ops.rules",
        shape=NamedValues(
            names=NameKind.COMMAND_RULE,
            value=Choice(values=SWITCHABLE_OUTCOMES),
            absent="the rule's own decision",
        ),
        meaning="Single rules by id, with another decision than their own.",
        tighter=Tighter.STRONGER,
        switch="destructive-ops.enabled",
    ),
    Key(
        path="secrets.enabled",
        shape=Flag(),
        meaning="Whether commands, parameters and content are searched for credentials.",
        tighter=Tighter.TRUE,
    ),
    Key(
        path="secrets.decision",
        shape=Choice(values=OUTCOMES),
        meaning="The answer to a credential.",
        tighter=Tighter.STRONGER,
        switch="secrets.enabled",
    ),
    Key(
        path="secrets.allow",
        shape=Texts(kind=TextKind.PATTERN),
        meaning="Patterns (RE2) of values that are no secrets here, such as test fixtures.",
        tighter=Tighter.FEWER,
        switch="secrets.enabled",
    ),
    Key(
        path="secrets.fingerprint-key",
        shape=Text(kind=TextKind.HIDDEN),
        meaning="The key of the fingerprints by which findings tell one secret from another.",
        tighter=Tighter.USER_ONLY,
    ),
    Key(
        path="secrets.rules",
        shape=NamedValues(names=NameKind.SECRET_RULE, value=Flag(), absent="on"),
        meaning="Single kinds of credentials by id: `false` stops looking for one.",
        tighter=Tighter.TRUE,
        switch="secrets.enabled",
    ),
    Key(
        path="diff-size.enabled",
        shape=Flag(),
        meaning="Whether the size of an edit is judged.",
        tighter=Tighter.TRUE,
    ),
    Key(
        path="diff-size.threshold",
        shape=Number(minimum=1, maximum=1_000_000),
        meaning="The number of changed lines that still passes; one more is a finding.",
        tighter=Tighter.SMALLER,
        switch="diff-size.enabled",
    ),
    Key(
        path="diff-size.decision",
        shape=Choice(values=OUTCOMES),
        meaning="The answer to an edit over the threshold.",
        tighter=Tighter.STRONGER,
        switch="diff-size.enabled",
    ),
    Key(
        path="protected-paths.enabled",
        shape=Flag(),
        meaning="Whether writes to protected paths are judged.",
        tighter=Tighter.TRUE,
    ),
    Key(
        path="protected-paths.entries",
        shape=Tables(identity="path", fields=PROTECTED_PATH_FIELDS),
        meaning="The paths an agent must not write to; of all that match, the strictest counts.",
        tighter=Tighter.STRONGER,
        switch="protected-paths.enabled",
    ),
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
    Key(
        path="approvals.expires-seconds",
        shape=Number(minimum=1, maximum=2_592_000),
        meaning="How long a question to a person stands; silence until then is a refusal.",
        tighter=Tighter.SMALLER,
    ),
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
    Key(
        path="rules",
        shape=Tables(identity="id", fields=RULE_FIELDS),
        meaning="Your own rules, each with its own tests.",
        tighter=Tighter.KEPT,
    ),
)

KEY_BY_PATH = {key.path: key for key in KEYS}

SECTIONS: tuple[str, ...] = tuple(dict.fromkeys(key.section for key in KEYS if key.section))
"""The tables of the file, in the order of the keys."""
