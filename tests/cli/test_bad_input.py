from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import interlock, program
from interlock.cli.call.exit_code import ExitCode
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess


def test_who_interrupts_a_command_is_told_no_more_than_that() -> None:
    process = PythonProcess[bytes](
        program(["check", "command", "-"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    # More than a pipe holds: what is left was read by the command, which waits for the rest.
    process.stdin.write(b" " * 200_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=LONG_ENOUGH_S)

    assert (process.returncode, out, said) == (ExitCode.INTERRUPTED, b"", b"Error: interrupted\n")


def test_invalid_utf8_on_stdin_is_refused_with_its_place() -> None:
    result = interlock("check", "command", "-", stdin=b"ls \xff\xfe")

    assert result.exit_code == 2
    assert result.stderr == snapshot("Error: `stdin` is not UTF-8: byte 0xff at position 3\n")


def test_invalid_utf8_in_a_file_is_refused_with_its_place(empty_place: Path) -> None:
    (empty_place / "new.bin").write_bytes(b"text\n\xc3\x28")

    result = interlock("check", "edit", "notes.txt", "--new", "new.bin")

    assert result.exit_code == 2
    assert result.stderr == snapshot("Error: `new.bin` is not UTF-8: byte 0xc3 at position 5\n")


def test_missing_file_is_named() -> None:
    result = interlock("check", "edit", "notes.txt", "--new", "nowhere.txt")

    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "Error: `nowhere.txt` cannot be read: No such file or directory\n"
    )


def test_name_with_a_nul_byte_is_refused() -> None:
    result = interlock("check", "edit", "notes.txt", "--new", "a\0b")

    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "Error: `a\\x00b` is not the name of a file: embedded null byte\n"
    )


def test_both_texts_cannot_come_from_stdin() -> None:
    result = interlock("check", "edit", "notes.txt", "--new", "-", "--old", "-", stdin="x")

    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "Error: `--new -` and `--old -` both read stdin: put one of them in a file\n"
    )


def test_errors_are_json_when_json_is_asked_for() -> None:
    result = interlock("check", "edit", "notes.txt", "--new", "nowhere.txt", "--json")

    assert result.exit_code == 2
    assert result.stdout == ""
    assert json.loads(result.stderr) == snapshot(
        {"error": "`nowhere.txt` cannot be read: No such file or directory"}
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["replay", "--json"], "Missing argument 'RUN'."),
        (["runs", "--json", "--limt", "3"], "No such option '--limt'. Did you mean '--limit'?"),
        (["oparator", "--json"], "there is no command `oparator`: did you mean `operator`?"),
        (
            ["ledger", "infos", "--json"],
            "there is no command `infos` of `ledger`: did you mean `info`?",
        ),
    ],
    ids=["no run", "an option", "a command", "a command of another"],
)
def test_so_are_those_of_what_cannot_be_read(words: list[str], told: str) -> None:
    result = interlock(*words)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert json.loads(result.stderr)["error"].startswith(told)


def test_nul_bytes_in_a_command_get_an_answer() -> None:
    result = interlock("check", "command", "-", stdin=b"rm -rf /\0")

    assert result.exit_code in {0, 3, 4}
    assert "\0" not in result.stdout


def test_unclosed_quote_is_never_allowed_in_silence() -> None:
    result = interlock("check", "command", 'echo "unclosed')

    assert result.exit_code == 0
    assert result.stdout == snapshot("""\
WARN  allowed, with a warning to the agent

  a part of this command cannot be judged: it is not a complete shell command
    where    echo "unclosed
    why      unresolved-command (destructive-ops, low)
    instead  write the command out in full, one program with its arguments at a
             time
""")


def test_danger_behind_an_unclosed_quote_is_still_seen() -> None:
    assert interlock("check", "command", 'rm -rf / "').exit_code == 4


def test_cut_off_json_blocks() -> None:
    result = interlock("check", "tool", "Bash", "--params", '{"command": "ls')

    assert result.exit_code == 4
    assert result.stdout == snapshot("""\
DENY  must not happen

  the parameters are not JSON: the text ends at line 1, column 16 (offset 15),
  as if it was cut off, behind `{"command": "ls`
    why      schema.not-json (schema, medium)
    instead  call the tool again with one complete JSON object that names each
             key once
""")


def test_parameters_that_are_not_an_object_block() -> None:
    result = interlock("check", "tool", "Bash", "--params", "[1, 2]")

    assert result.exit_code == 4
    assert result.stdout == snapshot("""\
DENY  must not happen

  the parameters are an array, expected an object
    why      schema.not-an-object (schema, medium)
    instead  call the tool again with one complete JSON object that names each
             key once
""")


def test_check_alone_says_what_is_missing() -> None:
    result = interlock("check")

    assert result.exit_code == 2
    assert result.stderr == snapshot("""\
Usage: interlock check [OPTIONS] [COMMAND] [ARGS]...
Try 'interlock check --help' for help.

Error: expected a command line, `interlock check 'LINE'`, or `tool`, `edit` or `--jsonl`
""")


def test_stream_and_single_question_do_not_go_together() -> None:
    result = interlock("check", "--jsonl", "command", "ls")

    assert result.exit_code == 2
    assert result.stderr == snapshot("""\
Usage: interlock check [OPTIONS] [COMMAND] [ARGS]...
Try 'interlock check --help' for help.

Error: `--jsonl` and `command` do not go together
""")


def test_policy_with_mistakes_tells_them_all(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('vershun = 1\n[diff-size]\nthreshold = "many"\n[secrets]\nallow = ["("]\n')

    result = interlock("check", "command", "ls", "--policy", str(file))

    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.replace(str(file), "FILE") == snapshot("""\
Error: the policy does not load: 3 complaints
  - FILE: vershun: unknown key; did you mean `version`?
  - FILE: diff-size.threshold: `"many"` is text; expected a whole number from 1 to 1000000
  - FILE: secrets.allow[0]: `"("` is not an RE2 pattern: missing ) at position 0
""")


def test_policy_with_mistakes_tells_them_all_as_json(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('vershun = 1\n[diff-size]\nthreshold = "many"\n')

    result = interlock("check", "command", "ls", "--json", "--policy", str(file))

    error = json.loads(result.stderr)
    assert result.exit_code == 1
    assert error["error"] == "the policy does not load: 2 complaints"
    assert len(error["complaints"]) == 2


def test_policy_that_is_missing_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    result = interlock("check", "command", "ls", "--policy", str(tmp_path / "nowhere.toml"))

    assert result.exit_code == 1
    assert result.stderr.startswith("Error: the policy does not load: 1 complaint\n  - ")
    assert "nowhere.toml: cannot be read" in result.stderr


def test_rule_whose_example_does_not_hold_refuses_to_load(policy: Path) -> None:
    policy.write_text(policy.read_text().replace("echo deploy", "deploy quietly"))

    result = interlock("check", "command", "ls", "--policy", str(policy))

    assert result.exit_code == 1
    assert result.stderr == snapshot("""\
Error: the policy does not load: 1 complaint
  - rules.no-deploys.not_match: `deploy quietly` matches; expected the rule to ignore it
""")


def test_unwritable_place_is_told_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a file where a folder should be")

    result = interlock("init")

    assert result.exit_code == 1
    assert result.stderr.replace(str(tmp_path), "FOLDER") == snapshot(
        "Error: `FOLDER/config`: File exists\n"
    )
