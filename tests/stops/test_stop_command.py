from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from inline_snapshot import snapshot

from cli.asking import interlock_process, program
from warm_python import PythonProcess

ROW = {
    "id": "a",
    "text": "Now let me run the tests:",
    "last_event": "tool_result",
    "finish_reason": "stop",
    "tool_ratio": 0.8,
    "n_prev_turns": 12,
    "model": "minimax-m2",
    "label": "never looked at",
}


def lines_of(*rows: dict[str, Any]) -> bytes:
    return b"".join([json.dumps(row).encode() + b"\n" for row in rows])


def answers(stdin: bytes, *options: str) -> list[dict[str, Any]]:
    result = interlock_process("backtest", "stops", *options, stdin=stdin)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_end_of_a_turn_is_answered_in_order() -> None:
    found = answers(lines_of(ROW, {"id": 2, "text": "Should I?"}, {"text": None}, {**ROW, "id": 4}))

    assert [(each["id"], each["continue"], each["veto"]) for each in found] == [
        ("a", True, None),
        (2, False, "awaiting-user"),
        (None, False, None),
        (4, True, None),
    ]


def test_an_answer_has_every_field() -> None:
    (found,) = answers(lines_of(ROW))

    assert list(found) == [
        "id", "continue", "score", "signals", "veto", "reason", "outcome", "nudge",
    ]  # fmt: skip
    assert [(each["signal"], each["points"]) for each in found["signals"]] == [
        ("finish_reason", 0),
        ("last_event", 15),
        ("content_intent", 55),
        ("no_summary", 5),
        ("tool_ratio", 5),
        ("form", 12),
    ]


def test_the_original_table_may_be_chosen() -> None:
    (found,) = answers(lines_of({**ROW, "text": "Now let me go."}), "--profile", "seed")

    assert [each["points"] for each in found["signals"]] == [0, 25, 25, 10, 10]


def test_bad_lines_are_answered_in_their_place_and_the_exit_code_says_so() -> None:
    result = interlock_process(
        "backtest",
        "stops",
        stdin=b"\n".join(
            [
                b'{"id": 1, "text": "Done."',
                b'{"id": 2, "text": "\xff"}',
                b"[1]",
                b'{"id": 4, "tool_ratio": NaN}',
                b'{"id": 5, "text": 5}',
                b"",
                b'{"a":' * 100_000,
                b'{"id": 8, "text": "Should I?"}',
            ]
        ),
    )

    assert result.returncode == 2
    *errors, last = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(each["id"], each["error"]) for each in errors] == snapshot(
        [
            (None, "line 1: not JSON: expecting ',' delimiter at column 26"),
            (None, "line 2: not UTF-8"),
            (None, "line 3: expected an object such as {`id`, `text`, `last_event`, ...}"),
            (4, "line 4: `tool_ratio` is `nan`, expected a share such as 0.75"),
            (5, "line 5: `text` is `5`, expected a string or null"),
            (None, "line 7: not read: nested too deeply, or a number too long"),
        ]
    )
    assert (last["id"], last["veto"]) == (8, "awaiting-user")
    assert result.stderr.decode() == "6 lines could not be read\n"


def test_a_file_is_read_as_well(tmp_path: Path) -> None:
    file = tmp_path / "stops.jsonl"
    file.write_bytes(lines_of(ROW, ROW))

    result = interlock_process("backtest", "stops", str(file))

    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 2


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = interlock_process("backtest", "stops", str(tmp_path / "nowhere.jsonl"))

    assert result.returncode == 2
    assert b"nowhere.jsonl` cannot be read: No such file or directory" in result.stderr


def test_a_wrong_call_is_told() -> None:
    result = interlock_process("backtest", "stops", "--profile", "best", stdin=b"{}\n")

    assert result.returncode == 2
    assert result.stdout == b""


def test_an_answer_comes_before_the_next_question_is_asked() -> None:
    with PythonProcess[bytes](
        program(["backtest", "stops"]), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(lines_of({**ROW, "id": number}))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()

    assert process.returncode == 0


def test_half_a_character_is_read_and_answered() -> None:
    (found,) = answers(b'{"id": "\\ud83d", "text": "\\ud83d Should I?"}')

    assert (found["id"], found["veto"]) == ("\ud83d", "awaiting-user")
