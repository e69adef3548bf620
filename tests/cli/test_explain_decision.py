"""`interlock explain`: everything behind one answer, as it was then."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.asking import as_person, interlock
from cli.control import SUITE, a_stuck_run, steps_along
from cli.ledgers import SetClock, a_run
from interlock import Interlock
from interlock.model.events import StepJudged
from interlock.model.short_code import code_of
from interlock.model.step import Remaining, StepCode, StepDecision
from interlock.policy.steps.loop_detector import signs_of
from interlock.views.moment import judged_of, moment_at


def explained(run_id: str, *arguments: str) -> dict[str, Any]:
    result = interlock("explain", run_id, *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def flat(text: str) -> str:
    """Return a page without its line breaks."""
    return " ".join(text.split())


def test_of_a_held_run_the_answer_that_began_it_is_explained(place: str) -> None:
    with a_stuck_run(place) as stuck:
        for _ in range(3):
            stuck.run.step()

        text = interlock("explain", stuck.run.id).stdout

    assert text.startswith("PAUSE  the run waits for a person\n")
    assert f"at step {stuck.paused.step}, record {stuck.paused.seq}," in text
    assert "by        the continue gate (should it go on?)" in text
    assert flat(stuck.paused.detail.reasons[0].message) in flat(text)
    assert flat(stuck.paused.detail.reasons[0].remediation) in flat(text)
    assert f"approval {stuck.question}" in text


def test_an_answer_that_was_only_held_says_by_what(place: str) -> None:
    with a_stuck_run(place) as stuck:
        held = stuck.run.step()

        text = interlock("explain", stuck.run.id, "--record", str(held.seq)).stdout
        value = explained(stuck.run.id, "--record", str(held.seq))

    assert "by        an earlier pause, which holds until a person decides" in text
    assert f"interlock resume {code_of(stuck.run.id)} --reason TEXT" in flat(text)
    assert "What was checked" not in text
    assert {check["says"] for check in value["checks"]} == {"not asked"}


def test_every_check_is_told_also_those_that_were_silent_or_unknown(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "read everything")
        steps_along(run, 7)

        text = interlock("explain", run.id, "--step", "6").stdout
        value = explained(run.id, "--step", "6")

    checks = {check["code"]: check for check in value["checks"]}
    assert list(checks) == [code.value for code in StepCode]
    assert checks["coherence"]["says"] == "fine"
    assert checks["coherence"]["found"] == "1"
    assert checks["total-step-limit"]["says"] == "no limit"
    assert checks["rework"] == {
        "code": "rework",
        "says": "left out",
        "found": "0 of 6: 0.00 to 0.53",
        "limit": "at most 0.3, or it pauses",
    }
    assert checks["uncertainty"]["found"] == "no belief was reported"
    assert checks["checkpoint"]["found"] == "6 steps since the last one"
    assert all(f"  {code} " in text for code in checks)


def test_a_sign_shows_the_calls_that_it_comes_from(place: str) -> None:
    with a_stuck_run(place) as stuck:
        text = interlock("explain", stuck.run.id).stdout
        value = explained(stuck.run.id)

    loop = next(sign for sign in value["signs"] if sign["name"] == "loop")
    assert loop["says"] == "pause"
    assert {deed["what"] for deed in loop["deeds"]} == {f"$ {SUITE}"}
    assert {deed["came_to"] for deed in loop["deeds"]} == {"failed, exit 1, 1 of 4 tests failed"}
    assert f"      step {loop['deeds'][-1]['step']:<5} $ {SUITE}  failed, exit 1, 1 of " in text


def test_the_gate_is_asked_again_to_tell_what_would_have_changed_the_answer(place: str) -> None:
    with a_stuck_run(place) as stuck:
        value = explained(stuck.run.id)

    assert {"had": "without `loop`", "then": "continue"} in value["otherwise"]


def test_of_several_reasons_each_is_left_out_by_itself(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "doubt")
        steps_along(run, 6)
        run.step(
            coherence_score=0.2,
            uncertainty_score=0.9,
            budget_remaining=Remaining(tokens=0),
        )

        value = explained(run.id)

    otherwise = {each["had"]: each["then"] for each in value["otherwise"]}
    assert otherwise["without `coherence`"] == "still stop"
    assert otherwise["without `budget`"] == "still stop"
    assert otherwise["without `coherence` and `budget`"] in ("pause", "continue")
    told = {figure["name"]: figure["because"][0] for figure in value["figures"]}
    assert told["coherence"] == "the client says so; the record gives 1"


def test_figures_tell_where_they_come_from(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "doubt")
        for number in range(6):
            run.step(total_tokens_used=1000 * number)
            run.observe(run.command(f"cat {number}"), output=f"{number}\n" * 20, exit_code=0)
        run.belief("it is in csv.py", supporting=3, opposing=1)
        run.step(total_tokens_used=6000)

        text = flat(interlock("explain", run.id).stdout)

    assert "0.4 for 6 of the latest 6 actions without a broken rule" in text
    assert "`it is in csv.py` is 0.67 sure (for 3, against 1)" in text
    assert "tokens of the latest 6 steps: 1,000, 1,000," in text
    assert "6 of the latest 6 actions brought something new; steps 0, 1, 2, 3, 4, 5" in text


def test_what_really_happens_besides_the_answer_is_told(place: str) -> None:
    clock = SetClock(ago_s=3600)
    with Interlock.open(place, clock=clock) as agent:
        run = a_run(agent, "spend more and more")
        for tokens in (0, 1000, 3000, 7000, 15_000):
            run.step(total_tokens_used=tokens)
            clock.passes(60)
        throttled = run.step(total_tokens_used=31_000)
        short = run.step(total_tokens_used=63_000)
        timed = run.step(waiting_for="the build", look_again_s=90)
        pages = [
            flat(interlock("explain", run.id, "--record", str(each.seq)).stdout)
            for each in (throttled, short, timed)
        ]

    assert throttled.decision is StepDecision.THROTTLE
    assert pages[0].startswith("THROTTLE the run goes on")
    assert f"delay {throttled.delay_ms / 1000:.1f} s" in pages[0]
    assert "without `slope`: continue" in pages[0]
    assert "short only the hard checks were made" in pages[1]
    assert "slope left out" in pages[1]
    assert "by what it waits for outside" in pages[2]
    assert "waits for the build, for 1 min" in pages[2]


def test_an_answer_is_explained_as_it_was_whatever_came_later(place: str) -> None:
    with a_stuck_run(place) as stuck:
        before = explained(stuck.run.id, "--step", "2")
        as_person("approve", stuck.question)
        steps_along(stuck.run, 8)
        stuck.run.violation("no-print", "a print was left in")

        assert explained(stuck.run.id, "--step", "2") == before


def test_what_was_known_then_is_found_again_from_the_records(place: str) -> None:
    with a_stuck_run(place) as stuck:
        as_person("approve", stuck.question)
        for words in ("Let me look at it once more.", "Let me look at it once more!", "So be it."):
            stuck.run.step(words)
            stuck.run.stopped(f"{words} Now let me run the tests:")
        with Interlock.open(place) as other:
            rows = other.ledger.rows
            judged = judged_of(rows, stuck.run.id)
            moments = [moment_at(rows, stuck.run.id, each.seq) for each in judged]

    assert len(moments) > 8
    for moment in moments:
        event = moment.event
        facts = event.context if isinstance(event, StepJudged) else event.facts
        assert facts.signs == signs_of(moment.meter, moment.policy.loops)


def test_of_several_answers_at_a_step_the_most_severe_is_meant(place: str) -> None:
    with a_stuck_run(place) as stuck:
        stuck.run.step()
        as_person("approve", stuck.question)
        resumed = stuck.run.step()

        assert resumed.goes_on
        assert resumed.step == stuck.paused.step
        at_step = explained(stuck.run.id, "--step", str(stuck.paused.step))
        assert at_step["record"] == stuck.paused.seq
        assert explained(stuck.run.id)["record"] == resumed.seq


def test_a_stop_that_was_sent_on_shows_signals_evidence_and_nudge(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "read everything")
        steps_along(run, 3)
        words = "I have read it all. Now let me write the entry:"
        answer = run.stopped(words, finish_reason="stop", todos=["write the entry"])
        assert answer.nudge is not None

        text = interlock("explain", run.id, "--stop").stdout
        value = explained(run.id, "--stop")

    assert text.startswith("GO-ON  the run goes on\n")
    assert "by        the stop gate (is it really done?)" in text
    assert flat(answer.nudge) in flat(text)
    assert "open-todo: write the entry" in text
    for signal in answer.detail.signals:
        points = f"+{signal.points}" if signal.points else "0"
        assert f"  {signal.signal:<17}{points}" in text
    assert value["stop"]["score"] == answer.detail.score
    assert value["stop"]["veto"] is None
    without = [each for each in value["otherwise"] if each["had"] == "without `content_intent`"]
    assert without[0]["then"].startswith("finish, with a score of ")


def test_a_veto_is_told_with_what_the_score_alone_would_have_said(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "bump it")
        steps_along(run, 3)
        run.stopped("Should I also bump the version?", finish_reason="stop")

        text = flat(interlock("explain", run.id, "--stop").stdout)

    assert text.startswith("FINISH the turn ends here")
    assert "veto awaiting-user: it asks the person" in text
    assert "without the veto `awaiting-user`: still finish" in text


def test_the_last_stop_is_meant_and_others_go_by_record(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "bump it")
        first = run.stopped("Should I?", finish_reason="stop")
        second = run.stopped("Should I now?", finish_reason="stop")

        assert explained(run.id, "--stop")["record"] == second.seq
        assert explained(run.id, "--record", str(first.seq))["said"] == "Should I?"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--step", "99"], "has no answer for a step 99: it has steps 0 to 2"),
        (["--stop"], "has no answer for a stop: it has steps 0 to 2"),
        (["--record", "1"], "record 1 of run `RUN` is no answer about going on: it has steps"),
        (["--step", "1", "--stop"], "name different answers: give one"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(
    arguments: list[str], complaint: str, place: str
) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "read everything")
        steps_along(run, 3)

        result = interlock("explain", run.id, *arguments)

    assert result.exit_code == 2
    assert complaint in result.stderr.replace(run.id, "RUN")


def test_a_run_that_nobody_asked_about_is_told(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "read everything")

        result = interlock("explain", run.id)

    assert result.exit_code == 2
    assert "nobody has asked `run.step` or `run.stopped` in it yet" in result.stderr


@pytest.mark.parametrize("columns", ["60", "80", "100"])
def test_a_page_keeps_within_the_window(
    columns: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with a_stuck_run(place) as stuck:
        stuck.run.stopped("Now let me run the tests.")
        for which in ("--stop", "--step=3"):
            text = interlock("explain", stuck.run.id, which).stdout

            assert max(map(len, text.splitlines())) <= int(columns)


def test_without_a_run_the_last_refusal_is_explained(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "push it")
        asked = run.command("git push --force origin topic")
        seq = asked.action_id.rpartition(":")[2]
        run.command("ls")
        text = interlock("explain").stdout
        same = [
            interlock("explain", run.id).stdout,
            interlock("explain", run.id, "--record", seq).stdout,
        ]
        value = json.loads(interlock("explain", "--json").stdout)

    assert text.startswith("$ git push --force origin topic\n")
    assert f"  run      {code_of(run.id)}, record {seq}, " in text
    assert f"  asked    approval {code_of(asked.approval_id)}\n" in text
    assert "ASK  a person must approve first\n" in text
    assert "Matched rules\n  git.push-force (ask): " in text
    assert [each.split("record")[0] for each in same] == [text.split("record")[0]] * 2
    assert (value["short"], value["decision"]) == ("ask", "require-confirmation")
    assert value["explanation"]["verdict"]["findings"][0]["rule"] == "git.push-force"


def test_a_pause_may_be_the_last_refusal(place: str) -> None:
    with a_stuck_run(place) as stuck:
        stuck.run.step()
        text = interlock("explain").stdout

    assert text.startswith("PAUSE  the run waits for a person\n")
    assert f"record {stuck.paused.seq}," in text


def test_an_option_without_a_run_is_refused(place: str) -> None:
    Interlock.open(place).close()
    result = interlock("explain", "--step", "3")

    assert result.exit_code == 2
    assert "are of one run: name it" in result.stderr


def test_the_last_refusal_is_found_behind_many_records(place: str) -> None:
    with Interlock.open(place) as agent:
        a_run(agent, "delete").command("rm -rf /")
        run = a_run(agent, "talk")
        for number in range(600):
            run.violation("talks", f"word {number}")

    assert interlock("explain").stdout.startswith("$ rm -rf /\n")
