"""What Interlock itself does with the events of the loop: the sink that is always there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, assert_never

import msgspec

from interlock.errors import InputError
from interlock.ledger.transaction import Transaction
from interlock.loop.jobs import Jobs
from interlock.loop.sinks import AlertLog
from interlock.model.loop_events import CycleDecided
from interlock.model.system_loop import (
    ApplyRecommendation,
    DoNothing,
    EmitAlert,
    Note,
    ProcessNotes,
    StartLoop,
)
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.cycles.recommendation_desk import RecommendationDesk

ALERTS: Final = "alerts.jsonl"
NOTES: Final = "notes.jsonl"


class Handled(NamedTuple):
    """What came of an event."""

    result: str = ""
    notes: tuple[str, ...] = ()
    """The notes that are taken from the queue with it."""
    afterwards: Callable[[], object] = object
    """What is done once it is on record that this process does it, and no other."""
    opens: Callable[[Transaction], object] = lambda _: None
    """What is put on record in the same transaction as that."""


class Handlers:
    """Does what the events of the loop ask for."""

    def __init__(
        self, chain: LoopChain, *, jobs: Jobs, desk: RecommendationDesk, folder: Path | None
    ) -> None:
        self._chain = chain
        self._jobs = jobs
        self._desk = desk
        self._alerts = AlertLog(None if folder is None else folder / ALERTS)
        self._notes = AlertLog(None if folder is None else folder / NOTES)

    def handle(self, decided: CycleDecided) -> Handled:
        """Do what a decision asks for; doing it again after a crash does no harm."""
        match decided.choice:
            case StartLoop(job=job):
                run_id, opens = self._jobs.prepare(job)
                return Handled(
                    run_id,
                    opens=opens,
                    afterwards=lambda: self._jobs.begin(job, run_id, decided.decision_id),
                )
            case ProcessNotes(notes=notes):
                return self._process(notes, decided)
            case ApplyRecommendation(recommendation=recommendation):
                return Handled(self._desk.apply_decided(recommendation, decided))
            case EmitAlert() as alert:
                self._alerts.write(
                    {
                        "id": decided.decision_id,
                        "severity": alert.severity.value,
                        "message": alert.message,
                        "about": alert.about,
                        "reasoning": decided.reasoning,
                        "scope": decided.scope,
                    }
                )
                return Handled("told")
            case DoNothing():
                raise InputError(f"decision `{decided.decision_id}` asks for nothing")
            case _:
                assert_never(decided.choice)

    def _process(self, wanted: tuple[str, ...], decided: CycleDecided) -> Handled:
        """Write notes where people and programs find them, and take them from the queue."""
        waiting = self._chain.state.notes
        notes = [waiting[each] for each in wanted if each in waiting]
        for note in notes:
            self._notes.write(_line(note, decided.decision_id))
        return Handled(f"{len(notes)} taken", notes=tuple(note.id for note in notes))


def _line(note: Note, decision_id: str) -> dict[str, object]:
    return {"decision": decision_id, **msgspec.to_builtins(note)}
