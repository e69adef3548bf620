"""A verdict and the way to it, as lines for people: coloured on a terminal, plain elsewhere."""

from __future__ import annotations

import enum
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from interlock.cli.text.escape import escape, json_text
from interlock.model.verdict import Decision, Explanation, Finding, Step, Verdict

if TYPE_CHECKING:
    from rich.text import Text


_WIDEST: Final = 100
_NARROWEST: Final = 40
_LABEL_WIDTH: Final = 9
_DEEPEST: Final = 8


class Tone(enum.Enum):
    """What a piece of a line is, which decides how it looks; the value is rich's style."""

    PLAIN = ""
    STRONG = "bold"
    FAINT = "dim"
    LABEL = "dim italic"
    CODE = "cyan"
    HEADING = "bold underline"
    GOOD = "green"
    CAREFUL = "yellow"
    ASKING = "blue"
    BAD = "red"
    ALLOW = "bold white on green"
    WARN = "bold black on yellow"
    CONFIRM = "bold white on blue"
    BLOCK = "bold white on red"


class Span(NamedTuple):
    """A piece of a line."""

    text: str
    tone: Tone = Tone.PLAIN


Line = tuple[Span, ...]

BADGES: Final = {
    Decision.ALLOW: (Tone.ALLOW, "nothing speaks against it"),
    Decision.WARN: (Tone.WARN, "goes ahead, with a word to the agent"),
    Decision.REQUIRE_CONFIRMATION: (Tone.CONFIRM, "a person must agree first"),
    Decision.BLOCK: (Tone.BLOCK, "must not happen"),
}
_BADGE_TONES: Final = frozenset(tone for tone, _ in BADGES.values())
_HEADINGS: Final = {
    "parse": "What was read",
    "effect": "What it would do",
    "rule": "Who speaks",
    "silenced": "Who was silenced",
    "gate": "What the gates decide",
}


def verdict_lines(verdict: Verdict, *, width: int) -> Iterator[Line]:
    """Yield the badge, then each finding: what, where, why, and what to do instead."""
    tone, meaning = BADGES[verdict.decision]
    yield (Span(verdict.decision.value.upper(), tone), Span(f"  {meaning}"))
    for finding in verdict.findings:
        yield ()
        yield from _finding_lines(finding, width)


def explanation_lines(explanation: Explanation, *, width: int) -> Iterator[Line]:
    """Yield the verdict, then the way to it under one heading per stage."""
    yield from verdict_lines(explanation.verdict, width=width)
    for stage, steps in groupby(explanation.steps, key=lambda step: step.stage):
        yield ()
        yield (Span(_HEADINGS[stage], Tone.HEADING),)
        for step in steps:
            yield from _step_lines(step, width)


def labelled_lines(
    label: str, text: str, tone: Tone = Tone.PLAIN, *, width: int, indent: str = "  "
) -> Iterator[Line]:
    """Yield a text with a label before its first line and the rest below it."""
    for number, piece in enumerate(_pieces(text, width - len(indent) - _LABEL_WIDTH)):
        head = f"{indent}{'' if number else label:<{_LABEL_WIDTH}}"
        yield (Span(head, Tone.LABEL), Span(piece, tone))


def text_width() -> int:
    """Return how wide lines may get: the terminal's width, within reason."""
    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns))


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines: in colour on a terminal, as plain text elsewhere."""
    if sys.stdout.isatty():
        _print_coloured(lines)
    else:
        for line in lines:
            click.echo("".join([span.text for span in line]).rstrip())


def print_json(value: object) -> None:
    """Print a value as one line of JSON."""
    click.echo(json_text(value))


def rich_text(line: Line) -> Text:
    """Return a line as rich prints it; a badge gets room within its colour."""
    from rich.text import Text  # noqa: PLC0415 - only a terminal needs it

    pieces = [(f" {text} " if tone in _BADGE_TONES else text, tone.value) for text, tone in line]
    return Text.assemble(*pieces)


def _print_coloured(lines: Iterable[Line]) -> None:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it

    console = Console(highlight=False, soft_wrap=True)
    for line in lines:
        console.print(rich_text(line))


def _finding_lines(finding: Finding, width: int) -> Iterator[Line]:
    yield from _wrapped(finding.message, "  ", "  ", Tone.STRONG, width)
    parts = [
        ("where", finding.excerpt or "", Tone.CODE),
        ("why", f"{finding.rule} ({finding.gate}, {finding.severity.value})", Tone.PLAIN),
        ("instead", finding.remediation, Tone.PLAIN),
    ]
    for label, text, tone in parts:
        if text:
            yield from labelled_lines(label, text, tone, width=width, indent="    ")


def _step_lines(step: Step, width: int) -> Iterator[Line]:
    indent = "  " * (1 + min(step.depth, _DEEPEST))
    return _wrapped(step.text, indent, indent + "    ", Tone.PLAIN, width)


def _wrapped(text: str, first: str, rest: str, tone: Tone, width: int) -> Iterator[Line]:
    for piece in _pieces(text, width, first=first, rest=rest):
        yield (Span(piece, tone),)


def _pieces(text: str, width: int, *, first: str = "", rest: str = "") -> list[str]:
    pieces = textwrap.wrap(
        escape(text),
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
    )
    return pieces or [first]


_LEAST_ROOM: Final = 20


def wrapped_lines(head: Line, text: str, tone: Tone = Tone.PLAIN, *, width: int) -> Iterator[Line]:
    """Yield the head with the text beside it, in so many characters."""
    indent = sum(len(span.text) for span in head)
    room = max(_LEAST_ROOM, width - indent)
    pieces = textwrap.wrap(escape(text), room, break_on_hyphens=False) or [""]
    yield (*head, Span(pieces[0], tone))
    for piece in pieces[1:]:
        yield (Span(" " * indent), Span(piece, tone))
