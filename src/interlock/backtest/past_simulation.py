"""What would two policies have said to a run that nobody governed?

Calls, steps and ends of turns are judged as they went. Where only one policy is given, the other
side is what happened: every call ran, every step was taken, every turn ended unchecked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import tee
from typing import Final

from interlock.backtest.hindsight import Watched, watched
from interlock.backtest.turn_ends import TurnEnd, TurnEnds
from interlock.model.action import Action, summary_of
from interlock.model.facts import Facts
from interlock.model.past_run import PastRun, PastStep
from interlock.model.policy_comparison import AnswerKind, TurnAnswer, Went
from interlock.model.step import ContinueDecision, StepDecision
from interlock.model.stop import StopContext
from interlock.model.verdict import Decision
from interlock.policy.actions.compiled_policy import CompiledPolicy
from interlock.policy.actions.inspection import inspect
from interlock.policy.actions.recordable import recordable_action, recordable_text
from interlock.policy.gates.judgement import judge, settle, verdict_of
from interlock.policy.stops.stop_gate import decide as decide_stop
from interlock.service.policies.answer_tally import Place, RunTally, Said, Tally
from interlock.service.policies.policy_simulation import (
    Policies,
    step_said,
    stop_signals,
    used_by,
    weighed,
)
from interlock.service.records.prices import Prices, SteadyPrices

_RAN: Final = Said(Decision.ALLOW)
_TAKEN: Final = Said(StepDecision.CONTINUE)
_UNGOVERNED: Final = Facts()


def simulated_past(run: PastRun, path: str, policies: Policies) -> Tally:
    """Return what both policies come to on one run; its steps are used up."""
    return _PastSimulation(run, path, policies).told()


class _PastSimulation:
    """Follows one run."""

    def __init__(self, run: PastRun, path: str, policies: Policies) -> None:
        self._run, self._path, self._policies = run, path, policies
        self._counts = RunTally()
        if run.success is not None:
            self._counts.went = Went.WELL if run.success else Went.BADLY
        self._turns = TurnEnds(run.model)
        self._prices = SteadyPrices(Prices(policies.after.config.budgets.prices))
        self._differing = frozenset(filter(policies.differ_on, AnswerKind))
        self._place = 0

    def told(self) -> Tally:
        policies = self._policies
        steps, again = tee(self._run.steps)
        for each, before in zip(
            _watched(steps, policies.after), _answers(again, policies.before), strict=True
        ):
            self._place += 1
            self._take(each, before)
        self._end_turn(self._turns.end())
        return self._counts.close()

    def _take(self, now: Watched, before: ContinueDecision | None) -> None:
        step = now.step
        if step.action is not None and step.ran:
            self._compare(
                AnswerKind.ACTION,
                step,
                lambda _now: _RAN,
                partial(_call_said, step.action),
                partial(_call_words, step.action, self._policies.after),
            )
        self._end_turn(self._turns.add(step, now.seen))
        # The step that leads to a pause is paid for before it: only what comes later is spared.
        self._spend(step)
        if now.answer is not None:
            self._step(step, _TAKEN if before is None else step_said(before), step_said(now.answer))

    def _step(self, step: PastStep, before: Said, after: Said) -> None:
        if self._is_counted(step):
            words = partial(recordable_text, step.text or step.tool or "", self._policies.after)
            self._counts.compare(AnswerKind.STEP, before, after, self._at(step), words)

    def _end_turn(self, ended: TurnEnd | None) -> None:
        if ended is not None:
            self._compare(
                AnswerKind.STOP,
                ended.step,
                _ended,
                partial(_turn_said, ended.context),
                partial(recordable_text, ended.step.text, self._policies.after),
            )

    def _compare(
        self,
        kind: AnswerKind,
        step: PastStep,
        happened: Callable[[Said], Said],
        said: Callable[[CompiledPolicy], Said],
        words: Callable[[], str],
    ) -> None:
        if not self._is_counted(step):
            return
        before, after = self._policies[:2]
        second = said(after)
        if before is None:
            first = happened(second)
        else:
            first = said(before) if kind in self._differing else second
        self._counts.compare(kind, first, second, self._at(step), words)

    def _is_counted(self, step: PastStep) -> bool:
        return step.at is None or step.at >= self._policies.since

    def _at(self, step: PastStep) -> Place:
        return Place(self._run.id, path=self._path, line=step.line or self._place)

    def _spend(self, step: PastStep) -> None:
        if step.usage is not None:
            model = step.model or self._run.model
            cost = self._prices.cost_micros(model, step.usage, step.at)
            self._counts.spend(used_by(step.usage, cost))


def _watched(steps: Iterable[PastStep], policy: CompiledPolicy) -> Iterator[Watched]:
    return watched(steps, policy.config.steps, policy.config.loops)


def _answers(
    steps: Iterable[PastStep], policy: CompiledPolicy | None
) -> Iterator[ContinueDecision | None]:
    """Yield what was said after each step; nothing, where nobody was asked."""
    if policy is None:
        return (None for _ in steps)
    return (each.answer for each in _watched(steps, policy))


def _call_said(action: Action, policy: CompiledPolicy) -> Said:
    settled = settle(judge(action, policy).findings, _UNGOVERNED, policy, policy.hash)
    return Said(settled.decision, weighed(settled.verdict.findings))


def _turn_said(context: StopContext, policy: CompiledPolicy) -> Said:
    decision = decide_stop(context, policy.config.stops)
    answer = TurnAnswer.CONTINUE if decision.goes_on else TurnAnswer.FINISH
    if decision.would_have is not None:
        answer = TurnAnswer.UNCHECKED
    return Said(answer, tuple(stop_signals(decision)))


def _ended(now: Said) -> Said:
    """Return how a turn ended that nobody kept from it, given what is said to it now."""
    is_sent_on = now.answer is TurnAnswer.CONTINUE
    return now._replace(answer=TurnAnswer.UNCHECKED) if is_sent_on else now


def _call_words(action: Action, policy: CompiledPolicy) -> str:
    """Return a call as it may be shown: without credentials."""
    inspection = inspect(action, policy)
    recorded = recordable_action(inspection, verdict_of(inspection))
    return recordable_text(summary_of(recorded.action), policy)
