"""Commands made from grammar and manuals, with what the gateway has to say to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Literal, TypeAlias

from interlock import Decision, evaluate_command

Expected: TypeAlias = Literal["asks", "warns", "free"]

CWD = "/home/dev/app"


@dataclass(frozen=True, slots=True)
class Case:
    """A line, and what has to be said to it: at least a question or a warning, or no question."""

    command: str
    expected: Expected


def filled(template: str, expected: Expected, **choices: Iterable[str]) -> Iterator[Case]:
    """Yield the template with each choice in each of its `<name>` places."""
    for values in product(*choices.values()):
        line = template
        for name, value in zip(choices, values, strict=True):
            line = line.replace(f"<{name}>", value)
        yield Case(line, expected)


def asked(*templates: str, **choices: Iterable[str]) -> Iterator[Case]:
    """Yield what must wait for a person, or be refused."""
    for template in templates:
        yield from filled(template, "asks", **choices)


def warned(*templates: str, **choices: Iterable[str]) -> Iterator[Case]:
    """Yield what must at least be warned of."""
    for template in templates:
        yield from filled(template, "warns", **choices)


def free(*templates: str, **choices: Iterable[str]) -> Iterator[Case]:
    """Yield what must not wait for anybody."""
    for template in templates:
        yield from filled(template, "free", **choices)


@cache
def decision(line: str) -> Decision:
    """Return what the built-in policy says to the line."""
    return evaluate_command(line, cwd=CWD).decision


def is_right(case: Case, decided: Decision) -> bool:
    """Whether the decision is the one that the case asks for."""
    match case.expected:
        case "asks":
            return decided >= Decision.REQUIRE_CONFIRMATION
        case "warns":
            return decided >= Decision.WARN
        case "free":
            return decided <= Decision.WARN


def wrong(cases: Iterable[Case]) -> list[str]:
    """Return the cases that are decided otherwise, as readable lines."""
    decided = ((case, decision(case.command)) for case in cases)
    return [
        f"{case.command!r}: {said.value}, where {case.expected} is right"
        for case, said in decided
        if not is_right(case, said)
    ]
