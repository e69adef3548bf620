"""What a moment of an audit says by itself."""

from __future__ import annotations

from interlock.model.audit import Moment, MomentKind


def test_a_loop_knows_which_part_of_the_tokens_it_burnt() -> None:
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
        tokens=250,
        of_tokens=1_000,
    )

    assert loop.share == 0.25


def test_where_no_tokens_are_known_no_part_of_them_was_burnt() -> None:
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
    )

    assert loop.share == 0.0
