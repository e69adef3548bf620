"""What the policy file says about single actions: each field is a key."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec.structs import replace

from interlock.model.verdict import Decision, Severity
from interlock.policy.config.key import (
    ALLOW_WITH_UNDO,
    MODES,
    MOST_PATTERNS,
    OUTCOMES,
    RULE_OUTCOMES,
    SWITCHABLE_OUTCOMES,
    Choice,
    Examples,
    Flag,
    NamedValues,
    NameKind,
    Number,
    Schemas,
    Section,
    Tables,
    Text,
    TextKind,
    Texts,
    Tighter,
    key,
)

_SEVERITIES = tuple(severity.value for severity in Severity)
_PARAMETERS = Texts(TextKind.GLOB, is_ordered=True)
_WORDS_OF_NAMES = Texts(TextKind.GLOB, tighter=Tighter.MORE)


class Limits(Section, title="Limits"):
    """How much of an input is looked at before size itself becomes the finding."""

    command_bytes: int = key(
        (
            "The longest command line that is parsed, in bytes; a longer one is a finding. Long"
            " here-documents with a quoted delimiter do not count."
        ),
        Number(1024, 1_048_576, tighter=Tighter.SMALLER),
        default=8192,
    )
    content_bytes: int = key(
        "The largest content that is scanned, in bytes; a larger one is a finding.",
        Number(1024, 16_777_216, tighter=Tighter.SMALLER),
        default=1_048_576,
    )
    nesting: int = key(
        "How deep commands may be nested inside commands; deeper ones are a finding.",
        Number(4, 64, tighter=Tighter.SMALLER),
        default=24,
        more="Each `bash -c`, `$(...)`, `env` before a command and the like is one level deeper.",
    )


class ToolAllowlist(Section, title="Which tools may be called at all"):
    """Which tools may be called at all: exact names, or globs where a `*` is written."""

    enabled: bool = key(
        "Whether only the tools under `allow` may be called.", Flag(), default=False
    )
    allow: tuple[str, ...] = key(
        "The tools that may be called once the allow-list is enabled.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
        default=(),
        more=(
            'Exact names, or globs where a `*` is written: "Bash" is Bash and nothing'
            ' else, "mcp__github__*" is every tool of that server.'
        ),
    )
    deny: tuple[str, ...] = key(
        "The tools that may never be called, whether or not the allow-list is enabled.",
        Texts(TextKind.GLOB, tighter=Tighter.MORE),
        default=(),
        more="Written like `allow`.",
        is_always_on=True,
    )


class Carrier(Section):
    """Which parameters of a tool carry a command or an edit.

    Parameter names are tried in order; the first one present counts, but of commands all do.
    `edits` names a list of objects with old and new text; `patch` names a whole patch as text;
    `path` without any of the others is a change whose text is not known. A tool that several
    carriers name carries what each of them says. `tools` holds exact names, or globs where a
    `*` is written.
    """

    tools: tuple[str, ...] = key(
        "The tools this entry is about: names, or globs where a `*` is written.", _PARAMETERS
    )
    command: tuple[str, ...] = key(
        "Parameters that hold a command line, as text or as a list of words.",
        _PARAMETERS,
        default=(),
    )
    cwd: tuple[str, ...] = key(
        "Parameters that hold the working folder.",
        _PARAMETERS,
        default=(),
        needs=("command", "path", "edits", "patch"),
    )
    path: tuple[str, ...] = key(
        "Parameters that hold the path of an edit.", _PARAMETERS, default=()
    )
    content: tuple[str, ...] = key(
        "Parameters that hold the text to be written.", _PARAMETERS, default=(), needs=("path",)
    )
    old: tuple[str, ...] = key(
        "Parameters that hold the text to be replaced.", _PARAMETERS, default=(), needs=("path",)
    )
    edits: tuple[str, ...] = key(
        "Parameters that hold a list of edits, each with old and new text.", _PARAMETERS, default=()
    )
    patch: tuple[str, ...] = key(
        "Parameters that hold a whole patch as text.", _PARAMETERS, default=()
    )


def carriers_by_tool(carriers: Iterable[Carrier]) -> dict[str, frozenset[Carrier]]:
    """Return everything that carriers say about each tool."""
    carried: dict[str, set[Carrier]] = {}
    for carrier in carriers:
        for tool in carrier.tools:
            carried.setdefault(tool, set()).add(replace(carrier, tools=()))
    return {tool: frozenset(own) for tool, own in carried.items()}


class Tools(Section, title="Which parameters hold commands and edits"):
    """What a tool carries, and what its parameters must look like."""

    carriers: tuple[Carrier, ...] = key(
        "Which parameters of a tool carry a command or an edit, to be judged as such.",
        Tables(Carrier, identity="tools", tighter=Tighter.MORE),
        more=(
            "Names of parameters are tried in order and the first one present counts; of commands"
            " all count, alone and as one line. A tool that several entries name carries what each"
            " of them says. An entry with `path` alone is a change whose text is not known, such"
            " as the removal of a file. An entry with `tools` alone clears what the layers below"
            " say about those tools."
        ),
    )
    schemas: Mapping[str, Mapping[str, object]] = key(
        "JSON Schemas that the parameters of a tool must satisfy, by the tool's name.",
        Schemas(),
        default={},
        example="""\
