"""Charts: values in, inline SVG out, with a sentence as label and nothing scaled."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from interlock.model.step import StepDecision
from interlock.server.console import charts
from interlock.server.markup.safe_html import thin_bar
from interlock.views.run_curves import Bands, Mark, Point, Results, StepBar, Trend

BANDS = Bands(restricted_below=0.7, read_only_below=0.5, min_coherence=0.4, max_rework=0.3)


def bars(count: int, answer: StepDecision = StepDecision.CONTINUE) -> list[StepBar]:
    return [StepBar(each, each, 1000 + 100 * each, answer) for each in range(count)]


def drawn(chart: str) -> ET.Element:
    """Return the chart as a browser would read it: it must be well formed."""
    return ET.fromstring(chart)


EVERY = {
    "thin": thin_bar(0.5, "warn", held=0.2),
    "spark": charts.sparkline(bars(30)),
    "spark-empty": charts.sparkline([]),
    "tokens": charts.token_chart(
        bars(28),
        Trend(slope=0.082, limit=0.02, steps=10),
        [Mark(20, "save", "saved"), Mark(27, "ask", "pause")],
    ),
    "tokens-one": charts.token_chart(bars(1), Trend(0.5, 0.02, 10), ()),
    "tokens-none": charts.token_chart([StepBar(0, 0, 0, StepDecision.STOP)], None, ()),
    "tokens-empty": charts.token_chart([], None, ()),
    "coherence": charts.coherence_chart(
        [Point(step, 1 - step / 20, step / 40) for step in range(28)], BANDS
    ),
    "coherence-empty": charts.coherence_chart([], BANDS),
    "results": charts.results_chart([Results(7, 6, 12), Results(9, 0, 0)]),
    "results-empty": charts.results_chart([]),
    "burn": charts.burn_down([3_000_000, 2_000_000], 3_000_000, 24),
    "burn-empty": charts.burn_down([], 0, None),
}


@pytest.mark.parametrize("chart", EVERY.values(), ids=EVERY)
def test_is_well_formed_and_neither_scales_nor_styles(chart: str) -> None:
    svg = drawn(chart)

    names = {name for element in svg.iter() for name in element.attrib}
    assert svg.tag == "svg"
    assert "viewBox" not in names
    assert "style" not in names
    assert svg.get("aria-label") or svg.get("aria-hidden") == "true"


def test_says_in_a_sentence_what_it_shows() -> None:
    assert drawn(EVERY["tokens"]).get("aria-label") == (
        "Tokens per step, 28 steps, from 1,000 to 3,700"
    )
    assert "Coherence 0.00 of 1" not in str(EVERY["coherence-empty"])
    assert "rework unknown" in str(EVERY["coherence-empty"])
    assert drawn(EVERY["burn"]).get("aria-label") == (
        "$2.00 of $3.00 left; about 24 more steps at the present pace"
    )


def test_many_steps_share_bars_and_the_most_severe_answer_shows() -> None:
    steps = bars(1000)
    steps[501] = steps[501]._replace(answer=StepDecision.PAUSE)

    grouped = charts.grouped_bars(steps)

    assert len(grouped) <= charts.MOST_BARS
    assert [bar.answer for bar in grouped].count(StepDecision.PAUSE) == 1
    assert (grouped[0].first, grouped[-1].last) == (0, 999)


def test_only_what_was_not_let_go_on_is_coloured() -> None:
    svg = drawn(charts.sparkline([*bars(2), *bars(1, StepDecision.THROTTLE)]))

    assert [rect.get("class") for rect in svg] == [None, None, "warn"]


def test_each_answer_leads_to_its_step() -> None:
    links = [each.get("href") for each in drawn(EVERY["tokens"]).iter("a")]

    assert links == [f"#step-{each}" for each in range(28)]


def test_text_is_escaped_where_it_is_put_in() -> None:
    hostile = Mark(0, "ask", "</text><script>alert(1)</script>")

    chart = charts.token_chart(bars(3), None, [hostile])

    assert "<script>" not in chart
    assert "&lt;script&gt;" in chart


@pytest.mark.parametrize(
    ("share", "tone"), [(0.1, ""), (0.75, "warn"), (0.95, "block"), (7.0, "block")]
)
def test_a_budget_is_coloured_when_it_comes_near_its_limit(share: float, tone: str) -> None:
    assert charts.budget_tone(share) == tone
    assert "100.00%" in thin_bar(7.0)
