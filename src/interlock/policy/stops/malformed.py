"""Are the arguments that a model wrote for a tool call JSON? If not: where, and what to do.

Malformed arguments are an error at once; they are never stored and passed on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, cast

from interlock.errors import InputError

_AROUND: Final = 16
# Enough of a word to find the place, too little to give a credential away.
_LONG_WORD: Final = re.compile(r"\w{8,}")
_REPAIR: Final = "call the tool again with one JSON object, such as {}"
_KINDS: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
}


def tool_arguments(text: str) -> dict[str, object]:
    """Return the arguments of a tool call; empty text is no arguments.

    InputError says where the text stops being JSON, shows what stands there, and tells the agent
    how to repair it.
    """
    if not text.strip():
        return {}
    try:
        value = cast(
            "object",
            json.loads(text, object_pairs_hook=_without_twins, parse_constant=_refused_constant),
        )
    except json.JSONDecodeError as error:
        raise InputError(_complaint(text, error)) from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else "a number too long"
        raise InputError(f"the arguments cannot be read: {reason}; {_REPAIR}") from error
    if not isinstance(value, dict):
        kind = _KINDS[type(value)]
        raise InputError(f"the arguments are {kind}, expected an object; {_REPAIR}")
    return cast("dict[str, object]", value)


def _without_twins(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Return the pairs as an object: of two values for one key nobody knows which is meant."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            shown = _masked(key[:_AROUND])
            raise InputError(
                f"the arguments name `{shown}` twice in one object; name each key once; {_REPAIR}"
            )
        found[key] = value
    return found


def _refused_constant(name: str) -> object:
    raise InputError(
        f"the arguments hold `{name}`, which is not JSON; write a number, null or a string;"
        f" {_REPAIR}"
    )


def _complaint(text: str, error: json.JSONDecodeError) -> str:
    place = f"position {error.pos} (line {error.lineno}, column {error.colno})"
    if error.pos >= len(text.rstrip()):
        found = "the text ends there, as if it was cut off"
    else:
        found = f"near `{_excerpt(text, error.pos)}`"
    reason = f"{error.msg[:1].lower()}{error.msg[1:]}"
    return f"the arguments are not JSON: {reason} at {place}: {found}; {_REPAIR}"


def _excerpt(text: str, position: int) -> str:
    around = text[max(0, position - _AROUND) : position + _AROUND]
    return _masked(" ".join(around.replace("`", "'").split()))


def _masked(text: str) -> str:
    return _LONG_WORD.sub(lambda found: f"{found.group()[:4]}\u2026", text)
