from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from inline_snapshot import snapshot

from cli.asking import interlock_process, program
from warm_python import PythonProcess

SHAPES = "`command` (with `cwd`), `tool` with `params`, or `path` with `content` (and `old`)"


def answers(*lines: bytes) -> list[dict[str, Any]]:
    result = interlock_process("check", "--jsonl", stdin=b"\n".join(lines))
    found: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.returncode == (2 if any("error" in each for each in found) else 0)
    return found


def test_each_kind_of_question_is_answered_in_order() -> None:
    found = answers(
        b'{"id": 1, "command": "rm -rf /", "cwd": "/srv"}',
        b'{"id": "two", "tool": "Bash", "params": {"command": "git push --force"}}',
        b'{"id": 3, "tool": "Bash", "params": "{\\"command\\": \\"ls\\"}"}',
        b'{"id": null, "path": "a.py", "content": "new", "old": "old"}',
    )

    assert [(answer["id"], answer["decision"]) for answer in found] == [
        (1, "block"),
        ("two", "require-confirmation"),
        (3, "allow"),
        (None, "allow"),
    ]


def test_a_finding_has_every_field() -> None:
    (answer,) = answers(b'{"id": 1, "command": "rm -rf /"}')

    assert list(answer) == ["id", "decision", "short", "findings"]
    assert list(answer["findings"][0]) == [
        "gate",
        "rule",
        "decision",
        "short",
        "severity",
        "message",
        "remediation",
        "excerpt",
    ]


def test_bad_lines_are_answered_and_the_stream_goes_on() -> None:
    result = interlock_process(
        "check",
        "--jsonl",
        stdin=b"\n".join(
            [
                b'{"id": 1, "command": "ls"',
                b'{"id": 2, "command": "\xff"}',
                b'{"id": 3, "command": "\x00"}',
                b"[1]",
                b"nonsense",
                b'{"id": 6, "kommand": "ls"}',
                b'{"id": 7, "command": 8}',
                b'{"id": 8, "command": "ls", "content": "x"}',
                b'{"id": 9, "tool": "Bash", "params": 3}',
                b'{"id": 10, "path": "a", "content": "x", "old": 1}',
                b"",
                b'{"a":' * 100_000,
                b'{"command": "ls"}',
            ]
        ),
    )

    assert result.returncode == 2
    assert result.stdout.decode().replace(SHAPES, "SHAPES") == snapshot("""\
{"id":null,"error":"line 1: not JSON: input data was truncated"}
{"id":null,"error":"line 2: not UTF-8"}
{"id":null,"error":"line 3: not JSON: invalid character (byte 22)"}
{"id":null,"error":"line 4: an array, expected an object"}
{"id":null,"error":"line 5: not JSON: invalid character (byte 4)"}
{"id":6,"error":"line 6: expected SHAPES; got `id`, `kommand`"}
{"id":7,"error":"line 7: `command` is a number, expected a string"}
{"id":8,"error":"line 8: `content` does not go with `command`: expected SHAPES"}
{"id":9,"error":"line 9: `params` is a number, expected an object or its JSON text"}
{"id":10,"error":"line 10: `old` is a number, expected a string"}
{"id":null,"error":"line 12: not read: nested too deeply"}
{"id":null,"decision":"allow","short":"allow","findings":[]}
""")
    assert result.stderr.decode() == "11 lines could not be read\n"


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (
            b'{"tool": "Bash", "params": {"command": "ls", "command": "rm -rf /"}}',
            "line 1: `command` stands twice in one object: name it once",
        ),
        (
            b'{"command": "ls", "id": 1, "\\u0063ommand": "rm -rf /"}',
            "line 1: `command` stands twice in one object: name it once",
        ),
        (b'{"tool": "a", "params": {"b": NaN}}', "line 1: not JSON: invalid character (byte 30)"),
        (b'{"tool": "a", "params": {"b": 1e999}}', "line 1: not JSON: number out of range"),
    ],
)
def test_what_two_readers_would_read_differently_is_refused(line: bytes, error: str) -> None:
    (answer,) = answers(line)

    assert str(answer["error"]).partition(" - at ")[0] == error


def test_half_a_character_is_read_and_answered() -> None:
    (answer,) = answers(b'{"id": "\\ud83d", "command": "rm -rf / \\ud83d"}')

    assert answer["id"] == "\ud83d"
    assert answer["decision"] == "block"


def test_nul_bytes_in_json_text_are_read() -> None:
    (answer,) = answers(b'{"id": 1, "command": "rm -rf / \\u0000"}')

    assert "decision" in answer


def test_an_answer_comes_before_the_next_question_is_asked() -> None:
    with PythonProcess[bytes](
        program(["check", "--jsonl"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(b'{"id": %d, "command": "ls"}\n' % number)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.write(b'{"id": 3, ')
        process.stdin.flush()
        process.stdin.write(b'"command": "rm -rf /"}')
        process.stdin.close()

        last = json.loads(process.stdout.readline())

    assert (last["id"], last["decision"]) == (3, "block")
    assert process.returncode == 0


def test_many_questions_are_answered_one_to_one() -> None:
    count = 3_000
    lines = [
        b'{"id": %d, "command": "git status # %d"}' % (number, number) for number in range(count)
    ]

    assert [answer["id"] for answer in answers(*lines)] == list(range(count))


def test_a_policy_that_does_not_load_stops_the_stream_before_it_starts() -> None:
    result = interlock_process("check", "--jsonl", "--policy", "nowhere.toml", stdin=b"{}\n")

    assert result.returncode == 1
    assert result.stdout == b""
    assert b"nowhere.toml: cannot be read" in result.stderr
