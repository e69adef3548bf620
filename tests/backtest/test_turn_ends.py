"""Where the turns of a past run ended."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.backtest.hindsight import watched
from interlock.backtest.turn_ends import TurnEnd, TurnEnds
from interlock.model.past_run import PastStep
from interlock.model.stop import EvidenceKind, FinishReason, LastEvent
from interlock.policy.config.run_sections import Loops, Steps

ASKS = PastStep(role="user", text="fix the test")


def says(text: str, finish_reason: str | None = None) -> PastStep:
    return PastStep(text=text, finish_reason=finish_reason, model="m1")


def calls(result: str = "ok", todos: tuple[str, ...] | None = None) -> PastStep:
    return PastStep(tool="Bash", arguments="make", result=result, todos=todos)


def ends(*steps: PastStep) -> Sequence[TurnEnd]:
    """Return every end of a turn, the one at the end of the run included."""
    turns = TurnEnds("m0")
    found = [turns.add(each.step, each.seen) for each in watched(steps, Steps(), Loops())]
    return [each for each in (*found, turns.end()) if each is not None]


def test_a_turn_ends_where_a_person_speaks_and_where_the_run_does() -> None:
    found = ends(ASKS, says("one"), PastStep(role="user", text="go on"), calls(), says("two"))

    assert [each.step.text for each in found] == ["one", "two"]
    assert [each.context.last_event for each in found] == [
        LastEvent.USER_MESSAGE,
        LastEvent.TOOL_RESULT,
    ]
    assert [each.context.tool_ratio for each in found] == [None, 0.5]


def test_words_that_something_came_of_end_nothing() -> None:
    assert ends(ASKS, says("Now let me run it:"), calls()) == []
    assert ends(ASKS, says("  ")) == []


def test_of_two_messages_the_last_one_ends_the_turn() -> None:
    [end] = ends(ASKS, says("wait"), says("done", finish_reason="end_turn"))

    assert (end.step.text, end.context.last_event) == ("done", LastEvent.ASSISTANT_MESSAGE)
    assert (end.context.finish_reason, end.context.model) == (FinishReason.STOP, "m1")


def test_what_is_left_is_evidence() -> None:
    failing = calls("==== 2 failed, 3 passed in 0.1s ====", todos=("write the test",))
    [end] = ends(ASKS, failing, calls(), says("done"))

    assert [(each.kind, each.text) for each in end.context.evidence] == [
        (EvidenceKind.OPEN_TODO, "write the test"),
        (EvidenceKind.FAILING_CHECK, "2 of 5 tests failed"),
    ]


def test_the_model_of_the_run_counts_where_a_message_names_none() -> None:
    [end] = ends(PastStep(text="done"))

    assert end.context.model == "m0"


def test_a_turn_that_is_broken_off_does_not_end_however_often() -> None:
    stops = PastStep(role="user", text="[Request interrupted by user]")
    steps = [ASKS, says("Next I run"), stops, PastStep(role="user", text="no"), calls()]

    assert ends(*steps, says("And then"), stops, PastStep(role="user", text="not so")) == []
