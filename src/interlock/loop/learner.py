"""LEARN: what a finished run teaches, and what would have been different under another policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from interlock.ledger.chain import decoded, records_of
from interlock.ledger.projection import retrospective_key
from interlock.loop.jobs import COMPLETE, end_of_job
from interlock.model.loop_events import RetrospectiveWritten
from interlock.model.recommendation import Recommendation, Retrospective
from interlock.model.run import LEDGER_RUN, RunState, RunStatus
from interlock.model.system_loop import LOOP_RUN, Trigger
from interlock.policy.learn.recommendations import recommendations_from
from interlock.policy.learn.retrospective import retrospective_of
from interlock.service.cycles.lessons import has_learnt_from, learn
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.policies.policy_simulation import recommended_policy, simulated

LEARNT: Final = "agent/loop.retro.complete"
_MOST_RUNS: Final = 50
"""So many of the last finished runs are learnt from together."""
_MOST_ANSWERS: Final = 5_000
"""So many of their answers are decided again under a policy that is recommended."""


class Learner:
    """Looks at runs that have ended."""

    def __init__(self, chain: LoopChain) -> None:
        self._chain = chain

    def unlearnt(self) -> Sequence[str]:
        """Return the runs that ended since the loop began and that nobody has looked at."""
        ledger = self._chain.governor.ledger
        own = ledger.rows.run(LOOP_RUN)
        if own is None:
            return []
        finished = ledger.rows.runs(limit=_MOST_RUNS, status=RunStatus.FINISHED.value)
        return [
            row.id
            for row in reversed(finished)
            if row.updated_at >= own.started_at and not has_learnt_from(self._chain, row.id)
        ]

    def learn(self, run_id: str) -> Sequence[Recommendation]:
        """Write what a run teaches, once, and let the loop know; return what is new."""
        ledger = self._chain.governor.ledger
        state = ledger.state(run_id)
        if state is None or state.status is not RunStatus.FINISHED or run_id == LEDGER_RUN:
            return ()
        triggers = self._triggers(state)
        rows = records_of(ledger.rows, run_id)
        retrospective = retrospective_of(state, (decoded(row.body) for row in rows))
        earlier = self._earlier()
        found = recommendations_from((*earlier, retrospective), self._chain.governor.context.policy)
        known = self._chain.state.recommendations
        runs = [each.run for each in (*earlier, retrospective)]
        new = [self._with_effect(each, runs) for each in found if each.id not in known]
        return learn(self._chain, retrospective, new, triggers)

    def _triggers(self, run: RunState) -> Sequence[Trigger]:
        """Return what a run that has ended starts: whatever happened below a job is its doing."""
        jobs, above = self._chain.state.jobs, (run.id, *run.ancestors)
        # A job may have been looked at before what runs below it has ended.
        causes = [jobs.get(each) or self._chain.cause_of(f"job-{each}") for each in above]
        cause = next((each for each in causes if each is not None), None)
        if cause is None and LOOP_RUN in run.ancestors:
            cause = LOOP_RUN
        # Whoever ended a job may have died before the loop knew of it.
        ended = end_of_job(run.id, run.task, run.outcome) if run.id in jobs else None
        now, data = self._chain.governor.clock.now(), msgspec.json.encode({"run": run.id}).decode()
        return [
            Trigger(id=name, name=event, cause=cause, occurred_at=now, due_at=now, data=text)
            for name, event, text in (
                ended or (f"run-{run.id}", COMPLETE, data),
                (f"retro-{run.id}", LEARNT, data),
            )
        ]

    def _earlier(self) -> Sequence[Retrospective]:
        """Return what the last runs taught, the oldest first."""
        rows = self._chain.governor.ledger.rows
        found: list[Retrospective] = []
        for run in reversed(rows.runs(limit=_MOST_RUNS, status=RunStatus.FINISHED.value)):
            key = rows.key(LOOP_RUN, retrospective_key(run.id))
            record = None if key is None else rows.record(LOOP_RUN, key.seq)
            event = None if record is None else decoded(record.body).event
            if isinstance(event, RetrospectiveWritten):
                found.append(event.retrospective)
        return found

    def _with_effect(self, found: Recommendation, runs: Sequence[str]) -> Recommendation:
        if not found.patch:
            return found
        governor = self._chain.governor
        before = governor.context.policy
        after = recommended_policy(before, found.patch)
        effect = simulated(governor.ledger.rows, before, after, runs=runs, most=_MOST_ANSWERS)
        return msgspec.structs.replace(found, effect=effect)
