"""Each generated command is decided as its area says."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from generated.cases import Case, wrong

AREAS = sorted(path.stem for path in Path(__file__).parent.glob("*_cases.py"))
LEAST = 3_000


@pytest.mark.parametrize("area", AREAS)
def test_every_case_of_the_area_is_decided_as_it_says(area: str):
    assert wrong(_cases(area)) == []


def test_there_are_thousands_of_distinct_cases():
    distinct = {case.command for area in AREAS for case in _cases(area)}

    assert len(distinct) >= LEAST


def _cases(area: str) -> list[Case]:
    return list(import_module(f"generated.{area}").cases())
