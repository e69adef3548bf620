"""What starts a cycle: taken once, answered together, never deeper than the cap."""

from __future__ import annotations

import pytest

from interlock.errors import InputError, NotPermittedError
from interlock.loop.control_loop import ControlLoop
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.system_loop import (
    LOOP_RUN,
    MOST_NOTES,
    MOST_TRIGGERS,
    CycleOutcome,
    LoopAction,
    Rail,
)
from loop.loop_bench import ADA, DEBOUNCE_S, LoopBench, answered, ticked
from service.ledgers import SECOND

QUICK = "[loop]\ndebounce-seconds = 10\n"


def depth_of(loop: ControlLoop, name: str) -> int:
    return loop.chain.state.triggers[name].depth


def test_the_same_event_is_taken_and_answered_once(lasting_bench: LoopBench) -> None:
    loop = lasting_bench.loop()
    first = loop.send("ci/failed", '{"x": 1}', event_id="e1")
    again = loop.send("ci/failed", '{"x": 1}', event_id="e1")
    assert (first.is_new, again.is_new, again.answered_by) == (True, False, None)

    decided = answered(loop, lasting_bench.clock)
    loop = lasting_bench.reopened()
    late = loop.send("ci/failed", None, event_id="e1")

    assert decided.triggers == ("e1",)
    assert late.answered_by == decided.decision_id
    assert not loop.cycle.run("default")


def test_what_has_no_id_of_its_own_is_known_by_its_content_and_time(bench: LoopBench) -> None:
    loop = bench.loop()

    assert loop.send("ci/failed", '{"x": 1}').is_new
    assert not loop.send("ci/failed", '{ "x" : 1 }').is_new
    assert loop.send("ci/failed", '{"x": 2}').is_new
    bench.clock.forward(seconds=1)
    assert loop.send("ci/failed", '{"x": 1}').is_new


def test_the_same_beat_is_taken_once(bench: LoopBench) -> None:
    loop, at = bench.loop(), bench.clock.now()

    assert loop.beat(at).is_new
    assert not loop.beat(at).is_new
    assert loop.beat(at + SECOND).is_new


def test_a_burst_is_answered_together_and_put_off_by_nothing(bench: LoopBench) -> None:
    loop, began = bench.loop(QUICK), bench.clock.now()
    for number in range(5):
        loop.send("ci/failed", None, event_id=f"e{number}")
        bench.clock.forward(seconds=4)

    assert {each.due_at for each in loop.chain.state.triggers.values()} == {began + 10 * SECOND}
    decided = answered(loop, bench.clock)
    assert decided.triggers == ("e0", "e1", "e2", "e3", "e4")
    assert decided.trigger_source == "event:ci/failed"
    assert len(bench.slog()) == 1


def test_each_scope_is_answered_by_itself(bench: LoopBench) -> None:
    loop = bench.loop(QUICK)
    loop.send("ci/failed", None, event_id="e1", scope="shop")
    bench.clock.forward(seconds=4)
    loop.send("ci/failed", None, event_id="e2", scope="docs")

    due = [each.due_at for each in loop.chain.state.triggers.values()]
    assert due[1] - due[0] == 4 * SECOND
    assert answered(loop, bench.clock, "shop").triggers == ("e1",)
    assert list(loop.chain.state.triggers) == ["e2"]
    assert answered(loop, bench.clock, "docs").scope == "docs"


def test_a_person_does_not_wait_for_others_and_takes_along_what_waits(bench: LoopBench) -> None:
    loop = bench.loop(QUICK)
    loop.send("ci/failed", None, event_id="e1")

    decided = ticked(loop)

    assert decided.triggers[0] == "e1"
    assert decided.trigger_source == "event:ci/failed"
    assert loop.chain.state.triggers == {}


# Causation.


def test_what_a_decision_caused_is_one_deeper_until_the_cap(lasting_bench: LoopBench) -> None:
    loop = lasting_bench.loop()
    loop.send("ci/0.failed", None, event_id="e0")
    decided = answered(loop, lasting_bench.clock)
    depths = [decided.depth]
    for number in range(1, 5):
        loop = lasting_bench.reopened()
        loop.send(f"ci/{number}.failed", None, event_id=f"e{number}", cause=decided.decision_id)
        decided = answered(loop, lasting_bench.clock)
        depths.append(decided.depth)

    assert depths == [0, 1, 2, 3, 4]
    assert decided.outcome is CycleOutcome.TOO_DEEP
    assert [hit.rail for hit in decided.rails] == [Rail.CAUSATION]
    assert decided.emitted is None
    assert decided.snapshot is None
    assert len(lasting_bench.written("alerts.jsonl")) == 4


