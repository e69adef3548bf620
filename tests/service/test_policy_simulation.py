"""What another policy would have answered in past runs."""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from gates.policies import gates_with
from interlock import Interlock, Run
from interlock.model.action import CommandAction
from interlock.model.facts import Facts, Withheld
from interlock.model.recommendation import Evidence, SimulatedEffect
from interlock.model.verdict import Verdict
from interlock.policy.gates.judgement import judge
from interlock.policy.learn.recommendations import recommendations_from
from interlock.policy.learn.retrospective import retrospective_of
from interlock.service.policies.policy_simulation import recommended_policy, simulated
from interlock.service.policies.recorded_answer import findings_again
from ledger.events import a_judgement
from secret_generator import from_template
from service.ledgers import OpenInterlock, in_memory, operator_of, records_of
from steps.contexts import ACCELERATING

FORCE = "git push --force origin topic"
ALL = 100_000
ASKS = "require-confirmation"


def effect(
    interlock: Interlock, after: str, *runs: Run, before: str = "", most: int = ALL
) -> SimulatedEffect:
    """Return what would have been different under another policy."""
    return simulated(
        interlock.ledger.rows,
        gates_with(before),
        gates_with(after),
        runs=[run.id for run in runs],
        most=most,
    )


def rule(name: str, decision: str) -> str:
    return f'[destructive-ops.rules]\n"{name}" = "{decision}"\n'


def approved(interlock: Interlock, run: Run, token: str, line: str) -> None:
    """Have a person approve a command, and run it."""
    question = run.command(line).approval_id
    assert question is not None
    interlock.approve(question, token=token)
    run.observe(run.command(line))


def test_every_confirmation_that_would_be_spared_is_counted(interlock: Interlock) -> None:
    token, run, other = operator_of(interlock), interlock.run("t"), interlock.run("u")
    for number in range(3):
        approved(interlock, run, token, f"{FORCE}-{number}")
    run.command("git status")
    other.command(FORCE)
    asked = [
        record.seq
        for record in records_of(interlock.ledger, run.id)
        if getattr(record.event, "decision", None) == ASKS
    ]

    told = effect(interlock, rule("git.push-force", "warn"), run, other)

    assert told == SimulatedEffect(
        runs=2,
        answers=8,
        changed=4,
        confirmations_spared=4,
        blocks_lost=0,
        examples=(
            *(Evidence(run=run.id, seq=seq) for seq in asked),
            Evidence(run=other.id, seq=3),
        ),
    )


