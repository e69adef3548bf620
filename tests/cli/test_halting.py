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
