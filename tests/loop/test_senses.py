"""What the loop sees: five sources on real runs, whatever is plugged in, and what fails of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence

import pytest

from interlock.loop.senses import StateSource
from interlock.model.loop_events import CycleDecided
from interlock.model.system_loop import CycleOutcome, EmitAlert, Item, Snapshot, Source
from interlock.policy.loop.orientation import state_hash
from loop.loop_bench import ADA, LoopBench, answered, recommend, ticked
from policy.loop_values import a_trigger
from service.stepping_runs import paused, stopped_for_good

HOUR_S = 3600


class Plugged:
    """A source of somebody's own."""

    def __init__(self, read: Callable[[int], Sequence[Item]], name: str = "mine") -> None:
        self.name = name
        self._read = read

    def read(self, now: int) -> Sequence[Item]:
        return self._read(now)


def seen(decided: CycleDecided) -> Snapshot:
    assert decided.snapshot is not None
    return decided.snapshot


def kinds(decided: CycleDecided, source: Source = Source.UNFINISHED) -> list[tuple[str, str]]:
    return [(item.kind, item.id) for item in seen(decided).items(source)]


def test_a_run_at_work_is_seen(bench: LoopBench) -> None:
    loop = bench.loop('[loop]\nmode = "shadow"\n')
    run = bench.interlock.run("mend the build", agent="coder")

    decided = ticked(loop)

    (item,) = seen(decided).items(Source.RUNS)
    assert (item.id, item.kind, item.text) == (run.id, "run", "mend the build")
    assert kinds(decided) == []
    run.finish()
    assert seen(ticked(loop)).items(Source.RUNS) == ()


@pytest.mark.parametrize(
    ("hold", "kind"),
    [(paused, "paused-run"), (stopped_for_good, "stop-run")],
    ids=["pause", "stop"],
)
def test_a_run_that_is_held_is_half_done(
    bench: LoopBench, hold: Callable[..., str], kind: str
) -> None:
    loop = bench.loop('[loop]\nmode = "shadow"\n')
    run = bench.interlock.run("mend the build", agent="coder")
    hold(run)

    decided = ticked(loop)

    assert kinds(decided) == [(kind, run.id)]
    assert seen(decided).items(Source.RUNS) == ()
    assert isinstance(decided.choice, EmitAlert)
    assert decided.choice.about == run.id


def test_an_approval_that_nobody_answers_is_half_done_after_an_hour(bench: LoopBench) -> None:
    loop = bench.loop('[loop]\nmode = "shadow"\n')
    run = bench.interlock.run("tidy", agent="coder")
    approval = run.command("git push --force origin main").approval_id
    assert approval is not None

    assert kinds(ticked(loop)) == []
    bench.clock.forward(seconds=HOUR_S)
    found = kinds(ticked(loop))
    assert ("unanswered-approval", approval) in found


def test_a_run_that_went_quiet_is_half_done_with_and_without_a_checkpoint(
    bench: LoopBench,
) -> None:
    loop = bench.loop('[loop]\nmode = "shadow"\nstale-minutes = 30\n')
    run = bench.interlock.run("mend the build", agent="coder")
    bench.clock.forward(seconds=1799)
    assert kinds(ticked(loop)) == []

    bench.clock.forward(seconds=1)
    assert kinds(ticked(loop)) == [("stale-run", run.id)]


def test_a_run_that_went_quiet_behind_a_checkpoint_is_half_done(bench: LoopBench) -> None:
    loop = bench.loop(
        '[loop]\nmode = "shadow"\n[steps]\ncheckpoint-command = "true"\ncheckpoint-interval = 1\n'
    )
    run = bench.interlock.run("mend the build", agent="coder", workspace=str(bench.folder))
    run.step()
    run.step()
    assert run.state.control.checkpoints
    bench.clock.forward(seconds=HOUR_S)

    assert kinds(ticked(loop)) == [("stale-checkpoint", run.id)]


def test_a_review_that_nobody_has_passed_is_half_done(bench: LoopBench) -> None:
    loop = bench.loop('[loop]\nmode = "shadow"\n')
    run = bench.interlock.run("mend the build", agent="coder")
    run.review("merge", [{"id": "style", "criteria": ["reads well"]}], subject="the form")

    decided = ticked(loop)

    assert kinds(decided) == [("pending-review", f"{run.id}/merge")]
    assert seen(decided).items(Source.UNFINISHED)[0].text == "the form"


def test_a_recommendation_is_seen_until_it_is_settled(bench: LoopBench) -> None:
    loop = bench.loop('[loop]\nmode = "shadow"\n')
    made = recommend(loop)

    assert kinds(ticked(loop), Source.RECOMMENDATIONS) == [("patch", made.id)]
    bench.token()
    loop.desk.dismiss(made.id, ADA)
    assert kinds(ticked(loop), Source.RECOMMENDATIONS) == []


def test_an_event_that_was_not_done_yet_is_half_done(bench: LoopBench) -> None:
    loop = bench.loop()
    loop.send("ci/failed", None, event_id="e1")
    bench.clock.forward(seconds=3)
    [sent] = loop.cycle.run("default")
    loop.chain.receive(a_trigger("manual", id="m1"))
    [after] = loop.cycle.run("default")

    assert sent.emitted is not None
    assert kinds(after) == [("undelivered", sent.emitted.id)]


