"""What the policy file says about single actions: each field is a key."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from interlock.model.verdict import Decision, Severity
from interlock.policy.config.key import (
    ALLOW_WITH_UNDO,
    OUTCOMES,
    RULE_OUTCOMES,
    SWITCHABLE_OUTCOMES,
    Choice,
    Examples,
    Field,
    Flag,
    Key,
    NamedValues,
    NameKind,
    Number,
    OrderedTexts,
    Schemas,
    Section,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
    fields_of,
)

_SEVERITIES = tuple(severity.value for severity in Severity)
_PARAMETERS = OrderedTexts()


class Limits(Section, frozen=True, kw_only=True):
    """How much of an input is looked at before size itself becomes the finding."""

    command_bytes: Annotated[
        int,
        Key(
            (
                "A command line longer than this is not parsed: its size is the finding. Long"
                " here-documents with a quoted delimiter do not count."
            ),
            Tighter.SMALLER,
            Number(1024, 1_048_576),
        ),
    ] = 8192
    content_bytes: Annotated[
        int,
        Key(
            "Content and parameters larger than this are not scanned: size is the finding.",
            Tighter.SMALLER,
            Number(1024, 16_777_216),
        ),
    ] = 1_048_576
    nesting: Annotated[
        int,
        Key(
            "How deep commands may stand inside commands before depth is the finding.",
            Tighter.SMALLER,
            Number(4, 64),
            more="Each `bash -c`, `$(...)` and the like is one step deeper.",
        ),
    ] = 24


class ToolAllowlist(Section, frozen=True, kw_only=True):
    """Which tools may be called at all: exact names, or globs where a `*` is written."""

    enabled: Annotated[
        bool, Key("Whether only the tools under `allow` may be called.", Tighter.TRUE, Flag())
    ] = False
    allow: Annotated[
        tuple[str, ...],
        Key(
            "The tools that may be called once the allow-list is enabled.",
            Tighter.FEWER,
            Texts(TextKind.GLOB),
            more=(
                'Exact names, or globs where a `*` is written: "Bash" is Bash and nothing'
                ' else, "mcp__github__*" is every tool of that server.'
            ),
            switch="tool-allowlist.enabled",
        ),
    ] = ()
    deny: Annotated[
        tuple[str, ...],
        Key(
            "The tools that may never be called, whether or not the allow-list is enabled.",
            Tighter.MORE,
            Texts(TextKind.GLOB),
            more="Written like `allow`.",
        ),
    ] = ()


class Carrier(Section, frozen=True, kw_only=True):
    """Which parameters of a tool carry a command or an edit.

    Parameter names are tried in order; the first one present counts, but of commands all do.
    `edits` names a list of objects with old and new text; `patch` names a whole patch as text;
    `path` without any of the others is a change whose text is not known. A tool that several
    carriers name carries what each of them says. `tools` holds exact names, or globs where a
    `*` is written.
    """

    tools: Annotated[
        tuple[str, ...],
        Field(
            "The tools this entry is about: names, or globs where a `*` is written.", _PARAMETERS
        ),
    ]
    command: Annotated[
        tuple[str, ...],
        Field("Parameters that hold a command line, as text or as a list of words.", _PARAMETERS),
    ] = ()
    cwd: Annotated[
        tuple[str, ...],
        Field(
            "Parameters that hold the working folder.",
            _PARAMETERS,
            needs=("command", "path", "edits", "patch"),
        ),
    ] = ()
    path: Annotated[
        tuple[str, ...], Field("Parameters that hold the path of an edit.", _PARAMETERS)
    ] = ()
    content: Annotated[
        tuple[str, ...],
        Field("Parameters that hold the text to be written.", _PARAMETERS, needs=("path",)),
    ] = ()
    old: Annotated[
        tuple[str, ...],
        Field("Parameters that hold the text to be replaced.", _PARAMETERS, needs=("path",)),
    ] = ()
    edits: Annotated[
        tuple[str, ...],
        Field("Parameters that hold a list of edits, each with old and new text.", _PARAMETERS),
    ] = ()
    patch: Annotated[
        tuple[str, ...], Field("Parameters that hold a whole patch as text.", _PARAMETERS)
    ] = ()


class Tools(Section, frozen=True, kw_only=True):
    """What a tool carries, and what its parameters must look like."""

    carriers: Annotated[
        tuple[Carrier, ...],
        Key(
            "Which parameters of a tool carry a command or an edit, to be judged as such.",
            Tighter.MORE,
            Tables(identity="tools", fields=fields_of(Carrier)),
            more=(
                "Names of parameters are tried in order and the first one present counts;"
                " of commands all count, alone and as one line. A tool that several"
                " entries name carries what each of them says. An entry with `path` alone"
                " is a change whose text is not known, such as the removal of a file. An"
                " entry with `tools` alone clears what the layers below say about those"
                " tools."
            ),
        ),
    ]
    schemas: Annotated[
        Mapping[str, Mapping[str, object]],
        Key(
            "JSON Schemas that the parameters of a tool must satisfy, by the tool's name.",
            Tighter.KEPT,
            Schemas(),
            example="""\
