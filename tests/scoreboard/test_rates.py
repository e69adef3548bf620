"""Intervals, thresholds that are chosen without a source, and pictures, each by itself."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from interlock.adapters.histories.own_rows import run_from_json
from interlock.backtest.calibrate.calibration import Case, Search
from interlock.backtest.hindsight import judged
from interlock.policy.config.run_sections import Loops, Steps
from labelled_data import files_of, read
from left_out import Chosen, Figures, case_of, chosen_without_each, figures
from rates import Rate, drawn
from scoreboard_picture import Line, Mark, Panels, picture
from secret_accuracy import made_from_rules, made_from_ways
from step_accuracy import paused_at


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [(0, 0, 0, 1), (0, 10, 0, 0.2775), (10, 10, 0.7225, 1), (50, 100, 0.4038, 0.5962)],
)
def test_a_rate_has_the_interval_of_wilson(hits: int, total: int, low: float, high: float) -> None:
    assert Rate(hits, total).interval == pytest.approx((low, high), abs=1e-4)


def test_a_share_is_drawn_from_groups_and_the_same_every_time() -> None:
    one_group = [("a", 1.0, 2.0)] * 50
    many = [(str(place), float(place % 2), 1.0) for place in range(50)]

    share = drawn(one_group)

    assert share is not None
    assert (share.share, share.interval, share.runs) == (0.5, (0.5, 0.5), 50)
    spread = drawn(many)
    assert spread is not None
    assert spread == drawn(many)
    assert spread.interval[0] < 0.5 < spread.interval[1]
    assert drawn([("a", 0.0, 0.0)]) is None
    assert drawn([]) is None


SEARCH = Search(least=1, most=4, current=2, promise=0.025)


def cases(source: str, *, good: list[int], bad: list[int]) -> list[Case]:
    """Rows that are held from the lowest threshold up to one of four."""
    return [
        case_of(source, [(each, each <= top) for each in range(1, 5)], is_good=is_good)
        for is_good, tops in ((True, good), (False, bad))
        for top in tops
    ]


def test_a_threshold_holds_what_reaches_it() -> None:
    told = cases("a", good=[0, 1, 4], bad=[2, 3])

    assert figures(told, 1) == Figures(Rate(2, 3), Rate(2, 2))
    assert figures(told, 3) == Figures(Rate(1, 3), Rate(1, 2))


def test_no_source_and_no_default_has_a_say_in_its_own_threshold() -> None:
    told = cases("a", good=[3] * 200, bad=[4]) + cases("b", good=[0] * 200, bad=[1, 3])

    without = chosen_without_each(told, SEARCH)

    assert without == {"a": Chosen(1, keeps=True), "b": Chosen(4, keeps=True)}
    assert chosen_without_each(cases("a", good=[0], bad=[1]), SEARCH) == {}


def test_the_highest_is_taken_where_none_is_shown_to_keep_the_promise() -> None:
    told = cases("a", good=[0], bad=[1]) + cases("b", good=[0], bad=[1])

    assert chosen_without_each(told, SEARCH)["a"] == Chosen(4, keeps=False)


@pytest.mark.parametrize("count", range(1, 8))
def test_a_run_is_paused_where_the_gate_itself_pauses_it(count: int) -> None:
    step = '{"role": "assistant", "tool": "Bash", "args": "x", "result_excerpt": "1 failed"}'
    run = run_from_json(f'{{"steps": [{", ".join([step] * count)}]}}'.encode())

    assert paused_at(run, 100) == judged(run, Steps(), Loops()).stop_at


def test_reads_files_by_how_their_name_begins_even_broken_ones(tmp_path: Path) -> None:
    packed = gzip.compress(b'{"a": 1}\n' * 100_000)
    (tmp_path / "stops.b.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "stops.a.jsonl").write_bytes(b'{"a": 1}\n\n')
    (tmp_path / "stops.txt").touch()

    plain, broken = files_of("stops", tmp_path)

    assert read(plain, bytes).rows == [b'{"a": 1}\n']
    assert read(broken, bytes).unread == 1
    assert files_of("stops", None) == []


def test_credentials_are_made_the_same_every_time_and_each_but_once() -> None:
    assert made_from_rules() == made_from_rules()
    texts = [row.text for row in made_from_ways()]
    assert texts == [row.text for row in made_from_ways()]
    assert len(set(texts)) == len(texts) >= 300


def test_a_picture_shows_every_line_on_light_and_on_dark_ground() -> None:
    lines = [
        Line("a <b>", (Mark(Rate(1, 2)), Mark(Rate(0, 0)))),
        Line("d" * 90, (Mark(Rate(0, 0)), Mark(Rate(0, 0)))),
        Line("c", (Mark(Rate(1, 2), Rate(2, 2)), Mark(Rate(1, 100)))),
    ]

    drawing = picture(Panels(("caught", "false"), "beside", (("by tool", lines),)))

    tree = ET.fromstring(drawing)
    texts = [each.text for each in tree.iter() if each.tag.endswith("text")]
    assert {
        "a <b>",
        "d" * 41 + "...",
        "c",
        "by tool",
        "caught",
        "false",
        "beside",
        "100 %",
        "5 %",
    } <= {*texts}
    assert drawing.count('class="dot"') == 1 + 3
    assert drawing.count('class="beside"') == 1 + 1
    assert "prefers-color-scheme: dark" in drawing
    assert max(float(each) for each in re.findall(r'cx="([\d.]+)"', drawing)) <= 1000
