"""A worker: lets the loop run on the durable engine, with as many others as there are.

What has to be done follows from the ledger alone: every sweep begins whatever is due there, under
an id that is the same for every worker. So an engine can be lost, and nothing with it.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol

import msgspec

from interlock.errors import InterlockError
from interlock.loop.control_loop import ControlLoop
from interlock.loop.engine import Body, Cron, Engine, JsonValue, Steps
from interlock.model.loop_events import CycleDecided
from interlock.ports import Clock, Listener
from interlock.service.cycles.cycle_decision import Findings

HEARTBEAT: Final = "heartbeat"
_CYCLE: Final = "cycle"
_DELIVERY: Final = "delivery"
_LESSON: Final = "lesson"
_AGAIN_AFTER: Final = 60_000_000
"""What was begun so long ago and is still to be done is begun once more."""
_GRACE: Final = 30_000_000
_LONGEST_SILENCE_S: Final = 15.0
_KEPT_S: Final = 7 * 24 * 3600.0
"""Finished flows are forgotten by the engine after so long; the ledger keeps everything."""
_MOST_BEGUN: Final = 10_000
_FINDINGS: Final = msgspec.json.Decoder(list[Findings])
"""Made here, by one thread: the library crashes where two get to know a type at the same time."""


class DurableEngine(AbstractContextManager[object], Protocol):
    """What a worker asks of its engine: whatever was begun is brought to its end."""

    def begin(self, flow: str, flow_id: str, argument: JsonValue) -> None:
        """Begin a flow; whatever has the same id is the same flow, begun once."""
        ...

    def prune(self, *, keep_s: float) -> int:
        """Forget the flows that ended so long ago."""
        ...


MakeEngine = Callable[[Mapping[str, Body], Mapping[str, Cron]], DurableEngine]
"""Makes an engine for these flows, of which some are begun by a schedule."""


def engine_at(place: str, *, name: str, clock: Clock, lease_s: float = 30.0) -> MakeEngine:
    """Return how a worker of this name gets its engine in a file, or in a Postgres by its URL."""

    def make(flows: Mapping[str, Body], crons: Mapping[str, Cron]) -> Engine:
        return Engine(place, worker=name, flows=flows, clock=clock, crons=crons, lease_s=lease_s)

    return make


class LoopWorker:
    """Runs a loop until it is told to stop."""

    def __init__(self, loop: ControlLoop, make_engine: MakeEngine) -> None:
        self._loop = loop
        minutes = loop.chain.settings.heartbeat_minutes
        self._engine = make_engine(
            {
                _CYCLE: self._cycle,
                _DELIVERY: self._deliver,
                _LESSON: self._learn,
                HEARTBEAT: self._beat,
            },
            {HEARTBEAT: Cron(expression=_every(minutes), flow=HEARTBEAT)},
        )
        self._over = threading.Event()
        self._listener: Listener | None = None
        self._begun: dict[str, None] = {}

    def serve(self, *, when_ready: Callable[[], object] = object) -> None:
        """Work until `stop` is called; the next worker finishes what is left."""
        self._listener = listener = self._loop.chain.governor.ledger.listen()
        try:
            with self._engine:
                when_ready()
                while not self._over.is_set():
                    self._sweep_patiently()
                    listener.wait(self._silence_s())
        finally:
            listener.close()
            self._loop.jobs.stop()

    def stop(self) -> None:
        """Make `serve` return."""
        self._over.set()
        if self._listener is not None:
            self._listener.stop()

    def _silence_s(self) -> float:
        """Return how long nothing has to be begun, unless something happens."""
        due = [trigger.due_at for trigger in self._loop.chain.state.triggers.values()]
        due += [each.at for each in self._loop.outbox.waiting()[:1]]
        left_s = [(each - self._loop.now) / 1_000_000 for each in due]
        return min([_LONGEST_SILENCE_S, *[max(0.2, each) for each in left_s]])

    def _sweep_patiently(self) -> None:
        try:
            self.sweep()
        except InterlockError:
            # The store or the engine is busy, or something cannot be taken: what is due stays due.
            self._begun.clear()

    def sweep(self) -> None:
        """Begin everything that is due by the ledger."""
        loop = self._loop
        loop.note_decisions()
        loop.jobs.close_abandoned()
        for run_id in loop.learner.unlearnt():
            self._begin(_LESSON, run_id, run_id, due_at=loop.now)
        scopes: dict[str, tuple[int, str]] = {}
        for each in loop.chain.state.triggers.values():
            due = each.due_at, each.id
            scopes[each.scope] = min(due, scopes.get(each.scope, due))
        for scope, (due_at, first) in scopes.items():
            self._begin(_CYCLE, f"{scope} {first}", scope, due_at=due_at)
        if loop.chain.standstill is None:
            for due in loop.outbox.waiting():
                what = f"{due.event} {due.sink} {due.attempt}"
                # The first try belongs to the cycle itself, unless it has died before that.
                due_at = due.at if due.attempt > 1 else due.at + _GRACE
                self._begin(_DELIVERY, what, [due.event, due.sink], due_at=due_at)

    def _begin(self, flow: str, what: str, argument: JsonValue, *, due_at: int) -> None:
        now = self._loop.now
        if due_at > now:
            return
        round_number = (now - due_at) // _AGAIN_AFTER
        digest = hashlib.sha256(what.encode("utf-8", "replace")).hexdigest()[:32]
        flow_id = f"{flow}-{digest}-{round_number}"
        if flow_id in self._begun:
            return
        self._engine.begin(flow, flow_id, argument)
        self._begun[flow_id] = None
        while len(self._begun) > _MOST_BEGUN:
            del self._begun[next(iter(self._begun))]

    # The flows. What they are given and come to is JSON, for the engine to keep.

    def _cycle(self, steps: Steps, argument: JsonValue) -> JsonValue:
        return self._answered(steps, str(argument))

    def _beat(self, steps: Steps, argument: JsonValue) -> JsonValue:
        at = int(str(argument))
        scope = steps.run("beat", lambda: self._loop.beat(at).trigger.scope)
        self._engine.prune(keep_s=_KEPT_S)
        return self._answered(steps, str(scope))

    def _answered(self, steps: Steps, scope: str) -> JsonValue:
        cycle = self._loop.cycle
        thought = steps.run("think", lambda: msgspec.json.encode(cycle.think(scope)).decode())
        findings = _FINDINGS.decode(str(thought))
        acted = steps.run("act", lambda: _emitted(cycle.act(findings)))
        emitted = msgspec.convert(acted, list[str])
        if emitted:
            # Those of others have somebody who delivers them at this moment.
            steps.run("deliver", lambda: self._loop.outbox.deliver_due(emitted))
        return acted

    def _deliver(self, steps: Steps, argument: JsonValue) -> JsonValue:
        event, sink = msgspec.convert(argument, tuple[str, str])
        return steps.run("deliver", lambda: self._loop.outbox.deliver(event, sink))

    def _learn(self, steps: Steps, argument: JsonValue) -> JsonValue:
        run_id = str(argument)
        return steps.run("learn", lambda: len(self._loop.learner.learn(run_id)))


def _emitted(decided: Sequence[CycleDecided]) -> list[JsonValue]:
    return [each.emitted.id for each in decided if each.emitted is not None]


def _every(minutes: int) -> str:
    """Return when a heart beats: every so many minutes of the hour."""
    return f"*/{minutes} * * * *" if minutes < 60 else "0 * * * *"
