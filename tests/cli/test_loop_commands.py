"""`interlock loop`: what next? A person looks at it, lets it run, and stops it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import agent_token, as_person, interlock, make_operator, program
from cli.looping import POLICY, a_loop, write_policy
from interlock import Interlock
from interlock.model.system_loop import CycleOutcome
from patience import LONG_ENOUGH_S
from warm_python import PythonProcess

_ID = r"[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?"


def told(text: str) -> str:
    """Return an output without what is different every time."""
    text = re.sub(rf"\b(?:{_ID}|(?=[G-Y])[C-Y3479]{{6}}(?=  | lets| refuses|\n|$))\b", "<id>", text)
    text = re.sub(r"\b[0-9a-f]{12}\b", "<state>", text)
    return re.sub(r"\b\d+ (ms|s|min)\b(?! \*)", "<time>", text)


def test_a_tick_looks_around_and_says_what_came_of_it(place: str) -> None:
    write_policy()
    noted = interlock("note", "add", "look at the build")

    ticked = interlock("loop", "tick")

    assert (noted.exit_code, ticked.exit_code) == (0, 0)
    assert told(ticked.stdout) == snapshot("""\
emitted  process_notes 1 note  event:system/note, rules
           1 note in the queue
  decision <id>
""")
    assert interlock("note", "list").stdout.startswith("no note waits")
    kept = Path(place).with_name("ledger.db.loop") / "notes.jsonl"
    assert json.loads(kept.read_text())["text"] == "look at the build"


def test_a_tick_starts_a_job_only_where_it_may_wait_for_it(place: str) -> None:
    write_policy(
        """\
[loop]
start-loop = "allow"
[[loop.jobs]]
name = "mend"
command = ["sh", "-c", "echo $INTERLOCK_CAUSE > cause"]
on = ["ci/failed"]
"""
    )
    interlock("event", "send", "ci/failed")

    ticked = interlock("loop", "tick")

    assert "emitted  start_loop mend" in ticked.stdout
    assert "a job is to be started: interlock loop run does it" in ticked.stdout
    assert not Path("cause").exists()

    waited = interlock("loop", "tick", "--wait", "--json")

    assert waited.exit_code == 0
    cause = Path("cause").read_text().strip()
    assert cause in interlock("loop", "log", "--json").stdout


def test_the_status_shows_what_waits_and_the_last_cycle(place: str) -> None:
    with a_loop(place) as looped:
        decided = looped.after("ci/build.failed", '{"branch": "main"}')
        assert decided.outcome is CycleOutcome.APPROVAL_REQUIRED

    assert told(interlock("loop", "status").stdout) == snapshot("""\
ENFORCE  it decides, and what passes the rails is done
  decider  rules
  workers  no engine yet: `interlock loop run` starts one
  beats    every <time>, once a worker runs
  cycles   1: 1 approval required
  today    $0.00 of $1.00 for deciding
  may      start_loop: 0 of 4 within the hour, a person agrees first
           process_notes: 0 of 12 within the hour
           apply_retro_recommendation: 0 of 2 within the hour, a person agrees first
           emit_alert: 0 of 6 within the hour

Waiting
  ASKS  start_loop fix-the-build
    interlock approve <id>  expires in <time>

Last cycle  (<time> ago)
  decision  <id>
  trigger   event:ci/build.failed
              event:ci/build.failed {"branch":"main"}
  snapshot  5 sources read, state <state>
              note_queue_length: 0
              recent_slog_entries: 0
              pending_retro_recommendations: 0
              active_loop_runs: 0
              half_done_inventory: 0
  decider   rules chose start_loop fix-the-build
              `ci/build.failed` is what job `fix-the-build` is for
  rails     approval held
              approval: a person has to agree first
  outcome   approval required, after <time>
              approval <id>: pending
  event     none was emitted
