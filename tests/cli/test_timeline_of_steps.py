"""Steps and stops where people look: `runs`, `show`, `tail` and `approvals`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from cli.asking import as_person, interlock, make_operator
from cli.control import a_stuck_run, steps_along
from cli.ledgers import SetClock, a_run
from cli.test_ledger_tail import a_follower
from interlock import Interlock
from interlock.ledger.stores.memory import MemoryStore
from interlock.model.arbitration import Authority, Course, Ruling
from interlock.model.events import CheckpointTaken, PersonSpoke, Record, StepJudged, StopJudged
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.short_code import code_of
from interlock.model.step import (
    Checkpoint,
    CheckpointKind,
    ContinueDecision,
    StepContext,
    StepDecision,
)
from interlock.model.stop import StopContext, StopDecision, StopOutcome
from interlock.views.timeline import Timeline
from service.ledgers import person_speaks


def test_every_new_event_has_its_line(place: str) -> None:
    clock = SetClock(ago_s=60)
    with Interlock.open(place, clock=clock) as agent:
        run = a_run(agent, "bump it")
        run.step("Let me look at the version.")
        run.belief("it is in setup.cfg", supporting=1, because="others have it there")
        person_speaks(run)
        run.stopped("Should I bump it?", finish_reason="stop")
        run.stopped(finish_reason="tool_calls", tool_calls=0)
        run.step(waiting_for="the build", look_again_s=30)
        as_person("halt", run.id, "--reason", "wrong branch")
        run.step()
        as_person("resume", run.id, "--reason", "right branch")
        shown = interlock("show", run.id, "--all").stdout

    timeline = shown[shown.index("Timeline") :]
    lines = [re.sub(r"^ +\d+:\d\d  ", "", line) for line in timeline.splitlines()[1:]]
    who = re.search(r"by (\w+)$", lines[-1])
    assert who is not None
    assert "\n".join(lines).replace(f"by {who[1]}", "by ME") == snapshot("""\
started   bump it  claude (claude-code)
continue  step 0, it says: Let me look at the version.
believes  it is in setup.cfg  confidence 0.67
                  others have it there
person    spoke to the agent: it counts anew from here
ends      it stopped at: Should I bump it?  awaiting-user
                  it asks the person or hands over: `Should I bump it?`
nudge     it stopped and said nothing  score 45
                  it announced tool calls and gave none
                  it is told: [automatic message, not from a person] Your last message announced ...
timer     step 1  waits 30.0 s
                  it waits for the build
halted    wrong branch  by ME
held      step 1  person-stop
resumed   right branch  by ME\
""")


def test_a_paused_run_says_so_at_the_top_and_how_to_answer(place: str) -> None:
    with a_stuck_run(place) as stuck:
        shown = interlock("show", stuck.run.id, "--all").stdout.splitlines()
        value = json.loads(interlock("show", stuck.run.id, "--json").stdout)

    assert shown[1] == f"  PAUSED  3 min ago at step {stuck.paused.step}"
    assert f"    interlock approve {code_of(stuck.question)}  lets it go on" in shown
    assert "  state    paused" in shown
    assert any(line.startswith(f"  steps    {stuck.paused.step} taken; ") for line in shown)
    assert value["holds"][0]["commands"] == [
        f"interlock approve {code_of(stuck.question)}",
        f"interlock deny {code_of(stuck.question)}",
    ]
    assert value["run"]["hold"]["kind"] == "pause"
    assert value["run"]["step_answers"]["pause"] == 1


def test_runs_are_listed_as_what_holds_them(place: str) -> None:
    with a_stuck_run(place) as stuck, Interlock.open(place) as agent:
        denied, halted, free = (a_run(agent, task) for task in ("denied", "halted", "free"))
        as_person("halt", halted.id, "--reason", "no")
        free.step()
        statuses = _statuses()
        as_person("deny", stuck.question)
        after = _statuses()
        denied.finish()

    assert statuses[code_of(stuck.run.id)] == "paused"
    assert statuses[code_of(halted.id)] == "halted"
    assert statuses[code_of(free.id)] == "running"
    assert after[code_of(stuck.run.id)] == "stopped"


def _statuses() -> dict[str, str]:
    rows = interlock("runs").stdout.splitlines()[1:]
    return {row.split()[0]: row.split()[1] for row in rows}


def test_whoever_denies_is_told_that_the_run_stays_stopped(place: str) -> None:
    with a_stuck_run(place) as stuck:
        make_operator(place)
        inbox = interlock("approvals").stdout
        denied = as_person("deny", stuck.question)
        shown = interlock("show", stuck.run.id, "--all").stdout

    assert "  asks     go on with: escape the quotes\n" in inbox
    assert f"  look     interlock explain {stuck.run.id}\n" in inbox
    assert inbox.endswith(
        f"interlock approve {code_of(stuck.question)} --reason TEXT lets it go on,"
        f" interlock deny {code_of(stuck.question)} stops it\n"
    )
    said = denied.stdout.replace(code_of(stuck.run.id), "<run>")
    assert said == snapshot("""\