[tools.schemas.fetch]
type = "object"
required = ["url"]
properties.url = { type = "string", pattern = "^https://" }
""",
    )
    idempotent: tuple[str, ...] = key(
        (
            "Tools that are safe to repeat: the same call in the same run returns the recorded"
            " answer."
        ),
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
        default=(),
        more=(
            "The policy has to be the same as well, and a call that failed is never"
            " remembered. Exact names, or globs where a `*` is written."
        ),
    )


class ToolNames(Section, title="What the name of a tool says"):
    """The words by which a tool's name tells what it does."""

    runs: tuple[str, ...] = key(
        "Words in the names of tools that run commands, code or statements.",
        _WORDS_OF_NAMES,
        more=(
            "Any text that such a tool is given may be a command. Names are read as words, whatever"
            " their case and whatever stands between them."
        ),
    )
    queries: tuple[str, ...] = key(
        "Words in the names of tools that query a database.", _WORDS_OF_NAMES
    )
    writes: tuple[str, ...] = key(
        "Words in the names of tools that write, move or remove.",
        _WORDS_OF_NAMES,
        more="The paths that such a tool is given count as written.",
    )
    files: tuple[str, ...] = key(
        "Words in tool names that mean files; a tool that writes them must name the path.",
        _WORDS_OF_NAMES,
    )
    acts: tuple[str, ...] = key(
        "Words in the names of tools whose calls do not show how much they do.", _WORDS_OF_NAMES
    )
    stores: tuple[str, ...] = key(
        "Words for large stores, such as a bucket: deleting one deletes an unknown amount.",
        _WORDS_OF_NAMES,
    )
    reads: tuple[str, ...] = key(
        "First words of the names of tools that only read, wait or stop.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
    )
    opaque: str = key(
        (
            "The decision about a tool that runs or writes by its name, but whose parameters"
            " cannot be understood."
        ),
        Choice(SWITCHABLE_OUTCOMES),
        default="require-confirmation",
        more='"off" allows such calls silently.',
    )
    trusted: tuple[str, ...] = key(
        "Tools that `opaque` does not apply to: exact names, or globs where a `*` is written.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
        default=(),
    )


class ParameterNames(Section, title="What the name of a parameter says"):
    """The names under which tools are given what they run and write.

    A name counts by all of its words together, or by its last one, whatever their case and
    whatever stands between them.
    """

    command: tuple[str, ...] = key("Names of parameters that hold command lines.", _WORDS_OF_NAMES)
    arguments: tuple[str, ...] = key(
        "Names of parameters that hold the arguments of a program or another tool.", _WORDS_OF_NAMES
    )
    code: tuple[str, ...] = key("Names of parameters that hold code.", _WORDS_OF_NAMES)
    query: tuple[str, ...] = key(
        "Names of parameters that hold database statements.", _WORDS_OF_NAMES
    )
    path: tuple[str, ...] = key("Names of parameters that hold paths.", _WORDS_OF_NAMES)
    content: tuple[str, ...] = key(
        "Names of parameters that hold the text to write.", _WORDS_OF_NAMES
    )
    patch: tuple[str, ...] = key("Names of parameters that hold patches.", _WORDS_OF_NAMES)
    data: tuple[str, ...] = key(
        "Names of parameters that hold prose, patterns or content: never read as commands.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
    )


