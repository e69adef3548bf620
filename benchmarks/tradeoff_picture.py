"""The trade-off as a picture: what is caught and saved against good runs that are stopped."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from typing import Final

import msgspec

WIDTH: Final = 900
HEIGHT: Final = 430
PANEL: Final = 330
LEFT: Final = (70, 500)
TOP: Final = 70
LEAST: Final = 0.002
"""What lies left of this is drawn there: the axis is logarithmic."""
COLOURS: Final = ("#0a84c6", "#c2571a", "#3f9142", "#8b5fbf", "#b0487a")
TICKS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
STYLE: Final = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .small { font-size: 11px; fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .goal { fill: #1a7f37; fill-opacity: .13; stroke: none }
  .curve { fill: none; stroke-width: 2 }
  .ours { stroke-width: 3.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .goal { fill: #3fb950; fill-opacity: .2 }
  }
"""


class Point(msgspec.Struct, frozen=True):
    """One limit of a detector, by what it comes to."""

    false_stops: float
    caught: float
    saved: float = 0.35


class Curve(msgspec.Struct, frozen=True):
    """A detector at every limit, and at those it is usually run with."""

    name: str
    points: Sequence[Point]
    marks: Sequence[Point]


Height = Callable[[Point], float]


def picture(curves: Sequence[Curve], *, goal: Point) -> str:
    """Return the picture, readable on light and on dark ground."""
    return "\n".join(_lines(curves, goal)) + "\n"


def _lines(curves: Sequence[Curve], goal: Point) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        ' aria-label="caught runs and saved tokens against false stops">'
    )
    yield f"<style>{STYLE}</style>"
    yield from _legend(curves)
    panels: tuple[tuple[str, Height], ...] = (
        ("failed runs that are caught", lambda point: point.caught),
        ("tokens of failed runs after the signal", lambda point: point.saved),
    )
    for left, (title, height) in zip(LEFT, panels, strict=True):
        yield from _panel(left, title, height, goal)
        for colour, curve in zip(COLOURS, curves, strict=True):
            yield from _curve(left, colour, curve, height, ours=colour == COLOURS[0])
    yield "</svg>"


def _legend(curves: Sequence[Curve]) -> Iterator[str]:
    across = LEFT[0]
    for colour, curve in zip(COLOURS, curves, strict=True):
        yield f'<rect x="{across}" y="14" width="22" height="5" rx="2" fill="{colour}"/>'
        yield f'<text x="{across + 28}" y="21">{escape(curve.name)}</text>'
        across += 52 + 7 * len(curve.name)


def _panel(left: int, title: str, height: Height, goal: Point) -> Iterator[str]:
    yield f'<text class="title" x="{left}" y="{TOP - 14}">{escape(title)}</text>'
    right, bottom = _across(left, goal.false_stops), _up(height(goal))
    yield (
        f'<rect class="goal" x="{left}" y="{TOP}" width="{right - left:.1f}"'
        f' height="{bottom - TOP:.1f}"/>'
    )
    yield f'<text class="small" x="{left + 4}" y="{TOP + 14}">goal</text>'
    for tick in TICKS:
        x = _across(left, tick)
        yield f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{_up(0)}"/>'
        yield (
            f'<text class="small" x="{x:.1f}" y="{_up(0) + 16:.0f}"'
            f' text-anchor="middle">{"≤ " if tick == LEAST else ""}{100 * tick:g}</text>'
        )
    for tenth in range(0, 11, 2):
        y = _up(tenth / 10)
        yield f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{left + PANEL}" y2="{y:.1f}"/>'
        yield (
            f'<text class="small" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">'
            f"{10 * tenth} %</text>"
        )
    yield (
        f'<text class="small" x="{left + PANEL / 2}" y="{_up(0) + 34:.0f}" text-anchor="middle">'
        "successful runs paused or stopped, in % (logarithmic)</text>"
    )


def _curve(left: int, colour: str, curve: Curve, height: Height, *, ours: bool) -> Iterator[str]:
    ordered = sorted(curve.points, key=lambda point: (point.false_stops, height(point)))
    path = " ".join(
        f"{_across(left, each.false_stops):.1f},{_up(height(each)):.1f}" for each in ordered
    )
    yield (f'<polyline class="curve{" ours" if ours else ""}" stroke="{colour}" points="{path}"/>')
    for each in curve.marks:
        x, y = _across(left, each.false_stops), _up(height(each))
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 if ours else 3.5}" fill="{colour}"/>'


def _across(left: int, share: float) -> float:
    return left + PANEL * math.log(max(share, LEAST) / LEAST) / math.log(1 / LEAST)


def _up(share: float) -> float:
    return TOP + 300 * (1 - share)
