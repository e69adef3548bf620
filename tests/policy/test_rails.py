"""The rails: what each of them keeps back, and that nothing else lets an action out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from effort import examples
from interlock.model.loop_state import BREAKER_OPEN, Breaker, LoopState, Promise
from interlock.model.system_loop import (
    Choice,
    CycleOutcome,
    DoNothing,
    EmitAlert,
    LoopAction,
    Rail,
    RailFacts,
    StartLoop,
)
from interlock.policy.config.loop_section import SystemLoop
from interlock.policy.loop.rails import CycleVerdict, is_open, ruled
from policy.loop_values import CHOICES, MEND, NOON, facts, settings

ALERT = EmitAlert(message="hello")
START = StartLoop(job="mend")
UNKNOWN = RailFacts()
FREE = SystemLoop(jobs=(MEND,))

STRICTNESS = [
    CycleOutcome.EMITTED,
    CycleOutcome.NOTHING,
    CycleOutcome.APPROVAL_REQUIRED,
    CycleOutcome.APPROVAL_DENIED,
    CycleOutcome.SHADOW,
    CycleOutcome.OFF,
    CycleOutcome.RATE_LIMITED,
    CycleOutcome.BACKLOGGED,
    CycleOutcome.BUDGET_DENIED,
    CycleOutcome.VALIDATION_ERROR,
    CycleOutcome.TOO_DEEP,
    CycleOutcome.FROZEN,
]
"""What a cycle may come to behind the rails, the strictest last."""


def verdict_of(
    choice: Choice = ALERT,
    known: RailFacts = UNKNOWN,
    policy: SystemLoop = FREE,
    *,
    depth: int = 0,
    invalid: str | None = None,
    unpaid: str | None = None,
) -> CycleVerdict:
    return ruled(choice, known, policy, depth=depth, invalid=invalid, unpaid=unpaid)


def test_what_no_rail_holds_goes_out() -> None:
    verdict = verdict_of()

    assert verdict.outcome is CycleOutcome.EMITTED
    assert verdict.is_emitted
    assert verdict.rails == ()


@pytest.mark.parametrize(
    ("verdict", "outcome", "reason"),
    [
        pytest.param(
            verdict_of(known=RailFacts(frozen="enough")),
            CycleOutcome.FROZEN,
            "the loop is frozen: enough",
            id="frozen",
        ),
        pytest.param(
            verdict_of(depth=4),
            CycleOutcome.TOO_DEEP,
            "4 decisions led to one another, `loop.max-depth` is 3",
            id="too deep",
        ),
        pytest.param(
            verdict_of(invalid="it is no JSON"),
            CycleOutcome.VALIDATION_ERROR,
            "it is no JSON",
            id="invalid",
        ),
        pytest.param(
            verdict_of(policy=replace(FREE, emit_alert="off")),
            CycleOutcome.VALIDATION_ERROR,
            "`loop.emit-alert` is off",
            id="switched off",
        ),
        pytest.param(
            verdict_of(unpaid="the day's money is spent"),
            CycleOutcome.BUDGET_DENIED,
            "the day's money is spent",
            id="unpaid",
        ),
        pytest.param(
            verdict_of(known=RailFacts(outgoing=500)),
            CycleOutcome.BACKLOGGED,
            "500 events wait for their delivery, 500 are the most",
            id="backlog",
        ),
        pytest.param(
            verdict_of(known=RailFacts(acted=6)),
            CycleOutcome.RATE_LIMITED,
            "6 of `emit_alert` within the last hour, 6 are the most",
            id="rate",
        ),
        pytest.param(
            verdict_of(START),
            CycleOutcome.APPROVAL_REQUIRED,
            "a person has to agree first",
            id="unasked",
        ),
        pytest.param(
            verdict_of(START, RailFacts(denied="a1")),
            CycleOutcome.APPROVAL_DENIED,
            "a person refused it",
            id="denied",
        ),
        pytest.param(
            verdict_of(policy=replace(FREE, mode="shadow")),
            CycleOutcome.SHADOW,
            "`loop.mode` is shadow",
            id="shadow",
        ),
        pytest.param(
            verdict_of(policy=replace(FREE, mode="off")),
            CycleOutcome.OFF,
            "`loop.mode` is off",
            id="off",
        ),
    ],
)
def test_a_rail_that_holds_says_so(
    verdict: CycleVerdict, outcome: CycleOutcome, reason: str
) -> None:
    assert verdict.outcome is outcome
    assert [hit.reason for hit in verdict.rails] == [reason]
    assert not verdict.is_emitted


@pytest.mark.parametrize(
    "verdict",
    [
        pytest.param(verdict_of(depth=3), id="as deep as may be"),
        pytest.param(verdict_of(known=RailFacts(acted=5)), id="the last of the hour"),
        pytest.param(verdict_of(known=RailFacts(outgoing=499)), id="the last of the backlog"),
        pytest.param(verdict_of(START, RailFacts(granted="a1")), id="a person agreed"),
        pytest.param(
            verdict_of(START, policy=replace(FREE, start_loop="allow")), id="nobody is asked"
        ),
    ],
)
def test_right_before_a_rail_holds_it_does_not(verdict: CycleVerdict) -> None:
    assert verdict.is_emitted


def test_to_do_nothing_is_held_by_no_rail_of_actions() -> None:
    known = RailFacts(acted=1000, outgoing=1000)

    assert verdict_of(DoNothing(), known).outcome is CycleOutcome.NOTHING
    assert verdict_of(DoNothing(), known, replace(FREE, mode="shadow")).outcome is (
        CycleOutcome.NOTHING
    )


def test_every_rail_that_holds_is_named_and_the_strictest_decides() -> None:
    known = RailFacts(frozen="enough", acted=9, outgoing=500)

    verdict = verdict_of(START, known, depth=9, invalid="no", unpaid="no")

    assert verdict.outcome is CycleOutcome.FROZEN
    assert [hit.rail for hit in verdict.rails] == [
        Rail.FROZEN,
        Rail.CAUSATION,
        Rail.VALIDATION,
        Rail.COST,
        Rail.BACKLOG,
        Rail.RATE,
        Rail.APPROVAL,
    ]


_SAID = st.none() | st.just("no")
_LAW = examples(150, soak=5_000)


@_LAW
@given(st.sampled_from(CHOICES), facts(), settings(), st.integers(0, 6), _SAID, _SAID)
def test_only_what_no_rail_holds_is_emitted(
    choice: Choice,
    known: RailFacts,
    policy: SystemLoop,
    depth: int,
    invalid: str | None,
    unpaid: str | None,
) -> None:
    verdict = ruled(choice, known, policy, depth=depth, invalid=invalid, unpaid=unpaid)

    is_free = not verdict.rails and choice.action is not LoopAction.DO_NOTHING
    assert verdict.is_emitted == is_free


@_LAW
@given(
    st.sampled_from(CHOICES),
    facts(),
    settings(),
    st.integers(0, 6),
    st.sampled_from(["frozen", "acted", "outgoing", "depth", "invalid", "unpaid", "granted"]),
)
def test_one_more_hit_never_loosens(
    choice: Choice, known: RailFacts, policy: SystemLoop, depth: int, more: str
) -> None:
    before = ruled(choice, known, policy, depth=depth)
    worse = {
        "frozen": {"frozen": "enough"},
        "acted": {"acted": known.acted + 1},
        "outgoing": {"outgoing": known.outgoing + 1},
        "granted": {"granted": None},
    }
    after = ruled(
        choice,
        replace(known, **worse.get(more, {})),
        policy,
        depth=depth + (more == "depth"),
        invalid="no" if more == "invalid" else None,
        unpaid="no" if more == "unpaid" else None,
    )

    assert STRICTNESS.index(after.outcome) >= STRICTNESS.index(before.outcome)
    assert {hit.rail for hit in after.rails} >= {hit.rail for hit in before.rails}


@_LAW
@given(st.sampled_from(CHOICES), facts(), settings(), st.integers(0, 6), _SAID, _SAID)
def test_the_order_of_the_rails_is_irrelevant(
    choice: Choice,
    known: RailFacts,
    policy: SystemLoop,
    depth: int,
    invalid: str | None,
    unpaid: str | None,
) -> None:
    """What a cycle comes to is what the strictest of its rails alone would make of it."""
    verdict = ruled(choice, known, policy, depth=depth, invalid=invalid, unpaid=unpaid)
    alone = [
        ruled(choice, RailFacts(frozen=known.frozen), _FREE_OF_ALL, depth=0),
        ruled(choice, RailFacts(), replace(_FREE_OF_ALL, max_depth=policy.max_depth), depth=depth),
        ruled(choice, RailFacts(), _FREE_OF_ALL, depth=0, invalid=invalid),
        ruled(choice, RailFacts(), _FREE_OF_ALL, depth=0, unpaid=unpaid),
        ruled(choice, RailFacts(outgoing=known.outgoing), _FREE_OF_ALL, depth=0),
        ruled(choice, RailFacts(acted=known.acted), _with_rates_of(policy), depth=0),
        ruled(choice, RailFacts(), replace(_FREE_OF_ALL, mode=policy.mode), depth=0),
        ruled(
            choice,
            RailFacts(granted=known.granted, denied=known.denied),
            _with_word_of(policy),
            depth=0,
        ),
    ]

    strictest = max((each.outcome for each in alone), key=STRICTNESS.index)
    assert verdict.outcome is strictest


_FREE_OF_ALL = SystemLoop(
    start_loop="allow",
    apply_retro_recommendation="allow",
    max_depth=100,
    start_loop_per_hour=1000,
    process_notes_per_hour=1000,
    apply_retro_recommendation_per_hour=1000,
    emit_alert_per_hour=1000,
)


def _with_rates_of(policy: SystemLoop) -> SystemLoop:
    return replace(
        _FREE_OF_ALL,
        start_loop_per_hour=policy.start_loop_per_hour,
        process_notes_per_hour=policy.process_notes_per_hour,
        apply_retro_recommendation_per_hour=policy.apply_retro_recommendation_per_hour,
        emit_alert_per_hour=policy.emit_alert_per_hour,
    )


def _with_word_of(policy: SystemLoop) -> SystemLoop:
    return replace(
        _FREE_OF_ALL,
        start_loop=policy.start_loop,
        process_notes=policy.process_notes,
        apply_retro_recommendation=policy.apply_retro_recommendation,
        emit_alert=policy.emit_alert,
    )


# The breaker.

_OPEN = LoopState(breakers={"model m": Breaker(failures=(NOON,), open_until=NOON + BREAKER_OPEN)})


def _promised(at: int, decider: str = "model m") -> LoopState:
    promise = Promise(micros=1, day=1, decider=decider, at=at)
    return replace(_OPEN, promised={"c1": promise})


def test_a_decider_is_left_alone_until_its_time_is_over() -> None:
    assert is_open(_OPEN, "model m", NOON + BREAKER_OPEN - 1)
    assert not is_open(_OPEN, "model m", NOON + BREAKER_OPEN)
    assert not is_open(_OPEN, "model other", NOON)
    assert not is_open(LoopState(breakers={"model m": Breaker(failures=(NOON,))}), "model m", NOON)


def test_it_is_probed_once_and_again_only_where_nobody_hears_of_the_probe() -> None:
    later = NOON + BREAKER_OPEN

    assert is_open(_promised(later), "model m", later)
    assert is_open(_promised(later), "model m", later + BREAKER_OPEN - 1)
    assert not is_open(_promised(later), "model m", later + BREAKER_OPEN)
    assert not is_open(_promised(later, "model other"), "model m", later)


def test_no_more_is_asked_than_people_can_look_at() -> None:
    asks = replace(FREE, emit_alert="require-confirmation")

    full = verdict_of(known=RailFacts(held=200), policy=asks)

    assert full.outcome is CycleOutcome.BACKLOGGED
    assert full.rails[0].reason == "200 actions wait for a person, 200 are the most"
    assert verdict_of(known=RailFacts(held=199), policy=asks).outcome is (
        CycleOutcome.APPROVAL_REQUIRED
    )
    assert verdict_of(known=RailFacts(held=200, granted="a1"), policy=asks).is_emitted
