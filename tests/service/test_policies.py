"""Which policy counts is on the record: kept by hash, adopted with what changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gates.policies import gates_with
from interlock import Interlock, NotPermittedError, Run, load_policy, settings
from interlock.errors import LedgerError
from interlock.ledger.verification import verify_all
from interlock.model.events import ActionJudged, PolicyAdopted
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.run import LEDGER_RUN
from interlock.policy.config.document import stored_bytes
from interlock.service.policies.policy_book import recompiled_policy, stored_policy
from interlock.service.policies.policy_files import default_policy
from service.ledgers import (
    OpenInterlock,
    events_of,
    everything_stored,
    kinds_of,
    operator_of,
    records_of,
)

_STRICT = '[secrets]\nfingerprint-key = "a long enough key that nobody may find"\n'
_NO_MAKE = (
    '[[rules]]\nid = "no-make"\nwhen = "command == \\"make\\""\n'
    'decision = "block"\nmessage = "no"\n'
)


def _adopted(interlock: Interlock, run_id: str) -> list[PolicyAdopted]:
    events = events_of(interlock.ledger, run_id)
    return [event for event in events if isinstance(event, PolicyAdopted)]


def test_opening_records_nothing(interlock: Interlock) -> None:
    assert kinds_of(interlock.ledger, LEDGER_RUN) == []


def test_the_first_policy_stands_on_the_ledgers_own_chain(interlock: Interlock) -> None:
    interlock.run("t")
    (adopted,) = _adopted(interlock, LEDGER_RUN)
    gates = interlock.governor.context.policy

    assert adopted.policy_hash == gates.hash
    assert adopted.before is None
    assert adopted.changes == ()
    assert adopted.engine.startswith("0.")
    assert records_of(interlock.ledger, LEDGER_RUN)[0].by.kind is PrincipalKind.USER
    row = interlock.ledger.rows.policy(gates.hash)
    assert row is not None
    assert row.body == stored_bytes(gates.config)


def test_opening_again_under_the_same_policy_adds_nothing(reopened: OpenInterlock) -> None:
    with reopened() as interlock:
        interlock.run("t")
    interlock = reopened()
    interlock.run("t")

    assert kinds_of(interlock.ledger, LEDGER_RUN) == ["policy-adopted"]


def test_opening_again_under_another_policy_is_told_with_the_change(
    reopened: OpenInterlock,
) -> None:
    with reopened() as interlock:
        interlock.run("t")
    interlock = reopened("[limits]\nnesting = 20\n")
    interlock.run("t")

    first, second = _adopted(interlock, LEDGER_RUN)
    assert second.before == first.policy_hash
    assert second.policy_hash == interlock.governor.context.policy.hash
    assert second.changes == ("`limits.nesting`: 24 → 20",)


def test_the_same_policy_is_not_adopted_twice(interlock: Interlock) -> None:
    interlock.run("t")

    assert not interlock.adopt(gates_with(""))
    assert kinds_of(interlock.ledger, LEDGER_RUN) == ["policy-adopted"]


def test_a_run_is_told_when_it_goes_on_under_another_policy(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.command("ls")
    assert interlock.adopt(gates_with("[limits]\nnesting = 20\n"))
    assert _adopted(interlock, run.id) == []
    run.command("ls")
    run.command("ls")

    (adopted,) = _adopted(interlock, run.id)
    assert adopted.changes == ("`limits.nesting`: 24 → 20",)
    assert run.state.policy_hash == adopted.policy_hash
    assert _adopted(interlock, LEDGER_RUN)[-1].policy_hash == adopted.policy_hash


def test_each_decision_names_the_policy_it_was_made_under(interlock: Interlock) -> None:
    run = interlock.run("t")
    old = run.command("ls").verdict.policy_hash
    interlock.adopt(gates_with("[limits]\nnesting = 20\n"))
    new = run.command("ls").verdict.policy_hash

    judged = [
        each for each in events_of(interlock.ledger, run.id) if isinstance(each, ActionJudged)
    ]
    assert [each.verdict.policy_hash for each in judged] == [old, new]
    assert old != new
    assert stored_policy(interlock.ledger.rows, old) == default_policy().config
    assert stored_policy(interlock.ledger.rows, new).limits.nesting == 20


def test_a_policy_that_comes_back_is_adopted_again_and_kept_once(interlock: Interlock) -> None:
    run = interlock.run("t")
    for policy in ("[limits]\nnesting = 20\n", "", "[limits]\nnesting = 20\n"):
        interlock.adopt(gates_with(policy))
        run.command("ls")

    assert len(_adopted(interlock, LEDGER_RUN)) == 4
    assert len(_adopted(interlock, run.id)) == 3
    assert run.state.policy_hash == gates_with("[limits]\nnesting = 20\n").hash


def test_two_openings_with_different_policies_do_not_mix(reopened: OpenInterlock) -> None:
    here = reopened()
    run = here.run("t")
    there = reopened('[[rules]]\nid = "no"\nwhen = "true"\ndecision = "block"\nmessage = "no"\n')

    assert run.command("ls").allowed
    assert not there.resume(run.id).command("ls").allowed
    assert run.command("ls").allowed
    assert len(_adopted(here, run.id)) == 2


def test_the_fingerprint_key_is_never_kept(opened: OpenInterlock) -> None:
    interlock = opened(_STRICT)
    run = interlock.run("t")
    run.command("ls")
    policy_hash = interlock.governor.context.policy.hash
    row = interlock.ledger.rows.policy(policy_hash)

    assert row is not None
    assert b"nobody may find" not in row.body
    assert b"nobody may find" not in everything_stored(interlock.ledger)
    assert stored_policy(interlock.ledger.rows, policy_hash).secrets.fingerprint_key == ""


def test_stored_gates_answer_as_the_policy_did(opened: OpenInterlock) -> None:
    interlock = opened(_NO_MAKE)
    run: Run = interlock.run("t")
    answer = run.command("make")
    again = recompiled_policy(interlock.ledger.rows, answer.verdict.policy_hash)

    assert again.config == interlock.governor.context.policy.config
    assert again.hash == answer.verdict.policy_hash


def test_a_policy_that_is_not_there_is_named(interlock: Interlock) -> None:
    with pytest.raises(LedgerError, match="policy `abc` is not in the ledger"):
        stored_policy(interlock.ledger.rows, "abc")


def test_limits_of_a_new_policy_count_at_once(interlock: Interlock) -> None:
    operator_of(interlock)
    run = interlock.run("t")
    run.observe(run.command("ls"))
    interlock.adopt(gates_with("[budgets.run]\ntool-calls = 1\n"))

    assert not run.command("ls").allowed


# Who may take which policy.

_TIGHT = "[limits]\nnesting = 20\n"


def test_where_nobody_may_decide_any_policy_is_taken(reopened: OpenInterlock) -> None:
    with reopened(_TIGHT) as interlock:
        interlock.run("t")

    assert reopened().run("t").command("ls").allowed


def test_a_looser_policy_does_not_open_a_ledger_that_has_an_operator(
    reopened: OpenInterlock,
) -> None:
    with reopened(_TIGHT) as interlock:
        operator_of(interlock)

    with pytest.raises(NotPermittedError) as refused:
        reopened("[approvals]\nexpires-seconds = 60\n")
    assert "`limits.nesting`: 20 → 24: an operator takes it with" in str(refused.value)
    assert "expires-seconds" not in str(refused.value)
    with reopened(_TIGHT) as interlock:
        assert len(_adopted(interlock, LEDGER_RUN)) == 1


def test_a_price_for_a_model_that_no_list_knows_needs_no_operator(
    reopened: OpenInterlock,
) -> None:
    price = "[[budgets.prices]]\nmodel = '{}'\ninput-usd = 0.5\noutput-usd = 1.5\n"
    with reopened() as interlock:
        operator_of(interlock)

    with reopened(price.format("mine")) as interlock:
        assert interlock.run("t").usage({"input_tokens": 2}, model="mine").cost_micros == 1
    with pytest.raises(NotPermittedError, match=r"`budgets\.prices\.gpt-5`: set to"):
        reopened(price.format("gpt-5"))


def test_an_operator_takes_a_looser_policy(interlock: Interlock) -> None:
    token = operator_of(interlock)
    interlock.adopt(gates_with(_TIGHT))
    with pytest.raises(NotPermittedError, match="is looser than the one that counts"):
        interlock.adopt(gates_with(""))
    assert interlock.governor.context.policy.config.limits.nesting == 20
    assert interlock.adopt(gates_with(""), token=token)

    taken = [
        (record.by.kind, record.by.name)
        for record in records_of(interlock.ledger, LEDGER_RUN)
        if isinstance(record.event, PolicyAdopted)
    ]
    user = settings.user_name()
    operator = (PrincipalKind.OPERATOR, "ada")
    assert taken == [operator, (PrincipalKind.USER, user), operator]


def test_a_tighter_policy_is_taken_and_stays(reopened: OpenInterlock) -> None:
    with reopened() as interlock:
        operator_of(interlock)
    with reopened(_TIGHT) as interlock:
        interlock.run("t")

    with pytest.raises(NotPermittedError):
        reopened()


def test_who_opens_a_ledger_takes_its_policy(tmp_path: Path) -> None:
    helper = Principal(kind=PrincipalKind.AGENT, name="helper")
    place, keys = tmp_path / "ledger.db", tmp_path / "keys"
    with Interlock.open(place, keys=keys, principal=helper) as interlock:
        interlock.run("t")
        [record, *_] = records_of(interlock.ledger, LEDGER_RUN)

    assert record.by == helper


def test_projects_of_one_user_need_no_proof(tmp_path: Path) -> None:
    place, keys, user = tmp_path / "ledger.db", tmp_path / "keys", tmp_path / "policy.toml"
    user.write_text(_TIGHT)
    with Interlock.open(place, keys=keys, policy=load_policy(user=user)) as interlock:
        operator_of(interlock)
    for name, text in (("a", "[limits]\nnesting = 8\n"), ("b", "[diff-size]\nthreshold = 9\n")) * 2:
        project = tmp_path / f"{name}.toml"
        project.write_text(text)
        policy = load_policy(user=user, project=project)
        with Interlock.open(place, keys=keys, policy=policy) as interlock:
            interlock.run("t", project=name).command("ls")

    with Interlock.open(place, keys=keys, policy=load_policy(user=user)) as interlock:
        assert [each.project for each in _adopted(interlock, LEDGER_RUN)] == [None, "a", "b"]
        verified = verify_all(interlock.ledger.rows, interlock.ledger.key)
        assert [each for each in verified if each.problem] == []


@pytest.mark.parametrize("project", ["bank", "default"])
def test_a_projects_own_policy_is_no_way_round(interlock: Interlock, project: str) -> None:
    token = operator_of(interlock)
    interlock.adopt(gates_with(_TIGHT))
    loose = gates_with("[limits]\nnesting = 30\n")

    with pytest.raises(NotPermittedError, match=f"project='{project}'"):
        interlock.adopt(loose, project=project)
    assert interlock.run("t", project=project).state.policy_hash == gates_with(_TIGHT).hash
    assert interlock.adopt(loose, project=project, token=token)
    assert interlock.run("t", project=project).state.policy_hash == loose.hash


def test_what_an_operator_gave_a_project_opens_the_ledger_again(tmp_path: Path) -> None:
    place, keys = tmp_path / "ledger.db", tmp_path / "keys"
    loose = gates_with("[limits]\nnesting = 30\n")
    with Interlock.open(place, keys=keys, policy=gates_with("")) as interlock:
        interlock.adopt(loose, project="bank", token=operator_of(interlock))
    with Interlock.open(
        place, keys=keys, policy=gates_with(""), projects={"bank": loose}
    ) as interlock:
        assert interlock.run("t", project="bank").state.policy_hash == loose.hash
    for projects in ({"shop": loose}, {"bank": gates_with("[limits]\nnesting = 31\n")}):
        with pytest.raises(NotPermittedError, match="looser"):
            Interlock.open(place, keys=keys, policy=gates_with(""), projects=projects)
