"""Whether a condition of SQL leaves anything out: `WHERE 1=1` does not."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Final

from interlock.commands.sql.sql_statement import Group, Item


class Truth(enum.Enum):
    """What a condition is for every row."""

    ALWAYS = "always"
    NEVER = "never"
    DEPENDS = "depends"


_NEGATED: Final = {
    Truth.ALWAYS: Truth.NEVER,
    Truth.NEVER: Truth.ALWAYS,
    Truth.DEPENDS: Truth.DEPENDS,
}
_AFTER_CONDITION: Final = frozenset(
    "ORDER LIMIT RETURNING OPTION ALLOW IF OFFSET GROUP HAVING WINDOW FOR UNION GO WHEN SET"
    " WHERE JOIN INNER LEFT RIGHT FULL CROSS".split()
)
_CONSTANT_WORDS: Final = frozenset(
    "TRUE FALSE NULL UNKNOWN NOT IN BETWEEN AND OR LIKE ILIKE IS DISTINCT FROM EXISTS SELECT DIV"
    " MOD AS CAST INT INTEGER BOOLEAN".split()
)
_EQUALITIES: Final = frozenset({"=", "==", "<=>", "LIKE", "ILIKE", "IS"})
_INEQUALITIES: Final = frozenset({"<>", "!=", "<", ">"})
# Two constants in an ordering are taken for true: `1 < 2` means no row in particular.
_ORDERINGS: Final = frozenset({"<", ">", "<=", ">="})
_COMPARISONS: Final = _EQUALITIES | _INEQUALITIES | _ORDERINGS
_ANY_TEXT: Final = (["%"], ["%%"])


def condition_after(items: Sequence[Item], start: int) -> Sequence[Item]:
    """Return the condition that begins at `start`, up to the clause that follows it."""
    for index in range(start, len(items)):
        if items[index].kind == "word" and items[index].text in _AFTER_CONDITION:
            return items[start:index]
    return items[start:]


def truth_of(condition: Sequence[Item]) -> Truth:
    """Return whether the condition holds for every row, for none, or depends on the row."""
    known: _Known = {}
    for group in _inner_first(condition):
        known[group.start] = (_disjunction(group.items, known), _is_constant(group.items, known))
    return _disjunction(condition, known)


# What is known of each group, by where it starts: its truth, and whether it is a constant.
_Known = dict[int, tuple[Truth, bool]]


def _inner_first(condition: Sequence[Item]) -> Iterator[Group]:
    found = [item for item in condition if isinstance(item, Group)]
    for group in found:
        found.extend(item for item in group.items if isinstance(item, Group))
    return reversed(found)


def _disjunction(items: Sequence[Item], known: _Known) -> Truth:
    parts = [_conjunction(part, known) for part in _split(items, "OR", "||")]
    if Truth.ALWAYS in parts:
        return Truth.ALWAYS
    return Truth.DEPENDS if Truth.DEPENDS in parts else Truth.NEVER


def _conjunction(items: Sequence[Item], known: _Known) -> Truth:
    parts = [_factor(part, known) for part in _split(items, "AND", "&&")]
    if Truth.NEVER in parts:
        return Truth.NEVER
    return Truth.DEPENDS if Truth.DEPENDS in parts else Truth.ALWAYS


def _split(items: Sequence[Item], word: str, mark: str) -> Iterator[Sequence[Item]]:
    """Return the parts between the operators; the AND of a BETWEEN divides nothing."""
    start = 0
    between = False
    for index, item in enumerate(items):
        if item.kind not in {"word", "mark"}:
            continue
        if item.text == "BETWEEN":
            between = True
        elif between and item.text == word == "AND":
            between = False
        elif item.text in {word, mark}:
            yield items[start:index]
            start = index + 1
    yield items[start:]


def _factor(items: Sequence[Item], known: _Known) -> Truth:
    start = 0
    while start < len(items) and items[start].text in {"NOT", "!"}:
        start += 1
    truth = _claim(items[start:], known)
    return _NEGATED[truth] if start % 2 else truth


def _claim(items: Sequence[Item], known: _Known) -> Truth:
    if not items:
        return Truth.DEPENDS
    if len(items) == 1 and items[0].kind == "group":
        return known[items[0].start][0]
    for index, item in enumerate(items):
        if item.text in _COMPARISONS and item.kind in {"word", "mark"}:
            return _comparison(items[:index], item.text, items[index + 1 :], known)
    return _lone_claim(items, known)


def _comparison(left: Sequence[Item], operator: str, right: Sequence[Item], known: _Known) -> Truth:
    if not (_is_constant(left, known) and _is_constant(right, known)):
        return Truth.ALWAYS if _is_reflexive(left, operator, right) else Truth.DEPENDS
    if len(left) == len(right) == 1 and operator not in _ORDERINGS:
        same = _is_same(left[0], right[0])
        return Truth.ALWAYS if same is (operator in _EQUALITIES) else Truth.NEVER
    return Truth.ALWAYS


def _is_same(left: Item, right: Item) -> bool:
    number = _number(left)
    return left.text == right.text or (number is not None and number == _number(right))


def _is_reflexive(left: Sequence[Item], operator: str, right: Sequence[Item]) -> bool:
    """Whether both sides are the same column, or any text is liked."""
    spelt = [item.text.upper() for item in right]
    if operator in {"LIKE", "ILIKE"} and spelt in _ANY_TEXT:
        return not left or left[-1].text != "NOT"
    same = spelt == [item.text.upper() for item in left]
    return same and "(" not in spelt and operator not in _INEQUALITIES


def _lone_claim(items: Sequence[Item], known: _Known) -> Truth:
    """Return the truth of what compares nothing: `1`, `TRUE`, `1 IN (1, 2)`."""
    if not _is_constant(items, known):
        return Truth.DEPENDS
    if len(items) > 1:
        return Truth.ALWAYS
    number = _number(items[0])
    if items[0].text in {"FALSE", "NULL"} or number == 0:
        return Truth.NEVER
    return Truth.NEVER if items[0].kind == "string" and number is None else Truth.ALWAYS


def _is_constant(items: Sequence[Item], known: _Known) -> bool:
    """Whether no column and no function stands in the items."""
    for item in items:
        match item.kind:
            case "group":
                if not known[item.start][1]:
                    return False
            case "word":
                if item.text not in _CONSTANT_WORDS:
                    return False
            case "name" | "variable":
                return False
            case _:
                pass
    return True


def _number(item: Item) -> float | None:
    try:
        return float(item.text)
    except ValueError:
        return None
