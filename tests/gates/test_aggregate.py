"""The laws of the answer: the strictest finding counts, whatever the others say."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock import Decision, Finding, aggregate, evaluate_command, evaluate_tool_use
from interlock.values import Severity

_FINDINGS = st.lists(
    st.builds(
        Finding,
        gate=st.just("rules"),
        rule=st.sampled_from("abc"),
        decision=st.sampled_from(Decision),
        severity=st.sampled_from(Severity),
        message=st.just("an example"),
        remediation=st.just("none"),
    ),
    max_size=8,
)


def test_no_finding_allows():
    assert aggregate([]) is Decision.ALLOW
    assert aggregate(iter(())) is Decision.ALLOW


def test_decisions_are_ranked_from_free_to_forbidden():
    assert [(decision.value, decision.rank) for decision in Decision] == [
        ("allow", 0),
        ("warn", 1),
        ("require-confirmation", 2),
        ("block", 3),
    ]


@given(_FINDINGS, st.randoms(use_true_random=False))
def test_the_order_of_findings_is_irrelevant(findings: list[Finding], chance: random.Random):
    shuffled = findings.copy()
    chance.shuffle(shuffled)

    assert aggregate(shuffled) is aggregate(findings)


@given(_FINDINGS, _FINDINGS)
def test_one_more_finding_never_loosens(some: list[Finding], more: list[Finding]):
    assert aggregate(some + more).rank >= aggregate(some).rank


@given(_FINDINGS, _FINDINGS)
def test_parts_can_be_decided_by_themselves(some: list[Finding], more: list[Finding]):
    parts = aggregate(some), aggregate(more)

    assert aggregate(some + more) is max(parts, key=lambda decision: decision.rank)


@given(_FINDINGS.filter(bool))
def test_the_answer_is_one_that_a_finding_gave(findings: list[Finding]):
    assert aggregate(findings) in {finding.decision for finding in findings}


@pytest.mark.parametrize(
    "line", ["rm -rf / && git push --force", "echo x > interlock.toml; $CMD; rm -rf src"]
)
def test_every_finding_is_returned_and_the_strictest_decides(line: str):
    for verdict in (evaluate_command(line), evaluate_tool_use("Bash", {"command": line})):
        decisions = {finding.decision for finding in verdict.findings}

        assert len(decisions) > 1
        assert verdict.decision is Decision.BLOCK


@pytest.mark.parametrize(
    ("decision", "short"),
    [
        (Decision.ALLOW, "allow"),
        (Decision.WARN, "warn"),
        (Decision.REQUIRE_CONFIRMATION, "ask"),
        (Decision.BLOCK, "deny"),
    ],
)
def test_short_forms_are_said_and_read(decision: Decision, short: str):
    assert decision.short == short
    assert Decision(short) is decision
    assert msgspec.convert(short, Decision) is decision


def test_another_word_is_no_decision():
    with pytest.raises(ValueError, match="perhaps"):
        Decision("perhaps")
