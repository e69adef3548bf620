from __future__ import annotations

import math

import pytest

from interlock.errors import InputError
from interlock.model.stop import (
    EvidenceKind,
    FinishReason,
    LastEvent,
    StopContext,
    StopEvidence,
    finish_reason_from,
    last_event_from,
)
from interlock.policy.stops.stop_row import context_from_row


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("end_turn", FinishReason.STOP),
        ("END-TURN", FinishReason.STOP),
        ("stop_sequence", FinishReason.STOP),
        ("tool_use", FinishReason.TOOL_CALLS),
        ("function_call", FinishReason.TOOL_CALLS),
        ("max_tokens", FinishReason.LENGTH),
        ("MAX_TOKENS", FinishReason.LENGTH),
        ("refusal", FinishReason.CONTENT_FILTER),
        ("SAFETY", FinishReason.CONTENT_FILTER),
        ("because", None),
        ("", None),
    ],
)
def test_clients_names_of_finish_reasons_are_known(name: str, reason: FinishReason | None) -> None:
    assert finish_reason_from(name) is reason


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("tool_result", LastEvent.TOOL_RESULT),
        ("tool-result", LastEvent.TOOL_RESULT),
        ("user", LastEvent.USER_MESSAGE),
        ("assistant_text", LastEvent.ASSISTANT_MESSAGE),
        ("none", LastEvent.NONE),
        ("thunder", None),
    ],
)
def test_clients_names_of_events_are_known(name: str, event: LastEvent | None) -> None:
    assert last_event_from(name) is event


def test_a_field_without_a_text_says_nothing_and_no_field_is_not_known() -> None:
    assert context_from_row({"text": None}).text == ""
    assert context_from_row({}).text is None


def test_a_whole_row_is_read() -> None:
    row = {
        "id": 7,
        "text": "hello",
        "last_event": "tool_result",
        "finish_reason": "end_turn",
        "tool_ratio": 1,
        "n_prev_turns": 3,
        "model": "m",
        "tool_calls": [{"name": "x"}],
        "retries": 2,
        "hard": ["paused"],
        "evidence": [{"kind": "open-todo", "text": "docs"}],
        "label": "never looked at",
    }

    assert context_from_row(row) == StopContext(
        text="hello",
        last_event=LastEvent.TOOL_RESULT,
        finish_reason=FinishReason.STOP,
        tool_ratio=1.0,
        n_prev_turns=3,
        model="m",
        tool_calls=1,
        retries=2,
        hard=("paused",),
        evidence=(StopEvidence(kind=EvidenceKind.OPEN_TODO, text="docs"),),
    )


def test_what_a_row_leaves_out_is_not_known() -> None:
    assert context_from_row({}) == StopContext()
    assert context_from_row({"finish_reason": "because", "last_event": None}) == StopContext()


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"text": 3}, "`text` is `3`, expected a string or null"),
        ({"finish_reason": []}, "`finish_reason` is `[]`, expected a string or null"),
        ({"tool_ratio": "half"}, "`tool_ratio` is `half`, expected a number or null"),
        ({"tool_ratio": True}, "`tool_ratio` is `True`, expected a number or null"),
        ({"tool_ratio": 10**400}, "`tool_ratio` is too large"),
        ({"tool_ratio": -0.1}, "`tool_ratio` is `-0.1`, expected a share such as 0.75"),
        ({"tool_ratio": math.nan}, "`tool_ratio` is `nan`, expected a share such as 0.75"),
        ({"tool_ratio": math.inf}, "`tool_ratio` is `inf`, expected a share such as 0.75"),
        ({"n_prev_turns": 1.5}, "`n_prev_turns` is `1.5`, expected a whole number or null"),
        ({"n_prev_turns": False}, "`n_prev_turns` is `False`, expected a whole number or null"),
        ({"n_prev_turns": -1}, "`n_prev_turns` is `-1`, expected a whole number of 0 or more"),
        ({"retries": -1}, "`retries` is `-1`, expected a whole number of 0 or more"),
        ({"hard": [1]}, "`hard` is not an array of strings"),
        ({"evidence": [{"kind": "x"}]}, "`evidence` is not an array of objects"),
    ],
)
def test_what_cannot_be_so_is_refused_by_name(row: dict[str, object], told: str) -> None:
    with pytest.raises(InputError) as caught:
        context_from_row(row)

    assert told in str(caught.value)
