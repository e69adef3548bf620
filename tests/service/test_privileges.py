"""What a run may still do by itself: less, the less it holds together, and more again later."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interlock import Decision, Interlock, Run, StepDecision
from interlock.model.approval import Subject
from interlock.model.events import ActionJudged
from service.ledgers import HandClock, OpenInterlock, events_of
from service.stepping_runs import asked, check_record, worked

_READ, _WRITE, _REACH, _DESTROY = "ls src", "touch a.txt", "curl https://example.com", "rm a.txt"
_FREE = {
    "full": (_READ, _WRITE, _REACH, _DESTROY),
    "restricted": (_READ, _WRITE),
    "read-only": (_READ,),
}


def _falls(run: Run, *, clean: int, spoilt: int, violations: int) -> float:
    """Have a run do some good actions, then bad ones; return how coherent it is."""
    for number in range(clean):
        worked(run, f"cat {number}", f"content {number} " * 9)
    for _ in range(violations):
        run.violation("style", "too long")
    for _ in range(spoilt):
        worked(run, "cat 0", "content 0 " * 9)
    coherence = run.state.control.coherence
    assert coherence is not None
    return coherence


def _free(run: Run) -> None:
    assert _falls(run, clean=10, spoilt=0, violations=0) == 1


def _restricted(run: Run) -> None:
    assert 0.5 <= _falls(run, clean=9, spoilt=1, violations=10) < 0.7


def _read_only(run: Run) -> None:
    assert 0.4 <= _falls(run, clean=8, spoilt=3, violations=20) < 0.5


_BANDS: dict[str, Callable[[Run], None]] = {
    "full": _free,
    "restricted": _restricted,
    "read-only": _read_only,
}


@pytest.mark.parametrize("band", _BANDS)
def test_the_same_commands_need_a_person_as_coherence_falls(
    interlock: Interlock, band: str
) -> None:
    run = interlock.run("t")
    _BANDS[band](run)

    for line in (_READ, _WRITE, _REACH, _DESTROY):
        answer = run.command(line)
        if line in _FREE[band]:
            assert answer.allowed, (line, answer.reasons)
            continue
        assert answer.decision is Decision.REQUIRE_CONFIRMATION
        assert f"privilege.{band}" in [each.rule for each in answer.verdict.findings]
    check_record(interlock)


def test_below_all_bands_the_run_is_stopped_and_everything_is_refused(
    interlock: Interlock,
) -> None:
    run = interlock.run("t")
    assert _falls(run, clean=6, spoilt=8, violations=20) < 0.4
    # Until somebody asks whether it may go on, it is as free as in the band above.
    assert run.command(_READ).allowed
    assert run.command(_WRITE).waits_for_person
    assert run.step().decision is StepDecision.STOP

    for line in (_READ, _WRITE, _REACH, _DESTROY):
        assert run.command(line).decision is Decision.BLOCK
    check_record(interlock)


@pytest.mark.parametrize("way", ["tool", "edit"])
def test_tools_and_edits_lose_their_privileges_as_well(interlock: Interlock, way: str) -> None:
    run = interlock.run("t")
    _read_only(run)

    if way == "edit":
        assert run.may_edit("a.py", "x = 1\n").waits_for_person
    else:
        assert run.tool("Write", {"file_path": "a.py", "content": "x"}).waits_for_person
        assert run.tool("Bash", {"command": "rm a.txt"}).waits_for_person
        assert run.tool("Read", {"file_path": "a.py"}).allowed
        assert run.tool("Bash", {"command": "ls"}).allowed


def test_an_approval_lets_a_restricted_action_through_once(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    _restricted(run)
    question = run.command(_DESTROY).approval_id
    assert question is not None
    (approval,) = asked(interlock, run)
    assert approval.subject is Subject.ACTION
    interlock.approve(question, token=operator)

    through = run.command(_DESTROY)
    assert (through.allowed, through.approval_id) == (True, question)
    assert run.command(_DESTROY).waits_for_person
    check_record(interlock)


def test_a_refused_restricted_action_is_blocked(interlock: Interlock, operator: str) -> None:
    run = interlock.run("t")
    _restricted(run)
    question = run.command(_DESTROY).approval_id
    assert question is not None
    interlock.deny(question, token=operator, note="not now")

    assert run.command(_DESTROY).decision is Decision.BLOCK
    assert run.command(_WRITE).allowed


def test_an_approval_that_is_not_needed_any_more_is_not_used(
    interlock: Interlock, operator: str
) -> None:
    run = interlock.run("t")
    _restricted(run)
    question = run.command(_DESTROY).approval_id
    assert question is not None
    interlock.approve(question, token=operator)
    _recovers(run)
    answer = run.command(_DESTROY)

    assert (answer.decision, answer.approval_id) == (Decision.ALLOW, None)
    approval = interlock.ledger.rows.approval(question)
    assert approval is not None
    assert approval.uses_left == 1


def _recovers(run: Run) -> None:
    for number in range(20):
        worked(run, f"cat new{number}", f"other content {number} " * 9)


@pytest.mark.parametrize("band", ["restricted", "read-only"])
def test_good_work_gives_a_run_its_privileges_back(interlock: Interlock, band: str) -> None:
    run = interlock.run("t")
    _BANDS[band](run)
    assert run.command(_DESTROY).waits_for_person
    _recovers(run)

    assert run.state.control.coherence == 1
    for line in (_READ, _WRITE, _REACH, _DESTROY):
        assert run.command(line).decision is Decision.ALLOW
    check_record(interlock)


def test_nothing_is_taken_from_a_run_that_is_not_known_yet(interlock: Interlock) -> None:
    run = interlock.run("t")
    for _ in range(4):
        worked(run, "cat 0", "content 0 " * 9)
        run.violation("style", "too long")

    assert run.state.control.coherence is None
    assert run.command(_DESTROY).allowed


def test_what_a_client_says_of_coherence_takes_privileges_until_the_next_step(
    interlock: Interlock, clock: HandClock
) -> None:
    run = interlock.run("t")
    assert run.step(coherence_score=0.45).goes_on
    assert run.command(_WRITE).waits_for_person
    clock.forward(seconds=10)
    assert run.step().goes_on

    assert run.command(_WRITE).allowed


def test_wanting_what_is_forbidden_costs_privileges(interlock: Interlock) -> None:
    run = interlock.run("t")
    for number in range(5):
        worked(run, f"cat {number}", f"content {number} " * 9)
    for _ in range(15):
        assert run.command("rm -rf /").decision is Decision.BLOCK
    assert run.command(_REACH).allowed
    worked(run, "cat 9", "content 9 " * 9)

    assert run.command(_REACH).waits_for_person


def test_privileges_say_what_was_known_and_why(interlock: Interlock) -> None:
    run = interlock.run("t")
    _restricted(run)
    answer = run.command(_REACH)

    judged = events_of(interlock.ledger, run.id)[-1]
    assert isinstance(judged, ActionJudged)
    privilege = judged.facts.privilege
    assert privilege is not None
    assert (privilege.band, privilege.risk_class) == ("restricted", "reaches-out")
    assert privilege.coherence == run.state.control.coherence
    assert "reaches other machines, and the run is restricted" in answer.reasons[0]


def test_the_bands_of_the_policy_count(opened: OpenInterlock) -> None:
    policy = "[steps]\nrestricted-below-percent = 52\nread-only-below-percent = 50\n"
    run = opened(policy).run("t")
    _restricted(run)

    assert run.command(_DESTROY).allowed


def test_a_child_answers_for_itself(interlock: Interlock) -> None:
    run = interlock.run("t")
    _read_only(run)

    assert run.child("c").command(_DESTROY).allowed
