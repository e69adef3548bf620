"""Rule packs: what makes a command dangerous, as data."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from interlock.commands.programs import places
from interlock.commands.shell import provenance
from interlock.commands.shell.command import EffectKind
from interlock.commands.values import addresses
from interlock.model.verdict import Decision, Severity
from interlock.policy.actions.service_grammar import Grammar


class Rule(msgspec.Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """One rule: when it speaks, what it says, and the examples that test it.

    Conditions of different kinds must all hold; within one kind, one of the list suffices.
    """

    id: str
    reason: str
    remediation: str
    match: tuple[str, ...]
    not_match: tuple[str, ...] = ()
    worded: Mapping[str, tuple[str, str]] = msgspec.field(
        default_factory=dict[str, tuple[str, str]]
    )
    """Reason and remediation for the things, behind the verb, of which others would be odd."""
    decision: Decision = Decision.REQUIRE_CONFIRMATION
    severity: Severity = Severity.HIGH

    programs: tuple[str, ...] = ()
    """Plain names in lower case; `*` at the end stands for any ending."""
    unless_programs: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    """Leading operands: `stash drop`. `*` stands for any one word."""
    unless_verbs: tuple[str, ...] = ()
    """Leading operands with which a program does nothing that the rule is about."""
    flags: tuple[str, ...] = ()
    all_flags: tuple[str, ...] = ()
    unless_flags: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    """Globs over the words behind the verbs."""
    unless_operands: tuple[str, ...] = ()
    last_operand: tuple[str, ...] = ()
    """Globs over the last word behind the verbs: where a copy goes."""
    min_operands: int = 0
    max_operands: int | None = None
    values: Mapping[str, tuple[str, ...]] = msgspec.field(
        default_factory=dict[str, tuple[str, ...]]
    )
    """Option to globs over its value."""
    words: tuple[str, ...] = ()
    """Globs over every word of the command."""
    unless_words: tuple[str, ...] = ()
    unless_settings: tuple[str, ...] = ()
    """`name=value`, in lower case, of variables that are set for this one command."""
    origins: tuple[str, ...] = ()
    """Where an address leads that stands among the operands behind the verbs."""
    hosts: tuple[str, ...] = ()
    """The same, also of a host without a scheme: `ghcr.io/owner/image`."""
    origin_options: tuple[str, ...] = ()
    """Options whose values are addresses as well."""
    unless_origins: tuple[str, ...] = ()
    """Where every address leads with which a program does nothing that the rule is about."""
    only_first: bool = False
    """Only the first operand behind the verbs: those behind it are for what is run."""
    variables: tuple[str, ...] = ()
    """Globs over the names of variables that stand unresolved in the words."""
    via: tuple[str, ...] = ()
    bare: bool = False
    """Only without any word behind the program."""
    printed: bool = False
    """Only where the output is shown, not piped on or kept."""

    effect: EffectKind | None = None
    places: tuple[str, ...] = ()
    unless_places: tuple[str, ...] = ()
    recursive: bool | None = None
    forced: bool | None = None
    labels: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    """Globs over the effect's target."""


class PackHead(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the rules of a pack have in common."""

    id: str
    title: str
    about: str


class Pack(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"head": "pack", "rules": "rule"},
    forbid_unknown_fields=True,
):
    """A family of rules; `git.reset-hard` is the rule `reset-hard` of the pack `git`."""

    head: PackHead
    rules: tuple[Rule, ...]
    grammar: Grammar | None = None

    @property
    def id(self) -> str:
        """The name of the family."""
        return self.head.id


def rule_problems(rules: Iterable[Rule]) -> Iterator[str]:
    """Yield mistakes in rules that the types of their fields do not rule out."""
    for rule in rules:
        yield from (f"rule `{rule.id}`: {problem}" for problem in _problems(rule))


def _problems(rule: Rule) -> list[str]:
    problems: list[str] = []
    if not rule.programs and rule.effect is None:
        problems.append("names neither `programs` nor an `effect`")
    if not rule.match:
        problems.append("has no `match` example to test it")
    for names in (rule.places, rule.unless_places):
        problems += [f"`{name}` is not a place" for name in names if name not in places.NAMES]
    for names in (rule.origins, rule.hosts, rule.unless_origins):
        problems += [f"`{name}` is no origin" for name in names if name not in addresses.NAMES]
    problems += [f"`{name}` is not a label" for name in rule.labels if name not in provenance.NAMES]
    return problems
