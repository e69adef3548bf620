"""Who is asking: tokens, of which the ledger knows only the digest."""

from __future__ import annotations

import hashlib
import secrets

from interlock.errors import NotPermittedError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.rows import CredentialRow
from interlock.ports import Rows
from interlock.service.records.context import Context, checked_name

_KINDS = (PrincipalKind.OPERATOR, PrincipalKind.AGENT)


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def token_digest(token: str) -> str:
    """Return what the ledger knows of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def authenticated(rows: Rows, token: str | None) -> Principal:
    """Return whose token this is; raise NotPermittedError if it is nobody's."""
    if token is None:
        raise NotPermittedError(
            "no credential was given: only an operator may do this; set `INTERLOCK_TOKEN`, or"
            " make one with `interlock ledger operator NAME`"
        )
    row = rows.credential(token_digest(token))
    if row is None:
        raise NotPermittedError("the credential is not known to this ledger")
    return Principal(kind=PrincipalKind(row.kind), name=row.name)


def require_operator(actor: Principal) -> Principal:
    """Return the actor if it is an operator; raise NotPermittedError otherwise."""
    if actor.kind is not PrincipalKind.OPERATOR:
        raise NotPermittedError(
            f"{actor.kind.value} `{actor.name}` may not do this: only an operator may"
        )
    return actor


def grant(
    context: Context, *, kind: PrincipalKind, name: str, token: str, by: Principal | None
) -> Work[CredentialRow]:
    """Return the work of letting somebody in.

    The first operator lets themselves in; everybody after that is let in by an operator.
    """
    checked_name("name", name)
    if kind not in _KINDS:
        raise NotPermittedError(f"a {kind.value} needs no credential")

    def plan(transaction: Transaction) -> CredentialRow:
        if by is not None:
            require_operator(by)
        elif any(
            row.kind == PrincipalKind.OPERATOR.value for row in context.ledger.rows.credentials()
        ):
            raise NotPermittedError(
                "this ledger has an operator: only an operator may let others in"
            )
        row = CredentialRow(token_digest(token), kind.value, name, context.clock.now())
        transaction.put_credential(row)
        return row

    return Work(plan, locks=("credentials",))