def test_a_cause_that_nobody_knows_counts_as_one(bench: LoopBench) -> None:
    loop = bench.loop()
    loop.send("ci/failed", None, event_id="e1", cause="forged")

    assert depth_of(loop, "e1") == 1


def test_a_cause_that_is_no_decision_counts_as_one(bench: LoopBench) -> None:
    loop = bench.loop()
    loop.send("ci/failed", None, event_id="e1")
    loop.send("ci/failed", None, event_id="e2", cause="e1")

    assert depth_of(loop, "e2") == 1


@pytest.mark.parametrize(("said", "depth"), [(0, 3), (2, 3), (7, 7)])
def test_a_depth_that_is_said_never_makes_it_less_deep(
    bench: LoopBench, said: int, depth: int
) -> None:
    loop = bench.loop()
    loop.send("ci/0.failed", None, event_id="e0")
    decided = answered(loop, bench.clock)
    for number in range(1, 3):
        loop.send("ci/failed", None, event_id=f"e{number}", cause=decided.decision_id)
        decided = answered(loop, bench.clock)
    event = (
        '{"specversion": "1.0", "id": "9", "source": "ci", "type": "ci/failed", "data": {},'
        f' "causationid": "{decided.decision_id}", "causationdepth": {said}}}'
    )
    loop.send(None, event)

    assert depth_of(loop, "ci#9") == depth


def test_what_is_too_deep_does_not_drag_the_rest_down(bench: LoopBench) -> None:
    loop = bench.loop("[loop]\nmax-depth = 0\n")
    loop.send("ci/failed", None, event_id="deep", cause="forged")
    loop.send("ci/failed", None, event_id="plain")
    bench.clock.forward(seconds=DEBOUNCE_S)

    deep, plain = loop.answer("default")

    assert (deep.triggers, deep.outcome) == (("deep",), CycleOutcome.TOO_DEEP)
    assert (plain.triggers, plain.outcome) == (("plain",), CycleOutcome.EMITTED)


def test_a_note_that_a_decision_caused_is_one_deeper(bench: LoopBench) -> None:
    loop = bench.loop()
    loop.send("ci/failed", None, event_id="e0")
    decided = answered(loop, bench.clock)
    note = loop.chain.add_note("look at the build", cause=decided.decision_id)

    assert depth_of(loop, f"note-{note.id}") == 1
    assert answered(loop, bench.clock).trigger_source == "event:system/note"


# Limits and bad input.


@pytest.mark.large
def test_no_more_wait_than_can_be_looked_at(bench: LoopBench) -> None:
    loop = bench.loop()
    for number in range(MOST_TRIGGERS - MOST_NOTES):
        loop.send("ci/failed", None, event_id=f"e{number}")
    for number in range(MOST_NOTES):
        loop.chain.add_note(f"note {number}")

    with pytest.raises(InputError, match="1000 events wait for their cycle, which is the most"):
        loop.send("ci/failed", None, event_id="more")
    with pytest.raises(InputError, match="500 notes wait, which is the most"):
        loop.chain.add_note("more")
    assert not loop.send("ci/failed", None, event_id="e1").is_new

    bench.clock.forward(seconds=3)
    told, taken = loop.answer("default")
    assert len(told.triggers) + len(taken.triggers) == MOST_TRIGGERS
    assert loop.send("ci/failed", None, event_id="more").is_new


@pytest.mark.parametrize("text", ["", "  \n", "x" * 4_001])
def test_a_note_has_something_to_say_and_not_too_much(bench: LoopBench, text: str) -> None:
    loop = bench.loop()

    with pytest.raises(InputError, match=rf"the note has {len(text)} characters, expected 1 to"):
        loop.chain.add_note(text)
    assert not loop.chain.state.notes


