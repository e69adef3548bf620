"""The answer, once it is known whether an action can be put back."""

from __future__ import annotations

import pytest

from gates.policies import gates_with, rules_of
from interlock import Decision, Finding
from interlock.model.action import CommandAction
from interlock.model.facts import Denial, Facts, Hold, HoldKind, Undoable, UndoSnapshot
from interlock.policy.actions.undo_eligibility import is_undoable
from interlock.policy.gates.judgement import Settled, judge, settle
from interlock.values import Severity
from undo_snapshots.workplace import POLICY, RULE

GATES = gates_with(POLICY)
KEPT = UndoSnapshot(id="k1", workspace="/w", paths=("a",), entries=3, size_bytes=1234)
HALTED = Hold(kind=HoldKind.PERSON_STOP, reason="no", step=1, since=0)


def a_finding(gate: str, rule: str, decision: Decision = Decision.REQUIRE_CONFIRMATION) -> Finding:
    return Finding(
        gate=gate,
        rule=rule,
        decision=decision,
        severity=Severity.LOW,
        message="m",
        remediation="r",
    )


PACKED = a_finding("destructive-ops", RULE)
OWN = a_finding("rules", "mind-files")
WARNING = a_finding("diff-size", "diff-size", Decision.WARN)


def settled(*findings: Finding, facts: Facts) -> Settled:
    return settle(findings, facts, GATES, "p")


@pytest.mark.parametrize(
    ("findings", "undoable"),
    [
        ((PACKED,), True),
        ((OWN,), True),
        ((PACKED, OWN, WARNING), True),
        ((), False),
        ((WARNING,), False),
        ((PACKED, a_finding("destructive-ops", "git.push-force")), False),
        ((PACKED, a_finding("destructive-ops", "unresolved-command")), False),
        ((OWN, a_finding("rules", "another")), False),
        ((OWN, a_finding("protected-paths", "mind-files")), False),
        ((PACKED, a_finding("privilege", "privilege.restricted")), False),
        ((PACKED, a_finding("secrets", "secrets.key", Decision.BLOCK)), False),
    ],
)
def test_only_rules_that_say_so_can_be_undone(findings: tuple[Finding, ...], undoable: bool):
    assert is_undoable(findings, GATES.config) is undoable


def test_without_such_rules_nothing_can_be_undone():
    assert not is_undoable((PACKED,), gates_with("").config)
    assert not is_undoable((OWN,), gates_with("").config)


def test_what_was_copied_goes_ahead_and_says_how_to_put_it_back():
    answer = settled(PACKED, OWN, facts=Facts(undo=Undoable(snapshot=KEPT)))

    assert answer.decision is Decision.WARN
    assert answer.verdict.decision is Decision.REQUIRE_CONFIRMATION
    assert rules_of(answer.verdict) == [RULE, "mind-files", "undo.kept"]
    told = answer.verdict.findings[-1]
    assert told.message == (
        "it goes ahead, because `interlock undo k1` puts it back: 3 files, folders and links with"
        " 1,234 bytes were copied first"
    )


@pytest.mark.parametrize(
    ("entries", "told"),
    [(0, "nothing stands there yet"), (1, "1 file, folder or link with 5 bytes")],
)
def test_what_was_copied_is_counted(entries: int, told: str):
    kept = UndoSnapshot(id="k1", workspace="/w", paths=("a",), entries=entries, size_bytes=5)
    answer = settled(PACKED, facts=Facts(undo=Undoable(snapshot=kept)))

    assert told in answer.verdict.findings[-1].message


def test_what_could_not_be_copied_asks_and_says_why():
    answer = settled(PACKED, facts=Facts(undo=Undoable(refused="it is too large")))

    assert answer.decision is Decision.REQUIRE_CONFIRMATION
    assert rules_of(answer.verdict) == [RULE, "undo.not-possible"]
    assert answer.verdict.findings[-1].message == (
        "it could not be undone, so a person is asked: it is too large"
    )


@pytest.mark.parametrize(
    ("others", "facts"),
    [
        ((a_finding("secrets", "s", Decision.BLOCK),), Facts(undo=Undoable(snapshot=KEPT))),
        ((), Facts(undo=Undoable(snapshot=KEPT), denied=Denial(approval="a1"))),
        ((), Facts(undo=Undoable(snapshot=KEPT), hold=HALTED)),
    ],
    ids=["a gate", "a person", "a halt"],
)
def test_a_copy_does_not_let_through_what_is_refused(others: tuple[Finding, ...], facts: Facts):
    assert settled(PACKED, *others, facts=facts).decision is Decision.BLOCK


def test_a_copy_does_not_answer_for_another_rule():
    another = a_finding("destructive-ops", "git.push-force")

    answer = settled(PACKED, another, facts=Facts(undo=Undoable(snapshot=KEPT)))

    assert answer.decision is Decision.REQUIRE_CONFIRMATION


def test_the_gates_alone_ask_a_person():
    verdict = judge(CommandAction(command="rm -rf src", cwd="/w"), GATES)

    assert verdict.decision is Decision.REQUIRE_CONFIRMATION
    assert rules_of(verdict) == [RULE, "mind-files"]
