"""A cycle that another overtakes records what its own triggers and the state come to."""

from __future__ import annotations

from loop.loop_bench import LoopBench


def test_what_was_chosen_for_several_is_not_recorded_for_the_rest_of_them(bench: LoopBench) -> None:
    policy = "[loop]\nemit-alert-per-hour = 0\n"
    slow, quick = bench.loop(policy), bench.loop(policy)
    slow.send("ci/failed", None, event_id="e1")
    early = quick.cycle.think("default")
    slow.send("ci/failed", None, event_id="e2")
    late = slow.cycle.think("default")
    quick.cycle.act(early)

    [decided] = slow.cycle.act(late)

    assert decided.triggers == ("e2",)
    assert decided.reasoning == "`ci/failed` says that something failed, and no job is there for it"
    assert getattr(decided.choice, "about", None) == "e2"


def test_two_that_look_at_the_same_state_do_not_both_call_it_new(bench: LoopBench) -> None:
    slow, quick = bench.loop(), bench.loop()
    slow.send("agent/loop.complete", None, event_id="e1")
    early = quick.cycle.think("default")
    slow.send("agent/loop.complete", None, event_id="e2")
    late = slow.cycle.think("default")
    [first] = quick.cycle.act(early)

    [second] = slow.cycle.act(late)

    assert (first.short_circuit, second.short_circuit) == ("nothing_actionable", "same_state")
