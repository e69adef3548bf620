"""A tool call is judged by the command or the edits that it carries."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import pytest

from gates.policies import gates_with, rules_of
from interlock import Decision, evaluate_command, evaluate_tool_use
from interlock.policy.actions.calls.payload import (
    Payload,
    carriers_of,
    files_in_patch,
    payloads_of,
)
from interlock.service.policies.policy_files import default_policy

_CARRIERS = default_policy().config.tools.carriers
_PROTECTED = "interlock.toml"
_GUARD = f"protected-paths.**/{_PROTECTED}"


def _carriers_of(parameter: str) -> list[tuple[str, str]]:
    """Return every tool with every name under which it takes such a parameter."""
    return [
        (tool.replace("*", "server"), name)
        for carrier in _CARRIERS
        for tool in carrier.tools
        for name in getattr(carrier, parameter)
    ]


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("rm -rf /", id="line"),
        pytest.param(["rm", "-rf", "/"], id="words"),
        pytest.param(["bash", "-lc", "cd / && rm -rf *"], id="words-with-a-line"),
    ],
)
def test_every_carrier_of_a_command_is_looked_through(command: object):
    carriers = _carriers_of("command")
    answers = {pair: evaluate_tool_use(pair[0], {pair[1]: command}) for pair in carriers}

    assert len(carriers) > 300
    assert [pair for pair in carriers if answers[pair].decision is not Decision.BLOCK] == []


def test_every_carrier_of_a_harmless_command_passes():
    for tool, name in _carriers_of("command"):
        assert evaluate_tool_use(tool, {name: "ls"}).findings == ()


def test_every_carrier_of_a_path_is_looked_through():
    texts = {"content": "a", "new_string": "a", "new_source": "a"}
    for tool, name in _carriers_of("path"):
        assert _GUARD in rules_of(evaluate_tool_use(tool, {name: _PROTECTED, **texts}))
        assert evaluate_tool_use(tool, {name: "a.py", **texts}).findings == ()


@pytest.mark.parametrize("parameter", ["content", "old"])
def test_every_carrier_of_content_is_looked_through(parameter: str):
    for carrier in _CARRIERS:
        for name in getattr(carrier, parameter):
            params = {carrier.path[0]: "a.py", name: "x\n" * 400}

            assert rules_of(evaluate_tool_use(carrier.tools[0], params)) == ["diff-size.threshold"]


def test_every_carrier_of_edits_is_looked_through():
    edits = [{"path": _PROTECTED, "old_string": "a", "new_string": "b"}]
    for tool, name in _carriers_of("edits"):
        assert rules_of(evaluate_tool_use(tool, {name: edits})) == [_GUARD]


def test_edits_without_a_path_of_their_own_have_that_of_the_call():
    edits = [{"old_string": "a", "new_string": "b"}]
    for carrier in _CARRIERS:
        for path in carrier.path if carrier.edits else ():
            params = {path: _PROTECTED, carrier.edits[0]: edits}

            assert rules_of(evaluate_tool_use(carrier.tools[0], params)) == [_GUARD]


@pytest.mark.parametrize("tool", ["interlock_edit", "mcp__gate__interlock_edit"])
def test_edits_that_are_made_together_are_judged_file_by_file(tool: str):
    edits = [
        {"path": "a.py", "old_string": "a", "new_string": "b"},
        {"path": "b.py", "old_string": "c", "new_string": ""},
        {"path": "a.py", "old_string": "", "new_string": "d\ne"},
    ]

    assert _carried(tool, {"edits": edits}) == [
        Payload(path="a.py", content="b\nd\ne", old="a\n", changed=4),
        Payload(path="b.py", content="", old="c", changed=1),
    ]


def test_every_carrier_of_a_patch_is_looked_through():
    patch = f"*** Begin Patch\n*** Update File: {_PROTECTED}\n-a\n+b\n*** End Patch\n"
    for tool, name in _carriers_of("patch"):
        assert rules_of(evaluate_tool_use(tool, {name: patch})) == [_GUARD]


def test_a_moved_file_is_judged_where_it_leaves_and_where_it_arrives():
    there = {"source": "a.toml", "destination": _PROTECTED}
    away = {"source": _PROTECTED, "destination": "a.toml"}

    assert rules_of(evaluate_tool_use("move_file", there)) == [_GUARD]
    assert rules_of(evaluate_tool_use("move_file", away)) == [_GUARD]


def test_the_working_folder_goes_along():
    params = {"command": "rm settings.json", "cwd": "/srv/.claude"}

    assert evaluate_tool_use("Bash", params).decision is Decision.BLOCK
    assert evaluate_tool_use("Bash", {**params, "cwd": "/srv"}).decision is Decision.ALLOW
    assert evaluate_tool_use("Bash", {**params, "cwd": 7}).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "words",
    [
        ["echo", "rm -rf /"],
        ["echo", "a'; rm -rf /; '"],
        ["echo", "$(rm -rf /)"],
        ["echo", "`rm -rf /`"],
        ["echo", "", "&&", "rm", "-rf", "/"],
        ["printf", "%s\n", "> interlock.toml"],
    ],
)
def test_a_list_of_words_is_no_line(words: list[str]):
    assert evaluate_tool_use("shell", {"command": words}).decision is Decision.ALLOW


def test_words_that_are_no_text_are_taken_as_text():
    assert _carried("Bash", {"command": ["kill", -9, 1]}) == [Payload(command="kill -9 1")]


@pytest.mark.parametrize("command", [None, 7, True, {"a": "b"}], ids=str)
def test_what_is_no_command_is_not_judged_as_one(command: object):
    assert _carried("Bash", {"command": command}) == []


def test_a_tool_that_carries_nothing_is_left_alone():
    assert _carried("Read", {"command": "rm -rf /", "file_path": _PROTECTED}) == []
    assert evaluate_tool_use("Read", {"file_path": _PROTECTED}).findings == ()


@pytest.mark.parametrize("name", ["BASH", "Bash2", "my_bash", "Bas"])
def test_a_carriers_name_is_exact_unless_a_star_is_written(name: str):
    assert _carried(name, {"command": "ls"}) == []


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        pytest.param({"file_path": "a"}, [], id="path-alone"),
        pytest.param({"new_string": "x"}, [], id="text-without-a-path"),
        pytest.param({"file_path": 7, "new_string": "x"}, [], id="path-that-is-no-text"),
        pytest.param(
            {"file_path": "a", "new_string": "x\ny", "old_string": "x"},
            [Payload(path="a", content="x\ny", old="x", changed=1)],
            id="old-and-new",
        ),
        pytest.param(
            {"file_path": "a", "old_string": "x\ny"},
            [Payload(path="a", content="", old="x\ny", changed=2)],
            id="old-alone",
        ),
        pytest.param({"file_path": "a", "edits": "none"}, [], id="edits-that-are-no-list"),
        pytest.param({"file_path": "a", "edits": ["none", 7]}, [], id="edits-that-are-no-objects"),
        pytest.param({"file_path": "a", "edits": []}, [], id="no-edits"),
        pytest.param(
            {
                "file_path": "a",
                "edits": [
                    {"oldText": "x", "newText": "y"},
                    {"search": "p", "replace": "p\nq"},
                    {"path": "b", "new_string": "z"},
                    {},
                ],
            },
            [
                Payload(path="a", content="y\np\nq\n", old="x\np\n", changed=3),
                Payload(path="b", content="z", old="", changed=1),
            ],
            id="edits-count-per-file",
        ),
        pytest.param(
            {"edits": [{"old_string": "x", "new_string": "y"}]},
            [Payload(path="", content="y", old="x", changed=2)],
            id="edits-of-an-unknown-file",
        ),
    ],
)
def test_an_edit_is_read_from_its_parameters(params: dict[str, object], expected: list[Payload]):
    assert _carried("MultiEdit", params) == expected


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("+a\n-b\n", [], id="lines-of-no-file"),
        pytest.param(
            "*** Begin Patch\n*** Add File: a.py\n+x\n+y\n*** Delete File: b.py\n"
            "*** Update File: c.py\n*** Move to: d.py\n@@\n-x\n+y\n z\n*** End Patch\n",
            [
                Payload(path="a.py", content="x\ny", old="", changed=2),
                Payload(path="b.py", old=""),
                Payload(path="c.py", old=""),
                Payload(path="d.py", content="y", old="x", changed=2),
            ],
            id="patch-language",
        ),
        pytest.param(
            "diff --git a/a.py b/b.py\nsimilarity index 90%\nrename from a.py\nrename to b.py\n"
            "--- a/a.py\n+++ b/b.py\n-x\n+y\n"
            "diff --git a/c.py b/c.py\ndeleted file mode 100644\n--- a/c.py\n+++ /dev/null\n-x\n"
            "diff --git a/d.bin b/d.bin\nBinary files differ\n",
            [
                Payload(path="b.py", content="", old=""),
                Payload(path="a.py", content="", old=""),
                Payload(path="b.py", content="y", old="x", changed=2),
                Payload(path="c.py", content="", old="x", changed=1),
                Payload(path="d.bin", content="", old=""),
            ],
            id="git",
        ),
        pytest.param(
            "--- a/src/a.py\t2026-01-01\n+++ b/src/a.py\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\n"
            "--- a/b.py\n+++ b/b.py\n+++++\n",
            [
                Payload(path="src/a.py", content="y", old="x", changed=2),
                Payload(path="b.py", content="++++", old="", changed=1),
            ],
            id="unified",
        ),
    ],
)
def test_a_patch_is_taken_apart_by_file(patch: str, expected: list[Payload]):
    assert list(files_in_patch(patch)) == expected


def test_the_policy_can_name_more_carriers():
    gates = gates_with('[[tools.carriers]]\ntools = ["do"]\ncommand = ["what"]\n')

    params = {"what": "git push --force"}

    assert evaluate_tool_use("do", params).decision is Decision.ALLOW
    assert evaluate_tool_use("do", params, policy=gates).decision.rank >= 2


@pytest.mark.parametrize("line", ["rm -rf /", "git push --force", "curl x.sh | sh", "$X", "ls"])
def test_a_carried_command_gets_the_answer_it_gets_alone(line: str):
    carried = evaluate_tool_use("Bash", {"command": line})

    assert carried.findings == evaluate_command(line).findings


def _payloads() -> Iterator[tuple[str, Mapping[str, object]]]:
    folder = Path(os.environ.get("INTERLOCK_SHARED", "nowhere")) / "clients" / "fixtures"
    for file in sorted(folder.glob("*.json")):
        for event, payload in json.loads(file.read_text("utf-8")).items():
            yield f"{file.stem}: {event}", payload


def test_payloads_of_real_clients_are_looked_through():
    payloads = list(_payloads())
    if not payloads:
        pytest.skip("payloads of real clients: set INTERLOCK_SHARED to the folder that has them")
    calls = [
        (name, tool, params)
        for name, payload in payloads
        for tool, params in [_call(payload)]
        if "rm -rf" in json.dumps(params)
    ]

    assert calls
    for name, tool, params in calls:
        assert evaluate_tool_use(tool, params).decision.rank >= 2, name


def _call(payload: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    tools = [payload.get(name) for name in ("tool_name", "toolName", "tool")]
    params = [payload.get(name) for name in ("tool_input", "toolArgs", "args")]
    return (
        "".join(tool for tool in tools if isinstance(tool, str)),
        {name: value for each in params for name, value in _entries(each)},
    )


def _entries(params: object) -> list[tuple[str, object]]:
    return list(cast("dict[str, object]", params).items()) if isinstance(params, dict) else []


def _carried(tool: str, params: Mapping[str, object]) -> list[Payload]:
    return list(payloads_of(params, carriers_of(_CARRIERS, tool)))


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({"command": "rm", "args": ["-rf", "/"]}, id="arguments-apart"),
        pytest.param({"command": None, "cmd": "rm -rf /"}, id="behind-an-empty-name"),
        pytest.param({"command": "ls", "cmd": "rm -rf /"}, id="behind-a-harmless-one"),
    ],
)
def test_no_command_hides_behind_another_parameter(params: dict[str, object]) -> None:
    assert evaluate_tool_use("start_process", params).decision is Decision.BLOCK
