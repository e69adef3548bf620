"""The policy as values: what is left once the layers are merged and read.

Each section is a struct whose fields are the keys of the file, with `-` for `_`. A key is said
once, by its field: type, bounds, default, meaning and which direction is stricter. A default that
is a long list stands in `defaults.toml` instead.
"""

from typing import Annotated

from interlock.policy.config.action_sections import (
    DestructiveOps,
    DiffSize,
    Edits,
    Limits,
    ProtectedPaths,
    Secrets,
    ToolAllowlist,
    Tools,
    Undo,
    UserRule,
)
from interlock.policy.config.key import (
    Key,
    Number,
    Section,
    Tables,
    TextKind,
    Texts,
    Tighter,
    fields_of,
    keys_of,
)
from interlock.policy.config.review_section import Reviews
from interlock.policy.config.run_sections import Approvals, Budgets, Evaluators, Loops, Steps
from interlock.policy.config.stop_section import Stops


class Layers(Section, frozen=True, kw_only=True):
    """What a project's file may loosen; read from the user's file only."""

    project_may_loosen: Annotated[
        tuple[str, ...],
        Key(
            "The keys that a project's file may set more loosely than the layers below it.",
            Tighter.USER_ONLY,
            Texts(TextKind.KEY_PATH),
            more=(
                'Exact key paths, such as "diff-size.threshold" or'
                " 'destructive-ops.rules.\"git.push-force\"'; or a table with `.*` behind it"
                ' for everything in it, such as "destructive-ops.packs.*".'
            ),
        ),
    ] = ()


class Policy(Section, frozen=True, kw_only=True):
    """The whole policy, merged."""

    version: Annotated[
        int, Key("The version of this format.", Tighter.FIXED, Number(1, 1), default=1)
    ]
    layers: Layers
    limits: Limits
    tool_allowlist: ToolAllowlist
    tools: Tools
    destructive_ops: DestructiveOps
    secrets: Secrets
    diff_size: DiffSize
    protected_paths: ProtectedPaths
    budgets: Budgets
    approvals: Approvals
    steps: Steps
    loops: Loops
    stops: Stops
    reviews: Reviews
    edits: Edits
    undo: Undo
    evaluators: Evaluators
    rules: Annotated[
        tuple[UserRule, ...],
        Key(
            "Your own rules, each with its own tests.",
            Tighter.KEPT,
            Tables(identity="id", fields=fields_of(UserRule)),
            more=(
                'A condition is written in CEL and may ask about `kind` ("command",'
                ' "tool" or "edit"), `command`, `cwd`, `tool`, `params`, `path`,'
                " `content`, `diff_lines`, and what a command line was read as: `commands`"
                " (each with `program`, `args`, `flags`, `operands`, `line`, `via`) and"
                " `effects` (each with `kind`, `target`, `recursive`). A rule can refuse,"
                ' never allow; with `on_match = "allow-with-undo"` in place of `decision`'
                " a person is asked only about what could not be copied away first. The"
                " examples are run whenever the policy is loaded and by `interlock policy"
                " test`."
            ),
            example="""\
[[rules]]
id = "no-deploys"
when = 'commands.exists(c, c.program == "make" && "deploy" in c.args)'
decision = "require-confirmation"
message = "deploys need a person"
remediation = "ask for the deploy to be done"
match = ["make deploy", "cd app && make -j4 deploy"]
not_match = ["make test", "echo make deploy", { tool = "Read", params = { path = "Makefile" } }]
""",
            default=(),
        ),
    ]


KEYS = tuple(keys_of(Policy))
"""Every key of the policy file, in the order of its fields."""

KEY_BY_PATH = {key.path: key for key in KEYS}

SECTIONS = tuple(dict.fromkeys(key.section for key in KEYS if key.section))
"""The tables of the file, in the order of the keys."""

PROFILE_KEYS = tuple(key for key in KEYS if key.seed is not None)
"""What a profile has a value for."""

TITLES = {
    "layers": "Layers",
    "limits": "Limits",
    "tool-allowlist": "Which tools may be called at all",
    "tools": "What tools carry",
    "destructive-ops": "Commands that destroy, overwrite, send away or run what is not known",
    "secrets": "Credentials",
    "diff-size": "The size of an edit",
    "protected-paths": "Paths that an agent must not write",
    "budgets": "What may be spent",
    "approvals": "Questions to people",
    "steps": "When a run is stopped, paused, slowed down and saved",
    "loops": "When a run goes round in circles",
    "stops": "Whether an agent that ends its turn is really done",
    "reviews": "Whether finished work is good enough",
    "edits": "How exactly an edit must say what it replaces",
    "undo": "What is kept to put back",
    "evaluators": "What a finished run is measured by",
    "rules": "Your own rules",
}
"""What each section is about, as a heading of the default policy."""
