"""A question of the loop, in the inbox beside those of the agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.run_scenes import Scene
from interlock.server.console.inbox_page import question_page
from interlock.server.desk.desk import Desk
from loop.conftest import opened_bench
from loop.loop_bench import JOB, LoopBench, answered


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopBench]:
    yield from opened_bench(str(tmp_path / "ledger.db"), tmp_path, monkeypatch)


def test_the_loop_asks_what_it_would_do(bench: LoopBench):
    loop = bench.loop(JOB)
    loop.send("ci/build.failed", None)
    asked = answered(loop, bench.clock).approval
    assert asked is not None
    scene = Scene(Desk(bench.interlock.governor), bench.clock, "nobody's")

    html = scene.html(scene.page(question_page, {"approval": asked}))

    assert "May the loop do this?" in html
    assert "start_loop mend" in html
    assert "lets the loop do exactly this, once" in html
    assert "/runs/loop/records/" in html