@pytest.mark.parametrize(
    ("name", "raw", "complaint"),
    [
        ("ci/failed", "{", "is not JSON"),
        ("ci/failed", "[]", "expected an object"),
        ("ci/failed", f'{{"x": "{"y" * 70_000}"}}', "at most 65,536 are taken"),
        ("ci/passed", None, "no event is called `ci/passed`"),
        ("heartbeat", None, "is no event"),
        (None, None, "has no name"),
    ],
)
def test_what_cannot_be_read_is_not_taken(
    bench: LoopBench, name: str | None, raw: str | None, complaint: str
) -> None:
    loop = bench.loop()

    with pytest.raises(InputError, match=complaint):
        loop.send(name, raw)
    assert bench.interlock.ledger.rows.run(LOOP_RUN) is None


def test_an_event_from_the_future_is_not_taken(bench: LoopBench) -> None:
    event = (
        '{"specversion": "1.0", "id": "1", "source": "ci", "type": "ci/failed",'
        ' "time": "2126-01-01T00:00:00Z"}'
    )

    with pytest.raises(InputError, match="from the future"):
        bench.loop().send(None, event)


def test_a_name_that_the_policy_lists_starts_a_cycle(bench: LoopBench) -> None:
    loop = bench.loop('[loop]\nevents = ["shop/order.*"]\n')

    assert loop.send("shop/order.late").is_new
    assert answered(loop, bench.clock).trigger_source == "event:shop/order.late"


def test_secrets_of_events_and_notes_stay_out_of_the_record(bench: LoopBench) -> None:
    secret = "ghp_" + "a1B2" * 9
    loop = bench.loop()
    loop.send("ci/failed", f'{{"token": "{secret}"}}', event_id="e1")
    loop.chain.add_note(f"use {secret}", tags=["ci"], source=secret, cause=secret)
    loop.send("ci/failed", event_id=f"source-{secret}")
    bench.clock.forward(seconds=3)
    assert len(loop.answer("default")) == 2

    rows = bench.interlock.ledger.rows.records(LOOP_RUN, limit=1_000)
    assert all(secret.encode() not in row.body for row in rows)


# People.


def test_while_it_is_frozen_nothing_is_emitted_and_everything_is_answered(
    lasting_bench: LoopBench,
) -> None:
    loop = lasting_bench.loop()
    loop.chain.freeze("it alerts too much", ADA)
    loop.send("ci/failed")
    decided = answered(loop, lasting_bench.clock)

    assert decided.outcome is CycleOutcome.FROZEN
    assert decided.rails[0].reason == "the loop is frozen: it alerts too much"
    assert decided.snapshot is None
    assert lasting_bench.written("alerts.jsonl") == []

    loop = lasting_bench.reopened()
    loop.chain.thaw("mended", ADA)
    loop.send("ci/again.failed")
    assert answered(loop, lasting_bench.clock).outcome is CycleOutcome.EMITTED


def test_only_an_operator_freezes_thaws_and_cancels_and_says_why(bench: LoopBench) -> None:
    chain = bench.loop().chain
    agent = Principal(kind=PrincipalKind.AGENT, name="coder")

    for say in (chain.freeze, chain.thaw):
        with pytest.raises(NotPermittedError, match="only an operator may"):
            say("because", agent)
        with pytest.raises(InputError, match="the reason is empty"):
            say(" ", ADA)
    with pytest.raises(NotPermittedError, match="only an operator may"):
        chain.cancel("d1", "because", agent)
    with pytest.raises(InputError, match="nothing waits under `d1`"):
        chain.cancel("d1", "because", ADA)


def test_to_freeze_twice_is_to_freeze_once(bench: LoopBench) -> None:
    chain = bench.loop().chain
    chain.freeze("first", ADA)
    chain.freeze("second", ADA)

    assert chain.state.frozen is not None
    assert chain.state.frozen.reason == "first"
    chain.thaw("fine", ADA)
    chain.thaw("fine", ADA)
    assert chain.state.frozen is None


@pytest.mark.parametrize("mode", ["off", "shadow"])
def test_a_loop_that_may_not_act_says_what_it_would_have_done(bench: LoopBench, mode: str) -> None:
    loop = bench.loop(f'[loop]\nmode = "{mode}"\n')
    loop.send("ci/failed")
    decided = answered(loop, bench.clock)

    assert decided.outcome.value == mode
    assert decided.action is LoopAction.DO_NOTHING
    would = LoopAction.EMIT_ALERT if mode == "shadow" else LoopAction.DO_NOTHING
    assert decided.choice.action is would
    assert bench.written("alerts.jsonl") == []
