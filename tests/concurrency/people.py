"""Who has a credential."""

from __future__ import annotations

from interlock import Interlock
from interlock.model.principal import Principal, PrincipalKind
from interlock.service.credentials import CredentialGrant, authenticated, new_token


def operator(interlock: Interlock, name: str = "ada", *, by: str | None = None) -> str:
    """Return the token of somebody who may decide; only the first needs nobody's leave."""
    return _token(interlock, PrincipalKind.OPERATOR, name, by)


def agent(interlock: Interlock, name: str = "mole", *, by: str) -> str:
    """Return the token of an agent, let in by an operator."""
    return _token(interlock, PrincipalKind.AGENT, name, by)


def _token(interlock: Interlock, kind: PrincipalKind, name: str, by: str | None) -> str:
    token = new_token()
    actor = None if by is None else _whose(interlock, by)
    interlock.governor.answer(CredentialGrant(kind=kind, name=name, token=token), actor)
    return token


def _whose(interlock: Interlock, token: str) -> Principal:
    return authenticated(interlock.ledger.rows, token)
