"""Answers about going on and being done, decided again: the same, or shown where they differ."""

from __future__ import annotations

from gates.policies import gates_with
from interlock import CompiledPolicy, Interlock, Run, TokenUsage
from interlock.backtest.run_replay import Difference, Replayed, replay_run
from interlock.model.events import StepJudged, StopJudged
from service.ledgers import HandClock, in_memory, operator_of, records_of
from service.stepping_runs import check_record, paused, stopped_for_good, worked


def _differences(
    interlock: Interlock, run: Run, gates: CompiledPolicy, kind: type[StepJudged | StopJudged]
) -> list[tuple[Difference, ...]]:
    """Return what differs in every answer of a kind under other gates."""
    wanted = [
        each.seq for each in records_of(interlock.ledger, run.id) if isinstance(each.event, kind)
    ]
    replayed = replay_run(interlock.ledger.rows, run.id, policies=lambda _: gates)
    return [each.differences for each in replayed if each.seq in wanted]


def _fields(differences: tuple[Difference, ...]) -> set[str]:
    return {each.field for each in differences}


def _goes_round(run: Run, times: int) -> None:
    for _ in range(times):
        worked(run, "cat a.py", "the same content as ever, and not a short one")


def test_a_story_with_everything_in_it_is_decided_the_same_again() -> None:
    clock = HandClock()
    with in_memory("[steps]\ncheckpoint-interval = 3\n", clock=clock) as interlock:
        token, run = operator_of(interlock), interlock.run("t")
        for number in range(8):
            run.usage(TokenUsage(output_tokens=round(1000 * 1.2**number)))
            run.step(f"looking at file {number}")
            clock.forward(seconds=3)
            worked(run, f"cat {number}", f"content {number}")
        run.stopped("Now let me fix it.", todos=["a"], finish_reason="stop")
        run.stopped("The build runs.", waiting_for="the build")
        interlock.approve(paused_later(run, clock), token=token)
        interlock.adopt(gates_with('[stops]\nprofile = "seed"\n'), token=token)
        run.stopped("I will continue.", finish_reason="stop")
        interlock.deny(paused_later(run, clock), token=token)
        run.command("ls")
        run.step(waiting_for="x")
        run.stopped("Done.")
        interlock.lift(run.id, token=token, reason="go on")
        interlock.halt(run.id, token=token, reason="wait")
        run.step()
        run.finish()

        judged = [
            each.seq
            for each in records_of(interlock.ledger, run.id)
            if type(each.event).__name__ in ("ActionJudged", "StepJudged", "StopJudged")
        ]
        assert list(replay_run(interlock.ledger.rows, run.id)) == [
            Replayed(seq=seq, differences=()) for seq in judged
        ]
        check_record(interlock)


def paused_later(run: Run, clock: HandClock) -> str:
    """Have a run paused after its cooldown."""
    clock.forward(seconds=10)
    return paused(run)


def test_a_change_in_the_continue_gate_is_shown_in_its_place() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        run.step(uncertainty_score=0.7)
        stricter = gates_with("[steps]\nmax-uncertainty-percent = 60\n")
        (differences,) = _differences(interlock, run, stricter, StepJudged)

    found = {each.field: (each.recorded, each.now) for each in differences}
    assert found["decision.decision"] == ("continue", "pause")
    assert found["ruling.course"] == ("go-on", "await-person")
    assert not any(field.startswith("signs") for field in found)


def test_a_change_in_a_detector_is_shown_in_its_place() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        _goes_round(run, 3)
        run.step()
        patient = gates_with("[loops]\npause-repeats = 4\nstop-repeats = 6\n")
        (differences,) = _differences(interlock, run, patient, StepJudged)

    found = {each.field: (each.recorded, each.now) for each in differences}
    assert found["signs[0].decision"] == ("pause", "continue")
    # What the gate made of the recorded signs is what it would make of them today.
    assert all(field.startswith("signs") for field in found)


def test_a_change_in_the_stop_gate_is_shown_in_its_place() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        run.stopped("Now let me run the tests.", finish_reason="stop")
        other = gates_with("[stops]\npoints-intent = 30\n")
        (differences,) = _differences(interlock, run, other, StopJudged)

    found = {each.field: (each.recorded, each.now) for each in differences}
    assert found["decision.goes_on"] == (True, False)
    assert found["ruling.course"] == ("go-on", "finish")
    assert {field.partition(".")[0] for field in found} == {"decision", "ruling"}


def test_a_change_in_the_continue_gate_is_shown_at_the_end_of_a_turn() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        run.belief("it compiles", opposing=2)
        run.stopped("Now let me run the tests.", finish_reason="stop")
        stricter = gates_with("[steps]\nmax-uncertainty-percent = 60\n")
        (differences,) = _differences(interlock, run, stricter, StopJudged)

    found = {each.field: (each.recorded, each.now) for each in differences}
    assert found["step.decision"] == ("continue", "pause")
    assert found["ruling.by"] == ("stop", "step")


def test_another_delay_is_shown_in_the_decision_and_the_ruling() -> None:
    clock = HandClock()
    with in_memory(clock=clock) as interlock:
        run = interlock.run("t")
        for number in range(6):
            run.usage(TokenUsage(output_tokens=round(1000 * 1.2**number)))
            run.step()
            clock.forward(seconds=10)
        other = gates_with("[steps]\ndelay-ms = 1000\n")
        every = _differences(interlock, run, other, StepJudged)

    changed = [_fields(each) for each in every if each]
    assert changed
    assert all(fields == {"decision.delay_ms", "ruling.delay_ms"} for fields in changed)


def test_privileges_are_decided_the_same_and_a_change_of_bands_is_shown() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        run.step(coherence_score=0.45)
        run.command("touch a.txt")
        same = list(replay_run(interlock.ledger.rows, run.id))
        assert all(each.is_same for each in same)
        other = gates_with("[steps]\nread-only-below-percent = 60\n")
        *_, changed = replay_run(interlock.ledger.rows, run.id, policies=lambda _: other)

    assert _fields(changed.differences) == {"verdict.findings[0].message"}


def test_what_held_a_run_is_decided_from_what_was_recorded() -> None:
    with in_memory() as interlock:
        run = interlock.run("t")
        stopped_for_good(run)
        run.step(coherence_score=1.0)
        run.stopped("Now let me run it.", finish_reason="tool_calls")
        run.command("ls")
        mild = gates_with("[steps]\nmin-coherence-percent = 0\n")
        first, *others = replay_run(interlock.ledger.rows, run.id, policies=lambda _: mild)

    assert not first.is_same
    assert all(each.is_same for each in others)
