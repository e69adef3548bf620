"""Who is asking: principals, by tokens of which the ledger knows only the digest."""

from __future__ import annotations

import hashlib
import secrets
from typing import Final

import msgspec

from interlock.errors import NotPermittedError
from interlock.ledger.ledger import Work
from interlock.ledger.transaction import Transaction
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.rows import CredentialRow
from interlock.ports import Rows
from interlock.service.questions.question import Asking, Decided
from interlock.service.records.context import checked_name

_KINDS: Final = (PrincipalKind.OPERATOR, PrincipalKind.AGENT)
_ID_LENGTH: Final = 12


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
    digest = token_digest(token)
    row = rows.credential(digest)
    if row is None:
        raise NotPermittedError("the credential is not known to this ledger")
    kind = PrincipalKind(row.kind)
    return Principal(kind=kind, name=row.name, credential=digest[:_ID_LENGTH])


def require_operator(principal: Principal | None) -> Principal:
    """Return the principal if it is an operator; raise NotPermittedError otherwise."""
    if principal is None:
        raise NotPermittedError("nobody is named who does this: only an operator may")
    if principal.kind is not PrincipalKind.OPERATOR:
        raise NotPermittedError(
            f"{principal.kind.value} `{principal.name}` may not do this: only an operator may"
        )
    return principal


class CredentialGrant(msgspec.Struct, frozen=True, kw_only=True):
    """May somebody be let in?

    The first operator lets themselves in; everybody after that is let in by an operator.
    """

    kind: PrincipalKind
    name: str
    token: str

    def prepare(self, asking: Asking) -> Work[Decided[CredentialRow]]:
        """Look at who is let in."""
        context, by = asking.runs.context, asking.principal
        checked_name("name", self.name)
        if self.kind not in _KINDS:
            raise NotPermittedError(f"a {self.kind.value} needs no credential")

        def decide(transaction: Transaction) -> CredentialRow:
            if by is not None:
                require_operator(by)
            elif any(
                row.kind == PrincipalKind.OPERATOR.value
                for row in context.ledger.rows.credentials()
            ):
                raise NotPermittedError(
                    "this ledger has an operator: only an operator may let others in"
                )
            row = CredentialRow(
                token_digest(self.token), self.kind.value, self.name, context.clock.now()
            )
            transaction.put_credential(row)
            return row

        return Work(decide, locks=("credentials",))
