"""Who was let in, as the ledger's own chain tells it."""

from __future__ import annotations

import pytest

from interlock.model.events import (
    AccessRefused,
    CredentialGranted,
    CredentialRevoked,
    Event,
    LedgerAccepted,
    LedgerArchived,
    LedgerRestored,
    PersonNotified,
    PolicyAdopted,
    Record,
    RunResumed,
    RunStarted,
)
from interlock.model.principal import (
    SYSTEM,
    CredentialMethod,
    Principal,
    PrincipalKind,
    agent_named,
    person_at,
)
from interlock.model.run import LEDGER_RUN, RunState, folded


def _after(*events: Event) -> RunState:
    state = RunState(id=LEDGER_RUN)
    for event in events:
        record = Record(
            v=1, run=LEDGER_RUN, seq=state.seq + 1, at=state.seq, by=SYSTEM, prev="", event=event
        )
        state = folded(state, record)
    return state


def _granted(kind: PrincipalKind) -> CredentialGranted:
    method = CredentialMethod.TOKEN
    return CredentialGranted(digest="d", kind=kind, name="ada", method=method)


@pytest.mark.parametrize("kind", [PrincipalKind.OPERATOR, PrincipalKind.AGENT])
def test_a_ledger_has_an_operator_once_one_was_let_in(kind: PrincipalKind) -> None:
    state = _after(_granted(kind), CredentialRevoked(digest="d", name="ada"))

    assert state.has_operator is (kind is PrincipalKind.OPERATOR)


@pytest.mark.parametrize(
    "event",
    [
        AccessRefused(operation="approve", reason="no"),
        LedgerAccepted(problems=("1 record of 3 are missing",), known=3, records=2, hash="h"),
        LedgerArchived(file="f", digest="d", runs=1, records=3),
        LedgerRestored(archive=4, digest="d"),
        PersonNotified(approval="a1", channel="command", attempt=1),
    ],
)
def test_a_refusal_and_an_acceptance_change_nothing(event: Event) -> None:
    before = _after(_granted(PrincipalKind.OPERATOR))
    after = _after(_granted(PrincipalKind.OPERATOR), event)

    assert (after.has_operator, after.policy_hash) == (before.has_operator, before.policy_hash)


def test_a_run_has_the_process_that_it_was_started_for() -> None:
    begun = RunStarted(
        task="t",
        agent="a",
        client="c",
        project="p",
        policy_hash="h",
        engine="e",
        process="boot/7/8",
    )

    assert _after(begun).process == "boot/7/8"
    assert _after(begun, RunResumed(process="boot/9/10")).process == "boot/9/10"


def test_a_person_at_a_client_is_no_agent_and_no_operator() -> None:
    assert person_at("claude-code").kind is PrincipalKind.PERSON
    assert agent_named("claude").kind is PrincipalKind.AGENT


@pytest.mark.parametrize("by", [SYSTEM, Principal(kind=PrincipalKind.OPERATOR, name="ada")])
def test_what_an_operator_adopts_for_a_project_is_known(by: Principal) -> None:
    event = PolicyAdopted(policy_hash="h", body_digest="d", engine="e", project="bank")
    record = Record(v=1, run=LEDGER_RUN, seq=1, at=1, by=by, prev="", event=event)

    state = folded(RunState(id=LEDGER_RUN), record)

    assert state.granted_policies == ({} if by is SYSTEM else {"bank": "h"})
    assert state.policy_hash == ""
