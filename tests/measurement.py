"""Which tests the coverage bar counts; all others run at their own speed.

Measuring makes everything two or three times as slow. It is about what decides without doing, so
it is left to the tests that call that by its name: not to those of what stands above it, not to
laws, because what only chance reaches is not tested, and not to what is about large inputs. Nor
does it see what pytest does before, between and after them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from functools import _lru_cache_wrapper  # pyright: ignore[reportPrivateUsage] - there is no public name
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Final

import pytest
from coverage import Coverage

_TESTS: Final = Path(__file__).parent
_PLAIN: Final = frozenset(
    "commands evidence gates model policy reviews secrets steps stops undo_snapshots".split()
)
_MEASURED: Final = tuple(f"interlock.{name}" for name in "commands model policy secrets".split())


class Measurement:
    """What is measured of one process: what its tests do, not what pytest does for them."""

    def __init__(self, coverage: Coverage | None) -> None:
        """Take over from whoever began to measure; a process that runs tests does this first."""
        self._coverage = coverage
        # To stop and to start as coverage does takes longer than most tests.
        self._tracer = sys.gettrace()
        self._is_on = coverage is not None
        if self._is_on:
            _load_everything()
            _leave_children_alone()
            sys.settrace(None)

    @classmethod
    def left_to_workers(cls) -> Measurement:
        """Measure nothing of a process that only leads others; they are told what it was told."""
        if (coverage := Coverage.current()) is not None:
            coverage.stop()
        return cls(None)

    def turn_to(self, item: pytest.Item) -> None:
        """Measure what this test does if it counts, and only then."""
        wanted = _counts(item)
        if self._coverage is None or wanted == self._is_on:
            return
        if wanted:
            _forget_results()
            self._coverage.start()
            _leave_children_alone()
            self._tracer = sys.gettrace()
            sys.settrace(None)
        else:
            self._coverage.stop()
        self._is_on = wanted

    @contextmanager
    def of_what_counts(self) -> Generator[None]:
        """Measure meanwhile, unless the test that was turned to does not count."""
        if not self._is_on:
            yield
            return
        before = sys.gettrace()
        sys.settrace(self._tracer)
        try:
            yield
        finally:
            sys.settrace(before)


def _leave_children_alone() -> None:
    """Children cost far more when they are measured, and tell nothing that counts."""
    for name in [name for name in os.environ if name.startswith("COVERAGE_PROCESS")]:
        del os.environ[name]


def _load_everything() -> None:
    """Load what is measured: what a test loads that does not count would never be seen loading."""
    for package in map(import_module, _MEASURED):
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(found.name)


def _forget_results() -> None:
    """Empty the caches: what a test of before had worked out would never run measured."""
    modules = [module for name, module in sys.modules.items() if name.startswith(_MEASURED)]
    for value in [value for module in modules for value in vars(module).values()]:
        if isinstance(value, _lru_cache_wrapper):
            value.cache_clear()


def _counts(item: pytest.Item) -> bool:
    folder = item.path.relative_to(_TESTS).parts[0]
    is_left_out = any(item.get_closest_marker(name) for name in ("hypothesis", "large"))
    return folder in _PLAIN and not is_left_out
