"""Who asks, and who made something happen, by what they showed."""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import Final

import msgspec

from interlock.model.entrance import Argument


class PrincipalKind(enum.StrEnum):
    """Who can make things happen."""

    AGENT = "agent"
    VIEWER = "viewer"
    """Somebody who may look at everything, and changes nothing."""
    OPERATOR = "operator"
    """A person who proved it: nobody else decides."""
    ADMIN = "admin"
    """An operator who may change policies and credentials too; on record they act as operator."""
    PERSON = "person"
    """Whoever a client heard at its own prompt: their word counts, and decides nothing."""
    USER = "user"
    """An account of the operating system, of which nothing more is known."""
    SYSTEM = "system"


class Principal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, metaclass=Argument):
    """Whoever made it happen, by what they showed."""

    kind: PrincipalKind
    name: str
    credential: str | None = None
    """Which credential was shown, by its id and never by its token; None where none was."""


class CredentialMethod(enum.StrEnum):
    """How somebody proves who they are."""

    PASSPHRASE = "passphrase"  # noqa: S105 - the name of a method
    """An operator types it; the token is derived from it and stored nowhere."""
    RECOVERY_CODE = "recovery-code"
    """An operator kept it elsewhere; it gives them another passphrase, and decides nothing."""
    TOKEN = "token"  # noqa: S105 - the name of a method
    """A program has it in its environment: an agent's decides nothing."""
    SESSION = "session"
    """A browser has it for some hours, after its person proved who they are."""


class Scope(enum.StrEnum):
    """What a credential is good for."""

    AGENT = "agent"
    """To ask and to report, in runs of its own."""
    VIEWER = "viewer"
    """To look at everything."""
    OPERATOR = "operator"
    """To decide, to let runs go on, to set budgets; and to look."""
    ADMIN = "admin"
    """To change policies and credentials; and all that an operator may."""

    def covers(self, needed: Scope) -> bool:
        """Whether this is enough where the other one is needed."""
        return needed in _COVERED[self]


_COVERED: Final = {
    Scope.AGENT: frozenset((Scope.AGENT,)),
    Scope.VIEWER: frozenset((Scope.VIEWER,)),
    Scope.OPERATOR: frozenset((Scope.VIEWER, Scope.OPERATOR)),
    Scope.ADMIN: frozenset((Scope.VIEWER, Scope.OPERATOR, Scope.ADMIN)),
}


class PassphraseCost(msgspec.Struct, frozen=True, kw_only=True):
    """What scrypt is told besides the passphrase."""

    salt: str
    """Random, in hexadecimal digits."""
    n: int
    r: int = 8
    p: int = 1


SYSTEM: Final = Principal(kind=PrincipalKind.SYSTEM, name="interlock")


@lru_cache(maxsize=1024)
def agent_named(name: str) -> Principal:
    """Return an agent that showed no credential."""
    return Principal(kind=PrincipalKind.AGENT, name=name)


def person_at(client: str) -> Principal:
    """Return whoever spoke at the prompt of a client."""
    return Principal(kind=PrincipalKind.PERSON, name=client)
