"""The loop put together: everything that a cycle needs, over one ledger.

It works by itself, cycle by cycle, for whoever calls it; a worker lets it run on an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from interlock.loop.cycle import Cycle
from interlock.loop.deciders import Deciders
from interlock.loop.handlers import Handlers
from interlock.loop.jobs import Jobs
from interlock.loop.learner import Learner
from interlock.loop.model_decider import AskedModel
from interlock.loop.outbox import Outbox
from interlock.loop.senses import Senses, StateSource
from interlock.model.approval import Approval
from interlock.model.loop_events import CycleDecided
from interlock.model.system_loop import APPROVAL_DECIDED, DEFAULT_SCOPE, Trigger
from interlock.policy.config.loop_section import SystemLoop
from interlock.service.cycles.event_input import event_from
from interlock.service.cycles.loop_chain import LoopChain, Received
from interlock.service.cycles.recommendation_desk import RecommendationDesk
from interlock.service.governor import Governor
from interlock.service.records.context import checked_name, new_id


class ControlLoop:
    """SENSE, ORIENT, DECIDE, ACT and LEARN over one ledger."""

    def __init__(
        self,
        governor: Governor,
        *,
        folder: Path | None = None,
        sources: Sequence[StateSource] = (),
        model: Callable[[SystemLoop], AskedModel] | None = None,
    ) -> None:
        self.chain = LoopChain(governor)
        """The loop on the record."""
        self.cycle = Cycle(self.chain, Senses(self.chain, sources), Deciders(self.chain, model))
        """What answers triggers."""
        self.jobs = Jobs(governor, self.chain)
        """What was started here."""
        self.desk = RecommendationDesk(governor, self.chain)
        """Where recommendations are settled."""
        self.learner = Learner(self.chain)
        """What looks at finished runs."""
        handlers = Handlers(self.chain, jobs=self.jobs, desk=self.desk, folder=folder)
        self.outbox = Outbox(self.chain, handlers)
        """What was emitted and not delivered yet."""

    @property
    def now(self) -> int:
        """The time, by the ledger's clock."""
        return self.chain.governor.clock.now()

    def send(
        self,
        name: str | None,
        raw: str | bytes | None = None,
        *,
        event_id: str | None = None,
        scope: str | None = None,
        cause: str | None = None,
    ) -> Received:
        """Take an event, as a program or a person sends it; the same id is taken once."""
        event = event_from(
            name,
            raw,
            now=self.now,
            known=self.chain.settings.events,
            id=event_id,
            scope=scope,
            cause=cause,
        )
        return self.chain.receive(event.trigger)

    def beat(self, at: int) -> Received:
        """Let the heart beat: the same beat is taken once, whoever notices it."""
        return self.chain.receive(
            Trigger(id=f"heartbeat-{at}", name="heartbeat", occurred_at=at, due_at=at)
        )

    def tick(
        self, scope: str = DEFAULT_SCOPE, *, starts_jobs: bool = True
    ) -> Sequence[CycleDecided]:
        """Look around now because a person wants it, and do what comes of it.

        Whoever does not stay until a job has ended starts none: it waits for the next worker.
        """
        self.note_decisions()
        now = self.now
        checked_name("a scope", scope)
        self.chain.receive(
            Trigger(
                id=f"manual-{new_id()}", name="manual", scope=scope, occurred_at=now, due_at=now
            )
        )
        return self.answer(scope, starts_jobs=starts_jobs)

    def answer(self, scope: str, *, starts_jobs: bool = True) -> Sequence[CycleDecided]:
        """Answer everything that waits in a scope, and deliver what comes of it."""
        decided = self.cycle.run(scope)
        self.outbox.deliver_due(starts_jobs=starts_jobs)
        return decided

    def note_decisions(self) -> None:
        """Let every scope know whose question a person has answered, or nobody in time."""
        for held in self.chain.state.held.values():
            approval = self._approval(held.approval)
            if approval is not None and not approval.is_open_at(self.now):
                self.chain.receive(
                    Trigger(
                        id=f"approval-{approval.id}",
                        name=APPROVAL_DECIDED,
                        scope=held.scope,
                        occurred_at=self.now,
                        due_at=self.now,
                    )
                )

    def _approval(self, approval_id: str) -> Approval | None:
        return self.chain.governor.ledger.rows.approval(approval_id)
