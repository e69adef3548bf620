"""`interlock runs` and `interlock show`: what a person sees of what happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import as_person, interlock, program
from cli.ledgers import Story, a_run, told
from interlock import Interlock
from interlock.model.hook import CANARY
from interlock.model.short_code import code_of
from patience import LONG_ENOUGH_S


def test_runs_are_listed_with_what_they_did_and_those_below_them(story: Story) -> None:
    result = interlock("runs")

    assert result.exit_code == 0
    assert told(result.stdout, story) == snapshot("""\
run       status     task                        active  allow  warn  ask  deny     cost  violations
<chec>    waiting    fix the checkout: to...  6 min ago      2     -    1     1  $0.00+?           1
  <hist>  completed  look through the his...  7 min ago      1     -    -     -    $0.00           -
<chan>    completed  write the changelog      6 min ago      -     -    -     -    $0.00           -

violations  rules that the agent broke, as the run reported
+?  some tokens have no known price: `interlock budget --help`
""")


def test_a_narrow_terminal_gets_fewer_columns(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    lines = interlock("runs").stdout.splitlines()

    assert max(map(len, lines)) <= 80
    assert told(lines[0], story) == snapshot(
        "run       status     task                      active  allow  ask  deny     cost"
    )


def test_runs_are_filtered(story: Story) -> None:
    running = json.loads(interlock("runs", "--status", "running", "--json").stdout)
    other = json.loads(interlock("runs", "--agent", "somebody", "--json").stdout)
    latest = json.loads(interlock("runs", "--project", "shop", "--limit", "2", "--json").stdout)

    assert [run["id"] for run in running] == [story.checkout]
    assert other == []
    assert len(latest) == 2


def test_runs_as_json_hold_every_figure(story: Story) -> None:
    runs = json.loads(interlock("runs", "--json").stdout)

    checkout = next(run for run in runs if run["id"] == story.checkout)
    assert checkout["answers"] == {"allow": 2, "warn": 0, "require_confirmation": 1, "block": 1}
    assert checkout["spent"]["tokens"] == 78_000
    assert checkout["unpriced_tokens"] == 78_000
    assert (checkout["lines_added"], checkout["lines_removed"]) == (1, 1)
    assert checkout["violations"] == 1
    assert next(run for run in runs if run["id"] == story.history)["parent"] == story.checkout


def test_an_empty_ledger_has_no_runs(place: str) -> None:
    Interlock.open(place).close()

    assert interlock("runs").stdout == "no runs\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["runs"],
        ["show", "x"],
        ["tail"],
        ["approvals"],
        ["approve", "x"],
        ["deny", "x"],
        ["budget", "agent/x"],
        ["budget", "agent/x", "tokens", "1"],
        ["replay", "x"],
        ["verify"],
        ["ledger", "info"],
        ["ledger", "export"],
        ["ledger", "backup", "copy.db"],
    ],
    ids=" ".join,
)
def test_a_ledger_that_is_not_there_is_told_and_not_made(
    arguments: list[str], place: str, tmp_path: Path
) -> None:
    result = interlock(*arguments)

    assert result.exit_code == 1
    assert result.stderr.replace(str(tmp_path), "FOLDER") == snapshot(
        "Error: there is no ledger at `FOLDER/state/ledger.db`: the first run makes one, and so"
        " does `interlock setup`; --ledger or INTERLOCK_LEDGER names another one\n"
    )
    assert not Path(place).parent.exists()


def test_a_database_without_a_ledger_is_told_and_not_filled(postgres_url: str, place: str) -> None:
    for _ in range(2):
        result = interlock("runs", "--ledger", postgres_url)

        assert result.exit_code == 1
        assert "there is no ledger at `postgresql://" in result.stderr


def test_a_ledger_in_memory_cannot_be_looked_at(place: str) -> None:
    result = interlock("runs", "--ledger", ":memory:")

    assert result.exit_code == 2
    assert result.stderr == snapshot(
        "Error: `:memory:` ends with the program that opened it:"
        " name a file or a URL with --ledger\n"
    )


def test_looking_changes_nothing(story: Story) -> None:
    before = interlock("ledger", "export").stdout

    for arguments in (["runs"], ["show", story.checkout], ["approvals"], ["verify"]):
        interlock(*arguments)

    assert interlock("ledger", "export").stdout == before


def test_a_run_is_shown_on_one_page(story: Story) -> None:
    result = interlock("show", story.checkout)

    assert result.exit_code == 0
    shown = told(result.stdout, story)
    lines = [line for line in shown.splitlines() if not line.startswith(("  started", "  policy"))]
    assert "\n".join(lines) == snapshot("""\
