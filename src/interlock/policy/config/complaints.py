"""How things are worded: complaints about a policy file, and what others said within ours."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeGuard

import msgspec

LONGEST_SHOWN = 80
_LONGEST_MISSPELLING = 64
_MOST_LISTED = 24
_MOST_QUOTED = 160
_ENCODER = msgspec.json.Encoder(decimal_format="number", order="deterministic")
_BARE_KEY = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_KINDS = {
    bool: "a truth value",
    int: "a whole number",
    float: "a number with a fraction",
    str: "text",
    list: "a list",
    dict: "a table",
}
"""What TOML values are; the first that fits counts, because a truth value is a number as well."""


def joined(path: str, name: str) -> str:
    """Return the path of `name` below `path`, quoted as TOML wants it."""
    written = name if name and _BARE_KEY.issuperset(name) else notation(name)
    return f"{path}.{written}" if path else written


def shown(value: object) -> str:
    """Return a value in backticks, short enough for a line; containers only by their brackets."""
    return f"`{shortened(_in_short(value))}`"


def notation(value: object) -> str:
    """Return a value as JSON, the same for equal values, with money as a number."""
    return _ENCODER.encode(value).decode()


def shortened(text: str) -> str:
    """Return a text that fits into a line."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def one_line(text: str, most: int = _MOST_QUOTED) -> str:
    """Return somebody else's text as one line of at most so many characters, without backticks."""
    line = " ".join(text.replace("`", "'").split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "\u2026"


def as_clause(sentence: str) -> str:
    """Return somebody else's sentence as a part of ours: it begins with a small letter."""
    return f"{sentence[:1].lower()}{sentence[1:]}"


def is_table(value: object) -> TypeGuard[dict[str, object]]:
    """Tell whether a TOML value is a table."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[Sequence[object]]:
    """Tell whether a value is a list."""
    return isinstance(value, list | tuple)


def mistaken(value: object, expected: str) -> str:
    """Return that a value is of the wrong kind."""
    return f"{shown(value)} is {kind_of(value)}; expected {expected}"


def kind_of(value: object) -> str:
    """Return what a TOML value is, in words."""
    words = (words for kind, words in _KINDS.items() if isinstance(value, kind))
    return next(words, "a date or time")


def one_of(words: Sequence[str]) -> str:
    """Return a choice in words: each in backticks, `or` before the last."""
    quoted = [f"`{word}`" for word in words]
    return " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that a misspelt word most likely meant."""
    import difflib  # noqa: PLC0415 - only a file with mistakes needs it

    # The comparison is quadratic in the length; nobody misspells a word this long.
    if len(word) > _LONGEST_MISSPELLING:
        return None
    close = difflib.get_close_matches(word, sorted(candidates), n=1)
    return close[0] if close else None


def did_you_mean(close: str | None, behind: str = "") -> str:
    """Return a question that names what was likely meant; nothing where that is not known."""
    return f"; did you mean `{close}{behind}`?" if close else ""


def suggestion(word: str, candidates: Collection[str]) -> str:
    """Return a question that names the nearest candidate, or all of them where none is near."""
    is_listed = 0 < len(candidates) <= _MOST_LISTED
    every = f"; expected {one_of(sorted(candidates))}" if is_listed else ""
    return did_you_mean(nearest(word, candidates)) or every


def _in_short(value: object) -> str:
    match value:
        case bool() | str():
            return notation(value)
        case int():
            return str(value) if value.bit_length() <= 64 else f"{value:#x}"
        case list():
            return "[...]"
        case dict():
            return "{...}"
        case _:
            return str(value)
