"""Is an edit too large to be looked over?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from gates.policies import by_gate, gates_with, told
from interlock import Decision, evaluate_edit, evaluate_tool_use
from interlock.model.unchanged_lines import changed_lines, lines_of

_LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "", " a", "é"]), max_size=30)
_TEXTS = st.one_of(_LINES.map("\n".join), st.text(max_size=40))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", 0, id="nothing-to-nothing"),
        pytest.param("a\nb\n", "a\nb\n", 0, id="same"),
        pytest.param("", "a\nb\nc\n", 3, id="new-file"),
        pytest.param("a\nb\nc\n", "", 3, id="emptied"),
        pytest.param("a\nb\nc\n", "a\nx\nc\n", 2, id="one-line-replaced"),
        pytest.param("a\nc\n", "a\nb\nc\n", 1, id="one-line-put-in"),
        pytest.param("a\nb\nc\n", "a\nc\n", 1, id="one-line-taken-out"),
        pytest.param("a\nb\n", "b\na\n", 2, id="two-lines-swapped"),
        pytest.param("a\nb\nc\nd\n", "d\nb\nc\na\n", 4, id="ends-swapped"),
        pytest.param("a\nb\nc\n", "c\na\nb\n", 2, id="last-line-first"),
        pytest.param("a\n\nb\n\nc", "a\n\nx\n\nc", 2, id="repeated-blank-lines-stay"),
        pytest.param("a\n", "a\na\na\n", 2, id="repeated"),
        pytest.param("x\na\na\ny\n", "y\na\nx\n", 5, id="repeated-and-moved"),
        pytest.param("a", "a\n", 0, id="only-the-last-line-break"),
    ],
)
def test_removed_and_added_lines_are_counted(old: str, new: str, expected: int):
    assert changed_lines(old, new) == expected


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old-mac"])
def test_lines_end_in_any_style(ending: str):
    lines = ["a", "b", "c"]

    assert changed_lines("", ending.join(lines)) == 3
    assert changed_lines(ending.join(lines), ending.join([*lines, "d"])) == 1


@pytest.mark.parametrize("inside", ["\f", "\v", "\x1c", "\x85", "\u2028"])
def test_what_ends_no_line_of_a_file_ends_none_here(inside: str):
    assert changed_lines("", f"a{inside}b\n") == 1


@given(_TEXTS)
def test_nothing_changes_between_a_text_and_itself(text: str):
    assert changed_lines(text, text) == 0


@given(_TEXTS, _TEXTS)
def test_there_and_back_are_as_long(one: str, other: str):
    assert changed_lines(one, other) == changed_lines(other, one)


@given(_TEXTS, _TEXTS)
def test_no_more_changes_than_there_are_lines(one: str, other: str):
    lengths = len(lines_of(one)), len(lines_of(other))

    assert abs(lengths[0] - lengths[1]) <= changed_lines(one, other) <= sum(lengths)


@given(_LINES, _LINES, st.integers(0, 30))
def test_lines_put_in_are_counted_whatever_stands_around(
    around: list[str], inside: list[str], place: int
):
    place = min(place, len(around))
    new = [*around[:place], *inside, *around[place:]]

    assert changed_lines("\n".join(["", *around, "."]), "\n".join(["", *new, "."])) == len(inside)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(300, Decision.ALLOW, id="as-many-pass"),
        pytest.param(301, Decision.WARN, id="one-more"),
    ],
)
def test_the_threshold_itself_passes(lines: int, expected: Decision):
    text = "".join(f"line {number}\n" for number in range(lines))

    assert evaluate_edit("a.py", text, old="").decision is expected
    assert evaluate_edit("a.py", text).decision is expected
    assert evaluate_edit("a.py", "", diff_lines=lines).decision is expected
    assert evaluate_tool_use("Write", {"path": "a.py", "content": text}).decision is expected


def test_a_large_edit_is_told_with_both_numbers():
    assert told(evaluate_edit("src/a.py", "", diff_lines=301)) == snapshot("""\
warn
diff-size.threshold: `src/a.py` changes 301 lines, more than 300\
""")


def test_the_callers_figure_counts_only_where_the_old_text_is_not_known():
    text = "x\n" * 400

    assert by_gate(evaluate_edit("a.py", text, old="", diff_lines=1), "diff-size")
    assert not by_gate(evaluate_edit("a.py", text, old=text, diff_lines=400), "diff-size")
    assert not by_gate(evaluate_edit("a.py", text, diff_lines=1), "diff-size")


def test_many_small_edits_of_one_file_count_together():
    edits = [{"old_string": f"a{number}", "new_string": f"b{number}"} for number in range(151)]

    verdict = evaluate_tool_use("MultiEdit", {"file_path": "a.py", "edits": edits})

    assert told(verdict) == snapshot("""\
warn
diff-size.threshold: `a.py` changes 302 lines, more than 300\
""")


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param("enabled = false", Decision.ALLOW, id="off"),
        pytest.param("threshold = 1000", Decision.ALLOW, id="higher"),
        pytest.param('decision = "block"', Decision.BLOCK, id="stricter"),
    ],
)
def test_the_policy_sets_what_is_too_large(policy: str, expected: Decision):
    gates = gates_with(f"[diff-size]\n{policy}\n")

    assert evaluate_edit("a.py", "", diff_lines=500, policy=gates).decision is expected