fix the checkout: totals are off by one cent
  run      <chec> (<checkout..........................>)
  agent    claude (claude-code)
  project  shop
  state    waiting for a person: 1 question
  answers  2 allow, 1 ask, 1 deny
  used     78,000 tokens, $0.00, and 78,000 tokens of unknown price
  budget   78,000 of 100,000 tokens (78 %), the nearest limit
  waits    <appr>  git push --force origin topic

Questions and refusals
  1:09  deny      $ rm -rf /
                  filesystem.delete-root: deletes the system, a home folder or everything in it: `/`
  1:09  ask       $ git push --force origin topic  approval <appr>
                  git.push-force: overwrites what others see on the remote

Runs below it
  <hist>  completed   look through the history

next  interlock show <chec> --all  shows every one of 11 records\
""")


def test_the_whole_page_of_a_run_has_every_record(story: Story) -> None:
    shown = told(interlock("show", story.checkout, "--all").stdout, story)

    assert shown[shown.index("Figures") :] == snapshot("""\
Figures
  policy   572a5bfb5dadc264
  lines    +1 -1 in 1 file
  tools    command 1, edit 1
  tokens   60,000 in, 18,000 out
  tests    10 passed, 2 failed
  broken   1 violation of 1 rule
  rules    no-print 1
  places   src/cart.py:3 1

Budget
  run  tokens         ███████████████░░░░░   78 %  78,000 of 100,000
       tool-calls     ██░░░░░░░░░░░░░░░░░░   10 %  2 of 20

Timeline
  0:00  started   fix the checkout: totals are off by one cent  claude (claude-code)
  0:03  allow     $ pytest -q
  0:05  failed    $ pytest -q  exit 1, 2.3 s, 2 of 12 tests failed
  0:05  allow     write src/cart.py
  0:05  done      write src/cart.py  +1 -1
  0:09  model     nobody-knows  78,000 tokens, price unknown
  0:09  75 %      this run  78,000 of 100,000 tokens
  1:09  violation no-print: a debugging print was left in  src/cart.py:3
  1:09  deny      $ rm -rf /
                  filesystem.delete-root: deletes the system, a home folder or everything in it: `/`
  1:09  waits     approval <appr>  until <time>
  1:09  ask       $ git push --force origin topic  approval <appr>
                  git.push-force: overwrites what others see on the remote

Runs below it
  <hist>  completed   look through the history
""")


def test_a_run_that_ended_says_why(place: str) -> None:
    with Interlock.open(place) as ledger:
        denied, failed, left, asked = [a_run(ledger, name) for name in "abcd"]
        denied.command("rm -rf /")
        failed.observe(failed.command("pytest -q"), exit_code=3)
        left.observe(left.command("ls"))
        asked.command("git push --force")
        for run, outcome in ((denied, "blocked"), (failed, "failed"), (left, "stopped")):
            run.finish(outcome)
        asked.finish("stopped")
        rows = [(run, interlock("show", run.id).stdout) for run in (denied, failed, left, asked)]
        value = json.loads(interlock("show", denied.id, "--json").stdout)

    said = [
        [line.split(maxsplit=1)[1] for line in text.splitlines() if line.startswith(STANDING)]
        for _, text in rows
    ]
    assert said == snapshot(
        [
            [
                "blocked",
                "`$ rm -rf /` was denied: deletes the system, a home folder or everything in it:"
                " `/`",
            ],
            ["failed", "its last command ended with exit code 3"],
            ["stopped", "its agent or client reported it as stopped"],
            [
                "stopped",
                "nobody had approved `$ git push --force`: overwrites what others see on the"
                " remote",
            ],
        ]
    )
    assert value["ended_because"] == said[0][1]
    assert not any("report passed" in text for _, text in rows)


def test_what_a_person_approved_is_told_apart(place: str) -> None:
    with Interlock.open(place) as ledger:
        run = a_run(ledger, "push it")
        asked = run.command("git push --force origin topic")
        as_person("approve", str(asked.approval_id))
        run.command("git push --force origin topic")
        shown = interlock("show", run.id).stdout

    code = code_of(asked.approval_id)
    assert "  answers  1 ask, 1 approved\n" in shown
    assert f"  approved  $ git push --force origin topic  by anna ({code})\n" in shown
    assert "warn" not in shown


def test_many_refusals_are_cut_from_the_front(place: str) -> None:
    with Interlock.open(place) as ledger:
        run = a_run(ledger, "delete much")
        for number in range(25):
            run.command(f"rm -rf / # {number}")

    shown = interlock("show", run.id).stdout

    assert "  5 earlier ones: `--all` shows them\n" in shown
    assert "# 4\n" not in shown
    assert "# 24\n" in shown


def test_a_test_of_the_hooks_is_marked_and_not_taken_for_a_session(place: str) -> None:
    with Interlock.open(place) as ledger:
        work = a_run(ledger, "work")
        work.finish()
        test = a_run(ledger, f"claude-code session {CANARY}7")
        test.command("rm -rf /")
        listed = interlock("runs").stdout
        latest = interlock("show")
        explained = interlock("explain")
        standing = json.loads(interlock("status", "--json").stdout)

    assert "  hook test  " in listed
    assert listed.endswith("\n\nhook test  a test by `interlock doctor`, no session of yours\n")
    assert latest.stderr == (
        f"run {code_of(work.id)} (the latest); `interlock runs` lists the others\n"
    )
    assert explained.exit_code == 2
    assert "nothing was asked about, denied, paused or stopped" in explained.stderr
    assert standing["running"] == 0


def test_a_finished_run_is_shown_with_its_report(story: Story) -> None:
    shown = told(interlock("show", story.history, "--all").stdout, story)

    lines = shown[shown.index("Timeline") :].splitlines()
    assert "\n".join(line for line in lines if not line.startswith(EVIDENCE)) == snapshot("""\
