"""Who proves to be whom: tokens, the passphrases that they follow from, and codes to begin anew.

The ledger knows digests only. An operator's token is stored nowhere: it is derived from a
passphrase whenever it is needed. An agent's token is random and stands in its environment.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import unicodedata
from typing import Final, NamedTuple

import msgspec

from interlock.errors import InputError, NotPermittedError
from interlock.ledger.ledger import Ledger
from interlock.ledger.transaction import sealed_credential
from interlock.model.principal import (
    CredentialMethod,
    PassphraseCost,
    Principal,
    PrincipalKind,
    Scope,
)
from interlock.model.rows import CredentialRow
from interlock.model.run import LEDGER_RUN

USUAL_COST: Final = 2**16
"""How much work scrypt makes of a passphrase: about a fifth of a second, and 64 MiB."""
_LEAST_COST, _MOST_COST = 2, 2**20
SESSION_S: Final = 12 * 60 * 60
"""How long a browser stays signed in."""
_SALT_BYTES: Final = 16
_ID_LENGTH: Final = 12
_SHORTEST: Final = 12
_LONGEST: Final = 1024
_CODE_ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CODE_GROUPS, _CODE_GROUP = 7, 4
_MISREAD: Final = str.maketrans("OIL", "011", " -\t")
_COST_DECODER: Final = msgspec.json.Decoder(PassphraseCost)


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(32)


def token_digest(token: str) -> str:
    """Return what the ledger knows of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def credential_id(digest: str) -> str:
    """Return what a credential is called on the record."""
    return digest[:_ID_LENGTH]


def new_recovery_code() -> str:
    """Return 140 random bits in letters and digits that can be written down and read again."""
    groups = (
        "".join(secrets.choice(_CODE_ALPHABET) for _ in range(_CODE_GROUP))
        for _ in range(_CODE_GROUPS)
    )
    return "-".join(groups)


def code_digest(code: str) -> str:
    """Return what the ledger knows of a recovery code, however it was typed."""
    return token_digest(f"recovery code {code.upper().translate(_MISREAD)}")


def new_cost(n: int) -> PassphraseCost:
    """Return what another passphrase is stretched with; `n` is a power of two."""
    if not _LEAST_COST <= n <= _MOST_COST or n & (n - 1):
        raise InputError(
            f"`cost` is {n}, expected a power of two from {_LEAST_COST} to {_MOST_COST}:"
            f" {USUAL_COST} is usual"
        )
    return PassphraseCost(salt=secrets.token_hex(_SALT_BYTES), n=n)


def checked_passphrase(passphrase: str) -> str:
    """Return a passphrase as every keyboard would have typed it; raise for one that is none."""
    text = unicodedata.normalize("NFKC", passphrase)
    if not _SHORTEST <= len(text) <= _LONGEST:
        raise InputError(
            f"the passphrase has {len(text)} characters, expected {_SHORTEST} to {_LONGEST}:"
            " four words that do not belong together are a good one"
        )
    if len(set(text)) == 1:
        raise InputError("the passphrase is one character again and again: choose another one")
    return text


def derived_token(passphrase: str, cost: PassphraseCost) -> str:
    """Return the token that follows from a passphrase."""
    text = unicodedata.normalize("NFKC", passphrase)
    secret = hashlib.scrypt(
        text.encode("utf-8", "surrogatepass"),
        salt=bytes.fromhex(cost.salt),
        n=cost.n,
        r=cost.r,
        p=cost.p,
        # What scrypt needs, and a little more for OpenSSL's own use.
        maxmem=128 * cost.r * (cost.n + cost.p + 2) + 2**20,
        dklen=32,
    )
    return base64.urlsafe_b64encode(secret).decode().rstrip("=")


class Authentication(NamedTuple):
    """Who showed a credential, and what that is good for."""

    principal: Principal
    scope: Scope
    method: CredentialMethod


