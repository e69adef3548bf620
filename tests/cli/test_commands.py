from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from inline_snapshot import snapshot

from cli.asking import interlock, interlock_process
from interlock.cli.command_group import SUMMARIES, cli
from patience import LONG_ENOUGH_S


def test_help_names_every_command() -> None:
    assert interlock("--help").stdout == snapshot("""\
Usage: interlock [OPTIONS] COMMAND [ARGS]...

  The control plane for AI agents that work unattended.

    interlock tour                    see it at work
    interlock install claude-code     have an agent ask before it acts
    interlock check git push --force  ask about one command
    interlock audit                   see what your agents did so far
    interlock approvals               what waits for you
    interlock serve                   all of it in a browser

Options:
  --no-pager     Show long lists without a pager.
  -V, --version  Show the version and exit.
  -h, --help     Show this message and exit.

Ask:
  check            Ask whether a command, a tool call or an edit may happen.
  explain          Explain why a call was refused, or a run paused or stopped.
  rules            List the rules, and what the policy makes of each.
  audit            Audit past sessions: what would have been asked or stopped.
  simulate         Try a policy on past runs: which answers would change.
  calibrate        Choose thresholds that keep a promise, from past runs.
  backtest         Judge past steps, or past ends of turns, from JSON lines.
  tour             Take the guided tour; nothing of yours is touched.

Run:
  run              Run an agent's command, governed: judged, watched, stopped.
  mcp              Govern an MCP server: judge each call, pass on the rest.
  serve            Start the server: HTTP API, live events, web console.
  edit             Apply the edits that stdin describes: all, or none.
  undo             Restore files from before a set of edits or a command.
  loop             Run the loop that decides what comes next, or stop it.
  event            Send an event to the loop.
  note             Leave a note for the loop, or list those that wait.

Decide:
  approvals        List what waits for a person: what is asked, and why.
  approve          Let what was asked happen, once.
  deny             Refuse what was asked.
  review           Open a review of work, submit its verdict, resolve it.
  halt             Stop a run and every run below it, until it is resumed.
  resume           Resume a run that was paused, stopped or halted.
  budget           Show what was used of a budget, or set a limit.
  recommendations  List changes of the policy that past runs suggest.

Look:
  status           Say what is governed, by which policy, and what waits.
  runs             List the latest runs, with what they did and used.
  show             Show one run: how it stands, why, and what was refused.
  watch            Watch a run live.
  tail             Print records as they are made, of one run or of all.
  replay           Decide every answer of a run again, from its record.
  verify           Verify every record against its hash chain and seals.
  checkpoint       List the checkpoints of a run, or restore one.

Set up:
  setup            Make the first operator: the person who approves.
  install          Install hooks: agent clients ask before they act.
  uninstall        Remove the hooks from the settings of agent clients.
  doctor           Test the hooks of every client, with a line that is not run.
  init             Write a policy file with the settings that people change.
  policy           Show, test and adopt the policy.
  operator         Manage the people who may decide.
  token            Manage the tokens of agents and programs.
  login            Show a link that opens the web console as you.
  completion       Install tab completion for bash, zsh or fish.
  ledger           Inspect, back up, archive and repair the ledger.

  `interlock help COMMAND` says more about one, with examples.
""")


@pytest.mark.parametrize("name", cli.list_commands(click.Context(cli)))
def test_the_list_of_commands_says_what_each_says_itself(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)

    assert command is not None
    assert SUMMARIES[name] == command.get_short_help_str(limit=1000)


