"""What a step of a past run, and what could not be read of one, say by themselves."""

from __future__ import annotations

import pytest

from interlock.model.budget import TokenUsage
from interlock.model.past_run import PastStep, Unread


@pytest.mark.parametrize(
    ("usage", "tokens"), [(TokenUsage(input_tokens=100, output_tokens=5), 105), (None, None)]
)
def test_a_step_knows_its_tokens_where_they_were_counted(
    usage: TokenUsage | None, tokens: int | None
) -> None:
    assert PastStep(usage=usage).tokens == tokens


@pytest.mark.parametrize(("line", "place"), [(12, "r.jsonl:12"), (None, "r.jsonl")])
def test_what_could_not_be_read_has_a_place(line: int | None, place: str) -> None:
    assert Unread(path="r.jsonl", line=line, reason="not JSON").place == place
