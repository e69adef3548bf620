"""The outbox: every event that was emitted is handed to every sink until that has it.

An event is in the record of its decision: it is neither lost nor doubled, and its id never
changes. While the loop is frozen, nothing is handed to anybody.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final, NamedTuple

from interlock.errors import InputError
from interlock.loop.handlers import Handled, Handlers
from interlock.loop.sinks import InngestSink, Sink
from interlock.model.loop_events import CycleDecided
from interlock.model.loop_state import HOUR
from interlock.model.system_loop import StartLoop
from interlock.service.cycles.cycle_decision import HANDLERS
from interlock.service.cycles.loop_chain import LoopChain, decision_at
from interlock.service.webhooks import DeliveryError, WebhookSink, retry_at

_PAUSE_WHERE_FINAL: Final = HOUR
"""What fails until a person changes something is tried again so much later."""


class Due(NamedTuple):
    """One delivery that is to be tried."""

    event: str
    sink: str
    attempt: int
    at: int
    starts_job: bool


class Outbox:
    """Delivers what was emitted."""

    def __init__(self, chain: LoopChain, handlers: Handlers) -> None:
        self._chain = chain
        self._handlers = handlers

    def waiting(self) -> Sequence[Due]:
        """Return every delivery that is still to be made, the next one first."""
        waiting = [
            Due(
                event=each.event,
                sink=delivery.sink,
                attempt=delivery.attempts + 1,
                at=delivery.next_at,
                starts_job=delivery.sink == HANDLERS and isinstance(each.choice, StartLoop),
            )
            for each in self._chain.state.outgoing.values()
            for delivery in each.deliveries
        ]
        return sorted(waiting, key=lambda due: due.at)

    def deliver_due(self, events: Container[str] | None = None, *, starts_jobs: bool = True) -> int:
        """Try every delivery whose time has come, of all events or these; return what arrived."""
        now = self._chain.governor.clock.now()
        due = [each for each in self.waiting() if each.at <= now]
        due = [each for each in due if events is None or each.event in events]
        due = [each for each in due if starts_jobs or not each.starts_job]
        return sum(self.deliver(each.event, each.sink) for each in due)

    def deliver(self, event: str, sink: str) -> bool:
        """Try one delivery, unless it arrived meanwhile or the loop is frozen."""
        loop = self._chain.state
        found = loop.outgoing.get(event)
        waiting = [] if found is None else [each for each in found.deliveries if each.sink == sink]
        if found is None or not waiting or self._chain.standstill is not None:
            return False
        attempt, decided = waiting[0].attempts + 1, decision_at(self._chain.governor, found.seq)
        if decided is None:
            return False
        try:
            handled = self._handed(decided, sink, attempt)
        except Exception as error:  # noqa: BLE001 - whatever a sink fails of, it is tried again
            self._put_off(event, sink, attempt, error)
            return False
        arrived = self._chain.attempt(
            event, sink, result=handled.result, notes=handled.notes, opens=handled.opens
        )
        if arrived:
            handled.afterwards()
        return arrived

    def _handed(self, decided: CycleDecided, sink: str, attempt: int) -> Handled:
        if sink == HANDLERS:
            return self._handlers.handle(decided)
        if decided.emitted is not None:
            self._sink(sink).deliver(decided.emitted, attempt)
        return Handled()

    def _put_off(self, event: str, sink: str, attempt: int, error: Exception) -> None:
        now = self._chain.governor.clock.now()
        next_at = retry_at(
            event, attempt, now=now, retry_after_s=getattr(error, "retry_after_s", None)
        )
        is_final = (
            error.is_final if isinstance(error, DeliveryError) else isinstance(error, InputError)
        )
        if is_final:
            next_at = now + _PAUSE_WHERE_FINAL
        self._chain.attempt(event, sink, error=str(error), next_at=next_at)

    def _sink(self, name: str) -> Sink:
        found = next((each for each in self._chain.settings.sinks if each.name == name), None)
        if found is None:
            raise InputError(f"the policy has no sink `{name}` any more: add it to [[loop.sinks]]")
        timeout_s, clock = float(found.timeout_seconds), self._chain.governor.clock
        if found.kind == "inngest":
            return InngestSink(
                name=name,
                url=found.url,
                key_variable=found.secret_variable,
                timeout_s=timeout_s,
                clock=clock,
            )
        return WebhookSink(
            name=name,
            url=found.url,
            secret_variable=found.secret_variable,
            timeout_s=timeout_s,
            clock=clock,
        )