def test_check_help_tells_exit_codes_and_the_stream() -> None:
    assert interlock("check", "--help").stdout == snapshot("""\
Usage: interlock check [OPTIONS] [COMMAND] [ARGS]...

  Ask whether a command, a tool call or an edit may happen.

  Whatever is no subcommand is a command line. Options stand before the line.
  With --run the question is asked for that run, on the record: where a person
  must approve, they find it in `interlock approvals`.

  Exit code: 0 allow or warn, 3 ask, 4 deny; 1 when the policy or the
  environment is at fault, 2 when the call is wrong or its input cannot be read.

  With --jsonl each line of stdin is one question, answered in order:

    {"id": 1, "command": "git push --force", "cwd": "/src/app"}
    {"id": 2, "tool": "Bash", "params": {"command": "ls"}}
    {"id": 3, "path": "app.py", "content": "new text", "old": "old text"}

  `cwd` and `old` may be left out. A line that cannot be read is answered with
  an error, and the stream goes on; at its end the exit code is 2 if there was
  one, else 0.

  Examples:
    interlock check 'git push --force'
    interlock check tool Bash '{"command": "ls"}'
    interlock check --jsonl < questions.jsonl

Options:
  --jsonl               Answer a stream of JSON lines.
  --json                Print JSON.
  --explain             Show how the answer came about.
  --run RUN             Ask for this run, on the record: see `interlock run
                        start`.
  --wait TIME           With --run: wait so long for the person who has to
                        approve, such as `10m`.
  --ledger PATH_OR_URL  The ledger: a file, or the URL of a Postgres.
  --policy FILE         Use this file as the user's policy.
  --no-project          Leave the project's policy aside.
  --cwd DIR             The folder a command would run in.
  -h, --help            Show this message and exit.

Commands:
  command  Ask about a shell command LINE; `-` reads it from stdin.
  edit     Ask about writing to PATH.
  tool     Ask about a call of the tool NAME.
""")


def test_version_is_told() -> None:
    result = interlock_process("--version")

    assert re.fullmatch(rb"interlock \d+\.\d+\.\d+\n", result.stdout)


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_and_version_leave_the_policy_engine_alone(argument: str) -> None:
    code = (
        "import sys\n"
        "from interlock.cli.main import main\n"
        f"sys.argv = ['interlock', {argument!r}]\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = ('interlock.policy', 'tree_sitter', 're2', 'rich')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])\n"
    )

    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG_ENOUGH_S,
    )

    assert result.stdout.splitlines()[-1] == "[]"


def test_unknown_command_is_misuse() -> None:
    result = interlock("nonsense")

    assert result.exit_code == 2
    assert result.stderr == snapshot("""\
Usage: interlock [OPTIONS] COMMAND [ARGS]...
Try 'interlock --help' for help.

Error: there is no command `nonsense`: `interlock --help` lists them
""")


def test_a_real_process_answers_with_the_exit_code() -> None:
    result = interlock_process("check", "command", "rm -rf /")

    assert result.returncode == 4
    assert result.stdout.startswith(b"DENY  must not happen\n")
    assert result.stderr == b""


def test_a_real_process_never_shows_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text("= nonsense")

    result = interlock_process("check", "command", "ls", "--policy", str(file))

    assert result.returncode == 1
    assert b"Traceback" not in result.stderr


def test_rules_lists_every_pack() -> None:
    entries = json.loads(interlock("rules", "--json").stdout)

    assert {"git", "filesystem", "sql", "secrets"} <= {entry["pack"] for entry in entries}


def test_json_may_be_asked_for_before_the_name_of_a_pack() -> None:
    before = interlock("rules", "--json", "git").stdout

    assert before == interlock("rules", "git", "--json").stdout
    assert json.loads(before)


def test_rules_of_one_pack_are_listed(policy: Path) -> None:
    result = interlock("rules", "rules", "--policy", str(policy))

    assert result.stdout == snapshot("""\
rules  Your own rules. Conditions written in the policy.
  no-deploys  deny   high      deploys need a person
""")


def test_rules_shows_what_is_switched_off(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[destructive-ops.rules]\n"git.push-force" = "off"\n')

    entries = json.loads(interlock("rules", "git", "--json", "--policy", str(file)).stdout)

    states = {entry["id"]: entry["decision"] for entry in entries}
    assert states["git.push-force"] == "off"
    assert states["git.reset-hard"] != "off"


def test_one_rule_is_shown_with_its_examples(policy: Path) -> None:
    result = interlock("rules", "show", "no-deploys", "--policy", str(policy))

    assert result.stdout == snapshot("""\
no-deploys
  decision deny (high)
  why      deploys need a person
  instead  ask for the deploy to be done
  when     commands.exists(c, c.program == "deploy")
  matches  deploy web
           sudo deploy
  ignores  echo deploy
""")


def test_misspelt_rule_gets_the_nearest_one() -> None:
    result = interlock("rules", "show", "git.push-forc")

    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "Error: no rule is called `git.push-forc`; did you mean `git.push-force`?\n"
    )


