"""Interlock's own rows: one line of JSON is a run, with its steps.

    {"run_id": "a1", "steps": [
      {"role": "user", "text": "fix the test"},
      {"role": "assistant", "tool": "Bash", "args": "pytest", "result_excerpt": "1 failed"}]}

Texts may be cut; then their digests and lengths stand beside them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final, cast

import msgspec

from interlock.errors import InputError
from interlock.model.past_run import PastRun, PastStep

_CUT: Final = re.compile(r"…(?:\[\+\d+\])?$")
"""How a text ends of which only the beginning is given."""
_MICRO: Final = 1_000_000


class OwnRun(PastRun, frozen=True, kw_only=True):
    """A past run that is known whole."""

    run_id: object
    """Its name as it is written."""
    steps: tuple[PastStep, ...]


def run_from_json(line: bytes) -> OwnRun:
    """Return the run that a line of JSON describes."""
    row = _object(_decoded(line), "a run")
    steps = row.get("steps")
    if not isinstance(steps, list):
        raise InputError('`steps` is not a list: expected {"run_id": ..., "steps": [...]}')
    rows = cast("Sequence[object]", steps)
    return OwnRun(
        id=_plain(row.get("run_id")),
        run_id=row.get("run_id"),
        steps=tuple(_step(_object(step, f"steps[{place}]")) for place, step in enumerate(rows)),
    )


def _step(row: Mapping[str, object]) -> PastStep:
    arguments, result = _plain(row.get("args")), row.get("result_excerpt")
    tool = row.get("tool")
    given = (result, row.get("result_h"), row.get("result_len"))
    is_seen = any(each is not None for each in given)
    is_cut = not arguments or _CUT.search(arguments) is not None
    return PastStep(
        role=_plain(row.get("role")) or "assistant",
        text=_plain(row.get("text")),
        tool=None if tool is None else _plain(tool),
        arguments=arguments,
        arguments_digest=_text(row.get("args_h")) if is_cut else None,
        result=_CUT.sub("", _plain(result)) if is_seen else None,
        result_digest=_text(row.get("result_h")),
        result_size=_whole(row.get("result_len")),
        failed=failed if isinstance(failed := row.get("err"), bool) else None,
        tokens=_tokens(row.get("tokens")),
        at=_microseconds(row.get("ts")),
    )


def _decoded(line: bytes) -> object:
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(line)
    try:
        # This one takes half a character as well, as cut-off text has.
        return json.loads(line)
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8") from error
    except ValueError as error:
        raise InputError(f"not JSON: {str(error)[:1].lower()}{str(error)[1:]}") from error
    except RecursionError as error:
        raise InputError("not read: nested too deeply") from error


def _object(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise InputError(f"{place} is not an object")
    return cast("Mapping[str, object]", value)


def _plain(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _tokens(value: object) -> int | None:
    """Return what the model was given and made; None where neither is known."""
    if not isinstance(value, dict):
        return None
    counts = cast("Mapping[str, object]", value)
    known = [each for name in ("in", "out") if (each := _whole(counts.get(name))) is not None]
    return sum(known) if known else None


def _microseconds(moment: object) -> int | None:
    """Return a moment, given in seconds or as a date; None where it cannot be read."""
    try:
        if isinstance(moment, str):
            return int(datetime.fromisoformat(moment).timestamp() * _MICRO)
        return int(moment * _MICRO) if isinstance(moment, int | float) else None
    except (ValueError, OverflowError):
        return None
