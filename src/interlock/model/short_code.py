"""A short code for a long id: six characters that people can read out, compare and type.

It follows from the id alone, so that it is the same in a terminal, in a browser and in what an
agent is told, and nothing has to be stored. A code begins with a letter that no id of ours begins
with; none of its characters looks like another, and without vowels it spells no word.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

CODE_LENGTH: Final = 6
LEAST_TYPED: Final = 4
"""So many characters of a code may stand for it."""
_FIRST: Final = "GHJKMNPQRTWXY"
"""Ids are hexadecimal: none of them begins like this."""
_BEHIND: Final = "CDFGHJKMNPQRTWXY3479"
_LONGEST_NAME: Final = 13
"""What is as short as this is a name, such as `loop`, and stands for itself."""


def code_of(thing_id: str | None) -> str:
    """Return the code of an id; a short name is its own, and nothing has none."""
    if thing_id is None or len(thing_id) <= _LONGEST_NAME:
        return thing_id or ""
    digest = hashlib.sha256(thing_id.encode("utf-8", "surrogatepass")).digest()
    number, place = divmod(int.from_bytes(digest), len(_FIRST))
    code = _FIRST[place]
    while len(code) < CODE_LENGTH:
        number, place = divmod(number, len(_BEHIND))
        code += _BEHIND[place]
    return code


def code_typed(text: str) -> str:
    """Return the code, or the beginning of one, that a text may be; empty where it is none."""
    code = text.strip().upper()
    if not LEAST_TYPED <= len(code) <= CODE_LENGTH or code[0] not in _FIRST:
        return ""
    return code if set(code[1:]) <= set(_BEHIND) else ""


def is_meant(thing_id: str, text: str) -> bool:
    """Whether a text is the beginning of an id, or of its code."""
    code = code_typed(text)
    return bool(text) and (
        thing_id.startswith(text) or (bool(code) and code_of(thing_id).startswith(code))
    )


def codes_of(ids: Iterable[str]) -> dict[str, str]:
    """Return what each id is shown as among others: its code, or all of it if two share one."""
    known = {each: code_of(each) for each in ids}
    seen: dict[str, int] = {}
    for code in known.values():
        seen[code] = seen.get(code, 0) + 1
    return {each: code if seen[code] == 1 else each for each, code in known.items()}
