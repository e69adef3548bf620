"""What asking a model may cost: promised before it is asked, settled when it has answered.

Whoever dies in between has spent everything that was promised: too much is counted, never too
little.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from interlock.model.budget import Amounts, Dimension, TokenUsage
from interlock.model.events import UsageReported
from interlock.model.loop_events import ModelAnswered, ModelAsked, ModelFailure
from interlock.model.loop_state import DAY
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.rails import is_open
from interlock.service.cycles.loop_chain import LoopChain
from interlock.service.records.budgets import alert_after, balances_of, charged_scopes
from interlock.service.records.context import Moment, new_id

_LONGEST_DETAIL: Final = 400


class Promised(NamedTuple):
    """Whether a model may be asked."""

    call: str | None
    """What names the call; None where it may not be."""
    unpaid: str | None = None
    """Why there is no money for it."""


def promise(
    chain: LoopChain, scope: str, decider: str, *, micros: int | None, spent: int
) -> Promised:
    """Promise a model what it can cost at most, unless there is no money or it is left alone.

    `micros` is None where its price is not known, `spent` what this cycle has cost so far.
    """

    def plan(moment: Moment) -> Promised:
        if is_open(moment.run.loop, decider, moment.now):
            return Promised(None)
        day = moment.now // DAY
        unpaid = _unpaid(moment, chain.settings, micros, spent)
        if unpaid is not None or micros is None:
            return Promised(None, unpaid)
        call = new_id()
        moment.append(
            ModelAsked(call=call, scope=scope, decider=decider, reserved_micros=micros, day=day)
        )
        return Promised(call)

    return chain.do(plan)


class Answered(NamedTuple):
    """What asking a model came to."""

    micros: int
    usage: TokenUsage | None = None
    failure: ModelFailure | None = None
    detail: str = ""
    asks_again: bool = False
    """Whether it is asked once more: only then it is known how it got on."""


def settle(chain: LoopChain, call: str, decider: str, answer: Answered) -> None:
    """Record what asking a model came to, and charge it to everybody who pays for the loop."""

    def plan(moment: Moment) -> None:
        if call not in moment.run.loop.promised:
            return
        clean, usage = moment.context.clean, answer.usage
        moment.append(
            ModelAnswered(
                call=call,
                decider=decider,
                failure=answer.failure,
                asks_again=answer.asks_again,
                detail=clean(answer.detail)[:_LONGEST_DETAIL],
                usage=usage,
                cost_micros=answer.micros,
            )
        )
        charged = charged_scopes(moment.run, moment.now)
        tokens = 0 if usage is None else usage.total
        if tokens or answer.micros:
            moment.append(
                UsageReported(
                    usage=usage or TokenUsage(),
                    model=clean(decider),
                    cost_micros=answer.micros,
                    scopes=charged,
                    spent=Amounts(tokens=tokens, cost_micros=answer.micros),
                )
            )
            alert_after(moment, charged)

    chain.do(plan)


def _unpaid(moment: Moment, settings: SystemLoop, micros: int | None, spent: int) -> str | None:
    """Return why a model cannot be paid, if so."""
    if micros is None:
        return f"the price of `{settings.model}` is not known: give it one in [[budgets.prices]]"
    day, cycle = settings.day_cost_micro_usd, settings.cycle_cost_micro_usd
    today = moment.run.loop.spent_on(moment.now // DAY)
    if today + micros > day:
        return (
            f"{_usd(today)} of `loop.day-cost-usd` {_usd(day)} are spent or promised, and asking"
            f" can cost {_usd(micros)}"
        )
    if spent + micros > cycle:
        left = _usd(max(0, cycle - spent))
        return f"asking can cost {_usd(micros)}, and `loop.cycle-cost-usd` leaves {left}"
    asked = Amounts(cost_micros=micros)
    for balance in balances_of(moment, charged_scopes(moment.run, moment.now)):
        limit = balance.limits.of(Dimension.COST)
        if limit is not None and balance.after(asked).cost_micros > limit:
            return f"account `{balance.scope}` has {_usd(limit)}, and asking can pass that"
    return None


def _usd(micros: int) -> str:
    return f"{micros / 1_000_000:.6f}".rstrip("0").rstrip(".") + " USD"