[tools.schemas.fetch]
type = "object"
required = ["url"]
properties.url = { type = "string", pattern = "^https://" }
""",
        ),
    ] = {}
    idempotent: Annotated[
        tuple[str, ...],
        Key(
            (
                "The tools of which a call that was answered before, with the same parameters"
                " in the same run, returns the recorded answer."
            ),
            Tighter.FEWER,
            Texts(TextKind.GLOB),
            more=(
                "The policy has to be the same as well, and a call that failed is never"
                " remembered. Exact names, or globs where a `*` is written."
            ),
        ),
    ] = ()


class DestructiveOps(Section, frozen=True, kw_only=True):
    """Which rule packs judge commands, and what counts as scratch."""

    enabled: Annotated[
        bool,
        Key(
            "Whether commands are judged by what they would destroy, send or run.",
            Tighter.TRUE,
            Flag(),
        ),
    ] = True
    unresolved: Annotated[
        str,
        Key(
            "The answer to a command that cannot be parsed or is only known at run time.",
            Tighter.STRONGER,
            Choice(SWITCHABLE_OUTCOMES),
            more=(
                '`$CMD -rf /` and `eval "$x"` are such commands. "off" lets them pass'
                " without a word."
            ),
            switch="destructive-ops.enabled",
        ),
    ] = "warn"
    scratch_folders: Annotated[
        tuple[str, ...],
        Key(
            "Folder names inside a project whose contents can be made again.",
            Tighter.FEWER,
            Texts(TextKind.GLOB),
            more="Removing them is no loss.",
            switch="destructive-ops.enabled",
        ),
    ]
    temp_folders: Annotated[
        tuple[str, ...],
        Key(
            "Folders outside of projects whose contents are temporary.",
            Tighter.FEWER,
            Texts(TextKind.GLOB),
            more="A variable stands for its value.",
            switch="destructive-ops.enabled",
        ),
    ]
    protected_branches: Annotated[
        tuple[str, ...],
        Key(
            "Git branches whose history belongs to more people than the agent.",
            Tighter.MORE,
            Texts(TextKind.GLOB),
            switch="destructive-ops.enabled",
        ),
    ] = ("main", "master", "trunk", "production", "release")
    packs: Annotated[
        Mapping[str, bool],
        Key(
            "Rule packs by name: `false` switches a pack off.",
            Tighter.TRUE,
            NamedValues(names=NameKind.PACK, value=Flag(), absent="on"),
            more="The catalogue of rules lists the packs.",
            example="git = false",
            switch="destructive-ops.enabled",
        ),
    ] = {}
    rules: Annotated[
        Mapping[str, str],
        Key(
            (
                "Single rules by id, with another decision than their own. With"
                " `allow-with-undo` a command goes ahead where everything that it touches"
                " could be copied away first; otherwise a person is asked."
            ),
            Tighter.STRONGER,
            NamedValues(
                names=NameKind.COMMAND_RULE,
                value=Choice(RULE_OUTCOMES),
                absent="the rule's own decision",
            ),
            more='"off" silences a rule.',
            example="""\
