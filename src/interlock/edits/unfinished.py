"""Is anything in a store not finished? Asked whenever a ledger is opened, so it loads nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from interlock.errors import EditError

PENDING: Final = "pending"
"""The folder of a store in which sets are that are not finished."""


def has_unfinished(store: Path) -> bool:
    """Whether there is a set that is not finished, or that somebody works on."""
    try:
        return any((store / PENDING).iterdir())
    except FileNotFoundError:
        return False
    except OSError as error:
        raise EditError(f"the store `{store}` cannot be used: {error}") from error
