"""What a value tells at a glance: one line in a shell, a small table in a notebook.

Neither asks anybody anything: a look at a value must not wait for a ledger or a server. What is
told was redacted when it was made; here it is only kept to one line, or escaped.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

_LONGEST_LINE: Final = 240
_LONGEST_CELL: Final = 2_000


class Glance(NamedTuple):
    """What is worth telling."""

    line: str
    """In a few words."""
    rows: Iterable[tuple[str, str | None]] = ()
    """By name; what is None or empty is left out."""


class Glanced:
    """Whatever tells of itself, not of its fields."""

    __slots__ = ()

    def _glance(self) -> Glance:
        """Return what is worth telling."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Return one line that tells, for a shell or a log."""
        return f"<{type(self).__name__} {shortened(self._glance().line, _LONGEST_LINE)}>"

    def _repr_html_(self) -> str:
        """Return a small table, for a notebook."""
        from html import escape  # noqa: PLC0415 - only notebooks need it

        line, rows = self._glance()
        body = "".join(
            f"<tr><th>{escape(shortened(name, _LONGEST_CELL))}</th>"
            f"<td>{escape(shortened(text, _LONGEST_CELL))}</td></tr>"
            for name, text in rows
            if text
        )
        title = escape(f"{type(self).__name__} {shortened(line, _LONGEST_LINE)}")
        return f"<table><caption>{title}</caption><tbody>{body}</tbody></table>"


def glance_of(value: Glanced) -> Glance:
    """Return what another value tells, for one that holds it."""
    return value._glance()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - of its own kind


def shortened(text: str, most: int) -> str:
    """Return a text as one line without anything that a terminal would obey."""
    line = " ".join(text[: 2 * most].split())
    shown = "".join(each if each.isprintable() else "?" for each in line)
    return shown if len(shown) <= most and len(text) <= 2 * most else f"{shown[: most - 1]}…"


def counted(number: int, one: str) -> str:
    """Return so many of something, in words."""
    return f"{number} {one}" if number == 1 else f"{number} {one}s"
