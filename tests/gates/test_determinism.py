"""The same question gets the same answer: asked again, and in any process."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from interlock import evaluate_command, evaluate_edit, evaluate_tool_use
from patience import LONG_ENOUGH_S

_CASES = Path(__file__).parents[1] / "cases"
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


@pytest.mark.large
def test_asking_again_gives_the_same_answer():
    lines = _lines()

    assert list(_answers(lines)) == list(_answers(lines))


def test_the_order_of_questions_is_irrelevant():
    lines = _lines()

    assert {*zip(lines, map(evaluate_command, lines), strict=True)} == {
        *zip(lines[::-1], map(evaluate_command, lines[::-1]), strict=True)
    }


@pytest.mark.large
@pytest.mark.parametrize("seed", ["1", "4294967295"])
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
    assert done.stdout.decode() == "".join(f"{answer}\n" for answer in _answers(lines))
