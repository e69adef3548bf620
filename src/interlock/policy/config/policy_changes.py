"""What a policy holds in words, and what differs between two of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Final

from msgspec.structs import replace

from interlock.policy.config.complaints import (
    LONGEST_SHOWN,
    is_list,
    is_table,
    notation,
    shortened,
)
from interlock.policy.config.document import MergedPolicy, Policy
from interlock.policy.config.key import Tighter, in_short
from interlock.policy.config.layers import (
    KnownRules,
    Leaf,
    Value,
    assembled,
    is_hidden,
    is_looser,
    is_off,
    leaves_of,
    standing,
    visible_value,
)

_PRICES: Final = "budgets.prices"
_KEPT_AROUND: Final = 12


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


def loosened_places(old: Policy, new: Policy, known: KnownRules) -> Iterator[Leaf]:
    """Yield every place in which a policy is looser than another that counted before.

    What is hidden is passed over: a stored policy has lost it.
    """
    before, after = leaves_of(old), leaves_of(new)
    for leaf in sorted(before.keys() | after.keys(), key=Leaf.order):
        if is_hidden(leaf) or is_off(leaf, before):
            continue
        floor, value = standing(leaf, before, known), standing(leaf, after, known)
        if floor is None:
            # Where nothing stood, something more is a limit more, unless it can be either.
            looser = leaf.key.tighter is Tighter.USER_ONLY and not _is_first_price(
                leaf, value, known
            )
        else:
            looser = value is None or is_looser(leaf.key, value, than=floor)
        if looser:
            yield leaf


def held_to(counts: Policy, policy: MergedPolicy, known: KnownRules) -> MergedPolicy:
    """Return a policy with the value that counted before in every place in which it is looser.

    INVARIANT: it is looser in no place. What is hidden, which a stored policy has lost, is its own.
    """
    before, values = leaves_of(counts), leaves_of(policy.policy)
    for leaf in loosened_places(counts, policy.policy, known):
        if leaf in before:
            values[leaf] = before[leaf]
        else:
            del values[leaf]
    held = assembled(values)
    if policy.find_user_level is None:
        return held
    return replace(held, find_user_level=lambda: held_to(counts, policy.user_level, known))


def _is_first_price(leaf: Leaf, value: Value | None, known: KnownRules) -> bool:
    """Whether a model whose cost nobody knew is given one; for free would be looser."""
    if leaf.key_path != _PRICES or leaf.entry not in known.unpriced_models:
        return False
    return isinstance(value, Mapping) and any(value.values())


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
    if is_list(old) and is_list(new) and set(map(notation, old)) != set(map(notation, new)):
        return "; ".join(_membership_changes(old, new))
    if is_table(old) and is_table(new):
        return "; ".join(_field_changes(old, new))
    return _told_apart(in_words(old), in_words(new))


def _told_apart(old: str, new: str) -> str:
    """Return two texts that differ; of long ones, what they begin and end with alike is left out.

    A little of that is kept, to say where it is.
    """
    if max(len(old), len(new)) > LONGEST_SHOWN:
        start = max(0, _alike(old, new) - _KEPT_AROUND)
        end = max(0, _alike(old[:start:-1], new[:start:-1]) - _KEPT_AROUND)
        old, new = (_without_ends(text, start, end) for text in (old, new))
    return f"{shortened(old)} → {shortened(new)}"


def _alike(one: str, other: str) -> int:
    """Return with how many characters two texts begin alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _without_ends(text: str, start: int, end: int) -> str:
    middle = text[start : len(text) - end]
    return f"{'…' if start else ''}{middle}{'…' if end else ''}"


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
                notation(table[name]) if name in table else "nothing" for table in (old, new)
            )
            yield f"{name} {_told_apart(before, after)}"
