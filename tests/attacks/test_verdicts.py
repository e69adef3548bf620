"""A FAIL in a verdict is never dropped, however it is written; and prose is no FAIL."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from effort import rounds
from interlock.model.review import Overall, ReviewDecision, ReviewOutcome, ReviewVerdict
from interlock.policy.reviews.review_gate import judge
from interlock.policy.reviews.verdict_grammar import VerdictSource, as_said, gate_verdict_from
from reviews.cases import SETTINGS, a_gate, advisory, an_open_review

CASES: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("verdicts.toml").read_text(encoding="utf-8")
)
GATES = (
    a_gate("tests", criteria=("every test passes",)),
    a_gate("security", criteria=("no injection", "inputs are validated")),
    a_gate("readable"),
)
SOURCES = st.sampled_from(VerdictSource)
_LONG = rounds(short=20_000, soak=60_000)


def judged(verdict: object, source: VerdictSource = VerdictSource.VERDICT) -> ReviewDecision:
    return judge(an_open_review(*GATES), gate_verdict_from(verdict, source), SETTINGS)


@pytest.mark.parametrize("line", CASES["fails"])
def test_what_reads_like_a_fail_holds_the_work_and_says_so(line: str) -> None:
    for first in ("GATE_REVIEW: PASS - fine", "GATE PASS: fine", "PASS \u2014 fine"):
        for newline in ("\n", "\r\n"):
            decision = judged(f"{first}{newline}{line}{newline}and more prose")

            assert decision.outcome is ReviewOutcome.RETRY
            assert decision.review is not None
            assert decision.review.attempt_count == 1
            assert decision.review.feedback
            assert decision.review.feedback in (decision.guidance or "")


@pytest.mark.parametrize("line", CASES["prose"])
def test_prose_about_failures_is_no_verdict(line: str) -> None:
    decision = judged(f"GATE_REVIEW: PASS - fine\n{line}")

    assert decision.outcome is ReviewOutcome.ADVANCE, decision.reason
    assert judged(f"GATE_REVIEW: PASS - fine; {line}").outcome is ReviewOutcome.ADVANCE or (
        # Some of them are lines of a list, which they are not behind other words.
        "\n" in line or line[0] in "0123456789[#-"
    )


@pytest.mark.parametrize("line", CASES["fails"])
def test_the_same_words_as_a_reason_hold_it_as_well(line: str) -> None:
    table: dict[str, Any] = {"overall": "PASS", "rationale": f"fine\n{line}"}
    value = ReviewVerdict(overall=Overall.PASS, rationale=f"fine\n{line}")

    assert judged(table).outcome is ReviewOutcome.RETRY
    assert judged(json.dumps(table)).outcome is ReviewOutcome.RETRY
    assert judge(an_open_review(*GATES), as_said(value), SETTINGS).outcome is ReviewOutcome.RETRY


WORDS = (
    "FAIL", "FAILED", "FAILS", "Fail", "failed", "NOT PASSED", "not passed", "does not pass",
    "REJECTED", "\u274c", "\u2717", "\uff26\uff21\uff29\uff2c", "F\u200bAIL", "NOT OK",
)  # fmt: skip
NAMES = (
    "[2]", "[security]", "2.", "2)", "2:", "(2)", "#2", "[ 2 ]", "gate 2", "Gate [2]",
    "criterion 2", "security", "Security", "SECURITY", "the security gate", "no injection",
    "inputs are validated", "[Security]", "\uff12.", "[2] security",
)  # fmt: skip
BULLETS = ("", "- ", "* ", "+ ", "\u2022 ", "> ", "  ", "\t", "\u2013 ", "- [x] ", ">> - ")
LINKS = (" ", ": ", " - ", " \u2014 ", " \u2192 ", " = ", " | ", " => ", " : ")
EMPHASIS = ("{}", "**{}**", "_{}_", "`{}`", "__{}__", "***{}***", "~~{}~~", '"{}"', "<b>{}</b>")
REASONS = ("", " - SQL injection", ": SQL injection", " \u2014 why", " | why |", " (why)", ".")
PROSE = (
    "", "looks fine otherwise", "[1] PASS - ran them", "GATE_VERDICTS:\n[1] PASS - ran them",
    "no failures elsewhere", "12 passed, 0 failed", "## Gate verdicts", "would FAIL without it",
)  # fmt: skip


@st.composite
def spelled(draw: st.DrawFn) -> str:
    """Draw a line that says of the second gate that it fails."""
    name = draw(st.sampled_from(EMPHASIS)).format(draw(st.sampled_from(NAMES)))
    word = draw(st.sampled_from(EMPHASIS)).format(draw(st.sampled_from(WORDS)))
    line = name + draw(st.sampled_from(LINKS)) + word + draw(st.sampled_from(REASONS))
    return draw(st.sampled_from(BULLETS)) + draw(st.sampled_from(EMPHASIS)).format(line)


@given(
    spelled(),
    st.sampled_from(("GATE_REVIEW: PASS - fine", "gate pass : fine")),
    st.sampled_from(PROSE),
    st.sampled_from(PROSE),
    st.sampled_from(("\n", "\r\n", "\n\n", "\u2028", "\x0b")),
    SOURCES,
)
@example("[2]: FAIL - SQL injection", "GATE PASS - x", "", "", "\n", VerdictSource.REPLY)
def test_an_overall_pass_with_any_spelled_fail_never_advances(
    line: str, first: str, before: str, after: str, newline: str, source: VerdictSource
) -> None:
    text = newline.join([first, before, line, after])

    assert judged(text, source).outcome is ReviewOutcome.RETRY


@given(spelled(), st.sampled_from(PROSE))
def test_a_fail_of_a_gate_that_only_advises_is_at_least_a_warning(line: str, prose: str) -> None:
    found = an_open_review(GATES[0], advisory("security"))
    said = gate_verdict_from(f"PASS - fine\n{prose}\n{line}", VerdictSource.VERDICT)

    decision = judge(found, said, SETTINGS)

    assert decision.outcome is ReviewOutcome.RETRY or decision.warnings


@given(st.text(max_size=60), SOURCES)
def test_nothing_beside_a_fail_takes_it_away(noise: str, source: VerdictSource) -> None:
    decision = judged(f"GATE_REVIEW: PASS - fine\n{noise}\n[2] FAIL - injection", source)

    assert decision.outcome is ReviewOutcome.RETRY


@pytest.mark.parametrize(
    "piece",
    ["FAIL ", "no ", "not ", "[", "[2] ", "would ", "fail: ", "no a ", "passed:", "_", "<", "2 ",
     "failures none ", "n't ", "none of the 1 a ", "PASS or ", "\u274c", "- ", "| "],
)  # fmt: skip
def test_hostile_repetition_is_read_in_time(piece: str) -> None:
    text = "GATE_REVIEW: PASS - fine\n" + (piece * _LONG)[:_LONG]

    assert judged(text).outcome in (ReviewOutcome.RETRY, ReviewOutcome.ADVANCE)
