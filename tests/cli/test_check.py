from __future__ import annotations

import json
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import interlock, interlock_process, make_operator
from interlock import evaluate_command, evaluate_edit, evaluate_tool_use


@pytest.mark.parametrize(
    ("line", "code"),
    [
        pytest.param("ls -la", 0, id="allow"),
        pytest.param("$PROGRAM --flag", 0, id="warn"),
        pytest.param("git push --force", 3, id="require-confirmation"),
        pytest.param("rm -rf /", 4, id="block"),
    ],
)
def test_exit_code_tells_the_decision(line: str, code: int) -> None:
    assert interlock("check", "command", line).exit_code == code


def test_json_is_the_verdict_of_the_python_interface() -> None:
    result = interlock("check", "command", "--json", "git push --force")

    verdict = evaluate_command("git push --force")
    answer = json.loads(result.stdout)
    assert answer["decision"] == verdict.decision.value
    assert [finding["rule"] for finding in answer["findings"]] == [
        finding.rule for finding in verdict.findings
    ]
    assert answer["policy_hash"] == verdict.policy_hash


def test_tool_call_is_judged_like_in_python() -> None:
    params = '{"command": "rm -rf /"}'

    result = interlock("check", "tool", "Bash", "--params", params, "--json")

    assert json.loads(result.stdout)["decision"] == "block"
    assert evaluate_tool_use("Bash", params).decision.value == "block"


def test_parameters_may_come_from_stdin() -> None:
    result = interlock("check", "tool", "Bash", "--params", "-", stdin='{"command": "rm -rf /"}')

    assert result.exit_code == 4


def test_tool_call_without_parameters_is_judged() -> None:
    assert interlock("check", "tool", "ListFiles").exit_code == 0


def test_edit_is_judged_like_in_python(empty_place: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(400))
    (empty_place / "new.txt").write_text(text)

    result = interlock("check", "edit", "notes.txt", "--new", "new.txt", "--json")

    assert json.loads(result.stdout)["decision"] == "warn"
    assert evaluate_edit("notes.txt", text).decision.value == "warn"


def test_edit_counts_only_what_changes_when_the_old_text_is_known(empty_place: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(400))
    (empty_place / "old.txt").write_text(text)

    result = interlock(
        "check", "edit", "notes.txt", "--new", "-", "--old", "old.txt", "--json", stdin=text + "x\n"
    )

    assert json.loads(result.stdout)["decision"] == "allow"


def test_command_may_come_from_stdin() -> None:
    assert interlock("check", "command", "-", stdin="rm -rf /\n").exit_code == 4


def test_a_folder_that_is_given_decides_what_a_path_means() -> None:
    line = "rm -rf /srv/app/build"

    assert interlock("check", "command", line).exit_code == 3
    assert interlock("check", "command", line, "--cwd", "/srv/app").exit_code == 0


def test_allowing_says_so_in_one_line() -> None:
    assert interlock("check", "command", "ls").stdout == snapshot("ALLOW  no rule matched\n")


def test_a_finding_says_what_where_why_and_what_instead(policy: Path) -> None:
    result = interlock("check", "command", "sudo deploy web", "--policy", str(policy))

    assert result.stdout == snapshot("""\
DENY  must not happen

  deploys need a person
    why      no-deploys (rules, high)
    instead  ask for the deploy to be done
""")


def test_lines_stay_within_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "50")

    lines = interlock("check", "command", "--explain", "rm -rf / /etc ~").stdout.splitlines()

    assert max(map(len, lines)) <= 50


def test_policy_may_be_named_before_or_behind_the_subcommand(policy: Path) -> None:
    assert interlock("check", "--policy", str(policy), "command", "deploy").exit_code == 4
    assert interlock("check", "command", "deploy", "--policy", str(policy)).exit_code == 4


def test_the_project_may_tighten_and_can_be_left_aside(
    asking_policy: Path, empty_place: Path
) -> None:
    (empty_place / "interlock.toml").write_text(asking_policy.read_text())

    assert interlock("check", "command", "deploy").exit_code == 3
    assert interlock("check", "command", "deploy", "--no-project").exit_code == 0


def test_terminal_sequences_in_the_input_are_written_out(policy: Path) -> None:
    line = "deploy \x1b[2J\x1b]0;owned\x07"

    result = interlock("check", "command", "--explain", line, "--policy", str(policy))

    assert result.exit_code == 4
    assert "\x1b" not in result.stdout
    assert "\\x1b[2J" in result.stdout


def test_half_characters_are_answered_in_words_and_in_json() -> None:
    line = "rm -rf / \udcff"

    assert interlock("check", "command", line).exit_code == 4
    assert json.loads(interlock("check", "command", line, "--json").stdout)["decision"] == "block"


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("line", ["ls", "git push --force", "rm -rf / '\x1b[2J'", "echo é"])
def test_a_program_is_answered_at_once_as_anybody_is(line: str, options: list[str]) -> None:
    at_once = interlock_process("check", "command", *options, line)
    without_noun = interlock_process("check", *options, line)
    ordinary = interlock("check", "command", *options, line)

    assert at_once.returncode == without_noun.returncode == ordinary.exit_code
    assert at_once.stdout == without_noun.stdout == ordinary.stdout_bytes
    assert at_once.stderr == without_noun.stderr == b""