"git.push-force" = "block"
"filesystem.delete-recursive-forced" = "allow-with-undo"
""",
            switch="destructive-ops.enabled",
        ),
    ] = {}


class Secrets(Section, frozen=True, kw_only=True):
    """How credentials are looked for and what is let through."""

    enabled: Annotated[
        bool,
        Key(
            "Whether commands, parameters and content are searched for credentials.",
            Tighter.TRUE,
            Flag(),
        ),
    ] = True
    decision: Annotated[
        Decision,
        Key(
            "The answer to a credential.",
            Tighter.STRONGER,
            Choice(OUTCOMES),
            switch="secrets.enabled",
        ),
    ] = Decision.BLOCK
    allow: Annotated[
        tuple[str, ...],
        Key(
            "Patterns (RE2) of values that are no secrets here, such as test fixtures.",
            Tighter.FEWER,
            Texts(TextKind.PATTERN),
            switch="secrets.enabled",
        ),
    ] = ()
    fingerprint_key: Annotated[
        str,
        Key(
            "The key of the fingerprints by which findings tell one secret from another.",
            Tighter.USER_ONLY,
            Text(TextKind.HIDDEN),
            more=(
                "Without one, a finding names only the kind of the secret. `interlock"
                " init --user` writes a fresh key into the user's file, which nobody else"
                " should read."
            ),
        ),
    ] = ""
    rules: Annotated[
        Mapping[str, bool],
        Key(
            "Single kinds of credentials by id: `false` stops looking for one.",
            Tighter.TRUE,
            NamedValues(names=NameKind.SECRET_RULE, value=Flag(), absent="on"),
            switch="secrets.enabled",
        ),
    ] = {}

    def __repr__(self) -> str:
        """Leave the fingerprint key out: a policy may end up in a log."""
        return (
            f"Secrets(enabled={self.enabled!r}, decision={self.decision!r}, "
            f"rules={self.rules!r}, allow={self.allow!r})"
        )


class DiffSize(Section, frozen=True, kw_only=True):
    """When an edit is too large to be looked over."""

    enabled: Annotated[
        bool, Key("Whether the size of an edit is judged.", Tighter.TRUE, Flag())
    ] = True
    threshold: Annotated[
        int,
        Key(
            "The number of changed lines that still passes; one more is a finding.",
            Tighter.SMALLER,
            Number(1, 1_000_000),
            switch="diff-size.enabled",
        ),
    ] = 300
    decision: Annotated[
        Decision,
        Key(
            "The answer to an edit over the threshold.",
            Tighter.STRONGER,
            Choice(OUTCOMES),
            switch="diff-size.enabled",
        ),
    ] = Decision.WARN


class ProtectedPath(Section, frozen=True, kw_only=True):
    """A path that an agent must not write."""

    path: Annotated[
        str,
        Field(
            "A glob: `*` within a folder, `**` across folders, `~` for any home.",
            Text(TextKind.PLAIN),
        ),
    ]
    decision: Annotated[
        Decision,
        Field(
            "The answer to a write; `off` takes an entry of a layer below away.",
            Choice(SWITCHABLE_OUTCOMES),
        ),
    ]
    reason: Annotated[
        str,
        Field(
            "Why the path is protected, in the words that the finding will use.",
            Text(TextKind.PLAIN),
        ),
    ] = "the policy protects it"


class ProtectedPaths(Section, frozen=True, kw_only=True):
    """The paths an agent must not write to."""

    enabled: Annotated[
        bool, Key("Whether writes to protected paths are judged.", Tighter.TRUE, Flag())
    ] = True
    entries: Annotated[
        tuple[ProtectedPath, ...],
        Key(
            "The paths an agent must not write to; of all that match, the strictest counts.",
            Tighter.STRONGER,
            Tables(identity="path", fields=fields_of(ProtectedPath)),
            more=(
                "In a path, `*` is anything within a folder, `**` anything across"
                ' folders, `~` any home; `**/` in front means in any folder. "off" as the'
                " decision takes away an entry of a layer below."
            ),
            switch="protected-paths.enabled",
        ),
    ]


class Edits(Section, frozen=True, kw_only=True):
    """How exactly an edit must say what it replaces."""

    fuzzy_matches: Annotated[
        str,
        Key(
            "The answer to an edit whose text was found only by likeness.",
            Tighter.STRONGER,
            Choice(SWITCHABLE_OUTCOMES),
            more='"off" makes the edit all the same.',
        ),
    ] = "off"


class Undo(Section, frozen=True, kw_only=True):
    """How much is kept to put back."""

    limit_bytes: Annotated[
        int,
        Key(
            "How much may be copied away before an action so that it can be put back.",
            Tighter.SMALLER,
            Number(0, 1_099_511_627_776),
            more="In bytes.",
        ),
    ] = 67_108_864


class UserRule(Section, frozen=True, kw_only=True):
    """A condition in CEL that the user wrote, with its own tests."""

    id: Annotated[
        str,
        Field("The rule's name in findings; no other rule may have it.", Text(TextKind.RULE_ID)),
    ]
    when: Annotated[
        str,
        Field(
            "The condition, in CEL; a condition that fails to evaluate counts as true.",
            Text(TextKind.CONDITION),
        ),
    ]
    decision: Annotated[
        Decision,
        Field(
            "The answer where the condition holds; a rule can refuse, never allow.",
            Choice(OUTCOMES),
            instead="on_match",
        ),
    ] = Decision.REQUIRE_CONFIRMATION
    on_match: Annotated[
        str | None,
        Field(
            (
                "In place of a decision: it goes ahead where everything that it touches could"
                " be copied away first, otherwise a person is asked."
            ),
            Choice((ALLOW_WITH_UNDO,)),
        ),
    ] = msgspec.field(default=None, name="on_match")
    message: Annotated[str, Field("What the finding says.", Text(TextKind.PLAIN))]
    remediation: Annotated[
        str, Field("What the agent should do instead.", Text(TextKind.PLAIN))
    ] = ""
    severity: Annotated[
        Severity,
        Field(
            "How bad it is when the finding is right and the action happens anyway.",
            Choice(_SEVERITIES),
        ),
    ] = Severity.MEDIUM
    match: Annotated[
        tuple[str | Mapping[str, object], ...],
        Field("Actions that the condition must hold for.", Examples()),
    ] = ()
    not_match: Annotated[
        tuple[str | Mapping[str, object], ...],
        Field("Actions that the condition must not hold for.", Examples()),
    ] = msgspec.field(default=(), name="not_match")
