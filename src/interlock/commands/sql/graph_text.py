"""What would a text that is no SQL change: which fields in GraphQL, and everything in Cypher?"""

from __future__ import annotations

import re
from typing import Final

# INVARIANT: nothing is read twice, however long it is and whatever stays open.
_TOKEN: Final = re.compile(
    r'"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*+"|#[^\n]*|\\"|\.\.\.|[@$]?[_A-Za-z]\w*|[^\s,]'
)
_NAME: Final = re.compile(r"[_A-Za-z]\w*")
_MUTATION: Final = "mutation"
_SPREAD: Final = ("...", "on")
_ASIDE: Final = (
    r"""(?s)'(?:\\.|[^'\\])*+'?|"(?:\\.|[^"\\])*+"?|/\*[^*]*+(?:\*(?!/)[^*]*+)*(?:\*/)?|//[^\n]*+"""
)
_MATCHES: Final = r"(?i)\bMATCH\s*+(?:\w++\s*+=\s*+)?\("
_DELETES: Final = r"(?i)\bDELETE\s++\w"
_NO_CONDITION: Final = r"(?i)\bWHERE\s++(?:true|(\w++)\s*+=\s*+\1)\s++(?=DETACH|DELETE|WITH|CALL)"
_CHOOSES: Final = r"(?i)\bWHERE\b|[(\[]\s*+\w*+\s*+(?::[^(){}\[\]]*+)?\{"


def changed_fields(text: str) -> list[str]:
    """Return every field at the top of a document that holds a mutation, and of its fragments."""
    found: list[str] = []
    if _MUTATION not in text:
        return found
    is_change = False
    brackets = 0
    # Of each brace that is open, whether what stands in it stands at the top.
    at_top: list[bool] = []
    spread: list[str] = []
    for part in _TOKEN.findall(text):
        if part in ("(", "["):
            brackets += 1
        elif part in (")", "]"):
            brackets -= 1
        elif brackets > 0:
            continue
        elif part == "{":
            # An inline fragment holds what stands where it stands itself.
            at_top.append(not at_top or (at_top[-1] and bool(spread)))
            spread = []
        elif part == "}":
            del at_top[-1:]
            spread = []
        elif part == "..." or (spread and _NAME.fullmatch(part)):
            # `... on Type {` goes on, `...Name` is all of it.
            spread = [*spread, part] if part in _SPREAD or spread[-1] == "on" else []
        elif at_top:
            found += [part] if at_top[-1] and _NAME.fullmatch(part) else []
        else:
            is_change |= part == _MUTATION
    return found if is_change else []


def deletes_all(text: str) -> bool:
    """Whether a text matches nodes that nothing is said of but their kind, and deletes them."""
    if "delete" not in text.lower():
        return False
    said = re.sub(_ASIDE, _blank, text)
    begins = re.search(_MATCHES, said)
    if begins is None or re.search(_DELETES, said[begins.end() :]) is None:
        return False
    return re.search(_CHOOSES, re.sub(_NO_CONDITION, "", said)) is None


def _blank(found: re.Match[str]) -> str:
    """A text in quotes stays one."""
    return "''" if found[0][0] in "'\"" else " "
