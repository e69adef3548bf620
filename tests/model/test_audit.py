"""What a moment of an audit, and what could not be read, say by themselves."""

from __future__ import annotations

import pytest

from interlock.model.audit import Moment, MomentKind
from interlock.model.past_run import Unread


@pytest.mark.parametrize(("tokens", "of_tokens", "share"), [(250, 1_000, 0.25), (0, 0, 0.0)])
def test_a_loop_knows_which_part_of_the_tokens_it_burnt(
    tokens: int, of_tokens: int, share: float
) -> None:
    loop = Moment(
        id="4f1c9a",
        kind=MomentKind.LOOP,
        decision="pause",
        rule="loop",
        weight=1,
        text="pytest",
        why="it went round",
        client="codex",
        run="r",
        path="r.jsonl",
        step=3,
        tokens=tokens,
        of_tokens=of_tokens,
    )

    assert loop.share == share


@pytest.mark.parametrize(("line", "place"), [(12, "r.jsonl:12"), (None, "r.jsonl")])
def test_what_could_not_be_read_has_a_place(line: int | None, place: str) -> None:
    assert Unread(path="r.jsonl", line=line, reason="not JSON").place == place
