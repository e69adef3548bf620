"""The history of answers: bounded, and added up as it grows."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model import step_history
from interlock.model.step import Remaining, StepDecision
from interlock.model.step_history import MOST_ENTRIES, History, HistoryEntry, entry_from_decision
from interlock.policy.config.run_sections import Steps
from interlock.policy.steps.continue_gate import decide
from steps.contexts import a_context, a_sign

DEFAULTS = Steps()
CONTINUE, CHECKPOINT, THROTTLE, PAUSE, STOP = StepDecision

figures = st.none() | st.integers(0, 1000).map(lambda thousandths: thousandths / 1000)
entries = st.builds(
    HistoryEntry,
    step=st.none() | st.integers(0, 100),
    decision=st.sampled_from(StepDecision),
    codes=st.lists(st.sampled_from(["loop", "rework", "slope"]), unique=True).map(tuple),
    slope=figures,
    rework_ratio=figures,
)


def a_history(*some: HistoryEntry) -> History:
    history = History()
    for entry in some:
        history.add(entry)
    return history


def an_entry(
    decision: StepDecision = CONTINUE, step: int | None = None, tokens: int | None = None
) -> HistoryEntry:
    return HistoryEntry(decision=decision, step=step, tokens_used=tokens)


def test_an_empty_history_knows_nothing():
    known = History().statistics()

    assert known.evaluations == 0
    assert set(known.decisions.values()) == {0}
    assert (known.mean_slope, known.mean_rework_ratio) == (None, None)
    assert (known.reason_shares, known.tokens_after_signal) == ({}, None)


def test_keeps_the_last_10_000_of_10_002_evaluations():
    history = a_history(*(an_entry(step=step) for step in range(10_002)))

    assert len(history.entries) == MOST_ENTRIES == 10_000
    assert history.statistics().evaluations == 10_000
    assert (history.entries[0].step, history.entries[-1].step) == (2, 10_001)


def test_counts_every_decision():
    history = History()
    for step, coherence in [(1, 0.8), (2, 0.8), (3, 0.1), (25, 0.8)]:
        context = a_context(step_number=step, coherence_score=coherence, rework_count=0)
        history.add(entry_from_decision(context, decide(context, DEFAULTS)))

    assert history.statistics().decisions == {
        "continue": 2,
        "checkpoint": 1,
        "throttle": 0,
        "pause": 0,
        "stop": 1,
    }


def test_an_entry_tells_each_reason_once():
    context = a_context(
        signs=(a_sign("loop", PAUSE, "one"), a_sign("loop", STOP, "two")),
        budget_remaining=Remaining(tokens=0),
        steps_tokens=(1000,) * 10,
        total_tokens_used=70,
    )

    assert entry_from_decision(context, decide(context, DEFAULTS)) == HistoryEntry(
        step=10,
        decision=STOP,
        codes=("budget", "loop"),
        slope=0.0,
        rework_ratio=0.1,
        tokens_used=70,
    )


def test_tells_the_share_of_answers_that_gave_a_reason():
    history = a_history(
        HistoryEntry(decision=PAUSE, codes=("loop", "rework")),
        HistoryEntry(decision=PAUSE, codes=("rework",)),
        an_entry(),
        an_entry(),
    )

    assert history.statistics().reason_shares == {"loop": 0.25, "rework": 0.5}


def test_means_are_of_the_figures_that_are_known():
    history = a_history(
        HistoryEntry(decision=CONTINUE, slope=0.1, rework_ratio=0.2),
        HistoryEntry(decision=CONTINUE, slope=-0.3),
        an_entry(),
    )

    assert history.statistics().mean_slope == -0.1
    assert history.statistics().mean_rework_ratio == 0.2


def test_follows_the_tokens_after_the_first_pause_or_stop():
    history = a_history(
        an_entry(step=1, tokens=100),
        an_entry(THROTTLE, step=2, tokens=200),
        an_entry(PAUSE, step=3, tokens=300),
        an_entry(STOP, step=4, tokens=450),
        an_entry(step=5),
    )

    assert history.statistics().first_signal_step == 3
    assert history.statistics().tokens_after_signal == 150


def test_a_signal_without_a_count_stands_where_tokens_were_last_counted():
    history = a_history(an_entry(tokens=100), an_entry(STOP), an_entry(tokens=130))

    assert history.statistics().tokens_after_signal == 30


@pytest.mark.parametrize(
    "some",
    [
        [an_entry(tokens=5)],
        [an_entry(STOP), an_entry()],
        [an_entry(STOP), an_entry(tokens=9)],
    ],
    ids=["no signal", "no tokens", "no tokens up to the signal"],
)
def test_tokens_after_a_signal_are_unknown_without_both(some: list[HistoryEntry]):
    assert a_history(*some).statistics().tokens_after_signal is None


def test_the_first_signal_is_remembered_when_it_is_no_longer_kept(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(step_history, "MOST_ENTRIES", 2)
    history = a_history(an_entry(STOP, step=1, tokens=10), *[an_entry(tokens=40)] * 3)

    assert history.statistics().decisions["stop"] == 0
    assert history.statistics().first_signal_step == 1
    assert history.statistics().tokens_after_signal == 30


@given(st.lists(entries, max_size=30))
def test_what_is_forgotten_leaves_no_trace_in_the_figures(some: list[HistoryEntry]):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_history, "MOST_ENTRIES", 7)
        rolling, fresh = a_history(*some).statistics(), a_history(*some[-7:]).statistics()

    assert (
        rolling.decisions
        == fresh.decisions
        == {
            each.value: Counter(entry.decision for entry in some[-7:])[each]
            for each in StepDecision
        }
    )
    assert rolling.reason_shares == fresh.reason_shares
    assert rolling.mean_slope == fresh.mean_slope
    assert rolling.mean_rework_ratio == fresh.mean_rework_ratio
