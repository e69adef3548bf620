"""What every store promises, and what the ledger makes of it: the same for all of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interlock.errors import InputError
from interlock.ledger.chain import GENESIS, decoded, hash_of
from interlock.ledger.ledger import Ledger, Work
from interlock.ledger.transaction import Transaction, sealed_credential
from interlock.model.approval import ApprovalState
from interlock.model.budget import Account, Amounts
from interlock.model.events import ApprovalDecided, ApprovalUsed, Event
from interlock.model.rows import CredentialRow, KeyRow, PolicyRow, RecordRow, ReservationRow
from interlock.model.run import RunStatus
from ledger.conftest import OpenLedger
from ledger.events import (
    KEY,
    NOON,
    ONE_OF_EACH,
    PERSON,
    POLICY,
    a_judgement,
    a_start,
    a_started,
    a_violation,
    all_records,
    an_observation,
    an_opening,
    appending,
    checked_chain,
    planned,
    state_of,
)

# Records


def test_reads_back_what_was_appended(ledger: Ledger) -> None:
    written = ledger.execute(appending("r1", *ONE_OF_EACH.values()))

    rows = ledger.rows.records("r1")
    assert [decoded(row.body) for row in rows] == written
    assert [row.seq for row in rows] == list(range(1, len(ONE_OF_EACH) + 1))
    assert [row.kind for row in rows] == list(ONE_OF_EACH)
    assert [row.at for row in rows] == [record.at for record in written]
    assert rows[0] == ledger.rows.record("r1", 1)


def test_each_record_names_the_hash_of_the_one_before_it(ledger: Ledger) -> None:
    written = ledger.execute(appending("r1", a_start(), a_violation(), a_violation()))

    bodies = all_records(ledger, "r1")
    assert [record.prev for record in written] == [GENESIS, *map(hash_of, bodies[:-1])]
    assert checked_chain(ledger.rows, "r1") == 3


def test_a_page_of_records_begins_after_the_one_named(ledger: Ledger) -> None:
    ledger.execute(appending("r1", a_start(), *[a_violation()] * 5))

    page = ledger.rows.records("r1", after=2, limit=3)
    assert [row.seq for row in page] == [3, 4, 5]
    assert ledger.rows.records("r1", after=6) == []
    assert ledger.rows.records("r2") == []
    assert ledger.rows.record("r1", 7) is None
    assert ledger.rows.record("r1", 0) is None


def test_tells_all_records_in_the_order_of_writing(ledger: Ledger) -> None:
    for run_id in ("b", "a", "c"):
        a_started(ledger, run_id)
    ledger.execute(appending("a", a_violation()))

    written = ledger.rows.written()
    assert [(row.record.run_id, row.record.seq) for row in written] == [
        ("b", 1),
        ("a", 1),
        ("c", 1),
        ("a", 2),
    ]
    assert ledger.rows.written(after=written[1].position, limit=1) == written[2:3]
    assert all(isinstance(row.record, RecordRow) for row in written)


def test_names_every_chain_in_order(ledger: Ledger) -> None:
    for run_id in ("b", "a", "c"):
        a_started(ledger, run_id)

    assert ledger.rows.chains() == ["a", "b", "c"]
    assert ledger.rows.chains(after="a", limit=1) == ["b"]


# Runs


def test_a_run_at_a_glance_tells_the_end_of_its_chain(ledger: Ledger) -> None:
    ledger.execute(appending("r1", a_start(parent="r0"), a_violation()))

    run = ledger.rows.run("r1")
    assert run is not None
    assert (run.seq, run.hash) == (2, hash_of(all_records(ledger, "r1")[-1]))
    assert KEY.fits(run.seal, "r1", run.seq, run.hash)
    assert (run.key_id, run.status, run.parent) == (KEY.id, "running", "r0")
    assert (run.agent, run.project, run.task) == ("coder", "shop", "mend the build")
    assert (run.started_at, run.updated_at) == (NOON, NOON + 1)
    assert ledger.rows.run("r2") is None


def test_lists_the_runs_that_were_active_last(ledger: Ledger) -> None:
    ledger.execute(appending("r1", a_start(agent="coder"), at=NOON))
    ledger.execute(appending("r2", a_start(agent="critic"), at=NOON + 10))
    ledger.execute(appending("s3", a_start(), ONE_OF_EACH["run-finished"], at=NOON + 20))
    ledger.execute(appending("r1", a_violation(), at=NOON + 30))

    def listed(**wanted: Any) -> list[str]:
        return [row.id for row in ledger.rows.runs(limit=10, **wanted)]

    assert listed() == ["r1", "s3", "r2"]
    assert [row.id for row in ledger.rows.runs(limit=2)] == ["r1", "s3"]
    first = ledger.rows.runs(limit=1)[0]
    following = ledger.rows.runs(limit=1, behind=(first.updated_at, first.id))
    assert [row.id for row in (first, *following)] == ["r1", "s3"]
    assert listed(agent="critic") == ["r2"]
    assert listed(status=RunStatus.FINISHED.value) == ["s3"]
    assert listed(project="shop", agent="coder") == ["r1", "s3"]
    assert listed(project="other") == []
    assert listed(prefix="r") == ["r1", "r2"]
    assert listed(prefix="%") == []


def test_lists_the_runs_below_a_run(ledger: Ledger) -> None:
    a_started(ledger)
    ledger.execute(appending("c2", a_start(parent="r1"), at=NOON + 2))
    ledger.execute(appending("c1", a_start(parent="r1"), at=NOON + 1))
    ledger.execute(appending("d1", a_start(parent="c1"), at=NOON + 3))

    assert [row.id for row in ledger.rows.children("r1")] == ["c1", "c2"]
    assert ledger.rows.children("d1") == []


def test_there_is_no_state_of_a_run_that_was_never_started(ledger: Ledger) -> None:
    assert ledger.state("r1") is None
    with pytest.raises(InputError, match="there is no run `r1`"):
        ledger.execute(planned(lambda transaction: transaction.state("r1")))


# What follows from the records


def test_keeps_which_record_answered_a_request_key(ledger: Ledger) -> None:
    ledger.execute(appending("r1", a_start(), a_judgement(key="k1", digest="d1")))
    ledger.execute(appending("r1", a_judgement(key="k2"), a_judgement(key="k1", digest="d9")))

    assert ledger.rows.key("r1", "k1") == KeyRow("r1", "k1", 4, "d9")
    assert ledger.rows.key("r1", "k3") is None
    assert ledger.rows.key("r2", "k1") is None
    assert [row.key for row in ledger.rows.keys("r1")] == ["k1", "k2"]
    assert [row.key for row in ledger.rows.keys("r1", after="k1", limit=1)] == ["k2"]


def test_tells_lapsed_reservations_from_the_oldest_on(ledger: Ledger) -> None:
    a_started(ledger)
    for lease in (NOON + 30, NOON + 10, NOON + 20, NOON + 90):
        ledger.execute(appending("r1", a_judgement(lease_until=lease)))

    lapsed = ledger.rows.lapsed(NOON + 30)
    assert [row.lease_until - NOON for row in lapsed] == [10, 20, 30]
    assert lapsed[0] == ReservationRow("r1", 3, NOON + 10)
    assert ledger.rows.lapsed(NOON + 30, limit=1) == lapsed[:1]
    assert ledger.rows.reservation("r1", 5) == ReservationRow("r1", 5, NOON + 90)
    assert ledger.rows.reservation("r1", 1) is None


def test_a_report_releases_the_reservation(ledger: Ledger) -> None:
    a_started(ledger)
    ledger.execute(appending("r1", a_judgement(lease_until=NOON + 10)))
    assert ledger.execute(planned(lambda transaction: transaction.has_reservation("r1", 2))) is True

    ledger.execute(appending("r1", an_observation(2)))

    assert ledger.rows.reservation("r1", 2) is None
    assert ledger.rows.lapsed(NOON + 10) == []


def test_a_reservation_made_and_settled_in_one_group_is_never_stored(ledger: Ledger) -> None:
    ledger.execute(appending("r1", a_start(), a_judgement(lease_until=NOON), an_observation(2)))

    assert ledger.rows.lapsed(NOON + 10) == []


def test_accounts_add_up_what_was_reserved_and_spent(ledger: Ledger) -> None:
    a_started(ledger)
    ledger.execute(appending("r1", a_judgement(), a_judgement(), an_observation(2)))

    account = ledger.execute(
        Work(lambda transaction: transaction.account("run/r1"), locks=("run/r1",))
    )
    spent = Amounts(tool_calls=1, tokens=1_020, wall_time_ms=1_250, cost_micros=4_500)
    assert (account.used, account.reserved) == (spent, Amounts(tool_calls=1, tokens=400))
    body = ledger.rows.account("run/r1")
    assert body is not None
    assert msgspec.json.decode(body, type=Account) == account
    assert [scope for scope, _ in ledger.rows.accounts()] == ["agent/coder", "run/r1", "tree/r1"]
    assert ledger.rows.account("run/r2") is None


def test_every_account_is_told_however_many_there_are(ledger: Ledger) -> None:
    scopes = tuple(f"agent/{number:04}" for number in range(1_003))
    ledger.execute(appending("r1", a_judgement(scopes=scopes)))

    assert [scope for scope, _ in ledger.rows.accounts()] == list(scopes)


def test_the_latest_question_about_something_is_the_one_that_counts(ledger: Ledger) -> None:
    a_started(ledger)
    ledger.execute(appending("r1", an_opening("z-first"), at=NOON + 1))
    ledger.execute(appending("r1", an_opening("b-second"), at=NOON + 2))
    ledger.execute(appending("r1", an_opening("other", digest="d2"), at=NOON + 3))

    def decide(transaction: Transaction) -> str | None:
        event = ApprovalDecided(id="z-first", state=ApprovalState.DENIED)
        transaction.append("r1", event, at=NOON + 4, by=PERSON)
        latest = transaction.approval_for("r1", "d1")
        return None if latest is None else latest.id

    assert ledger.execute(planned(decide)) == "b-second"
    latest = ledger.rows.approval_for("r1", "d1")
    assert latest is not None
    assert latest.id == "b-second"
    assert ledger.rows.approval_for("r1", "d3") is None
    assert ledger.rows.approval_for("r2", "d1") is None


def test_a_question_is_found_behind_a_thousand_others(ledger: Ledger) -> None:
    a_started(ledger)
    others = [an_opening(f"a{number}", digest=f"d{number}") for number in range(1_000)]
    ledger.execute(appending("r1", *others))
    ledger.execute(appending("r1", an_opening("last", digest="mine"), at=NOON + 1))

    found = ledger.rows.approval_for("r1", "mine")

    assert found is not None
    assert found.id == "last"


def test_an_approval_is_decided_once_and_used_up(ledger: Ledger) -> None:
    a_started(ledger)
    ledger.execute(appending("r1", an_opening("a1"), an_opening("a2")))
    granted = ApprovalDecided(id="a1", state=ApprovalState.GRANTED, note="go on", always=True)
    ledger.execute(appending("r1", granted, at=NOON + 5, by=PERSON))
    ledger.execute(appending("r1", ApprovalUsed(id="a1")))

    approval = ledger.rows.approval("a1")
    assert approval is not None
    assert (approval.state, approval.uses_left) == (ApprovalState.GRANTED, 0)
    assert (approval.decided_by, approval.decided_at) == ("operator:ada", NOON + 5)
    assert (approval.note, approval.always) == ("go on", True)
    assert [each.id for each in ledger.rows.approvals()] == ["a1", "a2"]
    assert [each.id for each in ledger.rows.approvals(state="pending")] == ["a2"]
    assert [each.id for each in ledger.rows.approvals(run_id="r1", limit=1)] == ["a1"]
    assert [each.id for each in ledger.rows.approvals(behind=(approval.opened_at, "a1"))] == ["a2"]
    assert ledger.rows.approvals(behind=(NOON + 3600_000_000, "")) == []
    assert ledger.rows.approvals(run_id="r2") == []
    assert ledger.rows.approval("a3") is None
    pending = ledger.execute(
        Work(lambda transaction: transaction.approvals_of("r1", "pending"), locks=("run/r1",))
    )
    assert [each.id for each in pending] == ["a2"]


def test_keeps_policies_and_credentials(ledger: Ledger) -> None:
    first = CredentialRow("c2", "operator", "ada", "passphrase", "{}", NOON, None, "")
    second = CredentialRow("c1", "agent", "coder", "token", None, NOON + 1, NOON + 2, "")

    def keep(transaction: Transaction) -> tuple[bool, bool]:
        transaction.put_policy(POLICY)
        transaction.put_credential(second)
        transaction.put_credential(first)
        return transaction.has_policy(POLICY.hash), transaction.has_policy("p2")

    assert ledger.execute(planned(keep)) == (True, False)
    # A policy is found by what is in it: there is nothing to change about it.
    ledger.execute(planned(lambda transaction: transaction.put_policy(POLICY)))
    assert ledger.rows.policy(POLICY.hash) == POLICY
    assert ledger.rows.policy("p2") is None
    sealed = [sealed_credential(row, ledger.key) for row in (first, second)]
    assert ledger.rows.credential("c1") == sealed[1]
    assert ledger.rows.credential("c3") is None
    assert ledger.rows.credentials() == sealed


def test_has_an_id_and_a_key_for_digests_that_stay(open_ledger: OpenLedger) -> None:
    first, second = open_ledger(), open_ledger()

    for name, length in (("id", 32), ("digest-key", 64)):
        value = first.rows.meta(name)
        assert value is not None
        assert len(bytes.fromhex(value)) * 2 == length
        assert second.rows.meta(name) == value
    assert first.rows.meta("colour") is None


def test_seals_a_chain_at_intervals_and_at_its_end(ledger: Ledger) -> None:
    a_started(ledger)
    for _ in range(3):
        ledger.execute(appending("r1", *[a_violation()] * 100))
    ledger.execute(appending("r1", ONE_OF_EACH["run-finished"]))

    assert [seal.seq for seal in ledger.rows.seals("r1")] == [256, 302]
    assert checked_chain(ledger.rows, "r1") == 302
    assert ledger.rows.seals("r2") == []


def test_keeps_a_snapshot_now_and_then(ledger: Ledger) -> None:
    a_started(ledger)
    assert ledger.rows.snapshot("r1") is None

    for _ in range(70):
        ledger.execute(appending("r1", a_violation()))

    snapshot = ledger.rows.snapshot("r1")
    assert snapshot is not None
    assert (snapshot.run_id, snapshot.seq) == ("r1", 64)


def test_a_number_beyond_all_measure_does_not_stop_a_run(ledger: Ledger) -> None:
    a_started(ledger)
    huge = msgspec.structs.replace(an_observation(None), spent=Amounts(tokens=2**63 - 1))
    ledger.execute(appending("r1", *[huge] * 80))

    state = ledger.state("r1")
    assert state is not None
    assert state.spent.tokens == 80 * (2**63 - 1)


def test_a_policy_under_a_known_hash_is_not_replaced(ledger: Ledger) -> None:
    ledger.execute(planned(lambda transaction: transaction.put_policy(POLICY)))
    ledger.execute(
        planned(lambda transaction: transaction.put_policy(PolicyRow(POLICY.hash, b"another")))
    )

    assert ledger.rows.policy(POLICY.hash) == POLICY


def test_any_event_may_follow_any_other(ledger: Ledger) -> None:
    events: list[Event] = [*ONE_OF_EACH.values(), *reversed([*ONE_OF_EACH.values()])]
    records = ledger.execute(appending("r1", *events))

    assert ledger.state("r1") == state_of("r1", records)
