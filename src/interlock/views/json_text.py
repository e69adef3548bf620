"""Any value as one line of JSON."""

from __future__ import annotations

import msgspec


def json_text(value: object) -> str:
    """Return the value as one line of JSON, half characters included."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        import json  # noqa: PLC0415 - only for text that is not text

        return json.dumps(msgspec.to_builtins(value), separators=(",", ":"))
