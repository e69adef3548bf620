"""The extras: optional packages, and what is said where they are missing.

`pip install interlock` brings what the gates, the record and the command line need. Each heavy
part is an extra of `pyproject.toml`. Its packages are imported inside `needs_extra`, so whoever
comes that way without them is told in one line which command installs them.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final

from interlock.errors import MissingExtraError

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = {
    "server": ("genai_prices", "jinja2", "markupsafe", "starlette", "uvicorn", "uvloop"),
    "cel": ("cel_expr_python",),
    "postgres": ("psycopg",),
    "prices": ("genai_prices",),
    "loop": ("croniter", "dbos", "sqlalchemy"),
    "llm": ("genai_prices", "httpx2", "openai", "pydantic_ai"),
    "mcp": ("httpx2", "mcp", "mcp_types", "pydantic", "starlette", "uvicorn"),
    "otel": ("opentelemetry",),
    "openai-agents": ("agents",),
    "langchain": ("langchain", "langgraph"),
    "pydantic-ai": ("pydantic_ai", "pydantic_core", "pydantic_graph"),
    "claude-agent-sdk": ("claude_agent_sdk",),
}
"""The modules that each extra brings and that are imported here."""


@contextmanager
def needs_extra(what: str, extra: str) -> Generator[None]:
    """Have imports of what an extra brings fail with its name, and the command that installs it."""
    try:
        yield
    except ImportError as error:
        # Ours are always there: one that cannot be imported is a mistake of ours.
        if (error.name or "").partition(".")[0] == "interlock":
            raise
        raise MissingExtraError(what, extra) from error


def require_extra(what: str, extra: str) -> None:
    """Raise MissingExtraError where an extra is missing that something needs later on."""
    if not has_extra(extra):
        raise MissingExtraError(what, extra)


def has_extra(extra: str) -> bool:
    """Whether everything that an extra brings can be imported; nothing is."""
    return all(find_spec(name) is not None for name in EXTRAS[extra])
