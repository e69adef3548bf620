"""Rates with their intervals as a picture: one line each, two panels beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

import msgspec

from rates import Rate

WIDTH: Final = 1000
NAMES: Final = 335
LONGEST: Final = 44
PANEL: Final = 290
LEFT: Final = (NAMES, NAMES + PANEL + 55)
TOP: Final = 92
LINE: Final = 24
SCALES: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
STYLE: Final = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .small { font-size: 11px; fill: #59636e }
  .grid { stroke: #d1d9e0; stroke-width: 1 }
  .whisker { stroke: #0a6ab6; stroke-width: 2 }
  .dot { fill: #0a6ab6 }
  .beside { fill: none; stroke: #b8460e; stroke-width: 2 }
  .others { stroke: #b8460e; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .small { fill: #9198a1 }
    .grid { stroke: #3d444d }
    .whisker { stroke: #58a6ff }
    .dot { fill: #58a6ff }
    .beside, .others { stroke: #f0883e }
  }
"""


class Mark(msgspec.Struct, frozen=True):
    """A rate of a line, and maybe another one beside it."""

    rate: Rate
    beside: Rate | None = None


class Line(msgspec.Struct, frozen=True):
    """One line: a name, and a mark in each panel."""

    name: str
    marks: tuple[Mark, Mark]


class Panels(msgspec.Struct, frozen=True):
    """What a picture shows."""

    titles: tuple[str, str]
    beside: str
    """What the marks beside mean; empty where there are none."""
    groups: Sequence[tuple[str, Sequence[Line]]]
    """Lines under headings."""


def picture(panels: Panels) -> str:
    """Return the picture, readable on light and on dark ground."""
    return "\n".join(_lines(panels)) + "\n"


def _lines(panels: Panels) -> Iterator[str]:
    rows = sum(1 + len(lines) for _, lines in panels.groups)
    bottom = TOP + LINE * rows
    label = escape(f"{panels.titles[0]}; {panels.titles[1]}", quote=True)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 32}" role="img"'
        f' aria-label="{label}">'
    )
    yield f"<style>{STYLE}</style>"
    yield from _legend(panels.beside)
    lines = [line for _, own in panels.groups for line in own]
    scales = [_scale([line.marks[side] for line in lines]) for side in (0, 1)]
    for left, title, scale in zip(LEFT, panels.titles, scales, strict=True):
        yield from _panel(left, title, scale, bottom)
    down = TOP
    for heading, own in panels.groups:
        yield f'<text class="title" x="10" y="{down + 16}">{escape(heading)}</text>'
        down += LINE
        for line in own:
            yield from _line(line, down + LINE // 2, scales)
            down += LINE
    yield "</svg>"


def _legend(beside: str) -> Iterator[str]:
    yield '<circle class="dot" cx="18" cy="22" r="5"/>'
    yield '<line class="whisker" x1="8" y1="22" x2="28" y2="22"/>'
    yield '<text x="36" y="26">as it is installed, with the 95 % interval</text>'
    if beside:
        yield '<circle class="beside" cx="348" cy="22" r="5"/>'
        yield '<line class="others" x1="338" y1="22" x2="358" y2="22"/>'
        yield f'<text x="366" y="26">{escape(beside)}</text>'


def _panel(left: int, title: str, scale: float, bottom: int) -> Iterator[str]:
    yield f'<text class="title" x="{left}" y="{TOP - 36}">{escape(title)}</text>'
    for part in range(6):
        x = left + PANEL * part / 5
        yield f'<line class="grid" x1="{x:.1f}" y1="{TOP - 10}" x2="{x:.1f}" y2="{bottom}"/>'
        for y in (TOP - 16, bottom + 16):
            yield (
                f'<text class="small" x="{x:.1f}" y="{y}" text-anchor="middle">'
                f"{100 * scale * part / 5:g} %</text>"
            )


def _line(line: Line, y: int, scales: Sequence[float]) -> Iterator[str]:
    name = line.name if len(line.name) <= LONGEST else f"{line.name[: LONGEST - 3]}..."
    yield f'<text x="24" y="{y + 4}">{escape(name)}</text>'
    for left, mark, scale in zip(LEFT, line.marks, scales, strict=True):
        if mark.beside is not None and mark.beside.total:
            yield from _mark(left, y + 4, mark.beside, scale, ("others", "beside"))
            yield from _mark(left, y - 4, mark.rate, scale, ("whisker", "dot"))
        elif mark.rate.total:
            yield from _mark(left, y, mark.rate, scale, ("whisker", "dot"))


def _mark(left: int, y: int, rate: Rate, scale: float, classes: tuple[str, str]) -> Iterator[str]:
    low, middle, high = (
        left + PANEL * min(each / scale, 1.0)
        for each in (rate.interval[0], rate.share, rate.interval[1])
    )
    yield f'<line class="{classes[0]}" x1="{low:.1f}" y1="{y}" x2="{high:.1f}" y2="{y}"/>'
    yield f'<circle class="{classes[1]}" cx="{middle:.1f}" cy="{y}" r="4"/>'


def _scale(marks: Sequence[Mark]) -> float:
    """Return the smallest scale that shows every rate; an interval may go over its edge."""
    rates = [rate for mark in marks for rate in (mark.rate, mark.beside) if rate and rate.total]
    most = max((rate.share for rate in rates), default=1.0)
    return next(each for each in SCALES if each >= min(1.0, 1.2 * most))
