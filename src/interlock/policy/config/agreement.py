"""What is wrong with a policy as a whole although every file is right by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from interlock.model.review import ReviewMode
from interlock.policy.config.document import ReviewGateEntry
from interlock.policy.config.key import Key
from interlock.policy.config.keys import KEYS
from interlock.policy.config.layer import Layer, Leaf, Role, Source, Value
from interlock.policy.config.shapes import Entries
from interlock.policy.config.stop_keys import PROFILE_KEYS
from interlock.policy.config.wording import joined, shown, suggestion
from interlock.policy.reviews.from_policy import review_gate
from interlock.policy.reviews.gate_faults import mode_of

_COMPLETION = Leaf("reviews.completion")
_GATES = "reviews.gates"
_MODELS = "stops.models"
_ROLES = tuple(Role)


class Stack(NamedTuple):
    """The layers so far, as one."""

    values: Mapping[Leaf, Value]
    origins: Mapping[Leaf, Layer]
    complaints: tuple[str, ...]
    doubtful: frozenset[str]


def disagreements(stack: Stack, defaults: Source) -> Iterator[str]:
    """Complain about what is missing, and about values that cannot go together."""
    yield from _gaps(stack, defaults)
    yield from _nothing_allowed(stack)
    yield from _wrong_order(stack)
    yield from _wrong_order_for_models(stack)
    yield from _useless_completion(stack)


def _gaps(stack: Stack, defaults: Source) -> Iterator[str]:
    for key in KEYS:
        is_optional = key.absent is not None or isinstance(key.shape, Entries)
        is_set = Leaf(key.path) in stack.values
        if not is_set and not is_optional and key.path not in stack.doubtful:
            yield f"{defaults.name}: {key.path}: missing; the default policy sets every key"


def _nothing_allowed(stack: Stack) -> Iterator[str]:
    enabled, allow = Leaf("tool-allowlist.enabled"), Leaf("tool-allowlist.allow")
    nothing_allowed = stack.values.get(enabled) is True and stack.values.get(allow) == ()
    if nothing_allowed and stack.doubtful.isdisjoint((enabled.path, allow.path)):
        yield (
            f"{stack.origins[enabled].name}: {enabled.path}: `true` with nothing under "
            f"`{allow.path}` would refuse every tool; list the tools that may be called"
        )


def _wrong_order(stack: Stack) -> Iterator[str]:
    """Complain where one number must not go below another and does, in the upper file of both."""
    for key, least in _ordered(KEYS):
        higher, lower = Leaf(key.path), Leaf(least)
        if not (_is_less(stack.values.get(higher), stack.values.get(lower))):
            continue
        if not stack.doubtful.isdisjoint((higher.path, lower.path)):
            continue
        if _rank(stack.origins[higher]) >= _rank(stack.origins[lower]):
            place, other, relation = higher, lower, "less"
        else:
            place, other, relation = lower, higher, "more"
        yield (
            f"{stack.origins[place].name}: {place.path}: {shown(stack.values[place])} is {relation}"
            f" than {shown(stack.values[other])} of `{other.path}` in {stack.origins[other].name};"
            f" expected `{higher.path}` to be at least `{lower.path}`"
        )


def _wrong_order_for_models(stack: Stack) -> Iterator[str]:
    """Complain of the same where a table for some models sets one of the two numbers, or both."""
    tables = [(leaf, value) for leaf, value in stack.values.items() if leaf.key_path == _MODELS]
    for leaf, own in sorted(tables):
        for key, least in _ordered(PROFILE_KEYS):
            names = key.name, least.rpartition(".")[2]
            higher, lower = (_for_models(stack, own, name) for name in names)
            if _is_less(higher, lower) and stack.doubtful.isdisjoint((key.path, least)):
                yield (
                    f"{stack.origins[leaf].name}: {joined(leaf.path, names[0])}: "
                    f"{shown(higher)} is less than {shown(lower)} of `{names[1]}` for these"
                    f" models; expected at least as much"
                )


def _useless_completion(stack: Stack) -> Iterator[str]:
    """Complain about gates that a run is to pass before it may finish, and that cannot hold it."""
    named = stack.values.get(_COMPLETION)
    if not isinstance(named, tuple) or not stack.doubtful.isdisjoint((_COMPLETION.path, _GATES)):
        return
    gates = {leaf.entry: value for leaf, value in stack.values.items() if leaf.key_path == _GATES}
    for gate in named:
        if problem := _completion_problem(gate, gates):
            file = stack.origins[_COMPLETION].name
            yield f"{file}: {_COMPLETION.path}: {shown(gate)} {problem}"


def _completion_problem(gate: str, gates: Mapping[str | None, Value]) -> str | None:
    fields = gates.get(gate)
    if not isinstance(fields, Mapping):
        hint = suggestion(gate, [name for name in gates if name is not None])
        return f"is no gate{hint or f'; add it as one of `[[{_GATES}]]`'}"
    entry = msgspec.convert({"id": gate, **fields}, ReviewGateEntry)
    if entry.check is None:
        return "has no check, and nothing else can pass it; give the gate a `check`"
    mode = mode_of(review_gate(entry))
    if mode is not ReviewMode.BLOCKING:
        return f'is {mode.value} and would hold nothing up; give the gate `mode = "blocking"`'
    return None


def _ordered(keys: tuple[Key, ...]) -> Iterator[tuple[Key, str]]:
    return ((key, key.at_least) for key in keys if key.at_least is not None)


def _is_less(higher: object, lower: object) -> bool:
    return isinstance(higher, int) and isinstance(lower, int) and higher < lower


def _rank(layer: Layer) -> int:
    return _ROLES.index(layer.role)


def _for_models(stack: Stack, own: Value, name: str) -> object:
    """Return what counts for models with a table of their own."""
    everywhere = stack.values.get(Leaf(f"stops.{name}"))
    return own.get(name, everywhere) if isinstance(own, Mapping) else everywhere
