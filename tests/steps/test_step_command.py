"""`interlock backtest steps`, as a person or a script runs it."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from interlock.cli.call.exit_code import ExitCode
from interlock.cli.commands.past_run_commands import steps_command
from steps.step_rows import a_call, a_person

STUCK = [a_person("fix it"), *[a_call("Read", {"path": "a"}, "the text of a " * 9)] * 5]
FINE = [a_person("fix it"), *[a_call("Read", {"path": f"{n}"}, f"text {n} " * 9) for n in range(5)]]


def asked(*arguments: str, stdin: str = "") -> Result:
    return CliRunner().invoke(steps_command, [*arguments], input=stdin)


def line(run_id: object, steps: object) -> str:
    return json.dumps({"run_id": run_id, "steps": steps, "success": False}) + "\n"


def test_answers_every_run_in_order() -> None:
    result = asked(stdin=line("a", STUCK) + "\n" + line("b", FINE))
    stuck, fine = (json.loads(each) for each in result.stdout.splitlines())

    assert result.exit_code == ExitCode.ALLOWED
    assert (stuck["run_id"], stuck["stop_at"], stuck["decision"]) == ("a", 3, "pause")
    assert stuck["reasons"][0]["code"] == "loop"
    assert (fine["run_id"], fine["stop_at"], fine["decision"]) == ("b", None, "continue")
    assert (fine["reasons"], len(fine["scores"])) == ([], 6)
    assert max(stuck["scores"]) >= 1 > max(fine["scores"])


def test_reads_a_file(tmp_path: Path) -> None:
    runs = tmp_path / "runs.jsonl"
    runs.write_text(line(7, FINE), encoding="utf-8")

    assert json.loads(asked(str(runs)).stdout)["run_id"] == 7


def test_a_line_that_cannot_be_read_is_answered_and_the_rest_as_well() -> None:
    result = asked(stdin="{\n" + line("b", FINE))
    bad, good = (json.loads(each) for each in result.stdout.splitlines())

    assert bad["error"].startswith("line 1: not JSON: ")
    assert good["run_id"] == "b"
    assert result.stderr == "1 line could not be read\n"
    assert result.exit_code == ExitCode.MISUSED


def test_counts_the_lines_that_cannot_be_read() -> None:
    assert asked(stdin="5\n[]\n").stderr == "2 lines could not be read\n"


def test_tells_every_twenty_runs_how_far_it_is() -> None:
    result = asked(stdin=line("a", FINE) * 41)

    assert len(result.stdout.splitlines()) == 41


def test_prints_half_a_character() -> None:
    result = asked(stdin='{"run_id": "\\ud83d", "steps": []}\n')

    assert json.loads(result.stdout)["run_id"] == "\ud83d"