""")


def test_programs_get_the_status_as_values(place: str) -> None:
    with a_loop(place) as looped:
        looped.after("ci/deploy.failed")

    status = json.loads(interlock("loop", "status", "--json").stdout)

    assert (status["mode"], status["frozen"], status["workers"]) == ("enforce", None, None)
    assert (status["cycles"], status["emitted"], status["held"]) == (1, 1, [])
    assert [stage["name"] for stage in status["last"]["stages"]] == [
        "trigger",
        "snapshot",
        "decider",
        "rails",
        "outcome",
        "event",
        "delivery",
    ]
    assert [rate["per_hour"] for rate in status["rates"]] == [4, 12, 2, 6]


def test_what_is_frozen_lets_nothing_out_until_it_is_thawed(place: str) -> None:
    write_policy()
    interlock("note", "add", "first")

    frozen = as_person("loop", "freeze", "--reason", "a release is on")
    ticked = interlock("loop", "tick")
    status = interlock("loop", "status")
    thawed = as_person("loop", "unfreeze", "--reason", "it is out")
    interlock("note", "add", "second")

    assert (frozen.exit_code, thawed.exit_code) == (0, 0)
    assert frozen.stdout == snapshot("""\
FROZEN  nothing is emitted or delivered
  interlock loop unfreeze --reason TEXT lets it go on
""")
    assert ticked.stdout.startswith("frozen  do_nothing")
    assert "FROZEN  nothing is emitted or delivered" in status.stdout
    assert "  why      a release is on\n" in status.stdout
    assert thawed.stdout == "UNFROZEN  the loop goes on\n"
    assert interlock("loop", "tick").stdout.startswith("emitted  process_notes")


def test_an_action_that_waits_can_be_cancelled(place: str) -> None:
    with a_loop(place) as looped:
        decided = looped.after("ci/build.failed")

    cancelled = as_person("loop", "cancel", decided.decision_id[:13], "--reason", "not today")

    assert told(cancelled.stdout) == "CANCELLED  it does not happen\n  <id>\n"
    status = json.loads(interlock("loop", "status", "--json").stdout)
    assert status["held"] == []


def test_a_question_of_the_loop_says_what_would_happen(place: str) -> None:
    with a_loop(place) as looped:
        looped.after("ci/build.failed")

    listed = interlock("approvals")
    approval = json.loads(interlock("approvals", "--json").stdout)[0]["id"]
    approved = as_person("approve", approval, "--always")
    ticked = interlock("loop", "tick", "--wait")

    assert told(listed.stdout) == snapshot("""\
<id>  asked <time> ago, expires in <time>
  asks     start_loop fix-the-build
  why      loop.start-loop: `ci/build.failed` is what job `fix-the-build` is for
  run      loop (interlock-loop: decide what comes next)
  then     runs `sh -c echo mended`, as a governed run
  look     interlock loop log --decision <id>

next  interlock setup  makes you the person who approves
""")
    assert approved.exit_code == 0, approved.stderr
    assert told(approved.stdout).partition("\n\n")[0] == snapshot("""\
APPROVED  it may happen once
  start_loop fix-the-build
  then     runs `sh -c echo mended`, as a governed run, in the loop's next cycle
  look     interlock loop log --decision <id>\
""")
    assert '[loop]\n  start-loop = "allow"\n' in approved.stdout
    assert ticked.stdout.startswith(
        "emitted  start_loop fix-the-build  event:system/approval.decided"
    )
    assert "completed" in interlock("runs").stdout


def test_a_refused_question_is_over(place: str) -> None:
    with a_loop(place) as looped:
        approval = looped.after("ci/build.failed").approval
        assert approval is not None

    denied = as_person("deny", approval, "--reason", "by hand")

    assert told(denied.stdout) == snapshot("""\
DENIED  it must not happen
  start_loop fix-the-build
  look     interlock loop log --decision <id>
