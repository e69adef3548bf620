"""Who asks, and who made something happen: an agent, an operator, or Interlock itself."""

from __future__ import annotations

import enum
from typing import Final

import msgspec


class PrincipalKind(enum.Enum):
    """Who can make things happen."""

    AGENT = "agent"
    OPERATOR = "operator"
    SYSTEM = "system"


class Principal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whoever made it happen, by what they showed."""

    kind: PrincipalKind
    name: str
    credential: str | None = None
    """Which credential was shown, by its id and never by its token; None where none was."""


SYSTEM: Final = Principal(kind=PrincipalKind.SYSTEM, name="interlock")


def agent_named(name: str) -> Principal:
    """Return an agent that showed no credential."""
    return Principal(kind=PrincipalKind.AGENT, name=name)
