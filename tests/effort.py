"""How much is tried: one short round in `make test`, everything at length with INTERLOCK_SOAK=1."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, settings

SOAK: Final = "INTERLOCK_SOAK" in os.environ

DURABLE: Final = ("sqlite", "postgres") if SOAK else ("sqlite",)
"""The stores to go through above the ledger, whose contract every store keeps in any case."""


def rounds(*, short: int, soak: int) -> int:
    """Return how often something long is done."""
    return soak if SOAK else short


def examples(short: int, *, soak: int) -> settings:
    """Return the settings of a law that needs another number of examples than most."""
    return settings(max_examples=rounds(short=short, soak=soak))


def load_profile() -> None:
    """Make Hypothesis the same wherever it runs, whatever it finds in the environment.

    The short round always tries the same examples, so that it fails because of a change and not
    by chance; the long one looks for new ones and remembers what failed. A busy machine fails
    neither.
    """
    settings.register_profile(
        "short",
        max_examples=30,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.register_profile(
        "soak",
        max_examples=500,
        deadline=None,
        derandomize=False,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("soak" if SOAK else "short")