class DestructiveOps(
    Section, title="Commands that destroy, overwrite, send away or run what is not known"
):
    """Which rule packs judge commands, and what counts as scratch."""

    enabled: bool = key(
        "Whether commands are checked for what they would destroy, send or run.",
        Flag(),
        default=True,
    )
    unresolved: str = key(
        "The decision about a command that cannot be parsed or is only known at run time.",
        Choice(SWITCHABLE_OUTCOMES),
        default="warn",
        more=('`$CMD -rf /` and `eval "$x"` are such commands. "off" allows them silently.'),
    )
    scratch_folders: tuple[str, ...] = key(
        "Names of folders in a project whose contents can be generated again.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
        more="Deleting them is allowed.",
    )
    temp_folders: tuple[str, ...] = key(
        "Folders outside of projects whose contents are temporary.",
        Texts(TextKind.GLOB, tighter=Tighter.FEWER),
        more="Environment variables are replaced by their values.",
    )
    protected_branches: tuple[str, ...] = key(
        "Git branches that others share: rewriting or deleting them is stricter.",
        Texts(TextKind.GLOB, tighter=Tighter.MORE),
        default=("main", "master", "trunk", "production", "release"),
    )
    accepted_commands: tuple[str, ...] = key(
        "Commands that a person accepted for good: they warn instead of asking.",
        Texts(TextKind.PLAIN, tighter=Tighter.FEWER),
        default=(),
        more=(
            "Each exactly as the agent sends it, with its folder where that is known:"
            " `cd FOLDER && COMMAND`. Rules that deny, and other gates, still apply."
            " `interlock approve --always` prints such a line."
        ),
        example='accepted-commands = ["cd /home/ada/web && git push --force origin topic"]',
    )
    packs: Mapping[str, bool] = key(
        "Rule packs by name: `false` switches a pack off.",
        NamedValues(names=NameKind.PACK, value=Flag(), absent="on"),
        default={},
        more="The catalogue of rules lists the packs.",
        example="git = false",
    )
    rules: Mapping[str, str] = key(
        (
            "Single rules by id, with another decision than their own. With"
            " `allow-with-undo` a command goes ahead where everything that it touches"
            " could be copied away first; otherwise a person is asked."
        ),
        NamedValues(
            names=NameKind.COMMAND_RULE,
            value=Choice(RULE_OUTCOMES),
            absent="the rule's own decision",
        ),
        default={},
        more=(
            '"off" switches a rule off; "observe" records and tells what it matches, with what it'
            " would have done, and stops nothing."
        ),
        example="""\
"git.push-force" = "block"
"filesystem.delete-recursive-forced" = "allow-with-undo"
""",
    )


class OwnSecret(Section):
    """What a policy calls a secret, besides the built-in kinds."""

    pattern: str = key("A pattern in RE2 syntax.", Text(TextKind.PATTERN))
    name: str = key(
        "What it is in words, with the article; a finding says it.",
        Text(TextKind.PLAIN),
        default="what the policy calls a secret",
    )


class Secrets(Section, title="Credentials"):
    """How credentials are looked for and what is let through."""

    enabled: bool = key(
        "Whether commands, parameters and content are searched for credentials.",
        Flag(),
        default=True,
    )
    decision: Decision = key(
        "The decision about a credential.", Choice(OUTCOMES), default=Decision.BLOCK
    )
    allow: tuple[str, ...] = key(
        "Patterns (RE2) of values that are not secrets, such as test fixtures.",
        Texts(TextKind.PATTERN, tighter=Tighter.FEWER),
        default=(),
    )
    patterns: tuple[OwnSecret, ...] = key(
        "Secrets of your own, besides the built-in kinds.",
        Tables(OwnSecret, identity="pattern", most=MOST_PATTERNS),
        default=(),
        more=(
            "Looked for in commands, parameters and content, and kept out of everything that is"
            " recorded. Where a pattern has a group, that is the secret. A list of patterns alone,"
            ' `patterns = ["ACME-[0-9A-F]{16}"]` under `[secrets]`, says the same without names.'
        ),
        example="""\
[[secrets.patterns]]
pattern = "ACME-[0-9A-F]{16}"
name = "a badge of ours"
""",
    )
    fingerprint_key: str = key(
        "The key for fingerprints, by which findings tell one secret from another.",
        Text(TextKind.HIDDEN, tighter=Tighter.USER_ONLY),
        default="",
        more=(
            "Without one, a finding names only the kind of the secret. `interlock init --user`"
            " writes a fresh key into the user's file; keep that file private."
        ),
    )
    rules: Mapping[str, bool] = key(
        "Single kinds of credentials by id: `false` stops looking for one.",
        NamedValues(names=NameKind.SECRET_RULE, value=Flag(), absent="on"),
        default={},
    )

    def __repr__(self) -> str:
        """Leave the fingerprint key out: a policy may end up in a log."""
        return "Secrets(enabled="


class DiffSize(Section, title="The size of an edit"):
    """When an edit is too large to be looked over."""

    enabled: bool = key("Whether the size of edits is checked.", Flag(), default=True)
    threshold: int = key(
        "The largest edit that is allowed, in changed lines; one line more is a finding.",
        Number(1, 1_000_000, tighter=Tighter.SMALLER),
        default=300,
    )
    decision: Decision = key(
        "The decision about an edit over the threshold.", Choice(OUTCOMES), default=Decision.WARN
    )


