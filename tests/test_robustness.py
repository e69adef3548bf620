"""Any input, of any size or shape, gets an answer: no exception, no gate that breaks."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import SOAK, examples
from interlock import Verdict, evaluate_command, evaluate_edit, evaluate_tool_use
from interlock.model.action import CommandAction
from interlock.service.policies.policy_files import default_policy
from interlock.views.action_explanation import explain
from warm_python import run_python

_MEBIBYTE = 1 << 20
_rounds = examples(40, soak=5_000)

_TEXT = st.text(st.characters(exclude_categories=[]), max_size=200)
_SHELL_WORDS = (
    "rm -rf / ~ $HOME git reset --hard push -f bash -c eval sudo env xargs find -exec {} \\; curl"
    " | sh && || ; ( ) { } $( ` <<EOF \nEOF\n > >> 2>&1 <( >( 'q' \"d\" $X ${x:-y} $((1+1)) [[ ]]"
    " for i in a b do done if then fi while case esac function f() python3 -c os.remove(x) psql"
    " DROP TABLE x; password= \0 # ! & \\ ' \" é * ? ~root //etc/passwd interlock.toml"
).split(" ")
_SHELL_TEXT = st.builds(
    str.join, st.sampled_from([" ", ""]), st.lists(st.sampled_from(_SHELL_WORDS), max_size=40)
)
_NAMES = st.sampled_from(
    ["\udc80", "command", "file_path", "path", "content", "edits", "patch", "a", ""]
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT | _SHELL_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_NAMES, inner, max_size=4),
    max_leaves=12,
)
_TOOLS = st.sampled_from(["Bash", "Write", "MultiEdit", "apply_patch", "move_file", "other"])


def _holds(ask: Callable[[], Verdict]) -> None:
    """Ask twice: no exception, no broken gate, the same answer, and one that can be sent."""
    first, second = ask(), ask()

    assert first == second
    assert [each.rule for each in first.findings if each.rule.endswith(".broken")] == []
    assert msgspec.json.decode(msgspec.json.encode(first), type=Verdict) == first


@pytest.mark.soak
@_rounds
@given(_TEXT | _SHELL_TEXT, st.none() | _SHELL_TEXT)
def test_any_command_gets_an_answer(command: str, cwd: str | None):
    _holds(lambda: evaluate_command(command, cwd=cwd))


@pytest.mark.parametrize("command", ["env |", "env | # all", "ls | | cat", "$X exec c rm ->(a ~"])
def test_a_line_that_breaks_off_gets_an_answer(command: str):
    _holds(lambda: evaluate_command(command, cwd="/home/dev/app"))


@pytest.mark.soak
@_rounds
@given(_TEXT | _SHELL_TEXT, _TEXT | _SHELL_TEXT, st.none() | _TEXT)
def test_any_edit_gets_an_answer(path: str, content: str, old: str | None):
    _holds(lambda: evaluate_edit(path, content, old=old))


@pytest.mark.soak
@_rounds
@given(_TOOLS | _TEXT, st.dictionaries(_NAMES, _JSON, max_size=4))
def test_any_parameters_get_an_answer(tool: str, params: dict[str, object]):
    _holds(lambda: evaluate_tool_use(tool, params))


@pytest.mark.soak
@_rounds
@given(_TOOLS, _TEXT | _JSON.map(lambda value: json.dumps(value, allow_nan=True)))
def test_any_text_as_parameters_gets_an_answer(tool: str, text: str):
    _holds(lambda: evaluate_tool_use(tool, text))


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda: evaluate_edit("a\udc80", "password=hunter2hunter2"), id="path"),
        pytest.param(lambda: evaluate_edit("a", "\udc80 password=hunter2hunter2"), id="content"),
        pytest.param(
            lambda: evaluate_tool_use("x", {"\udc80": "password=hunter2hunter2"}), id="parameter"
        ),
        pytest.param(
            lambda: evaluate_tool_use("Write", {"file_path": "/etc/\udc80", "content": ""}),
            id="carried-path",
        ),
        pytest.param(
            lambda: evaluate_command("rm a", cwd="/srv/\udc80"),
            id="folder",
        ),
    ],
)
def test_a_lone_surrogate_gets_an_answer_that_can_be_sent(ask: Callable[[], Verdict]):
    _holds(ask)


@pytest.mark.soak
@_rounds
@given(_TEXT | _SHELL_TEXT)
def test_any_command_can_be_explained(command: str):
    explanation = explain(CommandAction(command=command), default_policy())

    assert explanation.verdict == evaluate_command(command)


_PROGRAM = """
from interlock import evaluate_command
for code in range(0x80, 0x110000, 0x3FF):
    if not 0xD800 <= code < 0xE000:
        evaluate_command("{" + chr(code) + "}")
        evaluate_command("echo a{1.." + chr(code) + "}")
