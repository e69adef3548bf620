"""Which of two values is the looser one, and what a layer must not go below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import msgspec

from interlock.policy.config.key import Tighter
from interlock.policy.config.layer import KnownRules, Leaf, Value
from interlock.policy.config.shapes import RULE_OUTCOMES, NamedValues, NameKind


def floor_beneath(leaf: Leaf, below: Mapping[Leaf, Value], known: KnownRules) -> Value | None:
    """Return the value that the layers above must not loosen, or nothing where they are free."""
    switch = leaf.key.switch
    # Where a gate is off below, nothing that is set for it can take anything away.
    if switch is not None and below.get(Leaf(switch)) is False:
        return None
    return _effective(leaf, below, known)


def is_looser(tighter: Tighter, value: Value, *, than: Value) -> bool:
    """Compare two values; where neither is tighter, any change is looser."""
    match tighter:
        case Tighter.TRUE:
            return than is True and value is not True
        case Tighter.SMALLER | Tighter.LIMITED:
            return not (isinstance(value, int) and isinstance(than, int) and value <= than)
        case Tighter.LARGER:
            return not (isinstance(value, int) and isinstance(than, int) and value >= than)
        case Tighter.STRONGER:
            return _rank(value) < _rank(than)
        case Tighter.FEWER:
            return bool(members(value) - members(than))
        case Tighter.MORE:
            return bool(members(than) - members(value))
        case Tighter.KEPT | Tighter.FIXED | Tighter.USER_ONLY:
            # As JSON, because in a schema `true` is not 1.
            return _notation(value) != _notation(than)
        case _:
            assert_never(tighter)


def members(value: Value) -> frozenset[object]:
    """Return what a list or set holds."""
    return frozenset(value) if isinstance(value, tuple | frozenset) else frozenset()


def _effective(leaf: Leaf, values: Mapping[Leaf, Value], known: KnownRules) -> Value | None:
    """Return what holds at a place: what is set there, or what its absence means."""
    match leaf.key.shape:
        case NamedValues(names=NameKind.COMMAND_RULE):
            return values.get(leaf, known.commands.get(leaf.entry or ""))
        case NamedValues():
            return values.get(leaf, True)
        case _:
            return values.get(leaf)


def _notation(value: Value) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _rank(value: Value) -> int:
    outcome = value["decision"] if isinstance(value, Mapping) else value
    return RULE_OUTCOMES.index(str(outcome))
