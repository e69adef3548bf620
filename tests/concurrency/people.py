"""Who has a credential."""

from __future__ import annotations

from interlock import Interlock
from service.ledgers import CHEAP, PASSPHRASE, operator_of


def operator(interlock: Interlock, name: str = "ada", *, by: str | None = None) -> str:
    """Return the token of somebody who may decide; only the first needs nobody's leave."""
    if by is None:
        return operator_of(interlock, name)
    interlock.add_operator(name, PASSPHRASE, token=by, cost=CHEAP)
    return interlock.unlock(name, PASSPHRASE)


def agent(interlock: Interlock, name: str = "mole", *, by: str) -> str:
    """Return the token of an agent, let in by an operator."""
    return interlock.add_agent(name, token=by)