DENIED  the run stays stopped
  go on with: escape the quotes
  next     `interlock resume <run> --reason TEXT` lets it go on after all
""")
    assert "STOPPED  3 min ago" in shown
    assert f"interlock resume {code_of(stuck.run.id)} --reason TEXT" in shown


def test_whoever_approves_lets_the_run_go_on(place: str) -> None:
    with a_stuck_run(place) as stuck:
        approved = as_person("approve", stuck.question, "--reason", "look at the quotes")

        assert approved.stdout == snapshot("""\
APPROVED  the run may go on
  go on with: escape the quotes
  next     an agent that still waits goes on by itself; otherwise tell it `go on` in the same
           session, which `claude --continue` opens again
""")
        assert stuck.run.step().goes_on


def test_no_rule_can_let_a_run_go_on_for_ever(place: str) -> None:
    with a_stuck_run(place) as stuck:
        result = as_person("approve", stuck.question, "--always")

        assert result.exit_code == 2
        assert "lets a run go on, which no rule can do: leave `--always` out" in result.stderr
        assert not stuck.run.step().goes_on


def test_tail_tells_the_answer_and_the_names_of_its_reasons(place: str) -> None:
    with a_stuck_run(place) as stuck, a_follower(stuck.run.id, "--since-start") as follower:
        lines = follower.reads_until("pause ")

    assert any("  continue  step 1\n" in line for line in lines)
    assert any("warns of loop" in line for line in lines)
    assert lines[-1].rstrip().endswith(f"approval {code_of(stuck.question)}, loop") or (
        f"approval {code_of(stuck.question)}, loop," in lines[-1]
    )


@pytest.mark.parametrize(
    ("checkpoint", "told"),
    [
        (
            Checkpoint(id="c1", step=2, kind=CheckpointKind.NONE, workspace=""),
            ("saved", "the step alone, no files"),
        ),
        (
            Checkpoint(id="c1", step=2, kind=CheckpointKind.COMMAND, workspace="w", exit_code=0),
            ("saved", "by a command of your own"),
        ),
        (
            Checkpoint(id="c1", step=2, kind=CheckpointKind.GIT, workspace="w", commit="ab" * 20),
            ("saved", "commit abababababab"),
        ),
        (
            Checkpoint(id="c1", step=2, kind=CheckpointKind.GIT, workspace="w", error="no room"),
            ("not saved", "git"),
        ),
    ],
)
def test_a_checkpoint_tells_what_was_kept(checkpoint: Checkpoint, told: tuple[str, str]) -> None:
    event = CheckpointTaken(checkpoint=checkpoint)

    entry = Timeline(MemoryStore().reading()).entry(_record(event))

    assert (entry.mark, entry.facts) == told
    assert entry.text == "checkpoint c1 at step 2"
    assert entry.reasons == (() if checkpoint.error is None else ("no room",))


@pytest.mark.parametrize(
    ("decision", "mark"),
    [
        (StepDecision.CONTINUE, "continue"),
        (StepDecision.CHECKPOINT, "save"),
        (StepDecision.THROTTLE, "throttle"),
        (StepDecision.PAUSE, "pause"),
        (StepDecision.STOP, "stop"),
    ],
)
def test_each_answer_before_a_step_has_its_mark(decision: StepDecision, mark: str) -> None:
    ruling = Ruling(course=Course.GO_ON, by=Authority.STEP, reason="", delay_ms=5000)
    event = StepJudged(
        context=StepContext(step_number=4),
        credit=5,
        decision=ContinueDecision(decision=decision),
        ruling=ruling,
    )

    entry = Timeline(MemoryStore().reading()).entry(_record(event))

    assert (entry.mark, entry.text, entry.facts) == (mark, "step 4", "waits 5.0 s")


@pytest.mark.parametrize(
    ("course", "nudge", "mark"),
    [
        (Course.GO_ON, None, "go on"),
        (Course.GO_ON, "2 items are open", "nudge"),
        (Course.WAIT, None, "timer"),
        (Course.FINISH, None, "ends"),
        (Course.AWAIT_PERSON, None, "pause"),
        (Course.HALT, None, "stop"),
    ],
)
def test_each_end_of_a_turn_has_its_mark(course: Course, nudge: str | None, mark: str) -> None:
    event = StopJudged(
        context=StopContext(text="First.\nAnd last.\n\n"),
        facts=StepContext(),
        credit=5,
        step=ContinueDecision(decision=StepDecision.CONTINUE),
        decision=StopDecision(
            goes_on=False, score=35, signals=(), reason="", outcome=StopOutcome.FINISHED
        ),
        ruling=Ruling(course=course, by=Authority.STOP, reason="why", nudge=nudge),
    )

    entry = Timeline(MemoryStore().reading()).entry(_record(event))

    assert (entry.mark, entry.text, entry.facts) == (mark, "it stopped at: And last.", "score 35")
    assert entry.reasons == (("why",) if nudge is None else ("why", f"it is told: {nudge}"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["watch", "x"],
        ["explain", "x"],
        ["halt", "x", "--reason", "y"],
        ["resume", "x", "--reason", "y"],
        ["checkpoint", "list", "x"],
        ["checkpoint", "restore", "x"],
    ],
    ids=" ".join,
)
def test_a_ledger_that_is_not_there_is_told_and_not_made(arguments: list[str], place: str) -> None:
    result = interlock(*arguments)

    assert result.exit_code == 1
    assert "there is no ledger at" in result.stderr
    assert not Path(place).parent.exists()


def test_looking_changes_nothing(place: str) -> None:
    with a_stuck_run(place) as stuck:
        stuck.run.stopped("Now let me run the tests.")
        before = interlock("ledger", "export").stdout

        for arguments in (["watch"], ["explain"], ["explain", "--stop"], ["show"]):
            assert interlock(arguments[0], stuck.run.id, *arguments[1:]).exit_code == 0
        interlock("checkpoint", "list", stuck.run.id)

        assert interlock("ledger", "export").stdout == before


def test_a_run_without_steps_says_nothing_of_them(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "old-fashioned")
        run.observe(run.command("ls"), exit_code=0)
        shown = interlock("show", run.id, "--all").stdout
        steps_along(run, 1)
        stepping = interlock("show", run.id, "--all").stdout

    assert "  steps " not in shown
    assert "  steps    1 taken; 1 continue\n" in stepping


def _record(event: StepJudged | StopJudged | CheckpointTaken | PersonSpoke) -> Record:
    by = Principal(kind=PrincipalKind.SYSTEM, name="interlock")
    return Record(v=1, run="r", seq=1, at=0, by=by, prev="", event=event)
