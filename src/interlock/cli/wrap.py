"""Text beside a head: its first line follows the head, the others stand below the first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from interlock.cli.escape import escape
from interlock.cli.render import Line, Span, Tone

_LEAST_ROOM: Final = 20


def wrapped_lines(head: Line, text: str, tone: Tone = Tone.PLAIN, *, width: int) -> Iterator[Line]:
    """Yield the head with the text beside it, in so many characters."""
    indent = sum(len(span.text) for span in head)
    room = max(_LEAST_ROOM, width - indent)
    pieces = textwrap.wrap(escape(text), room, break_on_hyphens=False) or [""]
    yield (*head, Span(pieces[0], tone))
    for piece in pieces[1:]:
        yield (Span(" " * indent), Span(piece, tone))
