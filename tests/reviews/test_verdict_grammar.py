"""What a verdict may look like, and what is said to one that does not."""

from __future__ import annotations

import json
from collections import UserDict
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from interlock.model.review import GateVerdict, Overall, ReviewVerdict, Unreadable
from interlock.policy.reviews.spoken_failures import NamedGate
from interlock.policy.reviews.verdict_grammar import VerdictSource, gate_verdict_from, with_ids
from reviews.cases import a_fail, a_pass, fails, passes

VERDICT, REPLY = VerdictSource.VERDICT, VerdictSource.REPLY


def read(text: object, source: VerdictSource = VERDICT) -> ReviewVerdict:
    verdict = gate_verdict_from(text, source)
    assert isinstance(verdict, ReviewVerdict), verdict
    return verdict


def why_not(text: object, source: VerdictSource = VERDICT) -> str:
    verdict = gate_verdict_from(text, source)
    assert isinstance(verdict, Unreadable), verdict
    return verdict.reason


def per_gate(block: str) -> list[tuple[str, bool]]:
    told = read(f"GATE_REVIEW: PASS - why\n{block}").per_gate
    return sorted((each.gate, each.passed) for each in told)


def named(*ids: str) -> list[NamedGate]:
    return [NamedGate(each) for each in ids]


@pytest.mark.parametrize(
    ("text", "overall", "rationale"),
    [
        ("GATE_REVIEW: PASS - Excellent work", Overall.PASS, "Excellent work"),
        ("gate_review: pass - Good", Overall.PASS, "Good"),
        ("GATE_REVIEW: PASS : Nice", Overall.PASS, "Nice"),
        ("GATE_REVIEW: FAIL : why", Overall.FAIL, "why"),
        ("GATE PASS - why", Overall.PASS, "why"),
        ("GATE FAIL : Missing tests", Overall.FAIL, "Missing tests"),
        ("Gate Fail: Missing tests", Overall.FAIL, "Missing tests"),
        ("GATE_REVIEW: FAIL \u2013 en dash", Overall.FAIL, "en dash"),
        ("GATE_REVIEW: FAIL\u2014em dash", Overall.FAIL, "em dash"),
        ("GATE_REVIEW:FAIL- close by", Overall.FAIL, "close by"),
        ("GATE_REVIEW : FAIL -close by", Overall.FAIL, "close by"),
        ("GATE_REVIEW: PASS -- twice", Overall.PASS, "twice"),
        ("GATE_REVIEW: PASS - a - b : c", Overall.PASS, "a - b : c"),
        ("\n \n  GATE_REVIEW: PASS - below blank lines  \nmore", Overall.PASS, "below blank lines"),
        ("GATE_REVIEW: FAIL - say `this`", Overall.FAIL, "say 'this'"),
    ],
)
@pytest.mark.parametrize("source", VerdictSource)
def test_the_marked_shapes_are_read_wherever_they_stand(
    text: str, overall: Overall, rationale: str, source: VerdictSource
) -> None:
    assert read(text, source) == ReviewVerdict(overall=overall, rationale=rationale)


@pytest.mark.parametrize("text", ["PASS - OK", "pass: OK", "FAIL \u2014 not OK"])
def test_a_bare_word_counts_only_where_it_is_passed_as_the_verdict(text: str) -> None:
    assert read(text, VERDICT).rationale.endswith("OK")
    assert "its first line is" in why_not(text, REPLY)


@pytest.mark.parametrize(
    "text",
    [
        "random text",
        "I think it will PASS - really",
        "all good\nGATE_REVIEW: PASS - not on the first line",
        "PASSED - OK",
        "PASS-through is broken",
        "PASS through is broken",
        "PA\u017fS - a long s",
        "GATE_REVIEW: MAYBE - why",
        "GATE_REVIEW PASS - why",
        "GATE: PASS - why",
        "GATEPASS - why",
        "```\nGATE_REVIEW: PASS - fenced\n```",
        "GATE_REVIEW: PASS/FAIL - why",
    ],
)
def test_what_is_no_verdict_is_told_what_one_looks_like(text: str) -> None:
    first = text.splitlines()[0].replace("`", "'")

    assert why_not(text) == (
        f"its first line is `{first}`:"
        " expected `GATE_REVIEW: PASS - why` or `GATE_REVIEW: FAIL - why`"
    )


@pytest.mark.parametrize(
    "text", ["GATE_REVIEW: PASS - ", "GATE_REVIEW: PASS", "GATE PASS :", "PASS --", "PASS - ... !"]
)
def test_a_verdict_without_a_rationale_is_told_so(text: str) -> None:
    assert why_not(text) == snapshot(
        "it says PASS and not why: expected `GATE_REVIEW: PASS - why` or `GATE_REVIEW: FAIL - why`"
    )


@pytest.mark.parametrize("text", ["", "  \n\t\n "])
def test_an_empty_verdict_is_told_so(text: str) -> None:
    assert why_not(text).startswith("it is empty: expected `GATE_REVIEW: PASS - why`")


