"""How much is tried: one short round in `make test`, everything at length with INTERLOCK_SOAK=1."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

SOAK: Final = "INTERLOCK_SOAK" in os.environ

DURABLE: Final = ("sqlite", "postgres") if SOAK else ("sqlite",)
"""The stores to go through above the ledger, whose contract every store keeps in any case."""
LOCAL: Final = ("memory", "sqlite") if SOAK else ("sqlite",)
"""The same for what needs no server and opens its ledger once."""

_FAILED: Final = Path(".hypothesis/examples")
_MATTERS_OF_CHANCE: Final = (
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
)


def rounds(*, short: int, soak: int) -> int:
    """Return how often something long is done."""
    return soak if SOAK else short


def examples(short: int, *, soak: int) -> settings:
    """Return the settings of a law that needs another number of examples than most."""
    return settings(max_examples=rounds(short=short, soak=soak))


def load_profile() -> None:
    """Make Hypothesis the same wherever it runs, whatever it finds in the environment.

    The short round always tries the same examples, so that it fails because of a change and not
    by chance; the long one looks for new ones and remembers what failed. Neither is failed by a
    busy machine, or by how many examples were of no use.
    """
    settings.register_profile(
        "interlock",
        max_examples=rounds(short=20, soak=500),
        deadline=None,
        derandomize=not SOAK,
        database=DirectoryBasedExampleDatabase(_FAILED) if SOAK else None,
        print_blob=True,
        suppress_health_check=_MATTERS_OF_CHANCE,
    )
    settings.load_profile("interlock")
