"""What `--json` prints, in one convention for all commands.

A command that lists prints a list, any other one an object. Names are written with underscores,
times as RFC 3339 in UTC, and a decision on an action has the word that people say for it beside it.
Records stand as they were written: they are what hashes are made of.
"""

from __future__ import annotations

import time
from typing import Final, cast

import msgspec

from interlock.model.audit import MomentKind
from interlock.model.budget import Dimension
from interlock.model.verdict import Decision
from interlock.views.units import json_text

_WITH_UNDERSCORES: Final = {
    each.value: each.value.replace("-", "_")
    for kind in (Dimension, Decision, MomentKind)
    for each in kind
}
_DECISIONS: Final = frozenset(each.value for each in Decision)
_TIMES: Final = frozenset(("at", "since", "until", "next_heartbeat"))
_LEAST_TIME: Final = 10**14
"""A smaller number is no time in microseconds: it is a count, or `0` for never."""


def machine_text(value: object) -> str:
    """Return a value as one line of JSON."""
    return json_text(machine_value(value))


def machine_value(value: object) -> object:
    """Return a value as `--json` has it, to be a part of something else."""
    return _told(msgspec.to_builtins(value))


def moment_text(microseconds: int) -> str:
    """Return a time, such as `2026-11-16T09:30:00.250000Z`."""
    seconds, rest = divmod(microseconds, 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{rest:06}Z"


def _told(value: object, key: str = "") -> object:
    if isinstance(value, dict):
        table = cast("dict[object, object]", value)
        told: dict[str, object] = {}
        for name, each in table.items():
            text = str(name)
            told[_WITH_UNDERSCORES.get(text, text)] = _told(each, text)
            if text == "decision" and isinstance(each, str) and each in _DECISIONS:
                told["short"] = Decision(each).short
        return told
    if isinstance(value, list | tuple):
        return [_told(each, key) for each in cast("list[object]", value)]
    if type(value) is int and value >= _LEAST_TIME and (key in _TIMES or key.endswith("_at")):
        return moment_text(value)
    return value
