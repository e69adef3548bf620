"""Every framework's example agent under Interlock, against a scripted model: the same story."""

from __future__ import annotations

from pathlib import Path

import pytest

from frameworks.example_agents import WORKS, Work
from interlock import AsyncRun, Budget, HaltedError, Interlock, InterlockError, Run
from interlock.adapters.framework_run import GovernedRun
from scripted_model import Call, Reply, ScriptedModel, calls
from service.ledgers import kinds_of
from service.stepping_runs import check_record

_RELEASE = "touch released && echo x >> times"


@pytest.fixture(params=WORKS)
def work(request: pytest.FixtureRequest) -> Work:
    """One framework after the other."""
    return WORKS[request.param]


def _counted(interlock: Interlock, run: Run, kind: str) -> int:
    return kinds_of(interlock.ledger, run.id).count(kind)


@pytest.mark.parametrize("kind", ["waited", "awaited"])
def test_parallel_calls_are_all_judged_and_only_the_harmless_are_made(
    work: Work, kind: str, model: ScriptedModel, interlock: Interlock, run: Run, folder: Path
) -> None:
    governed: GovernedRun = run if kind == "waited" else AsyncRun(interlock.governor, run.id)
    lines = ("rm -rf /", "echo hi", "git push --force")
    model.script = [
        Reply(calls=[Call("shell", {"command": line}) for line in lines]),
        Reply("All done.", tokens=(200, 20)),
    ]
    said = work(governed, folder)

    assert said == "All done."
    blocked, made, asked = model.results
    assert "Interlock: not allowed: " in blocked
    assert made == "hi\n\nexit code 0"
    assert "a person has to agree first" in asked
    assert _counted(interlock, run, "action-judged") == 3
    assert _counted(interlock, run, "action-observed") == 1
    assert run.state.spent.tokens == 330
    check_record(interlock)


def test_a_call_that_a_person_agreed_to_is_made_exactly_once(
    work: Work, model: ScriptedModel, interlock: Interlock, operator: str, run: Run, folder: Path
) -> None:
    model.script = [
        calls("shell", command=_RELEASE),
        Reply("Released."),
    ]

    def decide() -> None:
        assert not (folder / "released").exists()
        (asked,) = interlock.approvals()
        interlock.approve(asked.id, token=operator)

    said = work(run, folder, decide)

    assert said == "Released."
    assert (folder / "times").read_text() == "x\n"
    assert "exit code 0" in model.results[0]
    assert run.tool("shell", {"command": _RELEASE}).waits_for_person
    check_record(interlock)


def test_a_call_that_a_person_refused_is_not_made(
    work: Work, model: ScriptedModel, interlock: Interlock, operator: str, run: Run, folder: Path
) -> None:
    model.script = [calls("shell", command=_RELEASE), Reply("Not released.")]

    def decide() -> None:
        (asked,) = interlock.approvals()
        interlock.deny(asked.id, token=operator, note="not on a Friday")

    said = work(run, folder, decide)

    assert said == "Not released."
    assert "a person was asked and said no: not on a Friday" in model.results[0]
    assert not (folder / "released").exists()


def test_an_early_stop_is_continued_until_the_counter_ends_it(
    work: Work, model: ScriptedModel, interlock: Interlock, run: Run, folder: Path
) -> None:
    model.script = [calls("shell", command="echo hi"), Reply("Now let me fix the parser.")]
    said = work(run, folder)

    assert said == "Now let me fix the parser."
    assert len(model.heard) > 2
    assert "[automatic message, not from a person]" in model.last_heard
    assert _counted(interlock, run, "stop-judged") == len(model.heard) - 1
    check_record(interlock)


def test_an_agent_over_its_budget_is_ended(
    work: Work, model: ScriptedModel, interlock: Interlock, folder: Path
) -> None:
    run = interlock.run("try", workspace=folder, budget=Budget(tokens=150))
    model.script = [calls("shell", command=f"echo {number}") for number in range(9)]
    model.script.append(Reply("Nobody ended me."))
    try:
        said = work(run, folder)
    except HaltedError as halted:
        said = str(halted)

    assert said.startswith("interlock: the run may not go on")
    assert "tokens" in said
    assert len(model.heard) == 2
    check_record(interlock)


def test_a_question_that_breaks_is_a_no(
    work: Work, model: ScriptedModel, run: Run, folder: Path
) -> None:
    model.script = [calls("shell", command="touch made"), Reply("All done.")]

    def broken(tool: str, arguments: object) -> dict[str, object]:
        raise ZeroDivisionError

    work(run, folder, action_of=broken)

    assert "it could not be checked: ZeroDivisionError" in model.results[0]
    assert not (folder / "made").exists()


def test_an_agent_whose_run_is_over_does_nothing(
    work: Work, model: ScriptedModel, run: Run, folder: Path
) -> None:
    run.finish()
    with pytest.raises(InterlockError, match="finished"):
        work(run, folder)

    assert model.heard == []
