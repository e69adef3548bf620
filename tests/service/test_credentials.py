"""Who may come in: the first operator alone, everybody else by an operator."""

from __future__ import annotations

import pytest

from interlock import InputError, Interlock, NotPermittedError
from interlock.model.principal import Principal, PrincipalKind
from interlock.service.credentials import CredentialGrant, authenticated, new_token, token_digest
from service.ledgers import another, operator_of


def test_the_first_operator_comes_in_alone(interlock: Interlock) -> None:
    token = operator_of(interlock)

    who = authenticated(interlock.ledger.rows, token)
    shown = token_digest(token)[:12]
    assert who == Principal(kind=PrincipalKind.OPERATOR, name="ada", credential=shown)


def test_a_second_operator_does_not(interlock: Interlock) -> None:
    operator_of(interlock)

    with pytest.raises(NotPermittedError, match="this ledger has an operator"):
        operator_of(interlock, "eve")


def test_an_operator_lets_others_in(interlock: Interlock) -> None:
    operator_of(interlock)
    for kind in (PrincipalKind.OPERATOR, PrincipalKind.AGENT):
        token = another(interlock, kind, "grace")

        who = authenticated(interlock.ledger.rows, token)
        assert (who.kind, who.name) == (kind, "grace")


def test_an_agent_lets_nobody_in(interlock: Interlock) -> None:
    agent = Principal(kind=PrincipalKind.AGENT, name="claude")
    grant = CredentialGrant(kind=PrincipalKind.OPERATOR, name="eve", token=new_token())

    with pytest.raises(NotPermittedError, match="agent `claude` may not do this"):
        interlock.governor.answer(grant, agent)


def test_the_system_needs_no_token(interlock: Interlock) -> None:
    grant = CredentialGrant(kind=PrincipalKind.SYSTEM, name="x", token=new_token())

    with pytest.raises(NotPermittedError, match="a system needs no credential"):
        interlock.governor.answer(grant)


def test_a_bad_name_is_refused(interlock: Interlock) -> None:
    with pytest.raises(InputError, match="`name` is"):
        operator_of(interlock, "two\nlines")


def test_no_token_at_all_is_told_what_to_do(interlock: Interlock) -> None:
    with pytest.raises(NotPermittedError, match="set `INTERLOCK_TOKEN`, or make one with"):
        authenticated(interlock.ledger.rows, None)


def test_the_ledger_keeps_only_the_digest_of_a_token(interlock: Interlock) -> None:
    token = operator_of(interlock)

    (row,) = interlock.ledger.rows.credentials()
    assert row.digest == token_digest(token)
    assert token not in repr(row)


def test_no_two_tokens_are_alike() -> None:
    assert len({new_token() for _ in range(100)}) == 100
