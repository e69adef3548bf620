from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from interlock.model.stop import (
    EvidenceKind,
    FinishReason,
    LastEvent,
    StopContext,
    StopEvidence,
    StopVeto,
)
from interlock.policy.config.stop_section import DEFAULT, SEED, Stops
from interlock.policy.stops.stop_gate import decide

SENTENCES = (
    "Now let me run the tests.", "All tests pass.", "Should I go on?", "Let me know.", "Done.",
    "I need to fix it:", "Please confirm.", "```", "> quoted?", "- an item", "1. Let me",
    "the task is complete", "\u2019", "<function=x>", "\u63a5\u4e0b\u6765", "{", "}",
)  # fmt: skip
texts = st.none() | st.text() | st.lists(st.sampled_from(SENTENCES), max_size=8).map(" \n".join)
evidence = st.builds(
    StopEvidence, kind=st.sampled_from(EvidenceKind), text=st.sampled_from(["a", "b", "c"])
)
contexts = st.builds(
    StopContext,
    text=texts,
    last_event=st.none() | st.sampled_from(LastEvent),
    finish_reason=st.none() | st.sampled_from(FinishReason),
    tool_ratio=st.none() | st.floats(min_value=0, max_value=3),
    n_prev_turns=st.none() | st.integers(min_value=0, max_value=99),
    model=st.none() | st.text(max_size=5),
    tool_calls=st.none() | st.integers(min_value=0, max_value=2),
    retries=st.integers(min_value=0, max_value=5),
    hard=st.lists(st.sampled_from(["paused", "stopped"]), max_size=2).map(tuple),
    evidence=st.lists(evidence, max_size=5).map(tuple),
)
profiles = st.sampled_from([SEED, DEFAULT])


@given(contexts, profiles)
def test_the_same_end_is_decided_the_same(context: StopContext, settings: Stops) -> None:
    assert decide(context, settings) == decide(replace(context), settings)


@given(contexts, profiles)
def test_the_score_is_the_sum_of_its_signals(context: StopContext, settings: Stops) -> None:
    decision = decide(context, settings)

    assert decision.score == sum(signal.points for signal in decision.signals)
    beside = 0 if settings is SEED else 1 + (decision.veto is not None)
    assert len(decision.signals) == 5 + beside + len({each.kind for each in context.evidence})


@given(contexts, profiles)
def test_a_veto_always_ends_the_turn_and_only_going_on_is_nudged(
    context: StopContext, settings: Stops
) -> None:
    decision = decide(context, settings)

    assert not (decision.goes_on and decision.veto)
    assert (decision.nudge is not None) is (decision.goes_on and not context.tool_calls)


@given(contexts, profiles)
def test_one_more_reason_to_stop_never_makes_it_go_on(
    context: StopContext, settings: Stops
) -> None:
    held = replace(context, hard=(*context.hard, "over-budget"))
    refused = replace(context, finish_reason=FinishReason.CONTENT_FILTER)
    asking = replace(context, text=f"{context.text or ''}\n```\n```\nShould I go on?", tool_calls=0)

    assert decide(held, settings).veto is StopVeto.HARD_STOP
    assert not decide(refused, settings).goes_on
    assert not decide(asking, settings).goes_on


@given(contexts, profiles)
def test_no_turn_goes_on_for_ever(context: StopContext, settings: Stops) -> None:
    tired = replace(context, retries=settings.max_retries, tool_calls=0)
    before = decide(replace(tired, retries=0), settings)
    after = decide(tired, settings)

    assert not after.goes_on
    assert (after.veto is not None) == (before.veto is not None or before.goes_on)
    if before.veto is not None:
        assert after.veto is before.veto


@given(contexts, profiles, st.randoms(use_true_random=False))
def test_the_order_of_evidence_is_irrelevant(
    context: StopContext, settings: Stops, random: Random
) -> None:
    shuffled = list(context.evidence)
    random.shuffle(shuffled)

    assert decide(replace(context, evidence=tuple(shuffled)), settings) == decide(context, settings)


@given(contexts, evidence)
def test_one_more_piece_of_evidence_never_lowers_the_score(
    context: StopContext, more: StopEvidence
) -> None:
    with_more = replace(context, evidence=(*context.evidence, more))

    assert decide(with_more, DEFAULT).score >= decide(context, DEFAULT).score


@given(st.text(), profiles)
def test_what_comes_long_before_the_end_changes_nothing(text: str, settings: Stops) -> None:
    end = "All is well here. " * 300
    context = StopContext(text=text + end, last_event=LastEvent.TOOL_RESULT)

    assert decide(context, settings) == decide(replace(context, text=end), settings)
