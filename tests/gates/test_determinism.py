"""The same question gets the same answer: asked again, and in any process."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

from effort import rounds
from gates.policies import gates_with
from interlock import evaluate_command, evaluate_edit, evaluate_tool_use
from interlock.model.action import Action, CommandAction, EditAction, ToolAction
from interlock.policy.gates.judgement import judge, judge_all
from patience import LONG_ENOUGH_S

_CASES = Path(__file__).parents[1] / "cases"
_TWO_FILES = """apply_patch <<'EOF'
*** Begin Patch
*** Add File: .env
+A=1
*** Delete File: .git/config
*** End Patch
EOF
"""
_PROGRAM = """
import sys
import msgspec
from interlock import evaluate_command, evaluate_edit, evaluate_tool_use
for line in msgspec.json.decode(sys.stdin.buffer.read()):
    for verdict in (
        evaluate_command(line),
        evaluate_tool_use("Bash", {"command": line, "b": 1, "a": [line]}),
        evaluate_edit(line, line),
    ):
        print(msgspec.json.encode(verdict).decode())
"""


def _lines() -> list[str]:
    """Return about three hundred commands, from all over the corpus."""
    lines = [
        case["command"]
        for file in sorted(_CASES.glob("commands-*.toml"))
        for case in tomllib.loads(file.read_text("utf-8"))["case"]
    ]
    return lines[:: max(1, len(lines) // 300)]


def _answers(lines: list[str]) -> Iterator[str]:
    for line in lines:
        for verdict in (
            evaluate_command(line),
            evaluate_tool_use("Bash", {"command": line, "b": 1, "a": [line]}),
            evaluate_edit(line, line),
        ):
            yield msgspec.json.encode(verdict).decode()


@cache
def _first_answers() -> list[str]:
    return list(_answers(_lines()))


@pytest.mark.large
def test_asking_again_gives_the_same_answer():
    assert list(_answers(_lines())) == _first_answers()


def test_the_order_of_questions_is_irrelevant():
    lines = _lines()

    assert {*zip(lines, map(evaluate_command, lines), strict=True)} == {
        *zip(lines[::-1], map(evaluate_command, lines[::-1]), strict=True)
    }


def test_many_questions_at_once_get_the_answers_that_each_gets_alone():
    policy = gates_with("")
    lines = _lines()[:: rounds(short=3, soak=1)]
    several = [
        {"commands": lines[place : place + 3], "note": lines[place]}
        for place in range(0, len(lines), 3)
    ]
    actions: list[Action] = [
        *(CommandAction(command=line) for line in lines),
        *(EditAction(path=line, content=line) for line in lines),
        *(ToolAction(name="Bash", params={"command": line}) for line in lines),
        *(ToolAction(name="mcp__box__run_all", params=each) for each in several),
        *(ToolAction(name="mcp__wiki__note", params=each) for each in several),
        CommandAction(command=_TWO_FILES),
        ToolAction(name="Bash", params="{"),
    ]

    assert judge_all(actions, policy) == [judge(each, policy) for each in actions]
    assert judge_all((), policy) == []


@pytest.mark.large
@pytest.mark.parametrize("seed", ["1", "4294967295"][: rounds(short=1, soak=2)])
def test_another_process_with_another_hash_seed_gives_the_same_bytes(seed: str):
    lines = _lines()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM],
        input=msgspec.json.encode(lines),
        capture_output=True,
        env={**os.environ, "PYTHONHASHSEED": seed},
        check=True,
        timeout=LONG_ENOUGH_S,
    )

    assert len(lines) >= 300
    assert done.stdout.decode() == "".join(f"{answer}\n" for answer in _first_answers())
