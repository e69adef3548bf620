"""`interlock halt` and `interlock resume`: a person's word, which no agent can give."""

from __future__ import annotations

import json
import re

import pytest
from inline_snapshot import snapshot

from cli.asking import agent_token, as_person, interlock, make_operator
from cli.control import a_stuck_run
from cli.ledgers import a_run
from interlock import Interlock
from interlock.errors import HaltedError
from interlock.model.short_code import code_of
from interlock.model.step import StepDecision


def test_a_halted_run_goes_no_further_until_it_is_lifted(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "tidy up")
        assert run.step().goes_on

        halted = as_person("halt", run.id, "--reason", "wrong branch")
        answer = run.step()
        asked = run.command("ls")
        lifted = as_person("resume", run.id, "--reason", "it is on the right one now")

        assert (halted.exit_code, lifted.exit_code) == (0, 0)
        assert halted.stdout.replace(code_of(run.id), "<run>") == snapshot("""\
HALTED  it takes no further step, nor does a run below it
  tidy up
  interlock resume <run> --reason TEXT lets it go on
""")
        assert lifted.stdout == snapshot("""\
RESUMED  it may go on
  tidy up
""")
        assert (answer.goes_on, answer.decision) == (False, StepDecision.STOP)
        assert not asked.allowed
        assert run.step().goes_on


def test_lifting_takes_back_the_question_of_a_paused_run(place: str) -> None:
    with a_stuck_run(place) as stuck:
        assert as_person("resume", code_of(stuck.run.id), "--reason", "look again").exit_code == 0

        assert interlock("approvals").stdout == "nothing waits for you\n"
        assert stuck.run.step().goes_on


def test_what_still_holds_a_run_from_above_is_told(place: str) -> None:
    with Interlock.open(place) as agent:
        above = a_run(agent, "everything")
        below = a_run(agent, "a part of it", parent=above.id)
        as_person("halt", above.id, "--reason", "all of it waits")
        as_person("halt", below.id, "--reason", "this as well")

        shown = re.sub(r"\d+ s ago", "<now>", interlock("show", below.id).stdout)
        lifted = as_person("resume", below.id, "--reason", "only this")

        assert "HALTED  <now> at step 0\n    this as well\n" in shown
        assert f"HALTED  <now> at step 0, by run {code_of(above.id)} above\n" in shown
        assert lifted.stdout.startswith("RESUMED  it may go on, once no run above it is held\n")
        assert f"interlock resume {code_of(above.id)} --reason TEXT" in lifted.stdout
        assert not below.step().goes_on


def test_programs_get_the_run_afterwards(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "tidy up")

        halted = json.loads(as_person("halt", run.id, "--reason", "no", "--json").stdout)
        lifted = json.loads(as_person("resume", run.id, "--reason", "yes", "--json").stdout)

        assert (halted["hold"]["kind"], halted["hold"]["reason"]) == ("person-stop", "no")
        assert lifted["hold"] is None


def test_a_reason_cannot_draw_on_the_terminal(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "tidy up")
        as_person("halt", run.id, "--reason", "\x1b[2Jgone\nHALTED")

        for command in ("show", "watch"):
            shown = interlock(command, run.id).stdout
            assert "\x1b" not in shown
            assert "    \\x1b[2Jgone\\nHALTED\n" in shown


@pytest.mark.parametrize("word", ["halt", "resume"])
def test_only_an_operator_decides(word: str, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with a_stuck_run(place) as stuck:
        make_operator(place)
        monkeypatch.setenv("INTERLOCK_TOKEN", agent_token(place, "coder"))

        result = as_person(word, stuck.run.id, "--reason", "because I say so")

        assert result.exit_code == 1
        assert "`INTERLOCK_TOKEN` is set, so an agent calls this" in result.stderr
        assert not stuck.run.step().goes_on


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["halt", "RUN"], "Missing option '--reason'"),
        (["halt", "RUN", "--reason", " "], "the reason is empty: say why it has to stop"),
        (["resume", "RUN", "--reason", "go"], "is not held: there is nothing to resume"),
        (["halt", "ledger", "--reason", "go"], "it is no run to be held"),
        (["halt", "nobody", "--reason", "go"], "there is no run `nobody`"),
        (["halt", "DONE", "--reason", "go"], "is finished: nothing can be added to it"),
    ],
)
def test_what_cannot_be_done_is_told(arguments: list[str], complaint: str, place: str) -> None:
    with Interlock.open(place) as agent:
        run, done = a_run(agent, "tidy up"), a_run(agent, "an old one")
        done.finish()
        ids = {"RUN": run.id, "DONE": done.id}

        result = as_person(*[ids.get(word, word) for word in arguments])

        assert result.exit_code == 2
        assert complaint in result.stderr


