"""Runs as clients tell them, step by step, and where they would have been held."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from interlock.adapters.histories.own_rows import run_from_json
from interlock.backtest.hindsight import Judged, judged
from interlock.policy.config.run_sections import Loops, Steps

Row = dict[str, Any]


def a_call(tool: str, args: object = "", result: str | None = "", **more: object) -> Row:
    """Return a call with what came back."""
    return {"role": "assistant", "tool": tool, "args": args, "result_excerpt": result, **more}


def a_message(text: str, **more: object) -> Row:
    """Return what the agent said without calling anything."""
    return {"role": "assistant", "text": text, **more}


def a_person(text: str) -> Row:
    """Return what a person said."""
    return {"role": "user", "text": text}


def judge(steps: Sequence[Row], **settings: Any) -> Judged:
    """Return where a run of these steps would have been held."""
    line = json.dumps({"run_id": "r", "steps": [*steps]}).encode()
    return judged(run_from_json(line), Steps(), Loops(**settings))
