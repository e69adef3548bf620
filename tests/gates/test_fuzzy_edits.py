"""Was the text that an edit replaces found only by likeness?"""

from __future__ import annotations

import pytest
from inline_snapshot import snapshot

from gates.policies import by_gate, gates_with, told
from interlock import Decision, ToolAction, evaluate_tool_use
from interlock.views.action_explanation import explain

_FUZZY = {"path": "a.py", "old_string": "x", "new_string": "y", "layer": "fuzzy"}
_EXACT = {"path": "b.py", "old_string": "x", "new_string": "y"}


def _policy(answer: str) -> str:
    return f'[edits]\nfuzzy-matches = "{answer}"\n'


@pytest.mark.parametrize("answer", ["warn", "require-confirmation", "block"])
def test_the_policy_says_what_is_answered(answer: str) -> None:
    gates = gates_with(_policy(answer))

    verdict = evaluate_tool_use("interlock_edit", {"edits": [_EXACT, _FUZZY, _FUZZY]}, policy=gates)

    assert verdict.decision is Decision(answer)
    assert len(verdict.findings) == 1


def test_it_names_the_file_and_what_to_do() -> None:
    verdict = evaluate_tool_use(
        "interlock_edit", {"edits": [_FUZZY]}, policy=gates_with(_policy("block"))
    )

    assert told(verdict) == snapshot("""\
block
edits.fuzzy-match: `a.py` does not hold the text to be replaced, only lines that are like it\
""")


@pytest.mark.parametrize(
    ("tool", "edits", "answer"),
    [
        pytest.param("interlock_edit", [_FUZZY], "off", id="switched-off"),
        pytest.param(
            "interlock_edit", [_EXACT, {**_EXACT, "layer": "whitespace"}], "block", id="sure"
        ),
        pytest.param("MultiEdit", [_FUZZY], "block", id="what-another-tool-says-of-itself"),
        pytest.param("interlock_edit", "fuzzy", "block", id="no-list"),
        pytest.param("interlock_edit", ["fuzzy", 1, None], "block", id="no-edits"),
    ],
)
def test_it_is_silent_about_everything_else(tool: str, edits: object, answer: str) -> None:
    verdict = evaluate_tool_use(tool, {"edits": edits}, policy=gates_with(_policy(answer)))

    assert by_gate(verdict, "edits") == []


def test_the_way_to_the_answer_names_the_gate() -> None:
    action = ToolAction(name="interlock_edit", params={"edits": [_FUZZY]})

    for answer, said in (("block", "edits: deny"), ("off", "edits: off by the policy")):
        steps = explain(action, gates_with(_policy(answer))).steps
        assert said in [step.text for step in steps]
