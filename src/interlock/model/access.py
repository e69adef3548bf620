"""Operators and tokens as they are listed, without their secrets."""

from __future__ import annotations

import msgspec

from interlock.model.glance import Glance, Glanced
from interlock.model.principal import Scope


class Operator(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who may decide."""

    name: str
    method: str
    """How they prove who they are."""
    since: int
    """Microseconds since 1970, UTC."""
    credential: str
    """What the record calls their credential."""


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """What a program proves itself with, by what the record calls it."""

    name: str
    scope: Scope
    since: int
    """Microseconds since 1970, UTC."""
    credential: str


class NewOperator(Glanced, msgspec.Struct, frozen=True, kw_only=True):
    """An operator whose passphrase is new, with a code that is shown this once."""

    name: str
    recovery_code: str
    """Gives them another passphrase: to be kept away from this computer."""

    def _glance(self) -> Glance:
        return Glance(f"{self.name}: `recovery_code` is shown only where it is asked for")
