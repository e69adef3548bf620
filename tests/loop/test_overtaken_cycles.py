"""A cycle that another overtakes records what its own triggers and the state come to."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from interlock.model.system_loop import Item
from loop.loop_bench import LoopBench
from patience import LONG_ENOUGH_S


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
    assert getattr(decided.choice, "about", None) == "event/e2"


def test_two_that_look_at_the_same_state_do_not_both_call_it_new(bench: LoopBench) -> None:
    slow, quick = bench.loop(), bench.loop()
    slow.send("agent/loop.complete", None, event_id="e1")
    early = quick.cycle.think("default")
    slow.send("agent/loop.complete", None, event_id="e2")
    late = slow.cycle.think("default")
    [first] = quick.cycle.act(early)

    [second] = slow.cycle.act(late)

    assert (first.short_circuit, second.short_circuit) == ("nothing_actionable", "same_state")


class Meeting:
    """A source that answers once two have asked it."""

    name = "meeting"

    def __init__(self) -> None:
        self._both = threading.Barrier(2, timeout=LONG_ENOUGH_S)

    def read(self, now: int) -> Sequence[Item]:
        self._both.wait()
        return ()


def test_two_cycles_that_look_at_the_same_time_both_see_everything(bench: LoopBench) -> None:
    loop = bench.loop("[loop]\nsource-timeout-seconds = 300\n", sources=[Meeting()])
    for scope in ("shop", "docs"):
        loop.send("ci/failed", None, event_id=scope, scope=scope)

    with ThreadPoolExecutor(2) as threads:
        thought = [each for (each,) in threads.map(loop.cycle.think, ("shop", "docs"))]

    for findings in thought:
        assert findings.snapshot is not None
        assert not findings.snapshot.partial