def test_unknown_rule_is_told_where_to_look() -> None:
    result = interlock("rules", "show", "zzzzzz")

    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "Error: no rule is called `zzzzzz`; `interlock rules` lists them all\n"
    )


def test_unknown_pack_is_told_which_there_are() -> None:
    result = interlock("rules", "gti")

    assert result.exit_code == 2
    assert result.stderr.startswith("Error: no pack is called `gti`; there are `")


def test_init_then_check_works_with_what_was_written() -> None:
    assert interlock("init").exit_code == 0
    assert interlock("init", "--project").exit_code == 0

    assert interlock("check", "command", "rm -rf /").exit_code == 4


def test_init_does_not_replace_a_file_unasked() -> None:
    interlock("init", "--project")

    result = interlock("init", "--project")

    assert result.exit_code == 1
    assert "exists; pass --force to replace it" in result.stderr


def test_policy_show_tells_where_a_value_came_from(policy: Path) -> None:
    values = json.loads(interlock("policy", "show", "--json", "--policy", str(policy)).stdout)[
        "values"
    ]

    origins = {value["key"]: value["origin"] for value in values}
    assert origins["version"] == "default"
    assert origins["rules.no-deploys"] == "user"


def test_policy_test_runs_the_examples_of_own_rules(policy: Path) -> None:
    report = json.loads(interlock("policy", "test", "--json", "--policy", str(policy)).stdout)

    assert report["examples"] > 3
    assert "no-deploys" not in {failure["rule"] for failure in report["failures"]}


def test_a_misspelt_command_is_told_with_what_was_likely_meant() -> None:
    result = interlock("approves", "x")

    assert result.exit_code == 2
    assert "there is no command `approves`: did you mean `approve`?" in result.stderr


def test_a_rule_that_is_observed_is_shown_so(policy: Path) -> None:
    observed = '[destructive-ops.rules]\n"git.push-force" = "observe"\n'
    policy.write_text(observed + policy.read_text().replace("id = ", 'mode = "observe"\nid = '))

    shown = interlock("rules", "show", "no-deploys", "--policy", str(policy))
    entries = json.loads(interlock("rules", "--json", "--policy", str(policy)).stdout)
    listed = interlock("rules", "git", "--policy", str(policy))

    assert "  mode     observe: what it matches goes ahead" in shown.stdout
    assert {each["id"] for each in entries if each["mode"] == "observe"} == {
        "git.push-force",
        "no-deploys",
    }
    assert "  git.push-force " in listed.stdout


def test_what_init_replaces_is_kept_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "policy.toml"
    monkeypatch.setenv("INTERLOCK_POLICY", str(file))
    for number in (1, 2):
        file.write_text(f"# mine {number}\n")
        done = interlock("init", "--force", "--json")
        kept = tmp_path / f"policy.toml.{number}"

        assert json.loads(done.stdout)["kept"] == str(kept)
        assert kept.read_text() == f"# mine {number}\n"
        assert kept.stat().st_mode & 0o077 == 0
    told = interlock("init", "--force")
    assert "  kept     what stood there before: " in told.stdout


def test_check_takes_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "policy.toml"
    when = f'cwd == "{tmp_path}" && commands.exists(c, c.cwd == "{tmp_path}/app")'
    file.write_text(
        f"[[rules]]\nid = 'here'\nwhen = '{when}'\ndecision = 'deny'\nmessage = 'not here'\n"
    )
    monkeypatch.chdir(tmp_path)

    assert interlock("check", "--policy", str(file), "cd app && ls").exit_code == 4
    assert interlock("check", "--policy", str(file), "--cwd", "/", "cd app && ls").exit_code == 0
