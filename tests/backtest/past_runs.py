"""Past runs as readers give them, made for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable

from interlock.model.action import ToolAction
from interlock.model.budget import TokenUsage
from interlock.model.past_run import PastRun, PastStep

HOME = "/home/ada/shop"
MODEL = "claude-sonnet-4-5"


def a_call(
    command: str,
    result: str = "ok",
    *,
    tokens: int = 0,
    failed: bool = False,
    ran: bool = True,
    **more: object,
) -> PastStep:
    """Return a command that an agent ran, with what came back."""
    params = {"command": command, "cwd": HOME}
    fields: dict[str, object] = {
        "tool": "Bash",
        "action": ToolAction(name="Bash", params=params),
        "arguments": json.dumps({"command": command}),
        "result": result,
        "failed": failed,
        "ran": ran,
        "usage": TokenUsage(input_tokens=tokens) if tokens else None,
        "model": MODEL,
        **more,
    }
    return PastStep(**fields)  # pyright: ignore[reportArgumentType] - as it is named


def a_message(text: str, **more: object) -> PastStep:
    """Return what the agent said without calling anything."""
    return PastStep(text=text, finish_reason="end_turn", **more)  # pyright: ignore[reportArgumentType] - as it is named


def a_person(text: str, **more: object) -> PastStep:
    """Return what a person typed."""
    return PastStep(role="user", text=text, **more)  # pyright: ignore[reportArgumentType] - as it is named


def a_run(steps: Iterable[PastStep], **more: object) -> PastRun:
    """Return a run of these steps."""
    fields: dict[str, object] = {
        "id": "4f1c",
        "client": "claude-code",
        "project": "shop",
        "workspace": HOME,
        **more,
    }
    return PastRun(steps=iter(steps), **fields)  # pyright: ignore[reportArgumentType] - as it is named
