"""The keys about single actions: which tools, commands, credentials and edits."""

from __future__ import annotations

from interlock.policy.config.entry_fields import CARRIER_FIELDS, PROTECTED_PATH_FIELDS
from interlock.policy.config.key import Key, Tighter
from interlock.policy.config.shapes import (
    OUTCOMES,
    RULE_OUTCOMES,
    SWITCHABLE_OUTCOMES,
    Choice,
    Flag,
    NamedValues,
    NameKind,
    Number,
    Schemas,
    Tables,
    Text,
    TextKind,
    Texts,
)

ACTION_KEYS = (
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
            value=Choice(values=RULE_OUTCOMES),
            absent="the rule's own decision",
        ),
        meaning=(
            "Single rules by id, with another decision than their own. With `allow-with-undo` a"
            " command goes ahead where everything that it touches could be copied away first;"
            " otherwise a person is asked."
        ),
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
)
