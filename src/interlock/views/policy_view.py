"""The policy that counts: where each value comes from, what it replaced, and how it came to be."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from interlock.errors import PolicyError
from interlock.ledger.chain import decoded
from interlock.ledger.ledger import Ledger
from interlock.model.action import CommandAction
from interlock.model.events import PolicyAdopted
from interlock.model.run import LEDGER_RUN
from interlock.model.verdict import Decision, Verdict
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.config.complaints import is_list, is_table, notation
from interlock.policy.config.document import MergedPolicy, Place, Policy
from interlock.policy.config.layers import is_hidden, leaves_of, visible_value
from interlock.policy.config.policy_changes import in_words
from interlock.service.policies.policy_files import default_policy
from interlock.service.policies.rule_tests import shown, user_rule_tests
from interlock.views.action_explanation import Stage, explain
from interlock.views.action_view import ActionReading, action_reading

NOT_SET: Final = "not set"
_DEFAULT: Final = "default"
_PROJECT: Final = "project"
_MOST_ADOPTIONS: Final = 50
_MOST_READ: Final = 2_000
"""So many of the latest records of the ledger's own chain are looked through for adoptions."""
_DECISIONS: Final = frozenset(each.value for each in Decision)


class Listed(enum.StrEnum):
    """Which values of a policy somebody wants to see."""

    CHANGED = "changed"
    DEFAULT = "default"
    ALL = "all"


class PolicyValue(msgspec.Struct, frozen=True, kw_only=True):
    """One value of the policy."""

    section: str
    """The table that it stands in, with its dot."""
    name: str
    decision: str
    """What it decides, where it is an entry that decides something."""
    text: str
    whole: str
    """The value as it is, for whoever wants all of it."""
    origin: str
    replaced: str
    """What would count without the file that set it."""


class OwnRule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that somebody wrote, with its examples."""

    id: str
    decision: str
    when: str
    message: str
    match: tuple[str, ...]
    not_match: tuple[str, ...]
    failing: tuple[str, ...]
    """The examples that do not hold."""


class PolicyPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page of the policy shows."""

    hash: str
    adopted_at: int | None
    values: tuple[PolicyValue, ...]
    counts: Mapping[Listed, int]
    of_user: int
    of_project: int
    rules: tuple[OwnRule, ...]
    complaints: tuple[str, ...]
    """Why the files do not load, where they do not: then the policy before them still counts."""
    waiting: str | None
    """The hash of the policy in the files, where that is not the one that counts."""


class Tried(msgspec.Struct, frozen=True, kw_only=True):
    """What would be answered to a command, and why; nothing was run or recorded."""

    line: str
    cwd: str
    verdict: Verdict
    reading: ActionReading
    suppressed: tuple[str, ...]


class Change(msgspec.Struct, frozen=True):
    """One place of a policy that got another value."""

    path: str
    gone: str
    added: str
    note: str = ""


class Adoption(msgspec.Struct, frozen=True, kw_only=True):
    """One version of the policy, and how it came to count."""

    hash: str
    at: int
    by: str
    project: str | None
    before: str | None
    changes: tuple[Change, ...]
    counts_now: bool


def policy_page(
    ledger: Ledger,
    policy: CompiledPolicy,
    listed: Listed,
    search: str,
    found: CompiledPolicy | PolicyError | None,
) -> PolicyPage:
    """Look at the policy that counts; `found` is what its files say now, if there are any."""
    merged = policy.merged
    values = [*_values(merged)]
    changed = [each for each in values if each.origin != _DEFAULT]
    kept = {Listed.CHANGED: changed, Listed.ALL: values}
    kept[Listed.DEFAULT] = [each for each in values if each.origin == _DEFAULT]
    latest = next((each for each in adoptions(ledger) if each.hash == policy.hash), None)
    complaints = found.complaints if isinstance(found, PolicyError) else ()
    is_other = isinstance(found, CompiledPolicy) and found.hash != policy.hash
    return PolicyPage(
        hash=policy.hash,
        adopted_at=None if latest is None else latest.at,
        values=tuple(_matching(kept[listed], search)),
        counts={each: len(kept[each]) for each in Listed},
        of_user=sum(each.origin == "user" for each in values),
        of_project=sum(each.origin == _PROJECT for each in values),
        rules=tuple(_own_rules(policy)),
        complaints=tuple(complaints),
        waiting=found.hash if isinstance(found, CompiledPolicy) and is_other else None,
    )


def _values(merged: MergedPolicy) -> Iterator[PolicyValue]:
    default = {place.path: place.value for place in default_policy().merged.places}
    user = {place.path: place.value for place in merged.user_level.places}
    for place in merged.places or _places_of(merged.policy, default):
        below = user if place.origin == _PROJECT else default
        before = below.get(place.path)
        section, dot, name = place.path.partition(".")
        decision, text = _told(place.value, before)
        yield PolicyValue(
            section=f"{section}{dot}" if name else "",
            name=name or section,
            decision=decision,
            text=text,
            whole=notation(place.value),
            origin=place.origin,
            replaced="" if place.origin == _DEFAULT else _plainly(before, name),
        )


