"""Which words read like a FAIL, of what, and which are prose."""

from __future__ import annotations

import pytest

from interlock.model.review import GateVerdict, Overall, ReviewVerdict, Unreadable
from interlock.policy.reviews.spoken_failures import NamedGate, failures_in, gates_named
from interlock.policy.reviews.verdict_grammar import as_said, with_failures, with_ids
from reviews.cases import a_fail, a_pass, fails, passes

GATES = [
    NamedGate("tests", ("every test passes",)),
    NamedGate("unit-tests"),
    NamedGate("security", ("no injection", "the result")),
]


def told(text: str) -> list[tuple[str, bool]]:
    return [(each.subject, each.sure) for each in failures_in(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[2] FAIL - x", [("2", True)]),
        ("- **[security]** \u2014 FAIL", [("security", True)]),
        ("Gate 2: failed", [("2", True)]),
        ("2. fails badly", [("2", True)]),
        ("FAIL", [("", True)]),
        ("failed to start", [("", True)]),
        ("failures in three cases", []),
        ("3 failed", [("", True)]),
        ("3 cases failed", [("3 cases", True)]),
        ("Edge cases: fail", [("Edge cases", True)]),
        ("Edge cases: rejected", [("Edge cases", False)]),
        ("the edge cases fail", [("the edge cases", False)]),
        ("the old cases fail", []),
        ("soft-fail", []),
        ("fail-fast", []),
        ("[2] FAIL-fast", [("2", True)]),
        ("PASS or FAIL", []),
        ("[2] PASS/FAIL", [("2", True)]),
        ("tests PASS, security FAIL", [("security", True)]),
        ("would FAIL without it", []),
        ("no failures", []),
        ("no unit tests failed", []),
        ("none of the 3 FAILED", []),
        ("no injection FAIL", [("no injection", True)]),
        ("without any failure", []),
        ("without tests failed", [("without tests", False)]),
        ("- [ ] security: later", [("security", False)]),
        ('{"gate": "security", "passed": false}', [("{gate: security", True)]),
    ],
)
def test_words_of_failure_are_told_from_prose(text: str, expected: list[tuple[str, bool]]) -> None:
    assert told(text) == expected


@pytest.mark.parametrize(
    ("subject", "anywhere", "exactly"),
    [
        ("security", ["security"], ["security"]),
        ("Security gate", ["security"], ["security"]),
        ("No-injection", ["security"], ["security"]),
        ("the result", ["security"], ["security"]),
        ("3", ["security"], ["security"]),
        ("unit tests", ["unit-tests"], ["unit-tests"]),
        ("tests and security", ["tests", "security"], ["tests", "security"]),
        ("the new tests of ours", ["tests"], []),
        ("docs", [], []),
        ("9", [], []),
        ("", [], []),
    ],
)
def test_gates_are_known_by_place_id_or_title(
    subject: str, anywhere: list[str], exactly: list[str]
) -> None:
    assert gates_named(subject, GATES, exactly=False) == anywhere
    assert gates_named(subject, GATES, exactly=True) == exactly


def test_a_verdict_that_fails_anyway_only_learns_of_which_gates() -> None:
    text = "FAIL - x\n[3] FAIL - y\nCRITICAL FAIL\nthe tests failed"

    assert with_failures(a_fail(why="x"), text) == a_fail(
        fails("3", "y"),
        GateVerdict(gate="CRITICAL", passed=False, rationale="x", only_if_named=True),
        GateVerdict(gate="the tests", passed=False, rationale="x", only_if_named=True),
        why="x",
    )


def test_what_may_be_prose_counts_only_for_a_gate_of_that_name() -> None:
    said = with_failures(a_pass(), "the tests failed\nthe login failed")

    assert isinstance(said, ReviewVerdict)
    assert len(said.per_gate) == 2
    assert with_ids(said, GATES) == a_pass(fails("tests", "all is well"))


def test_more_failures_than_are_read_make_it_unreadable() -> None:
    assert isinstance(with_failures(a_pass(), "[1] FAIL - x\n" * 201), Unreadable)


def test_reasons_are_held_against_what_they_are_given_for() -> None:
    assert isinstance(as_said(a_pass(passes("tests", "FAIL"))), Unreadable)
    assert isinstance(as_said(a_pass(why="[2] FLAWED - x")), Unreadable)
    assert as_said(a_fail(fails("tests", "FAIL"))) == a_fail(fails("tests", "FAIL"))
    assert as_said(ReviewVerdict(overall=Overall.PASS, rationale="fine")) == a_pass(why="fine")