""")
    assert interlock("loop", "tick").stdout.startswith("denied  start_loop")
    assert interlock("approvals").stdout == "nothing waits for you\n"


@pytest.mark.parametrize("word", ["freeze", "unfreeze", "cancel"])
def test_only_an_operator_stops_it(word: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_loop(place) as looped:
        decided = looped.after("ci/build.failed")
    make_operator(place)
    monkeypatch.setenv("INTERLOCK_TOKEN", agent_token(place, "coder"))
    things = [decided.decision_id] if word == "cancel" else []

    result = as_person("loop", word, *things, "--reason", "because I say so")

    assert result.exit_code == 1
    assert "`INTERLOCK_TOKEN` is set, so an agent calls this" in result.stderr


def test_whoever_is_governed_does_not_stop_it(place: str) -> None:
    make_operator(place)
    with Interlock.open(place) as agent:
        agent.run("tidy up", agent="coder", process=os.getppid())

        result = as_person("loop", "freeze", "--reason", "because I say so")

    assert result.exit_code == 1
    assert "it is governed, so it may not decide" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["loop", "freeze"], 2, "Missing option '--reason'"),
        (["loop", "freeze", "--reason", " "], 2, "the reason is empty: say why"),
        (["loop", "cancel", "x", "--reason", "no"], 2, "nothing waits that could be cancelled"),
        (["loop", "frezze"], 2, "there is no command `frezze` of `loop`: did you mean `freeze`?"),
        (["loop", "tick", "--scope", ""], 2, "a scope"),
        (["loop", "cancel", "\x1b[2J", "--reason", "no"], 2, "nothing waits"),
    ],
)
def test_what_cannot_be_done_is_told(
    arguments: list[str], code: int, complaint: str, place: str
) -> None:
    with Interlock.open(place):
        pass

    result = as_person(*arguments)

    assert result.exit_code == code
    assert complaint in result.stderr
    assert "\x1b" not in result.stderr


def test_to_look_at_it_makes_no_ledger(place: str) -> None:
    for words in (["loop", "status"], ["loop", "log"], ["note", "list"], ["recommendations"]):
        assert interlock(*words).exit_code == 1
    assert not Path(place).exists()


def test_one_round_does_whatever_is_due(place: str) -> None:
    write_policy()
    interlock("note", "add", "first")
    interlock("event", "send", "ci/deploy.failed")

    ran = interlock("loop", "run", "--once", "--json")

    decided = [each["outcome"] for each in json.loads(ran.stdout)]
    assert ran.exit_code == 0
    assert "emitted" in decided
    assert json.loads(interlock("loop", "status", "--json").stdout)["triggers"] == []


def test_an_engine_that_is_not_installed_is_told(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)  # nothing of this name can be imported

    result = interlock("loop", "run")

    assert result.exit_code == 1
    assert "pip install 'interlock[loop]'" in result.stderr
    assert place


class Running:
    """`interlock loop run` as a program of its own; whatever it prints is read line by line."""

    def __init__(self, *arguments: str) -> None:
        self._process = PythonProcess[str](
            program(["loop", "run", *arguments]), stdout=subprocess.PIPE, text=True
        )

    def until(self, text: str) -> str:
        """Read on to the line that holds a text, and return it."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if text in line:
                return line
        raise AssertionError(f"it ended without saying `{text}`")

    def ended_by(self, kind: signal.Signals) -> int:
        self._process.send_signal(kind)
        return self._process.wait(LONG_ENOUGH_S)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_answers_is_frozen_and_ends_when_it_is_told(
    kind: signal.Signals, place: str
) -> None:
    write_policy()
    make_operator(place)
    running = Running()
    try:
        ready = running.until("RUNNING")
        second = interlock("loop", "run")
        status = json.loads(interlock("loop", "status", "--json").stdout)
        interlock("note", "add", "look at the build")
        emitted = running.until("emitted")
        running.until("sent")
        as_person("loop", "freeze", "--reason", "a release is on")
        running.until("frozen")
        interlock("note", "add", "one more")
        held = running.until("frozen")
        code = running.ended_by(kind)
    finally:
        running.close()

    [name] = status["workers"]
    assert f"worker `{name}`" in ready
    assert second.exit_code == 1
    assert f"has a worker `{name}` already: give this one another name" in second.stderr
    assert "process_notes" in emitted
    assert "do_nothing" in held
    assert code == 0
    assert json.loads(interlock("loop", "status", "--json").stdout)["workers"] == []
    assert Path(f"{place}.loop.db").exists()


def test_a_worker_goes_by_the_policy_that_counts_now(place: str) -> None:
    write_policy()
    make_operator(place)
    running = Running("--json", "--name", "night-shift")
    try:
        assert json.loads(running.until("worker"))["worker"] == "night-shift"
        write_policy(POLICY.replace("[loop]", '[loop]\nprocess-notes = "require-confirmation"'))
        assert as_person("policy", "adopt").exit_code == 0
        interlock("note", "add", "look at the build")
        decided = json.loads(running.until("cycle-decided"))["record"]["event"]
        code = running.ended_by(signal.SIGTERM)
    finally:
        running.close()

    assert (decided["outcome"], code) == ("approval_required", 0)