def _places_of(policy: Policy, default: Mapping[str, object]) -> Iterator[Place]:
    """Yield the places of a policy that was read from the record, which has lost the files."""
    for leaf, value in leaves_of(policy).items():
        if not is_hidden(leaf):
            told = visible_value(leaf, value)
            is_default = notation(default.get(leaf.path)) == notation(told)
            yield Place(leaf.path, told, _DEFAULT if is_default else "user")


def _told(value: object, before: object) -> tuple[str, str]:
    """Return what an entry decides, and the value in words: of a list, what is new and gone."""
    if is_table(value) and str(value.get("decision")) in _DECISIONS:
        about = value.get("when") or value.get("reason") or ""
        return str(value["decision"]), str(about)
    if is_list(value) and is_list(before) and value != before:
        old, new = set(map(notation, before)), set(map(notation, value))
        parts = [f"+ {each}" for each in sorted(new - old)]
        parts += [f"\N{MINUS SIGN} {each}" for each in sorted(old - new)]
        return "", ", ".join(parts) or in_words(value)
    return "", value if isinstance(value, str) else in_words(value)


def _plainly(before: object, name: str) -> str:
    """Return what would count otherwise: of a rule, its own decision; of a list, what is in it."""
    rule = default_policy().rulebook.rules.get(name.removeprefix('rules."').removesuffix('"'))
    if before is None:
        return NOT_SET if rule is None else rule.decision.value
    if is_list(before):
        return ", ".join(each if isinstance(each, str) else notation(each) for each in before)
    return before if isinstance(before, str) else in_words(before)


def _matching(values: Iterable[PolicyValue], search: str) -> Iterator[PolicyValue]:
    wanted = search.casefold().strip()
    for each in values:
        if wanted in f"{each.section}{each.name} {each.whole}".casefold():
            yield each


def _own_rules(policy: CompiledPolicy) -> Iterator[OwnRule]:
    failing = [each for each in user_rule_tests(policy) if not each.holds]
    for rule, _ in policy.user_rules:
        yield OwnRule(
            id=rule.id,
            decision=rule.on_match or rule.decision.value,
            when=rule.when,
            message=rule.message,
            match=tuple(map(shown, rule.match)),
            not_match=tuple(map(shown, rule.not_match)),
            failing=tuple(each.example for each in failing if each.rule == rule.id),
        )


def tried(line: str, cwd: str, policy: CompiledPolicy) -> Tried:
    """Judge a command line without running or recording anything."""
    action = CommandAction(command=line, cwd=cwd or None)
    told = explain(action, policy)
    return Tried(
        line=line,
        cwd=cwd,
        verdict=told.verdict,
        reading=action_reading(action, policy, told.verdict.findings),
        suppressed=tuple(step.text for step in told.steps if step.stage == Stage.SUPPRESSED),
    )


def adoptions(ledger: Ledger) -> Sequence[Adoption]:
    """Return the versions of the policy that were adopted, the newest first."""
    rows = ledger.rows
    own = rows.run(LEDGER_RUN)
    if own is None:
        return ()
    latest = rows.records(LEDGER_RUN, after=max(own.seq - _MOST_READ, 0), limit=_MOST_READ)
    found: list[Adoption] = []
    counted: set[str | None] = set()
    for row in reversed([each for each in latest if each.kind == "policy-adopted"]):
        record = decoded(row.body)
        event = record.event
        if not isinstance(event, PolicyAdopted) or len(found) == _MOST_ADOPTIONS:
            break
        found.append(
            Adoption(
                hash=event.policy_hash,
                at=record.at,
                by=record.by.name,
                project=event.project,
                before=event.before,
                changes=tuple(map(_change, event.changes)),
                counts_now=event.project not in counted,
            )
        )
        counted.add(event.project)
    return found


def _change(line: str) -> Change:
    """Return what a recorded line says in two parts: what is gone, and what is new."""
    path, _, said = line.partition("`: ")
    path = path.removeprefix("`")
    if said.startswith("set to "):
        return Change(path, "", said.removeprefix("set to "))
    if said.startswith("taken away (was "):
        return Change(path, said.removeprefix("taken away (was ").removesuffix(")"), "")
    before, arrow, after = said.partition(" → ")
    if arrow and ";" not in said:
        return Change(path, before, after)
    if said.startswith(("adds ", "takes away ")):
        added, _, gone = said.partition("; takes away ")
        if said.startswith("takes away "):
            added, gone = "", said.removeprefix("takes away ")
        return Change(path, gone, added.removeprefix("adds "))
    return Change(path, "", "", said)