def test_what_only_another_sink_does_not_have_is_done(
    bench: LoopBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    loop = bench.loop(
        '[[loop.sinks]]\nname = "ops"\nkind = "webhook"\nurl = "http://localhost:9"\n'
        'secret-variable = "NOT_SET"\n'
    )
    loop.send("ci/failed", None, event_id="e1")
    sent = answered(loop, bench.clock)

    after = ticked(loop)

    assert sent.emitted is not None
    assert list(loop.chain.state.outgoing) == [sent.emitted.id]
    assert kinds(after) == []
    assert after.outcome is CycleOutcome.NOTHING
    assert [item.kind for item in seen(after).items(Source.SLOG)] == ["emit_alert"]


def test_notes_are_seen_the_oldest_first_and_all_of_them_are_counted(bench: LoopBench) -> None:
    loop = bench.loop('[loop]\nmode = "shadow"\n')
    notes = [loop.chain.add_note(f"note {number}") for number in range(25)]

    reading = seen(answered(loop, bench.clock)).readings[0]

    assert reading.value == 25
    assert [item.id for item in reading.items] == [note.id for note in notes[:20]]


# Sources that fail.


def broken(now: int) -> Sequence[Item]:
    raise OSError(f"no such table, token=ghp_{'a1B2' * 9}, at {now}")


def test_a_source_that_fails_stops_no_other_and_the_decision_is_logged(
    lasting_bench: LoopBench,
) -> None:
    loop = lasting_bench.loop(sources=[Plugged(broken)])
    loop.send("ci/failed")
    decided = answered(loop, lasting_bench.clock)

    assert seen(decided).partial
    *others, mine = seen(decided).readings
    assert mine.value is None
    assert mine.error is not None
    assert mine.error.startswith("OSError: no such table")
    assert "a1B2a1B2" not in mine.error
    assert mine.observed_at == lasting_bench.clock.now()
    assert all(each.error is None for each in others)
    assert decided.outcome is CycleOutcome.EMITTED
    assert loop.chain.decision(decided.decision_id) == decided


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """Ends what hangs, at the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def test_a_source_that_hangs_is_left_out_and_asked_again_once_it_has_answered(
    bench: LoopBench, released: threading.Event
) -> None:
    asked: list[int] = []
    answered_late = threading.Event()

    def hang(now: int) -> Sequence[Item]:
        asked.append(now)
        released.wait()
        answered_late.set()
        return [Item(id="x1", kind="thing", text="something")]

    loop = bench.loop("[loop]\nsource-timeout-seconds = 1\n", sources=[Plugged(hang)])
    first = ticked(loop)
    bench.clock.forward(seconds=60)
    second = ticked(loop)

    for decided in (first, second):
        reading = seen(decided).readings[-1]
        assert (reading.value, reading.items) == (None, ())
        assert reading.error == "no answer within 1 s"
    # It was not asked a second time while it hung: nothing piles up.
    assert len(asked) == 1

    released.set()
    answered_late.wait()
    for thread in threading.enumerate():
        if thread.name == "interlock-source":
            thread.join()
    bench.clock.forward(seconds=60)
    third = seen(ticked(loop))
    assert not third.partial
    assert third.readings[-1].value == 1


def test_what_is_plugged_in_is_read_and_may_call_for_a_decision(bench: LoopBench) -> None:
    items = [Item(id=f"x{number}", kind="thing", text="y" * 900) for number in range(30)]
    source: StateSource = Plugged(lambda now: items)
    loop = bench.loop(sources=[source])

    decided = ticked(loop)

    reading = seen(decided).readings[-1]
    assert (reading.source, reading.value, len(reading.items)) == ("mine", 30, 20)
    assert {len(item.text) for item in reading.items} == {500}
    assert decided.decider == "rules"


def test_a_source_of_ones_own_may_take_the_place_of_one_of_the_five(bench: LoopBench) -> None:
    mine = Plugged(lambda now: [Item(id="n9", kind="note")], name=Source.NOTES.value)
    decided = ticked(bench.loop(sources=[mine]))

    assert kinds(decided, Source.NOTES) == [("note", "n9")]
    assert len(seen(decided).readings) == 5


def test_time_is_no_part_of_the_state(bench: LoopBench) -> None:
    loop = bench.loop('[loop]\nmode = "shadow"\n')
    loop.chain.add_note("look at the build")
    first = answered(loop, bench.clock)
    bench.clock.forward(seconds=900)
    second = ticked(loop)

    assert first.state_hash == second.state_hash == state_hash(seen(first))
    assert second.short_circuit == "same_state"
    assert second.outcome is CycleOutcome.NOTHING
    assert {item.since for item in seen(first).items(Source.NOTES)} != {None}


def test_what_was_refused_is_thought_about_again_in_the_same_state(bench: LoopBench) -> None:
    loop = bench.loop("[loop]\nprocess-notes-per-hour = 1\n")
    loop.chain.add_note("first")
    assert answered(loop, bench.clock).outcome is CycleOutcome.EMITTED
    loop.chain.add_note("second")
    assert answered(loop, bench.clock).outcome is CycleOutcome.RATE_LIMITED

    bench.clock.forward(seconds=HOUR_S)
    assert ticked(loop).outcome is CycleOutcome.EMITTED
    assert [line["text"] for line in bench.written("notes.jsonl")] == ["first", "second"]
