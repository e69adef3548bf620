"""What holds for every line, however it is written."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Final

import pytest

from effort import rounds
from generated.cases import CWD, decision
from generated.rewrites import LONGER, SAME, WEAKER, Rewrite
from interlock import Decision, evaluate_command

_STEP: Final = rounds(short=240, soak=1)
"""Every which line is tried in each way."""
_FEW: Final = 20
_CREDENTIAL: Final = "{{gen:"
"""A credential is found by how it is written, not by what a shell makes of it."""


@pytest.mark.parametrize("way", SAME)
def test_another_way_to_write_a_line_never_changes_the_decision(way: str):
    changed = [
        (line, other)
        for line, other in _rewritten(SAME, way)
        if decision(other) is not decision(line)
    ]

    assert changed == []


@pytest.mark.parametrize("way", LONGER)
def test_what_is_harmless_beside_a_line_never_weakens_the_decision(way: str):
    weakened = [
        (line, other) for line, other in _rewritten(LONGER, way) if decision(other) < decision(line)
    ]

    assert weakened == []


@pytest.mark.parametrize("way", WEAKER)
def test_a_line_that_only_tells_what_it_would_do_asks_nobody(way: str):
    asking = [
        (line, other)
        for line, other in _rewritten(WEAKER, way)
        if decision(other) > min(decision(line), Decision.WARN)
    ]

    assert asking == []


def test_two_ways_one_after_the_other_never_change_the_decision():
    pairs = cycle([(first, second) for second in SAME.values() for first in SAME.values()])
    tried: list[tuple[str, str]] = []
    for line, (first, second) in zip(_lines()[:: _STEP // 4 or 1], pairs, strict=False):
        once = first(line)
        twice = None if once is None else second(once)
        if twice is not None:
            tried.append((line, twice))

    assert len(tried) >= _FEW
    assert [each for each in tried if decision(each[1]) is not decision(each[0])] == []


@pytest.mark.parametrize("damage", ["|", "| #", "(", "$(", "`", '"', "<<", ">(", "\\", " $X ", "{"])
def test_a_line_that_breaks_off_or_is_damaged_breaks_no_gate(damage: str):
    found: list[tuple[str, str]] = []
    for line in _lines()[::_STEP]:
        middle = len(line) // 2
        for other in (f"{line[:middle]}{damage}", f"{line[:middle]}{damage}{line[middle:]}"):
            findings = evaluate_command(other, cwd=CWD).findings
            found += [(other, each.rule) for each in findings if each.rule.endswith(".broken")]

    assert found == []


def _rewritten(ways: Mapping[str, Rewrite], way: str) -> Iterator[tuple[str, str]]:
    """Yield lines and the same lines written otherwise; a way that fits hardly any is an error."""
    start = list(ways).index(way) % _STEP
    found = list(_written(ways[way], _lines()[start::_STEP]))
    if len(found) < _FEW:
        fitting = list(_written(ways[way], _lines()))
        found = fitting[:: len(fitting) // (3 * _FEW) or 1]
    assert len(found) >= _FEW
    yield from found


def _written(way: Rewrite, lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((line, other) for line in lines if (other := way(line)) is not None)


@cache
def _lines() -> Sequence[str]:
    """Return the lines of the corpus and of every area, in one order."""
    here = Path(__file__).parent
    lines: list[str] = []
    for file in sorted((here.parent / "cases").glob("commands-*.toml")):
        cases = tomllib.loads(file.read_text("utf-8"))["case"]
        lines += [case["command"] for case in cases if _CREDENTIAL not in case["command"]]
    for file in sorted(here.glob("*_cases.py")):
        lines += [case.command for case in import_module(f"generated.{file.stem}").cases()]
    return list(dict.fromkeys(lines))
