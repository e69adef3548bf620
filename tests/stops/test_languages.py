"""Notes of agents at work in other languages, each beside its nearest harmless sibling."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from interlock.model.stop import LastEvent, StopOutcome, StopVeto
from stops.contexts import decided, goes_on

WRITTEN = msgspec.toml.decode(
    Path(__file__).with_name("language_pairs.toml").read_text(),
    type=dict[str, list[list[str] | str]],
)


def pairs(name: str) -> list[tuple[str, str]]:
    """Return the pairs of one kind that were written down."""
    return [(each[0], each[1]) for each in WRITTEN[name]]


@pytest.mark.parametrize(("at_work", "told"), pairs("at_work_and_told"))
def test_who_acts_and_when_makes_the_difference(at_work: str, told: str) -> None:
    assert goes_on(at_work)
    assert not goes_on(told)


@pytest.mark.parametrize(("left", "done"), pairs("left_and_done"))
def test_what_is_left_is_to_be_done_by_whoever_is_at_work(left: str, done: str) -> None:
    assert goes_on(left)
    assert not goes_on(left, last_event=LastEvent.USER_MESSAGE)
    assert not goes_on(done)


@pytest.mark.parametrize(("announced", "reported"), pairs("announced_and_reported"))
def test_a_remark_leaves_what_is_announced_before_it(announced: str, reported: str) -> None:
    assert goes_on(announced)
    assert not goes_on(reported)


@pytest.mark.parametrize(("bound", "beside"), pairs("bound_and_beside"))
def test_an_act_that_is_bound_to_the_end_of_something_waits_for_it(bound: str, beside: str) -> None:
    assert decided(bound).outcome is StopOutcome.WAITS
    assert goes_on(beside)


@pytest.mark.parametrize(("counted", "reported"), pairs("counted_and_reported"))
def test_a_count_that_leaves_something_over_is_no_report(counted: str, reported: str) -> None:
    assert goes_on(counted)
    assert not goes_on(counted, last_event=LastEvent.USER_MESSAGE, tool_ratio=0.0)
    assert not goes_on(reported)


@pytest.mark.parametrize(("cut", "whole"), pairs("cut_and_whole"))
def test_a_word_that_needs_another_one_is_not_the_last(cut: str, whole: str) -> None:
    assert goes_on(cut)
    assert not goes_on(whole)


@pytest.mark.parametrize(("patience", "request_"), pairs("patience_and_request"))
def test_whoever_asks_for_patience_asks_for_nothing_else(patience: str, request_: str) -> None:
    assert goes_on(patience)
    assert decided(request_).veto is StopVeto.AWAITING_USER


@pytest.mark.parametrize("text", WRITTEN["waits_for_the_person"])
@pytest.mark.parametrize("event", [LastEvent.TOOL_RESULT, LastEvent.USER_MESSAGE])
def test_what_waits_for_the_person_is_never_sent_on(text: str, event: LastEvent) -> None:
    assert not goes_on(text, last_event=event)


def test_a_script_tells_languages_apart_that_share_signs() -> None:
    # The same two signs are an adverb and a verb of Chinese, and one noun of Japanese.
    assert goes_on("現在進行測試。")
    assert not goes_on("現在進行形で動いとる。")


def test_sentences_end_where_their_script_ends_them() -> None:
    decision = decided("टेस्ट पास हो गए। अब मैं फ़ाइल अपडेट करता हूँ।")

    assert decision.outcome is StopOutcome.NUDGED
    assert not goes_on("अब मैं फ़ाइल अपडेट करता हूँ। हो गया।")
