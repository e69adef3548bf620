"""Lines for people: coloured on a terminal, plain elsewhere, and safe to print on both."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


_WIDEST: Final = 100
_NARROWEST: Final = 40
_LABEL_WIDTH: Final = 9
_LEAST_ROOM: Final = 20


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

_BADGE_TONES: Final = frozenset((Tone.ALLOW, Tone.WARN, Tone.CONFIRM, Tone.BLOCK))


def badge_line(word: str, tone: Tone, meaning: str) -> Line:
    """Return what a command came to: in one word, and in a sentence."""
    return (Span(word, tone), Span(f"  {meaning}"))


def heading_lines(text: str, note: str = "") -> tuple[Line, Line]:
    """Return an empty line and a heading."""
    return (), (Span(text, Tone.HEADING), Span(f"  ({note})" if note else "", Tone.FAINT))


def labelled_lines(
    label: str, text: str, tone: Tone = Tone.PLAIN, *, width: int | None = None, indent: str = "  "
) -> Iterator[Line]:
    """Yield a text with a label before its first line and the rest below it."""
    head = (Span(f"{indent}{label:<{_LABEL_WIDTH}}", Tone.LABEL),)
    return wrapped_lines(head, text, tone, width=width)


def labelled_rows(
    *rows: tuple[str, str] | tuple[str, str, Tone], width: int | None = None, indent: str = "  "
) -> Iterator[Line]:
    """Yield each text that is not empty behind its label."""
    for label, text, *tone in rows:
        if text:
            yield from labelled_lines(label, text, *tone, width=width, indent=indent)


def wrapped_lines(
    head: Line, text: str, tone: Tone = Tone.PLAIN, *, width: int | None = None, hangs_by: str = ""
) -> Iterator[Line]:
    """Yield the head with the text beside it, in so many characters; the rest hangs below it."""
    import textwrap  # noqa: PLC0415 - most answers need no wrapping

    indent = sum(len(span.text) for span in head)
    room = max(_LEAST_ROOM, (width or text_width()) - indent)
    pieces = textwrap.wrap(escape(text), room, subsequent_indent=hangs_by, break_on_hyphens=False)
    yield (*head, Span(pieces[0] if pieces else "", tone))
    for piece in pieces[1:]:
        yield (Span(" " * indent), Span(piece, tone))


def text_width() -> int:
    """Return how wide lines may get: the terminal's width, within reason."""
    return max(_NARROWEST, min(_WIDEST, terminal_width()))


def terminal_width() -> int:
    """Return how wide the terminal is, by `COLUMNS` or by itself.

    As `shutil` does, which would load every kind of archive to say it.
    """
    named = os.environ.get("COLUMNS", "")
    if named.isdecimal() and int(named):
        return int(named)
    if sys.__stdout__ is None:
        return _WIDEST
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _WIDEST
    except (ValueError, OSError):
        return _WIDEST


def print_lines(lines: Iterable[Line]) -> None:
    """Print lines: in colour on a terminal, as plain text elsewhere."""
    if sys.stdout.isatty():
        console = _console()
        for line in lines:
            console.print(rich_text(line))
        return
    import click  # noqa: PLC0415 - the quick check does without

    for line in lines:
        click.echo(plain_text(line))


def coloured_text(lines: Iterable[Line]) -> str:
    """Return lines as a terminal shows them."""
    console = _console()
    with console.capture() as captured:
        for line in lines:
            console.print(rich_text(line))
    return captured.get()


def _console() -> Console:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it

    return Console(highlight=False, soft_wrap=True)


def plain_text(line: Line) -> str:
    """Return a line without colours, safe to print."""
    return "".join([escape(span.text) for span in line]).rstrip()


def rich_text(line: Line) -> Text:
    """Return a line as rich prints it, safe as well; a badge gets room within its colour."""
    from rich.text import Text  # noqa: PLC0415 - only a terminal needs it

    pieces = ((escape(text), tone) for text, tone in line)
    return Text.assemble(
        *[(f" {text} " if tone in _BADGE_TONES else text, tone.value) for text, tone in pieces]
    )


def drawable(drawn: str, plain: str) -> str:
    """Return the characters that the terminal can draw."""
    try:
        drawn.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return plain
    return drawn


def escape(text: str) -> str:
    """Return the text with every character that a terminal would obey written out."""
    if text.isprintable():
        return text
    return "".join([char if _is_harmless(char) else ascii(char)[1:-1] for char in text])


def _is_harmless(char: str) -> bool:
    return char.isprintable() or (char.isspace() and char > "\x7f")
