"""What is known of a run before its next step: what the record says, and what its client tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from interlock.errors import InputError
from interlock.ledger.ledger import Work
from interlock.model.answers import StepAnswer
from interlock.model.arbitration import Hard, Waiting
from interlock.model.budget import BudgetBalance, Dimension
from interlock.model.budget_words import used_up
from interlock.model.control_state import ControlState, meter_with_words
from interlock.model.events import Record, StepJudged
from interlock.model.progress_meter import LONGEST_TEXT
from interlock.model.run import RunState
from interlock.model.step import (
    SLOPE_STEPS,
    ContinueDecision,
    Remaining,
    StepContext,
    remaining_field,
)
from interlock.model.turn_report import StepReport
from interlock.policy.arbiter import held_answer, ruling
from interlock.policy.steps.continue_gate import decide, is_within_cooldown
from interlock.policy.steps.loop_detector import Progress, signs_of
from interlock.policy.steps.step_figures import uncertainty
from interlock.service.questions.question import (
    Asking,
    Consequence,
    Decided,
    answered_before,
    keyed_report,
)
from interlock.service.records.adoption import adopt_in_run
from interlock.service.records.budgets import balances_of, charged_scopes
from interlock.service.records.context import Asked, Context, Moment
from interlock.service.records.holds import (
    hard_states_now,
    question_to_resume,
    settle_hold,
    still_counts,
)
from interlock.service.records.observations import coherence_now, unsettled_progress
from interlock.service.records.run_checkpoints import keep_work

N = TypeVar("N", int, float)

_LONGEST_WAIT_MS: Final = 7 * 24 * 3600 * 1000
_LONGEST_NOTE: Final = 400


def step_facts(
    context: Context,
    run: RunState,
    known: StepContext,
    *,
    closing: str | None = None,
    balances: Sequence[BudgetBalance],
    now: int,
) -> StepContext:
    """Return everything the continue gate looks at.

    What the client tells counts where it is worse than what follows from the record. `closing`
    are the words that end a turn.
    """
    control = run.control
    meter = meter_with_words(control, closing)
    went = unsettled_progress(control, meter)
    tokens = _worse(max, run.spent.tokens or None, known.total_tokens_used)
    return StepContext(
        step_number=control.steps,
        total_tokens_used=tokens,
        total_tool_calls=_worse(max, run.spent.tool_calls, known.total_tool_calls),
        rework_count=known.rework_count,
        rework_ratio=_worse(max, went.rework_ratio, known.rework_ratio),
        rework_of=_sample(went, known.rework_ratio),
        coherence_score=_worse(min, coherence_now(control, went), known.coherence_score),
        uncertainty_score=_worse(
            max, uncertainty(tuple(control.beliefs.values())), known.uncertainty_score
        ),
        budget_remaining=remaining_in(balances, known.budget_remaining),
        used_up=used_up(run.id, balances),
        last_checkpoint_step=control.checkpoint_step,
        last_saved_step=control.saved_step,
        steps_since_person=control.steps_since_person,
        elapsed_ms=max(0, now - run.started_at) // 1000,
        steps_tokens=_step_tokens(control, tokens),
        signs=signs_of(meter, context.policy.config.loops),
    )


def words_on_record(context: Context, said: str | None) -> str | None:
    """Return what an agent said on the way, as far as it may be and needs to be recorded."""
    return None if said is None else context.clean(said)[:LONGEST_TEXT]


def waiting_on_record(context: Context, waiting: Waiting | None) -> Waiting | None:
    """Return what a run waits for as it may be recorded."""
    if waiting is None:
        return None
    if not 0 < waiting.delay_ms <= _LONGEST_WAIT_MS:
        raise InputError(
            f"`waiting.delay_ms` is {waiting.delay_ms}, expected 1 to {_LONGEST_WAIT_MS}"
        )
    what = context.clean(waiting.what)[:_LONGEST_NOTE]
    return Waiting(what=what, delay_ms=waiting.delay_ms)


def _step_tokens(control: ControlState, total: int | None) -> tuple[int, ...]:
    """Return what each of the last steps used, this one being the last."""
    before = control.tokens_at_step
    if total is None or before is None or total < before:
        return control.step_tokens
    return (*control.step_tokens, total - before)[-SLOPE_STEPS:]


def remaining_in(balances: Sequence[BudgetBalance], known: Remaining | None = None) -> Remaining:
    """Return what is left of each dimension, in the account where least of it is left."""
    left: dict[str, int] = {} if known is None else _known(known)
    for balance in balances:
        for dimension in Dimension:
            limit = balance.limits.of(dimension)
            if limit is not None:
                name = remaining_field(dimension)
                rest = limit - balance.used.of(dimension)
                left[name] = min(rest, left.get(name, rest))
    return Remaining(**left)


def _sample(went: Progress, told: float | None) -> int | None:
    """Return of how many actions the share of rework is; None where the client's is the worse."""
    share = went.rework_ratio
    if share is None or (told is not None and told > share):
        return None
    return went.actions


