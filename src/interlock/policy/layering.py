"""Which value counts where several files set one: defaults < user < project."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from interlock.errors import PolicyError
from interlock.policy.assembly import assembled_policy, canonical_bytes
from interlock.policy.document import Carrier, Policy
from interlock.policy.keys import KEYS, Tighter
from interlock.policy.layer import (
    CompileCondition,
    KnownRules,
    Layer,
    Leaf,
    Role,
    Source,
    Value,
)
from interlock.policy.permissions import permits
from interlock.policy.reading import read_layer
from interlock.policy.shapes import Entries
from interlock.policy.tightness import floor_beneath, is_looser, members
from interlock.policy.values import INHERITED
from interlock.policy.visible import visible_value
from interlock.policy.wording import shown

_PERMISSIONS = Leaf("layers.project-may-loosen")
_MOST_NAMED = 5
_BUILT_IN = "the built-in rules"
_CARRIES_NOTHING = Carrier(tools=())


class MergedPolicy(NamedTuple):
    """The policy that counts, and how it came about.

    `values` and `origins` have the same paths, in the order of the key table: what each place
    holds, ready to be shown, and whether the defaults, the user or the project said so.
    """

    policy: Policy
    origins: Mapping[str, str]
    hash: str
    values: Mapping[str, object]


def merge(
    defaults: Source,
    user: Source | None,
    project: Source | None,
    *,
    known: KnownRules,
    compile_condition: CompileCondition,
) -> MergedPolicy:
    """Merge the files; raise with every complaint where one is wrong or loosens unasked."""
    stack = _Stack(values={}, origins={}, complaints=(), doubtful=frozenset())
    for role, source in zip(Role, (defaults, user, project), strict=True):
        if source is not None:
            layer = read_layer(source, role, known=known, compile_condition=compile_condition)
            stack = _stacked(stack, layer, known)
    complaints = (*stack.complaints, *_gaps(stack, defaults))
    if complaints:
        raise PolicyError(complaints)
    policy = assembled_policy(stack.values)
    places = sorted(stack.values, key=Leaf.order)
    return MergedPolicy(
        policy=policy,
        origins={leaf.path: stack.origins[leaf].role.value for leaf in places},
        hash=hashlib.sha256(canonical_bytes(policy)).hexdigest(),
        values={leaf.path: visible_value(leaf, stack.values[leaf]) for leaf in places},
    )


class _Stack(NamedTuple):
    """The layers so far, as one."""

    values: Mapping[Leaf, Value]
    origins: Mapping[Leaf, Layer]
    complaints: tuple[str, ...]
    doubtful: frozenset[str]


def _stacked(below: _Stack, layer: Layer, known: KnownRules) -> _Stack:
    settled = {
        leaf: _settled(value, below.values.get(leaf)) for leaf, value in layer.values.items()
    }
    refusals = _refusals(below, layer, settled, known) if layer.role is Role.PROJECT else ()
    return _Stack(
        values={**below.values, **settled},
        origins={**below.origins, **dict.fromkeys(settled, layer)},
        complaints=(*below.complaints, *layer.complaints, *refusals),
        doubtful=below.doubtful | layer.doubtful,
    )


def _settled(value: Value, below: Value | None) -> Value:
    """Return what a value comes to once it is known what stands below it."""
    match value, below:
        case tuple(), _ if INHERITED in value:
            inherited = below if isinstance(below, tuple) else ()
            return tuple(sorted({*value, *inherited} - {INHERITED}))
        case frozenset(), frozenset() if _CARRIES_NOTHING not in value:
            return value | below
        case frozenset(), _:
            return value - {_CARRIES_NOTHING}
        case _:
            return value


def _refusals(
    below: _Stack, layer: Layer, settled: Mapping[Leaf, Value], known: KnownRules
) -> Iterator[str]:
    permissions = below.values.get(_PERMISSIONS)
    if _PERMISSIONS.key_path in below.doubtful or not isinstance(permissions, tuple):
        return
    for leaf, value in settled.items():
        floor = floor_beneath(leaf, below.values, known)
        is_certain = below.doubtful.isdisjoint((leaf.key_path, leaf.key.switch))
        if floor is None or not is_certain or permits(permissions, leaf):
            continue
        if is_looser(leaf.key.tighter, value, than=floor):
            origin = below.origins.get(leaf)
            difference = _difference(leaf, value, floor)
            yield (
                f"{layer.name}: {leaf.path}: {difference} {origin.name if origin else _BUILT_IN}; "
                f"a project may only tighten: take it out, or list `{leaf.path}` under "
                f"`{_PERMISSIONS.path}` in the user's file"
            )


def _difference(leaf: Leaf, value: Value, floor: Value) -> str:
    """Say what a looser value changes, up to the name of the file that it changes."""
    match leaf.key.tighter, value, floor:
        case Tighter.FEWER, _, _:
            return f"adds {_listed(members(value) - members(floor))} to the list of"
        case Tighter.MORE, tuple(), _:
            return f"leaves out {_listed(members(floor) - members(value))} from the list of"
        case Tighter.MORE, _, _:
            return "takes away what the tool carries according to"
        case Tighter.STRONGER, {"decision": str(above)}, {"decision": str(below)}:
            return f"{shown(above)} is looser than {shown(below)} of"
        case _, Mapping(), _:
            return "differs from the entry of the same name of"
        case _:
            above, below = (visible_value(leaf, each) for each in (value, floor))
            return f"{shown(above)} is looser than {shown(below)} of"


def _listed(items: frozenset[object]) -> str:
    names = sorted(shown(item) for item in items)
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _gaps(stack: _Stack, defaults: Source) -> Iterator[str]:
    """Complain about what is wrong with the whole although every file is right by itself."""
    for key in KEYS:
        is_set = Leaf(key.path) in stack.values or isinstance(key.shape, Entries)
        if not is_set and key.path not in stack.doubtful:
            yield f"{defaults.name}: {key.path}: missing; the default policy sets every key"
    enabled, allow = Leaf("tool-allowlist.enabled"), Leaf("tool-allowlist.allow")
    nothing_allowed = stack.values.get(enabled) is True and stack.values.get(allow) == ()
    if nothing_allowed and stack.doubtful.isdisjoint((enabled.path, allow.path)):
        yield (
            f"{stack.origins[enabled].name}: {enabled.path}: `true` with nothing under "
            f"`{allow.path}` would refuse every tool; list the tools that may be called"
        )
