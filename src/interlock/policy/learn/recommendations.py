"""What should the policy say instead? Counted over finished runs, never guessed.

INVARIANT: nothing here loosens a rule of severity critical, or anything about credentials,
protected paths, Interlock's own places or budgets: only what `_place_of` knows is touched at all.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple, cast

import msgspec

from interlock.commands.shell.command import EffectKind
from interlock.model.recommendation import (
    Evidence,
    PatchOperation,
    Recommendation,
    RecommendationKind,
    Retrospective,
    RetrospectiveEntry,
    RetrospectiveKind,
)
from interlock.model.step import StepCode
from interlock.model.verdict import DESTRUCTIVE_OPS, USER_RULES, Decision, Severity
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.config.complaints import notation
from interlock.policy.config.document import KEY_BY_PATH, Policy
from interlock.policy.config.key import ALLOW_WITH_UNDO, Number

FEWEST_ANSWERS: Final = 5
"""So often people must have said the same, without ever saying anything else."""
FEWEST_RUNS: Final = 5
FEWEST_CALLS: Final = 10
MOSTLY_PERCENT: Final = 80
FAILING_PERCENT: Final = 60
_GRAIN: Final = 5
"""Limits are recommended in such steps: one more run must not recommend another one."""
_MOST_EVIDENCE: Final = 10
_ID_DIGITS: Final = 16
_DEFAULT: Final = "default"
_RESTORABLE: Final = frozenset(
    (EffectKind.DELETE, EffectKind.OVERWRITE, EffectKind.APPEND, EffectKind.MOVE)
)
"""What a copy that is made before puts back."""
_CREDENTIALS: Final = "credentials."
"""What the rules are called that keep commands from showing credentials."""
_SETTINGS: Final = {
    ("diff-size", "diff-size.threshold"): (("diff-size", "decision"), Severity.LOW),
    ("edits", "edits.fuzzy-match"): (("edits", "fuzzy-matches"), Severity.MEDIUM),
}
"""Rules that one key decides on by itself, by their gates and names."""


def recommendations_from(
    retrospectives: Sequence[Retrospective], policy: CompiledPolicy
) -> tuple[Recommendation, ...]:
    """Return every change of the policy that finished runs speak for, and what people must see to.

    The same runs in the same order give the same recommendations.
    """
    sums = _added_up(retrospectives)
    return (
        *_from_answers(sums, policy),
        *_from_throttles(retrospectives, policy),
        *_from_pauses(retrospectives, policy),
        *_from_failures(sums),
    )


def policy_after(policy: Policy, patch: Iterable[PatchOperation]) -> Policy:
    """Return the policy with what recommendations change in it."""
    document: dict[str, object] = msgspec.json.decode(msgspec.json.encode(policy))
    for operation in patch:
        table = document
        for name in operation.path[:-1]:
            table = cast("dict[str, object]", table[name])
        table[operation.path[-1]] = tomllib.loads(f"value = {operation.value}")["value"]
    return msgspec.convert(document, Policy)


class _Subject(NamedTuple):
    kind: RetrospectiveKind
    gate: str
    name: str
    after: str


class _Sum(msgspec.Struct, frozen=True):
    """The entries on one subject, of all runs."""

    entries: Sequence[RetrospectiveEntry] = ()

    @property
    def count(self) -> int:
        return sum(each.count for each in self.entries)

    @property
    def of(self) -> int:
        return sum(each.of for each in self.entries)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return tuple(one for each in self.entries for one in each.evidence)[:_MOST_EVIDENCE]


def _added_up(retrospectives: Iterable[Retrospective]) -> dict[_Subject, _Sum]:
    found: dict[_Subject, list[RetrospectiveEntry]] = {}
    for retrospective in retrospectives:
        for each in retrospective.entries:
            subject = _Subject(each.kind, each.gate, each.name, each.after)
            found.setdefault(subject, []).append(each)
    return {subject: _Sum(found[subject]) for subject in sorted(found)}


class _Place(NamedTuple):
    """Where the policy decides on what a rule comes to."""

    severity: Severity
    now: str
    path: tuple[str, ...] = ()
    """Empty where no single key does."""
    milder: str = Decision.WARN.value
    before: str | None = None


def _from_answers(sums: dict[_Subject, _Sum], policy: CompiledPolicy) -> Iterator[Recommendation]:
    for subject, confirmed in sums.items():
        if subject.kind is not RetrospectiveKind.CONFIRMED or confirmed.of < FEWEST_ANSWERS:
            continue
        place = _place_of(subject.gate, subject.name, policy)
        if place is None or place.now != Decision.REQUIRE_CONFIRMATION:
            # Nobody would be asked today, or no recommendation may touch it.
            continue
        denied = sums.get(subject._replace(kind=RetrospectiveKind.DENIED), _Sum())
        if confirmed.count == confirmed.of and not _is_sealed(subject.name, place):
            yield _allowing(subject, confirmed, place)
        elif denied.count == confirmed.of:
            yield _blocking(subject, denied, confirmed.of, place)


def _is_sealed(rule: str, place: _Place) -> bool:
    """Whether a rule is never loosened, whatever people say."""
    return place.severity is Severity.CRITICAL or rule.startswith(_CREDENTIALS)


def _place_of(gate: str, rule: str, policy: CompiledPolicy) -> _Place | None:
    """Return where a rule is decided on; None for everything that no recommendation may touch."""
    config = policy.config
    if gate == DESTRUCTIVE_OPS and config.destructive_ops.enabled:
        return _place_of_command_rule(rule, policy)
    if gate == USER_RULES:
        own = [each for each in config.rules if each.id == rule and each.on_match is None]
        return _Place(own[0].severity, own[0].decision.value) if own else None
    if (gate, rule) not in _SETTINGS:
        return None
    path, severity = _SETTINGS[gate, rule]
    return _Place(severity, str(_value(path, config)), path, before=_written(path, policy))


def _place_of_command_rule(rule: str, policy: CompiledPolicy) -> _Place | None:
    known, own = policy.rulebook.rules.get(rule), policy.config.destructive_ops.rules
    if known is None:
        return None
    return _Place(
        severity=known.severity,
        now=own.get(rule, known.decision.value),
        path=(DESTRUCTIVE_OPS, "rules", rule),
        milder=ALLOW_WITH_UNDO if known.effect in _RESTORABLE else Decision.WARN.value,
        before=notation(own[rule]) if rule in own else None,
    )


def _allowing(subject: _Subject, confirmed: _Sum, place: _Place) -> Recommendation:
    asked, rule = confirmed.of, f"`{subject.name}`"
    return _recommendation(
        RecommendationKind.ALLOW,
        subject,
        title=f"asked {asked} times, approved {asked} times: allow {rule}",
        reason=f"people said yes to every question that {rule} led to{_where(confirmed, place)}",
        evidence=confirmed.evidence,
        count=asked,
        of=asked,
        severity=place.severity,
        patch=_operations(place, place.milder),
    )


def _blocking(subject: _Subject, denied: _Sum, asked: int, place: _Place) -> Recommendation:
    rule = f"`{subject.name}`"
    return _recommendation(
        RecommendationKind.BLOCK,
        subject,
        title=f"asked {asked} times, denied {asked} times: block {rule}",
        reason=f"people said no to every question that {rule} led to{_where(denied, place)}",
        evidence=denied.evidence,
        count=asked,
        of=asked,
        patch=_operations(place, Decision.BLOCK.value),
    )


def _where(found: _Sum, place: _Place) -> str:
    """Return in how many runs it was so, and what to do where no key does it."""
    by_hand = "" if place.path else "; it is one of your own rules: give it another `decision`"
    return f", in {_runs(len(found.entries))}{by_hand}"


def _operations(place: _Place, value: str) -> tuple[PatchOperation, ...]:
    if not place.path:
        return ()
    return (PatchOperation(path=place.path, value=notation(value), before=place.before),)


class _Limit(NamedTuple):
    """A limit of the continue gate, and what tells how it does."""

    kind: RecommendationKind
    subject: _Subject
    path: tuple[str, ...]


_SLOPE: Final = _Limit(
    RecommendationKind.RAISE_SLOPE,
    _Subject(RetrospectiveKind.THROTTLED, "", StepCode.SLOPE.value, ""),
    ("steps", "max-slope-percent"),
)
_REWORK: Final = _Limit(
    RecommendationKind.RAISE_REWORK,
    _Subject(RetrospectiveKind.LIFTED, "", StepCode.REWORK.value, ""),
    ("steps", "max-rework-percent"),
)


def _from_throttles(
    retrospectives: Iterable[Retrospective], policy: CompiledPolicy
) -> Iterator[Recommendation]:
    """Raise the limit that most runs went over which went well all the same."""
    went_well = [each for each in retrospectives if each.went_well and each.steps]
    over = _over(_SLOPE, went_well, policy)
    hit, of = len(over.entries), len(went_well)
    if of >= FEWEST_RUNS and 100 * hit >= MOSTLY_PERCENT * of:
        figures = f"the throttle fired on {hit} of {_runs(of)} that went well"
        yield from _raising(_SLOPE, over, policy, figures, count=hit, of=of)


def _from_pauses(
    retrospectives: Iterable[Retrospective], policy: CompiledPolicy
) -> Iterator[Recommendation]:
    """Raise the limit for which runs were paused that people always let go on."""
    over = _over(_REWORK, retrospectives, policy)
    count, of = over.count, over.of
    if count == of >= FEWEST_ANSWERS:
        figures = f"paused for rework {of} times, resumed by a person {count} times"
        yield from _raising(_REWORK, over, policy, figures, count=count, of=of)


def _over(limit: _Limit, retrospectives: Iterable[Retrospective], policy: CompiledPolicy) -> _Sum:
    """Return what went over the limit of today."""
    most = _limit_now(limit, policy)
    entries = _added_up(retrospectives).get(limit.subject, _Sum()).entries
    return _Sum(tuple(each for each in entries if (each.percent or 0) > most))


def _raising(
    limit: _Limit, over: _Sum, policy: CompiledPolicy, figures: str, *, count: int, of: int
) -> Iterator[Recommendation]:
    """Recommend what most of the runs would have kept to, as far as the limit can be raised."""
    now, path = _limit_now(limit, policy), ".".join(limit.path)
    percents = sorted(each.percent or 0 for each in over.entries)
    wanted = percents[_up(len(percents) * MOSTLY_PERCENT, 100) - 1]
    raised = min(_up(wanted, _GRAIN) * _GRAIN, cast("Number", KEY_BY_PATH[path].shape).maximum)
    if raised <= now:
        return
    operation = PatchOperation(
        path=limit.path, value=str(raised), before=_written(limit.path, policy)
    )
    yield _recommendation(
        limit.kind,
        limit.subject,
        title=f"{figures}: raise `{path}` from {now} to {raised}",
        reason=f"of these runs {_share(percents, raised)} keep to {raised} percent",
        evidence=over.evidence,
        count=count,
        of=of,
        patch=(operation,),
    )


def _up(amount: int, unit: int) -> int:
    """Return how many units are needed for an amount."""
    return -(-amount // unit)


def _share(percents: Sequence[int], most: int) -> str:
    return f"{sum(each <= most for each in percents)} of {len(percents)}"


def _from_failures(sums: dict[_Subject, _Sum]) -> Iterator[Recommendation]:
    """Name every tool that mostly fails or, where it does so only then, what it fails after."""
    calls = [each for each in sums if each.kind is RetrospectiveKind.FAILED]
    for _, found in groupby(calls, key=lambda each: each.name):
        # All calls of the tool come first, then those behind each other tool.
        own = list(found)
        failing = next((each for each in own if _mostly_fails(sums[each])), None)
        if failing is not None:
            behind = [each for each in own if each.after]
            worst = max(behind, key=lambda each: sums[each].count, default=None)
            yield _failing(failing, sums[failing], worst and (worst.after, sums[worst]))


def _mostly_fails(calls: _Sum) -> bool:
    return calls.of >= FEWEST_CALLS and 100 * calls.count >= FAILING_PERCENT * calls.of


def _failing(subject: _Subject, calls: _Sum, worst: tuple[str, _Sum] | None) -> Recommendation:
    percent = 100 * calls.count // calls.of
    behind = f" right after `{subject.after}`" if subject.after else ""
    often = ""
    if worst is not None and worst[1].count and not subject.after:
        often = f"; most often right after `{worst[0]}`: {worst[1].count} of {worst[1].of} times"
    return _recommendation(
        RecommendationKind.FAILING_TOOL,
        subject,
        title=f"`{subject.name}` fails {percent} % of the time{behind}: see to it",
        reason=f"{calls.count} of {calls.of} calls failed, in {_runs(len(calls.entries))}{often}",
        evidence=calls.evidence,
        count=calls.count,
        of=calls.of,
    )


def _recommendation(
    kind: RecommendationKind,
    subject: _Subject,
    *,
    title: str,
    reason: str,
    evidence: tuple[Evidence, ...],
    count: int,
    of: int,
    severity: Severity = Severity.LOW,
    patch: tuple[PatchOperation, ...] = (),
) -> Recommendation:
    changes = [(each.path, each.value) for each in patch]
    content = notation((kind.value, subject[1:], changes))
    return Recommendation(
        id=hashlib.sha256(content.encode()).hexdigest()[:_ID_DIGITS],
        kind=kind,
        title=title,
        reason=reason,
        count=count,
        of=of,
        severity=severity,
        patch=patch,
        evidence=evidence,
    )


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _limit_now(limit: _Limit, policy: CompiledPolicy) -> int:
    return cast("int", _value(limit.path, policy.config))


def _value(path: tuple[str, ...], config: Policy) -> object:
    """Return what the policy says under a key."""
    section, name = (each.replace("-", "_") for each in path)
    return getattr(getattr(config, section), name)


def _written(path: tuple[str, ...], policy: CompiledPolicy) -> str | None:
    """Return the same as TOML; None where only the default says so."""
    is_default = policy.merged.origins.get(".".join(path), _DEFAULT) == _DEFAULT
    return None if is_default else notation(_value(path, policy.config))
