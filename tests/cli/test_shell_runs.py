"""A run from the shell: begun, asked about line by line, reported on, and ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import agent_token, as_person, interlock, make_operator
from interlock import Interlock, processes
from interlock.values import RunState
from patience import LONG_ENOUGH_S
from terminal import at_terminal

_EXAMPLE = Path(__file__).parents[2] / "examples" / "governed_script.sh"


@pytest.fixture(autouse=True)
def programs(place: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let `interlock` be on the path, and let no run be the caller's yet."""
    folder = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("INTERLOCK_RUN", raising=False)
    return place


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> str:
    """A run of this process, which the environment names."""
    run_id = interlock("run", "start", "--task", "tidy up").stdout.strip()
    monkeypatch.setenv("INTERLOCK_RUN", run_id)
    return run_id


def state_of(place: str, run_id: str) -> RunState:
    with Interlock.open(place) as opened:
        return opened.governor.state(run_id)


def script(text: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script to its end."""
    return subprocess.run(
        ["sh", "-c", text], capture_output=True, text=True, timeout=LONG_ENOUGH_S, check=False
    )


def test_the_id_is_all_that_is_printed(place: str) -> None:
    budget = ("--budget", "tokens=2000", "--wall-time", "60")
    started = interlock("run", "start", "--task", "nightly cleanup", "--agent", "cron", *budget)

    state = state_of(place, started.stdout.strip())
    assert (state.task, state.agent, state.client) == ("nightly cleanup", "cron", "shell")
    assert state.workspace == str(Path.cwd())
    assert state.tree_limits.tokens == 2000


def test_a_program_gets_the_id_as_json() -> None:
    started = interlock("run", "start", "--task", "x", "--json")

    assert list(json.loads(started.stdout)) == ["run"]


def test_the_example_script_is_governed_line_by_line(place: str, tmp_path: Path) -> None:
    folder = tmp_path / "work"
    (folder / "build").mkdir(parents=True)

    done = subprocess.run(
        ["sh", str(_EXAMPLE), str(folder)],
        capture_output=True,
        text=True,
        timeout=LONG_ENOUGH_S,
        check=False,
    )

    ended = "ENDED  completed"
    assert done.stdout.splitlines() == ["not pushed: exit code 3", ended, ended], done.stderr
    assert done.returncode == 0
    assert [each.name for each in folder.iterdir()] == ["tidied.txt"]
    with Interlock.open(place) as opened:
        (row,) = opened.ledger.rows.runs(limit=5, prefix="0")
        state = opened.governor.state(row.id)
    assert state.outcome == "completed"
    assert state.decisions == {"allow": 3, "require-confirmation": 1}


def test_a_script_goes_on_while_it_should(place: str) -> None:
    make_operator(place)
    done = script(
        "export INTERLOCK_RUN=$(interlock run start --task loop --budget tool-calls=2)\n"
        "n=0; while interlock run step > /dev/null && [ $n -lt 9 ]; do\n"
        "  n=$((n + 1)); interlock run exec -- true || break; done\n"
        "echo $n; interlock run step; echo $?"
    )

    assert done.stdout.splitlines()[0] == "2", done.stderr
    assert done.stdout.splitlines()[-1] in ("3", "4")


def test_a_run_may_go_on_or_not(run: str) -> None:
    going, told = interlock("run", "step"), interlock("run", "step", run, "--said", "hi", "--json")

    assert going.exit_code == 0
    assert going.stdout == snapshot("CONTINUE  step 0: the run may go on\n")
    answer = json.loads(told.stdout)
    assert (answer["run"], answer["goes_on"], answer["decision"]) == (run, True, "continue")


def test_a_halted_run_stops(place: str) -> None:
    run_id = script("interlock run start --task x").stdout.strip()
    as_person("halt", run_id, "--reason", "enough")

    stopped = interlock("run", "step", run_id)

    assert stopped.exit_code == 4
    assert "enough" in stopped.stdout
    assert interlock("run", "exec", "--run", run_id, "--", "true").exit_code == 4
    assert state_of(place, run_id).outcome is None


def test_a_command_of_a_run_is_run_and_recorded(place: str, run: str) -> None:
    done = script("interlock run exec -- echo hello; interlock run exec sh -c 'exit 7'; echo $?")

    assert done.stdout == "hello\n7\n"
    state = state_of(place, run)
    assert state.decisions == {"allow": 2}
    assert state.outcome is None


def test_what_must_not_run_is_not_run(run: str) -> None:
    refused = interlock("run", "exec", "--json", "--", "rm", "-rf", "/")

    assert refused.exit_code == 4
    ending = json.loads(refused.stderr.splitlines()[-1])
    assert (ending["run_id"], ending["outcome"]) == (run, "blocked")


@pytest.mark.parametrize("words", [["exec", "--"], ["--"]], ids=["of a run", "as a run"])
def test_a_program_that_is_not_there_ends_as_in_a_shell(run: str, words: list[str]) -> None:
    del run
    Path("text").write_text("no program")

    missing, unfit = interlock("run", *words, "no-such"), interlock("run", *words, "./text")

    assert (missing.exit_code, unfit.exit_code) == (127, 126)
    assert missing.stderr.startswith("Error: there is no program `no-such` to run: see `PATH`")
    said = interlock("run", "--json", "no-such").stderr
    assert json.loads(said)["error"].startswith("there is no program")


def test_a_program_called_like_a_word_is_run_behind_dashes(run: str) -> None:
    del run

    as_program = interlock("run", "--", "start")
    behind_options = interlock("run", "--project", "x", "start", "--task", "y")

    assert as_program.exit_code == behind_options.exit_code == 127
    assert "`interlock run start` has its options behind it" in behind_options.stderr


def test_a_line_is_asked_about_on_the_record_and_reported_on(place: str, run: str) -> None:
    asked = interlock("check", "--run", run, "--json", "make test")

    answer = json.loads(asked.stdout)
    assert (asked.exit_code, answer["decision"], answer["short"]) == (0, "allow", "allow")
    Path("log").write_text("1 failed, 4 passed in 0.1s\n")
    reported = interlock(
        "run", "observe", answer["action_id"], "--exit-code", "1", "--output", "log"
    )
    assert reported.stdout == f"RECORDED  {answer['action_id']}: failed\n"
    assert state_of(place, run).tools == {"command": 1}


def test_the_latest_action_is_meant_where_none_is_named(place: str, run: str) -> None:
    for line in ("make one", "make two", "rm -rf /"):
        interlock("check", line, "--run", run)

    first = interlock("run", "observe", "--exit-code", "0")
    second = interlock("run", "observe", run, "--output", "-", stdin="fine")
    none = interlock("run", "observe", "--outcome", "ok")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.stdout != second.stdout
    assert none.exit_code == 2
    assert f"no action of run `{run}` waits for its report" in none.stderr


def test_an_action_is_named_by_its_record_as_well(run: str) -> None:
    interlock("check", "make one", "--run", run)

    named = interlock("run", "observe", run, "2", "--exit-code", "0")

    assert named.stdout == f"RECORDED  {run}:2: ok\n"


def test_tokens_are_reported_with_an_action_or_alone(place: str, run: str) -> None:
    interlock("check", "make one", "--run", run)

    alone = interlock("run", "observe", "--input-tokens", "30", "--model", "m")
    with_it = interlock(
        "run", "observe", "--exit-code", "0", "--output-tokens", "12", "--model", "m"
    )

    assert alone.stdout == "RECORDED  30 tokens of m\n"
    assert with_it.exit_code == 0
    assert state_of(place, run).spent.tokens == 42


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["step"], "which run? Name it, or set `INTERLOCK_RUN`"),
        (["observe", "x"], "expected what it did: `--exit-code N`"),
        (["observe", "a", "b", "c", "--exit-code", "0"], "expected RUN and ACTION, got 3 words"),
        (["observe", "--output", "gone"], "`gone` cannot be read: No such file or directory"),
        (["step", "--wait", "soon"], "`soon` is no span of time: expected such as `90s`"),
        (["end", "no-such-run"], "no-such-run"),
        (["start"], "Missing option '--task'"),
        (["start", "--task", "x", "--budget", "sleep=1"], "with a KEY of `tokens`"),
        (["exec"], "Missing argument 'COMMAND...'"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(place: str, words: list[str], told: str) -> None:
    make_operator(place)

    result = interlock("run", *words)

    assert result.exit_code == 2
    assert told in result.stderr


def test_a_record_is_asked_with_the_policy_of_the_ledger(run: str, policy: Path) -> None:
    for option in (["--explain"], ["--no-project"], ["--policy", str(policy)]):
        refused = interlock("check", "--run", run, *option, "ls")

        assert refused.exit_code == 2
        assert "the policy of the ledger decides" in refused.stderr


def test_a_person_is_waited_for(place: str) -> None:
    """The script waits; whoever it does not descend from decides."""
    make_operator(place)
    with waiting(
        "export INTERLOCK_RUN=$(interlock run start --task x)\n"
        "interlock check --run $INTERLOCK_RUN --wait 10m 'git push --force'; echo asked $?\n"
        "interlock run observe --exit-code 0"
    ) as asking:
        approval = question(place)
        assert as_person("approve", approval).exit_code == 0
        output = asking.communicate(timeout=LONG_ENOUGH_S)[0]

    assert "asked 0\nRECORDED" in output


def test_who_does_not_wait_is_told_what_comes_next(run: str) -> None:
    asked = interlock("check", "--run", run, "git", "push", "--force")

    assert asked.exit_code == 3
    assert "interlock approve" in asked.stdout
    told = interlock("run", "exec", "--wait", "0", "--", "git", "push", "--force")
    assert told.exit_code == 3
    assert "a person must approve first" in told.stderr


def test_a_command_that_waits_for_a_person_asks_once(place: str, run: str) -> None:
    waited = interlock("run", "exec", "--wait", "1s", "--", "git", "push", "--force")

    assert waited.exit_code == 3
    assert state_of(place, run).decisions == {"require-confirmation": 1}


def test_an_agent_is_asked_whether_it_is_done(run: str) -> None:
    done = interlock("run", "done", "All 12 tests pass and the change is complete.")
    more = interlock("run", "done", "-", "--json", stdin="Next I will fix the second test.")

    assert done.exit_code == 0
    assert done.stdout.startswith("DONE  ")
    answer = json.loads(more.stdout)
    assert (more.exit_code, answer["run"], answer["done"]) == (5, run, False)
    assert answer["nudge"]


def test_what_to_send_to_an_agent_that_is_not_done_is_shown(run: str) -> None:
    del run

    more = interlock("run", "done", "Next I will fix the second test.")

    assert more.exit_code == 5
    assert more.stdout.startswith("NOT DONE  the agent is not done: send it on\n")
    assert "  send     " in more.stdout


def test_a_run_ends_once(place: str, run: str) -> None:
    ended, again = interlock("run", "end", "--failed"), interlock("run", "end", run, "--json")

    assert ended.stdout.splitlines()[0] == "ENDED  failed"
    assert json.loads(again.stdout)["outcome"] == "failed"
    assert state_of(place, run).outcome == "failed"
    assert "is finished" in interlock("run", "step").stderr


def test_a_run_is_not_completed_while_its_checks_fail(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "checked.toml"
    file.write_text(
        '[reviews]\ncompletion = ["tests"]\n[[reviews.gates]]\nid = "tests"\n'
        'criteria = ["every test passes"]\nseverity = "critical"\ncheck = ["false"]\n'
    )
    monkeypatch.setenv("INTERLOCK_POLICY", str(file))
    run_id = interlock("run", "start", "--task", "x").stdout.strip()

    ended = interlock("run", "end", run_id)

    assert ended.exit_code == 5, ended.output
    assert ended.stdout.startswith("NOT DONE  ")
    assert state_of(place, run_id).outcome is None


# Whose run it is.


@contextmanager
def waiting(text: str) -> Generator[subprocess.Popen[str]]:
    """Run a script beside the test, which it waits for."""
    with subprocess.Popen(
        ["sh", "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def question(place: str) -> str:
    """Return the question that a script waits for, as soon as it is asked."""
    with Interlock.open(place) as opened, closing(opened.ledger.listen()) as listener:
        while not (asked := opened.approvals()):
            listener.wait(1)
    return asked[0].id


def test_a_script_that_runs_is_spoken_for_by_what_it_starts_alone(place: str) -> None:
    make_operator(place)
    with waiting("interlock run start --task x; read go; exec interlock run step $go") as other:
        assert other.stdin is not None
        assert other.stdout is not None
        run_id = other.stdout.readline().strip()

        words = (["step"], ["end"], ["observe", "--exit-code", "0"], ["done", "ok", "--run"])
        for word, *rest in words:
            refused = interlock("run", word, *rest, run_id)
            assert refused.exit_code == 1
            assert f"run `{run_id}` is that of process {other.pid}, which still" in refused.stderr
        assert interlock("check", "--run", run_id, "ls").exit_code == 1

        other.stdin.write(f"{run_id}\n")
        other.stdin.flush()
        assert other.stdout.readline().startswith("CONTINUE")
        other.wait(LONG_ENOUGH_S)

    # Its script is over: whoever takes it up is who speaks for it.
    assert interlock("run", "end", run_id).exit_code == 0


def test_what_a_script_starts_decides_nothing(place: str) -> None:
    make_operator(place)

    done = script(
        "RUN=$(interlock run start --task x); interlock check --run $RUN 'git push --force'\n"
        "interlock halt $RUN --reason mine; echo $?"
    )

    assert "this process was started by run" in done.stderr
    assert done.stdout.splitlines()[-1] == "1"


def test_a_run_of_a_client_is_spoken_for_by_its_client(place: str) -> None:
    with Interlock.open(place) as opened:
        run_id = opened.run("of a program").id

    refused = interlock("run", "observe", run_id, "--exit-code", "0")

    assert refused.exit_code == 1
    assert f"run `{run_id}` was begun by `python`, which reports on it" in refused.stderr


def test_a_supervised_command_reports_on_its_run_and_does_not_end_it(place: str) -> None:
    del place
    done = script(
        "interlock run -- sh -c 'interlock run observe --input-tokens 9;"
        " interlock run step; interlock run end; echo $?'"
    )

    lines = done.stdout.splitlines()
    assert lines[0] == "RECORDED  9 tokens of a model", done.stderr
    assert lines[1].startswith("CONTINUE")
    assert lines[2] == "1"


def test_an_agent_with_a_token_shows_it(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_operator(place)
    monkeypatch.setenv("INTERLOCK_TOKEN", agent_token(place, "cron"))
    run_id = interlock("run", "start", "--task", "x").stdout.strip()
    assert state_of(place, run_id).agent == "cron"
    assert interlock("run", "step", run_id).exit_code == 0

    monkeypatch.delenv("INTERLOCK_TOKEN")
    refused = interlock("run", "step", run_id)

    assert refused.exit_code == 1
    assert "who has a token: show it, over HTTP or in `INTERLOCK_TOKEN`" in refused.stderr


def test_who_types_a_run_at_a_terminal_still_decides_there(place: str) -> None:
    """A shell at a terminal is above everything that its person does."""
    ended = at_terminal(["/bin/sh", "-c", "interlock run start --task x; true"], stdin="")

    state = state_of(place, ended.output.strip())
    assert not processes.is_alive(state.process)
    assert interlock("run", "step", state.id).exit_code == 0


def test_a_run_within_a_run_stands_below_it(place: str, run: str) -> None:
    below = interlock("run", "start", "--task", "a part").stdout.strip()

    assert state_of(place, below).ancestors == (run,)


def test_the_projects_policy_counts_wherever_the_script_goes(tmp_path: Path) -> None:
    (tmp_path / "interlock.toml").write_text('[destructive-ops.rules]\n"git.push-force" = "deny"\n')

    done = script(
        f"cd {tmp_path}; export INTERLOCK_RUN=$(interlock run start --task x)\n"
        "interlock run exec --wait 0 -- git push --force; echo $?\n"
        'cd /; interlock check --run "$INTERLOCK_RUN" "git push --force"; echo $?\n'
    )

    assert [line for line in done.stdout.splitlines() if line.isdecimal()] == ["4", "4"]