def test_a_halt_of_all_stops_every_run_and_lets_none_begin(place: str) -> None:
    with Interlock.open(place) as agent:
        runs = [a_run(agent, "tidy up"), a_run(agent, "write docs")]
        below = runs[0].child("a part of it")

        halted = as_person("halt", "--all", "--reason", "the token leaked")
        answers = [run.step() for run in (*runs, below)]
        asked = runs[0].command("ls")
        with pytest.raises(HaltedError, match="no run may begin: all runs are halted: the token"):
            agent.run("another one")

        assert halted.stdout == snapshot("""\
HALTED  3 runs at work, and no new one begins
  interlock resume --all --reason TEXT lets them go on
""")
        assert {answer.decision for answer in answers} == {StepDecision.STOP}
        assert answers[1].ruling.reason == "all runs are halted: the token leaked"
        assert not asked.allowed
        assert asked.reasons[0].startswith(
            "a person stopped the run: all runs are halted: the token leaked"
        )

        lifted = as_person("resume", "--all", "--reason", "it is replaced")

        assert lifted.stdout == "RESUMED  3 runs at work may go on, new ones begin\n"
        assert all(run.step().goes_on for run in (*runs, below))
        assert agent.run("another one").step().goes_on
    assert interlock("verify").exit_code == 0


def test_every_view_tells_of_a_halt_of_all(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "tidy up")
        as_person("halt", "--all", "--reason", "the token leaked")

        told = "HALTED  every run, and new ones: the token leaked\n"
        shown = re.sub(r"\d+ s ago", "<now>", interlock("show", run.id).stdout)
        status = json.loads(interlock("status", "--json").stdout)

        assert told in interlock("runs").stdout
        assert told in interlock("status").stdout
        assert (status["all_halted"], status["next"]) == (
            "the token leaked",
            "interlock resume --all --reason TEXT",
        )
        assert "HALTED  <now>, with all runs\n    the token leaked\n" in shown
        assert "    interlock resume --all --reason TEXT  lets it go on\n" in shown


def test_resuming_all_leaves_alone_what_is_held_by_itself(place: str) -> None:
    with a_stuck_run(place) as stuck:
        as_person("halt", "--all", "--reason", "stop")
        refused = as_person("resume", stuck.run.id, "--reason", "go on")
        assert refused.exit_code == 0
        again = as_person("resume", stuck.run.id, "--reason", "go on")
        assert not stuck.run.step().goes_on
        as_person("halt", stuck.run.id, "--reason", "this one stays")
        as_person("resume", "--all", "--reason", "go on")

        assert (again.exit_code, again.stderr) == (
            2,
            f"Error: run `{stuck.run.id}` is halted with all others: `interlock resume --all"
            " --reason TEXT` lifts that\n",
        )
        assert not stuck.run.step().goes_on


def test_a_halt_of_all_ends_a_command_with_4_before_it_begins(place: str) -> None:
    make_operator(place)
    as_person("halt", "--all", "--reason", "stop")

    result = interlock("run", "--", "true")

    assert (result.exit_code, result.stderr) == (
        4,
        "Error: no run may begin: all runs are halted: stop: an operator lets them with"
        " `interlock resume --all --reason TEXT`\n",
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["halt", "--reason", "no"], "expected RUN, as `interlock runs` shows it, or `--all`"),
        (["halt", "R", "--all", "--reason", "no"], "expected RUN, as `interlock runs` shows it"),
        (["resume", "R", "--all", "--reason", "go"], "`--all` is every run: leave RUN out"),
        (["resume", "--all", "--reason", "go"], "the runs are not halted all together"),
        (["halt", "--all", "--reason", " "], "the reason is empty: say why all have to stop"),
    ],
)
def test_what_cannot_be_said_to_all_is_told(
    arguments: list[str], complaint: str, place: str
) -> None:
    make_operator(place)

    result = as_person(*arguments)

    assert (result.exit_code, complaint in result.stderr) == (2, True)


@pytest.mark.parametrize("word", ["halt", "resume"])
def test_no_agent_says_a_word_to_all(
    word: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_operator(place)
    monkeypatch.setenv("INTERLOCK_TOKEN", agent_token(place, "coder"))

    result = as_person(word, "--all", "--reason", "because I say so")

    assert result.exit_code == 1
    assert "`INTERLOCK_TOKEN` is set, so an agent calls this" in result.stderr