def _known(remaining: Remaining) -> dict[str, int]:
    return {
        name: left for name, left in msgspec.structs.asdict(remaining).items() if left is not None
    }


def _worse(pick: Callable[[N, N], N], known: N | None, said: N | None) -> N | None:
    """Return the worse of two figures; the other one where only one is known."""
    if known is None or said is None:
        return said if known is None else known
    return pick(known, said)


class StepQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """Should it go on?"""

    run_id: str
    report: StepReport

    def prepare(self, asking: Asking) -> Work[Decided[StepAnswer]]:
        """Read what the client says, without credentials."""
        asked = asking.of_run(self.run_id)
        prepared = _PreparedStep(asked, self.report)
        return asked.work(prepared.decide, charged=prepared.scopes)


class _PreparedStep:
    """A step on its way to an answer."""

    def __init__(self, asked: Asked, report: StepReport) -> None:
        context = asked.context
        self._asked = asked
        self._known = report.known
        self._key, self._digest = keyed_report(context, "step", report.key, report)
        self._said = words_on_record(context, report.said)
        self._waiting = waiting_on_record(context, report.waiting)
        self.scopes = charged_scopes(asked.run, context.clock.now())

    def decide(self, moment: Moment) -> Decided[StepAnswer]:
        """Answer by what the record and the client know of the run; record it."""
        run_id = moment.running().id
        earlier = answered_before(moment.transaction, run_id, self._key, self._digest, StepJudged)
        if earlier is not None and still_counts(moment, earlier[1]):
            return _answer(*earlier, repeated=True)
        adopt_in_run(moment)
        event = self._judged(moment, settle_hold(moment))
        answer = _answer(moment.append(event), event, repeated=False)
        if not answer.detail.checkpoint_due:
            return answer
        return Consequence(lambda: self._with_checkpoint(answer))

    def _judged(self, moment: Moment, run: RunState) -> StepJudged:
        context = moment.context
        balances = balances_of(moment, self.scopes)
        facts = step_facts(context, run, self._known, balances=balances, now=moment.now)
        hard = hard_states_now(moment, balances)
        decision = step_decision(context, run.control, facts, hard, moment.now)
        credit = credit_left(context, run.control)
        ruled = ruling(hard, decision, credit=credit, waiting=self._waiting)
        return StepJudged(
            key=self._key,
            digest=self._digest,
            said=self._said,
            context=facts,
            throttled_before=run.control.throttled,
            hard=hard,
            waiting=self._waiting,
            credit=credit,
            decision=decision,
            ruling=ruled,
            approval=question_to_resume(moment, ruled, decision),
        )

    def _with_checkpoint(self, answer: StepAnswer) -> StepAnswer:
        """Save the work, and put that on the record."""
        taken = self._asked.context.ledger.execute(keep_work(self._asked, answer.step))
        return replace(answer, checkpoint=taken.checkpoint)


def step_decision(
    context: Context, control: ControlState, facts: StepContext, hard: Sequence[Hard], now: int
) -> ContinueDecision:
    """Return what the continue gate says, or what holds the run anyway."""
    if hard:
        return held_answer(hard)
    settings = context.policy.config.steps
    full_at = None if control.evaluated_at is None else control.evaluated_at // 1000
    short = is_within_cooldown(settings, full_at_ms=full_at, at_ms=now // 1000)
    return decide(facts, settings, throttled_before=control.throttled, short=short)


def credit_left(context: Context, control: ControlState) -> int:
    """Return how many continuations a run has left that nobody asked it for."""
    return max(0, context.policy.config.stops.credit - control.credit_used)


def _answer(record: Record, event: StepJudged, *, repeated: bool) -> StepAnswer:
    return StepAnswer(
        run_id=record.run,
        seq=record.seq,
        step=event.context.step_number or 0,
        decision=event.decision.decision,
        facts=event.context,
        detail=event.decision,
        ruling=event.ruling,
        approval_id=event.approval or event.ruling.approval,
        repeated=repeated,
    )
