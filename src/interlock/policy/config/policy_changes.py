"""What a policy holds in words, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from interlock.policy.config.complaints import is_list, is_table, notation, shortened
from interlock.policy.config.document import Policy
from interlock.policy.config.key import in_short
from interlock.policy.config.layers import (
    KnownRules,
    Leaf,
    is_hidden,
    leaves_of,
    loosened_places,
    visible_value,
)


def in_words(value: object) -> str:
    """Return tables by what matters in them, decisions in short, and everything else as JSON."""
    match value:
        case {"decision": str(decision), "when": str(condition)}:
            return f"{in_short(decision)} when {condition}"
        case {"decision": str(decision), "reason": str(reason)}:
            return f"{in_short(decision)}: {reason}"
        case {"decision": str(decision)}:
            return in_short(decision)
        case str(text):
            return notation(in_short(text))
        case {"input-usd": Decimal() as read, "output-usd": Decimal() as written}:
            return f"{read} USD for a million tokens read, {written} USD written"
        case _ if is_list(value) and value and all(map(is_table, value)):
            return "; ".join(", ".join(carried) for carried in value if is_table(carried))
        case _:
            return notation(value)


def policy_changes_between(old: Policy, new: Policy) -> tuple[str, ...]:
    """Return a line per place that differs, in the order of the key table.

    What is hidden is passed over altogether, so that a stored policy, which has lost it, can be
    compared with one that counts.
    """
    before, after = _visible_places(old), _visible_places(new)
    differing = [
        leaf for leaf in before.keys() | after.keys() if _differ(before.get(leaf), after.get(leaf))
    ]
    return _changes(before, after, sorted(differing, key=Leaf.order))


def loosenings_between(old: Policy, new: Policy, known: KnownRules) -> tuple[str, ...]:
    """Return a line per place in which the new policy is looser than the old one."""
    return _changes(_visible_places(old), _visible_places(new), loosened_places(old, new, known))


def _changes(
    before: Mapping[Leaf, object], after: Mapping[Leaf, object], leaves: Iterable[Leaf]
) -> tuple[str, ...]:
    return tuple(f"`{leaf.path}`: {_change(before.get(leaf), after.get(leaf))}" for leaf in leaves)


def _visible_places(policy: Policy) -> dict[Leaf, object]:
    places = leaves_of(policy).items()
    return {leaf: visible_value(leaf, value) for leaf, value in places if not is_hidden(leaf)}


def _differ(old: object, new: object) -> bool:
    """Compare as JSON does: in a schema, `true` is not 1."""
    return notation(old) != notation(new)


def _change(old: object, new: object) -> str:
    if old is None:
        return f"set to {shortened(in_words(new))}"
    if new is None:
        return f"taken away (was {shortened(in_words(old))})"
    if is_list(old) and is_list(new):
        return "; ".join(_membership_changes(old, new))
    if is_table(old) and is_table(new):
        return "; ".join(_field_changes(old, new))
    return f"{shortened(in_words(old))} → {shortened(in_words(new))}"


def _membership_changes(old: Iterable[object], new: Iterable[object]) -> Iterator[str]:
    before, after = set(map(notation, old)), set(map(notation, new))
    if added := sorted(after - before):
        yield f"adds {', '.join(map(shortened, added))}"
    if removed := sorted(before - after):
        yield f"takes away {', '.join(map(shortened, removed))}"


def _field_changes(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if _differ(old.get(name), new.get(name)):
            before, after = (
                shortened(notation(table[name])) if name in table else "nothing"
                for table in (old, new)
            )
            yield f"{name} {before} → {after}"
