"""What reviews are held by where nothing else is said."""

from __future__ import annotations

import msgspec

from interlock.model.review import LONGEST_TIMEOUT_S, MOST_ATTEMPTS, Check, refuse_number

MOST_HINTS = 50
MOST_TAIL = 1024 * 1024


class ReviewSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Every limit of reviews; InputError for what no review can be held against."""

    max_attempts: int = 2
    """For gates that say nothing else."""
    max_resets: int = 3
    """How often a person may give one review its attempts once more."""
    most_hints: int = 3
    """How many criteria the guidance shows unless all are asked for."""
    check_timeout_s: int = 120
    """For checks that say nothing else."""
    check_tail_bytes: int = 8 * 1024
    """How much of the end of a check's output is kept."""

    def __post_init__(self) -> None:
        bounds = {
            "max_attempts": (1, MOST_ATTEMPTS),
            "max_resets": (0, MOST_ATTEMPTS),
            "most_hints": (0, MOST_HINTS),
            "check_timeout_s": (1, LONGEST_TIMEOUT_S),
            "check_tail_bytes": (0, MOST_TAIL),
        }
        for name, (least, most) in bounds.items():
            refuse_number("reviews", name, getattr(self, name), least=least, most=most)

    def timeout_s_of(self, check: Check) -> int:
        """Return how long a check may run."""
        return self.check_timeout_s if check.timeout_s is None else check.timeout_s