Timeline
  0:00  started   look through the history  claude (claude-code)
  0:00  allow     $ git log --oneline
  0:00  done      $ git log --oneline  exit 0, 40 ms
  0:00  finished  completed  every evaluator passes

Report
  pass  tests-pass              100.0 %
  pass  forbidden-commands      100.0 %
  pass  forbidden-dependencies  100.0 %
  pass  violation-rate          100.0 %
  pass  diff-quality            100.0 %\
""")
    assert "  below    <checkout" in shown


def test_the_beginning_of_an_id_is_enough(story: Story) -> None:
    result = interlock("show", story.checkout[:SHORT_ENOUGH], "--json")

    assert json.loads(result.stdout)["run"]["id"] == story.checkout


def test_a_beginning_that_several_runs_share_names_them_all(story: Story) -> None:
    result = interlock("show", story.checkout[:4])

    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: `{story.checkout[:4]}` could be more than one run: `")
    for run in (story.checkout, story.history, story.changelog):
        assert run in result.stderr


@pytest.mark.parametrize("run", ["nonsense", "", "%", "ledge_"])
def test_an_unknown_run_is_told_where_to_look(run: str, story: Story) -> None:
    result = interlock("show", run)

    assert result.exit_code == 2
    assert result.stderr == f"Error: there is no run `{run}`: look at `interlock runs`\n"


def test_errors_are_json_when_json_is_asked_for(story: Story) -> None:
    result = interlock("show", "nonsense", "--json")

    assert result.exit_code == 2
    assert json.loads(result.stderr) == snapshot(
        {"error": "there is no run `nonsense`: look at `interlock runs`"}
    )


def test_a_long_run_is_shown_from_its_end_unless_all_of_it_is_wanted(place: str) -> None:
    with Interlock.open(place) as ledger:
        run = a_run(ledger, "say much")
        for number in range(60):
            run.violation("talks", f"word {number}")

    few, everything = interlock("show", run.id, "--limit", "40"), interlock("show", run.id, "--all")

    assert "  21 earlier records: `--all` shows them\n" in few.stdout
    assert "word 19" not in few.stdout
    assert "word 59" in few.stdout
    assert "word 0\n" in everything.stdout
    assert len(json.loads(interlock("show", run.id, "--all", "--json").stdout)["records"]) == 61
    assert json.loads(interlock("show", run.id, "--limit", "0", "--json").stdout)["records"] == []


def test_bars_are_plain_where_a_terminal_cannot_draw(story: Story) -> None:
    result = subprocess.run(
        [sys.executable, *program(["show", story.checkout, "--all"])],
        capture_output=True,
        check=True,
        timeout=LONG_ENOUGH_S,
        env={**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    )

    assert (
        b"  run  tokens         ###############.....   78 %  78,000 of 100,000\n" in result.stdout
    )


def test_text_from_outside_cannot_steer_the_terminal(place: str) -> None:
    with Interlock.open(place) as ledger:
        run = a_run(ledger, "\x1b[2Jgone\nsecond line")
        a_run(ledger, "\x1b[2Jbelow\nit", parent=run.id)
        run.violation("\x1b]0;title\x07", "bell \x07")
        run.command("echo '\x1b[31m'")

    for arguments in (["runs"], ["show", run.id]):
        shown = interlock(*arguments).stdout
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "gone\\nse" in shown
        assert "\\x1b[2Jbelow\\nit" in shown


SHORT_ENOUGH = 15
STANDING = ("  state", "  because")
EVIDENCE = " " * 9
