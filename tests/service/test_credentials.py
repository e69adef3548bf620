"""Who may decide: proven by a passphrase, let in by an operator, and all of it on the record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interlock import InputError, Interlock, NotPermittedError
from interlock.model.events import AccessRefused, CredentialGranted, CredentialRevoked
from interlock.model.principal import CredentialMethod, Principal, PrincipalKind
from interlock.model.run import LEDGER_RUN
from interlock.service.people.credentials import (
    authenticated,
    code_digest,
    derived_token,
    new_cost,
    new_recovery_code,
    new_token,
    token_digest,
)
from service.ledgers import (
    CHEAP,
    PASSPHRASE,
    HandClock,
    another,
    events_of,
    everything_stored,
    operator_of,
    records_of,
)


def test_an_operators_token_follows_from_the_passphrase(interlock: Interlock) -> None:
    token = operator_of(interlock)

    who = authenticated(interlock.ledger, token, 0).principal
    shown = token_digest(token)[:12]
    assert who == Principal(kind=PrincipalKind.OPERATOR, name="ada", credential=shown)
    assert interlock.unlock("ada", PASSPHRASE) == token


def test_the_same_characters_typed_otherwise_are_the_same_passphrase(interlock: Interlock) -> None:
    interlock.set_up("ada", "12 \N{KELVIN SIGN} below zero", cost=CHEAP)

    assert interlock.unlock("ada", "12 K below zero")


def test_there_is_one_first_operator(interlock: Interlock) -> None:
    operator_of(interlock)

    with pytest.raises(NotPermittedError, match="has an operator already: `ada`"):
        interlock.set_up("eve", PASSPHRASE, cost=CHEAP)
    assert [each.name for each in interlock.operators()] == ["ada"]


def test_an_operator_lets_others_in(interlock: Interlock) -> None:
    operator_of(interlock)
    for kind in (PrincipalKind.OPERATOR, PrincipalKind.AGENT):
        token = another(interlock, kind, "grace")

        who = authenticated(interlock.ledger, token, 0).principal
        assert (who.kind, who.name) == (kind, "grace")
    assert [each.name for each in interlock.operators()] == ["ada", "grace"]


def test_nobody_is_let_in_twice(interlock: Interlock) -> None:
    token = operator_of(interlock)

    with pytest.raises(InputError, match="`ada` is an operator already"):
        interlock.add_operator("ada", PASSPHRASE, token=token, cost=CHEAP)


def test_whoever_is_let_go_decides_no_more(interlock: Interlock) -> None:
    ada = operator_of(interlock)
    grace = another(interlock, PrincipalKind.OPERATOR, "grace")
    interlock.revoke_operator("grace", token=ada)

    with pytest.raises(NotPermittedError, match="of `grace` was revoked"):
        interlock.add_agent("mole", token=grace)
    with pytest.raises(NotPermittedError, match="`grace` is no operator"):
        interlock.unlock("grace", PASSPHRASE)
    assert another(interlock, PrincipalKind.OPERATOR, "grace") != grace


@pytest.mark.parametrize(("name", "reason"), [("ada", "is the only operator"), ("eve", "is no")])
def test_somebody_may_always_decide(interlock: Interlock, name: str, reason: str) -> None:
    ada = operator_of(interlock)
    another(interlock, PrincipalKind.AGENT, "eve")

    with pytest.raises(InputError, match=reason):
        interlock.revoke_operator(name, token=ada)


def test_an_agent_is_let_go_with_all_its_tokens(interlock: Interlock) -> None:
    ada = operator_of(interlock)
    tokens = [another(interlock, PrincipalKind.AGENT, "mole") for _ in range(2)]
    interlock.revoke_agent("mole", token=ada)

    for token in tokens:
        with pytest.raises(NotPermittedError, match="was revoked"):
            authenticated(interlock.ledger, token, 0)
    with pytest.raises(InputError, match="agent `mole` has no token"):
        interlock.revoke_agent("mole", token=ada)


def test_whoever_is_given_an_agents_token_asks_as_that_agent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place, keys = tmp_path / "ledger.db", tmp_path / "keys"
    with Interlock.open(place, keys=keys) as interlock:
        ada = operator_of(interlock)
        token = another(interlock, PrincipalKind.AGENT, "mole")

    monkeypatch.setenv("INTERLOCK_TOKEN", token)
    with Interlock.open(place, keys=keys) as interlock:
        run = interlock.run("dig")
        run.command("ls")
        shown = token_digest(token)[:12]
        mole = Principal(kind=PrincipalKind.AGENT, name="mole", credential=shown)
        assert [each.by for each in records_of(interlock.ledger, run.id)] == [mole, mole]
        assert run.state.agent == "mole"

    for wrong in ("garbage", ada):
        monkeypatch.setenv("INTERLOCK_TOKEN", wrong)
        with pytest.raises(NotPermittedError, match="holds no agent's token that this ledger"):
            Interlock.open(place, keys=keys)
    with Interlock.open(":memory:") as nobody_knows_of_it:
        assert nobody_knows_of_it.run("dig").command("ls")


def test_another_passphrase_takes_the_place_of_the_first(interlock: Interlock) -> None:
    before = operator_of(interlock)
    interlock.change_passphrase("another one altogether", token=before, cost=CHEAP)

    for attempt in (
        lambda: interlock.unlock("ada", PASSPHRASE),
        lambda: interlock.add_agent("mole", token=before),
    ):
        with pytest.raises(NotPermittedError):
            attempt()
    assert interlock.add_agent("mole", token=interlock.unlock("ada", "another one altogether"))


def test_a_recovery_code_gives_another_passphrase_once(interlock: Interlock) -> None:
    made = interlock.set_up("ada", PASSPHRASE, cost=CHEAP)
    typed = made.recovery_code.lower().replace("-", " ").replace("0", "o").replace("1", "l")
    again = interlock.recover_operator(typed, "the second passphrase", cost=CHEAP)

    assert again.name == "ada"
    assert again.recovery_code != made.recovery_code
    with pytest.raises(NotPermittedError, match="not that of operator `ada`"):
        interlock.unlock("ada", PASSPHRASE)
    with pytest.raises(NotPermittedError, match="was revoked"):
        interlock.recover_operator(made.recovery_code, "the third passphrase", cost=CHEAP)
    assert interlock.unlock("ada", "the second passphrase")


def test_a_recovery_code_decides_nothing(interlock: Interlock) -> None:
    code = interlock.set_up("ada", PASSPHRASE, cost=CHEAP).recovery_code
    normal = f"recovery code {code.replace('-', '')}"

    assert token_digest(normal) == code_digest(code)
    with pytest.raises(NotPermittedError, match="a recovery code decides nothing"):
        interlock.add_agent("mole", token=normal)


@pytest.mark.parametrize(
    ("passphrase", "reason"),
    [
        ("", "has 0 characters, expected 12 to 1024"),
        ("eleven char", "has 11 characters"),
        ("x" * 40, "one character again and again"),
        ("\N{FULLWIDTH LATIN SMALL LETTER X}xxxxxxxxxxxxx", "one character again and again"),
        ("long" * 400, "has 1600 characters"),
    ],
)
def test_a_passphrase_that_is_none_is_refused(
    interlock: Interlock, passphrase: str, reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        interlock.set_up("ada", passphrase, cost=CHEAP)
    assert interlock.operators() == []


@pytest.mark.parametrize("cost", [0, 1, 3, 2**21, -2])
def test_a_cost_that_scrypt_does_not_know_is_refused(interlock: Interlock, cost: int) -> None:
    with pytest.raises(InputError, match="expected a power of two"):
        interlock.set_up("ada", PASSPHRASE, cost=cost)


def test_the_usual_cost_is_within_what_scrypt_may_use() -> None:
    assert len(derived_token(PASSPHRASE, new_cost(2**16))) == 43


def test_a_bad_name_is_refused(interlock: Interlock) -> None:
    with pytest.raises(InputError, match="`name` is"):
        operator_of(interlock, "two\nlines")


_WITHOUT_PROOF: dict[str, Callable[[Interlock], object]] = {
    "no token": lambda interlock: authenticated(interlock.ledger, None, 0),
    "a token of nobody": lambda interlock: interlock.add_agent("x", token=new_token()),
    "a stranger": lambda interlock: interlock.unlock("eve", PASSPHRASE),
}


@pytest.mark.parametrize("how", _WITHOUT_PROOF)
def test_where_there_is_no_operator_yet_setup_is_named(interlock: Interlock, how: str) -> None:
    with pytest.raises(NotPermittedError, match="makes the first one with `interlock setup`"):
        _WITHOUT_PROOF[how](interlock)


@pytest.mark.parametrize("how", _WITHOUT_PROOF)
def test_where_there_is_one_they_are_named(interlock: Interlock, how: str) -> None:
    operator_of(interlock)
    with pytest.raises(NotPermittedError, match="with a passphrase: here `ada`"):
        _WITHOUT_PROOF[how](interlock)


def test_the_ledger_keeps_nothing_that_proves_anything(interlock: Interlock) -> None:
    made = interlock.set_up("ada", PASSPHRASE, cost=CHEAP)
    token = interlock.unlock("ada", PASSPHRASE)
    agent = interlock.add_agent("mole", token=token)
    with pytest.raises(NotPermittedError):
        interlock.unlock("ada", "wrong horse battery")

    stored = everything_stored(interlock.ledger).decode() + repr(
        interlock.ledger.rows.credentials()
    )
    secrets = (made.recovery_code, made.recovery_code.replace("-", ""), token, agent, PASSPHRASE)
    for secret in (*secrets, "wrong horse battery"):
        assert secret not in stored


def test_who_was_let_in_and_let_go_is_on_the_record(interlock: Interlock) -> None:
    made = interlock.set_up("ada", PASSPHRASE, cost=CHEAP)
    ada = interlock.unlock("ada", PASSPHRASE)
    interlock.add_operator("grace", PASSPHRASE, token=ada, cost=CHEAP)
    interlock.revoke_operator("grace", token=ada)
    interlock.recover_operator(made.recovery_code, PASSPHRASE, cost=CHEAP)

    told = [
        (type(record.event), record.event.name, record.by.name, record.by.kind)
        for record in records_of(interlock.ledger, LEDGER_RUN)
        if isinstance(record.event, CredentialGranted | CredentialRevoked)
    ]
    operator = PrincipalKind.OPERATOR
    assert told == [
        *[(CredentialGranted, "ada", "ada", operator)] * 2,
        *[(CredentialGranted, "grace", "ada", operator)] * 2,
        *[(CredentialRevoked, "grace", "ada", operator)] * 2,
        *[(CredentialRevoked, "ada", "ada", operator)] * 2,
        *[(CredentialGranted, "ada", "ada", operator)] * 2,
    ]


def test_whoever_guesses_is_on_the_record_so_often_a_minute(
    interlock: Interlock, clock: HandClock
) -> None:
    operator_of(interlock)
    for minute in range(2):
        for guess in range(30):
            with pytest.raises(NotPermittedError):
                interlock.unlock("ada", f"guess {minute} number {guess}")
        clock.forward(seconds=61)

    refused = [
        event
        for event in events_of(interlock.ledger, LEDGER_RUN)
        if isinstance(event, AccessRefused)
    ]
    assert {(event.operation, event.name) for event in refused} == {("unlock", "ada")}
    assert len(refused) == 40


def test_no_two_tokens_and_no_two_codes_are_alike() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert len({new_recovery_code() for _ in range(100)}) == 100


def test_each_passphrase_has_a_salt_of_its_own(interlock: Interlock) -> None:
    operator_of(interlock)
    another(interlock, PrincipalKind.OPERATOR, "grace")

    rows = interlock.ledger.rows.credentials()
    own = [row for row in rows if row.method == CredentialMethod.PASSPHRASE.value]
    assert len({row.digest for row in own}) == len({row.cost for row in own}) == 2