"""


def test_no_character_ends_the_process():
    assert run_python("-c", _PROGRAM).returncode == 0


_NESTED = {
    "parentheses": ("(", ")"),
    "substitutions": ("$(", ")"),
    "quoted-substitutions": ('"$(', ')"'),
    "braces": ("{ ", "; }"),
    "defaults": ("${a:-", "}"),
    "arithmetic": ("$((", "))"),
    "processes": ("<(", ")"),
    "brackets": ("[", "]"),
    "objects": ('{"a":', "}"),
    "tests": ("if ", "; then x; fi"),
    "backslashes": ("\\", ""),
}


@pytest.mark.parametrize(("opening", "closing"), _NESTED.values(), ids=_NESTED)
@pytest.mark.parametrize("depth", [100, 10_000])
def test_deep_nests_get_an_answer(opening: str, closing: str, depth: int):
    for text in (opening * depth + "ls" + closing * depth, opening * depth, closing * depth):
        _holds(lambda text=text: evaluate_command(text))
        _holds(lambda text=text: evaluate_tool_use("Bash", text))
        _holds(lambda text=text: evaluate_edit("a", text))


def test_deep_parameters_get_an_answer():
    value: object = "rm -rf /"
    for _ in range(10_000):
        value = {"a": [value]}

    _holds(lambda: evaluate_tool_use("Bash", {"command": value, "edits": value, "path": value}))


_HOSTILE = [
    *("a", "a ", "a;", "'", '"', "`", "\\", "\n", "\0", "(", "$(", "<(", "{a,b}", "*/", "--"),
    *("rm -rf / ", "$(rm)", "x=1;", "| cat ", "<<E\n", "&& ls ", "f(){ f; };", "DROP TABLE x;"),
    *("eyJ", "password=", "AKIA", "-----BEGIN ", "://a:b@", "QUJDREVGR0hJSktM", "é", "\u2028"),
]
_OFTEN = _HOSTILE if SOAK else _HOSTILE[::8]


@pytest.mark.soak
@pytest.mark.parametrize("unit", _OFTEN, ids=ascii)
def test_a_mebibyte_of_anything_gets_an_answer(unit: str):
    text = (unit * _MEBIBYTE)[:_MEBIBYTE]

    _holds(lambda: evaluate_command(text))
    _holds(lambda: evaluate_tool_use("Bash", {"command": text}))
    _holds(lambda: evaluate_tool_use("Bash", text))
    _holds(lambda: evaluate_edit("a.txt", text, old=text[: _MEBIBYTE // 2]))


@pytest.mark.parametrize("unit", _HOSTILE, ids=ascii)
def test_a_line_full_of_anything_gets_an_answer(unit: str):
    limit = default_policy().config.limits.command_bytes
    text = (unit * limit)[:limit]

    _holds(lambda: evaluate_command(text))
    _holds(lambda: evaluate_tool_use("Bash", {"command": ["bash", "-c", text]}))
    _holds(lambda: evaluate_edit(text, text, old=text[::-1]))
