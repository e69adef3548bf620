"""`$((...))`: whole numbers of 64 bits, computed as the shell does, or not at all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from interlock.commands.values.allowance import Budget

_TOKEN: Final = re.compile(
    r"\s*(?:(?P<number>[0-9]\w*(?:#[\w@]+)?)|(?P<name>[A-Za-z_]\w*)|"
    r"(?P<operator><<=|>>=|\*\*|\+\+|--|&&|\|\||<<|>>|[-+*/%&|^=!<>]=|[-+*/%&|^=!<>~?:,()\[\]]))"
)
_ASSIGNED: Final = re.compile(
    r"(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)(?:\[[^\]]*\])?\s*"
    r"(?:<<=|>>=|[-+*/%&|^]=|\+\+|--|=(?!=))"
)
_LARGEST: Final = 1 << 63
_MAX_DEPTH: Final = 24
_MAX_SHIFT: Final = 63
_ASSIGNMENTS: Final = frozenset("= += -= *= /= %= &= |= ^= <<= >>=".split())
_RANKS: Final[Mapping[str, int]] = {
    operator: rank
    for rank, operators in enumerate(
        ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
    )
    for operator in operators.split()
}
_COMPUTED: Final[Mapping[str, Callable[[int, int], int]]] = {
    "|": lambda left, right: left | right,
    "^": lambda left, right: left ^ right,
    "&": lambda left, right: left & right,
    "==": lambda left, right: int(left == right),
    "!=": lambda left, right: int(left != right),
    "<": lambda left, right: int(left < right),
    ">": lambda left, right: int(left > right),
    "<=": lambda left, right: int(left <= right),
    ">=": lambda left, right: int(left >= right),
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
}


class NotComputed(Exception):  # noqa: N818 - nothing went wrong: only the run knows
    """What an expression comes to is known only at run time."""


class Variables(Protocol):
    """What an expression reads and changes."""

    def text(self, name: str, index: str | None) -> str | None:
        """Return what a variable or an element holds; None where that is not known."""
        ...

    def assign(self, name: str, index: str | None, text: str) -> None:
        """Set a variable or an element."""
        ...


def assigned_in(expression: str) -> list[str]:
    """Return the names that an expression may change."""
    return [found[1] or found[2] for found in _ASSIGNED.finditer(expression)]


def computed(expression: str, variables: Variables, budget: Budget, depth: int = 0) -> int:
    """Return what an expression comes to; raise NotComputed where that is not known."""
    return _Computation(expression, variables, budget, depth).whole()


class _Computation:
    """One expression on the way; `live` is false in a part that is only passed over."""

    def __init__(self, text: str, variables: Variables, budget: Budget, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise NotComputed
        self._text = text
        self._variables = variables
        self._budget = budget
        self._depth = depth
        self._nested = 0
        self._position = 0
        self._kind = ""
        self._token = ""
        self._live = True
        self._advance()

    def whole(self) -> int:
        if not self._kind:
            return 0
        value = self._listed()
        if self._kind:
            raise NotComputed
        return value

    def _advance(self) -> None:
        self._budget.spend()
        found = _TOKEN.match(self._text, self._position)
        if found is None:
            if self._text[self._position :].strip():
                raise NotComputed
            self._kind = self._token = ""
            return
        self._kind = found.lastgroup or ""
        self._token = found[self._kind]
        self._position = found.end()

    def _took(self, *operators: str) -> str:
        if self._kind != "operator" or self._token not in operators:
            return ""
        taken = self._token
        self._advance()
        return taken

    def _listed(self) -> int:
        value = self._chosen()
        while self._took(","):
            value = self._chosen()
        return value

    def _chosen(self) -> int:
        """`a ? b : c`; only one of the two has effects."""
        condition = self._binary(0)
        if not self._took("?"):
            return condition
        first = self._while_live(self._chosen, bool(condition))
        if not self._took(":"):
            raise NotComputed
        second = self._while_live(self._chosen, not condition)
        return first if condition else second

    def _while_live(self, part: Callable[[], int], live: bool) -> int:  # noqa: FBT001 - a condition
        before, self._live = self._live, self._live and live
        value = part()
        self._live = before
        return value

    def _binary(self, rank: int) -> int:
        left = self._power()
        while self._kind == "operator" and _RANKS.get(self._token, -1) >= rank:
            operator = self._token
            self._advance()
            following = _RANKS[operator] + 1
            if operator in {"&&", "||"}:
                needed = bool(left) == (operator == "&&")
                right = self._while_live(lambda rank=following: self._binary(rank), needed)
                left = int(bool(left and right) if operator == "&&" else bool(left or right))
            else:
                left = self._applied(operator, left, self._binary(following))
        return left

    def _power(self) -> int:
        value = self._unary()
        if not self._took("**"):
            return value
        exponent = self._power()
        if not 0 <= exponent <= _MAX_SHIFT:
            raise NotComputed
        return _within(value**exponent)

    def _applied(self, operator: str, left: int, right: int) -> int:
        if operator in {"/", "%"}:
            if not right:
                if self._live:
                    raise NotComputed
                return 0
            quotient = abs(left) // abs(right)
            quotient = quotient if (left < 0) == (right < 0) else -quotient
            return quotient if operator == "/" else left - quotient * right
        if operator in {"<<", ">>"}:
            if not 0 <= right <= _MAX_SHIFT:
                raise NotComputed
            return _within(left << right) if operator == "<<" else left >> right
        return _within(_COMPUTED[operator](left, right))

    def _unary(self) -> int:
        operator = self._took("!", "~", "+", "-", "++", "--")
        if operator in {"++", "--"}:
            if self._kind != "name":
                raise NotComputed
            return self._changed(*self._target(), "+" if operator == "++" else "-", 1)
        if operator:
            self._nested += 1
            if self._nested > _MAX_DEPTH:
                raise NotComputed
            value = self._unary()
            self._nested -= 1
            return _within({"!": int(not value), "~": ~value, "+": value, "-": -value}[operator])
        return self._operand()

    def _operand(self) -> int:
        if self._took("("):
            self._nested += 1
            if self._nested > _MAX_DEPTH:
                raise NotComputed
            value = self._listed()
            self._nested -= 1
            if not self._took(")"):
                raise NotComputed
            return value
        if self._kind == "number":
            value = _number(self._token)
            self._advance()
            return value
        if self._kind != "name":
            raise NotComputed
        return self._variable()

    def _variable(self) -> int:
        name, index = self._target()
        if self._kind == "operator" and self._token in _ASSIGNMENTS:
            operator = self._token[:-1]
            self._advance()
            value = self._chosen()
            if not operator:
                return self._set(name, index, value)
            return self._changed(name, index, operator, value)
        step = self._took("++", "--")
        value = self._value(name, index)
        if step:
            self._set(name, index, self._applied(step[0], value, 1))
        return value

    def _target(self) -> tuple[str, str | None]:
        """Return the name that stands here, and what stands in brackets behind it."""
        name = self._token
        if not self._text.startswith("[", self._position):
            self._advance()
            return name, None
        start = self._position + 1
        depth = 1
        end = start
        while end < len(self._text) and depth:
            depth += {"[": 1, "]": -1}.get(self._text[end], 0)
            end += 1
        if depth:
            raise NotComputed
        self._position = end
        self._advance()
        return name, self._text[start : end - 1]

    def _changed(self, name: str, index: str | None, operator: str, right: int) -> int:
        return self._set(name, index, self._applied(operator, self._value(name, index), right))

    def _set(self, name: str, index: str | None, value: int) -> int:
        if self._live:
            self._variables.assign(name, index, str(value))
        return value

    def _value(self, name: str, index: str | None) -> int:
        """What a variable holds is an expression again."""
        if not self._live:
            return 0
        text = self._variables.text(name, index)
        if text is None:
            raise NotComputed
        if text.isascii() and text.isdigit() and text[0] != "0":
            return _within(int(text))
        return computed(text, self._variables, self._budget, self._depth + 1)


def _within(value: int) -> int:
    """Return a number that fits; what the machine makes of others is not guessed."""
    if not -_LARGEST <= value < _LARGEST:
        raise NotComputed
    return value


def _number(text: str) -> int:
    radix, mark, digits = text.partition("#")
    if "_" in text:
        raise NotComputed
    try:
        if mark:
            # Beyond 36 letters of both cases are different digits.
            return _within(int(digits, _small(int(radix))))
        if text[:2] in {"0x", "0X"}:
            return _within(int(text, 16))
        return _within(int(text, 8 if text[0] == "0" else 10))
    except ValueError as error:
        raise NotComputed from error


def _small(radix: int) -> int:
    if not 2 <= radix <= 36:
        raise NotComputed
    return radix
