"""Charts as inline SVG: made on the server, in ink, with every length an attribute.

Widths are in percent and heights in pixels, and there is no view box: a chart grows with its card
while its texts keep their size. Every text is escaped where it is put in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from markupsafe import Markup, escape

from interlock.model.step import StepDecision
from interlock.views import units
from interlock.views.run_curves import Bands, Mark, Point, Results, StepBar, Trend

TONES: Final = {
    StepDecision.CONTINUE: "",
    StepDecision.CHECKPOINT: "save",
    StepDecision.THROTTLE: "warn",
    StepDecision.PAUSE: "ask",
    StepDecision.STOP: "block",
}
"""How each answer to a step is coloured: going on is no news."""
MOST_BARS: Final = 120
"""A chart has so many bars; of more steps, each bar is several."""
SPARK_BARS: Final = 24

_Shape = tuple[str, dict[str, str], str]
"""An element: its name, its attributes, and the text within."""


def budget_tone(share: float) -> str:
    """Return how a budget bar is coloured: careful from 75 %, red from 95 %."""
    return "block" if share >= 0.95 else "warn" if share >= 0.75 else ""


def sparkline(bars: Sequence[StepBar]) -> Markup:
    """Return the tokens of the last steps in 24 bars, coloured where a run was not let go on."""
    latest = bars[-SPARK_BARS:]
    most = max((each.tokens for each in latest), default=0)
    label = (
        f"tokens of the last {units.counted(len(latest), 'step')}, at most {most:,}"
        if latest
        else "no steps yet"
    )
    begin, width = SPARK_BARS - len(latest), 100 / SPARK_BARS
    shapes: list[_Shape] = []
    for place, each in enumerate(latest, begin):
        height = 22 * each.tokens / most if most else 0.0
        tone = TONES[each.answer]
        where = {"x": _percent(place / SPARK_BARS), "width": f"{width * 0.68:.2f}%"}
        size = {"y": f"{24 - height:.1f}", "height": f"{height:.1f}"}
        shapes.append(("rect", {**({"class": tone} if tone else {}), **where, **size}, ""))
    return _svg({"class": "spark", "role": "img", "aria-label": label}, shapes)


def grouped_bars(bars: Sequence[StepBar]) -> Sequence[StepBar]:
    """Return at most so many bars as a chart has: of more steps, each is several in a row."""
    together = -(-len(bars) // MOST_BARS) or 1
    if together == 1:
        return bars
    groups = [bars[begin : begin + together] for begin in range(0, len(bars), together)]
    return [
        StepBar(
            first=each[0].first,
            last=each[-1].last,
            tokens=sum(bar.tokens for bar in each) // len(each),
            answer=max((bar.answer for bar in each), key=lambda answer: answer.rank),
        )
        for each in groups
    ]


_LEFT: Final = 8.0
"""Percent of the width that the names of the amounts take."""
_FLOOR: Final = 140
_ROOM: Final = 116
_FEWEST_PLACES: Final = 24


def token_chart(bars: Sequence[StepBar], trend: Trend | None, marks: Sequence[Mark]) -> Markup:
    """Return the tokens of each step over a strip of the answers, each a link to its step."""
    grouped = grouped_bars(bars)
    if not grouped:
        return _svg(
            {"class": "chart", "height": "184", "role": "img", "aria-label": "no steps yet"}
        )
    top = _round_above(max(each.tokens for each in grouped))
    places = _Places(grouped)
    shapes: list[_Shape] = [
        _line("grid", (f"{_LEFT:g}%", "24.0"), ("100%", "24.0")),
        _line("grid", (f"{_LEFT:g}%", "82.0"), ("100%", "82.0")),
        _line("axis", (f"{_LEFT:g}%", str(_FLOOR)), ("100%", str(_FLOOR))),
        *(shape for place in range(len(grouped)) for shape in places.shapes(place, top)),
        *_trend_shapes(places, trend, top),
        *(shape for mark in marks for shape in places.mark(mark)),
        ("text", {"x": "0", "y": "28.0"}, _thousands(top)),
        ("text", {"x": "0", "y": "86.0"}, _thousands(top / 2)),
    ]
    least, most = (f"{pick(each.tokens for each in bars):,}" for pick in (min, max))
    label = f"Tokens per step, {units.counted(len(bars), 'step')}, from {least} to {most}"
    return _svg({"class": "chart", "height": "184", "role": "group", "aria-label": label}, shapes)


class _Places:
    """Where each bar of the token chart stands."""

    def __init__(self, bars: Sequence[StepBar]) -> None:
        self.bars = bars
        self._width = (100 - _LEFT) / max(len(bars), _FEWEST_PLACES)
        self._named = max(1, -(-len(bars) // 6))

    def middle(self, place: float) -> float:
        """Return where the middle of a bar is, in percent."""
        return _LEFT + (place + 0.5) * self._width

    def shapes(self, place: int, top: float) -> Iterator[_Shape]:
        """Yield a bar, the cell of its answer, and here and there its number."""
        bar = self.bars[place]
        height = _ROOM * bar.tokens / top if top else 0.0
        x = f"{self.middle(place) - self._width * 0.38:.2f}%"
        width = f"{self._width * 0.76:.2f}%"
        title = f"{bar.name}: {bar.tokens:,} tokens, {bar.answer.value}"
        body = Markup("<title>{}</title>").format(title)
        size = {"y": f"{_FLOOR - height:.1f}", "height": f"{height:.1f}"}
        yield "rect", {"class": "bar", "x": x, "width": width, **size}, body
        cell = {"class": f"cell {TONES[bar.answer]}".strip(), "x": x, "width": width}
        rect = _element("rect", {**cell, "y": "146", "height": "8", "rx": "1"})
        link = {"href": f"#step-{bar.last}", "tabindex": "-1"}
        yield "a", {**link, "aria-label": f"{bar.name}, {bar.answer.value}"}, rect
        if place % self._named == 0:
            at = {"x": f"{self.middle(place):.2f}%", "y": "170", "text-anchor": "middle"}
            yield "text", at, str(bar.first)

    def mark(self, mark: Mark) -> Iterator[_Shape]:
        """Yield a line through a step with its name above, if the step is shown."""
        place = next(
            (at for at, bar in enumerate(self.bars) if bar.first <= mark.step <= bar.last), None
        )
        if place is None:
            return
        x = f"{self.middle(place):.2f}%"
        dashed = {"stroke-dasharray": "2 3"} if mark.tone == "save" else {}
        name, ends, body = _line(f"mark {mark.tone}", (x, "14"), (x, "156"))
        yield name, {**ends, **dashed}, body
        is_last = place > 0.9 * max(len(self.bars), _FEWEST_PLACES)
        anchor = "end" if is_last else "middle"
        yield "text", {"class": mark.tone, "x": x, "y": "10", "text-anchor": anchor}, mark.text


def _trend_shapes(places: _Places, trend: Trend | None, top: float) -> Iterator[_Shape]:
    """Yield the straight line through the last steps, and how steep it is."""
    bars = places.bars[-trend.steps :] if trend is not None else ()
    if trend is None or len(bars) < 2 or any(bar.first != bar.last for bar in bars):
        return
    mean = sum(bar.tokens for bar in bars) / len(bars)
    half = trend.slope * mean * (len(bars) - 1) / 2
    first, last = len(places.bars) - len(bars), len(places.bars) - 1
    ys = [_FLOOR - _ROOM * min(max(mean + side, 0), top * 1.1) / top for side in (-half, half)]
    begin, end = (f"{places.middle(each):.2f}%" for each in (first, last))
    yield _line("trend", (begin, f"{ys[0]:.1f}"), (end, f"{ys[1]:.1f}"))
    if trend.slope > trend.limit:
        text = f"{trend.slope:+.1%} per step (limit {trend.limit:.0%})".replace("%", " %")
        # Above whatever stands where the words go.
        tallest = max((bar.tokens for bar in places.bars[: first + 1]), default=0)
        y = min(ys[0], _FLOOR - _ROOM * tallest / top) - 6
        yield "text", {"class": "ink", "x": f"{_LEFT:g}%", "y": f"{y:.1f}"}, text


def coherence_chart(points: Sequence[Point], bands: Bands) -> Markup:
    """Return coherence in its four bands, with rework below."""
    known = [each for each in points if each.coherence is not None]
    reworked = [each for each in points if each.rework is not None]
    scale = _Scale(points)
    shapes: list[_Shape] = [
        *_band_shapes(bands),
        *scale.curve([(each.step, _coherence_y(each.coherence or 0)) for each in known], ""),
        _line("axis", ("0", "160"), ("100%", "160")),
        _line("limit", ("0", "132.0"), ("100%", "132.0")),
        ("text", {"x": "6", "y": "144.0"}, f"rework, at most {bands.max_rework:.2f}"),
        *scale.curve(
            [(each.step, _rework_y(each.rework or 0, bands)) for each in reworked], " second"
        ),
        *scale.names(),
    ]
    coherence, rework = last_figures(points)
    label = (
        f"Coherence {coherence} of 1, with bands at {bands.restricted_below:g},"
        f" {bands.read_only_below:g} and {bands.min_coherence:g};"
        f" rework {rework}, limit {bands.max_rework:g}"
    )
    return _svg({"class": "chart", "height": "184", "role": "img", "aria-label": label}, shapes)


def last_figures(points: Sequence[Point]) -> tuple[str, str]:
    """Return the latest coherence and rework that are known, in words."""
    coherence = next((p.coherence for p in reversed(points) if p.coherence is not None), None)
    rework = next((p.rework for p in reversed(points) if p.rework is not None), None)
    first, second = ("unknown" if each is None else f"{each:.2f}" for each in (coherence, rework))
    return first, second


_TOP: Final = 4.0
_DEPTH: Final = 160.0
"""Pixels from coherence 1 down to 0; what is below the last band is cut."""


def _coherence_y(value: float) -> float:
    return min(_TOP + _DEPTH * (1 - value), 116.0)


def _rework_y(value: float, bands: Bands) -> float:
    return max(160 - 28 * value / (bands.max_rework or 1), 124.0)


def _band_shapes(bands: Bands) -> Iterator[_Shape]:
    edges = [_coherence_y(each) for each in (*bands[:3],)]
    yield "text", {"x": "6", "y": f"{edges[0] - 4:.1f}"}, "no extra limits"
    ends = (*edges[1:], max(edges[2] + 16, 116.0))
    names = ("asks before it deletes", "may only read", "stopped")
    tones = ("zone", "zone two", "zone three")
    for edge, end, name, tone, value in zip(edges, ends, names, tones, bands[:3], strict=True):
        height = max(end - edge, 0)
        yield (
            "rect",
            {
                "class": tone,
                "x": "0",
                "width": "100%",
                "y": f"{edge:.1f}",
                "height": f"{height:.1f}",
            },
            "",
        )
        if height >= 12:
            yield "text", {"x": "6", "y": f"{end - 4:.1f}"}, name
            at = {"x": "100%", "dx": "-6", "y": f"{edge + 12:.1f}", "text-anchor": "end"}
            yield "text", at, f"{value:g}"


class _Scale:
    """Where steps stand on a chart that has one place for each."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._first = points[0].step if points else 0
        self._last = points[-1].step if points else 0
        self._count = max(self._last - self._first + 1, _FEWEST_PLACES)

    def x(self, step: int) -> str:
        """Return where a step stands."""
        return f"{100 * (step - self._first + 0.5) / self._count:.2f}%"

    def curve(self, points: Sequence[tuple[int, float]], tone: str) -> Iterator[_Shape]:
        """Yield a line through the points, and a dot at the last."""
        for (step, y), (after, next_y) in pairwise(points):
            ends = (self.x(step), f"{y:.1f}"), (self.x(after), f"{next_y:.1f}")
            yield _line(f"curve{tone}", *ends)
        if points:
            step, y = points[-1]
            radius = "3" if tone else "3.5"
            at = {"class": "dot", "cx": self.x(step), "cy": f"{y:.1f}", "r": radius}
            yield "circle", at, ""

    def names(self) -> Iterator[_Shape]:
        """Yield the numbers of the first and the last step."""
        yield "text", {"x": "0", "y": "176"}, f"step {self._first}"
        if self._last > self._first:
            at = {"x": self.x(self._last), "y": "176", "text-anchor": "end"}
            yield "text", at, str(self._last)


