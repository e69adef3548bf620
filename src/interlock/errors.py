"""Every error Interlock raises on purpose.

    InterlockError
    ├── PolicyError         a policy file that does not load; carries every complaint at once
    └── InputError          what a caller handed over cannot be read

A refusal is not an error: it is a verdict, and a verdict is a value.
"""

from __future__ import annotations

from collections.abc import Sequence


class InterlockError(Exception):
    """The root: catch this at a door."""


class PolicyError(InterlockError):
    """A policy does not load; `complaints` holds one sentence per mistake."""

    def __init__(self, complaints: Sequence[str]) -> None:
        self.complaints = tuple(complaints)
        super().__init__("\n".join(self.complaints))


class InputError(InterlockError):
    """A caller's input cannot be read; the message says where and what to do."""
