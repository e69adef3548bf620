"""The curve as a picture: what is caught against what is held by mistake, light and dark."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import Final

from interlock.backtest.calibrate.calibration import Calibration, Point
from interlock.backtest.calibrate.calibration_report import CalibrationReport

OWN_PICTURE: Final = "<metadata>Interlock calibration curve</metadata>"
"""Every picture says so of itself: by that it is known again."""
_PANEL: Final = 330
_HIGH: Final = 300
_LEFT: Final = 70
_TOP: Final = 70
_APART: Final = 430
_LEAST: Final = 0.001
"""What lies left of this is drawn there: the axis is logarithmic."""
_TICKS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_STYLE: Final = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .small { font-size: 11px; fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .kept { fill: #1a7f37; fill-opacity: .13 }
  .curve { fill: none; stroke: #0a84c6; stroke-width: 3 }
  .point { fill: #0a84c6 }
  .chosen { fill: #c2571a }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .kept { fill: #3fb950; fill-opacity: .2 }
    .curve { stroke: #4aa8e8 }
    .point { fill: #4aa8e8 }
    .chosen { fill: #f0883e }
  }
"""


def picture(report: CalibrationReport) -> str:
    """Return a panel for each gate."""
    stops = None if report.stops is None else report.stops.threshold
    panels = [
        (title, found)
        for title, found in (
            ("step gate: failed runs that are caught", report.steps),
            ("stop gate: unfinished turns that are sent on", stops),
        )
        if found is not None
    ]
    return "\n".join(_lines(panels)) + "\n"


def _lines(panels: list[tuple[str, Calibration]]) -> Iterator[str]:
    width = _LEFT + _APART * max(1, len(panels))
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_TOP + _HIGH + 60}"'
        ' role="img" aria-label="caught against held by mistake, by threshold">'
    )
    yield OWN_PICTURE
    yield f"<style>{_STYLE}</style>"
    for place, (title, found) in enumerate(panels):
        left = _LEFT + place * _APART
        yield from _panel(left, title, found)
        yield from _curve(left, found)
    yield "</svg>"


def _panel(left: int, title: str, found: Calibration) -> Iterator[str]:
    promised = _across(left, found.search.promise)
    yield f'<text class="title" x="{left}" y="{_TOP - 30}">{escape(title)}</text>'
    yield (
        f'<rect class="kept" x="{left}" y="{_TOP}" width="{promised - left:.1f}" height="{_HIGH}"/>'
    )
    yield f'<text class="small" x="{left + 4}" y="{_TOP + 14}">promised</text>'
    for tick in _TICKS:
        x = _across(left, tick)
        yield f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_up(0):.0f}"/>'
        yield (
            f'<text class="small" x="{x:.1f}" y="{_up(0) + 16:.0f}" text-anchor="middle">'
            f"{'≤ ' if tick == _LEAST else ''}{100 * tick:g}</text>"
        )
    for tenth in range(0, 11, 2):
        y = _up(tenth / 10)
        yield f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{left + _PANEL}" y2="{y:.1f}"/>'
        yield (
            f'<text class="small" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{10 * tenth} %</text>"
        )
    yield (
        f'<text class="small" x="{left + _PANEL / 2}" y="{_up(0) + 34:.0f}" text-anchor="middle">'
        "held by mistake, in % (logarithmic)</text>"
    )


def _curve(left: int, found: Calibration) -> Iterator[str]:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (_place(left, each) for each in found.curve))
    yield f'<polyline class="curve" points="{path}"/>'
    for each in found.curve:
        x, y = _place(left, each)
        is_chosen = found.chosen is not None and found.chosen.threshold == each.threshold
        kind, radius = ("chosen", 6) if is_chosen else ("point", 3)
        yield (
            f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"><title>'
            f"{each.threshold}: {each.false_stops} of {each.good} held by mistake,"
            f" {each.caught} of {each.bad} caught</title></circle>"
        )
        if is_chosen:
            yield f'<text x="{x + 10:.1f}" y="{y - 8:.1f}">{each.threshold}</text>'


def _place(left: int, point: Point) -> tuple[float, float]:
    return _across(left, point.false_rate), _up(point.caught_rate)


def _across(left: int, share: float) -> float:
    return left + _PANEL * math.log(max(share, _LEAST) / _LEAST) / math.log(1 / _LEAST)


def _up(share: float) -> float:
    return _TOP + _HIGH * (1 - share)
