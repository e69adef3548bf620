"""Credentials made up at test time: templates in, token-shaped text out, the same for a seed.

Two notations are read. A template, as in a rule's `example`, is literal text in which a
character class such as `[A-Z0-9]`, with or without a count `{16}` or `{8,12}`, stands for
random characters; backslashes escape as usual. A pattern, as in a rule's `token`, may also
hold groups, alternatives and the quantifiers of a regular expression.
"""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from interlock.secrets.credential_rules import SecretRule

_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
_SHORTHANDS = {"d": string.digits, "w": string.ascii_letters + string.digits + "_", "s": " "}
_LONGEST_EXTRA = 8


def from_template(template: str, seed: int | str) -> str:
    """Expand a template: classes and counts are special, everything else is literal."""
    chance = random.Random(f"{seed}:{template}")
    parts: list[str] = []
    place = 0
    while place < len(template):
        if template[place] == "\\" and place + 1 < len(template):
            parts.append(_ESCAPES.get(template[place + 1], template[place + 1]))
            place += 2
        elif template[place] == "[" and (closing := _closing_bracket(template, place)) > 0:
            characters = _characters(template[place + 1 : closing])
            count, place = _count(template, closing + 1, chance)
            parts.append("".join(chance.choice(characters) for _ in range(count)))
        else:
            parts.append(template[place])
            place += 1
    return "".join(parts)


def from_pattern(pattern: str, seed: int | str) -> str:
    """Expand a pattern into a text that it matches."""
    chance = random.Random(f"{seed}:{pattern}")
    text, end = _alternatives(pattern, 0, chance)
    if end != len(pattern):
        raise ValueError(f"cannot expand `{pattern}` from position {end} on")
    return text


def examples_of(rule: SecretRule, seed: int | str) -> list[str]:
    """Return one text per example of a rule, each with one credential of its kind."""
    return [expand(seed) for expand in _expanders(rule)]


def _expanders(rule: SecretRule) -> Iterator[Callable[[int | str], str]]:
    written = (rule.example,) if isinstance(rule.example, str) else rule.example
    for example in written or (rule.token or rule.value,):
        derived = f">{example})" in rule.regex
        make = from_pattern if derived else from_template
        prefix = _vendor_prefix(rule) if derived else ""
        yield lambda seed, make=make, example=example, prefix=prefix: prefix + make(example, seed)


def _vendor_prefix(rule: SecretRule) -> str:
    """Return `vendor_key=` for a rule whose credential is known by the name it carries."""
    if rule.form.value != "named":
        return ""
    return f"{rule.literals[0].strip('_-. ')}_key="


@cache
def _closing_bracket(text: str, opening: int) -> int:
    place = opening + 1
    while place < len(text):
        if text[place] == "\\":
            place += 1
        elif text[place] == "]" and place > opening + 1:
            return place
        place += 1
    return -1


@cache
def _characters(inside: str) -> Sequence[str]:
    if inside.startswith("^"):
        return sorted(set(string.ascii_letters + string.digits) - set(inside))
    found: list[str] = []
    place = 0
    while place < len(inside):
        if inside[place] == "\\":
            shorthand = inside[place + 1]
            found.extend(_SHORTHANDS.get(shorthand, _ESCAPES.get(shorthand, shorthand)))
            place += 2
        elif inside[place + 1 : place + 2] == "-" and place + 2 < len(inside):
            found.extend(map(chr, range(ord(inside[place]), ord(inside[place + 2]) + 1)))
            place += 3
        else:
            found.append(inside[place])
            place += 1
    return found


def _count(text: str, place: int, chance: random.Random) -> tuple[int, int]:
    closing = text.find("}", place)
    bounds = text[place + 1 : closing].split(",")
    if text[place : place + 1] != "{" or not all(b.isdigit() or not b for b in bounds):
        return 1, place
    least = int(bounds[0] or 0)
    most = int(bounds[-1]) if bounds[-1] else least + _LONGEST_EXTRA
    return chance.randint(least, min(most, least + _LONGEST_EXTRA)), closing + 1


def _alternatives(pattern: str, place: int, chance: random.Random) -> tuple[str, int]:
    branches: list[str] = []
    while True:
        text, place = _sequence(pattern, place, chance)
        branches.append(text)
        if pattern[place : place + 1] != "|":
            return chance.choice(branches), place
        place += 1


def _sequence(pattern: str, place: int, chance: random.Random) -> tuple[str, int]:
    parts: list[str] = []
    while place < len(pattern) and pattern[place] not in "|)":
        once, end = _atom(pattern, place, chance)
        count, after = _quantifier(pattern, end, chance)
        parts.extend(_atom(pattern, place, chance)[0] for _ in range(count - 1))
        parts.append(once if count else "")
        place = after
    return "".join(parts), place


def _atom(pattern: str, place: int, chance: random.Random) -> tuple[str, int]:
    match pattern[place]:
        case "(":
            inside = place + (3 if pattern.startswith("(?:", place) else 1)
            inside = place + 4 if pattern.startswith("(?i:", place) else inside
            text, end = _alternatives(pattern, inside, chance)
            return text, end + 1
        case "[":
            closing = _closing_bracket(pattern, place)
            return chance.choice(_characters(pattern[place + 1 : closing])), closing + 1
        case "\\":
            escaped = pattern[place + 1]
            return chance.choice(
                _SHORTHANDS.get(escaped, _ESCAPES.get(escaped, escaped))
            ), place + 2
        case character:
            return character, place + 1


def _quantifier(pattern: str, place: int, chance: random.Random) -> tuple[int, int]:
    match pattern[place : place + 1]:
        case "?":
            return chance.randint(0, 1), place + 1
        case "*":
            return chance.randint(0, _LONGEST_EXTRA), place + 1
        case "+":
            return chance.randint(1, _LONGEST_EXTRA), place + 1
        case _:
            return _count(pattern, place, chance)