def test_a_long_rationale_is_cut_and_an_endless_verdict_is_not_read() -> None:
    assert len(read("PASS - " + "word " * 1000).rationale) <= 2000
    assert why_not("PASS - " + "." * 1999 + " word").startswith("it says PASS and not why")
    assert why_not("PASS - " + "x" * 70_000) == "it has 70007 characters, at most 65536 are read"


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            "GATE_VERDICTS:\n[1] PASS - All tests pass\n[2] FAIL - Missing error handling\n"
            "[3] PASS - Documentation complete",
            [("1", True), ("2", False), ("3", True)],
        ),
        ("CRITERION_VERDICTS:\n[1] PASS - x", [("1", True)]),
        ("gate_verdicts :\n[1] pass - x\n[2] Fail: y", [("1", True), ("2", False)]),
        ("GATE_VERDICTS:\n1 PASS - First criterion met\n2 FAIL - y", [("1", True), ("2", False)]),
        ("GATE_VERDICTS:\n[1] PASS \u2014 x\n[2] FAIL \u2013 y", [("1", True), ("2", False)]),
        (
            "GATE_VERDICTS:\n[1] PASS - Good\nnot a verdict line\n[3] FAIL - Bad",
            [("1", True), ("3", False)],
        ),
        ("GATE_VERDICTS:\n\n  [1] PASS - x\n\n  [2] FAIL - y", [("1", True), ("2", False)]),
        ("some words\n\nGATE_VERDICTS:\n[tests/unit] FAIL - y", [("tests/unit", False)]),
        ("", []),
        ("[1] FAIL - without its header", [("1", False)]),
        ("[1] PASS - without its header\n1. PASS", [("1", True)]),
        ("## Gate results\n- **[2]** PASSED \u2014 x", [("2", True)]),
    ],
)
def test_the_lines_of_single_gates_are_read(block: str, expected: list[tuple[str, bool]]) -> None:
    assert per_gate(block) == expected


def test_the_word_on_a_gate_keeps_its_reason() -> None:
    told = read("FAIL - x\nGATE_VERDICTS:\n[1] FAIL : no - error: handling")

    assert told == a_fail(fails("1", "no - error: handling"), why="x")


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        ("GATE_VERDICTS:", "no line such as `[1] PASS - why` stands below `GATE_VERDICTS:`"),
        ("GATE_VERDICTS:\nwords", "no line such as `[1] PASS - why` stands below `GATE_VERDICTS:`"),
        (
            "GATE_VERDICTS:\n[1] PASS - x\n[2] FAIL",
            "`[2] FAIL` says not why: expected `[1] FAIL - why`",
        ),
        ("GATE_VERDICTS:\n[2] PASS", "`[2] PASS` says not why: expected `[1] PASS - why`"),
        (
            "GATE_VERDICTS:\n[2] looked at",
            "`[2] looked at` says neither PASS nor FAIL: expected `[1] PASS - why`",
        ),
        (
            "[2] FLAWED - why",
            "`[2] FLAWED - why` says neither PASS nor FAIL: expected `[1] PASS - why`",
        ),
        (
            "GATE_VERDICTS:\n" + "[1] PASS - x\n" * 201,
            "it names 201 gates, at most 200 are read",
        ),
    ],
)
def test_lines_of_single_gates_that_say_too_little_make_it_unreadable(
    block: str, reason: str
) -> None:
    assert why_not(f"PASS - x\n{block}") == reason


TABLE: dict[str, Any] = {
    "overall": "FAIL",
    "rationale": " two \n gaps ",
    "per_gate": [
        {"gate": "tests", "passed": False, "rationale": "GATE_REVIEW: PASS - inside"},
        {"gate": 2, "passed": True, "rationale": "fine"},
    ],
}


def test_a_structured_verdict_is_read_as_a_table_or_as_json() -> None:
    expected = a_fail(
        fails("tests", "GATE_REVIEW: PASS - inside"), passes("2", "fine"), why="two gaps"
    )

    assert read(TABLE) == expected
    assert read(UserDict(TABLE)) == expected
    assert read(f"\n{json.dumps(TABLE)}\n", REPLY) == expected
    assert read({"overall": "pass", "rationale": "x"}) == a_pass(why="x")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"overall": "MAYBE"}, "`overall` is `MAYBE`, expected `PASS` or `FAIL`"),
        ({"overall": None}, "expected `str`, got `null` at `$.overall`: expected "),
        ({"rationale": " - "}, "`rationale` is empty: say why it is a FAIL"),
        ({"per_gates": []}, "object contains unknown field `per_gates`: expected "),
        ({"per_gate": {}}, "expected `array`, got `object` at `$.per_gate`: expected "),
        (
            {"per_gate": [{"gate": "a", "passed": "no", "rationale": "x"}]},
            "expected `bool`, got `str` at `$.per_gate[0].passed`: expected ",
        ),
        (
            {"per_gate": [{"gate": "a", "passed": True, "rationale": ""}]},
            "`per_gate[0].rationale` is empty: say why",
        ),
        (
            {"per_gate": [{"gate": 0, "passed": True, "rationale": "x"}]},
            "expected `int` >= 1 at `$.per_gate[0].gate`: expected ",
        ),
        (
            {"per_gate": [{"gate": "a", "passed": True, "rationale": "x"}] * 201},
            "it names 201 gates, at most 200 are read",
        ),
    ],
)
def test_a_table_that_is_none_is_told_where_and_what_is_expected(
    change: dict[str, object], reason: str
) -> None:
    table = {**TABLE, **change}

    assert why_not(table).startswith(reason)
    assert why_not(json.dumps(table)).startswith(reason)


