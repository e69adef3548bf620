"""Is a day's account right when processes work across its end, and when one has looked away?"""

from __future__ import annotations

from concurrency.crew import Crew
from concurrency.jobs import Reporting, Request, Starting, ask, report, start
from concurrency.people import operator
from concurrency.places import DAY, Place
from concurrency.soundness import judgements
from interlock import Budget, Decision
from interlock.model.budget import NOTHING, Amounts

HALF_A_DAY_S = 12 * 3600
NEXT_DAY = "2026-11-16"
OTHER = "[limits]\nnesting = 15\n"
LONG_LEASE = "[budgets]\nlease-seconds = 86400\n"


def test_what_was_promised_yesterday_is_settled_with_yesterday(place: Place, crew: Crew):
    """For some machines the day is over already: all report on what was asked before."""
    starting = [Starting(agent=f"agent-{number}", project="shop") for number in range(len(crew))]
    runs = crew.at_once(place, start, starting)
    asked = crew.at_once(place, ask, [Request(run=run, command="ls") for run in runs])
    place.clock.advance(seconds=HALF_A_DAY_S - 1)
    tasks = [Reporting(run=answer.run_id, action=answer.action_id) for (answer,) in asked]
    places = [place.ahead(seconds=number % 2 * 2) for number in range(len(crew))]
    released = crew.at_once(places, report, tasks)

    assert released == [Amounts(tool_calls=1)] * len(crew)


def test_a_reservation_asked_for_anew_today_is_taken_from_yesterday(place: Place):
    place = place.under(LONG_LEASE)
    with place.opened() as interlock:
        token = operator(interlock)
        for day in (DAY, NEXT_DAY):
            interlock.set_budget(f"project-day/shop/{day}", Budget(tool_calls=1), token=token)
        run = interlock.run("change", project="shop")
        run.command("ls", key="k")
    place.clock.advance(seconds=HALF_A_DAY_S)
    with place.under(LONG_LEASE + OTHER).opened() as interlock:
        run = interlock.resume(run.id)
        again = run.command("ls", key="k")
        refused = run.command("ls")
        _, first, second = judgements(interlock, run.id)

        assert again.allowed
        assert refused.decision is Decision.BLOCK
        of_the_day = [
            next(
                each.reserved for each in judged.facts.balances if each.scope.startswith("project")
            )
            for judged in (first, second)
        ]
        assert of_the_day == [NOTHING, Amounts(tool_calls=1)]


def test_sees_what_another_process_wrote_while_it_did_something_else(place: Place, crew: Crew):
    with place.opened() as interlock:
        run = interlock.run("shared")
        crew.at_once(place, ask, [Request(run=run.id, command="ls")])
        interlock.run("something else")

        assert run.command("ls").allowed
        assert run.state.decisions == {"allow": 2}