_MOST_TEST_RUNS: Final = 24
_FEWEST_TEST_RUNS: Final = 8


def results_chart(results: Sequence[Results]) -> Markup:
    """Return how many tests failed and passed each time they were run."""
    latest = results[-_MOST_TEST_RUNS:]
    if not latest:
        return _svg(
            {"class": "chart", "height": "184", "role": "img", "aria-label": "no test results yet"}
        )
    most = max(each.failed + each.passed for each in latest) or 1
    width = 100 / max(len(latest), _FEWEST_TEST_RUNS)
    shapes = [_line("axis", ("0", "156"), ("100%", "156"))]
    named = max(1, -(-len(latest) // 5))
    for place, each in enumerate(latest):
        shapes.extend(_test_shapes(each, place, width, most, is_named=place % named == 0))
    last = latest[-1]
    label = (
        f"Test results of {units.counted(len(results), 'test run')},"
        f" last {last.failed} failed and {last.passed} passed"
    )
    return _svg({"class": "chart", "height": "184", "role": "img", "aria-label": label}, shapes)


def _test_shapes(
    run: Results, place: int, width: float, most: int, *, is_named: bool
) -> Iterator[_Shape]:
    passed, failed = (136 * each / most for each in (run.passed, run.failed))
    where = {"x": f"{(place + 0.12) * width:.2f}%", "width": f"{width * 0.76:.2f}%"}
    middle = {"x": f"{(place + 0.5) * width:.2f}%", "text-anchor": "middle"}
    title = f"step {run.step}: {run.failed} failed, {run.passed} passed"
    body = Markup("<title>{}</title>").format(title)
    size = {"y": f"{156 - passed:.1f}", "height": f"{passed:.1f}"}
    yield "rect", {"class": "pass", **where, **size}, body
    if run.failed:
        top = 155 - passed - failed
        yield "rect", {"class": "fail", **where, "y": f"{top:.1f}", "height": f"{failed:.1f}"}, body
        yield "text", {**middle, "y": f"{top - 4:.1f}"}, str(run.failed)
    if is_named:
        yield "text", {**middle, "y": "174"}, str(run.step)


def burn_down(left: Sequence[int], limit: int, more_steps: int | None) -> Markup:
    """Return what was left of a budget at each step, and where that leads at the present pace."""
    label = (
        f"{units.dollars(max(left[-1], 0))} of {units.dollars(limit)} left"
        if left
        else "no steps yet"
    )
    if more_steps is not None:
        label += f"; about {units.counted(more_steps, 'more step')} at the present pace"
    ahead = min(more_steps or 0, max(3 * len(left), _FEWEST_PLACES))
    whole = max(len(left) - 1 + ahead, 1)
    ys = [3 + 28 * (1 - min(max(each / limit, 0), 1)) if limit else 31.0 for each in left]
    shapes = [_line("axis", ("0", "31"), ("100%", "31"))]
    points = [(_percent(at / whole), f"{y:.1f}") for at, y in enumerate(ys)]
    shapes.extend(_line("burn", *ends) for ends in pairwise(points))
    if points and more_steps:
        fall = ahead / more_steps
        end = ys[-1] + (31 - ys[-1]) * fall
        shapes.append(_line("trend", points[-1], ("100%", f"{end:.1f}")))
    return _svg({"class": "chart", "height": "34", "role": "img", "aria-label": label}, shapes)


def _round_above(number: int) -> float:
    """Return a round number that is not below this one."""
    size = 10.0 ** max(len(str(max(number, 1))) - 1, 0)
    steps = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
    return next((size * each for each in steps if size * each >= number), size * 10)


def _thousands(number: float) -> str:
    if number >= 1_000_000:
        return f"{number / 1_000_000:g} M"
    return f"{number / 1000:g} k" if number >= 1000 else f"{number:g}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f}%"


def _line(tone: str, begin: tuple[str, str], end: tuple[str, str]) -> _Shape:
    ends = {"x1": begin[0], "y1": begin[1], "x2": end[0], "y2": end[1]}
    return "line", {"class": tone, **ends}, ""


def _svg(attributes: dict[str, str], shapes: Iterable[_Shape] = ()) -> Markup:
    drawn = Markup().join([_element(name, given, body) for name, given, body in shapes])
    return _element("svg", attributes, drawn)


def _element(name: str, attributes: dict[str, str], body: str = "") -> Markup:
    # A chart has hundreds of elements: `Markup.format` would take most of a page's time.
    written = "".join([f' {key}="{escape(value)}"' for key, value in attributes.items()])
    return Markup(f"<{name}{written}>{escape(body)}</{name}>")  # noqa: S704 - both names are ours, the rest is escaped