def test_what_goes_wrong_at_once_is_said_as_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "broken.toml"
    file.write_text("= nonsense")
    monkeypatch.setenv("INTERLOCK_POLICY", str(file))

    at_once = interlock_process("check", "command", "ls")
    ordinary = interlock("check", "command", "ls")

    assert at_once.returncode == ordinary.exit_code == 1
    assert at_once.stderr == ordinary.stderr_bytes
    assert at_once.stderr.startswith(b"Error: the policy does not load")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        pytest.param(["git push --force"], None, id="a line in quotes"),
        pytest.param(["command", "git push --force"], None, id="the same with its noun"),
        pytest.param(["git", "push", "--force"], "git push --force", id="its words"),
        pytest.param(["--", "git", "push", "--force"], "git push --force", id="behind dashes"),
        pytest.param(["command", "git", "push", "--force"], "git push --force", id="with its noun"),
        pytest.param(["command", "--", "git", "push", "-f"], "git push -f", id="noun and dashes"),
        pytest.param(["--cwd", ".", "git", "push", "-f"], "git push -f", id="an option before"),
        pytest.param(["--cwd=.", "git", "push", "-f"], "git push -f", id="the same in one word"),
        pytest.param(["command", "--cwd", "/", "git", "push", "-f"], "git push -f", id="behind"),
        pytest.param(["git push --force", "--cwd", "/tmp"], None, id="options behind a line"),
    ],
)
def test_a_line_is_understood_in_quotes_and_as_words(
    arguments: list[str], line: str | None
) -> None:
    result = interlock("check", *arguments)

    assert result.exit_code == 3
    assert result.stderr == ("" if line is None else f"read as: {line}\n")


def test_behind_one_word_stand_options_and_behind_two_the_rest_of_the_line() -> None:
    one, more = interlock("check", "ls", "--json"), interlock("check", "git", "push", "--json")

    assert json.loads(one.stdout)["decision"] == "allow"
    assert one.stderr == ""
    assert more.stdout.startswith("ALLOW")
    assert more.stderr == snapshot("""\
read as: git push --json  (`--json` as well: options of `check` stand before the line)
""")


def test_a_word_with_blanks_stays_one_word() -> None:
    result = interlock("check", "echo", "a b", "&&", "rm -rf /")

    assert result.exit_code == 0
    assert result.stderr == "read as: echo 'a b' '&&' 'rm -rf /'\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["comm", "ls"], "did you mean `interlock check command`? As a command line: `interlock"),
        (["exit", "1"], "As a command line: `interlock check command 'exit 1'`"),
        (["edit", "notes.txt"], "As a command line: `interlock check command 'edit notes.txt'`"),
        (["edit", "-x", "a"], "As a command line: `interlock check command 'edit -x a'`"),
        (["tool", "a", "b", "c"], "As a command line: `interlock check command 'tool a b c'`"),
        (["tool"], "Missing argument 'NAME'"),
        (["command", "-v", "git"], "No such option"),
        (["ls", "--wait", "1m"], "`--wait` waits for a question on the record: add `--run RUN`"),
    ],
)
def test_what_may_mean_two_things_is_told_how_to_write_it(arguments: list[str], told: str) -> None:
    result = interlock("check", *arguments)

    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


def test_a_misspelt_option_alone_is_told_as_that() -> None:
    result = interlock("check", "command", "--explian", "ls")

    assert result.exit_code == 2
    assert "quotes" not in result.stderr


def test_a_policy_that_only_an_operator_may_take_is_told_of(place: str, empty_place: Path) -> None:
    home = empty_place.parent / "config"
    home.mkdir(exist_ok=True)
    make_operator(place)
    before = interlock("check", "command", "ls")
    (home / "policy.toml").write_text("[diff-size]\nthreshold = 9000\n")
    looser = interlock("check", "command", "ls")

    assert (before.exit_code, before.stderr) == (0, "")
    assert looser.exit_code == 0
    assert looser.stderr.startswith("Note: not in force yet: the policy is looser")
    assert "interlock policy adopt" in looser.stderr
    assert interlock("check", "command", "--json", "ls").stderr == ""
    named = interlock("check", "command", "--policy", str(home / "policy.toml"), "ls")
    assert named.stderr == ""
    for each in (["policy", "show"], ["policy", "test"], ["rules", "show", "git.push-force"]):
        told = interlock(*each)
        assert (told.exit_code, told.stderr) == (0, looser.stderr)
    quick = interlock_process("check", "ls -l")
    assert (quick.returncode, quick.stderr.decode()) == (0, looser.stderr)
