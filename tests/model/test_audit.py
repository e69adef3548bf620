"""What a moment of an audit says by itself."""

from __future__ import annotations

import pytest

from interlock.model.audit import Moment, MomentKind


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
