"""A loop over one ledger, with a clock that goes only when it is told to, and what must hold of it.

Every loop that a bench opens is checked when the test is over: whatever happened, its record holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from gates.policies import gates_with
from interlock import Interlock
from interlock.loop.control_loop import ControlLoop
from interlock.loop.model_decider import AskedModel
from interlock.loop.senses import StateSource
from interlock.model.loop_events import CycleDecided, TriggerReceived
from interlock.model.principal import Principal, PrincipalKind
from interlock.model.recommendation import (
    PatchOperation,
    Recommendation,
    RecommendationKind,
    Retrospective,
)
from interlock.model.system_loop import DEFAULT_SCOPE, EVENT_TYPES, LOOP_RUN, LoopAction, Rail
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.rails import ruled
from interlock.service.cycles.lessons import learn
from interlock.service.policies.policy_book import stored_policy
from interlock.settings import current_user_file
from service.ledgers import HandClock, operator_of, records_of
from service.stepping_runs import check_record

ADA = Principal(kind=PrincipalKind.OPERATOR, name="ada")
DEBOUNCE_S = 3
"""Longer than others are waited for, where the policy says nothing."""


class LoopBench:
    """A place for a ledger, and the loops that are opened over it."""

    def __init__(self, stack: ExitStack, place: str, folder: Path, clock: HandClock) -> None:
        self._stack = stack
        self.place = place
        self.folder = folder
        """What handlers write is here."""
        self.clock = clock
        self._opened: list[Interlock] = []

    @property
    def keys(self) -> Path:
        return self.folder / "keys"

    @property
    def interlock(self) -> Interlock:
        """The ledger that was opened last."""
        return self._opened[-1]

    def loop(
        self,
        policy: str = "",
        *,
        sources: Sequence[StateSource] = (),
        model: Callable[[SystemLoop], AskedModel] | None = None,
    ) -> ControlLoop:
        """Open a loop, as one more process would."""
        gates, file = gates_with(policy), current_user_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"version = 1\n{policy}")
        interlock = self._stack.enter_context(
            Interlock.open(self.place, policy=gates, clock=self.clock, keys=self.keys)
        )
        self._opened.append(interlock)
        return ControlLoop(interlock.governor, folder=self.folder, sources=sources, model=model)

    def reopened(self, policy: str = "") -> ControlLoop:
        """Open it once more, after everybody else has gone."""
        while self._opened:
            self._opened.pop().close()
        return self.loop(policy)

    def token(self) -> str:
        """Return the token of an operator, made here."""
        return operator_of(self.interlock)

    def written(self, name: str) -> list[dict[str, object]]:
        """Return the lines that a handler has written."""
        file = self.folder / name
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def slog(self) -> list[CycleDecided]:
        """Return every decision, in order."""
        return decisions_of(self.interlock)

    def check(self) -> None:
        """Check what has to hold of every record of a loop."""
        if self._opened and self.interlock.ledger.rows.run(LOOP_RUN) is not None:
            check_record(self.interlock)
            _check_slog(self.interlock)
            for decided in self.slog():
                _check_decision(decided, _settings_of(self.interlock, decided))


def decisions_of(interlock: Interlock) -> list[CycleDecided]:
    events = [record.event for record in records_of(interlock.ledger, LOOP_RUN)]
    return [event for event in events if isinstance(event, CycleDecided)]


def _check_slog(interlock: Interlock) -> None:
    """Every trigger is answered at most once, and only after it came."""
    events = [record.event for record in records_of(interlock.ledger, LOOP_RUN)]
    came = [event.trigger.id for event in events if isinstance(event, TriggerReceived)]
    answered = [
        each for event in events if isinstance(event, CycleDecided) for each in event.triggers
    ]
    assert len(set(came)) == len(came)
    assert len(set(answered)) == len(answered)
    assert set(answered) <= set(came)
    emitted = [each.emitted.id for each in decisions_of(interlock) if each.emitted is not None]
    assert len(set(emitted)) == len(emitted)


def _settings_of(interlock: Interlock, decided: CycleDecided) -> SystemLoop:
    return stored_policy(interlock.ledger.rows, decided.policy_hash).loop


def _check_decision(decided: CycleDecided, settings: SystemLoop) -> None:
    """The rails come to the same from what is on record, and only they let something out."""
    unpaid = [hit.reason for hit in decided.rails if hit.rail is Rail.COST]
    verdict = ruled(
        decided.choice,
        decided.facts,
        settings,
        depth=decided.depth,
        invalid=decided.invalid,
        unpaid=unpaid[0] if unpaid else None,
    )
    assert (verdict.outcome, verdict.rails) == (decided.outcome, decided.rails)
    assert (decided.emitted is not None) == verdict.is_emitted
    assert decided.reasoning
    if decided.emitted is None:
        assert decided.action is LoopAction.DO_NOTHING
        return
    assert decided.emitted.type == EVENT_TYPES[decided.choice.action]
    assert decided.action is decided.choice.action


def answered(loop: ControlLoop, clock: HandClock, scope: str = DEFAULT_SCOPE) -> CycleDecided:
    """Wait until whatever came is due, and return the one decision that answers it."""
    clock.forward(seconds=DEBOUNCE_S)
    decided = loop.answer(scope)
    assert len(decided) == 1, decided
    return decided[0]


def ticked(loop: ControlLoop) -> CycleDecided:
    """Look around at once, and return the one decision that it comes to."""
    decided = loop.tick()
    assert len(decided) == 1, decided
    return decided[0]


def recommend(loop: ControlLoop, name: str = "rec-1", *, run: str = "r-1") -> Recommendation:
    """Have a finished run recommend that the loop may send one more alert."""
    change = PatchOperation(path=("loop", "emit-alert-per-hour"), value="7")
    new = Recommendation(
        id=name,
        kind=RecommendationKind.RAISE_SLOPE,
        title="it fired on 9 of 10 runs that went well: raise it",
        reason="so say the runs",
        count=9,
        of=10,
        patch=(change,),
    )
    seen = Retrospective(
        run=run,
        project="default",
        outcome="completed",
        went_well=True,
        actions=1,
        steps=1,
        cost_micros=0,
        tokens=0,
    )
    learn(loop.chain, seen, [new])
    return new


def model_policy(url: str, more: str = "", *, price: float = 1.0) -> str:
    """Return a policy whose decider is the model at an address; the price is per million tokens."""
    return f"""
[loop]
decider = "model"
model = "openai:scripted"
base-url = "{url}"
{more}

[[budgets.prices]]
model = "scripted"
input-usd = {price}
output-usd = {price}
"""


JOB = """
[[loop.jobs]]
name = "mend"
command = ["true"]
on = ["ci/build.failed"]
"""
