"""Text that is safe to print: on a terminal, and as JSON."""

from __future__ import annotations

import msgspec


def escape(text: str) -> str:
    """Return the text with every character that a terminal would obey written out."""
    if text.isprintable():
        return text
    return "".join([char if _is_harmless(char) else _written_out(char) for char in text])


def json_text(value: object) -> str:
    """Return the value as one line of JSON, half characters included."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        import json  # noqa: PLC0415 - only for text that is not text

        return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))


def _is_harmless(char: str) -> bool:
    return char.isprintable() or (char.isspace() and char > "\x7f")


def _written_out(char: str) -> str:
    return char.encode("unicode_escape").decode()
