"""What finished runs taught, on the record: retrospectives, and what becomes of recommendations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from interlock.errors import InputError
from interlock.ledger.projection import retrospective_key
from interlock.model.loop_events import RecommendationSettled, RetrospectiveWritten
from interlock.model.principal import Principal
from interlock.model.recommendation import (
    PatchOperation,
    Recommendation,
    RecommendationState,
    Retrospective,
)
from interlock.model.system_loop import LOOP_RUN, Trigger
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.records.context import Moment

_LONGEST_NOTE: Final = 400


def has_learnt_from(chain: LoopChain, run_id: str) -> bool:
    """Whether a run was looked at already."""
    return chain.governor.ledger.rows.key(LOOP_RUN, retrospective_key(run_id)) is not None


def learn(
    chain: LoopChain,
    retrospective: Retrospective,
    recommendations: Sequence[Recommendation],
    triggers: Sequence[Trigger] = (),
) -> Sequence[Recommendation]:
    """Record what a run taught and what follows, once; return the recommendations that are new."""

    def plan(moment: Moment) -> Sequence[Recommendation]:
        if moment.transaction.key(LOOP_RUN, retrospective_key(retrospective.run)) is not None:
            return ()
        known = moment.run.loop.recommendations
        new = tuple(each for each in recommendations if each.id not in known)
        for trigger in triggers:
            chain.take(moment, trigger)
        moment.append(RetrospectiveWritten(retrospective=retrospective, recommendations=new))
        return new

    return chain.do(plan)


class Settlement(NamedTuple):
    """What became of a recommendation."""

    state: RecommendationState
    before: str | None = None
    """The digest of the policy file as it was."""
    after: str | None = None
    patch: tuple[PatchOperation, ...] = ()
    note: str | None = None


def settle_recommendation(
    chain: LoopChain, recommendation: str, settlement: Settlement, by: Principal
) -> Recommendation:
    """Record what became of a recommendation; return it as it then is."""

    def plan(moment: Moment) -> Recommendation:
        found_recommendation(moment.run.loop.recommendations, recommendation)
        note = settlement.note
        moment.append(
            RecommendationSettled(
                id=recommendation,
                state=settlement.state,
                before=settlement.before,
                after=settlement.after,
                patch=settlement.patch,
                note=None if note is None else moment.context.clean(note)[:_LONGEST_NOTE],
            )
        )
        return moment.run.loop.recommendations[recommendation]

    return chain.do(plan, by)


def found_recommendation(
    known: Mapping[str, Recommendation], recommendation: str
) -> Recommendation:
    """Return a recommendation by its id; raise InputError where there is none."""
    found = known.get(recommendation)
    if found is None:
        raise InputError(
            f"there is no recommendation `{recommendation}`: look at `interlock recommendations`"
        )
    return found
