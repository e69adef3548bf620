"""What would another policy have answered? Past questions, decided again under both.

Each question is taken as it was asked: what a run would have done next instead, nobody knows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from interlock.commands.affected_paths import Unknown
from interlock.ledger.chain import decoded, records_of
from interlock.model.events import ActionJudged, Record, RunStarted, StepJudged
from interlock.model.recommendation import Evidence, PatchOperation, SimulatedEffect
from interlock.model.step import StepDecision
from interlock.model.verdict import Decision, Ranked
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import inspect
from interlock.policy.actions.undo_eligibility import is_undoable, touched_by
from interlock.policy.config.document import MergedPolicy, canonical_bytes
from interlock.policy.gates.judgement import settle
from interlock.policy.learn.recommendations import policy_after
from interlock.ports import Rows
from interlock.service.policies.policy_files import compile_policy
from interlock.service.policies.recorded_answer import findings_again, step_again

_MOST_EXAMPLES: Final = 10
_ASKS: Final = Decision.REQUIRE_CONFIRMATION
_KINDS: Final = frozenset(("run-started", "action-judged", "step-judged"))


def recommended_policy(policy: CompiledPolicy, patch: Sequence[PatchOperation]) -> CompiledPolicy:
    """Return a policy with what a recommendation changes, ready to judge by."""
    config = policy_after(policy.config, patch)
    digest = hashlib.sha256(canonical_bytes(config)).hexdigest()
    return compile_policy(MergedPolicy(policy=config, hash=digest))


def simulated(
    rows: Rows,
    before: CompiledPolicy,
    after: CompiledPolicy,
    *,
    runs: Sequence[str],
    most: int,
) -> SimulatedEffect:
    """Return what would have been different; no more than `most` records are looked at.

    Where a rule newly allows with undo, whatever names what it touches counts as copied: whether
    that would have been possible, only the files of then could tell.
    """
    effect = _Effect(_Pair(before, after))
    left = most
    for run_id in runs:
        read = 0
        for row in records_of(rows, run_id, last=left):
            read += 1
            if row.kind in _KINDS:
                effect.add(decoded(row.body))
        left -= read
    return effect.told()


class _Pair(NamedTuple):
    """Both policies, as they judge where a run was."""

    before: CompiledPolicy
    after: CompiledPolicy
    has_workspace: bool = False

    def at(self, run: RunStarted) -> _Pair:
        """Return them for another run."""
        return _Pair(
            self.before.placed(run.own_places),
            self.after.placed(run.own_places),
            has_workspace=run.workspace is not None,
        )


class _Effect:
    """What differs so far."""

    def __init__(self, pair: _Pair) -> None:
        self._pair = pair
        steps = pair.after.config.steps
        self._judges_otherwise = replace(pair.before.config, steps=steps) != pair.after.config
        self._steps_otherwise = pair.before.config.steps != steps
        self._runs = self._answers = self._changed = self._spared = self._lost = 0
        self._examples: list[Evidence] = []

    def add(self, record: Record) -> None:
        """Decide what was asked in a record again, twice."""
        event = record.event
        if isinstance(event, RunStarted):
            self._runs += 1
            self._pair = self._pair.at(event)
        elif isinstance(event, ActionJudged):
            self._answers += 1
            if self._judges_otherwise:
                self._compare(record, *self._actions(event), _ASKS, Decision.BLOCK)
        elif isinstance(event, StepJudged):
            self._answers += 1
            if self._steps_otherwise:
                self._compare(record, *self._steps(event), StepDecision.PAUSE, StepDecision.STOP)

    def told(self) -> SimulatedEffect:
        """Return all of it."""
        return SimulatedEffect(
            runs=self._runs,
            answers=self._answers,
            changed=self._changed,
            confirmations_spared=self._spared,
            blocks_lost=self._lost,
            examples=tuple(self._examples),
        )

    def _actions(self, event: ActionJudged) -> tuple[Decision, Decision]:
        pair = self._pair
        is_placed = pair.has_workspace
        return (
            _decision(event, pair.before, is_placed=is_placed),
            _decision(event, pair.after, is_placed=is_placed),
        )

    def _steps(self, event: StepJudged) -> tuple[StepDecision, StepDecision]:
        before, after = (step_again(event, each) for each in self._pair[:2])
        return before.decision, after.decision

    def _compare(
        self, record: Record, before: Ranked, after: Ranked, asks: Ranked, forbids: Ranked
    ) -> None:
        if before == after:
            return
        self._changed += 1
        self._spared += before == asks and after.rank < asks.rank
        self._lost += before == forbids and after.rank < forbids.rank
        if len(self._examples) < _MOST_EXAMPLES:
            self._examples.append(Evidence(run=record.run, seq=record.seq))


def _decision(event: ActionJudged, policy: CompiledPolicy, *, is_placed: bool) -> Decision:
    settled = settle(findings_again(event, policy), event.facts, policy, policy.hash)
    findings = settled.verdict.findings
    could_be_copied = (
        is_placed
        and settled.decision is _ASKS
        and event.facts.undo is None
        and is_undoable(findings, policy.config)
        and not isinstance(touched_by(inspect(event.action, policy)), Unknown)
    )
    return Decision.WARN if could_be_copied else settled.decision
