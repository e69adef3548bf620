"""Which value counts where several files set one: defaults < user < project."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from interlock.errors import PolicyError
from interlock.policy.config.agreement import Stack, disagreements
from interlock.policy.config.assembly import assembled_policy, canonical_bytes
from interlock.policy.config.document import Carrier, Policy
from interlock.policy.config.key import Tighter
from interlock.policy.config.layer import (
    CompileCondition,
    KnownRules,
    Layer,
    Leaf,
    Role,
    Source,
    Value,
)
from interlock.policy.config.permissions import permits
from interlock.policy.config.profile_layer import with_profile
from interlock.policy.config.reading import read_layer
from interlock.policy.config.tightness import floor_beneath, is_looser, members
from interlock.policy.config.values import INHERITED
from interlock.policy.config.visible import visible_value
from interlock.policy.config.wording import shown

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
    layers = [
        read_layer(source, role, known=known, compile_condition=compile_condition)
        for role, source in zip(Role, (defaults, user, project), strict=True)
        if source is not None
    ]
    stack = Stack(values={}, origins={}, complaints=(), doubtful=frozenset())
    for layer in with_profile(layers):
        stack = _stacked(stack, layer, known)
    complaints = (*stack.complaints, *disagreements(stack, defaults))
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


def _stacked(below: Stack, layer: Layer, known: KnownRules) -> Stack:
    settled = {
        leaf: _settled(value, below.values.get(leaf)) for leaf, value in layer.values.items()
    }
    refusals = _refusals(below, layer, settled, known) if layer.role is Role.PROJECT else ()
    return Stack(
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
    below: Stack, layer: Layer, settled: Mapping[Leaf, Value], known: KnownRules
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