def test_blocks_that_would_be_lost_are_counted(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.command("rm -rf /")
    run.command(FORCE)

    lost = effect(interlock, "", run, before=rule("git.push-force", "block"))
    off = effect(interlock, "[destructive-ops]\nenabled = false\n", run)

    assert (lost.changed, lost.blocks_lost, lost.confirmations_spared) == (1, 1, 0)
    assert (off.changed, off.blocks_lost, off.confirmations_spared) == (2, 1, 1)


def test_what_would_be_blocked_from_then_on_changes_and_spares_nobody(
    interlock: Interlock,
) -> None:
    run = interlock.run("t")
    run.command(FORCE)

    told = effect(interlock, rule("git.push-force", "block"), run)

    assert (told.changed, told.blocks_lost, told.confirmations_spared) == (1, 0, 0)


def test_the_same_policy_changes_nothing(interlock: Interlock) -> None:
    run = interlock.run("t")
    run.command(FORCE)
    run.step()

    assert effect(interlock, "", run) == SimulatedEffect(
        runs=1, answers=2, changed=0, confirmations_spared=0, blocks_lost=0
    )


def test_what_another_rule_asks_about_as_well_is_asked_all_the_same(
    interlock: Interlock,
) -> None:
    run = interlock.run("t")
    run.command(f"{FORCE} && git reset --hard HEAD~3")

    assert effect(interlock, rule("git.push-force", "warn"), run).changed == 0


@pytest.mark.parametrize(
    ("line", "spared"), [("rm -rf src", 1), ("rm -rf $SOMEWHERE", 0)], ids=["known", "not known"]
)
def test_what_could_have_been_copied_counts_as_spared(
    interlock: Interlock, line: str, spared: int
) -> None:
    run, elsewhere = interlock.run("t", workspace="/srv/shop"), interlock.run("u")
    for each in (run, elsewhere):
        each.command(line, cwd="/srv/shop")
    after = rule("filesystem.delete-recursive-forced", "allow-with-undo")

    assert effect(interlock, after, run).confirmations_spared == spared
    assert effect(interlock, after, elsewhere).changed == 0


def test_an_action_without_its_secret_is_judged_as_if_it_had_it() -> None:
    secret = from_template("ghp_[A-Za-z0-9]{36}", 7)
    with in_memory() as interlock:
        run = interlock.run("t")
        answer = run.command(f"{FORCE} https://x:{secret}@github.com/a/b")
        assert answer.decision == "block"

        told = effect(interlock, rule("git.push-force", "warn"), run)

        assert (told.answers, told.changed) == (1, 0)
        weaker = effect(
            interlock,
            rule("git.push-force", "off"),
            run,
            before='[secrets]\ndecision = "warn"\n',
        )
        assert weaker.blocks_lost == 0


@pytest.mark.parametrize(
    ("policy", "push", "reset"),
    [
        ("", ASKS, ASKS),
        (rule("git.push-force", "allow-with-undo"), ASKS, ASKS),
        (rule("git.push-force", "warn"), "warn", ASKS),
        (rule("git.push-force", "off"), None, ASKS),
        (rule("git.reset-hard", "warn"), ASKS, "warn"),
        ("[destructive-ops]\nenabled = false\n", None, None),
    ],
)
def test_what_hangs_on_text_that_was_taken_out_has_the_weight_of_today(
    policy: str, push: str | None, reset: str | None
) -> None:
    """Here the whole line pushed and hid something, and what is left of it resets and cleans."""
    line = CommandAction(command="git reset --hard HEAD~3 && git clean -fdx", cwd="/srv/shop")
    pushed, *_ = judge(CommandAction(command=FORCE), gates_with("")).findings
    instead = judge(line, gates_with("")).findings
    hidden = replace(pushed, rule="hidden-command")
    event = replace(
        a_judgement(),
        action=line,
        verdict=Verdict(
            decision=pushed.decision, findings=(pushed, hidden, instead[0]), policy_hash="p1"
        ),
        facts=Facts(withheld=Withheld(instead=instead)),
    )

    again = findings_again(event, gates_with(policy))

    said = {"git.push-force": push, "hidden-command": ASKS, "git.reset-hard": reset}
    assert {each.rule: each.decision.value for each in again} == {
        name: decision for name, decision in said.items() if decision is not None
    }


def test_steps_are_decided_again_by_what_was_known(opened: OpenInterlock) -> None:
    interlock = opened("[steps]\ncooldown-ms = 0\n")
    token, run = operator_of(interlock), interlock.run("t")
    interlock.approve(str(run.step(uncertainty_score=0.9).approval_id), token=token)
    run.step(coherence_score=0.1)
    run.step()
    more = "[steps]\nmax-uncertainty-percent = 95\n"

    told = effect(interlock, more, run)
    stopped = effect(
        interlock, "[steps]\nmin-coherence-percent = 5\nread-only-below-percent = 5\n", run
    )

    assert (told.answers, told.changed, told.confirmations_spared) == (3, 1, 1)
    assert (stopped.changed, stopped.blocks_lost) == (1, 1)


def test_no_more_records_are_looked_at_than_allowed(interlock: Interlock) -> None:
    run, other = interlock.run("t"), interlock.run("u")
    for each in (run, other):
        for number in range(3):
            each.command(f"{FORCE}-{number}")
    after = rule("git.push-force", "warn")

    counts = [effect(interlock, after, run, other, most=most).answers for most in (0, 1, 3, 8, ALL)]
    runs = [effect(interlock, after, run, other, most=most).runs for most in (0, 1, 3, 8, ALL)]

    assert counts == snapshot([0, 0, 1, 3, 6])
    assert runs == snapshot([0, 0, 1, 1, 2])
    assert effect(interlock, after).runs == 0


def test_only_the_first_answers_are_named(interlock: Interlock) -> None:
    run = interlock.run("t")
    for number in range(12):
        run.command(f"{FORCE}-{number}")

    told = effect(interlock, rule("git.push-force", "warn"), run)

    assert (told.changed, len(told.examples)) == (12, 10)


def test_a_finished_run_leads_to_a_recommendation_with_its_effect(interlock: Interlock) -> None:
    token, run = operator_of(interlock), interlock.run("t", project="shop")
    for number in range(5):
        approved(interlock, run, token, f"{FORCE}-{number}")
    run.finish()
    gates = gates_with("")

    retrospective = retrospective_of(run.state, records_of(interlock.ledger, run.id))
    [found] = recommendations_from([retrospective], gates)
    told = simulated(
        interlock.ledger.rows,
        gates,
        recommended_policy(gates, found.patch),
        runs=[run.id],
        most=ALL,
    )

    assert retrospective.project == "shop"
    assert found.title == "asked 5 times, approved 5 times: allow `git.push-force`"
    assert (told.confirmations_spared, told.blocks_lost) == (5, 0)


def test_throttled_runs_that_go_well_lead_to_a_higher_limit() -> None:
    policy = "[steps]\ncooldown-ms = 0\n"
    with in_memory(policy) as interlock:
        runs = [interlock.run(str(number)) for number in range(5)]
        for run in runs:
            spent = 0
            for tokens in ACCELERATING:
                spent += tokens
                run.step(total_tokens_used=spent)
            run.finish()
        retrospectives = [
            retrospective_of(run.state, records_of(interlock.ledger, run.id)) for run in runs
        ]
        gates = gates_with(policy)

        [found] = recommendations_from(retrospectives, gates)
        told = simulated(
            interlock.ledger.rows,
            gates,
            recommended_policy(gates, found.patch),
            runs=[run.id for run in runs],
            most=ALL,
        )

        assert [(each.path[-1], each.value) for each in found.patch] == [
            ("max-slope-percent", "10")
        ]
        assert (told.changed > 0, told.confirmations_spared, told.blocks_lost) == (True, 0, 0)
