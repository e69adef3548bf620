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

  Ask whether a command, a tool call or an edit may happen, and why; see what
  runs did and what they used, and decide what waits for a person.

    interlock tour                                   see it at work
    interlock install claude-code                    have an agent ask before it acts
    interlock check command 'git push --force'       ask about one line
    interlock check command --explain 'curl x | sh'  and how the answer came about
    interlock runs                                   what is at work, and what it used
    interlock watch RUN                              how one run gets on, live
    interlock approvals                              what waits for you
    interlock serve                                  all of it in a browser, and an API
    interlock loop run                               let it decide what comes next

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

Commands:
  tour             Take the guided tour: real questions, real answers;...
  setup            Make the first operator; once, at a terminal.
  install          Have agent clients ask before they act: put hooks into...
  uninstall        Take the hooks out of the settings of agent clients again.
  doctor           Examine the hooks of every client here, and send a...
  serve            Answer agents and people: HTTP, live events, and the...
  run              Run any agent's command as a governed run: judged,...
  mcp              Stand in front of an MCP server: judge what is asked of...
  check            Ask whether a command, a tool call or an edit may happen.
  rules            List the rules of all packs, or of one PACK, with what...
  init             Write a policy file that shows every key with its...
  policy           Show, describe and test the policy that counts here.
  status           Say whether a server runs, where and since when, and...
  runs             List the runs that were active last, with what they did...
  show             Show one run; RUN is its id, or enough of its beginning.
  tail             Print what is recorded as it is recorded, of one run or...
  watch            Watch how a run gets on, live.
  explain          Explain why a run was let go on, paused or stopped.
  approvals        List what waits for a person: what is asked, and why.
  approve          Let what was asked happen, once; ID may be its beginning.
  deny             Refuse what was asked; ID may be its beginning.
  review           Open a review: was the work good enough?
  verdict          Give the verdict on a review: was it good enough?
  reviews          List the reviews that work waits for, of every run that...
  choose           Choose how a review goes on whose attempts are used up.
  halt             Stop a run and every run below it, until it is lifted.
  lift             Let a run go on that was paused, stopped or halted.
  checkpoint       List the checkpoints of a run, and bring its files back...
  edit             Make edits that stdin describes: all of them, or none.
  undo             Put files back: a set of edits, or what was copied away...
  budget           Show an account, or give it another limit.
  operator         List who may decide, let others in or go, and change a...
  token            List the tokens of programs, make one, or let one go.
  login            Show a link that opens the console once, as you, within...
  loop             What next? Let the loop run, look at it, and stop it.
  event            Tell the loop that something happened.
  note             Leave a note for the loop, and see which ones wait.
  slog             List what the loop decided, the newest first; to do...
  recommendations  List what finished runs taught the loop: changes of the...
  step             Judge past runs step by step: where would each have been...
  stop             Ask whether agents that ended their turn are really done.
  replay           Decide every judgement of a run again, from its record.
  verify           Hold every record against its chain and its seals.
  ledger           Look at the ledger, copy it, and mend it.
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

  Exit code: 0 allow or warn, 3 require-confirmation, 4 block; 1 when the policy
  or the environment is at fault, 2 when the call is wrong or its input cannot
  be read.

  With --jsonl each line of stdin is one question, answered in order:

    {"id": 1, "command": "git push --force", "cwd": "/src/app"}
    {"id": 2, "tool": "Bash", "params": {"command": "ls"}}
    {"id": 3, "path": "app.py", "content": "new text", "old": "old text"}

  `cwd` and `old` may be left out. A line that cannot be read is answered with
  an error, the stream goes on, and the exit code at its end is 0.

Options:
  --jsonl        Answer a stream of JSON lines.
  --policy FILE  Use this file as the user's policy.
  --no-project   Leave the project's policy aside.
  -h, --help     Show this message and exit.

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
    assert result.stdout.startswith(b"BLOCK  must not happen\n")
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
  no-deploys  block                 high      deploys need a person
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
  says     block (high)
  why      deploys need a person
  instead  ask for the deploy to be done
  speaks   deploy web
           sudo deploy
  silent   echo deploy
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
