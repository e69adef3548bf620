"""Logs as lines of JSON: a constant message, its fields, and the request that it is about.

What matters is in the ledger; a log is for whoever runs the process. No argument of a tool, no
header and no query ever stands in it: they may hold secrets.
"""

from __future__ import annotations

import contextvars
import logging
import sys
from datetime import UTC, datetime
from typing import Final, TextIO

from interlock.views.units import json_text

REQUEST_ID: Final[contextvars.ContextVar[str | None]] = contextvars.ContextVar(
    "interlock_request_id", default=None
)
"""The request that is being answered."""
_ROOTS: Final = ("interlock", "uvicorn")
_LONGEST: Final = 8_192


class JsonLines(logging.Formatter):
    """Makes one line of JSON of each thing that is logged."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line; what cannot be encoded is told as text."""
        told: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (request_id := REQUEST_ID.get()) is not None:
            told["request_id"] = request_id
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            told |= {str(name): value for name, value in fields.items() if name not in told}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - whatever was logged
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)[-_LONGEST:]
        return json_text(told)


def log_as_json(level: str = "info", stream: TextIO | None = None) -> logging.Handler:
    """Write what Interlock and its web server log as lines of JSON; return the handler."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    for name in _ROOTS:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
        logger.propagate = False
    return handler


def stop_logging(handler: logging.Handler) -> None:
    """Let a handler go that `log_as_json` made."""
    for name in _ROOTS:
        logger = logging.getLogger(name)
        logger.removeHandler(handler)
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
