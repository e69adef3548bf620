"""The policy as values: what is left once the layers are merged and read.

Field names are the keys of the TOML file with `-` for `_`; `defaults.toml` beside this
file gives every field its default and says in words what it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from interlock.model.review import ReviewMode
from interlock.model.verdict import Decision, Severity


class _Section(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True
):
    pass


class Limits(_Section, frozen=True, kw_only=True):
    """How much of an input is looked at before size itself becomes the finding."""

    command_bytes: int
    content_bytes: int
    nesting: int


class ToolAllowlist(_Section, frozen=True, kw_only=True):
    """Which tools may be called at all: exact names, or globs where a `*` is written."""

    enabled: bool
    allow: tuple[str, ...]
    deny: tuple[str, ...]


class Carrier(_Section, frozen=True, kw_only=True):
    """Which parameters of a tool carry a command or an edit.

    Parameter names are tried in order; the first one present counts, but of commands all do.
    `edits` names a list of objects with old and new text; `patch` names a whole patch as text;
    `path` without any of the others is a change whose text is not known. A tool that several
    carriers name carries what each of them says. `tools` holds exact names, or globs where a
    `*` is written.
    """

    tools: tuple[str, ...]
    command: tuple[str, ...] = ()
    cwd: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    content: tuple[str, ...] = ()
    old: tuple[str, ...] = ()
    edits: tuple[str, ...] = ()
    patch: tuple[str, ...] = ()


class Tools(_Section, frozen=True, kw_only=True):
    """What a tool carries, and what its parameters must look like."""

    carriers: tuple[Carrier, ...]
    schemas: Mapping[str, Mapping[str, object]]
    idempotent: tuple[str, ...]
    """Tools whose repeated identical call returns the recorded answer: names or globs."""


class DestructiveOps(_Section, frozen=True, kw_only=True):
    """Which rule packs judge commands, and what counts as scratch."""

    enabled: bool
    packs: Mapping[str, bool]
    rules: Mapping[str, str]
    """Rule id to `off`, `warn`, `allow-with-undo`, `require-confirmation` or `block`."""
    unresolved: str
    """The answer to a command that is known only at run time: `off` or a decision."""
    scratch_folders: tuple[str, ...]
    temp_folders: tuple[str, ...]
    protected_branches: tuple[str, ...]


class Secrets(_Section, frozen=True, kw_only=True):
    """How credentials are looked for and what is let through."""

    enabled: bool
    decision: Decision
    rules: Mapping[str, bool]
    allow: tuple[str, ...]
    """Patterns (RE2) of values that are not secrets here."""
    fingerprint_key: str

    def __repr__(self) -> str:
        """Leave the fingerprint key out: a policy may end up in a log."""
        return (
            f"Secrets(enabled={self.enabled!r}, decision={self.decision!r}, "
            f"rules={self.rules!r}, allow={self.allow!r})"
        )


class DiffSize(_Section, frozen=True, kw_only=True):
    """When an edit is too large to be looked over."""

    enabled: bool
    threshold: int
    decision: Decision


class ProtectedPath(_Section, frozen=True, kw_only=True):
    """A path that an agent must not write."""

    path: str
    """A glob: `*` within a folder, `**` across folders, `~` for any home."""
    decision: Decision
    reason: str = "the policy protects it"


class ProtectedPaths(_Section, frozen=True, kw_only=True):
    """The paths an agent must not write to."""

    enabled: bool
    entries: tuple[ProtectedPath, ...]


class Price(_Section, frozen=True, kw_only=True):
    """What a million tokens of a model cost, in millionths of a US dollar."""

    model: str
    input_micro_usd: int = msgspec.field(name="input-usd")
    output_micro_usd: int = msgspec.field(name="output-usd")


class Budgets(_Section, frozen=True, kw_only=True):
    """What may be spent, by whom.

    The four scopes map the name of a dimension to its limit, which is the last amount that is
    still admitted: seconds under `wall-time-s`, millionths of a US dollar under `cost-usd`. A
    dimension that is absent has no limit.
    """

    lease_seconds: int
    unpriced: str
    """The answer where a cost is limited and not known: `off` or a decision."""
    run: Mapping[str, int]
    tree: Mapping[str, int]
    agent: Mapping[str, int]
    project_day: Mapping[str, int]
    prices: tuple[Price, ...]


class ReviewGateEntry(_Section, frozen=True, kw_only=True, omit_defaults=True):
    """One demand on finished work."""

    id: str
    criteria: tuple[str, ...] = ()
    severity: Severity | None = None
    mode: ReviewMode | None = None
    """What the severity says where it is absent; without either the gate blocks."""
    max_attempts: int | None = None
    improvement_hints: bool = True
    preserve_context: bool = True
    check: tuple[str, ...] | None = None
    """A program and its arguments, given to no shell."""
    timeout_seconds: int | None = None


class Reviews(_Section, frozen=True, kw_only=True):
    """What finished work is held against, and by what limits."""

    max_attempts: int
    max_resets: int
    most_hints: int
    check_timeout_seconds: int
    check_tail_bytes: int
    check_environment: tuple[str, ...]
    """Names of variables, or globs where a `*` is written."""
    completion: tuple[str, ...]
    """The ids of the gates whose checks must pass before a run may finish."""
    gates: tuple[ReviewGateEntry, ...]


class Edits(_Section, frozen=True, kw_only=True):
    """How exactly an edit must say what it replaces."""

    fuzzy_matches: str
    """The answer to an edit whose text was found only by likeness: `off` or a decision."""


class Undo(_Section, frozen=True, kw_only=True):
    """How much is kept to put back."""

    limit_bytes: int


class Approvals(_Section, frozen=True, kw_only=True):
    """How people are asked."""

    expires_seconds: int


class Steps(_Section, frozen=True, kw_only=True):
    """When a run is stopped, paused, slowed down and saved."""

    max_consecutive: int
    max_total: int | None = None
    """No limit where it is absent."""
    checkpoint_interval: int
    checkpoint_command: str
    """`git`, `none`, or a command line that is split into words and given to no shell."""
    min_coherence_percent: int
    read_only_below_percent: int
    restricted_below_percent: int
    max_rework_percent: int
    max_uncertainty_percent: int
    max_slope_percent: int
    delay_ms: int
    max_delay_ms: int
    cooldown_ms: int


class Loops(_Section, frozen=True, kw_only=True):
    """When a run goes round in circles."""

    volatile_arguments: tuple[str, ...]
    """Names of arguments, or globs where a `*` is written."""
    polling_tools: tuple[str, ...]
    """Names of tools, or globs where a `*` is written."""
    pause_repeats: int
    stop_repeats: int
    patience: int
    pause_score_percent: int


class Stops(_Section, frozen=True, kw_only=True):
    """What speaks for it that an agent that ends its turn should go on.

    Everything is written out: what no file set is what the profile said when it was merged.
    """

    profile: Literal["default", "seed"]
    credit: int
    warn_at: int
    continue_at: int
    max_retries: int
    points_tool_calls: int
    points_no_finish_reason: int
    points_last_event: int
    points_intent: int
    points_vague_intent: int
    points_no_summary: int
    points_tool_ratio: int
    points_open_todo: int
    points_failing_check: int
    points_pending_review: int
    points_untouched_file: int
    continue_phrases: tuple[str, ...]
    completion_phrases: tuple[str, ...]
    summary_phrases: tuple[str, ...]
    awaiting_phrases: tuple[str, ...]
    models: Mapping[str, Mapping[str, int | tuple[str, ...]]]
    """By the name of a model, or a glob where a `*` is written: the keys that differ for it."""


class Evaluators(_Section, frozen=True, kw_only=True):
    """What a finished run must not have done."""

    max_violations: int
    max_rework_percent: int
    forbidden_commands: tuple[str, ...]
    """Patterns (RE2)."""
    forbidden_dependencies: tuple[str, ...]
    """Names of packages, or globs where a `*` is written."""


class UserRule(_Section, frozen=True, kw_only=True):
    """A condition in CEL that the user wrote, with its own tests."""

    id: str
    when: str
    decision: Decision = Decision.REQUIRE_CONFIRMATION
    on_match: str | None = msgspec.field(default=None, name="on_match")
    """`allow-with-undo`: no person needs to be asked about what can be put back."""
    message: str
    remediation: str = ""
    severity: Severity = Severity.MEDIUM
    match: tuple[str | Mapping[str, object], ...] = ()
    not_match: tuple[str | Mapping[str, object], ...] = msgspec.field(default=(), name="not_match")


class Layers(_Section, frozen=True, kw_only=True):
    """What a project's file may loosen; read from the user's file only."""

    project_may_loosen: tuple[str, ...]


class Policy(_Section, frozen=True, kw_only=True):
    """The whole policy, merged."""

    version: int
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
    rules: tuple[UserRule, ...]