def authenticated(ledger: Ledger, token: str | None, now: int) -> Authentication:
    """Return whose token this is; raise NotPermittedError if it is nobody's."""
    if token is None:
        raise NotPermittedError(f"no credential was given: {how_to_decide(ledger)}")
    digest = token_digest(token)
    row = valid_credential(ledger, digest)
    if row is None:
        raise NotPermittedError(
            f"the credential is not known to this ledger: {how_to_decide(ledger)}"
        )
    if row.method == CredentialMethod.RECOVERY_CODE.value:
        raise NotPermittedError(
            "a recovery code decides nothing: `interlock operator recover` takes it, and gives"
            " you another passphrase"
        )
    method = CredentialMethod(row.method)
    if method is CredentialMethod.SESSION and now >= row.created_at + SESSION_S * 1_000_000:
        raise NotPermittedError(f"the session of `{row.name}` is over: sign in again")
    kind = PrincipalKind(row.kind)
    # Whoever may change policies decides as an operator does.
    acts_as = PrincipalKind.OPERATOR if kind is PrincipalKind.ADMIN else kind
    who = Principal(kind=acts_as, name=row.name, credential=credential_id(digest))
    return Authentication(who, _scope(kind, method), method)


def _scope(kind: PrincipalKind, method: CredentialMethod) -> Scope:
    """Return what a credential is good for; whoever has a passphrase may do everything."""
    has_passphrase = method is CredentialMethod.PASSPHRASE
    return Scope.ADMIN if has_passphrase else Scope(kind.value)


def valid_credential(ledger: Ledger, digest: str) -> CredentialRow | None:
    """Return a credential that counts; raise NotPermittedError for one that must not.

    INVARIANT: a row that was not written by this ledger itself opens nothing.
    """
    row = ledger.rows.credential(digest)
    if row is None:
        return None
    if not is_sealed(ledger, row):
        raise NotPermittedError(
            f"credential `{credential_id(digest)}` of `{row.name}` does not have the seal of this"
            " ledger: it was not granted here, or was changed; run `interlock verify`"
        )
    if row.revoked_at is not None:
        raise NotPermittedError(
            f"credential `{credential_id(digest)}` of `{row.name}` was revoked: another operator"
            " can let them in again, `interlock operator add NAME`"
        )
    return row


def is_sealed(ledger: Ledger, row: CredentialRow) -> bool:
    """Whether a credential is as this ledger wrote it."""
    wanted = sealed_credential(row, ledger.key).seal
    return hmac.compare_digest(row.seal.encode(), wanted.encode())


def operators(ledger: Ledger) -> list[CredentialRow]:
    """Return the passphrases that count, by the names of their operators."""
    found = (
        row
        for row in ledger.rows.credentials()
        if row.method == CredentialMethod.PASSPHRASE.value
        and row.revoked_at is None
        and is_sealed(ledger, row)
    )
    return sorted(found, key=lambda row: row.name)


def has_operator(ledger: Ledger) -> bool:
    """Whether anybody may decide in this ledger; what the table holds by itself says nothing."""
    state = ledger.state(LEDGER_RUN)
    return state is not None and state.has_operator


def how_to_decide(ledger: Ledger) -> str:
    """Say how somebody comes to decide here."""
    if not has_operator(ledger):
        return (
            "only an operator may do this, and this ledger has none: a person makes the first"
            " one with `interlock setup`, at a terminal"
        )
    names = ", ".join(f"`{row.name}`" for row in operators(ledger)) or "nobody"
    return f"only an operator may do this, with a passphrase: here {names}"


def passphrase_token(row: CredentialRow, passphrase: str) -> str | None:
    """Return the token of an operator; None where the passphrase is not theirs."""
    token = derived_token(passphrase, _COST_DECODER.decode(row.cost or "{}"))
    return token if hmac.compare_digest(token_digest(token), row.digest) else None


def require_operator(principal: Principal | None) -> Principal:
    """Return the principal if it is an operator; raise NotPermittedError otherwise."""
    if principal is None:
        raise NotPermittedError("no operator is named: only an operator may do this")
    if principal.kind is not PrincipalKind.OPERATOR:
        raise NotPermittedError(
            f"{principal.kind.value} `{principal.name}` may not do this: only an operator may"
        )
    return principal