class ProtectedPath(Section):
    """A path that an agent must not write."""

    path: str = key(
        "A glob: `*` within a folder, `**` across folders, `~` for any home.", Text(TextKind.PLAIN)
    )
    decision: Decision = key(
        "The decision about a write; `off` removes an entry of a layer below.",
        Choice(SWITCHABLE_OUTCOMES),
    )
    reason: str = key(
        "Why the path is protected; the finding says it.",
        Text(TextKind.PLAIN),
        default="the policy protects it",
    )


class ProtectedPaths(Section, title="Paths that an agent must not write"):
    """The paths an agent must not write to."""

    enabled: bool = key("Whether writes to protected paths are checked.", Flag(), default=True)
    entries: tuple[ProtectedPath, ...] = key(
        "The paths an agent must not write to; of all that match, the strictest decision counts.",
        Tables(ProtectedPath, identity="path", tighter=Tighter.STRONGER),
        more=(
            "In a path, `*` is anything within a folder, `**` anything across"
            ' folders, `~` any home; `**/` in front means in any folder. "off" as the'
            " decision removes an entry of a layer below."
        ),
    )


class Edits(Section, title="How exactly an edit must say what it replaces"):
    """How exactly an edit must say what it replaces."""

    fuzzy_matches: str = key(
        "The decision about an edit whose old text matched only approximately.",
        Choice(SWITCHABLE_OUTCOMES),
        default="off",
        more='"off" applies the edit.',
    )


class Undo(Section, title="What is copied for undo"):
    """How much is kept to put back."""

    limit_bytes: int = key(
        "The most that is copied before an action so that it can be undone.",
        Number(0, 1_099_511_627_776, tighter=Tighter.SMALLER),
        default=67_108_864,
        more="In bytes.",
    )


class LedgerFile(Section, title="The ledger's file"):
    """How a ledger in a file is kept."""

    checkpoint_pages: int = key(
        "After this many pages SQLite moves the write-ahead file into the ledger's file.",
        Number(1, 1_000_000, tighter=Tighter.USER_ONLY),
        default=1000,
        more="A page has 4 KiB: 1000 keep the write-ahead file at about 4 MB.",
    )
    keep_days: int | None = key(
        "A server archives runs that ended more than this many days ago.",
        Number(1, 36_500, tighter=Tighter.USER_ONLY),
        default=None,
        absent="never",
        example="keep-days = 90",
        more="In the user's file only; `interlock ledger archive` does the same on demand.",
    )
    archive_folder: str | None = key(
        "The folder that a server writes archives to.",
        Text(TextKind.PLAIN, tighter=Tighter.USER_ONLY),
        default=None,
        absent="`archives`, beside the ledger's file",
        example='archive-folder = "/srv/interlock/archives"',
        more="In the user's file only; a ledger in Postgres needs one.",
    )


class UserRule(Section):
    """A condition in CEL that the user wrote, with its own tests."""

    id: str = key("The rule's name in findings; no other rule may have it.", Text(TextKind.RULE_ID))
    when: str = key(
        "The condition, in CEL; a condition that fails to evaluate counts as true.",
        Text(TextKind.CONDITION),
    )
    decision: Decision = key(
        "The answer where the condition holds; a rule can refuse, never allow.",
        Choice(OUTCOMES),
        default=Decision.REQUIRE_CONFIRMATION,
        instead="on_match",
    )
    on_match: str | None = key(
        (
            "In place of a decision: it goes ahead where everything that it touches could"
            " be copied away first, otherwise a person is asked."
        ),
        Choice((ALLOW_WITH_UNDO,)),
        default=None,
        name="on_match",
    )
    mode: Literal["observe", "enforce"] = key(
        (
            "`observe` tries a rule out: what it matches is recorded and told, with what it would"
            " have done, and goes ahead."
        ),
        Choice(MODES),
        default="enforce",
    )
    message: str = key("What the finding says.", Text(TextKind.PLAIN))
    remediation: str = key("What the agent should do instead.", Text(TextKind.PLAIN), default="")
    severity: Severity = key(
        "How bad it is when the finding is right and the action happens anyway.",
        Choice(_SEVERITIES),
        default=Severity.MEDIUM,
    )
    match: tuple[str | Mapping[str, object], ...] = key(
        "Actions that the condition must hold for.", Examples(), default=()
    )
    not_match: tuple[str | Mapping[str, object], ...] = key(
        "Actions that the condition must not hold for.", Examples(), default=(), name="not_match"
    )
