"""Our own rows are read as anybody may hand them in, and what is missing in them is not guessed."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from histories.public_run_files import Row, read
from interlock.adapters.histories.own_rows import OwnRows, run_from_json
from interlock.model.action import ToolAction
from interlock.model.budget import TokenUsage
from interlock.model.past_run import Unread

DOCUMENT = Path(__file__).parents[2] / "docs" / "run-formats.md"


def rows(path: Path, *runs: object, packs: bool = False) -> Path:
    content = "".join(json.dumps(each) + "\n" for each in runs).encode()
    path.write_bytes(gzip.compress(content) if packs else content)
    return path


def a_run(*steps: Row, **fields: Any) -> Row:
    return {"run_id": "a", "steps": list(steps), **fields}


@pytest.mark.parametrize("packs", [False, True], ids=["plain", "packed"])
def test_a_run_says_who_worked_where_and_how_it_ended(tmp_path: Path, packs: bool) -> None:
    path = rows(
        tmp_path / f"runs.jsonl{'.gz' * packs}",
        a_run(agent="codex", repo="o/r", model="m", group="g", success=False),
        packs=packs,
    )

    assert OwnRows().reads(path, path.read_bytes()[:4096])
    [found], unread = read(OwnRows(), path)

    assert unread == []
    run = found.run
    assert (run.id, run.client, run.project, run.model) == ("a", "codex", "o/r", "m")
    assert (run.group, run.success) == ("g", False)


def test_a_step_has_all_that_is_told_of_it(tmp_path: Path) -> None:
    step = {
        "tool": "Bash",
        "args": '{"command": "ls", "description": "look"}',
        "result_excerpt": "a b…[+7]",
        "result_h": "11",
        "result_len": 10,
        "err": True,
        "rejected": True,
        "tokens": {"in": 9, "out": 2, "cache_read": 5},
        "finish_reason": "tool_use",
        "model": "small",
        "turn": 3,
        "ts": 1.5,
    }
    [found], _ = read(OwnRows(), rows(tmp_path / "runs.jsonl", a_run(step)))

    [call] = found.steps
    assert call.action == ToolAction(name="Bash", params={"command": "ls"})
    assert (call.result, call.result_digest, call.result_size) == ("a b", "11", 10)
    assert (call.failed, call.ran, call.turn, call.at, call.line) == (True, False, 3, 1_500_000, 1)
    assert call.usage == TokenUsage(input_tokens=9, output_tokens=2, cache_read_tokens=5)
    assert (call.tokens, call.model, call.finish_reason) == (11, "small", "tool_use")


@pytest.mark.parametrize(
    ("rejected", "said", "declined"),
    [
        (True, "The user doesn't want to proceed with this tool use.", True),
        (True, "not allowed", False),
        (False, "deleted by user", False),
    ],
)
def test_it_is_known_that_a_person_refused_a_call(
    tmp_path: Path, said: str, *, rejected: bool, declined: bool
) -> None:
    step = {"tool": "Bash", "args": "ls", "result_excerpt": said, "rejected": rejected}
    [found], _ = read(OwnRows(), rows(tmp_path / "runs.jsonl", a_run(step)))

    assert [each.declined for each in found.steps] == [declined]


@pytest.mark.parametrize(
    ("tool", "args", "params"),
    [
        ("Bash", {"command": "ls"}, {"command": "ls"}),
        ("bash", "ls -l", {"command": "ls -l"}),
        ("bash", "5", {"command": "5"}),
        ("sql", "select 1", {"input": "select 1"}),
        ("submit", "", {}),
        ("submit", None, {}),
        ("Bash", '{"command": "ls…[+12]', None),
        ("Bash", {"command": "ls…[+12]"}, None),
        ("bash", "rm -r a…", None),
        ("bash", "echo \ud83d", {"command": "echo \ufffd"}),
    ],
)
def test_a_call_is_known_only_where_it_is_given_in_full(
    tool: str, args: object, params: object
) -> None:
    step = {"tool": tool, "args": args}
    [call] = run_from_json(json.dumps(a_run(step)).encode()).steps

    assert call.action == (None if params is None else ToolAction(name=tool, params=params))  # pyright: ignore[reportArgumentType] - as the table has it


def test_a_call_of_which_only_the_digest_is_told_is_not_known() -> None:
    [call] = run_from_json(json.dumps(a_run({"tool": "x", "args_h": "1"})).encode()).steps

    assert (call.action, call.arguments_digest) == (None, "1")


def test_what_stands_open_on_a_list_is_known() -> None:
    todos = [{"content": "test it", "status": "pending"}, {"content": "x", "status": "done"}]
    step = {"tool": "TodoWrite", "args": json.dumps({"todos": todos})}
    [call] = run_from_json(json.dumps(a_run(step)).encode()).steps

    assert call.todos == ("test it",)


def test_a_line_that_is_no_run_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_bytes(b'{"steps": []}\n\n{"steps": [\n{"a": 1}\n{"steps": [{}]}')

    found, unread = read(OwnRows(), path)

    assert [len(each.steps) for each in found] == [0, 1]
    assert [(each.line, each.reason.split(":")[0]) for each in unread] == [
        (3, "not JSON"),
        (4, "`steps` is not a list"),
    ]
    assert unread[0].path == str(path)


@pytest.mark.parametrize(
    ("name", "beginning", "is_its"),
    [
        ("a.jsonl", b'{"run_id": 1, "steps": []}', True),
        ("a.jsonl", b'\xef\xbb\xbf {"steps": []}', True),
        ("a.jsonl", b'{"type": "user", "n_steps": 5}', False),
        ("a.json", b'{"steps": []}', False),
        ("a.jsonl", b"", False),
        ("a.jsonl.gz", b"\x1f\x8b broken", False),
    ],
)
def test_knows_its_files(name: str, beginning: bytes, is_its: bool) -> None:
    assert OwnRows().reads(Path(name), beginning) is is_its


def test_half_a_character_stands_nowhere(tmp_path: Path) -> None:
    half = '{"command": "cut \\ud83d"}'
    steps = [{"role": "user", "text": "\ud83d"}, {"tool": "Bash", "args": half}]
    path = rows(tmp_path / "runs.jsonl", {"run_id": "a\ud83d", "agent": "\ude00", "steps": steps})

    [found], unread = read(OwnRows(), path)

    assert unread == []
    assert (found.run.id, found.run.client) == ("a\ufffd", "\ufffd")
    assert [step.text for step in found.steps] == ["\ufffd", ""]
    assert found.steps[1].action == ToolAction(name="Bash", params={"command": "cut \ufffd"})


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_what_is_no_number_is_left_out_of_a_call(number: str, tmp_path: Path) -> None:
    given = f'{{"command": "make", "timeout": {number}}}'
    path = rows(tmp_path / "runs.jsonl", {"steps": [{"tool": "Bash", "args": given}]})

    [found], unread = read(OwnRows(), path)

    assert unread == []
    params = {"command": "make", "timeout": None}
    assert found.steps[0].action == ToolAction(name="Bash", params=params)


@pytest.mark.parametrize("when", [1e30, -1, "0001-01-01T00:00:00+14:00", 253_402_300_800, "soon"])
def test_a_moment_that_cannot_be_is_not_known(when: object, tmp_path: Path) -> None:
    path = rows(tmp_path / "runs.jsonl", {"steps": [{"text": "hi", "ts": when}]})

    [found], unread = read(OwnRows(), path)

    assert (found.steps[0].at, unread) == (None, [])


def test_is_kept_nowhere_in_particular() -> None:
    assert OwnRows().usual_places(Path("/home/x"), {}) == ()


def test_the_example_of_the_manual_is_read(tmp_path: Path) -> None:
    example = DOCUMENT.read_text().split("```json\n", 1)[1].split("```", 1)[0]
    path = rows(tmp_path / "runs.jsonl", json.loads(example))

    [found], unread = read(OwnRows(), path)

    assert unread == []
    person, call = found.steps
    assert (person.role, person.text) == ("user", "make the tests pass")
    assert call.action == ToolAction(name="Bash", params={"command": "pytest -q"})
    assert call.usage == TokenUsage(input_tokens=5200, output_tokens=48, cache_read_tokens=4100)
    assert found.run.success is True


@pytest.mark.large
@pytest.mark.skipif("INTERLOCK_SHARED" not in os.environ, reason="INTERLOCK_SHARED is not set")
@pytest.mark.parametrize(
    ("name", "runs"), [("sessions.dev.jsonl.gz", 220), ("trajectories.dev.jsonl.gz", 1_625)]
)
def test_all_runs_that_we_have_are_read_step_by_step(name: str, runs: int) -> None:
    path = Path(os.environ["INTERLOCK_SHARED"]) / "data" / name
    with gzip.open(path) as lines:
        counts = [json.loads(line)["n_steps"] for line in lines]
    unread: list[Unread] = []

    with path.open("rb") as file:
        assert OwnRows().reads(path, file.read(4096))
    found = [len(tuple(run.steps)) for run in OwnRows().runs(path, unread.append)]

    assert unread == []
    assert len(found) == runs
    assert found == counts


def test_more_than_anybody_can_have_used_is_not_known_and_ends_nothing(tmp_path: Path) -> None:
    told = ({"text": "x", "tokens": {"in": 10**17}}, {"text": "y", "tokens": {"in": 7}})
    [found], unread = read(OwnRows(), rows(tmp_path / "runs.jsonl", a_run(*told)))

    assert [step.tokens for step in found.steps] == [None, 7]
    assert unread == []
