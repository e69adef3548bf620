"""What a run's answers come to, and which rules it broke most, on the pages of the run."""

from __future__ import annotations

import json

from cli.asking import interlock
from cli.control import a_stuck_run, steps_along
from cli.ledgers import SetClock, a_run
from interlock import Interlock


def test_a_run_that_was_paused_says_when_and_why(place: str) -> None:
    with a_stuck_run(place) as stuck:
        shown = interlock("show", stuck.run.id, "--all").stdout
        text = interlock("explain", stuck.run.id).stdout
        value = json.loads(interlock("explain", stuck.run.id, "--json").stdout)
        statistics = stuck.run.state.step_statistics

    assert f"first paused or stopped at step {stuck.paused.step}" in shown
    assert f"of {statistics.evaluations} answers" in shown
    assert "Answers before it" in text
    assert value["statistics"]["evaluations"] == statistics.evaluations - 1


def test_a_run_that_spends_more_and_more_says_how_often_and_how_steeply(place: str) -> None:
    clock = SetClock()
    with Interlock.open(place, clock=clock) as agent:
        run = a_run(agent, "read everything")
        for number in range(9):
            run.usage({"output_tokens": round(1000 * 1.1**number)})
            run.step()
            clock.passes(10)

        shown = interlock("show", run.id, "--all").stdout
        text = interlock("explain", run.id).stdout

    assert "slope" in shown.partition("reasons")[2].splitlines()[0]
    assert "of 9 answers" in shown
    assert "slope +" in shown.partition("means")[2].splitlines()[0]
    assert "first paused" not in shown
    assert "of 8 answers" in text


def test_what_was_used_since_the_first_pause_is_told(place: str) -> None:
    with Interlock.open(place, clock=SetClock()) as agent:
        run = a_run(agent, "read everything")
        run.usage({"output_tokens": 1000})
        run.step(coherence_score=0.1)
        run.usage({"output_tokens": 1234})

        shown = interlock("show", run.id, "--all").stdout

    assert "first paused or stopped at step 0; 1,234 tokens since" in shown


def test_the_first_answer_has_none_before_it(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "read everything")
        steps_along(run, 1)

        assert "come to" not in interlock("explain", run.id).stdout


def test_the_rules_that_were_broken_most_come_first(place: str) -> None:
    with Interlock.open(place) as agent:
        run = a_run(agent, "read everything")
        for name in ("b", "c", "c", "d", "e", "f", "a", "a", "a"):
            run.violation(f"rule-{name}", "it was broken", location=f"{name}.py")

        shown = interlock("show", run.id, "--all").stdout

    assert "broken   9 violations of 6 rules\n" in shown
    assert "rules    rule-a 3, rule-c 2, rule-b 1, rule-d 1, rule-e 1 and 1 more\n" in shown
    assert "places   a.py 3, c.py 2, b.py 1, d.py 1, e.py 1 and 1 more\n" in shown
