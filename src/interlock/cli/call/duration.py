"""How long something may take, or how long ago it was: `90s`, `15m`, `1h`, `30d`, or a date."""

from __future__ import annotations

import re
import time
from datetime import datetime
from typing import Final

import click

_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(sec|s|min|m|h|d|w)", re.ASCII)
_LONGEST_S: Final = 100 * 365 * 86_400
_MICRO: Final = 1_000_000


class Duration(click.ParamType[int]):
    """A span of time in seconds; a plain number is of the unit that is named."""

    name = "duration"

    def __init__(self, plain: str = "s", *, least: int = 0, most: int = _LONGEST_S) -> None:
        self._plain = plain
        self._least = least
        self._most = most

    def convert(
        self,
        value: str | int,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Return the seconds; fail with what is expected."""
        if isinstance(value, int):
            return value
        text = value.strip().lower()
        if re.fullmatch(r"\d+(?:\.\d+)?", text, re.ASCII):
            text += self._plain
        parts = _PART.findall(text)
        if not parts or "".join(map("".join, parts)) != text:
            one = {"s": "seconds", "d": "days"}[self._plain]
            self.fail(
                f"`{value}` is no span of time: expected such as `90s`, `15m`, `1h` or `30d`, or a"
                f" plain number of {one}",
                param,
                ctx,
            )
        seconds = round(sum(float(number) * _UNITS[unit[0]] for number, unit in parts))
        if not self._least <= seconds <= self._most:
            self.fail(
                f"`{value}` are {seconds:,} seconds: expected {self._least:,} to {self._most:,}",
                param,
                ctx,
            )
        return seconds


class PastMoment(click.ParamType[int]):
    """A moment in microseconds, by its date or by how long ago it was."""

    name = "moment"

    def convert(
        self,
        value: str | int,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Return the moment; fail with what is expected."""
        if isinstance(value, int):
            return value
        now = time.time()
        try:
            # A date without a zone is one of this place.
            moment = datetime.fromisoformat(value.strip()).astimezone().timestamp()
        except (ValueError, OverflowError, OSError):
            if not _PART.match(value.strip().lower()):
                self.fail(
                    f"`{value}` is no moment: expected a date such as `2026-11-01` or"
                    " `2026-11-01T09:30`, or how long ago it was, such as `12h` or `30d`",
                    param,
                    ctx,
                )
            moment = now - Duration().convert(value, param, ctx)
        if moment > now:
            self.fail(f"`{value}` lies ahead: nothing has happened since", param, ctx)
        return max(0, int(moment * _MICRO))