def test_what_is_neither_text_nor_table_is_told_the_table() -> None:
    for given_thing in (None, 7, ["PASS"], b"PASS - x"):
        assert why_not(given_thing) == snapshot(
            'it is neither text nor a table: expected `{"overall": "FAIL", "rationale": "why",'
            ' "per_gate": [{"gate": "id", "passed": false, "rationale": "why"}]}`'
        )


@pytest.mark.parametrize(
    "text",
    [
        "{", "{}", '{"overall":' + "[" * 60_000, '{"overall":"\ud800","rationale":"x"}',
        '{"a":' * 10_000, "{'overall': 'PASS'}",
        '{"overall":"PASS","rationale":"x","per_gate":[{"gate":' + "9" * 5000 + "}]}",
    ],
)  # fmt: skip
def test_json_that_is_broken_is_unreadable(text: str) -> None:
    assert why_not(text)


def test_a_reason_stays_short_whatever_was_said() -> None:
    assert len(why_not({"x" * 60_000: 1})) == 600


def test_gates_are_named_by_their_place_or_by_their_id() -> None:
    verdict = a_pass(passes("2"), passes("tests"))

    assert with_ids(verdict, named("tests", "docs")) == a_pass(passes("docs"), passes("tests"))
    assert isinstance(with_ids(verdict, named("tests")), Unreadable)
    assert isinstance(with_ids(a_pass(passes("01")), named("tests")), Unreadable)


PIECES = (
    "GATE_REVIEW:", "GATE ", "PASS", "FAIL", " - ", ":", "\u2014", "\n", "GATE_VERDICTS:", "[1]",
    "1", " why", "{", '"overall"', "}", "-", "\t", "[tests]", "\ud800", "\x00",
)  # fmt: skip


@given(
    st.text() | st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.sampled_from(VerdictSource),
)
@example("PASS - " + "\u2026" * 3000, VERDICT)
def test_no_text_is_too_odd(text: str, source: VerdictSource) -> None:
    verdict = with_ids(gate_verdict_from(text, source), named("tests", "docs"))

    if isinstance(verdict, Unreadable):
        assert verdict.reason
    else:
        assert verdict.rationale.strip()
        assert all(each.gate in ("tests", "docs") for each in verdict.per_gate)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(["overall", "rationale", "per_gate", "gate"]) | st.text(), json_values
    )
)
def test_no_table_is_too_odd(table: dict[str, object]) -> None:
    assert isinstance(gate_verdict_from(table, VERDICT), (ReviewVerdict, Unreadable))


words = st.text("abc :-\u2014[]1", min_size=1, max_size=40).filter(
    lambda text: any(character.isalnum() for character in text)
)
verdicts = st.builds(
    ReviewVerdict,
    overall=st.sampled_from(Overall),
    rationale=words,
    per_gate=st.lists(
        st.builds(
            GateVerdict, gate=st.sampled_from(["1", "tests"]), passed=st.booleans(), rationale=words
        ),
        max_size=4,
    ).map(tuple),
)


def essence(each: GateVerdict) -> tuple[str, bool, str]:
    return each.gate, each.passed, "".join(filter(str.isalnum, each.rationale))


@given(verdicts)
def test_a_verdict_says_the_same_as_a_table_and_as_text(verdict: ReviewVerdict) -> None:
    lines = [f"GATE_REVIEW: {verdict.overall.value} : {verdict.rationale}"]
    if verdict.per_gate:
        lines.append("GATE_VERDICTS:")
    for each in verdict.per_gate:
        word = "PASS" if each.passed else "FAIL"
        lines.append(f"[{each.gate}] {word} : {each.rationale}")
    table = {
        "overall": verdict.overall.value,
        "rationale": verdict.rationale,
        "per_gate": [
            {"gate": each.gate, "passed": each.passed, "rationale": each.rationale}
            for each in verdict.per_gate
        ],
    }

    spoken, written = read("\n".join(lines), REPLY), read(table)

    assert spoken.overall is written.overall
    assert spoken.rationale == written.rationale
    assert sorted(map(essence, spoken.per_gate)) == sorted(map(essence, written.per_gate))


@pytest.mark.parametrize(
    "piece", ["GATE_REVIEW:", "PASS - ", "GATE ", " ", "-", "[", "[1", "GATE_VERDICTS:\n", "1", "{"]
)
def test_hostile_text_is_read_all_the_same(piece: str) -> None:
    for text in (piece * 5_000, "PASS - x\nGATE_VERDICTS:\n" + piece * 5_000):
        assert isinstance(gate_verdict_from(text[:65_000], VERDICT), (ReviewVerdict, Unreadable))
