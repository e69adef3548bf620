"""JSON that a model wrote: what it says, or where and why it says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, cast

import msgspec

from interlock.secrets.scanner import SecretMatch

PLAIN: Final = frozenset((int, float, bool, type(None)))
"""What a value may be that holds no text."""
_AROUND: Final = 24
"""How many characters on either side of a mistake are shown."""
_SEARCHED: Final = 4096
"""How many of them are searched for credentials, so that none is shown in part."""
_HIDDEN: Final = "•"
_LONG_WORD: Final = r"\w{8,}"
_LONGEST_NAME: Final = 64
_TEXT: Final = r'(?s)"((?:[^"\\]++|\\.)*+)"\s*+(:?)'
_TOKEN: Final = rf"{_TEXT}|[{{}}]"
_BYTE: Final = r" \(byte (\d+)\)"
_CUT_OFF: Final = "Input data was truncated"
_PREFIX: Final = "JSON is malformed: "

Scan = Callable[[str], Sequence[SecretMatch]]
"""Finds the credentials in a text."""


class Unreadable(msgspec.Struct, frozen=True):
    """Why a text says nothing."""

    rule: str
    message: str
    """What is wrong, to be said behind the name of the text."""


def value_from_json(raw: str, scan: Scan) -> object | Unreadable:
    """Return what a text says; of two values for one name nobody knows which is meant."""
    try:
        value: object = msgspec.json.decode(raw.encode("utf-8", "replace"))
    except RecursionError:
        return Unreadable("not-json", "are not JSON that can be read: they are nested too deeply")
    except msgspec.DecodeError as error:
        return Unreadable("not-json", f"are not JSON: {_mistake(raw, str(error), scan)}")
    twice = name_given_twice(raw)
    if twice is None:
        return value
    shown = _masked(twice[:_LONGEST_NAME])
    said = f"name `{shown}` twice in one object, so that it is unclear which one counts"
    return Unreadable("duplicate-key", said)


def name_given_twice(raw: str) -> str | None:
    """Return a name that stands twice in one object of a JSON text, if there is one."""
    found = [name for name, colon in re.findall(_TEXT, raw) if colon]
    if len(set(found)) == len(found) and not any("\\" in name for name in found):
        return None
    objects: list[set[str]] = []
    for token in re.finditer(_TOKEN, raw):
        if token[0] == "{":
            objects.append(set())
        elif token[0] == "}":
            objects.pop()
        elif token[2]:
            name = _unescaped(token[1])
            if name in objects[-1]:
                return name
            objects[-1].add(name)
    return None


def _unescaped(name: str) -> str:
    try:
        return msgspec.json.decode(f'"{name}"'.encode("utf-8", "replace"), type=str)
    except msgspec.DecodeError:
        # Half a character, which no encoder takes.
        return name


def _mistake(raw: str, error: str, scan: Scan) -> str:
    """Say what is wrong, where, and what stands there, without a credential."""
    if error == _CUT_OFF:
        end = len(raw.rstrip())
        shown = _shown(raw, end, scan)
        return f"the text ends at {_place(raw, end)}, as if it was cut off, behind `{shown}`"
    reason = error.removeprefix(_PREFIX)
    reason = f"{reason[:1].lower()}{reason[1:]}"
    byte = re.search(_BYTE, reason)
    if byte is None:
        return reason.partition(" - at ")[0]
    at = len(raw.encode("utf-8", "replace")[: int(byte[1])].decode("utf-8", "replace"))
    return f"{reason[: byte.start()]} at {_place(raw, at)}, near `{_shown(raw, at, scan)}`"


def _place(raw: str, at: int) -> str:
    line = raw.count("\n", 0, at) + 1
    column = at - (raw.rfind("\n", 0, at) + 1) + 1
    return f"line {line}, column {column} (offset {at})"


def _shown(raw: str, at: int, scan: Scan) -> str:
    """Return what stands around a place: enough to find it, too little to give anything away."""
    start = max(0, at - _SEARCHED)
    near = raw[start : at + _SEARCHED]
    try:
        matches = scan(near)
    except Exception:  # noqa: BLE001 - what cannot be searched for credentials is not shown
        return _HIDDEN
    for match in matches:
        near = near[: match.start] + _HIDDEN * (match.end - match.start) + near[match.end :]
    middle = at - start
    around = near[max(0, middle - _AROUND) : middle + _AROUND]
    return _masked(" ".join(around.replace("`", "'").split()))


def _masked(text: str) -> str:
    text = re.sub(f"{_HIDDEN}+", _HIDDEN, text)
    return re.sub(_LONG_WORD, lambda found: f"{found.group()[:4]}…", text)


def object_or_list(text: str) -> object | None:
    """Return the object or list that a text says in JSON."""
    start = text[:64].lstrip()[:1]
    if start not in {"{", "["}:
        return None
    try:
        value: object = msgspec.json.decode(text.encode("utf-8", "replace"))
    except (msgspec.DecodeError, RecursionError):
        return None
    return cast("object", value) if isinstance(value, dict | list) else None
