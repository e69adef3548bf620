"""The gate `privilege`: what a run may do shrinks with its coherence, before it is stopped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from interlock import Decision, Finding
from interlock.model.facts import Band
from interlock.model.verdict import aggregate
from interlock.policy.actions.risk_class import RiskClass
from interlock.policy.config.run_sections import Steps
from interlock.policy.gates.privilege_gate import privilege_gate
from interlock.policy.steps.step_figures import band_of
from interlock.values import Severity
from policy.files import wrapped

_SETTINGS = Steps()
_SCORES = {Band.FULL: 0.7, Band.RESTRICTED: 0.695, Band.READ_ONLY: 0.45, Band.STOP: 0.2}


def findings(band: Band, nature: RiskClass) -> list[Finding]:
    return list(privilege_gate(band, _SCORES[band], nature, _SETTINGS))


@pytest.mark.parametrize(
    ("band", "needs_a_person"),
    [
        (Band.FULL, set[RiskClass]()),
        (Band.RESTRICTED, {RiskClass.REACHES_OUT, RiskClass.DESTROYS}),
        (Band.READ_ONLY, {RiskClass.WRITES, RiskClass.REACHES_OUT, RiskClass.DESTROYS}),
        (Band.STOP, {RiskClass.WRITES, RiskClass.REACHES_OUT, RiskClass.DESTROYS}),
    ],
)
def test_each_band_leaves_less_to_the_run(band: Band, needs_a_person: set[RiskClass]) -> None:
    assert {nature for nature in RiskClass if findings(band, nature)} == needs_a_person


def test_a_person_is_asked_with_both_figures() -> None:
    told = [each for band in Band for nature in RiskClass for each in findings(band, nature)]

    assert wrapped([f"{each.rule}: {each.message}" for each in told]) == snapshot("""\
privilege.restricted: this reaches other machines, and the run is restricted: its coherence
    is 0.695, and from 0.7 on no approval is needed
privilege.restricted: this may destroy something, and the run is restricted: its coherence
    is 0.695, and from 0.7 on no approval is needed
privilege.read-only: this may change something, and the run is read-only: its coherence is
    0.45, and from 0.5 on no approval is needed
privilege.read-only: this reaches other machines, and the run is read-only: its coherence is
    0.45, and from 0.7 on no approval is needed
privilege.read-only: this may destroy something, and the run is read-only: its coherence is
    0.45, and from 0.7 on no approval is needed
privilege.stop: this may change something, and the run is about to be stopped: its coherence
    is 0.2, and from 0.5 on no approval is needed
privilege.stop: this reaches other machines, and the run is about to be stopped: its
    coherence is 0.2, and from 0.7 on no approval is needed
privilege.stop: this may destroy something, and the run is about to be stopped: its
    coherence is 0.2, and from 0.7 on no approval is needed\
""")


def test_the_way_out_is_told() -> None:
    restricted, read_only = (
        findings(band, RiskClass.DESTROYS)[0].remediation
        for band in (Band.RESTRICTED, Band.READ_ONLY)
    )

    assert wrapped([restricted, read_only]) == snapshot("""\
do not repeat what did not work, and do not rewrite your own lines once more; verify the
    last change with the tests, which raises the coherence, or have a person confirm
read what the last failures say before the next attempt, and have a person confirm it, or
    ask a person to look at the run\
""")


def test_a_finding_asks_and_does_not_forbid() -> None:
    (finding,) = findings(Band.RESTRICTED, RiskClass.DESTROYS)

    assert (finding.gate, finding.decision, finding.severity) == (
        "privilege",
        Decision.REQUIRE_CONFIRMATION,
        Severity.MEDIUM,
    )


def test_the_limits_are_those_of_the_policy() -> None:
    settings = Steps(restricted_below_percent=90, read_only_below_percent=80)
    (finding,) = privilege_gate(Band.READ_ONLY, 0.75, RiskClass.WRITES, settings)

    assert "0.75" in finding.message
    assert "0.8 " in finding.message


_SCORE = st.one_of(st.floats(0, 1), st.sampled_from([0.4, 0.5, 0.7]))


@given(_SCORE, _SCORE, st.sampled_from(RiskClass), st.sampled_from(RiskClass))
def test_neither_a_worse_score_nor_a_worse_action_loosens(
    one: float, other: float, this: RiskClass, that: RiskClass
) -> None:
    worse, better = sorted((one, other))
    harmless, dangerous = sorted((this, that), key=lambda nature: nature.rank)

    assert rank(worse, dangerous) >= rank(better, harmless)


@given(st.floats(0.7, 1), st.sampled_from(RiskClass))
def test_nothing_is_taken_from_a_run_that_holds_together(score: float, nature: RiskClass) -> None:
    assert rank(score, nature) == Decision.ALLOW.rank


@given(st.floats(0, 1))
def test_reading_is_always_free(score: float) -> None:
    assert rank(score, RiskClass.READS) == Decision.ALLOW.rank


def rank(score: float, nature: RiskClass) -> int:
    band = band_of(score, _SETTINGS)
    return aggregate(privilege_gate(band, score, nature, _SETTINGS)).rank
