"""The policy as values: what is left once the layers are merged and read.

Each section is a struct whose fields are the keys of the file, with `-` for `_`. A key is said
once, by its field: type, bounds, default, meaning and which direction is stricter. A default that
is a long list stands in `defaults.toml` instead.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Literal

import msgspec

from interlock.errors import InputError, PolicyError
from interlock.policy.config.action_sections import (
    DestructiveOps,
    DiffSize,
    Edits,
    LedgerFile,
    Limits,
    ParameterNames,
    ProtectedPaths,
    Secrets,
    ToolAllowlist,
    ToolNames,
    Tools,
    Undo,
    UserRule,
)
from interlock.policy.config.complaints import as_clause, is_list, is_table
from interlock.policy.config.key import (
    MODES,
    PRESETS,
    Choice,
    Number,
    Section,
    SectionType,
    Tables,
    TextKind,
    Texts,
    Tighter,
    key,
    keys_of,
)
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.config.other_names import policy_in_our_names
from interlock.policy.config.run_sections import (
    Approvals,
    Budgets,
    Evaluators,
    Loops,
    Notifications,
    Reviews,
    Steps,
)
from interlock.policy.config.stop_section import Stops


class Layers(Section, title="Layers"):
    """What a project's file may loosen; read from the user's file only."""

    project_may_loosen: tuple[str, ...] = key(
        "The keys that a project's file may set more loosely than the layers below it.",
        Texts(TextKind.KEY_PATH, tighter=Tighter.USER_ONLY),
        default=(),
        more=(
            'Exact key paths, such as "diff-size.threshold" or'
            " 'destructive-ops.rules.\"git.push-force\"'; or a table with `.*` behind it"
            ' for everything in it, such as "destructive-ops.packs.*".'
        ),
    )


class Policy(Section):
    """The whole policy, merged."""

    version: int = key("The version of this format.", Number(1, 1, tighter=Tighter.FIXED))
    preset: Literal["observe", "balanced", "strict"] = key(
        "The settings that hold where no file says otherwise.",
        Choice(PRESETS),
        default="balanced",
        more=(
            '"observe" records what it would have done, and stops nothing that is not'
            ' critical; "balanced" is the default; "strict" is for unattended runs: what cannot be'
            " resolved, the network and installs ask a person."
        ),
    )
    mode: Literal["observe", "enforce"] = key(
        "Whether findings about actions are enforced, or only recorded.",
        Choice(MODES),
        default="enforce",
        more=(
            'In "observe" a finding says what it would have done. Critical findings, what a person'
            " has said and gates that break count all the same."
        ),
    )
    layers: Layers
    limits: Limits
    tool_allowlist: ToolAllowlist
    tools: Tools
    tool_names: ToolNames
    parameter_names: ParameterNames
    destructive_ops: DestructiveOps
    secrets: Secrets
    diff_size: DiffSize
    protected_paths: ProtectedPaths
    budgets: Budgets
    approvals: Approvals
    notifications: Notifications
    steps: Steps
    loops: Loops
    stops: Stops
    reviews: Reviews
    edits: Edits
    undo: Undo
    ledger: LedgerFile
    evaluators: Evaluators
    loop: SystemLoop
    rules: tuple[UserRule, ...] = key(
        "Your own rules, each with its own tests.",
        Tables(UserRule, identity="id"),
        more=(
            'A condition is written in CEL and may ask about `kind` ("command", "tool" or "edit"),'
            " `command`, `cwd`, `tool`, `params`, `path`, `content`, `diff_lines`, and what a"
            " command line was read as: `commands` (each with `program`, `subcommand`, `args`,"
            " `flags`, `operands`, `line`, `cwd`, `via`) and `effects` (each with `kind`, `target`,"
            " `recursive`)."
            ' A rule can refuse, never allow; with `on_match = "allow-with-undo"` in place of'
            " `decision` a person is asked only about what could not be copied away first. The"
            " examples are run whenever the policy is loaded and by `interlock policy test`."
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
    )


class Place(msgspec.Struct, frozen=True):
    """One place of a policy: what it holds, ready to be shown, and whose file said so."""

    path: str
    value: object
    origin: str
    """`default`, `user` or `project`."""


class MergedPolicy(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The policy that counts, and how it came about."""

    policy: Policy
    hash: str
    find_places: Callable[[], Iterable[Place]] = tuple
    """Asked by those who look at the policy; to judge by it, nobody needs to know."""
    find_user_level: "Callable[[], MergedPolicy] | None" = None
    """Finds the same without the project's layer, where it has one."""

    @cached_property
    def user_level(self) -> "MergedPolicy":
        """The policy as the user has it: what a project only tightens."""
        return self if self.find_user_level is None else self.find_user_level()

    @cached_property
    def stored(self) -> bytes:
        """The policy as ledgers store it: each asks for it when it is opened."""
        return stored_bytes(self.policy)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Every place, in the order of the key table."""
        return tuple(self.find_places())

    @cached_property
    def origins(self) -> Mapping[str, str]:
        """Whose file set each place."""
        return {place.path: place.origin for place in self.places}

    def __repr__(self) -> str:
        """Leave out how the places are found: the fingerprint key stands there."""
        return f"MergedPolicy(policy={self.policy!r}, hash={self.hash!r})"


KEYS = tuple(keys_of(Policy))
"""Every key of the policy file, in the order of its fields."""

KEY_BY_PATH = {key.path: key for key in KEYS}

SECTIONS = {
    field.replace("_", "-"): kind.title
    for field, kind in Policy.__annotations__.items()
    if isinstance(kind, SectionType)
}
"""The tables of the file, in the order of the keys, each with what it is about."""

PROFILE_KEYS = tuple(key for key in KEYS if key.seed is not None)
"""What a profile has a value for."""


def stored_bytes(policy: Policy) -> bytes:
    """Return the policy as canonical JSON, without the fingerprint key: nobody may find it there.

    Two policies that differ in nothing else have the same bytes, but not the same hash.
    """
    secrets = msgspec.structs.replace(policy.secrets, fingerprint_key="")
    return canonical_bytes(msgspec.structs.replace(policy, secrets=secrets))


def policy_from_stored(body: bytes, defaults: Policy) -> Policy:
    """Return the policy that was stored, with no fingerprint key; raise where it is none.

    What was not a key yet when it was stored is as the defaults have it; patterns of secrets had
    no names once.
    """
    try:
        kept, _ = policy_in_our_names(msgspec.json.decode(body, type=dict[str, object]))
        every = msgspec.json.decode(stored_bytes(defaults), type=dict[str, object])
        return msgspec.convert(_completed(kept, every), Policy)
    except (ValueError, RecursionError, InputError) as error:
        raise PolicyError([f"stored policy: cannot be read: {as_clause(str(error))}"]) from error


def _completed(kept: dict[str, object], defaults: dict[str, object]) -> dict[str, object]:
    """Return every section with every key; what stands outside of sections is never made up."""
    sections = {name: section for name, section in defaults.items() if is_table(section)}
    return kept | {
        name: {**section, **own} if is_table(own := kept.get(name, {})) else own
        for name, section in sections.items()
    }


def canonical_bytes(policy: Policy) -> bytes:
    """Return the policy as JSON with sorted keys: the same bytes in every process."""
    # Encoding once and reading it back leaves nothing but what JSON knows: no tuple, no enum.
    plain = msgspec.json.decode(msgspec.json.encode(policy), type=dict[str, object])
    literal = {
        name: _with_literal_fractions(section) if _has_fraction(section) else section
        for name, section in plain.items()
    }
    return msgspec.json.encode(literal, order="sorted")


def _has_fraction(section: object) -> bool:
    return re.search(rb"\d[.eE]", msgspec.json.encode(section)) is not None


def _with_literal_fractions(value: object) -> object:
    """Write fractions as Python does: other encoders disagree on their last digits."""
    if is_table(value):
        return {name: _with_literal_fractions(item) for name, item in value.items()}
    if is_list(value):
        return [_with_literal_fractions(item) for item in value]
    return msgspec.Raw(repr(value).encode()) if isinstance(value, float) else value
